"""Whether a function that cannot be rewritten calls activations."""

from __future__ import annotations

import types
from collections.abc import Iterator

from .kinds import Kinds, function_names
from .walk import content_of

_DEPTH = 3


def mentions(function: object, which: Kinds, depth: int = _DEPTH) -> bool:
    """Whether names of activation functions occur in a function, in what it encloses, or in functions it names."""
    if not isinstance(function, types.FunctionType) or is_torch(function) or depth == 0:
        return False
    codes = list(_codes(function.__code__))
    names = {name for code in codes for name in code.co_names}
    if not names.isdisjoint(function_names(which)):
        return True
    held = [content_of(cell) for cell in function.__closure__ or ()]
    return any(mentions(f, which, depth - 1) for f in (*held, *(function.__globals__.get(name) for name in names)))


def is_torch(function: types.FunctionType) -> bool:
    """Whether a function is torch's own: what torch does inside a call is not looked into."""
    return (function.__module__ or "").partition(".")[0] == "torch"


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)
