# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""build/headers finds source files without the licence header, and writes it."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support import ROOT, run

pytestmark = pytest.mark.classic_only


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    (tmp_path / "build").mkdir()
    shutil.copy(ROOT / "build/headers", tmp_path / "build")
    files = {
        "A.scala": "package a\n",
        "a.py": '"""A module."""\n',
        "build/run": "#!/usr/bin/env bash\necho\n",
        "__init__.py": "",
        "page.md": "# Title\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    subprocess.run(["build/headers", "--write"], cwd=tmp_path, check=True)
    return tmp_path


def test_headers_are_written_once_and_found(checkout: Path) -> None:
    copyright_, licence = (
        "Copyright the spark-zorder developers",
        "SPDX-License-Identifier: Apache-2.0",
    )
    assert (checkout / "A.scala").read_text() == f"// {copyright_}\n// {licence}\n\npackage a\n"
    assert (checkout / "a.py").read_text().startswith(f'# {copyright_}\n# {licence}\n\n"""A')
    # the system reads the first line
    script = (checkout / "build/run").read_text()
    assert script == f"#!/usr/bin/env bash\n# {copyright_}\n# {licence}\n\necho\n"
    assert (checkout / "__init__.py").read_text() == ""
    assert (checkout / "page.md").read_text() == "# Title\n"
    before = (checkout / "A.scala").read_text()
    assert run(["build/headers", "--write"], cwd=checkout).returncode == 0
    assert (checkout / "A.scala").read_text() == before
    assert run(["build/headers"], cwd=checkout).returncode == 0


def test_a_new_file_without_a_header_is_named(checkout: Path) -> None:
    (checkout / "New.java").write_text("class New {}\n")
    done = run(["build/headers"], cwd=checkout)
    assert done.returncode == 1
    assert done.stderr.splitlines() == ["New.java: no licence header; `make headers` writes it"]
