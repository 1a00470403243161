# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Figures as small PNG files, because the repository contains them."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot
from matplotlib.figure import Figure
from PIL import Image

COLOURS = 128


def save(figure: Figure, target: Path) -> None:
    """Write a PNG with few colours, and close the figure."""
    target.parent.mkdir(parents=True, exist_ok=True)
    figure.tight_layout()
    figure.savefig(target, dpi=110)
    pyplot.close(figure)
    with Image.open(target) as image:
        small = image.convert("RGB").quantize(COLOURS)
    small.save(target, optimize=True)
