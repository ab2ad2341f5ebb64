r"""Proximal operators with their penalties: ``prox.<name>(x, ...)`` and beside it ``prox.<name>.penalty(y, ...)``.

Each is :math:`\arg\min_y \phi(y) + \tfrac12 \|y - x\|^2` for a convex penalty :math:`\phi`, given in its docstring.
Pure functions, elementwise or along ``dim``, differentiable, for any float dtype; bfloat16 and float16 are computed in
float32 and rounded once. ``CATALOGUE`` holds them by name; projections are there as the proxes of indicators.

:func:`verify` holds a function against its penalty, :func:`classify` finds out whether a function has one,
:func:`moreau_envelope` makes a penalty smooth.
"""

from ._entry import Entry
from ._interval import Interval
from .algebraic import bent_identity, geman_mcclure, isrlu, isru, softsign
from .atan import atan
from .classify import Classification, classify
from .clip import clip, hardsigmoid, hardtanh, relu, relu6
from .elu import celu, elu
from .envelope import moreau_envelope
from .indicator import (
    affine,
    box,
    cone,
    exponential,
    halfspace,
    hyperplane,
    l1_ball,
    l2_ball,
    linf_ball,
    lorentz,
    nonnegative,
    polyhedron,
    psd,
    rotated_lorentz,
    simplex,
    soc,
)
from .leaky_relu import leaky_relu
from .linf_norm import linf_norm
from .logarithmic import asinh, symlog
from .radial import group_soft_threshold, modrelu, squash
from .sigmoid import sigmoid, tanh, tanhshrink
from .soft_threshold import soft_threshold
from .softmax import entmax, softmax, sparsemax
from .softplus import logsigmoid, softplus
from .verify import Verification, verify

_ELEMENTWISE = (
    relu, clip, relu6, hardtanh, hardsigmoid, leaky_relu, soft_threshold, sigmoid, tanh, tanhshrink, atan, softsign,
    isru, isrlu, bent_identity, geman_mcclure, asinh, symlog, elu, celu, softplus, logsigmoid,
)  # fmt: skip
_VECTORS = (softmax, sparsemax, entmax, group_soft_threshold, modrelu, squash, linf_norm)
_INDICATORS = (
    affine, box, cone, exponential, halfspace, hyperplane, l1_ball, l2_ball, linf_ball, lorentz, nonnegative,
    polyhedron, psd, rotated_lorentz, simplex, soc,
)  # fmt: skip

CATALOGUE: dict[str, Entry] = {entry.__name__: entry for entry in (*_ELEMENTWISE, *_VECTORS, *_INDICATORS)}

__all__ = [
    "CATALOGUE",
    "Classification",
    "Entry",
    "Interval",
    "Verification",
    "classify",
    "moreau_envelope",
    "verify",
    *CATALOGUE,
]
