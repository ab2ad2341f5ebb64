"""Tables of the documentation are made from results: right numbers in right rows, every mark of a page filled."""

import importlib.util
import itertools
import json
import statistics
from pathlib import Path

import pytest

from proxact.report import markdown, markdown_bench
from proxact.report.sections.paper_tables import PAPER
from proxact.theory import ERRATA

ROOT = Path(__file__).parent.parent
PAGES = sorted(ROOT.glob("docs/**/*.md"))


@pytest.fixture(scope="module")
def made():
    spec = importlib.util.spec_from_file_location("made", ROOT / "docs/made.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_mark_is_filled(made):
    text = "".join(page.read_text() for page in PAGES)
    keys = set(made.MARK.findall(text))
    assert set(PAPER["tables"]) <= keys <= set(made.MAKERS)
    assert {f"bench:{name}" for name in markdown_bench.TABLES} <= keys
    with pytest.raises(ValueError, match="tab:none"):
        made.fill("\n<!-- made: tab:none -->\n")
    filled = made.fill((ROOT / "docs/reproduce.md").read_text())
    assert "made:" not in filled
    assert all(len({line.count("|") - line.count("\\|") for line in block}) == 1 for block in tables(filled))


def test_the_readme_has_the_table_of_the_protocol(made):
    table = made.MAKERS["protocol:cifar10"]()
    assert table in (ROOT / "README.md").read_text(), f"README.md needs this table, made from results/:\n{table}"


def tables(text):
    """The lines of each table."""
    found = [[]]
    for line in text.splitlines():
        if line.startswith("|"):
            found[-1].append(line)
        elif found[-1]:
            found.append([])
    return [block for block in found if block]


def test_our_numbers_beside_the_papers(tmp_path):
    def summary(activation, seed, score, **config):
        return {
            "experiment": "ant",
            "activation": activation,
            "config": {"preset": "paper", "model": "mlp", **config},
            "metrics": {"score": score},
            "machine": {"cpu": "abacus", "threads": 3},
            "date": f"2026-01-0{seed}",
            "seed": seed,
        }

    runs = [summary("relu", 1, 100.0), summary("relu", 2, 130.0), summary("relu", 3, 70.0, preset="small")]
    table = markdown.paper_table("tab:ppo_ant", runs)
    rows = {cells[2]: cells for line in tables(table)[0][2:] if (cells := [c.strip() for c in line.split("|")])}
    printed = {row["activation"]: row for row in PAPER["tables"]["tab:ppo_ant"]["rows"]}
    assert rows["`relu`"][3] == f"{printed['relu']['mean']} ± {printed['relu']['std']}"
    assert rows["`relu`"][6:9] == [f"115.00 ± {statistics.stdev([100, 130]):.2f}", "2", "2026-01-01 to 2026-01-02"]
    assert rows["`mpu2`"][6:8] == [markdown.NOT_RUN, "0"]
    assert "abacus, 3 threads" in table
    assert "| small | mlp | `relu` | 70.00 | 1 |" in markdown.others("ant", runs)
    title = PAPER["tables"]["tab:ppo_ant"]["title"]
    state = next(line for line in markdown.state(runs).splitlines() if title in line)
    assert state.endswith(f"| {len(printed)} | 1 | 2 |")


def test_errata_that_fail_are_shown():
    good = next(erratum for erratum in ERRATA if "6 m + 9" in erratum.name)
    broken = type(good)(**{**vars(good), "construct": good.printed})
    assert "holds" in markdown.errata([good]).splitlines()[-1]
    assert "**FAILS**" in markdown.errata([broken])


def test_measurements(tmp_path):
    assert "not measured" in markdown_bench.bench("ant", tmp_path).lower()
    found = json.loads((ROOT / "results/bench/bench.json").read_text())
    shown = markdown_bench.bench("activations", ROOT / "results/bench")
    assert len(tables(shown)[0]) == 2 + len(found["activations"])
    column = tables(shown)[0][0].split("|").index(" mpu2 ")
    ratios = [line.split("|")[column].strip() for line in tables(shown)[0][2:]]
    measured = [case["results"].get("mpu2") for case in found["activations"]]
    assert ratios == [f"{row['ratio']:.2f}" if row else "" for row in measured]


def test_what_is_said_about_fitting():
    """The page says in words: MPU is the best on the cone target, and ReLU's error falls with the width."""
    errors = {}
    for path in (ROOT / "results/fit/cone").glob("*/summary.json"):
        errors[path.parent.name] = json.loads(path.read_text())["metrics"]["best_mse"]
    overall = {name: statistics.geometric_mean(itertools.chain(*found.values())) for name, found in errors.items()}
    assert all(overall["mpu2"] < overall[name] for name in ("relu", "prelu", "leaky_relu", "wta", "maxout", "crelu"))
    assert max(errors["relu"]["39"]) < min(errors["relu"]["8"])
