"""Universal approximation: the error of ReLU networks falls with width on a compact set, not on the whole space."""

from __future__ import annotations

import functools
import math

import torch
from torch import Tensor

from ..project import cone
from .claim import Claim, Construction
from .measure import F64, cone_axis, worst
from .representability import curvature_witness, odd_part_gap, odd_part_witness, odd_sum
from .shallow import ShallowNet

ALPHA = math.pi / 3
WIDTHS = (8, 32, 128)
FALL = 0.6
"""Four times the width must leave no more than this part of the error."""
FAR = 1e9


def disc_points(count: int, seed: int) -> Tensor:
    radius, turn = torch.rand(2, count, generator=torch.Generator().manual_seed(seed), dtype=F64)
    angle = 2 * math.pi * turn
    return radius.sqrt().unsqueeze(-1) * torch.stack([angle.cos(), angle.sin()], -1)


def hidden_units(width: int) -> tuple[Tensor, Tensor]:
    """Kinks along random lines through the unit disc; a wider network has all the lines of a narrower one."""
    turn, offset = torch.rand(width, 2, generator=torch.Generator().manual_seed(1), dtype=F64).unbind(-1)
    angle = 2 * math.pi * turn
    return torch.stack([angle.cos(), angle.sin()], -1), 2 * offset - 1


@functools.cache
def disc_fit(width: int) -> ShallowNet:
    """The best output layer on the disc for these hidden units; the best network of this width can only be better."""
    W1, b1 = hidden_units(width)
    x = disc_points(4000, seed=2)
    features = torch.cat([torch.relu(x @ W1.mT + b1), torch.ones(len(x), 1, dtype=F64)], -1)
    output = torch.linalg.lstsq(features, cone(x, ALPHA), driver="gelsd").solution.mT
    return ShallowNet(W1, b1, output[:, :-1], output[:, -1])


@functools.cache
def far_fit(width: int) -> ShallowNet:
    """The best output layer on a circle so large that no bias matters, scaled down to the unit circle."""
    W1, b1 = hidden_units(width)
    x = disc_points(4000, seed=2)
    x = x / torch.linalg.vector_norm(x, dim=-1, keepdim=True)
    W2 = torch.linalg.lstsq(torch.relu(x @ W1.mT), cone(x, ALPHA), driver="gelsd").solution.mT
    return ShallowNet(W1, torch.zeros_like(b1), W2, W2.new_zeros(2))


def disc_error(net: ShallowNet) -> float:
    x = disc_points(20_000, seed=3)
    return worst(net.relu(x) - cone(x, ALPHA))


def _disc_nets() -> Construction:
    return {f"{name}_{width}": value for width in WIDTHS for name, value in disc_fit(width)._asdict().items()}


def _nets_of(tensors: Construction) -> list[ShallowNet]:
    return [ShallowNet(*[tensors[f"{name}_{width}"] for name in ShallowNet._fields]) for width in WIDTHS]


def _disc_gap(**tensors: Tensor) -> float:
    """Each output layer is the best for its hidden units, and each network leaves at most FALL of the error before."""
    x, nets = disc_points(4000, seed=2), _nets_of(tensors)
    slopes = []
    for net in nets:
        error = net.relu(x) - cone(x, ALPHA)
        slopes += [error.mT @ torch.relu(x @ net.W1.mT + net.b1) / len(x), error.mean(0)]
    errors = torch.tensor([disc_error(net) for net in nets], dtype=F64)
    return worst(*slopes, (errors[1:] - FALL * errors[:-1]).clamp(min=0))


def _disc_reading(**tensors: Tensor) -> str:
    errors = ", ".join(f"{disc_error(net):.2g}" for net in _nets_of(tensors))
    return f"largest error {errors} at widths {', '.join(map(str, WIDTHS))}"


def _whole_space_gap(points: Tensor, coefficients: Tensor) -> float:
    """Far out the odd part of each fitted network sums to 0, and so its error is at least the gap."""
    nets = [fit(width) for fit in (disc_fit, far_fit) for width in WIDTHS]
    shortfalls = [(odd_part_gap(ALPHA) - far_error(net, points)).clamp(min=0) for net in nets]
    sums = [odd_sum(net.relu, FAR * points, coefficients) / FAR for net in nets]
    return worst(*shortfalls, *sums)


def far_error(net: ShallowNet, points: Tensor) -> Tensor:
    """Relative, far out in the directions of the points and opposite to them."""
    x = FAR * torch.cat([points, -points])
    error = torch.linalg.vector_norm(net.relu(x) - cone(x, ALPHA), dim=-1)
    return (error / torch.linalg.vector_norm(x, dim=-1)).max()


def _whole_space_reading(points: Tensor, coefficients: Tensor) -> str:
    errors = ", ".join(f"{far_error(far_fit(width), points).item():.2g}" for width in WIDTHS)
    widths = ", ".join(map(str, WIDTHS))
    return f"relative error {errors} at widths {widths}; no width gets below {odd_part_gap(ALPHA):.2g}"


SEGMENT_ALPHA, SEGMENT_HALF = math.pi / 4, 0.15


def segment_floor(width: int) -> float:
    """No network of this width has a smaller error on the segment, where it has at most width + 1 linear pieces.

    One of them is at least as long as all on average, and on a length l a line is off by at least k l^2 / 16 from a
    function with second derivative at least k.
    """
    n = _segment()["point"].sub(0.2 * cone_axis(3)).norm().item()
    least = math.sin(2 * SEGMENT_ALPHA) / 2 * n**2 / math.hypot(n, SEGMENT_HALF) ** 3
    return least * (2 * SEGMENT_HALF / (width + 1)) ** 2 / 16


def segment_net(width: int) -> ShallowNet:
    """A network of even width that all but reaches the floor: chords of equal length, lowered by half their error.

    The function is even, so the middle chord is level and each unit starts one more chord, outwards.
    """
    knots = torch.linspace(-SEGMENT_HALF, SEGMENT_HALF, width + 2, dtype=F64)
    values, middles = on_segment(knots), on_segment((knots[1:] + knots[:-1]) / 2)
    slopes = values.diff() / knots.diff()
    drop = ((values[1:] + values[:-1]) / 2 - middles).max() / 2
    inner = knots[1:-1]
    W1 = inner.sign().unsqueeze(-1) * _segment()["direction"]
    return ShallowNet(W1, -inner.abs(), slopes.diff().unsqueeze(0), (values[len(values) // 2] - drop).reshape(1))


def _segment() -> Construction:
    return curvature_witness(3, SEGMENT_ALPHA)


def segment_points(s: Tensor) -> Tensor:
    return _segment()["point"] + s.unsqueeze(-1) * _segment()["direction"]


def on_segment(s: Tensor) -> Tensor:
    return cone(segment_points(s), SEGMENT_ALPHA, 3) @ cone_axis(3)


def segment_error(net: ShallowNet) -> float:
    pieces = len(net.b1) + 1
    s = torch.linspace(-SEGMENT_HALF, SEGMENT_HALF, 64 * pieces + 1, dtype=F64)
    return worst(net.relu(segment_points(s)).squeeze(-1) - on_segment(s))


def _segment_weights(width: int) -> Construction:
    return segment_net(width)._asdict()


def _segment_gap(**weights: Tensor) -> float:
    net = ShallowNet(**weights)
    return abs(segment_error(net) / segment_floor(len(net.b1)) - 1)


def _segment_reading(**weights: Tensor) -> str:
    net = ShallowNet(**weights)
    return f"error {segment_error(net):.3g}, and at least {segment_floor(len(net.b1)):.3g} for any net of this width"


CLAIMS = [
    Claim(
        name="on the unit disc, m = 2 at pi/3, the error of ReLU nets falls with width",
        where="Remark 2",
        construct=_disc_nets,
        residual=_disc_gap,
        tolerance=1e-8,
        kind="approximation",
        reading=_disc_reading,
    ),
    Claim(
        name="on the whole plane no width brings the relative error below a gap",
        where="Remark 2",
        construct=functools.partial(odd_part_witness, 2, ALPHA),
        residual=_whole_space_gap,
        tolerance=1e-5,
        kind="approximation",
        reading=_whole_space_reading,
    ),
    *[
        Claim(
            name=f"on a segment, m = 3 at pi/4, the best net of width {width} is known to 3 %",
            where="Remark 2",
            construct=functools.partial(_segment_weights, width),
            residual=_segment_gap,
            tolerance=0.03,
            kind="approximation",
            reading=_segment_reading,
        )
        for width in WIDTHS
    ],
]
