"""Numbers at the ends of the dtypes, nan, infinities, half precision, strides, empty and odd shapes."""

import math

import pytest
import torch
from cases import CASES, F64, ids, points, tensor

from proxact import project

inf, nan = math.inf, math.nan
ANGLES = [0.0, 1e-6, 0.3, math.pi / 4, 1.3, math.pi / 2]


@pytest.mark.parametrize("case", CASES, ids=ids)
def test_float32_is_close_to_float64(case):
    x = points(case, 2000).float()
    exact = case(x.double())
    error = (case(x).double() - exact).abs().amax(-1)
    size = x.double().abs().amax(-1).clamp(min=0.0 if case.is_cone else 1.0)
    assert (error <= 2e-6 * size).all(), (error / size).max()


@pytest.mark.parametrize("m", [2, 3, 8, 16])
@pytest.mark.parametrize("alpha", ANGLES)
def test_cone_float32(m, alpha):
    x = torch.randn(4000, m) * 10 ** (torch.rand(4000, 1) * 20 - 10)
    error = (project.cone(x, alpha, m).double() - project.cone(x.double(), alpha, m)).abs().amax(-1)
    assert (error <= 2e-6 * x.abs().amax(-1)).all()


@pytest.mark.parametrize("case", CASES, ids=ids)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_is_float32_rounded(case, dtype):
    x = points(case, 400).clamp(-1e3, 1e3).to(dtype)
    in_float32 = case.function(x.float(), **_rounded(case, dtype)) if case.name != "psd" else case(x.float())
    got = case(x)
    assert got.dtype == dtype
    ulp = torch.nextafter(in_float32.to(dtype).abs(), torch.tensor(inf, dtype=dtype)) - in_float32.to(dtype).abs()
    assert ((got.float() - in_float32.to(dtype).float()).abs() <= ulp.float()).all()


def _rounded(case, dtype):
    """The parameters as the half-precision call sees them."""
    return {k: v.to(dtype).float() if isinstance(v, torch.Tensor) else v for k, v in case.params.items()}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, F64])
@pytest.mark.parametrize("case", CASES, ids=ids)
def test_finite_in_finite_out(case, dtype):
    """Entries from 1e-38 to 1e38 and mixtures of them, on the axis and at the apex."""
    exponent = torch.rand(500, case.n, generator=torch.Generator().manual_seed(5)) * 76 - 38
    sign = torch.randint(0, 2, exponent.shape, generator=torch.Generator().manual_seed(6)) * 2 - 1
    mixed = sign * 10**exponent
    same = sign * 10 ** exponent[:, :1]
    axis = 10 ** exponent[:, :1].expand(-1, case.n)
    x = torch.cat([mixed, same, axis, -axis, torch.zeros(1, case.n)])
    x = x.clamp(-1e4, 1e4).to(dtype) if dtype == torch.float16 else x.to(dtype)
    y = case(x)
    assert y.isfinite().all()


@pytest.mark.parametrize("m", [1, 2, 3, 5, 8, 16])
@pytest.mark.parametrize("alpha", ANGLES)
def test_cone_gradients_are_finite_everywhere(m, alpha):
    exponent = torch.rand(500, m) * 76 - 38
    sign = torch.randint(0, 2, exponent.shape) * 2 - 1
    mixed, large = sign * 10**exponent, sign * 10 ** (38 * torch.rand(500, m) ** 0.1)
    x = torch.cat([mixed, large, torch.ones(1, m), -torch.ones(1, m), torch.zeros(1, m), torch.eye(m)]).requires_grad_()
    angle = torch.tensor(alpha, requires_grad=True)
    y = project.cone(x, angle, m)
    gradient = torch.autograd.grad(y, x, torch.rand_like(y), create_graph=True)[0]
    assert gradient.isfinite().all()
    moderate = x.detach().abs().amax(-1) < 1e30
    by_angle = torch.autograd.grad(y[moderate].sum(), angle, retain_graph=True)[0]
    assert by_angle.isfinite().all()
    assert (
        gradient.abs() <= 1.0001 * math.sqrt(m) + 1e-6
    ).all()  # rows of a symmetric matrix with eigenvalues in [0, 1]
    second = torch.autograd.grad(gradient.sum(), x, allow_unused=True)[0]
    moderate = (x.detach().abs().amax(-1) > 1e-3) | (x.detach() == 0).all(-1)
    assert second is None or second[moderate].isfinite().all()


@pytest.mark.parametrize(
    ("m", "alpha", "x", "y"),
    [
        (2, math.pi / 4, [inf, 1], [inf, 1]),
        (2, math.pi / 4, [inf, -5], [inf, 0]),
        (2, math.pi / 4, [-inf, 1], [0, 1]),
        (2, math.pi / 4, [-inf, -inf], [0, 0]),
        (2, math.pi / 4, [inf, -inf], [inf, 0]),
        (2, 0.3, [inf, 0], [inf, inf]),
        (2, 0.3, [-inf, 0], [0, 0]),
        (2, 1.2, [inf, -inf], [inf, -inf]),
        (2, 0.3, [inf, inf], [inf, inf]),
        (3, 1.2, [inf, inf, 5], [inf, inf, 5]),
        (3, 0.3, [inf, 0, 0], [inf, inf, inf]),
        (3, 0.3, [-inf, 3, 4], [0, 0, 0]),
        (3, 0.7, [1e30, inf, inf], [1e30, inf, inf]),
    ],
)
def test_cone_infinities(m, alpha, x, y):
    for dtype in (torch.float32, F64, torch.bfloat16):
        expected = torch.tensor(y, dtype=dtype)
        assert torch.equal(project.cone(torch.tensor(x, dtype=dtype), alpha, m), expected)


@pytest.mark.parametrize(
    ("function", "x", "y"),
    [
        (project.nonnegative, [inf, -inf, 1], [inf, 0, 1]),
        (project.box, [inf, -inf, 0.5], [1, 0, 0.5]),
        (project.linf_ball, [inf, -inf, 0.5], [1, -1, 0.5]),
        (project.l2_ball, [inf, -inf, 3], [math.sqrt(0.5), -math.sqrt(0.5), 0]),
        (project.l1_ball, [inf, 7, 3], [1, 0, 0]),
        (project.simplex, [inf, 7, inf], [0.5, 0, 0.5]),
        (project.simplex, [-inf, 7, 3], [0, 1, 0]),
        (project.lorentz, [0, 0, inf], [inf, 0, inf]),
        (project.lorentz, [inf, 5, 3], [inf, 5, 3]),
        (project.rotated_lorentz, [inf, inf, 0], [inf, inf, 0]),
        (lambda x: project.halfspace(x, tensor(1, 0, 0), 0.5), [1, inf, 2], [0.5, inf, 2]),
        (lambda x: project.halfspace(x, tensor(1, 0, 0), 0.5), [inf, 0, 2], [0.5, 0, 2]),
        (lambda x: project.halfspace(x, tensor(1, 0, 0), 0.5), [-inf, 0, 2], [-inf, 0, 2]),
        (lambda x: project.hyperplane(x, tensor(0, 1, 0), 0.5), [inf, -inf, 2], [inf, 0.5, 2]),
    ],
)
def test_infinities_give_the_limit(function, x, y):
    torch.testing.assert_close(function(torch.tensor(x, dtype=F64)), torch.tensor(y, dtype=F64))


@pytest.mark.parametrize("case", CASES, ids=ids)
def test_nan_stays_in_its_vector(case):
    x = points(case, 100)
    clean = case(x)
    x[7, 0] = nan
    y = case(x)
    assert y[7].isnan().any()
    assert y[7].isnan().all() or case.name in ("nonnegative", "box", "linf_ball")  # these act entry by entry
    keep = torch.arange(len(x)) != 7
    torch.testing.assert_close(y[keep], clean[keep], rtol=1e-12, atol=1e-12)


def test_nan_stays_in_its_group():
    for m, grouping in ((2, "adjacent"), (3, "split"), (3, "adjacent")):
        x = torch.randn(5, 12)
        x[1, 4] = nan
        y = project.cone(x, 0.7, m, grouping=grouping)
        assert y.isnan().sum() == m


@pytest.mark.parametrize("grouping", ["adjacent", "split"])
@pytest.mark.parametrize("remainder", ["pad", "relu"])
@pytest.mark.parametrize("m", [2, 3])
def test_cone_layouts(m, grouping, remainder):
    """Every axis, order of strides and offset gives what the contiguous last axis gives."""
    base = torch.randn(2, 7, 4, 5, 3, dtype=F64)
    alphas = [
        0.6,
        torch.linspace(
            0.2, 1.3, 3 if m == 2 and remainder == "relu" else 4 if m == 2 else 2 if remainder == "relu" else 3
        ),
    ]
    for alpha in alphas:
        expected = project.cone(base.movedim(1, -1).contiguous(), alpha, m, -1, remainder, grouping).movedim(-1, 1)
        variants = {
            "contiguous": base,
            "channels_last": base.contiguous(memory_format=torch.channels_last_3d),
            "transposed": base.transpose(0, 4).contiguous().transpose(0, 4),
            "sliced": torch.stack([base, base], -1)[..., 1],
            "offset": torch.cat([base, base])[2:],
        }
        for name, x in variants.items():
            y = project.cone(x, alpha, m, 1, remainder, grouping)
            torch.testing.assert_close(y, expected, rtol=1e-14, atol=1e-14, msg=name)
    nhwc = torch.randn(2, 6, 4, 5).contiguous(memory_format=torch.channels_last)
    assert project.cone(nhwc, 0.6, m, 1, remainder, grouping).is_contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize("shape", [(6,), (4, 6), (2, 3, 6), (2, 2, 3, 6), (2, 1, 2, 3, 6), (0, 6), (3, 0, 6)])
@pytest.mark.parametrize("m", [2, 3, 4])
def test_cone_shapes(shape, m):
    x = torch.randn(shape)
    for dim in range(-1, len(shape) - 1):
        assert project.cone(x, 0.5, m, dim).shape == x.shape


@pytest.mark.parametrize("case", CASES, ids=ids)
def test_empty_batch_and_other_axes(case):
    assert case(torch.zeros(0, case.n, dtype=F64)).shape == (0, case.n)
    assert case(torch.zeros(2, 0, case.n, dtype=F64)).shape == (2, 0, case.n)
    x = points(case, 60)[:24].reshape(2, 3, 4, case.n)
    flat = case(x.reshape(24, case.n)).reshape(x.shape)
    torch.testing.assert_close(case(x), flat, rtol=1e-12, atol=1e-12)
    if case.name != "psd":
        along = case.function(x.movedim(-1, 1), **case.params, dim=1)
        torch.testing.assert_close(along.movedim(1, -1), flat, rtol=1e-12, atol=1e-12)
