# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Folders of data that are generated once, and hard links to their files."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path


def make_once(folder: Path, fill: Callable[[Path], object]) -> Path:
    """Return the folder; if it is missing, call ``fill`` to write its content.

    It gets its name when it is complete, so an interrupted run leaves nothing that looks done.
    """
    if not folder.exists():
        unfinished = folder.with_name(f"{folder.name}-unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        folder.parent.mkdir(parents=True, exist_ok=True)
        fill(unfinished)
        unfinished.rename(folder)
    return folder


def link(source: Path, to: Path) -> Path:
    """Create a new folder with hard links to the Parquet files of a folder and of its subfolders.

    That is a fresh copy to all who rename and delete files, but write none of them anew.
    """
    to.mkdir(parents=True)
    for file in source.rglob("*.parquet"):
        linked = to / file.relative_to(source)
        linked.parent.mkdir(parents=True, exist_ok=True)
        os.link(file, linked)
    return to
