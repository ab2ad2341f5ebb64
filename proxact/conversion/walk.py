"""The calls in the source of a method, numbered in order of evaluation."""

from __future__ import annotations

import ast
import functools
import inspect
import itertools
import textwrap
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Arm:
    """One side of a branch; ``returns``: nothing behind the branch runs after it."""

    fork: int
    side: int
    returns: bool


@dataclass(frozen=True)
class Place:
    """Where a call stands: its number in order of evaluation and what surrounds it."""

    number: int
    line: int
    arms: tuple[Arm, ...]
    in_loop: bool
    in_inner_function: bool
    result_is_dropped: bool


_forks = itertools.count()

OnCall = Callable[[ast.Call, Place], ast.expr]
OnValue = Callable[[ast.expr], None]


class Walk(ast.NodeTransformer):
    """Offer every call of a function to ``on_call``, inner calls first, and every other name to ``on_value``."""

    def __init__(self, on_call: OnCall, on_value: OnValue = lambda node: None, arms: tuple[Arm, ...] = ()) -> None:
        self.on_call, self.on_value, self.arms = on_call, on_value, arms
        self.number = -1
        self.loops = self.functions = 0
        self.callees: set[int] = set()
        self.dropped: set[int] = set()

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.callees.add(id(node.func))
        dropped = id(node) in self.dropped
        self.generic_visit(node)
        self.number += 1
        place = Place(self.number, node.lineno, self.arms, self.loops > 0, self.functions > 0, dropped)
        return self.on_call(node, place)

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        self.dropped.add(id(node.value))
        return self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if id(node) not in self.callees:
            self.on_value(node)
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if id(node) not in self.callees:
            self.on_value(node)
        return node

    def visit_If(self, node: ast.If) -> ast.AST:
        node.test = self.visit(node.test)
        self._sides(node.body, node.orelse)
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        node.test = self.visit(node.test)
        body, orelse = [node.body], [node.orelse]
        self._sides(body, orelse)
        node.body, node.orelse = body[0], orelse[0]
        return node

    def _sides(self, *sides: list[Any]) -> None:
        outer, fork = self.arms, next(_forks)
        for side, body in enumerate(sides):
            self.arms = (*outer, Arm(fork, side, _returns(body)))
            body[:] = [self.visit(part) for part in body]
        self.arms = outer

    def visit_For(self, node: ast.For) -> ast.AST:
        node.iter = self.visit(node.iter)
        self._loop(node.body)
        node.orelse = [self.visit(statement) for statement in node.orelse]
        return node

    def visit_While(self, node: ast.While) -> ast.AST:
        self.loops += 1
        node.test = self.visit(node.test)
        self.loops -= 1
        self._loop(node.body)
        node.orelse = [self.visit(statement) for statement in node.orelse]
        return node

    def visit_comprehension_like(self, node: Any) -> ast.AST:
        first = node.generators[0]
        first.iter = self.visit(first.iter)  # evaluated once
        self.loops += 1
        first.ifs = [self.visit(test) for test in first.ifs]
        node.generators[1:] = [self.visit(generator) for generator in node.generators[1:]]
        for part in ("key", "value", "elt"):
            if hasattr(node, part):
                setattr(node, part, self.visit(getattr(node, part)))
        self.loops -= 1
        return node

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_comprehension_like

    def visit_inner_function(self, node: Any) -> ast.AST:
        self.functions += 1
        self.generic_visit(node)
        self.functions -= 1
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = visit_inner_function

    def _loop(self, body: list[ast.stmt]) -> None:
        self.loops += 1
        body[:] = [self.visit(statement) for statement in body]
        self.loops -= 1


def are_alternatives(earlier: Place, later: Place) -> bool:
    """Whether two calls are never made in one run: on two sides of a branch, or behind a return."""
    sides = {arm.fork: arm.side for arm in later.arms}
    return any(sides[arm.fork] != arm.side if arm.fork in sides else arm.returns for arm in earlier.arms)


def _returns(body: list[Any]) -> bool:
    last = body[-1] if body else None
    if isinstance(last, ast.If):
        return _returns(last.body) and _returns(last.orelse)
    return isinstance(last, (ast.Return, ast.Raise))


def written(function: types.FunctionType, name: str) -> types.FunctionType | None:
    """The function whose source defines ``name``: the one given or, behind decorators, one that their closures hold."""
    found, seen = [function], {function}
    for candidate in found:
        if candidate.__code__.co_name == name:
            return candidate
        for cell in candidate.__closure__ or ():
            content = content_of(cell)
            if isinstance(content, types.FunctionType) and content not in seen:
                found.append(content)
                seen.add(content)
    return None


@functools.cache
def _text(code: types.CodeType) -> str:
    return textwrap.dedent(inspect.getsource(code))


def parse(function: types.FunctionType) -> ast.FunctionDef:
    """A fresh syntax tree of a function; raises OSError, TypeError or SyntaxError where there is no usable source."""
    tree = ast.parse(_text(function.__code__)).body[0]
    if not isinstance(tree, ast.FunctionDef) or tree.name != function.__code__.co_name:
        raise OSError(f"the source of {function.__qualname__} is not that of a method")
    return tree


def self_name(tree: ast.FunctionDef) -> str | None:
    """The name of a method's first argument."""
    arguments = [*tree.args.posonlyargs, *tree.args.args]
    return arguments[0].arg if arguments else None


def tensor_of(call: ast.Call) -> ast.expr | None:
    """What an activation call is about: x in f(x), f(input=x) and x.f(); None where it is not plain."""
    if call.args:
        return None if isinstance(call.args[0], ast.Starred) else call.args[0]
    if call.keywords:
        return next((keyword.value for keyword in call.keywords if keyword.arg == "input"), None)
    return call.func.value if isinstance(call.func, ast.Attribute) else None


def content_of(cell: types.CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # not filled yet
        return None
