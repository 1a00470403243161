# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""The progress bar without Spark: what a bar shows, and when there is a bar."""

import re
import sys
from collections.abc import Callable
from contextlib import redirect_stderr
from threading import Thread
from types import SimpleNamespace
from typing import Any, cast

import pytest
from pyspark import SparkStageInfo
from pyspark.sql import SparkSession

from spark_zorder import _progress, _watch
from spark_zorder._progress import Bar, shown
from spark_zorder._watch import Step, step_of
from tests.support.output import Output

tqdm: Any = pytest.importorskip("tqdm").tqdm


@pytest.fixture
def output() -> Output:
    return Output()


def stage(phase: str, done: int, tasks: int) -> SparkStageInfo:
    return SparkStageInfo(1, 0, f"OPTIMIZE `a: b`: {phase}", tasks, 1, done, 0)


@pytest.mark.parametrize(
    ("stages", "step"),
    [
        ([], Step("list, footers")),
        ([stage("sample", 1, 4)], Step("sample", 1, 4)),
        ([stage("sample", 4, 4)], Step("cuts")),
        ([stage("write", 3, 9), stage("write", 0, 5)], Step("write", 3, 9)),
        ([stage("write", 9, 9), stage("write", 2, 5)], Step("write", 2, 5, "file")),
        ([stage("write", 9, 9), stage("write", 5, 5)], Step("verify, commit, publish")),
        ([stage("footers", 7, 7)], Step("footers")),
    ],
)
def test_the_step_is_that_of_the_first_stage_with_work_left(
    stages: list[SparkStageInfo], step: Step
) -> None:
    assert step_of(stages) == step


def test_the_step_names_the_batch_of_two_passes() -> None:
    name = "OPTIMIZE t, pass 1 of 2, batch 3 of 40: write"
    assert step_of([SparkStageInfo(1, 0, name, 5, 1, 2, 0)]) == Step(
        "pass 1 of 2, batch 3 of 40: write", 2, 5, "file"
    )
    assert step_of([SparkStageInfo(1, 0, name, 5, 0, 5, 0)]) == Step(
        "pass 1 of 2, batch 3 of 40: verify, commit, publish"
    )


def test_a_bar_shows_one_step_after_the_other(output: Output) -> None:
    steps = [Step("sample", 1, 4), Step("write", 2, 5, "file"), Step("verify, commit, publish")]
    with redirect_stderr(output):
        bar = Bar(tqdm, "OPTIMIZE t")
        for step in steps:
            bar.show(step)
        bar.close()
    drawn = "\n".join(output.lines)
    assert re.search(r"OPTIMIZE t: sample: +25%.* 1/4 ", drawn)
    assert re.search(r"OPTIMIZE t: write: +40%.* 2/5 .*file", drawn)
    assert re.search(r"OPTIMIZE t: verify, commit, publish: \d\d:\d\d", drawn)


def test_a_long_title_leaves_room_for_the_counts(
    output: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    # tqdm takes the width from these variables if there is no terminal
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", "24")
    with redirect_stderr(output):
        bar = Bar(tqdm, f"OPTIMIZE parquet.`/{'folder/' * 20}points`")
        bar.show(Step("write", 1234, 5678, "file"))
        bar.close()
    drawn = output.lines[-1]
    assert re.search(r"OPTIMIZE \u2026.*/points`: write: +22%.* 1234/5678 \[00:00<00:00, ", drawn)
    assert len(drawn) <= 80


class Session:
    """A fake classic session with the one setting that decides about a bar."""

    def __init__(self, console: str = "false") -> None:
        self.conf = {"spark.ui.showConsoleProgress": console}


@pytest.fixture
def bars(monkeypatch: pytest.MonkeyPatch) -> list[Bar]:
    made: list[Bar] = []

    def watch(_: Any, bar: Bar) -> Any:
        made.append(bar)
        return SimpleNamespace(stop=bar.close)

    monkeypatch.setattr(_progress, "watch", watch)
    monkeypatch.setitem(sys.modules, "IPython", cast(Any, None))
    return made


def draw(output: Output, progress: bool | None, session: Any = None) -> None:
    spark = cast(SparkSession, session or Session())
    with redirect_stderr(output), shown(spark, "OPTIMIZE t", progress):
        pass


@pytest.mark.parametrize(
    "case",  # stderr is a terminal; Spark draws its own; what was asked for; there is a bar
    [
        (True, "false", None, True),
        (True, "true", None, False),
        (False, "false", None, False),
        (True, "false", False, False),
        (False, "true", True, True),
    ],
)
def test_there_is_a_bar_at_terminals_where_spark_draws_none(
    output: Output, bars: list[Bar], case: tuple[bool, str, bool | None, bool]
) -> None:
    output.terminal, console, progress, is_shown = case
    draw(output, progress, Session(console))
    assert len(bars) == is_shown


def test_there_is_a_bar_in_notebooks(
    output: Output, bars: list[Bar], monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel: dict[str, Any] = {"IPKernelApp": {}}
    for config, is_shown in ((kernel, True), ({}, False)):
        bars.clear()
        shell = SimpleNamespace(config=config)
        ipython = SimpleNamespace(get_ipython=lambda shell=shell: shell)
        monkeypatch.setitem(sys.modules, "IPython", cast(Any, ipython))
        draw(output, None)
        assert len(bars) == is_shown


def test_without_tqdm_there_is_no_bar(
    output: Output, bars: list[Bar], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tqdm.auto", cast(Any, None))
    output.terminal = True
    draw(output, None)
    with pytest.warns(UserWarning, match="pip install tqdm"):
        draw(output, True)
    assert bars == []


def test_a_statement_of_another_thread_is_not_shown() -> None:
    handlers: list[Callable[..., None]] = []
    remote = type("SparkSession", (), {"__module__": "pyspark.sql.connect.session"})()
    remote.registerProgressHandler = handlers.append
    remote.removeProgressHandler = handlers.remove
    steps: list[Step] = []
    line = SimpleNamespace(show=steps.append, close=lambda: steps.append(Step("closed")))
    watch = _watch.watch(remote, cast(Any, line))
    assert watch is not None
    stages = [SimpleNamespace(num_completed_tasks=n, num_tasks=5) for n in (5, 2)]
    other = Thread(target=lambda: handlers[0](stages=stages, done=False))
    other.start()
    other.join()
    assert steps == []
    handlers[0](stages=stages, inflight_tasks=1, operation_id="x", done=False)
    handlers[0](stages=None, inflight_tasks=0, operation_id="x", done=True)
    watch.stop()
    assert steps == [Step("", 7, 10), Step(), Step("closed")]
    assert handlers == []


def test_there_is_none_where_connect_tells_nothing(
    output: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = type("SparkSession", (), {"__module__": "pyspark.sql.connect.session"})()
    bars: list[Any] = []

    def drawn(**settings: Any) -> Any:
        bars.append(tqdm(**settings))
        return bars[-1]

    monkeypatch.setattr(_progress, "_tqdm", lambda: drawn)
    with pytest.warns(UserWarning, match="tells nothing"):
        draw(output, True, old)
    assert [bar.disable for bar in bars] == [True]  # closed
