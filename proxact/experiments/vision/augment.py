"""Crop, flip and normalise whole batches of small pictures."""

from __future__ import annotations

from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import Tensor

from .parallel import Share
from .pictures import Pictures

Batch = tuple[Tensor, Tensor]


class InMemory:
    """The micro-batches of one process, from pictures in memory.

    Order, crops and flips of an epoch are drawn at once from (seed, epoch) alone: the same for every activation, for
    any number of processes, and after a restart in the middle of the epoch.

    Args:
        pictures: all of them, on every process.
        share: which part of a batch this process takes.
        batch: of all processes together.
        seed: of order and augmentation.
        padding: black pixels (``pad="zero"``) or mirrored ones (``"reflect"``) around a picture before it is cropped.
        flip: ``"random"``: half of the pictures in each epoch; ``"alternate"``: each picture in every second epoch.
        keep_last: also the smaller batch at the end of an epoch.
        small: side in pixels of the crops at first; in ``small_epochs`` epochs it grows to that of whole pictures, in
            steps of four pixels. The first epochs cost less, and what is shown keeps its size.
    """

    def __init__(
        self,
        pictures: Pictures,
        share: Share,
        batch: int,
        seed: int,
        *,
        device: torch.device,
        padding: int = 4,
        pad: str = "zero",
        flip: str = "random",
        keep_last: bool = True,
        small: int = 0,
        small_epochs: int = 0,
        channels_last: bool = False,
    ) -> None:
        self.share, self.batch, self.seed = share, batch, seed
        self.side, self.padding, self.flip = pictures.train[0].shape[-1], padding, flip
        self.small, self.small_epochs = small, small_epochs
        self.memory_format = torch.channels_last if channels_last else torch.contiguous_format
        images, self.labels = (part.to(device) for part in pictures.train)
        self.test_images, self.test_labels = (part.to(device) for part in pictures.test)
        mode = {"zero": "constant", "reflect": "reflect"}[pad]
        # One part at a time: F.pad reflects no uint8, and all pictures as floats would take a gigabyte.
        padded = [F.pad(part.float(), (padding,) * 4, mode=mode).to(torch.uint8) for part in images.split(5000)]
        self.images = torch.cat(padded)
        scale = torch.tensor(pictures.std, device=device).view(3, 1, 1) * 255
        self.scale, self.offset = 1 / scale, -torch.tensor(pictures.mean, device=device).view(3, 1, 1) * 255 / scale
        count = len(self.labels)
        rest = count % batch
        self.steps = count // batch + (keep_last and rest >= 2 * share.parts)  # batch norm needs two pictures
        if self.steps == 0:
            raise ValueError(f"batch must be at most the number of training pictures, {count}, got {batch}")

    def epoch(self, epoch: int, first_step: int = 0) -> Iterator[tuple[int, list[Batch]]]:
        """For each step the size of the whole batch and the micro-batches of this process."""
        random = torch.Generator().manual_seed(1_000_003 * self.seed + epoch)
        count, side = len(self.labels), self.side_in(epoch)
        # Small crops stay inside the picture; whole ones reach into the padding.
        first_corner, places = (0, 2 * self.padding + 1) if side == self.side else (self.padding, self.side - side + 1)
        order = torch.randperm(count, generator=random)
        corners = first_corner + torch.randint(places, (2, count), generator=random)
        flips = torch.rand(count, generator=random) < 0.5
        if self.flip == "alternate":
            first = torch.rand(count, generator=torch.Generator().manual_seed(self.seed)) < 0.5
            flips = (first ^ bool(epoch % 2))[order]
        for step in range(first_step, self.steps):
            whole = slice(step * self.batch, (step + 1) * self.batch)
            chosen, rows, columns, mirrored = order[whole], *corners[:, whole], flips[whole]
            parts = self.share.of(len(chosen))
            batches = [self._cut(side, chosen[i], rows[i], columns[i], mirrored[i]) for i in parts]
            yield len(chosen), batches

    def side_in(self, epoch: int) -> int:
        """Of the crops, in pixels."""
        if epoch >= self.small_epochs:
            return self.side
        return self.small + 4 * ((self.side - self.small) * epoch // (4 * self.small_epochs))

    def test(self, batch: int = 500) -> Iterator[Batch]:
        """This process's share of the test pictures, as they are."""
        mine = slice(self.share.rank, None, self.share.world)
        yield from (
            (self.scaled(images), labels)
            for images, labels in zip(
                self.test_images[mine].split(batch), self.test_labels[mine].split(batch), strict=True
            )
        )

    def _cut(self, side: int, chosen: Tensor, rows: Tensor, columns: Tensor, mirrored: Tensor) -> Batch:
        device = self.images.device
        chosen, rows, columns, mirrored = (part.to(device) for part in (chosen, rows, columns, mirrored))
        windows = self.images.unfold(2, side, 1).unfold(3, side, 1)  # a view: every crop of every picture
        images = windows[chosen, :, rows, columns]
        images = torch.where(mirrored.view(-1, 1, 1, 1), images.flip(3), images)
        return self.scaled(images), self.labels[chosen]

    def scaled(self, images: Tensor) -> Tensor:
        """What the network sees of uint8 pictures."""
        return torch.addcmul(self.offset, images.float(), self.scale).contiguous(memory_format=self.memory_format)
