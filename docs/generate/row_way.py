# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""The picture of a row's way in `docs/architecture.md`, as SVG: boxes, arrows and their labels."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

NAME = "row_way.svg"
WIDTH, HEIGHT = 1000, 430

STYLE = """\
text { font: 12px sans-serif; fill: #222 }
.title { font-weight: bold; font-size: 13px }
.package { font: bold 12px monospace; fill: #1a4d7a }
.code { font-family: monospace }
.label { font-size: 11px; fill: #555 }
.box { fill: #eef4fa; stroke: #1a4d7a }
.store { fill: #fdf3dd; stroke: #a66f00 }
.rows { stroke: #a66f00; stroke-width: 4; fill: none; marker-end: url(#rows) }
.step { stroke: #1a4d7a; stroke-width: 1.5; fill: none; marker-end: url(#step) }"""

MARKERS = """\
<defs>
<marker id="rows" markerWidth="4" markerHeight="4" refX="3" refY="2" orient="auto">\
<path d="M0,0 L4,2 L0,4 z" fill="#a66f00"/></marker>
<marker id="step" markerWidth="8" markerHeight="8" refX="7" refY="4" orient="auto">\
<path d="M0,0 L8,4 L0,8 z" fill="#1a4d7a"/></marker>
</defs>"""


@dataclass(frozen=True)
class Box:
    """A rectangle; its first line names packages or a place on disk."""

    x: int
    y: int
    width: int
    height: int
    lines: tuple[str, ...]
    kind: str = "box"

    def svg(self) -> str:
        """Return the rectangle and its lines."""
        shape = (
            f'<rect class="{self.kind}" x="{self.x}" y="{self.y}" '
            f'width="{self.width}" height="{self.height}" rx="6"/>'
        )
        head = "package" if self.kind == "box" else "title"
        texts = [
            text(self.x + 10, self.y + 20 + 17 * i, line, head if i == 0 else "")
            for i, line in enumerate(self.lines)
        ]
        return "\n".join([shape, *texts])


def text(x: int, y: int, words: str, kind: str = "") -> str:
    """Return one line of text."""
    named = f' class="{kind}"' if kind else ""
    return f'<text{named} x="{x}" y="{y}">{escape(words)}</text>'


def arrow(kind: str, *points: tuple[int, int]) -> str:
    """Return an arrow along the points: thick for `rows` that move, thin for a `step`."""
    return f'<path class="{kind}" d="M{" L".join(f"{x},{y}" for x, y in points)}"/>'


# the six steps of OPTIMIZE, from left to right
STEPS = [
    ("sql", "parse the statement,", "find the table"),
    ("table, table.stats", "check, list the files,", "read their footers"),
    ("cluster", "sample the columns,", "cut them into cells"),
    ("cluster", "deal rows to files,", "sort inside each file"),
    ("write", "one file for each task,", "verify by footers"),
    ("log.publish", "commit one record,", "publish by renames"),
]
QUERY = [
    ("skipping.scan", "the scan of the table asks:", "which files?"),
    ("log", "which files do the committed", "records say are there?"),
    ("index, skipping.predicate", "in which files may a row", "match, by min and max?"),
    ("Spark", "reads the files that are left,", "and skips row groups, pages"),
]

BOXES = [
    *(Box(10 + 166 * i, 46, 150, 72, lines) for i, lines in enumerate(STEPS)),
    Box(176, 186, 482, 46, ("old files", "hidden in their folder, for UNDO LAYOUT"), "store"),
    Box(674, 186, 150, 46, ("hidden files", "in the folder of the old"), "store"),
    Box(850, 186, 140, 46, ("new files", "the same rows"), "store"),
    *(Box(10 + 249 * i, 314, 225, 72, lines) for i, lines in enumerate(QUERY)),
]
ARROWS = [
    *(arrow("step", (160 + 166 * i, 82), (175 + 166 * i, 82)) for i in (0, 1, 2, 4)),
    arrow("rows", (658, 82), (672, 82)),
    arrow("step", (251, 186), (251, 120)),
    arrow("step", (417, 186), (417, 120)),
    arrow("rows", (583, 186), (583, 122)),
    arrow("rows", (749, 118), (749, 184)),
    arrow("rows", (824, 209), (848, 209)),
    arrow("step", (915, 118), (915, 185)),
    arrow("step", (749, 232), (640, 312)),
    arrow("rows", (915, 232), (915, 311)),
    *(arrow("step", (235 + 249 * i, 350), (258 + 249 * i, 350)) for i in range(3)),
]
TEXTS = [
    text(10, 28, "OPTIMIZE sales ZORDER BY (customer_id, sold_at)", "title code"),
    text(10, 300, "SELECT ... FROM sales WHERE customer_id = 4711", "title code"),
    text(258, 158, "footers", "label"),
    text(424, 158, "sampled keys", "label"),
    text(592, 158, "every row", "label"),
    text(646, 40, "shuffle", "label"),
    text(758, 158, "every row", "label"),
    text(922, 158, "renames", "label"),
    text(704, 276, "min and max", "label"),
    text(
        10,
        414,
        "Thick arrows: rows.  Thin arrows: the order of steps, and what is known of files.",
        "label",
    ),
]


def svg() -> str:
    """Return the picture."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'width="{WIDTH}" height="{HEIGHT}">',
        f"<style>\n{STYLE}\n</style>",
        MARKERS,
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        *(box.svg() for box in BOXES),
        *ARROWS,
        *TEXTS,
        "</svg>",
    ]
    return "\n".join(parts) + "\n"
