# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Print the processor seconds of a process by the kind of its threads, each 20 seconds.

On Linux, beside a benchmark: the threads of the JVM's compilers and of its collector have names.
"""

from __future__ import annotations

import argparse
import os
import re
import time
from collections import defaultdict
from pathlib import Path

PERIOD = 20


def main() -> None:
    """Watch one process."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed.threads", description=__doc__)
    parser.add_argument("process", type=int, help="id of the JVM")
    tasks = Path(f"/proc/{parser.parse_args().process}/task")
    last: dict[str, float] = {}
    total: defaultdict[str, float] = defaultdict(float)
    begun, printed = time.monotonic(), 0.0
    while tasks.exists():
        # a thread that ends between two looks takes less than a second with it
        for thread in tasks.iterdir():
            try:
                name, seconds = measured((thread / "stat").read_text())
            except FileNotFoundError:
                continue
            total[name] += seconds - last.get(thread.name, 0.0)
            last[thread.name] = seconds
        if time.monotonic() - begun - printed >= PERIOD:
            printed = time.monotonic() - begun
            most = sorted(total.items(), key=lambda kind: -kind[1])[:8]
            kinds = ", ".join(f"{name} {seconds:.1f}" for name, seconds in most)
            print(f"{printed:.0f} s: {sum(total.values()):.1f}; {kinds}", flush=True)
        time.sleep(1)


def measured(stat: str) -> tuple[str, float]:
    """Return the kind of a thread and its processor seconds, from its line in ``/proc``."""
    name, rest = stat[stat.index("(") + 1 : stat.rindex(")")], stat[stat.rindex(")") + 2 :].split()
    # user and system time; numbers at the end of a name tell threads of one kind apart
    ticks = int(rest[11]) + int(rest[12])
    return re.sub(r"[\s#-]*\d+$", "", name), ticks / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
