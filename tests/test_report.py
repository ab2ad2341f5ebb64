"""The page says what is in the run folders, and a browser shows it."""

import json
import math
import re
import shutil
import statistics
from html.parser import HTMLParser
from pathlib import Path

import pytest

from proxact.experiments import fit as experiment
from proxact.report import build
from proxact.report.fit_runs import overall
from proxact.report.html import MISSING
from proxact.report.sections.paper_tables import PAPER
from proxact.report.statistics import geometric_mean, mean_and_deviation

SMALL = {"widths": (2, 3, 4, 8), "seeds": (1, 2), "epochs": 2, "samples": 400, "test_samples": 100}


class Tables(HTMLParser):
    """All tables of a page as lists of rows of cells."""

    def __init__(self, page):
        super().__init__()
        self.tables, self.cell = [], None
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.cell = ""

    def handle_endtag(self, tag):
        if tag in ("td", "th"):
            self.tables[-1][-1].append(self.cell)
            self.cell = None

    def handle_data(self, data):
        if self.cell is not None:
            self.cell += data


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    fits = list(experiment.plan(("relu", "mpu2", "gelu"), experiment.TARGETS, False, SMALL))
    fits += list(experiment.plan(("mpu2",), ("cone",), False, {**SMALL, "remainder": "relu"}))
    for fit in fits:
        experiment.run(fit, folder / "fit" / fit.label)
    return folder


@pytest.fixture(scope="module")
def page(runs, tmp_path_factory):
    found, findings = build([runs], tmp_path_factory.mktemp("report"))
    assert len(findings) == 2  # one for each target
    return found


def test_table_cells_come_from_the_run_folders(runs, page):
    tables = Tables(page.read_text()).tables
    for table, target in zip(tables, experiment.TARGETS, strict=False):
        header = table[0]
        rows = {row[0]: row for row in table[1:]}
        assert set(rows) == {*experiment.ACTIVATIONS, "gelu"}
        for name in ("relu", "mpu2", "gelu"):
            summary = json.loads((runs / "fit" / target / name / "summary.json").read_text())
            best = summary["metrics"]["best_mse"]
            for width in (4, 8):
                values = best[str(width)]
                expected = f"{sum(values) / 2:.2e} ± {statistics.stdev(values):.2e}"
                assert rows[name][header.index(f"width {width}")] == expected
            by_seed = [geometric_mean([best[w][i] for w in best]) for i in range(2)]
            assert rows[name][header.index("all widths")] == mean_and_deviation(by_seed, "{:.2e}")
            assert rows[name][header.index("n")] == "2"
            assert rows[name][header.index("date")] == summary["date"]
        assert rows["wta"].count(MISSING) == 3  # two widths and all of them


def test_the_remainder_is_compared_over_odd_widths(runs, page):
    variant = Tables(page.read_text()).tables[2]
    summary = json.loads((runs / "fit/cone/mpu2/summary.json").read_text())
    assert variant[1][3] == "odd widths"
    assert variant[1][5] == mean_and_deviation(overall(summary, [3]), "{:.3e}")


def test_every_table_of_the_paper_is_there_and_not_run(page):
    tables = Tables(page.read_text()).tables[-len(PAPER["tables"]) :]
    for table, entry in zip(tables, PAPER["tables"].values(), strict=True):
        ours = table[0].index("ours")
        assert [row[ours] for row in table[1:]] == [MISSING] * len(entry["rows"])
        assert [row[2].split(" ± ")[0] for row in table[1:]] == [f"{row['mean']:.2f}" for row in entry["rows"]]


def test_the_page_needs_nothing_else(page):
    source = page.read_text()
    assert not re.search(r'(src|href)="(?!data:|#)', source)
    assert (page.parent / "figures/fit.png").exists()
    assert (page.parent / "figures/fit-cone.svg").exists()


def test_no_runs_at_all(tmp_path):
    source = build([tmp_path], tmp_path / "out")[0].read_text()
    assert "Function fitting" in source
    assert source.count(MISSING) > 50


PAPER_SOURCE = Path(__file__).parents[2] / "shared/paper/paper.tex"


@pytest.mark.skipif(not PAPER_SOURCE.exists(), reason="the paper's source is not beside the project")
def test_the_quoted_numbers_are_those_of_the_paper():
    source = PAPER_SOURCE.read_text()
    for entry in PAPER["tables"].values():
        for row in entry["rows"]:
            for key in ("mean", "std", "max"):
                assert key not in row or re.search(rf"\b{row[key]:.2f}\b|\b{row[key]}\b", source), row


CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
@pytest.mark.parametrize("width", [1280, 390])
def test_a_browser_shows_it(page, width):
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        options = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=options)
        tab = browser.new_page(viewport={"width": width, "height": 800})
        problems = []
        tab.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
        tab.on("pageerror", lambda error: problems.append(str(error)))
        tab.on("requestfailed", lambda request: problems.append(request.url[:80]))
        tab.goto(page.as_uri())
        for section in tab.locator("section").all():
            assert section.is_visible()
            assert section.bounding_box()["height"] > 50
        assert tab.locator("section").count() == 5
        for picture in tab.locator("img").all():
            assert picture.is_visible()
            assert picture.evaluate("image => image.complete && image.naturalWidth > 0")
            assert picture.bounding_box()["width"] <= width
        # Tables scroll inside their frames; the page itself does not scroll sideways.
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        assert float(tab.evaluate("parseFloat(getComputedStyle(document.body).fontSize)")) >= 14
        browser.close()
    assert problems == []


def test_runs_that_all_diverged_are_shown(runs, tmp_path):
    summary = json.loads((runs / "fit" / "cone" / "relu" / "summary.json").read_text())
    for table in ("best_mse", "last_mse"):
        summary["metrics"][table] = {width: [math.inf] * 2 for width in summary["metrics"][table]}
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "summary.json").write_text(json.dumps(summary))
    page, _ = build([tmp_path / "run"], tmp_path / "page")
    assert ">inf<" in page.read_text()


def test_fits_of_a_smaller_scale_are_left_out(runs, tmp_path):
    """A try with fewer epochs beside the runs does not take their place in the tables."""
    (short,) = experiment.plan(("mpu2",), ("cone",), False, {**SMALL, "epochs": 1})
    experiment.run(short, tmp_path / "z-last")
    page, _ = build([runs, tmp_path / "z-last"], tmp_path / "page")
    alone, _ = build([tmp_path / "z-last"], tmp_path / "alone")
    best = json.loads((runs / "fit/cone/mpu2/summary.json").read_text())["metrics"]["best_mse"]["8"]
    row = next(row for row in Tables(page.read_text()).tables[0] if row[0] == "mpu2")
    assert mean_and_deviation(best, "{:.2e}") in row
    assert "Left out: 1 with less training or other widths (1 epochs)" in page.read_text()
    assert "Left out" not in alone.read_text()
    assert "the best of 1 epochs" in alone.read_text()
