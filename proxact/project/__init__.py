"""Projections onto convex sets: ``proxact.project.<set>(x, ..., dim=-1)``.

Pure functions, batched over every axis but ``dim``, differentiable to second order, for any float dtype and strides.
bfloat16 and float16 are computed in float32 and rounded once.

One rule for every kink: a point on the boundary of a set is differentiated as a point outside it, as ``torch.relu`` is
at 0. A nan makes its own group or vector nan. Infinite entries give the limit (all grow at one common rate), except for
affine, polyhedron, soc, psd and exponential, where they give nan. A set without points raises EmptySetError; polyhedron
and soc see sizes relative to that of x, so emptiness by less than 1e-8 of it passes unnoticed.
"""

from .._checks import EmptySetError
from .affine import affine
from .box import box
from .cone import cone
from .exponential import exponential
from .halfspace import halfspace
from .hyperplane import hyperplane
from .l1_ball import l1_ball
from .l2_ball import l2_ball
from .linf_ball import linf_ball
from .lorentz import lorentz
from .nonnegative import nonnegative
from .polyhedron import polyhedron
from .psd import psd
from .rotated_lorentz import rotated_lorentz
from .simplex import simplex
from .soc import soc

SETS = {
    function.__name__: function
    for function in (
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
}

__all__ = ["SETS", "EmptySetError", *SETS]
