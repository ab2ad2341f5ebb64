"""The table of sets that the generic tests run over. A new set is one row here and one oracle in oracles.py."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import oracles
import torch
from torch import Tensor

from proxact import project

F64 = torch.float64


def tensor(*values: float) -> Tensor:
    return torch.tensor(values, dtype=F64)


H = torch.tensor([[1, 0, 0], [0, 1, 0], [-1, -1, 0.5], [0.3, -0.2, 1], [0, 0, -1], [1, 1, 1]], dtype=F64)
R = tensor(1, 1, 0.8, 0.5, 1.2, 1.5)
A = torch.tensor([[1, 0.5, -0.3], [0, 1, 0.4]], dtype=F64)
SOC_A = torch.tensor([[1, 0.2, 0], [-0.1, 0.8, 0.3], [0, 0.1, 0.6]], dtype=F64)


@dataclass(frozen=True)
class Case:
    name: str
    function: Callable[..., Tensor]
    n: int
    params: dict[str, Any] = field(default_factory=dict)
    is_cone: bool = False
    self_dual: bool = False
    permutes: bool = False
    tolerance: float = 1e-12

    def __call__(self, x: Tensor) -> Tensor:
        """The projection of vectors of length n on the last axis."""
        return self.call(x, **self.params_for(x.dtype))

    def call(self, x: Tensor, **params: Any) -> Tensor:
        if self.name == "psd":
            return self.function(x.unflatten(-1, (3, 3))).flatten(-2)
        return self.function(x, **params)

    def params_for(self, dtype: torch.dtype) -> dict[str, Any]:
        return {k: v.to(dtype) if isinstance(v, Tensor) else v for k, v in self.params.items()}

    @functools.cached_property
    def oracle(self) -> Callable[[list, list], tuple[list, Any]]:
        return oracles.make(self.name, self.params)


def cone_case(m: int, alpha: float) -> Case:
    label = f"cone{m}@{alpha:.3g}"
    return Case(label, project.cone, m, {"alpha": alpha, "m": m}, is_cone=True, permutes=True)


SOLVED = 1e-9  # by iteration

CASES = [
    Case("nonnegative", project.nonnegative, 4, is_cone=True, self_dual=True, permutes=True),
    Case("box", project.box, 3, {"lower": tensor(-1, 0, -math.inf), "upper": tensor(1, 0, 2)}),
    Case("halfspace", project.halfspace, 3, {"a": tensor(1, -2, 0.5), "b": 0.3}),
    Case("hyperplane", project.hyperplane, 3, {"a": tensor(1, -2, 0.5), "b": 0.3}),
    Case("affine", project.affine, 3, {"A": A, "b": tensor(0.4, -1)}),
    Case("polyhedron", project.polyhedron, 3, {"H": H, "r": R}, tolerance=SOLVED),
    Case("l1_ball", project.l1_ball, 5, {"radius": 1.3}, permutes=True),
    Case("l2_ball", project.l2_ball, 4, {"radius": 0.7}, permutes=True),
    Case("linf_ball", project.linf_ball, 4, {"radius": 0.7}, permutes=True),
    Case("simplex", project.simplex, 5, {"radius": 1.0}, permutes=True),
    Case("lorentz", project.lorentz, 4, is_cone=True, self_dual=True),
    Case("rotated_lorentz", project.rotated_lorentz, 4, is_cone=True, self_dual=True),
    Case(
        "soc", project.soc, 3,
        {"A": SOC_A, "d": tensor(0.1, -0.2, 0.3), "r": tensor(0.3, 0.2, 0.5), "c": 0.8}, tolerance=SOLVED,
    ),
    Case("psd", project.psd, 9, is_cone=True),
    Case("exponential", project.exponential, 3, is_cone=True, tolerance=SOLVED),
    *[cone_case(m, alpha) for m in (1, 2, 3, 5) for alpha in (0.0, 0.3, math.pi / 4, 1.3, math.pi / 2)],
]  # fmt: skip

SMOOTH_CASES = [
    case for case in CASES if not case.name.startswith("cone") or "@0.3" in case.name or "@1.3" in case.name
]


def ids(case: Case) -> str:
    return case.name


def points(case: Case, count: int, seed: int = 0) -> Tensor:
    """Random points of many sizes, points of the set and of its boundary, the origin, the axes, ties and near-ties."""
    generator = torch.Generator().manual_seed(seed)
    n = case.n

    def normal(rows: int) -> Tensor:
        return torch.randn(rows, n, generator=generator, dtype=F64)

    quarter = count // 4
    plain = normal(count - 3 * quarter) * 2
    sizes = normal(quarter) * 10 ** (torch.rand(quarter, 1, generator=generator, dtype=F64) * 12 - 6)
    boundary = case(normal(quarter) * 2)
    boundary[::3] += 1e-9 * normal(len(boundary[::3]))
    ones = torch.ones(n, dtype=F64)
    special = [torch.zeros(n, dtype=F64), ones, -ones, 1e-7 * ones, *torch.eye(n, dtype=F64), *-torch.eye(n, dtype=F64)]
    ties = normal(max(0, quarter - len(special))).round()
    return torch.cat([plain, sizes, boundary, torch.stack(special), ties])
