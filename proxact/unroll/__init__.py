"""Solvers as networks: min 1/2 x'Px + q'x + g(x), one layer for each step, g any projection or proximal operator.

- :class:`PGD` and :class:`ProximalGradient`: a linear layer, then g. The paper's reading of a ReLU layer.
- :class:`FISTA`: the same layer with momentum.
- :class:`ADMM` and :class:`PDHG`: g(Ax) too, and linear objectives (P = 0).

A solver is called as ``solver(q)`` and returns x, so it stands in ``nn.Sequential``; ``solver.solve(q)`` returns a
:class:`Result` that says what converged. With ``tol=None`` it is a network of exactly ``steps`` layers.
"""

from ._solver import NotConvergedError, Result, Solver
from .admm import ADMM
from .fista import FISTA
from .gradient import PGD, ProximalGradient
from .pdhg import PDHG

__all__ = ["ADMM", "FISTA", "PDHG", "PGD", "NotConvergedError", "ProximalGradient", "Result", "Solver"]
