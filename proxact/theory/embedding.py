"""ReLU networks inside MPU networks, and small cones inside larger ones."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import torch
from torch import Tensor

from .._checks import check_positive_int
from .claim import Claim, Construction
from .measure import F64, cone_axis, normal, worst
from .placement import reflection
from .shallow import ShallowNet, random_net


def relu_net_as_mpu_net(net: ShallowNet, m: int) -> ShallowNet:
    """The same function of width m d, activated by the projection onto C_alpha^(m) for any alpha.

    A hidden unit becomes a group of m equal ones: on the axis the projection is ReLU, whatever the angle.
    """
    check_positive_int("m", m)
    return ShallowNet(
        net.W1.repeat_interleave(m, 0), net.b1.repeat_interleave(m), net.W2.repeat_interleave(m, 1) / m, net.b2
    )


def cone_isometry(m1: int, m2: int) -> Tensor:
    """A, (m2, m1), with A' P^(m2)(A x) = P^(m1)(x) for every angle: it takes the axis of one cone to the other's."""
    if not 1 <= m1 <= m2:
        raise ValueError(f"m1 must be in [1, m2], got m1={m1} and m2={m2}")
    return _basis(m2)[:, :m1] @ _basis(m1).mT


def net_in_larger_cones(net: ShallowNet, m1: int, m2: int) -> ShallowNet:
    """The function of a network activated by cones of dimension m1, activated by as many of dimension m2."""
    width = len(net.b1)
    if width % m1:
        raise ValueError(f"the width of the network must be divisible by m1={m1}, got {width}")
    isometries = torch.block_diag(*[cone_isometry(m1, m2)] * (width // m1)).to(net.W1.dtype)
    return ShallowNet(isometries @ net.W1, isometries @ net.b1, net.W2 @ isometries.mT, net.b2)


def relu_net_of_ray(m: int) -> ShallowNet:
    """The end alpha = 0: one hidden unit."""
    axis = cone_axis(m)
    return ShallowNet(axis.unsqueeze(0), torch.zeros(1, dtype=F64), axis.unsqueeze(1), torch.zeros(m, dtype=F64))


def relu_net_of_half_space(m: int) -> ShallowNet:
    """The end alpha = pi/2: x + relu(-t) e, where x = relu(x) - relu(-x)."""
    axis, identity = cone_axis(m), torch.eye(m, dtype=F64)
    W1 = torch.cat([identity, -identity, -axis.unsqueeze(0)])
    W2 = torch.cat([identity, -identity, axis.unsqueeze(1)], 1)
    return ShallowNet(W1, torch.zeros(2 * m + 1, dtype=F64), W2, torch.zeros(m, dtype=F64))


def _basis(m: int) -> Tensor:
    """Orthonormal columns, the first of them the axis."""
    first = torch.zeros(m, dtype=F64)
    first[0] = 1
    return reflection(first, cone_axis(m))


NET = random_net(4, 7, 3, seed=1)
CONE_NET = random_net(4, 6, 3, seed=2)
POINTS = normal(300, 4, seed=3)
ANGLES = (0.1, 0.5, math.pi / 4, 1.2, 1.5)


def _relu_gap(m: int, angles: Sequence[float], **weights: Tensor) -> float:
    net = ShallowNet(**weights)
    return worst(*[net.mpu(POINTS, m, alpha) - NET.relu(POINTS) for alpha in angles])


def _larger_cone_gap(m1: int, m2: int, **weights: Tensor) -> float:
    net = ShallowNet(**weights)
    return worst(*[net.mpu(POINTS, m2, alpha) - CONE_NET.mpu(POINTS, m1, alpha) for alpha in ANGLES])


def _widened(m: int) -> Construction:
    return relu_net_as_mpu_net(NET, m)._asdict()


def _enlarged(m1: int, m2: int) -> Construction:
    return net_in_larger_cones(CONE_NET, m1, m2)._asdict()


CLAIMS = [
    *[
        Claim(
            name=f"a ReLU net of width d is an MPU net of width {m} d, m = {m}, at every angle",
            where="Theorem 2, Remark 3",
            construct=functools.partial(_widened, m),
            residual=functools.partial(_relu_gap, m, ANGLES),
        )
        for m in (2, 3, 5)
    ],
    Claim(
        name="a ReLU net is the MPU net of the same width and weights, m = 2 at pi/4",
        where="Theorem 2, its exception",
        construct=NET._asdict,
        residual=functools.partial(_relu_gap, 2, (math.pi / 4,)),
    ),
    *[
        Claim(
            name=f"a layer of cones of dimension {m1} is one of cones of dimension {m2}, same angle",
            where="Proposition 3, choice of cones",
            construct=functools.partial(_enlarged, m1, m2),
            residual=functools.partial(_larger_cone_gap, m1, m2),
        )
        for m1, m2 in ((2, 3), (3, 7))
    ],
]
