# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""The picture of the states of a folder's files in `docs/safety.md`, as SVG."""

from __future__ import annotations

from docs.generate.row_way import MARKERS, STYLE, Box, arrow, text

NAME = "file_states.svg"
WIDTH, HEIGHT = 1000, 410

GONE = ".gone { fill: #eee; stroke: #888 }"

# for each state: x, y, its name and kind, where the token is, the old files, the new files
STATES = [
    (10, 40, "committed", "box", "_zorder_<run>/_waiting", "visible", "hidden"),
    (
        360,
        40,
        "being published",
        "box",
        "part-zorder-<run>.parquet",
        "visible, then hidden",
        "hidden, then visible",
    ),
    (710, 40, "published", "store", "_zorder_<run>/_finished", "hidden, expire", "visible"),
    (
        10,
        250,
        "in conflict, or abandoned",
        "box",
        "_zorder_<run>_closed/_conflict",
        "get their names back",
        "hidden again, then deleted",
    ),
    (
        360,
        250,
        "old files are back",
        "store",
        "deleted with the directory",
        "visible",
        "deleted",
    ),
    (
        710,
        250,
        "overwritten by another program",
        "gone",
        "nowhere",
        "gone, or hidden for good",
        "gone, or deleted",
    ),
]


def boxes() -> list[Box]:
    """Return a box for each state."""
    return [
        Box(
            x, y, 280, 94, (name, f"token: {token}", f"old files: {old}", f"new files: {new}"), kind
        )
        for x, y, name, kind, token, old, new in STATES
    ]


ARROWS = [
    arrow("step", (290, 87), (358, 87)),
    arrow("step", (640, 87), (708, 87)),
    arrow("step", (150, 134), (150, 248)),
    arrow("step", (420, 134), (230, 248)),
    arrow("step", (290, 297), (358, 297)),
    arrow("step", (560, 134), (760, 248)),
]
TEXTS = [
    text(10, 24, "One folder, from the commit of a run to its end", "title"),
    text(294, 78, "publish", "label"),
    text(646, 78, "publish", "label"),
    text(14, 180, "an input was changed,", "label"),
    text(14, 196, "or ABANDON", "label"),
    text(352, 196, "the same", "label"),
    text(296, 288, "recover", "label"),
    text(690, 180, "the token or the folder", "label"),
    text(690, 196, "is deleted before the end", "label"),
    text(
        10,
        382,
        "Each arrow along the upper row and into the conflict is one rename of the token. "
        "Hidden: in _zorder_<run>/ of the same folder, or in _zorder_<run>_closed/.",
        "label",
    ),
]


def svg() -> str:
    """Return the picture."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'width="{WIDTH}" height="{HEIGHT}">',
        f"<style>\n{STYLE}\n{GONE}\n</style>",
        MARKERS,
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        *(box.svg() for box in boxes()),
        *ARROWS,
        *TEXTS,
        "</svg>",
    ]
    return "\n".join(parts) + "\n"
