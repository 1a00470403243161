# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Every cell of the notebook for newcomers runs, in a new kernel."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support import ROOT

NOTEBOOK = ROOT / "examples/first_steps.ipynb"

nbformat: Any = pytest.importorskip("nbformat")
nbclient: Any = pytest.importorskip("nbclient")

pytestmark = [pytest.mark.classic_only, pytest.mark.slow]


@pytest.fixture(scope="module")
def cells() -> list[Any]:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    client = nbclient.NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(ROOT)}}
    )
    client.execute()
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def outputs(cells: list[Any], code: str) -> list[Any]:
    (cell,) = [cell for cell in cells if code in cell.source]
    return list(cell.outputs)


def text(cells: list[Any], code: str) -> str:
    return "".join(o.text for o in outputs(cells, code) if o.output_type == "stream")


def test_reports_and_pictures_are_shown(cells: list[Any]) -> None:
    for code in ("before = table.layout(", "after = table.layout()"):
        (report,) = [o for o in outputs(cells, code) if "data" in o]
        assert "<table>" in report.data["text/html"]
    (picture,) = [o for o in outputs(cells, "after.plot(before)") if "data" in o]
    assert "image/png" in picture.data


def test_it_shows_what_it_says(cells: list[Any]) -> None:
    skipped = re.findall(r"\|\s*(\d+)\s*\|\s*(\d+)\s*\|", text(cells, "explain_skipping(near)"))
    assert skipped
    assert all(int(kept) < int(files) / 2 for files, kept in skipped)
    assert "0 files written" in text(cells, "again.metrics")
    assert "undo" in text(cells, "table.undo()")


def test_it_is_kept_without_outputs() -> None:
    kept = json.loads(Path(NOTEBOOK).read_text())
    for cell in kept["cells"]:
        assert not cell.get("outputs"), "clear the outputs before it is committed"
        assert cell.get("execution_count") is None
