"""One process or many: Lightning Fabric over DDP, and who takes which part of a batch."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from ..runs import RunError

if TYPE_CHECKING:
    from lightning.fabric import Fabric

PRECISIONS: dict[str, Any] = {"fp32": "32-true", "bf16": "bf16-mixed", "fp16": "16-mixed"}


@dataclass(frozen=True)
class Machine:
    """How a training is computed: nothing here changes what is learnt, but for rounding."""

    channels_last: bool = True
    compiled: bool = False
    workers: int = 2
    save_seconds: float = 60.0


@dataclass(frozen=True)
class Share:
    """The part of each batch that falls to one process: ``parts`` micro-batches in all, ``parts / world`` for each."""

    rank: int = 0
    world: int = 1
    parts: int = 1

    def __post_init__(self) -> None:
        if self.parts % self.world:
            raise ValueError(
                f"batch / micro_batch must be divisible by the number of processes, {self.world}, got {self.parts}: "
                "start fewer processes, or give a smaller micro_batch"
            )

    def of(self, batch: int) -> Iterator[slice]:
        """The micro-batches of this process in a batch of any size; sizes differ by one at most."""
        each = self.parts // self.world
        for part in range(self.rank * each, (self.rank + 1) * each):
            yield slice(part * batch // self.parts, (part + 1) * batch // self.parts)


def world_size() -> int:
    """Of torchrun; 1 without it."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def is_first() -> bool:
    """Whether this is the process that prints and writes."""
    return os.environ.get("RANK", "0") == "0"


@contextlib.contextmanager
def one_at_a_time(folder: Path) -> Iterator[None]:
    """Of all processes on this folder; what the first one makes there, the others find."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def fast_precision() -> str:
    """bf16 where the processor multiplies it: on a CPU without, convolutions in it take 3 times (AVX-512, where oneDNN
    says that it supports bf16, and emulates it) or 10 times as long as in fp32."""
    if torch.cuda.is_available():
        return "bf16" if torch.cuda.is_bf16_supported(including_emulation=False) else "fp32"
    if not torch.backends.mkldnn.is_available():  # as on Apple's processors: its operators are not there to be asked
        return "fp32"
    emulated = torch.cpu._is_avx512_supported() and not torch.cpu._is_avx512_bf16_supported()
    return "bf16" if torch.ops.mkldnn._is_mkldnn_bf16_supported() and not emulated else "fp32"


def start(precision: str) -> Fabric:
    """This process's Fabric: the processes of ``torchrun``, with gloo on CPUs and NCCL on GPUs, or this one alone."""
    try:
        from lightning.fabric import Fabric
    except ModuleNotFoundError as error:
        raise RunError(f"Training needs {error.name}: pip install 'proxact[vision]'") from error
    if precision == "fp16" and not torch.cuda.is_available():
        raise ValueError("precision must be fp32 or bf16 without a GPU, got fp16, which Fabric would make bf16")
    if precision == "bf16" and fast_precision() != "bf16" and is_first():
        print("This processor has no bf16: expect bf16 to be many times slower than fp32.", flush=True)
    world, local = world_size(), int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    fabric = Fabric(
        accelerator="cuda" if torch.cuda.is_available() else "cpu",
        strategy="ddp" if world > 1 else "auto",
        devices=local,
        num_nodes=max(1, world // local),
        precision=PRECISIONS[precision],
    )
    fabric.launch()
    if not fabric.is_global_zero:
        # Ctrl-C reaches every process; the first one saves, and the others must last until it has.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    return fabric


def share_of(fabric: Fabric, batch: int, micro_batch: int) -> Share:
    return Share(fabric.global_rank, fabric.world_size, batch // micro_batch)


def check_sync_bn(sync_bn: bool) -> None:
    if sync_bn and not torch.cuda.is_available():
        raise ValueError("sync_bn needs GPUs: torch's SyncBatchNorm does not run on the CPU")


def summed(fabric: Fabric, values: Tensor) -> Tensor:
    """Over all processes."""
    total = fabric.all_reduce(values, reduce_op="sum") if fabric.world_size > 1 else values
    assert isinstance(total, Tensor)
    return total


def share_buffers(fabric: Fabric, module: nn.Module) -> None:
    """Every process gets the first one's running means and variances, which are the ones that are saved."""
    if fabric.world_size > 1:
        for buffer in module.buffers():
            torch.distributed.broadcast(buffer, 0)
