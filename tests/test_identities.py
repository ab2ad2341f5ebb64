"""Identities that projections obey, as properties over the table of sets."""

import math

import pytest
import torch
from cases import CASES, F64, Case, ids
from hypothesis import given, settings
from hypothesis import strategies as st

import proxact
from proxact import project

EXAMPLES = settings(max_examples=40, deadline=None, derandomize=True)
numbers = st.floats(-1e3, 1e3, allow_nan=False).map(lambda v: 0.0 if abs(v) < 1e-100 else v)
angles = st.sampled_from([0.0, math.pi / 4, math.pi / 2]) | st.floats(0, math.pi / 2)
sizes = st.integers(1, 9)


def vector(data, n):
    return torch.tensor(data.draw(st.lists(numbers, min_size=n, max_size=n)), dtype=F64)


def close(a, b, case: Case | None = None, size=1.0):
    tolerance = max(case.tolerance if case else 0, 1e-12) * max(1.0, size) * 10
    torch.testing.assert_close(a, b, atol=tolerance, rtol=0)


def each(*, where=lambda case: True):
    return pytest.mark.parametrize("case", [case for case in CASES if where(case)], ids=ids)


@each()
@EXAMPLES
@given(data=st.data())
def test_idempotent(case, data):
    x = vector(data, case.n)
    y = case(x)
    close(case(y), y, case, x.abs().max().item())


@each()
@EXAMPLES
@given(data=st.data())
def test_firmly_nonexpansive(case, data):
    x, z = vector(data, case.n), vector(data, case.n)
    moved = case(x) - case(z)
    size = max(1.0, (x - z).abs().max().item(), x.abs().max().item())
    assert moved @ moved <= moved @ (x - z) + 100 * case.tolerance * size**2


@each(where=lambda case: case.is_cone)
@EXAMPLES
@given(data=st.data(), factor=st.floats(1e-3, 1e3))
def test_positively_homogeneous(case, data, factor):
    x = vector(data, case.n)
    close(case(factor * x), factor * case(x), case, factor * x.abs().max().item())


@each(where=lambda case: case.permutes)
@EXAMPLES
@given(data=st.data())
def test_permutation_equivariant(case, data):
    x = vector(data, case.n)
    order = torch.tensor(data.draw(st.permutations(range(case.n))))
    close(case(x[order]), case(x)[order], case, x.abs().max().item())


@each(where=lambda case: case.self_dual)
@EXAMPLES
@given(data=st.data())
def test_moreau_self_dual(case, data):
    x = vector(data, case.n)
    inner, outer = case(x), -case(-x)
    size = x.abs().max().item()
    close(inner + outer, x, case, size)
    assert abs(inner @ outer) <= 1e-12 * max(1, size) ** 2 * case.n


@EXAMPLES
@given(data=st.data(), m=st.integers(2, 9), alpha=angles)
def test_moreau_cone(data, m, alpha):
    """Not for m = 1, where the polar of the half-line is the other half-line, whatever the angle."""
    x = vector(data, m)
    inner, outer = project.cone(x, alpha, m), -project.cone(-x, math.pi / 2 - alpha, m)
    size = x.abs().max().item()
    close(inner + outer, x, size=size)
    assert abs(inner @ outer) <= 1e-12 * max(1, size) ** 2 * m


@EXAMPLES
@given(data=st.data(), m=sizes, alpha=angles)
def test_cone_idempotent_for_any_angle(data, m, alpha):
    x = vector(data, m)
    y = project.cone(x, alpha, m)
    close(project.cone(y, alpha, m), y, size=x.abs().max().item())


@EXAMPLES
@given(s=numbers, m=sizes, alpha=angles)
def test_on_the_axis_it_is_relu(s, m, alpha):
    x = torch.full((m,), s, dtype=F64)
    close(project.cone(x, alpha, m), torch.relu(x), size=abs(s))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_m2_quarter_is_relu_bit_for_bit(dtype):
    x = (torch.randn(100_000, dtype=F64) * 10 ** (torch.rand(100_000, dtype=F64) * 8 - 4)).to(dtype)
    assert torch.equal(project.cone(x, math.pi / 4), torch.relu(x))
    assert torch.equal(proxact.MPU(dim=-1)(x), torch.relu(x))


@pytest.mark.parametrize("m", [1, 2, 3, 5, 8])
def test_at_quarter_the_cone_is_self_dual(m):
    x = torch.randn(1000, m, dtype=F64)
    close(project.cone(x, math.pi / 4, m) - project.cone(-x, math.pi / 4, m), x)


@pytest.mark.parametrize("m", [1, 2, 3, 4, 8])
@pytest.mark.parametrize("alpha", [0.0, 0.3, math.pi / 4, 1.2, math.pi / 2])
def test_gain_is_the_second_moment(m, alpha):
    x = torch.randn(400_000, m, dtype=F64, generator=torch.Generator().manual_seed(1))
    measured = (project.cone(x, alpha, m) ** 2).sum() / (x**2).sum()
    assert measured == pytest.approx(proxact.gain(m, alpha) ** -2, abs=4e-3)
    leaky = (project.cone(x, alpha, m, leak=0.2) ** 2).sum() / (x**2).sum()
    assert leaky == pytest.approx(proxact.gain(m, alpha, leak=0.2) ** -2, abs=4e-3)


def test_gain_values():
    assert proxact.gain(2) == pytest.approx(torch.nn.init.calculate_gain("relu"))
    for alpha, ratio in {0.3: 0.28, 0.6: 0.41, 1.0: 0.60, 1.3: 0.73}.items():
        assert proxact.gain(3, alpha) ** -2 == pytest.approx(ratio, abs=0.005)


@pytest.mark.parametrize(("small", "large"), [(2, 3), (2, 7), (3, 5)])
def test_small_cones_sit_in_larger_ones(small, large):
    """With orthonormal bases that start with the axes, A = B2[:, :m1] B1' gives A' P(A x) = P(x)."""

    def basis(m):
        start = torch.cat([torch.ones(m, 1, dtype=F64), torch.eye(m, dtype=F64)[:, : m - 1]], 1)
        q = torch.linalg.qr(start).Q
        return q * torch.sign(q[0, 0])

    isometry = basis(large)[:, :small] @ basis(small).T
    x = torch.randn(500, small, dtype=F64)
    for alpha in (0.2, 0.9, 1.4):
        inside = project.cone(x @ isometry.T, alpha, large) @ isometry
        close(inside, project.cone(x, alpha, small))


def test_ray_and_half_space_are_exact():
    x = torch.randn(1000, 3, dtype=F64)
    e = torch.ones(3, dtype=F64) / math.sqrt(3)
    close(project.cone(x, 0.0, 3), torch.relu(x @ e)[:, None] * e)
    close(project.cone(x, math.pi / 2, 3), project.halfspace(x, -e, 0.0))


def test_lorentz_is_the_rotated_cone():
    x = torch.randn(1000, 4, dtype=F64)
    q = torch.linalg.qr(torch.cat([torch.ones(4, 1, dtype=F64), torch.randn(4, 3, dtype=F64)], 1)).Q
    q = q * torch.sign(q[0, 0])
    close(project.lorentz(x @ q) @ q.T, project.cone(x, math.pi / 4, 4))


def test_soc_contains_the_other_sets():
    x = torch.randn(300, 3, dtype=F64) * 3
    zero, eye = torch.zeros(3, dtype=F64), torch.eye(3, dtype=F64)
    close(project.soc(x, eye, 0.0, zero, 0.7), project.l2_ball(x, 0.7))
    close(project.soc(x, eye[1:], 0.0, eye[0], 0.0), project.lorentz(x))
    close(project.soc(x, torch.zeros(1, 3, dtype=F64), 0.0, eye[0], 1.0), project.halfspace(x, -eye[0], 1.0))


def test_polyhedron_contains_the_other_sets():
    x = torch.randn(300, 3, dtype=F64) * 3
    eye = torch.eye(3, dtype=F64)
    close(project.polyhedron(x, torch.cat([eye, -eye]), 1.0), project.linf_ball(x, 1.0))
    close(project.polyhedron(x, -eye, 0.0), project.nonnegative(x))
    signs = torch.cartesian_prod(*[torch.tensor([-1.0, 1.0], dtype=F64)] * 3)
    close(project.polyhedron(x, signs, 1.3), project.l1_ball(x, 1.3))
