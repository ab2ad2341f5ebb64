"""The flags of the experiments: which there are, and whether values suit them."""

from __future__ import annotations

import contextlib
import dataclasses
import difflib
import functools
import inspect
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import tyro

Experiment = Literal["fit", "cifar10", "imagenet", "ant"]
_SET_BY_THE_SWEEP = ("activations", "seeds", "runs", "cache", "dry_run")


def command_of(experiment: Experiment) -> Callable[..., None]:
    from .. import __main__ as commands

    return getattr(commands, experiment)


def flags(experiment: Experiment) -> dict[str, Any]:
    """What a grid can be made of, by name, with its type."""
    command = command_of(experiment)
    hints = typing.get_type_hints(command)
    found: dict[str, Any] = {}
    for name in inspect.signature(command).parameters:
        if dataclasses.is_dataclass(hints[name]):  # its fields are flags of the same rank
            found |= typing.get_type_hints(hints[name])
        else:
            found[name.rstrip("_")] = hints[name]
    return {name: kind for name, kind in found.items() if name not in _SET_BY_THE_SWEEP}


def as_arguments(experiment: Experiment, key: str, value: str) -> list[str]:
    """``--key value``, or ``--key`` and ``--no-key`` for a switch."""
    flag = key.replace("_", "-")
    if flags(experiment)[key] is not bool:
        return [f"--{flag}", value]
    if value.lower() not in ("true", "false"):
        raise ValueError(f"grid: {key} must be true or false, got {value!r}")
    return [f"--{flag}" if value.lower() == "true" else f"--no-{flag}"]


def check_key(experiment: Experiment, key: str) -> str:
    """The key with underscores."""
    name, known = key.replace("-", "_"), flags(experiment)
    if name not in known:
        own = " (it has a flag of the sweep)" if name in _SET_BY_THE_SWEEP else ""
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise ValueError(f"grid: {experiment} takes {', '.join(sorted(known))}; got {key!r}{own}{hint}")
    return name


def check_extra(experiment: Experiment, arguments: Sequence[str], keys: Sequence[str]) -> None:
    """The arguments after ``--`` may not set what the sweep or its grid sets."""
    for argument in arguments:
        name = argument.removeprefix("--").partition("=")[0].replace("-", "_")
        if argument.startswith("--") and name in (*_SET_BY_THE_SWEEP, *keys):
            raise ValueError(f"arguments of {experiment} must not contain {argument}: the sweep sets it")


def check_arguments(experiment: Experiment, arguments: Sequence[str]) -> None:
    """Parse them as the experiment would, and plan what they ask for, without running it.

    Raises ValueError, or SystemExit after tyro has said what is wrong.
    """
    command = command_of(experiment)

    @functools.wraps(command)
    def record(**given: Any) -> Mapping[str, Any]:
        return given

    given = tyro.cli(record, args=list(arguments), prog=f"proxact {experiment}")
    with contextlib.suppress(ModuleNotFoundError):  # a cluster may have what this machine lacks
        _plan(experiment, given)


def _plan(experiment: Experiment, given: Mapping[str, Any]) -> None:
    """Make the experiment's configurations, which check themselves."""
    activations, seeds = given["activations"], given["seeds"]
    recipe = dataclasses.asdict(given["recipe"]) if "recipe" in given else {}
    changed = {name: value for name, value in recipe.items() if value is not None}
    if experiment == "fit":
        from ..experiments import fit

        fit.parse_widths(given["widths"])
        list(fit.plan(activations, given["targets"], False, {}))
    elif experiment == "ant":
        from ..experiments import ant

        settings = {name: value for name, value in given.items() if name not in _SET_BY_THE_SWEEP}
        list(ant.plan(activations, seeds, settings))
    elif experiment == "imagenet":
        from ..experiments import imagenet

        list(imagenet.plan(given["model"], activations, seeds, changed))
    else:
        from ..experiments.vision import presets

        list(presets.plan(given["preset"] or "cpu", activations, seeds, changed, given["as_published"]))
