"""One page for each activation, set and prox, and the three galleries."""

from __future__ import annotations

import re

from catalogue import Thing, by_name, page_name
from costs import cost
from docstrings import arguments, sections, to_markdown
from mathml import mathml
from pictures import pictures
from when import FORMULAS, WHEN

import proxact
from proxact.project import SETS
from proxact.prox import CATALOGUE

GALLERIES = {
    "activations": (
        "Activations",
        "Every name that [`proxact.get`](../api/proxact.md) knows, as a layer: `proxact.get(name)`. `mpu<m>` and "
        "`leaky_mpu<m>` work for every m. Sets and proxes are activations too.",
    ),
    "sets": (
        "Sets",
        "Projections onto convex sets: `proxact.project.<set>(x, ...)`, a pure function of vectors along `dim`, "
        'differentiable twice; `proxact.Projection("<set>", ...)` as a layer.',
    ),
    "prox": (
        "Proxes",
        "Proximal operators, each with its penalty: `proxact.prox.<name>(x)` is the y that makes "
        "$\\phi(y) + \\tfrac12 \\|y - x\\|^2$ smallest, and `proxact.prox.<name>.penalty(y)` is $\\phi(y)$. A set's "
        "penalty is 0 on it and infinite elsewhere. `proxact.prox.verify` checks a pair, `classify` tells whether a "
        "function of your own is a prox at all.",
    ),
}


def page(thing: Thing) -> str:
    """The whole page, as Markdown."""
    parts = [
        f"# {thing.name}",
        f"[All {GALLERIES[thing.folder][0].lower()}](index.md){{ .back }}",
        _definition(thing),
        _figures(thing),
        f"## When to use it\n\n{_relative(WHEN[thing.name], thing)}",
        f"## How to call it\n\n```python\n{calls(thing)}```",
        _parameters(thing),
        f"## Cost\n\n{cost(thing)}",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def gallery(folder: str) -> str:
    title, text = GALLERIES[folder]
    known = by_name()
    listed = {
        "activations": sorted({page_name(name) for name in proxact.names()}, key=_order),
        "sets": list(SETS),
        "prox": list(CATALOGUE),
    }[folder]
    cards = []
    for name in listed:
        thing = known[name]
        link, image = (
            f"../{part}" for part in (thing.path, f"{thing.folder}/{name}-small.{suffix(pictures(thing)[0][0])}")
        )
        names = ", ".join(thing.names) if folder == "activations" and len(thing.names) > 1 else name
        cards.append(f"-   [![]({image}){{ loading=lazy }}<br>{names}]({link})")
    return (
        f"# {title}\n\n{text}\n\n" + '<div class="grid cards gallery" markdown>\n\n' + "\n".join(cards) + "\n\n</div>\n"
    )


def calls(thing: Thing) -> str:
    """Code that shows every way to call it; the tests run it."""
    name, given = thing.name, thing.arguments
    more = f", {given}" if given else ""
    imports = "import math\n\n" * ("math." in given) + "import torch\n\nimport proxact\n\n"
    if thing.folder == "sets":
        x = _example_input(name)
        layer = f'layer = proxact.Projection("{name}"{more})  # or proxact.get("{name}", ...)\n'
        return (
            f"{imports}x = {x}\ny = proxact.project.{name}(x{more})\n"
            f"{layer}assert torch.equal(layer(x), y)\n"
            f"proxact.prox.{name}.penalty(y{more})  # 0 on the set, inf elsewhere\n"
        )
    if name in ("mpu", "leaky_mpu"):
        kind = proxact.MPU.__name__ if name == "mpu" else proxact.LeakyMPU.__name__
        return (
            f"{imports}x = torch.randn(8, 12)\n"
            f"layer = proxact.{kind}(3)  # groups of 3 channels; the angle is learnt\n"
            f'layer = proxact.get("{name}3")  # the same by name\n'
            "layer(x).sum().backward()\nprint(layer.alpha, layer.theta.grad)\n"
        )
    if thing.folder == "activations":
        return f'{imports}layer = proxact.get("{name}")\nlayer(torch.randn(8, 12))\n'
    shape = "8, 2" if name == "modrelu" else "8, 12"
    module = f'layer = proxact.get("{name}")  # a layer\nlayer(x)\n'
    return (
        f"{imports}x = torch.randn({shape})\ny = proxact.prox.{name}(x{more})  # a pure function\n"
        f"proxact.prox.{name}.penalty(y{more})  # what it minimises\n{module}"
    )


def _example_input(name: str) -> str:
    if name == "psd":
        return "torch.randn(8, 3, 3)"
    long = name in ("exponential", "lorentz", "rotated_lorentz", "simplex")
    return "torch.randn(8, 3)" if long else "torch.randn(8, 2)"


def _definition(thing: Thing) -> str:
    if thing.documented is None:
        verdict = proxact.prox.classify(proxact.get(thing.name).requires_grad_(False))
        return f"{FORMULAS[thing.name]}\n\nBy `proxact.prox.classify`: {verdict}."
    text = to_markdown(sections(thing.documented)[""], lambda name: _link(name, thing))
    if thing.folder == "prox" and not text.startswith("$"):
        text = text[0].upper() + text[1:]
    if thing.name in CATALOGUE and thing.folder == "prox":
        text += f"\n\nThe penalty is finite on `{CATALOGUE[thing.name].domain}`."
    return text


def _parameters(thing: Thing) -> str:
    rows = [f"- `{name}`: {to_markdown(said, lambda n: _link(n, thing))}" for name, said in _arguments(thing)]
    return "## Parameters\n\n" + "\n".join(rows) if rows else ""


def _arguments(thing: Thing) -> list[tuple[str, str]]:
    documented = proxact.MPU if thing.name == "leaky_mpu" else thing.documented
    return arguments(sections(documented).get("Args", "")) if documented else []


def _link(name: str, here: Thing) -> str:
    """A name of a docstring as a link to its page, where it has one."""
    other = by_name().get(name.rsplit(".", 1)[-1].lower())
    if other is None or other.name == here.name:
        return f"`{name}`"
    return f"[`{name}`]({_from(here, other)})"


def _relative(text: str, thing: Thing) -> str:
    """Names in code that have a page become links."""
    known = by_name()

    def link(found: re.Match[str]) -> str:
        other = known.get(found[1])
        return found[0] if other is None or other.name == thing.name else f"[{found[0]}]({_from(thing, other)})"

    return re.sub(r"(?<!\[)`(\w+)`", link, text)


def _from(here: Thing, other: Thing) -> str:
    return f"{other.name}.md" if here.folder == other.folder else f"../{other.path}"


def _figures(thing: Thing) -> str:
    cells = []
    for name, _, caption in pictures(thing):
        file = f"{thing.name}-{name}.{suffix(name)}"
        wide = ' class="wide"' if name == "field" else ""
        cells.append(
            f'<figure{wide} markdown="span">\n![{thing.name}: {name}]({file})\n'
            f"<figcaption>{formulas(caption)}</figcaption>\n</figure>"
        )
    return '<div class="pictures" markdown>\n' + "\n".join(cells) + "\n</div>"


def formulas(caption: str) -> str:
    """Inside HTML, where Markdown does not look."""
    return re.sub(r"\$(.+?)\$", lambda found: mathml(found[1]), caption)


def suffix(picture: str) -> str:
    """Surfaces have too many pieces for an SVG."""
    return "png" if picture in ("set", "space") else "svg"


def _order(name: str) -> tuple[int, str]:
    """The paper's unit comes first."""
    return (0 if name == "mpu" else 1 if name == "leaky_mpu" else 2, name)
