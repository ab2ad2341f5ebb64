"""Send single calls in the source of a method to other modules.

A rewritten method is its author's source with single calls replaced. Branches, loops, optional arguments, context
managers and ``self.training`` stay as written; a traced graph would fix them at the values met while tracing.
"""

from __future__ import annotations

import ast
import linecache
import textwrap
import types
from collections.abc import Mapping
from dataclasses import dataclass

from .walk import Place, Walk, content_of, parse, self_name, tensor_of, written


@dataclass(frozen=True)
class Edit:
    """Send call ``number`` of ``method`` to ``self.<slot>``; ``per_pass``: to one module for each pass of its loop."""

    method: str
    number: int
    slot: str
    per_pass: bool = False


def rewrite(function: types.FunctionType, name: str, edits: Mapping[int, Edit]) -> types.FunctionType:
    """``function`` with the calls of these numbers sent elsewhere; decorators, defaults and closures are kept."""
    inner = written(function, name)
    assert inner is not None
    tree = parse(inner)
    owner = self_name(tree)
    assert owner is not None

    def on_call(call: ast.Call, place: Place) -> ast.expr:
        edit = edits.get(place.number)
        if edit is None:
            return call
        tensor = tensor_of(call)
        assert tensor is not None
        target: ast.expr = ast.Attribute(ast.Name(owner, ast.Load()), edit.slot, ast.Load())
        if edit.per_pass:
            next_pass = ast.parse(f"({_counter(edit)} := {_counter(edit)} + 1)", mode="eval").body
            target = ast.Subscript(target, next_pass, ast.Load())
        return ast.Call(target, [tensor], [])

    walk = Walk(on_call)
    body = [walk.visit(statement) for statement in tree.body]
    start = 1 if ast.get_docstring(tree) is not None else 0
    counters = dict.fromkeys(_counter(edit) for edit in edits.values() if edit.per_pass)
    body[start:start] = [ast.parse(f"{counter} = -1").body[0] for counter in counters]
    tree.body, tree.decorator_list = body, []
    return _redecorate(function, inner, _compile(tree, inner))


def _counter(edit: Edit) -> str:
    return f"_{edit.slot}_pass"


def _compile(tree: ast.FunctionDef, original: types.FunctionType) -> types.FunctionType:
    """A function from a tree, with the globals, cells, defaults and annotations of the original.

    The source is kept where ``inspect.getsource`` finds it: TorchScript and tracebacks read it.
    """
    free = [name for name in original.__code__.co_freevars if name != "__class__"]
    class_name = ["_", *original.__qualname__.split(".")][-2].strip("<>")  # names such as self.__x are mangled with it
    text = f"def _({', '.join(free)}):\n class {class_name}:\n"
    text += textwrap.indent(ast.unparse(ast.fix_missing_locations(tree)), "  ") + "\n"
    filename = f"<proxact {original.__module__}.{original.__qualname__} {abs(hash(text)):x}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    code: types.CodeType = compile(text, filename, "exec", dont_inherit=True)
    for name in ("_", class_name, tree.name):
        code = next(c for c in code.co_consts if isinstance(c, types.CodeType) and c.co_name == name)
    cells = dict(zip(original.__code__.co_freevars, original.__closure__ or (), strict=True))
    new = types.FunctionType(
        code,
        original.__globals__,
        original.__name__,
        original.__defaults__,
        tuple(cells[name] for name in code.co_freevars),
    )
    return _like(new, original)


def _redecorate(function: types.FunctionType, inner: types.FunctionType, new: types.FunctionType) -> types.FunctionType:
    """``function`` with ``inner``, somewhere in its closures, exchanged for ``new``."""
    if function is inner:
        return new
    cells = []
    for cell in function.__closure__ or ():
        content = content_of(cell)
        if isinstance(content, types.FunctionType) and written(content, inner.__code__.co_name) is inner:
            cell = types.CellType(_redecorate(content, inner, new))
        cells.append(cell)
    wrapper = types.FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, tuple(cells)
    )
    _like(wrapper, function)
    if "__wrapped__" in wrapper.__dict__:  # inspect.signature follows it
        wrapper.__dict__["__wrapped__"] = new
    return wrapper


def _like(new: types.FunctionType, original: types.FunctionType) -> types.FunctionType:
    new.__kwdefaults__ = original.__kwdefaults__
    new.__annotations__ = dict(original.__annotations__)
    new.__qualname__, new.__module__, new.__doc__ = original.__qualname__, original.__module__, original.__doc__
    new.__dict__.update(original.__dict__)
    return new
