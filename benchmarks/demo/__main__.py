# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""``python -m benchmarks.demo``: the demonstration, from generated data to tables and pictures."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.demo import claims, data, layouts, measure, picture, report, session, tiny
from benchmarks.demo.boxes import boxes
from benchmarks.demo.progress import step
from benchmarks.demo.queries import COLUMNS, ONE_CUSTOMER, ONE_DEMOGRAPHICS
from benchmarks.shared import png
from spark_zorder import ZOrderTable


def main() -> None:
    """Run all parts; a claim that does not hold ends the program with an error."""
    options = _options()
    folder = options.data
    # in a pipe too, each part is seen when it is done
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    print("store_sales of TPC-DS at scale factor 1: generated once, then kept in", folder)
    with step("making the data"):
        source = data.store_sales(folder)
    with step("starting Spark"):
        spark = session.start()

    print("\n## Three layouts of the same rows\n")
    made = layouts.make_all(spark, source, folder)
    print(report.layouts(made))
    unordered, lexical, optimized = made
    for other in (lexical, optimized):
        with step(f"comparing the rows of {other.name} with those of {unordered.name}"):
            same = claims.rows_are_the_same(unordered, other)
        print(f"\n{same}")

    print("\n## What a query must read (min/max), and what it took\n")
    with step("making the skipping index of each layout"):
        layouts.index_all(spark, made)
    measured = measure.measure(spark, made, options.rounds)
    print(report.queries(measured))
    print(f"\n{report.pages_ruled_out(measured, optimized)}")
    with step("counting the files of many point queries"):
        counted = claims.point_queries_touch_few_files(optimized)
    for line in counted:
        print(line)

    print("\n## What Spark opens, without the skipping index and with it\n")
    print(report.planned(measured))

    image = options.images / "store_sales_before_after.png"
    panels = (
        picture.Panel("before", boxes(unordered.path, COLUMNS), "all files,\none upon another"),
        picture.Panel("a lexical sort", boxes(lexical.path, COLUMNS)),
        picture.Panel("after OPTIMIZE ... ZORDER BY", boxes(optimized.path, COLUMNS)),
    )
    with step("drawing the layouts"):
        picture.plane(image, panels, (ONE_CUSTOMER, ONE_DEMOGRAPHICS))
    print(f"\npicture: {image}")

    print("\n## What SHOW LAYOUT says of it\n")
    with step("reading the footers of two layouts"):
        before, after = (
            ZOrderTable.forPath(spark, str(table.path.absolute())).layout(*COLUMNS)
            for table in (unordered, optimized)
        )
    print(f"{after}\n\nbefore:\n{before}")
    image = options.images / "store_sales_layout_report.png"
    png.save(after.plot(before), image)
    print(f"\npicture: {image}")

    print("\n## A hundred rows [x, 99 - x, (x + 50) mod 100] in four files\n")
    image = options.images / "hundred_rows_before_after.png"
    with step("laying out a hundred rows"):
        text = tiny.make(spark, folder, image).text()
    print(text)
    print(f"\npicture: {image}")
    spark.stop()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.demo", description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("demo-data"), help="kept and reused")
    parser.add_argument("--images", type=Path, default=Path("docs/images"), help="for pictures")
    parser.add_argument("--rounds", type=int, default=3, help="of each query; seconds are medians")
    return parser.parse_args()


if __name__ == "__main__":
    main()
