# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""The progress of a statement, from what Spark reports about its jobs.

On a classic session, a thread polls the status tracker. The jobs of the statement have a job group,
and the names of their stages contain the statement and its phase. A Connect server sends messages
while a statement runs. They count tasks and name no stages.
"""

import logging
import re
import threading
import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from pyspark import SparkContext, SparkStageInfo, StatusTracker
    from pyspark.sql import SparkSession

EVERY_SECONDS = 0.5

_log = logging.getLogger(__name__)

# In the name of a stage: the pass and the batch, which stand before the phase.
_BATCH = re.compile(r", (pass [12] of 2, batch \d+ of \d+)$")

# The key is the last phase that had a job. The value names the phases after it, which run on the
# driver without jobs.
_THEN = {
    "": "list, footers",
    "sample": "cuts",
    "write": "verify, commit, publish",
    "verify": "commit, publish",
}

_GROUP = "spark.jobGroup.id"


@dataclass(frozen=True)
class Step:
    """What a statement is doing; `total` is 0 if there is nothing to count."""

    label: str = ""
    done: int = 0
    total: int = 0
    unit: str = "task"

    @property
    def identity(self) -> tuple[str, int, str]:
        """What tells this step from the next one: all fields but `done`."""
        return (self.label, self.total, self.unit)


class Line(Protocol):
    """The output that shows steps."""

    def show(self, step: Step) -> None:
        """Show the progress of a step."""

    def close(self) -> None:
        """Remove the output."""


class Watch(ABC):
    """Shows the steps of a statement. The watch begins when it is created, and ends with `stop`."""

    @abstractmethod
    def stop(self) -> None:
        """End the watch; must be called by the thread that created it."""


def watch(spark: "SparkSession", line: Line) -> Watch | None:
    """Show the next statement of the calling thread on `line`.

    Returns None if this Spark reports no progress.
    """
    if not type(spark).__module__.startswith("pyspark.sql.connect"):
        return _StatusWatch(spark.sparkContext, line)
    # Spark Connect 3.5 reports no progress
    return _MessageWatch(spark, line) if hasattr(spark, "registerProgressHandler") else None


class _StatusWatch(Watch):
    def __init__(self, context: "SparkContext", line: Line) -> None:
        self._context, self._line = context, line
        self._tracker = context.statusTracker()
        # a job group of the user stays, because the user may cancel the run by this group
        group = context.getLocalProperty(_GROUP)
        self._own = None if group else f"zorder-{uuid.uuid4()}"
        self._group = group or self._own
        self._before = set(self._tracker.getJobIdsForGroup(self._group))
        self._over = threading.Event()
        if self._own:
            context.setLocalProperty(_GROUP, self._own)
        self._thread = threading.Thread(target=self._ask, name="zorder-progress", daemon=True)
        self._thread.start()

    def _ask(self) -> None:
        try:
            while not self._over.wait(EVERY_SECONDS):
                self._line.show(self._now())
        except Exception:
            _log.warning("the progress bar failed; the statement is not affected", exc_info=True)

    def _now(self) -> Step:
        jobs = set(self._tracker.getJobIdsForGroup(self._group)) - self._before
        return step_of(_stages(self._tracker, max(jobs)) if jobs else [])

    def stop(self) -> None:
        self._over.set()
        try:
            if self._own:
                # None removes the property
                self._context.setLocalProperty(_GROUP, None)  # type: ignore[arg-type]
        finally:
            self._thread.join()
            self._line.close()


def _stages(tracker: "StatusTracker", job: int) -> "list[SparkStageInfo]":
    info = tracker.getJobInfo(job)
    # a stage has a greater id than the stages that it depends on
    ids = sorted(info.stageIds) if info is not None else []
    return [stage for stage in map(tracker.getStageInfo, ids) if stage is not None]


def step_of(stages: "Sequence[SparkStageInfo]") -> Step:
    """Return the current step. `stages` are the stages of the newest job, in their order."""
    # "OPTIMIZE `sales`: write"
    head, _, phase = stages[-1].name.rpartition(": ") if stages else ("", "", "")
    # "OPTIMIZE `sales`, pass 1 of 2, batch 3 of 40: write"
    batch = _BATCH.search(head)
    shown = f"{batch.group(1)}: {phase}" if batch else phase
    for stage in stages:
        if stage.numCompletedTasks < stage.numTasks:
            # each task of the last stage writes one file
            writes = phase == "write" and stage is stages[-1]
            unit = "file" if writes else "task"
            return Step(shown, stage.numCompletedTasks, stage.numTasks, unit)
    then = _THEN.get(phase, phase)
    return Step(f"{batch.group(1)}: {then}" if batch else then)


class _MessageWatch(Watch):
    def __init__(self, spark: "SparkSession", line: Line) -> None:
        self._spark, self._line = spark, line
        self._thread = threading.get_ident()
        self._failed = False
        spark.registerProgressHandler(self._told)

    def _told(self, stages: Iterable[Any] | None = None, **_: Any) -> None:
        # Spark calls this for every statement of the session, in the thread that runs it
        if self._failed or threading.get_ident() != self._thread:
            return
        try:
            known = list(stages or ())
            done = sum(stage.num_completed_tasks for stage in known)
            self._line.show(Step("", done, sum(stage.num_tasks for stage in known)))
        except Exception:
            self._failed = True
            _log.warning("the progress bar failed; the statement is not affected", exc_info=True)

    def stop(self) -> None:
        try:
            self._spark.removeProgressHandler(self._told)
        finally:
            self._line.close()
