# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Markdown tables whose columns are also aligned as plain text."""

from __future__ import annotations

from collections.abc import Sequence


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table; each column is as wide as its widest cell."""
    widths = [max(len(line[i]) for line in [head, *rows]) for i in range(len(head))]
    rule = ["-" * width for width in widths]
    return "\n".join(
        "| " + " | ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)) + " |"
        for line in [head, rule, *rows]
    )
