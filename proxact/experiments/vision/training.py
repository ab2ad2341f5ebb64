"""One training loop for every experiment on pictures: any number of processes, and exact after any interruption."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Protocol

import torch
from torch import Tensor, nn

from ...nn import MPU
from ..runs import RunError
from .augment import Batch
from .parallel import share_buffers, summed
from .schedule import Schedule

if TYPE_CHECKING:
    from lightning.fabric import Fabric


class Source(Protocol):
    """Where pictures come from. What an epoch holds depends on its number alone, so a step is all there is to save."""

    steps: int

    def epoch(self, epoch: int, first_step: int = 0) -> Iterator[tuple[int, list[Batch]]]:
        """For each step the number of pictures in all processes, and this one's micro-batches."""
        ...

    def test(self) -> Iterator[Batch]: ...


class Trainer:
    """A network in training.

    Args:
        fabric: the processes.
        net: the network, with the same weights in every process.
        optimizer: each group's learning rate is the schedule's times the group's ``scale``, if it has one.
        schedule: the learning rate at an epoch.
        source: the pictures.
        epochs: to train.
        loss: of outputs and targets, a mean over the pictures.
        clip: largest norm of the gradient.
        compiled: by torch.compile.
    """

    def __init__(
        self,
        fabric: Fabric,
        net: nn.Module,
        optimizer: torch.optim.Optimizer,
        schedule: Schedule,
        source: Source,
        epochs: int,
        loss: Callable[[Tensor, Tensor], Tensor],
        *,
        clip: float | None = None,
        compiled: bool = False,
    ) -> None:
        self.fabric, self.net, self.schedule, self.source = fabric, net, schedule, source
        self.epochs, self.loss, self.clip = epochs, loss, clip
        compilable: Any = torch.compile(net) if compiled else net
        self.model, self.optimizer = fabric.setup(compilable, optimizer)
        self.epoch, self.step, self.best = 0, 0, 0.0
        self.loss_sum, self.count = self._zero(), 0

    def train(self) -> Iterator[int]:
        """The rest of this epoch: after each step of the optimiser, its number."""
        self.model.train()
        for count, micro_batches in self.source.epoch(self.epoch, self.step):
            rate = self.schedule(self.epoch + self.step / self.source.steps)
            for group in self.optimizer.param_groups:
                group["lr"] = rate * group.get("scale", 1.0)
            self._step(count, micro_batches)
            self.step += 1
            yield self.step

    def _step(self, count: int, micro_batches: list[Batch]) -> None:
        total = torch.zeros((), dtype=torch.float64, device=self.fabric.device)
        for i, (x, y) in enumerate(micro_batches):
            with self.fabric.no_backward_sync(self.model, enabled=i < len(micro_batches) - 1):
                loss = self.loss(self.model(x).float(), y)
                # DDP takes the mean over the processes; the sum over all micro-batches is the mean over the batch.
                self.fabric.backward(loss * (len(x) * self.fabric.world_size / count))
            total += loss.detach() * len(x)
        if self.clip is not None:
            # Infinite gradients of fp16 are no error: the scaler skips their step.
            self.fabric.clip_gradients(self.model, self.optimizer, max_norm=self.clip, error_if_nonfinite=False)
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.loss_sum += summed(self.fabric, total)
        self.count += count

    def finish_epoch(self) -> dict[str, Any]:
        """Test, and go on to the next epoch; returns the row for this one."""
        loss = float(self.loss_sum) / self.count
        rate = self.schedule(self.epoch + (self.source.steps - 1) / self.source.steps)
        self.epoch, self.step, self.count, self.loss_sum = self.epoch + 1, 0, 0, self._zero()
        if not math.isfinite(loss):
            raise RunError(f"The loss is {loss} in epoch {self.epoch}: training diverged. Try a smaller learning rate.")
        row = {"epoch": self.epoch, "learning_rate": round(rate, 8), "train_loss": loss, **self.test()}
        self.best = max(self.best, row["accuracy"])
        return {**row, **angles(self.net)}

    @torch.no_grad()
    def test(self) -> dict[str, float]:
        """Accuracy in % and mean cross-entropy on the test pictures."""
        share_buffers(self.fabric, self.net)
        self.net.eval()
        totals = torch.zeros(3, dtype=torch.float64, device=self.fabric.device)
        for x, y in self.source.test():
            with self.fabric.autocast():
                output = self.net(x)
            output = output.float()
            right = (output.argmax(1) == y).sum()
            loss = nn.functional.cross_entropy(output, y, reduction="sum")
            totals += torch.stack([right.double(), loss.double(), right.new_tensor(len(y)).double()])
        right, loss, count = summed(self.fabric, totals).tolist()
        return {"accuracy": 100 * right / count, "test_loss": loss / count}

    def state(self) -> dict[str, Any]:
        """All that the next step depends on."""
        state = {
            "epoch": self.epoch,
            "step": self.step,
            "best": self.best,
            "loss_sum": self.loss_sum,
            "count": self.count,
            "net": self.net.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "scaler": self.fabric.strategy.precision.state_dict(),
        }
        return on_cpu(state)

    def load(self, state: dict[str, Any]) -> None:
        self.epoch, self.step, self.best = state["epoch"], state["step"], state["best"]
        self.loss_sum, self.count = state["loss_sum"].to(self.fabric.device), state["count"]
        self.net.load_state_dict(state["net"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.fabric.strategy.precision.load_state_dict(state["scaler"])

    def _zero(self) -> Tensor:
        return torch.zeros((), dtype=torch.float64, device=self.fabric.device)


def angles(net: nn.Module) -> dict[str, float]:
    """The half-apex angles of the layers in radians, in the order of the network."""
    units = [unit for unit in net.modules() if isinstance(unit, MPU)]
    return {f"angle{i}": float(unit.alpha.detach().mean()) for i, unit in enumerate(units)}


def on_cpu(value: Any) -> Any:
    """Copies, so that nothing in them changes while they are being written."""
    if isinstance(value, Tensor):
        return value.detach().cpu().clone()
    if isinstance(value, dict):
        return {name: on_cpu(entry) for name, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [on_cpu(entry) for entry in value]
    return value
