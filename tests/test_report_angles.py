"""The section on angles: from what runs recorded, and absent where they recorded none."""

import json
import re

import pytest
import torch
from torch import nn

import proxact
from proxact.experiments.runs import Run
from proxact.monitor import AngleMonitor, CollapseWarning
from proxact.report import build
from proxact.report.results import Results
from proxact.report.sections.angles import by_setting, section


def train(folder, seed, activation="mpu2", offset=0.0, **config):
    """A run in small, watched."""
    torch.manual_seed(seed)
    with Run(folder, "toy", activation, seed, {"seed": seed, **config}) as run:
        run.load()
        unit = proxact.get(activation)
        model = nn.Sequential(nn.Linear(4, 6), unit)
        model[0].bias.data += offset
        optimiser = torch.optim.SGD(model.parameters(), 0.1)
        with AngleMonitor(model, path=folder / "angles.jsonl") as monitor:
            for epoch in range(3):
                optimiser.zero_grad()
                model(torch.randn(64, 4)).square().mean().backward()
                optimiser.step()
                monitor.step()
                run.log({"epoch": epoch + 1, "angle0": unit.alpha.item()})
        run.finish({"score": 1.0})
    return monitor.rows


def cells(page, heading):
    """The table below a heading."""
    after = page[page.index(f"<h3>{heading}</h3>") :]
    rows = re.findall(r"<tr>(.*?)</tr>", after[: after.index("</table>")])
    return [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in rows]


def test_watched_runs_are_drawn(tmp_path):
    recorded = [train(tmp_path / f"runs/{seed}", seed, model="tiny") for seed in (1, 2)]
    page, findings = build([tmp_path / "runs"], tmp_path / "out")
    source = page.read_text()
    assert findings == []  # nothing collapsed
    header, row = cells(source, "toy, tiny, mpu2")
    shown = dict(zip(header, row, strict=True))
    last = [rows[-1] for rows in recorded]
    assert shown["unit"] == "1"
    assert shown["m"] == shown["n"] == "2"
    assert float(shown["angle at last"].split(" ± ")[0]) == pytest.approx(sum(r["angle"] for r in last) / 2, abs=1e-4)
    for share in ("inside", "surface", "zero"):
        assert float(shown[share].rstrip("%")) == pytest.approx(50 * sum(r[share] for r in last), abs=0.1)
    assert "1 units end between" in source
    for kind in ("angle", "inside", "zero", "dead"):
        assert (tmp_path / f"out/figures/angles-0-{kind}.svg").exists()
    assert not re.search(r'(src|href)="(?!data:|#)', source)
    assert str(tmp_path) not in source


def test_a_collapse_is_a_finding(tmp_path):
    with pytest.warns(CollapseWarning):
        train(tmp_path / "runs/1", 1, offset=-20.0)
    page, findings = build([tmp_path / "runs"], tmp_path / "out")
    assert len(findings) == 1
    assert "collapsed: 1." in findings[0]
    assert cells(page.read_text(), "toy, mpu2")[1][-2] == "zero"


def test_a_curve_with_angles_is_enough(tmp_path):
    rows = train(tmp_path / "runs/1", 1)
    (tmp_path / "runs/1/angles.jsonl").unlink()
    source = build([tmp_path / "runs"], tmp_path / "out")[0].read_text()
    row = cells(source, "toy, mpu2")[1]
    assert row[0] == "angle0"
    assert [float(cell) for cell in row[2:4]] == pytest.approx([rows[0]["angle"], rows[-1]["angle"]], abs=1e-4)
    assert row[4:8] == [""] * 4
    assert not (tmp_path / "out/figures/angles-0-zero.svg").exists()


def test_settings_that_differ_are_kept_apart(tmp_path):
    for i, setting in enumerate(({"rate": 1}, {"rate": 2}, {"rate": 2})):
        train(tmp_path / f"{i}", i, **setting)
    summaries = [
        {**json.loads(path.read_text()), "folder": path.parent} for path in sorted(tmp_path.rglob("summary.json"))
    ]
    assert {label: len(runs) for label, runs in by_setting(summaries).items()} == {"toy, mpu2": 1, "toy, mpu2 (2)": 2}


def test_no_angles_no_section(tmp_path):
    with Run(tmp_path / "runs/1", "toy", "relu", 1, {}) as run:
        run.load()
        run.log({"epoch": 1, "score": 1.0})
        summary = run.finish({"score": 1.0})
    assert section(Results([summary]), tmp_path) is None
    source = build([tmp_path / "runs"], tmp_path / "out")[0].read_text()
    assert 'id="angles"' not in source
    assert 'href="#angles"' not in source
