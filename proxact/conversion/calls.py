"""The activation calls that a module makes in its own methods."""

from __future__ import annotations

import ast
import builtins
import types
from dataclasses import dataclass, field

from torch import nn

from .kinds import TENSOR_METHODS, Kinds, kind_of
from .mentions import is_torch, mentions
from .walk import Arm, Place, Walk, content_of, parse, self_name, tensor_of, written


@dataclass(frozen=True)
class Call:
    """One activation call: ``self.<slot>(x)``, or a function's if ``slot`` is None; ``is_plain``: with x alone."""

    method: str
    place: Place
    label: str
    kind: type[nn.Module]
    slot: str | None
    is_plain: bool


@dataclass
class Reading:
    """What the source of a module's methods shows.

    calls: those that can be rewritten; problems: (what, why) for those that cannot; blocked: slots that must stay.
    """

    calls: list[Call] = field(default_factory=list)
    problems: list[tuple[str, str]] = field(default_factory=list)
    blocked: dict[str, str] = field(default_factory=dict)


def read(owner: nn.Module, cls: type, edited: set[tuple[str, int]], which: Kinds) -> Reading:
    """Read ``forward`` of ``cls`` and the methods it mentions, as run by ``owner``; skip the calls already edited."""
    reader = _Reader(owner, cls, edited, which)
    own = vars(owner).get("forward")
    if own is None:
        reader.read()
    elif mentions(getattr(own, "__func__", own), which):
        reader.problem("forward", "it is set on the instance, not in the class: not rewritten")
    return reader.reading


class _Reader:
    """Reads methods in the order in which they are called; the names after ``method`` belong to the current one."""

    method: str
    code: types.CodeType
    self_name: str | None
    names: dict[str, object]
    walk: Walk

    def __init__(self, owner: nn.Module, cls: type, edited: set[tuple[str, int]], which: Kinds) -> None:
        self.owner, self.cls, self.edited, self.which = owner, cls, edited, which
        self.reading = Reading()
        self.methods: set[str] = set()

    def read(self, method: str = "forward", arms: tuple[Arm, ...] = ()) -> None:
        function = _raw(self.cls, method)
        if not isinstance(function, types.FunctionType) or is_torch(function) or method in self.methods:
            return
        self.methods.add(method)
        outer = dict(vars(self))
        self.method = method
        self.read_method(function, arms)
        vars(self).update(outer)

    def read_method(self, function: types.FunctionType, arms: tuple[Arm, ...]) -> None:
        inner = written(function, self.method)
        try:
            if inner is None:
                raise OSError("it hides behind a decorator")
            tree = parse(inner)
        except (OSError, TypeError, SyntaxError) as error:
            if mentions(function, self.which):
                self.problem(self.method, f"{self.cls.__name__}.{self.method} has no source to rewrite: {error}")
            return
        cells = zip(inner.__code__.co_freevars, map(content_of, inner.__closure__ or ()), strict=True)
        self.code, self.self_name = inner.__code__, self_name(tree)
        self.names = {**vars(builtins), **inner.__globals__, **dict(cells)}
        self.walk = Walk(self.on_call, self.on_value, arms)
        for statement in tree.body:
            self.walk.visit(statement)

    def on_call(self, node: ast.Call, place: Place) -> ast.expr:
        if (self.method, place.number) in self.edited:
            return node
        if isinstance(node.func, ast.Attribute) and self.is_self(node.func.value):
            self.on_self(node.func.attr, node, place)
        elif isinstance(node.func, ast.Attribute) and _is_super(node.func.value):
            self.on_super(node.func.attr, place)
        else:
            self.on_function(node, place)
        return node

    def on_self(self, attribute: str, node: ast.Call, place: Place) -> None:
        own, shared = slot_value(self.owner, attribute), _raw(self.cls, attribute)
        if kind := kind_of(own, self.which):
            self.add(node, place, kind, attribute)
        elif mentions(own, self.which):
            self.problem(f"self.{attribute}", f"a function in an attribute, not rewritten ({self.at(place.line)})")
        elif kind := kind_of(shared.__func__ if isinstance(shared, staticmethod) else shared, self.which):
            self.add(node, place, kind, None)
        else:
            self.reach(attribute)

    def on_super(self, method: str, place: Place) -> None:
        home = next(c for c in self.cls.__mro__ if self.method in vars(c))
        parents = self.cls.__mro__[self.cls.__mro__.index(home) + 1 :]
        if mentions(next((vars(c)[method] for c in parents if method in vars(c)), None), self.which):
            self.problem(f"super().{method}()", f"a method of a parent class, not rewritten ({self.at(place.line)})")

    def on_function(self, node: ast.Call, place: Place) -> None:
        value = self.resolve(node.func)
        if kind := kind_of(value, self.which):
            self.add(node, place, kind, None)
        elif isinstance(value, types.FunctionType):
            if mentions(value, self.which):
                self.problem(
                    f"{value.__name__}()", f"a function outside the class, not rewritten ({self.at(place.line)})"
                )
        elif value is None and isinstance(node.func, ast.Attribute) and not node.args and not node.keywords:
            kind = TENSOR_METHODS.get(node.func.attr)
            if kind in self.which:
                self.add(node, place, kind, None)

    def on_value(self, node: ast.expr) -> None:
        if isinstance(node, ast.Attribute) and self.is_self(node.value):
            self.reach(node.attr)
            return
        value = self.resolve(node)
        if not isinstance(value, nn.Module) and kind_of(value, self.which):
            self.problem(ast.unparse(node), f"it is used as a value, not called ({self.at(node.lineno)})")

    def add(self, node: ast.Call, place: Place, kind: type[nn.Module], slot: str | None) -> None:
        is_method = isinstance(node.func, ast.Attribute) and not node.args and not node.keywords
        label = f"x.{node.func.attr}()" if is_method else ast.unparse(node.func)  # type: ignore[attr-defined]
        if place.result_is_dropped:
            why = f"it works in place and its result is dropped ({self.at(place.line)})"
            if slot is None:
                self.problem(label, why)
            else:
                self.reading.blocked[slot] = why
        elif self.self_name is not None and tensor_of(node) is not None:
            is_plain = len(node.args) == 1 and not node.keywords
            self.reading.calls.append(Call(self.method, place, label, kind, slot, is_plain))
        elif slot is None:  # a module in a slot is exchanged in any case
            self.problem(label, f"its arguments are not plain ({self.at(place.line)})")

    def problem(self, what: str, why: str) -> None:
        self.reading.problems.append((what, why))

    def reach(self, attribute: str) -> None:
        raw = _raw(self.cls, attribute)
        if isinstance(raw, (staticmethod, classmethod, property)) and attribute not in self.methods:
            self.methods.add(attribute)
            if mentions(raw.fget if isinstance(raw, property) else raw.__func__, self.which):
                self.problem(attribute, f"a {type(raw).__name__}, not rewritten")
        self.read(attribute, self.walk.arms)

    def at(self, line: int) -> str:
        return f"{self.method}, line {self.code.co_firstlineno + line - 1}"

    def is_self(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and node.id == self.self_name

    def resolve(self, node: ast.expr) -> object:
        """The value of a global name or of an attribute of a module or class; None for everything else."""
        if isinstance(node, ast.Name):
            is_local = node.id in self.code.co_varnames or node.id in self.code.co_cellvars
            return None if is_local else self.names.get(node.id)
        if isinstance(node, ast.Attribute):
            base = self.resolve(node.value)
            if isinstance(base, (types.ModuleType, type)):
                return getattr(base, node.attr, None)
        return None


def slot_value(owner: nn.Module, name: str) -> object:
    """What ``owner.<name>`` is, if it is a child module or an attribute of the instance."""
    child = owner._modules.get(name)
    return vars(owner).get(name) if child is None else child


def _raw(cls: type, name: str) -> object:
    return next((vars(c)[name] for c in cls.__mro__ if name in vars(c)), None)


def _is_super(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"
