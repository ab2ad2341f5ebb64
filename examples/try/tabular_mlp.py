"""A small network on a table of numbers, in plain PyTorch. About 5 seconds.

proxact try examples/try/tabular_mlp.py --activations relu,mpu2,mpu3 --seeds 5 --metric val_rmse
"""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

import proxact


def make_table(rows: int) -> TensorDataset:
    """What a sensor on a robot's arm of two joints sees; 4 of the 8 columns matter."""
    generator = torch.Generator().manual_seed(0)
    x = torch.rand(rows, 8, generator=generator) * 2 - 1
    first, second, lengths = 2 * x[:, 0], 2 * x[:, 1], 1 + x[:, 2:4] / 2
    reach = lengths[:, 0] * first.cos() + lengths[:, 1] * (first + second).cos()
    height = lengths[:, 0] * first.sin() + lengths[:, 1] * (first + second).sin()
    distance = (reach**2 + height**2).sqrt() + 0.02 * torch.randn(rows, generator=generator)
    return TensorDataset(x, distance[:, None])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--hidden", type=int, default=48)
    parser.add_argument("--lr", type=float, default=3e-3)
    args = parser.parse_args()

    train, val = random_split(make_table(2500), [2000, 500], torch.Generator().manual_seed(1))
    train_loader = DataLoader(train, batch_size=64, shuffle=True)
    model = nn.Sequential(
        nn.Linear(8, args.hidden),
        nn.ReLU(),
        nn.Linear(args.hidden, args.hidden),
        nn.ReLU(),
        nn.Linear(args.hidden, 1),
    )
    model = proxact.trial(model)  # the new line
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.epochs)

    for epoch in range(1, args.epochs + 1):
        model.train()
        for x, y in train_loader:
            loss = nn.functional.mse_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        schedule.step()
        model.eval()
        with torch.no_grad():
            x, y = val[:]
            val_rmse = nn.functional.mse_loss(model(x), y).sqrt().item()
        print(f"epoch {epoch:3d}  train_loss {loss.item():.5f}  val_rmse {val_rmse:.5f}")


if __name__ == "__main__":
    main()
