"""The page with every figure of the paper, drawn again."""

from __future__ import annotations

import tempfile
from pathlib import Path

from pictures import saved

from proxact.experiments.runs import read_summaries
from proxact.plot import FIGURES
from proxact.plot.method import PANELS
from proxact.report.fit_runs import main_runs
from proxact.report.sections import ant, fit

RESULTS = Path(__file__).parents[2] / "results"

CAPTIONS = {
    "method": (
        "The method",
        "(a) One step of projected gradient descent has the form of one layer: a matrix, a vector, a "
        "function that is not linear. (b) ReLU is the projection of the line onto its nonnegative half. "
        "(c) The projection of the plane onto the cone of half-apex angle pi/6: points of the cone, "
        "shaded, stay; those of its polar, hatched, go to 0; all others go to the nearest edge. (d) In a "
        "network with that activation two hidden units go into each projection. (e) With ReLU every unit "
        "stands alone. Each panel is also a figure of its own: `proxact plot method-c`.",
    ),
    "sections": (
        "The cone in three dimensions",
        "The cone around (1, 1, 1) and what four planes cut out of it. For m = 2 there are only wedges; "
        "for m = 3 the boundary is curved, which no ReLU network of finite width repeats exactly.",
    ),
    "height": (
        "Height and distance from the axis",
        "A point is t along the axis and h across it. Whether it is in the cone, and where it goes, "
        "depends on t and the length of h only.",
    ),
    "proof": (
        "The plane of the proof",
        "The same for any number of dimensions, in the plane through the axis and x. Points of R1 stay, "
        "points of R3 go to 0, points of R2 and R2' go to the edge l. The text calls the length of the "
        "projected vector s; the length is s times the root of 1 + tan² alpha ([errata](errata.md)).",
    ),
    "line": (
        "ReLU inside the cone",
        "On the line x₁ = x₂ the projection onto any cone is ReLU, so a network of cones can do what one of ReLUs can.",
    ),
    "small-angle": (
        "Regions for a small angle",
        "Half-apex angle pi/8, below pi/4. Blue lines: the regions of x. Dashed: those of -x. For a ReLU "
        "layer without bias the difference of its values at x and at -x is linear; here it is not.",
    ),
    "large-angle": (
        "Regions for a large angle",
        "Half-apex angle 3 pi/8, above pi/4. Here the opposite of a point of R1 can lie in R2 or R2'; for a "
        "small angle it is always in R3.",
    ),
}
_INTRODUCTION = (
    "Every figure of *Generalized Activation via Multivariate Projection*, drawn by code: what is computed"
    " in them, regions, projections and sections, comes from `proxact.project.cone`, and the curves from "
    "the runs in `results/`. `proxact plot --out figures` draws all that need no runs."
)


def page() -> str:
    parts = [f"# Figures of the paper\n\n{_INTRODUCTION}"]
    for name, (title, caption) in CAPTIONS.items():
        shown = [f"method-{panel}" for panel in PANELS] if name == "method" else [name]
        images = [f"figures/{one}.{_suffix(one)}" for one in shown]
        parts.append(_part(title, images, caption, f"proxact plot {name}"))
    summaries = read_summaries([RESULTS])
    if any(run["experiment"] == "fit" for run in summaries):
        caption = (
            "Error of networks with one hidden layer against its width, for a target that projects onto a "
            "cone and for one with 2-D Leaky ReLU. Lines: mean over the seeds; bands: smallest to largest."
            " What they say about the paper's claims is in [Reproducing the paper](reproduce.md)."
        )
        images = [f"figures/fit-{target}.svg" for target in fit.TARGETS]
        parts.append(_part("Fitting error", images, caption, "proxact fit\nproxact report runs"))
    if runs := _ant_runs(summaries):
        shown = ", ".join(sorted({run["activation"] for run in runs}))
        caption = (
            f"Mean return of an episode while PPO learns; so far there are {len(runs)} runs ({shown}). Our "
            "ant is MuJoCo's and the paper's is IsaacGym's: curves can be compared with each other and not"
            " with the paper's."
        )
        parts.append(
            _part("Reward in the Ant environment", ["figures/ant.svg"], caption, "proxact ant\nproxact report runs")
        )
    return "\n\n".join(parts) + "\n"


def files() -> dict[str, bytes]:
    """Everything in ``figures/``."""
    found = {}
    for name, (draw, _) in FIGURES.items():
        found[f"figures/{name}.{_suffix(name)}"] = saved(draw(), _suffix(name))
    summaries = read_summaries([RESULTS])
    with tempfile.TemporaryDirectory() as folder:
        if main := main_runs([run for run in summaries if run["experiment"] == "fit"]):
            fit.draw(main, Path(folder))
        if runs := _ant_runs(summaries):
            ant.draw(runs, Path(folder))
        for path in Path(folder).glob("*.svg"):
            found[f"figures/{path.name}"] = path.read_bytes()
    return found


def _ant_runs(summaries: list[dict]) -> list[dict]:
    return [run for run in summaries if run["experiment"] == "ant" and run["config"]["preset"] == "paper"]


def _suffix(name: str) -> str:
    return "png" if name in ("cone", "sections") else "svg"


def _part(title: str, images: list[str], caption: str, command: str) -> str:
    shown = "\n".join(f"![{title}]({image})" for image in images)
    return (
        f'## {title}\n\n<figure class="paper" markdown="span">\n{shown}\n</figure>\n\n{caption}\n\n```\n{command}\n```'
    )
