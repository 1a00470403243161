# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""``python -m docs.generate``: writes the pages and pictures that are made from code."""

from __future__ import annotations

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.demo import session
from docs.generate import configuration, file_states, functions, pictures, row_way

DOCS = Path(__file__).parent.parent
PAGES = {"functions.md": functions.page, "configuration.md": configuration.page}


def main() -> None:
    """Write every page and drawing, and the pictures of tables unless ``--no-pictures`` is given."""
    parser = argparse.ArgumentParser(prog="python -m docs.generate", description=__doc__)
    parser.add_argument("--no-pictures", action="store_true", help="no pictures of tables")
    options = parser.parse_args()
    spark = session.start()
    for name, page in PAGES.items():
        (DOCS / name).write_text(page(spark))
        print(f"page: {DOCS / name}")
    for drawing in (row_way, file_states):
        picture = DOCS / "images" / drawing.NAME
        picture.write_text(drawing.svg())
        print(f"picture: {picture}")
    if not options.no_pictures:
        with TemporaryDirectory() as folder:
            for picture in pictures.draw(spark, Path(folder), DOCS / "images"):
                print(f"picture: {picture}")
    spark.stop()


if __name__ == "__main__":
    main()
