# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Messages about the current step of the demonstration."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

SECONDS = 15.0


@contextmanager
def step(what: str, every: float = SECONDS) -> Iterator[None]:
    """Print what happens in the block, and again while it lasts, to the error output.

    The output itself then holds the tables alone. The lines look like those of ``build/tell``.
    """
    done = threading.Event()
    start = time.monotonic()

    def remind() -> None:
        while not done.wait(every):
            _say(f"... {what}: {time.monotonic() - start:.0f} seconds so far")

    _say(f"==> {what}")
    reminder = threading.Thread(target=remind, daemon=True)
    reminder.start()
    try:
        yield
    finally:
        done.set()
        reminder.join()


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
