"""The notebooks run from top to bottom, and are kept without outputs."""

from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")

pytestmark = pytest.mark.slow
NOTEBOOKS = sorted((Path(__file__).parent.parent / "docs/notebooks").glob("*.ipynb"))


def test_there_are_four():
    assert len(NOTEBOOKS) == 4


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_runs(path, tmp_path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in notebook.cells)
    nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    streams = [out for cell in notebook.cells for out in cell.get("outputs", []) if out.output_type == "stream"]
    assert not [out.text for out in streams if out.name == "stderr"]
