"""The API reference: for every public module the names in its ``__all__``, shown by mkdocstrings.

The names are asked for where they are defined: for a tool that does not run the code ``proxact.prox.sigmoid`` is a
module.
"""

from __future__ import annotations

import importlib
import inspect

from proxact.project import SETS

MODULES = {
    "proxact": "What is needed most of the time. The layers, which are here too, have a page of their own.",
    "proxact.nn": "The layers; the ones of the paper are in `proxact` too.",
    "proxact.project": "With pictures: [Sets](../sets/index.md).",
    "proxact.prox": "With pictures: [Proxes](../prox/index.md). Projections are here too, as proxes of indicators; "
    "they take the same arguments as in [`proxact.project`](project.md).",
    "proxact.unroll": "With examples: [Solver layers](../solvers.md).",
    "proxact.cost": "The rules are written down in `proxact.cost.rules`.",
    "proxact.monitor": "With examples: [Fine-tuning angles](../finetune.md).",
    "proxact.models": "The networks of the experiments.",
    "proxact.theory": "What the paper claims, as constructions with a measured residual; the results are on the page "
    "[Errata](../errata.md).",
    "proxact.plot": "The figures of `proxact plot` are on the page [Figures](../figures.md).",
}
_MORE = {"proxact.plot": ("draw_all", "scalar", "plane", "space")}


def file(module: str) -> str:
    return f"api/{module.rsplit('.', 1)[-1]}.md"


def shown(module: str) -> dict[str, str]:
    """Names and the places where they are defined. What ``proxact`` only passes on is on the page of its module."""
    package = importlib.import_module(module)
    others = {place for other in MODULES if module == "proxact" != other for place in shown(other).values()}
    found = {}
    for name in _MORE.get(module, getattr(package, "__all__", ())):
        value = getattr(package, name)
        is_set = module == "proxact.prox" and name in SETS
        if (inspect.isclass(value) or inspect.isfunction(value)) and not is_set:
            found[name] = f"{value.__module__}.{name}"
        elif inspect.ismodule(value) and module == "proxact.plot":
            found[name] = f"{module}.{name}"
    return {name: place for name, place in found.items() if place not in others}


def page(module: str) -> str:
    parts = [f"# {module}", MODULES[module]]
    if module not in ("proxact", "proxact.cost"):  # one line, and a function that hides its module
        hidden = ("members", "show_root_heading", "show_root_toc_entry")
        options = "".join(f"      {option}: false\n" for option in hidden)
        parts.append(f"::: {module}\n    options:\n{options}")
    for name, place in shown(module).items():
        parts.append(f"::: {place}\n    options:\n      heading: {name}\n      toc_label: {name}")
    return "\n\n".join(parts) + "\n"
