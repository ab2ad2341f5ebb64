"""A ResNet of timm learns to tell drawn shapes apart. About 15 seconds; the metric is logged, not printed.

proxact try examples/try/timm_image.py --activations relu,mpu2,mpu3 --seeds 5 --metric val_acc
"""

import logging

import timm
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import proxact

log = logging.getLogger("train")


def make_pictures(count: int, seed: int) -> TensorDataset:
    """Discs, squares, rings and crosses of 24 x 24 pixels under noise."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(0, 4, (count,), generator=generator)
    centre = 11.5 + 4 * (torch.rand(count, 2, 1, 1, generator=generator) * 2 - 1)
    size = 4 + 3 * torch.rand(count, 1, 1, generator=generator)
    axis = torch.arange(24.0)
    dx, dy = (axis - centre[:, 0]).abs(), (axis[:, None] - centre[:, 1]).abs()
    radius = (dx**2 + dy**2).sqrt()
    square = torch.maximum(dx, dy)
    drawn = torch.stack([radius < size, square < size * 0.886, (radius - size).abs() < 1.2, square < size], 1)
    drawn[:, 3] &= torch.minimum(dx, dy) < 1.5
    picture = drawn[torch.arange(count), labels].float()[:, None].expand(-1, 3, -1, -1)
    return TensorDataset(picture + 0.8 * torch.randn(count, 3, 24, 24, generator=generator), labels)


@torch.no_grad()
def accuracy(model: nn.Module, loader: DataLoader) -> float:
    model.eval()
    right = [model(x).argmax(1) == y for x, y in loader]
    return torch.cat(right).float().mean().item()


def main() -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    train_loader = DataLoader(make_pictures(640, seed=0), batch_size=32, shuffle=True)
    val_loader = DataLoader(make_pictures(384, seed=1), batch_size=128)

    model = timm.create_model("resnet10t", pretrained=False, num_classes=4)
    model = proxact.trial(model)  # the new line
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
    epochs = 3
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.05, epochs * len(train_loader))
    for epoch in range(epochs):
        model.train()
        for x, y in train_loader:
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
        log.info("epoch %d: train_loss=%.4f, val_acc=%.4f", epoch + 1, loss.item(), accuracy(model, val_loader))


if __name__ == "__main__":
    main()
