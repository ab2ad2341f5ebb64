"""The generated pages of the documentation: complete, and every code block runs. Nothing is drawn or built here."""

import functools
import importlib
import inspect
import json
import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

import proxact
from proxact.project import SETS
from proxact.prox import CATALOGUE

pytest.importorskip("matplotlib")
GENERATE = Path(__file__).parent.parent / "docs" / "generate"
sys.path.append(str(GENERATE))
api = importlib.import_module("api")
catalogue = importlib.import_module("catalogue")
docstrings = importlib.import_module("docstrings")
mathml = importlib.import_module("mathml")
pages = importlib.import_module("pages")
when = importlib.import_module("when")
THINGS = catalogue.by_name()
KNOWN = {thing.path for thing in THINGS.values()}
KNOWN |= {f"{folder}/index.md" for folder in pages.GALLERIES} | {api.file(module) for module in api.MODULES}


@functools.cache
def page(name):
    return pages.page(THINGS[name])


def test_every_name_has_a_page_and_a_card():
    wanted = {"activations": set(proxact.names()), "sets": set(SETS), "prox": set(CATALOGUE)}
    for folder, names in wanted.items():
        shown = re.findall(r"<br>(.+?)\]\((\S+)\)", pages.gallery(folder))
        listed = {name for words, _ in shown for name in words.split(", ")}
        assert listed == names
        assert {link for _, link in shown} <= {f"../{thing.path}" for thing in THINGS.values()}


def test_when_has_a_sentence_for_each_page_and_no_other():
    assert set(when.WHEN) == set(THINGS)
    assert all(sentence.endswith(".") or sentence.endswith(".)") for sentence in when.WHEN.values())


@pytest.mark.parametrize("name", THINGS)
def test_page(name):
    """It has its parts, each link leads to a page, and what it says to write runs."""
    text = page(name)
    for part in ("## When to use it", "## How to call it", "## Cost", "<figcaption>"):
        assert part in text
    assert ":math:" not in text
    assert ":func:" not in text
    folder = THINGS[name].folder
    for link in re.findall(r"\]\(([^)]+\.md)\)", text):
        where = link.removeprefix("../") if link.startswith("../") else f"{folder}/{link}"
        assert where in KNOWN, link
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == 1
    exec(compile(blocks[0], name, "exec"), {})
    assert name in blocks[0] or name.replace("_", "") in blocks[0].lower()


@pytest.mark.parametrize("module", api.MODULES)
def test_reference(module):
    """Every public class and function is on a page of the reference, asked for where it is."""
    listed = {place for other in api.MODULES for place in api.shown(other).values()}
    package = importlib.import_module(module)
    for name in getattr(package, "__all__", ()):
        value = getattr(package, name)
        if (inspect.isclass(value) or inspect.isfunction(value)) and not (module == "proxact.prox" and name in SETS):
            assert f"{value.__module__}.{name}" in listed
    for place in api.shown(module).values():
        assert f"::: {place}\n" in api.page(module)
        home, name = place.rsplit(".", 1)
        assert name in vars(importlib.import_module(home))


def test_costs_come_from_the_count_and_the_record():
    """3 m + 5 for each group by the paper's rule; the measured ratio of the file, with its date."""
    record = json.loads((GENERATE.parents[1] / "results" / "bench" / "bench.json").read_text())
    mpu = page("mpu")
    assert f"| `mpu2` | {(3 * 2 + 5) / 2:.3g} |" in mpu
    assert f"| `mpu3` | {(3 * 3 + 5) / 3:.3g} |" in mpu
    case = next(case for case in record["activations"] if case["case"].startswith("last 12x128"))
    assert f"| {case['results']['mpu3']['ratio']:.2f} |" in mpu
    assert record["date"] in mpu


def element(formula, display=False):
    return ElementTree.fromstring(mathml.mathml(formula, display))


def shape(node):
    """Tags and texts, nested, without the rows that only hold one."""
    children = [shape(child) for child in node if child.tag not in ("mspace",)]
    if node.tag in ("mrow", "mstyle", "math") and len(children) == 1:
        return children[0]
    return (node.tag, *children) if children else f"{node.text or ''}"


def test_formulas():
    assert shape(element("\\tfrac12 x^2")) == ("mrow", ("mfrac", "1", "2"), ("msup", "x", "2"))
    assert shape(element("\\sqrt{27}")) == ("msqrt", "27")
    assert shape(element("x_i^{10} \\le \\alpha")) == (
        "mrow",
        ("msubsup", "x", "i", "10"),
        "\N{LESS-THAN OR EQUAL TO}",
        "\N{GREEK SMALL LETTER ALPHA}",
    )
    assert shape(element("\\arg\\min_y f")) == ("mrow", ("munder", "arg min", "y"), "f")
    assert shape(element("0 \\text{ for } y < 1")) == ("mrow", "0", "\xa0for\xa0", "y", "<", "1")
    assert shape(element("\\left(\\tfrac{a}{b}\\right)_+"))[0] == "msub"
    assert element("x", display=True).get("display") == "block"
    for wrong in ("\\unknown x", "\\frac{1}{2", "x}", "x^"):
        with pytest.raises(ValueError, match="formula: "):
            mathml.mathml(wrong)


def test_every_formula_of_the_docstrings():
    """The API reference shows them all."""
    found = 0
    for path in Path(proxact.__file__).parent.rglob("*.py"):
        for text in re.findall(r'r"""(.*?)"""', path.read_text(), re.DOTALL):
            for formula in re.findall(r"\$\$?([^$]+)\$\$?", docstrings.to_markdown(text)):
                mathml.mathml(formula)
                found += 1
    assert found > 50
