# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""``python -m benchmarks.tpc.auto``: the picture of a run of ``make bench-auto``."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.tpc import picture, results


def main() -> None:
    """Draw the picture."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tpc.auto", description=__doc__)
    parser.add_argument("results", type=Path, nargs="+", help="JSON files of AutoBenchmark")
    parser.add_argument("--picture", type=Path, required=True, help="PNG file")
    options = parser.parse_args()
    print(f"picture: {picture.draw(results.load(options.results), options.picture)}")


if __name__ == "__main__":
    main()
