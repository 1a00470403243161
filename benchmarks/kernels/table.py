# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Prints JMH's JSON as a table: nanoseconds a row, ours beside each peer.

The number is that of the best iteration, since other processes of the machine only ever add to it.

    python -m benchmarks.kernels.table target/kernel-benchmarks.json
"""

import json
import sys
from pathlib import Path
from typing import Any


def table(results: list[dict[str, Any]]) -> str:
    """Return a line for each benchmark and parameter; ratios compare each peer with ours."""
    rows: dict[str, dict[str, float]] = {}
    for result in results:
        _, kernel, way = result["benchmark"].rsplit(".", 2)
        parameters = ", ".join(result.get("params", {}).values())
        case = f"{kernel} ({parameters})" if parameters else kernel
        rows.setdefault(case, {})[way] = min(map(min, result["primaryMetric"]["rawData"]))
    width = max(map(len, rows), default=0)
    return "\n".join(f"{case:<{width}}  {_times(times)}" for case, times in rows.items())


def _times(times: dict[str, float]) -> str:
    ours = times["ours"]
    peers = [
        f"{way} {time:7.1f} ({time / ours:4.1f}x)" for way, time in times.items() if way != "ours"
    ]
    return "   ".join([f"ours {ours:6.1f} ns", *peers])


if __name__ == "__main__":
    print(table(json.loads(Path(sys.argv[1]).read_text())))
