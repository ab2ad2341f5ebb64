"""The Multivariate Projection Unit."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from .._checks import check_choice, check_fraction, check_positive_int
from ..project._groups import GROUPINGS, REMAINDERS, count_groups
from ..project.cone import angle_from_offset, cone_at_offset
from ._dims import ChannelModule, Dim

_LIMIT = 25 / 32
"""A learnable alpha stays within this distance of pi/4: in [0.0041, 1.5667]. Exact in every float dtype."""


class MPU(ChannelModule):
    r"""Project groups of m channels onto the cone of half-apex angle alpha: :func:`proxact.project.cone` as a layer.

    For m = 2 and alpha = pi/4, the start, it is ReLU; learning the angle moves it from there.

    Args:
        m: channels in a group.
        alpha: the angle at the start, in radians.
        learnable: train the angle. If not, alpha may be any value in [0, pi/2]; if so, it stays strictly inside.
        num_parameters: 1 angle for the layer, or one for each group of channels.
        dim: the channel axis. ``None`` takes the last axis of 1-D and 2-D inputs and axis 1 of 4-D and 5-D ones; a 3-D
            input needs 1 (convolutions) or -1 (transformers). **Models that keep channels last in 4-D (the MLPs of
            ConvNeXt and Swin) need** ``dim=-1``. ``"flat"`` flattens all but the batch axis, as the paper's text does.
        grouping: ``"adjacent"`` channels or ``"split"`` halves, thirds, ... as in GLU.
        remainder: what happens to channels that do not fill a group: ``"pad"``, ``"relu"`` or ``"error"``.
        leak: return ``(1 - leak) * projection + leak * x``.
        inplace: accepted so that the layer fits where ``nn.ReLU(inplace=True)`` stood; the input is never changed.

    Shape:
        any; the output has the shape and dtype of the input.

    The parameter ``theta`` holds alpha - pi/4, so weight decay pulls towards pi/4. It is itself projected: alpha is
    computed from theta clamped to its interval, and whenever a gradient arrives theta is put back into it, so a unit
    thrown out by an absurd step starts from the end of the interval and not from far beyond.

    Example:
        >>> MPU()(torch.tensor([[3.0, -1.0]]))
        tensor([[3., 0.]], grad_fn=...)
    """

    theta: Tensor

    def __init__(
        self,
        m: int = 2,
        *,
        alpha: float = math.pi / 4,
        learnable: bool = True,
        num_parameters: int = 1,
        dim: Dim = None,
        grouping: str = "adjacent",
        remainder: str = "pad",
        leak: float = 0.0,
        inplace: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(dim)
        check_positive_int("m", m)
        check_positive_int("num_parameters", num_parameters)
        check_choice("grouping", grouping, GROUPINGS)
        check_choice("remainder", remainder, REMAINDERS)
        check_fraction("leak", leak)
        _check_initial_alpha(alpha, learnable)
        self.m = m
        self.learnable = learnable
        self.grouping = grouping
        self.remainder = remainder
        self.leak = leak
        self.initial_alpha = float(alpha)
        theta = torch.full((num_parameters,), alpha - math.pi / 4, device=device, dtype=dtype)
        if learnable:
            self.theta = nn.Parameter(theta)
        else:
            self.register_buffer("theta", theta)

    @property
    def alpha(self) -> Tensor:
        """The half-apex angle in radians, shape (num_parameters,), at least float32, with gradient."""
        return angle_from_offset(self.theta, self.limit)

    @property
    def limit(self) -> float:
        """How far alpha may go from pi/4."""
        return _LIMIT if self.learnable else math.inf

    def reset_parameters(self) -> None:
        """Put the angle where it started. A unit made on the meta device needs it after ``to_empty``."""
        with torch.no_grad():
            self.theta.fill_(self.initial_alpha - math.pi / 4)

    def forward(self, x: Tensor) -> Tensor:
        is_simple = self.dim == "flat" and self.grouping == "adjacent" and len(self.theta) == 1
        if is_simple and isinstance(x, Tensor) and x.ndim > 1 and x.is_floating_point() and x.shape[-1] % self.m == 0:
            # No group crosses the end of a row, and channels_last need not be copied: a fifth of the time.
            return self.along(x, x.ndim - 1)
        return super().forward(x)

    def along(self, x: Tensor, dim: int) -> Tensor:
        theta = self.theta
        angles, groups = theta.shape[0], count_groups(x.shape[dim], self.m, self.remainder)
        if angles != 1 and angles != groups:
            raise ValueError(
                f"num_parameters must be 1 or the number of groups ({groups} for {x.shape[dim]} channels, m={self.m}); "
                f"got {angles}"
            )
        return cone_at_offset(x, theta, self.limit, self.m, dim, self.remainder, self.grouping, self.leak)

    def extra_repr(self) -> str:
        parts = [f"{self.m}"]
        if self.theta.numel() == 1 and self.theta.device.type != "meta":
            parts.append(f"alpha={self.alpha.item():.4f}")
        else:
            parts.append(f"num_parameters={self.theta.numel()}")
        defaults = {"learnable": True, "dim": None, "grouping": "adjacent", "remainder": "pad", "leak": 0.0}
        parts += [f"{name}={getattr(self, name)!r}" for name, value in defaults.items() if getattr(self, name) != value]
        return ", ".join(parts)

    def _watch_theta(self) -> None:
        """Hang the projection of theta on its gradient; copies, loaded and moved parameters have lost it."""
        hooks = self.theta._post_accumulate_grad_hooks
        if self.learnable and not (hooks and project_theta in hooks.values()):
            is_trained = self.theta.requires_grad
            self.theta.requires_grad_(True)  # a frozen theta takes no hook, but keeps one
            self.theta.register_post_accumulate_grad_hook(project_theta)
            self.theta.requires_grad_(is_trained)

    def register_parameter(self, name: str, param: nn.Parameter | None) -> None:
        super().register_parameter(name, param)
        if name == "theta" and param is not None:
            self._watch_theta()

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._watch_theta()

    def _apply(self, *args: Any, **kwargs: Any) -> MPU:
        super()._apply(*args, **kwargs)
        self._watch_theta()
        return self

    def _load_from_state_dict(self, *args: Any, **kwargs: Any) -> None:
        super()._load_from_state_dict(*args, **kwargs)
        self._watch_theta()


class LeakyMPU(MPU):
    """:class:`MPU` with ``leak=0.01``, the paper's Leaky MPU."""

    def __init__(self, m: int = 2, *, leak: float = 0.01, **arguments: Any) -> None:
        super().__init__(m, leak=leak, **arguments)


def project_theta(theta: Tensor) -> None:
    # Reading one number costs a tenth of a clamp; on an accelerator it would stall the stream.
    can_read = theta.shape == (1,) and theta.device.type == "cpu" and not torch.compiler.is_compiling()
    if can_read and abs(theta.item()) <= _LIMIT:
        return
    theta.data.clamp_(-_LIMIT, _LIMIT)  # .data: graphs that saved theta stay valid, its value within the limits is kept


def _check_initial_alpha(alpha: object, learnable: bool) -> None:
    half_width = _LIMIT if learnable else math.pi / 4
    low, high = math.pi / 4 - half_width, math.pi / 4 + half_width
    allowed = f"a float in [{low:.4g}, {high:.5g}] radians when learnable={learnable}"
    if isinstance(alpha, bool) or not isinstance(alpha, (int, float)):
        raise TypeError(f"alpha must be {allowed}, got {alpha!r}")
    if not low - 1e-7 <= alpha <= high + 1e-7:
        raise ValueError(f"alpha must be {allowed}, got {alpha}")
