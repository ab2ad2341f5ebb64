"""Vision: each recipe's runs compared with ReLU's, and the paper's tables on pictures with ours beside them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..html import Section, bullets, paragraph, picture, table, text
from ..results import Results
from ..statistics import mean_and_deviation, place
from ..vision import figures as pictures
from ..vision.paper import is_shown, tables
from ..vision.protocol import NOTE, describe, is_cifar10, note, numbers, sentences, setting
from ..vision.runs import Protocol, by_recipe, protocols
from ..vision.units import ablations, finetuned, finetuning

ORDER = 20


def section(results: Results, figures: Path) -> Section:
    summaries, found = results.runs, protocols(results.runs)
    benchmarks = [record for name, record in results.benchmarks.items() if name.startswith("cifar10")]
    parts: list[str] = []
    for i, protocol in enumerate(found):
        same = sum((other.experiment, other.recipe) == (protocol.experiment, protocol.recipe) for other in found[:i])
        stem = f"{protocol.experiment}-{protocol.recipe}" + (f"-{same + 1}" if same else "")
        name, said = describe(protocol.config), bullets(sentences(protocol))
        where = " on CIFAR10" if is_cifar10(protocol.config) else ""
        parts.append(f"<h3>{text(name)}{where}</h3>" + paragraph(setting(protocol)) + said)
        shown = numbers(protocol, benchmarks) + ("" if i else note(NOTE))
        parts.append(shown + _drawn(protocol, figures, stem))
        if protocol.variants:
            body, more = ablations(protocol)
            parts.append(f"<h3>{text(name)}: other angles and groups</h3>{bullets(more)}{body}")
    body, more = finetuning(summaries)
    if body:
        parts.append(f"<h3>Fine-tuning a trained ReLU network</h3>{bullets(more)}{body}")
    intro = (
        "Last-epoch accuracy leads. Differences are taken between runs with the same seed. What the paper prints is at "
        "the end of this section."
    )
    if not found:
        intro = "Nothing was run. proxact cifar10 --preset cpu runs the protocol for a CPU, --preset paper the paper's."
    parts = [paragraph(intro), *parts, tables(summaries), _rest(summaries, found)]
    return Section("vision", "Vision: CIFAR10 and ImageNet", "".join(parts), tuple(findings(summaries)))


def findings(summaries: Sequence[dict[str, Any]]) -> list[str]:
    """What the numbers say, in sentences made from them."""
    said = []
    for protocol in protocols(summaries):
        own = [*sentences(protocol), *ablations(protocol)[1]]
        said += [f"{describe(protocol.config)}: {sentence}" for sentence in own]
    return [*said, *finetuning(summaries)[1]]


def _drawn(protocol: Protocol, figures: Path, stem: str) -> str:
    captions = ("Test accuracy against epochs", "Difference to ReLU of the same seed against epochs")
    shown = zip(pictures.curves(protocol, figures, stem), captions, strict=True)
    drawn = "".join(picture(path, f"{describe(protocol.config)}: {caption}") for path, caption in shown)
    angles = pictures.angles(protocol, figures, stem)
    heading = f"<h3>{text(describe(protocol.config))}: the learnt angles</h3>" if angles else ""
    return f'<div class="side-by-side">{drawn}</div>{heading}{angles}'


def _rest(summaries: Sequence[dict[str, Any]], found: Sequence[Protocol]) -> str:
    """What lies in the folders and is in no table above."""
    shown = {id(run) for protocol in found for run in (*protocol.runs, *protocol.variants)}
    shown |= {id(run) for runs in finetuned(summaries).values() for run in runs}
    ours = [run for run in summaries if run["experiment"] in ("cifar10", "imagenet") and not is_shown(run)]
    rest = [run for run in ours if id(run) not in shown]
    if not rest:
        return ""
    rows = [
        [*group, mean_and_deviation([run["metrics"]["score"] for run in runs], "{:.2f}"), len(runs), *place(runs)]
        for group, runs in by_recipe(rest).items()
    ]
    headers = ["recipe", "network", "activation", "last epoch", "n", "hardware", "date"]
    return "<h3>Other recipes, networks, activations or pictures</h3>" + table(headers, rows)
