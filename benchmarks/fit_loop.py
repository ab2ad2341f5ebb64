"""The fitting experiment as usually written: one network at a time, a DataLoader, a loop. For ``proxact bench fit``.

    python benchmarks/fit_loop.py relu 20 --threads 1

prints the seconds of one epoch (training and testing) after a first one that does not count.
"""

import argparse
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from proxact.experiments.fit import Fit, build_net, make_data


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("activation")
    parser.add_argument("width", type=int)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--samples", type=int, default=40_000)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    fit = Fit(arguments.activation, "cone", samples=arguments.samples, test_samples=arguments.samples // 4)
    x, y, x_test, y_test = make_data(fit, seed=1)
    train = DataLoader(TensorDataset(x, y), batch_size=fit.batch, shuffle=True)
    test = DataLoader(TensorDataset(x_test, y_test), batch_size=fit.batch)
    net, loss = build_net(fit, arguments.width, seed=1), nn.MSELoss()
    optimizer = torch.optim.SGD(net.parameters(), lr=fit.learning_rate, momentum=0.9)
    for _ in range(2):
        start = time.perf_counter()
        for inputs, wanted in train:
            optimizer.zero_grad()
            loss(net(inputs), wanted).backward()
            optimizer.step()
        with torch.no_grad():
            sum(loss(net(inputs), wanted).item() for inputs, wanted in test)
        seconds = time.perf_counter() - start
    print(seconds)


if __name__ == "__main__":
    main()
