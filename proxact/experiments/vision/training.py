"""One training loop for every experiment on pictures: any number of processes, and exact after any interruption."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import torch
from torch import Tensor, nn

from ...nn import MPU
from ..progress import Progress
from ..runs import Run, RunError
from .augment import Batch
from .parallel import share_buffers, summed
from .schedule import Schedule

if TYPE_CHECKING:
    from lightning.fabric import Fabric

    from ..cifar10 import Cifar10
    from ..imagenet import Imagenet


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
        return _on_cpu(state)

    def load(self, state: dict[str, Any]) -> None:
        self.epoch, self.step, self.best = state["epoch"], state["step"], state["best"]
        self.loss_sum, self.count = state["loss_sum"].to(self.fabric.device), state["count"]
        self.net.load_state_dict(state["net"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.fabric.strategy.precision.load_state_dict(state["scaler"])

    def _zero(self) -> Tensor:
        return torch.zeros((), dtype=torch.float64, device=self.fabric.device)


def complete(trainer: Trainer, record: Run | None, title: str, save_seconds: float) -> None:
    """Train to the end, from the last checkpoint if there is one. Only the first process has a record, and writes.

    A checkpoint is saved between any two steps, as often as ``save_seconds`` says and on Ctrl-C.
    """
    state = trainer.fabric.broadcast(record.load() if record else None)
    if state is not None:
        trainer.load(state)
    saved = time.monotonic()

    def save_if_due() -> None:
        nonlocal saved
        if record is not None and (record.stop_requested or time.monotonic() - saved >= save_seconds):
            record.save(trainer.state())
            saved = time.monotonic()

    steps = trainer.source.steps
    with Progress(title, trainer.epochs * steps) if record else contextlib.nullcontext() as progress:
        while trainer.epoch < trainer.epochs:
            started, before = time.monotonic(), trainer.count
            for step in trainer.train():
                if progress is not None:
                    progress.update(trainer.epoch * steps + step, f"best {trainer.best:.2f} %")
                save_if_due()
            seconds, count = time.monotonic() - started, trainer.count - before
            row = trainer.finish_epoch()
            if record is not None:
                pace = {"images_per_second": round(count / seconds, 1)} if count else {}
                record.log({**{name: _rounded(value) for name, value in row.items()}, **pace})
                save_if_due()


def recorded(
    fabric: Fabric,
    folder: Path,
    experiment: str,
    run: Cifar10 | Imagenet,
    config: dict[str, Any],
    make: Callable[[], Trainer],
    save_seconds: float,
) -> dict[str, Any]:
    """Train, or go on training, in a run folder; the first process returns the summary, which may be there already.

    Args:
        fabric: the processes.
        folder: of the run.
        experiment: its name.
        run: what to train.
        config: ``run`` as a dict, and all else that the result depends on.
        make: called if there is something left to train.
        save_seconds: from one checkpoint to the next.
    """
    with contextlib.ExitStack() as stack:
        record = None
        if fabric.is_global_zero:
            record = stack.enter_context(Run(folder, experiment, run.activation, run.seed, config))
        if fabric.broadcast(record.is_finished if record else None):
            return record.summary if record else {}
        trainer = make()
        complete(trainer, record, f"{experiment} {run.label}", save_seconds)
        if record is None:
            return {}
        torch.save(_on_cpu(trainer.net.state_dict()), folder / "model.pt")
        return record.finish(metrics(record.rows))


def metrics(rows: list[dict[str, Any]]) -> dict[str, float]:
    """The score is the last epoch's accuracy; the paper prints the best epoch's, which is kept beside it."""
    best = max(rows, key=lambda row: row["accuracy"])
    speeds = sorted(row["images_per_second"] for row in rows if "images_per_second" in row)
    return {
        "score": rows[-1]["accuracy"],
        "last_accuracy": rows[-1]["accuracy"],
        "best_accuracy": best["accuracy"],
        "best_epoch": best["epoch"],
        "train_loss": rows[-1]["train_loss"],
        # Not known where a run was stopped after the last step of its only epoch.
        **({"images_per_second": speeds[len(speeds) // 2]} if speeds else {}),
    }


def angles(net: nn.Module) -> dict[str, float]:
    """The half-apex angles of the layers in radians, in the order of the network."""
    units = [unit for unit in net.modules() if isinstance(unit, MPU)]
    return {f"angle{i}": float(unit.alpha.detach().mean()) for i, unit in enumerate(units)}


def _rounded(value: Any) -> Any:
    return round(value, 6) if isinstance(value, float) else value


def _on_cpu(value: Any) -> Any:
    """Copies, so that nothing in them changes while they are being written."""
    if isinstance(value, Tensor):
        return value.detach().cpu().clone()
    if isinstance(value, dict):
        return {name: _on_cpu(entry) for name, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_on_cpu(entry) for entry in value]
    return value
