"""Trainings on ImageNet that take seconds."""

from proxact.experiments.imagenet import plan

TINY = {"size": 32, "epochs": 3, "batch": 16, "micro_batch": 8}
DEIT = {**TINY, "first_epochs": 1}


def one(model, activation="mpu2", **given):
    (found,) = plan(model, (activation,), (1,), given)
    return found
