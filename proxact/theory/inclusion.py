"""Orthant QP < QP < SOCP < SDP: a problem of one class written as a problem of the next.

Points and multipliers go along: an optimum with its proof becomes one of the next class, and no solver is needed.
"""

from __future__ import annotations

import torch
from torch import Tensor

from .claim import Claim
from .measure import F64, normal, worst
from .problems import QP, SDP, SOCP, OrthantQP


def orthant_to_qp(problem: OrthantQP) -> QP:
    n = len(problem.q)
    identity = torch.eye(n, dtype=problem.q.dtype)
    return QP(problem.P, problem.q, -identity, torch.zeros(n, dtype=problem.q.dtype))


def qp_to_socp(problem: QP) -> SOCP:
    """In (x, tau): min tau + <q, x> with 1/2 <x, P x> <= tau, which is ||(sqrt(2) P^(1/2) x, tau - 1)|| <= tau + 1.

    The first cone holds the objective; the others, with left side 0, the inequalities.
    """
    P, q, H, r = problem
    rows, n = H.shape
    values, vectors = torch.linalg.eigh(P)
    if values[0] < -1e-12 * values[-1].abs():
        raise ValueError(f"P must be positive semidefinite, got an eigenvalue of {values[0].item():.3g}")
    A = P.new_zeros(rows + 1, n + 1, n + 1)
    A[0, :n, :n] = (2 * values.clamp(min=0)).sqrt().unsqueeze(-1) * vectors.mT
    A[0, n, n] = 1
    b = P.new_zeros(rows + 1, n + 1)
    b[0, n] = -1
    last = torch.eye(n + 1, dtype=P.dtype)[n:]
    d = torch.cat([last, torch.cat([-H, P.new_zeros(rows, 1)], 1)])
    return SOCP(torch.cat([q, P.new_ones(1)]), A, b, d, torch.cat([P.new_ones(1), r]))


def socp_to_sdp(problem: SOCP) -> SDP:
    """||a|| <= s is the matrix [[s I, a], [a', s]] being positive semidefinite; one block for each cone."""
    c, A, b, d, e = problem
    F = torch.stack([_arrows(A[..., i], d[:, i]) for i in range(len(c))])
    return SDP(c, _arrows(b, e), F)


def socp_point(problem: QP, x: Tensor) -> Tensor:
    """(x, tau) with the least tau."""
    return torch.cat([x, 0.5 * (x * (x @ problem.P)).sum(-1, keepdim=True)], -1)


def socp_multipliers(problem: QP, x: Tensor, multipliers: Tensor) -> tuple[Tensor, Tensor]:
    """Of :func:`qp_to_socp`, from those of the QP: half the sides of the first cone, the left one negated."""
    right, left = qp_to_socp(problem).sides(socp_point(problem, x))
    nu = torch.zeros_like(left)
    nu[0] = -left[0] / 2
    return torch.cat([right[:1] / 2, multipliers]), nu


def sdp_multiplier(mu: Tensor, nu: Tensor) -> Tensor:
    """Of :func:`socp_to_sdp`, from those of the SOCP: blocks [[nu nu' / mu, nu], [nu', 2 mu - ||nu||^2 / mu]] / 2."""
    blocks = []
    for scale, vector in zip(mu, nu, strict=True):
        safe = scale if scale > 0 else torch.ones_like(scale)  # then nu is 0 too
        outer = torch.outer(vector, vector) / safe
        corner = 2 * scale - outer.trace()
        blocks.append(torch.cat([torch.cat([outer, vector[None]]), torch.cat([vector, corner[None]])[:, None]], 1) / 2)
    return torch.block_diag(*blocks)


def _arrows(vectors: Tensor, scales: Tensor) -> Tensor:
    """diag of [[s I, a], [a', s]] for the rows a of ``vectors`` and the entries s of ``scales``."""
    k = vectors.shape[-1]
    blocks = scales.reshape(-1, 1, 1) * torch.eye(k + 1, dtype=vectors.dtype)
    blocks[:, :k, k] = blocks[:, k, :k] = vectors
    return torch.block_diag(*blocks)


def example_orthant(seed: int = 0) -> tuple[OrthantQP, Tensor, Tensor]:
    """With its optimum and the multipliers of x >= 0, both chosen first: q is what makes them so."""
    (root, signed), identity = _normals(seed, (5, 5), (5,)), torch.eye(5, dtype=F64)
    P = root @ root.mT / 5 + identity
    x, multipliers = signed.clamp(min=0), (-signed).clamp(min=0)
    return OrthantQP(P, multipliers - P @ x), x, multipliers


def example_qp(seed: int = 0) -> tuple[QP, Tensor, Tensor]:
    """With its optimum and multipliers: three of seven inequalities are active. P is singular."""
    root, H, x, force, room = _normals(seed, (2, 4), (7, 4), (4,), (7,), (7,))
    P, active = root.mT @ root, torch.arange(7) < 3
    multipliers = torch.where(active, 0.5 + force**2, 0)
    slack = torch.where(active, 0, 0.5 + room**2)
    return QP(P, -P @ x - multipliers @ H, H, H @ x + slack), x, multipliers


def example_socp(seed: int = 0) -> tuple[SOCP, Tensor, Tensor, Tensor]:
    """With its optimum and multipliers: three of five cones of dimension 4 are active."""
    A, b, d, x, force = _normals(seed, (5, 3, 4), (5, 3), (5, 4), (4,), (5,))
    left, active = A @ x + b, torch.arange(5) < 3
    norms = torch.linalg.vector_norm(left, dim=-1)
    weight, slack = torch.where(active, 0.5 + force**2, 0), torch.where(active, 0, 1.0)
    mu, nu = weight * norms, -weight.unsqueeze(-1) * left
    c = mu @ d + torch.einsum("ik,ikn->n", nu, A)
    return SOCP(c, A, b, d, norms + slack - d @ x), x, mu, nu


def _normals(seed: int, *shapes: tuple[int, ...]) -> list[Tensor]:
    return [normal(*shape, seed=100 * seed + i) for i, shape in enumerate(shapes)]


def _qp_gap(**data: Tensor) -> float:
    """Same values and slacks everywhere, and the optimum is the optimum."""
    qp, (orthant, optimum, multipliers) = QP(**data), example_orthant()
    x = normal(100, 5, seed=20)
    value = 0.5 * torch.einsum("bi,ij,bj->b", x, orthant.P, x) + x @ orthant.q
    return worst(qp.value(x) - value, qp.slack(x) - x, qp.gap(optimum, multipliers))


def _socp_gap(**data: Tensor) -> float:
    """Same values and slacks at lifted points, which lie on the first cone; and the optimum is the optimum."""
    socp, (qp, optimum, multipliers) = SOCP(**data), example_qp()
    x = normal(100, 4, seed=21)
    lifted = socp_point(qp, x)
    right, left = socp.sides(lifted)
    slack = right - torch.linalg.vector_norm(left, dim=-1)
    same = worst(socp.value(lifted) - qp.value(x), slack[:, 0], slack[:, 1:] - qp.slack(x))
    return worst(same, socp.gap(socp_point(qp, optimum), *socp_multipliers(qp, optimum, multipliers)))


def _sdp_gap(**data: Tensor) -> float:
    """An arrow matrix has the eigenvalues s - ||a||, s, ..., s, s + ||a||; and the optimum is the optimum."""
    sdp, (socp, optimum, mu, nu) = SDP(**data), example_socp()
    x = normal(100, 4, seed=22)
    right, left = socp.sides(x)
    norms = torch.linalg.vector_norm(left, dim=-1)
    expected = torch.cat([right - norms, right, right, right + norms], -1).sort(-1).values
    same = worst(sdp.value(x) - socp.value(x), torch.linalg.eigvalsh(sdp.matrix(x)) - expected)
    return worst(same, sdp.gap(optimum, sdp_multiplier(mu, nu)))


CLAIMS = [
    Claim(
        name="a problem over the orthant is a QP",
        where="Section 2.1, inclusions",
        construct=lambda: orthant_to_qp(example_orthant()[0])._asdict(),
        residual=_qp_gap,
    ),
    Claim(
        name="a QP is an SOCP",
        where="Section 2.1, inclusions",
        construct=lambda: qp_to_socp(example_qp()[0])._asdict(),
        residual=_socp_gap,
        tolerance=1e-10,
    ),
    Claim(
        name="an SOCP is an SDP",
        where="Section 2.1, inclusions",
        construct=lambda: socp_to_sdp(example_socp()[0])._asdict(),
        residual=_sdp_gap,
        tolerance=1e-10,
    ),
]
