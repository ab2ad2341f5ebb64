"""Summaries of trainings that nobody ran, with known differences, and the tables of a page made from them."""

import html
import math
import re
from dataclasses import asdict

from proxact.experiments import imagenet
from proxact.experiments.vision.presets import plan
from proxact.experiments.vision.units import is_unit

RELU = {1: 88.0, 2: 87.0, 3: 88.5, 4: 87.5, 5: 88.2}
STEADY = {1: 0.50, 2: 0.55, 3: 0.45, 4: 0.52, 5: 0.48}  # mean 0.5, deviation 0.038
EPOCHS = 16
DATA = "parquet 0123456789ab"
IMAGENET = "imagenet, 1000 classes, 1281167 pictures"


def made(activation, seed, last, preset="cpu", start="", best=0.3, speed=1200.0, published=False, **changes):
    """What ``proxact cifar10`` would write. Angles grow by 0.01 an epoch and layer."""
    (one,) = plan(preset, (activation,), (seed,), changes, published)
    config = {**asdict(one), "data": DATA, "start": start}
    if start:
        config["preset"] += "-from-" + "-".join(start.split(" ")[0].split("/")[2:])
    return summary("cifar10", one, config, last, best, speed)


def made_imagenet(activation, seed, last, data=IMAGENET, model="resnet18", **changes):
    """What ``proxact imagenet`` would write."""
    (one,) = imagenet.plan(model, (activation,), (seed,), changes)
    return summary("imagenet", one, {**asdict(one), "data": data}, last, 0.3, 1200.0)


def summary(experiment, one, config, last, best, speed):
    sites = {"resnet18": 17, "fast": 7, "deit_tiny": 12}[config["model"]] if is_unit(one.activation) else 0
    curve = [
        {
            "epoch": epoch,
            "accuracy": last - 40 * math.exp(-epoch / 3) + 40 * math.exp(-EPOCHS / 3),
            "images_per_second": speed,
            **{f"angle{i}": one.alpha + one.learn_angle * 0.001 * epoch * (i - 5) for i in range(sites)},
        }
        for epoch in range(1, EPOCHS + 1)
    ]
    return {
        "experiment": experiment,
        "activation": one.activation,
        "seed": one.seed,
        "config": config,
        "metrics": {
            "score": last,
            "last_accuracy": last,
            "best_accuracy": last + best,
            "best_epoch": EPOCHS - 1,
            "images_per_second": speed,
        },
        "curve": curve,
        "machine": {"cpu": "a processor", "threads": 2},
        "date": "2026-11-16",
        "wall_seconds": 780.0,
    }


def protocol(preset="cpu"):
    """ReLU; mpu2 half a point better in every pair; prelu a point worse; wta here better, there worse; mpu3 with a
    seed that ReLU does not have. The seeds of mpu2 come in another order than ReLU's."""
    runs = [made("relu", seed, value, preset) for seed, value in RELU.items()]
    runs += [made("mpu2", seed, RELU[seed] + STEADY[seed], preset, speed=1150.0) for seed in (4, 2, 5, 1, 3)]
    runs += [made("prelu", seed, RELU[seed] - 2 * STEADY[seed], preset) for seed in RELU]
    runs += [
        made("wta", seed, RELU[seed] + gap, preset) for seed, gap in zip(RELU, (1, -1, 0.5, -0.5, 0.1), strict=True)
    ]
    runs += [made("mpu3", seed, value, preset) for seed, value in ((1, 88.1), (2, 87.2), (9, 60.0))]
    return runs


def ablations():
    """Angle fixed: as the usual mpu2 but for a hair; starting from 0.6: 0.3 worse; flattened: one seed."""
    usual = {seed: RELU[seed] + STEADY[seed] for seed in RELU}
    runs = [
        made("mpu2", seed, usual[seed] + gap, learn_angle=False) for seed, gap in ((1, 0.01), (2, -0.02), (3, 0.01))
    ]
    runs += [made("mpu2", seed, usual[seed] - gap, alpha=0.6) for seed, gap in ((3, 0.30), (1, 0.29), (2, 0.31))]
    return [*runs, made("mpu2", 1, usual[1] + 0.7, grouping="text")]


def finetuning():
    runs = []
    for seed in (1, 2):
        start = f"cpu/resnet18/relu/seed{seed} abcdefabcdef"
        runs.append(made("relu", seed, RELU[seed] + 0.2, start=start, epochs=4, peak=0.02))
        runs.append(made("mpu2", seed, RELU[seed] + 0.2 + 0.1 * seed, start=start, epochs=4, peak=0.02))
    return runs


def tables(body):
    found = []
    for source in re.findall(r"<table>.*?</table>", body):
        lines = re.findall(r"<tr>(.*?)</tr>", html.unescape(source))
        rows = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", line) for line in lines]
        found.append([dict(zip(rows[0], row, strict=True)) for row in rows[1:]])
    return found


def by_first(rows):
    return {next(iter(row.values())): row for row in rows}
