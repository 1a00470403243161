# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""A progress bar in terminals and notebooks while a statement runs; tqdm draws the bar.

An error of the bar never affects the statement. The error is logged, and the bar disappears.
"""

import logging
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from spark_zorder._watch import Step, Watch, watch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# tqdm cuts long lines at the end, which has the counts; the counts need most of 80 columns
TITLE_WIDTH = 32

_log = logging.getLogger(__name__)


@contextmanager
def shown(spark: "SparkSession", title: str, progress: bool | None) -> Iterator[None]:
    """Draw a bar while the block runs.

    Parameters
    ----------
    spark : SparkSession
        Classic, or Spark Connect of Spark 4.
    title : str
        The statement and its target.
    progress : bool, optional
        Whether to draw a bar; by default this depends on the kind of output.
    """
    started = _quietly(lambda: _started(spark, title, progress))
    try:
        yield
    finally:
        if started is not None:
            _quietly(started.stop)


def _started(spark: "SparkSession", title: str, progress: bool | None) -> "Watch | None":
    if not (_suits(spark) if progress is None else progress):
        return None
    tqdm = _tqdm()
    if tqdm is None:
        if progress:
            _warn("no progress bar without tqdm: pip install tqdm")
        return None
    bar = Bar(tqdm, title)
    watching = None
    try:
        watching = watch(spark, bar)
    finally:
        if watching is None:
            bar.close()
    if watching is None and progress:
        _warn("no progress bar: Spark Connect of this version tells nothing of its tasks")
    return watching


def _warn(message: str) -> None:
    # the warning names the line of the user's code that called the package
    frame, level = sys._getframe(1), 2
    while frame.f_back and frame.f_globals["__name__"].startswith(("spark_zorder.", "contextlib")):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, stacklevel=level)


def _suits(spark: "SparkSession") -> bool:
    if _in_notebook():
        return True
    return sys.stderr.isatty() and not _spark_draws_one(spark)


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and "IPKernelApp" in shell.config


def _spark_draws_one(spark: "SparkSession") -> bool:
    # pyspark's shells set the variable for remote sessions, and the setting for all others
    if type(spark).__module__.startswith("pyspark.sql.connect"):
        return os.environ.get("SPARK_CONNECT_PROGRESS_BAR_ENABLED") == "1"
    return spark.conf.get("spark.ui.showConsoleProgress", "false") == "true"


def _tqdm() -> Any:
    try:
        with warnings.catch_warnings():
            # tqdm warns that it draws text in notebooks without ipywidgets; text is good enough
            warnings.simplefilter("ignore")
            from tqdm.auto import tqdm
    except ImportError:
        return None
    return tqdm


def _fitting(title: str) -> str:
    # keep the end of a path, which has the name of the table
    verb, _, target = title.partition(" ")
    kept = TITLE_WIDTH - len(verb) - 2
    return title if len(title) <= TITLE_WIDTH else f"{verb} \u2026{target[-kept:]}"


class Bar:
    """One line of output that shows the current step."""

    def __init__(self, tqdm: Any, title: str) -> None:
        self._title = _fitting(title)
        self._step: Step | None = None
        self._bar = tqdm(desc=self._title, leave=False, dynamic_ncols=True)

    def show(self, step: Step) -> None:
        """Show the progress of a step; a new step starts again at 0."""
        bar, before = self._bar, self._step
        self._step = step
        if before is None or before.identity != step.identity:
            bar.unit = step.unit
            bar.bar_format = None if step.total else "{desc}{elapsed}"
            bar.set_description(self._title + (f": {step.label}" if step.label else ""), False)
            bar.reset(step.total)
        bar.n = step.done
        bar.refresh()

    def close(self) -> None:
        """Remove the line."""
        self._bar.close()


def _quietly(action: "Callable[[], Any]") -> Any:
    try:
        return action()
    except Exception:
        _log.warning("the progress bar failed; the statement is not affected", exc_info=True)
        return None
