# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""``python -m benchmarks.tpc``: the report and the picture of a run of ``make bench-tpcds``."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.tpc import picture, report, results


def main() -> None:
    """Print the report, and draw the picture."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tpc", description=__doc__)
    help_of_results = "JSON files of TpcBenchmark: contenders and queries of all are put together"
    parser.add_argument("results", type=Path, nargs="+", help=help_of_results)
    parser.add_argument("--picture", type=Path, help="PNG file; default: beside the first file")
    parser.add_argument("--every-query", action="store_true", help="not only the best and worst")
    options = parser.parse_args()
    found = results.load(options.results)
    print(report.text(found, options.every_query))
    target = options.picture or options.results[0].with_suffix(".png")
    print(f"\npicture: {picture.draw(found, target)}")


if __name__ == "__main__":
    main()
