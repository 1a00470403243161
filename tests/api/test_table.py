# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""The SQL text of ZOrderTable's methods; a fake session records the text."""

from collections.abc import Callable
from typing import Any, cast

import pytest
from pyspark.sql import SparkSession

from spark_zorder import OptimizeBuilder, ZOrderTable


class Rows:
    """A fake data frame with the methods that ZOrderTable calls."""

    def __init__(self) -> None:
        self.limited_to: int | None = None

    def limit(self, count: int) -> "Rows":
        self.limited_to = count
        return self


class Recorder:
    """A fake session that records the statements."""

    def __init__(self) -> None:
        self.statements: list[str] = []
        self.tables: list[str] = []
        self.conf: dict[str, str] = {}

    def sql(self, statement: str) -> Rows:
        self.statements.append(statement)
        return Rows()

    def table(self, name: str) -> None:
        self.tables.append(name)


@pytest.fixture
def session() -> Recorder:
    return Recorder()


@pytest.fixture
def table(session: Recorder) -> ZOrderTable:
    return ZOrderTable.forName(cast(SparkSession, session), "shop.sales")


@pytest.mark.parametrize(
    ("call", "statement"),
    [
        (lambda t: t.detail(), "SHOW LAYOUT `shop`.`sales`"),
        (lambda t: t.layout(), "SHOW LAYOUT `shop`.`sales`"),
        (lambda t: t.layout("a", "b.c"), "SHOW LAYOUT `shop`.`sales` FOR (`a`, `b`.`c`)"),
        (lambda t: t.history(), "SHOW LAYOUT HISTORY `shop`.`sales`"),
        (lambda t: t.history(3), "SHOW LAYOUT HISTORY `shop`.`sales`"),
        (lambda t: t.vacuum(), "VACUUM LAYOUT `shop`.`sales`"),
        (lambda t: t.vacuum(0), "VACUUM LAYOUT `shop`.`sales` RETAIN 0 HOURS"),
        (lambda t: t.vacuum(dryRun=True), "VACUUM LAYOUT `shop`.`sales` DRY RUN"),
        (
            lambda t: t.vacuum(168, dryRun=True),
            "VACUUM LAYOUT `shop`.`sales` RETAIN 168 HOURS DRY RUN",
        ),
        (lambda t: t.undo(), "UNDO LAYOUT `shop`.`sales`"),
        (lambda t: t.recover(), "RECOVER LAYOUT `shop`.`sales`"),
        (lambda t: t.recover(abandon=True), "RECOVER LAYOUT `shop`.`sales` ABANDON"),
        (
            lambda t: t.sortBy("a", "n.b"),
            "ALTER TABLE `shop`.`sales` SORT BY ZORDER (`a`, `n`.`b`)",
        ),
        (
            lambda t: t.sortBy("a", order="lexical"),
            "ALTER TABLE `shop`.`sales` SORT BY LEXICAL (`a`)",
        ),
        (lambda t: t.sortBy(), "ALTER TABLE `shop`.`sales` SORT BY ()"),
        (lambda t: t.workload(), "SHOW WORKLOAD `shop`.`sales`"),
        (
            lambda t: t.optimize().full().executeZOrderByAuto(),
            "OPTIMIZE TABLE `shop`.`sales` FULL ZORDER BY AUTO",
        ),
        (lambda t: t.createIndex(), "CREATE ZORDER INDEX ON `shop`.`sales`"),
        (lambda t: t.createIndex("a"), "CREATE ZORDER INDEX ON `shop`.`sales` (`a`)"),
        (
            lambda t: t.createIndex("a", options={"int96": "read"}),
            "CREATE ZORDER INDEX ON `shop`.`sales` (`a`) OPTIONS ('int96' 'read')",
        ),
        (
            lambda t: t.createIndex(values=["u", "e m"]),
            "CREATE ZORDER INDEX ON `shop`.`sales` OPTIONS ('values' '`u`, `e m`')",
        ),
        (lambda t: t.optimize().executeCompaction(), "OPTIMIZE TABLE `shop`.`sales`"),
        (
            lambda t: t.optimize().where("p = 1 -- one").dryRun().executeCompaction(),
            "OPTIMIZE TABLE `shop`.`sales` WHERE p = 1 -- one\n DRY RUN",
        ),
        (
            lambda t: t.optimize().where("a -- b").where("c -- d").executeCompaction(),
            "OPTIMIZE TABLE `shop`.`sales` WHERE (a -- b\n) AND (c -- d\n)",
        ),
        (
            lambda t: t.optimize().option("a", 1).option("A", 2).executeCompaction(),
            "OPTIMIZE TABLE `shop`.`sales` OPTIONS ('A' '2')",
        ),
        (
            lambda t: t.optimize().executeZOrderBy("a", "`b.c`"),
            "OPTIMIZE TABLE `shop`.`sales` ZORDER BY (`a`, `b.c`)",
        ),
        (
            lambda t: t.optimize().executeZOrderBy(["a", "b"]),
            "OPTIMIZE TABLE `shop`.`sales` ZORDER BY (`a`, `b`)",
        ),
        (
            lambda t: (
                t.optimize()
                .dryRun()
                .option("verify", "full")
                .option("allowTypeChange", True)
                .option("sampleRows", 1000)
                .into("/it's here")
                .full()
                .where("day = '1'")
                .executeZOrderBy("a")
            ),
            "OPTIMIZE TABLE `shop`.`sales` FULL WHERE day = '1' ZORDER BY (`a`) "
            r"INTO '/it\'s here' "
            "OPTIONS ('verify' 'full', 'allowTypeChange' 'true', 'sampleRows' '1000') DRY RUN",
        ),
        (
            lambda t: t.optimize().where("p = 1 OR p = 2").where("q = 3").executeCompaction(),
            "OPTIMIZE TABLE `shop`.`sales` WHERE (p = 1 OR p = 2) AND (q = 3)",
        ),
    ],
)
def test_a_method_is_one_statement(
    session: Recorder, table: ZOrderTable, call: Callable[[ZOrderTable], Any], statement: str
) -> None:
    call(table)
    assert session.statements == [statement]


def test_history_is_limited(table: ZOrderTable) -> None:
    assert cast(Any, table.history(3)).limited_to == 3
    assert cast(Any, table.history()).limited_to is None


def test_a_path_is_a_target_of_its_own(session: Recorder) -> None:
    ZOrderTable.forPath(cast(SparkSession, session), "/a b/`c`").undo()
    assert session.statements == ["UNDO LAYOUT parquet.`/a b/``c```"]


def test_to_df_reads_the_target(session: Recorder, table: ZOrderTable) -> None:
    table.toDF()
    ZOrderTable.forPath(cast(SparkSession, session), "/a").toDF()
    assert session.tables == ["`shop`.`sales`", "parquet.`/a`"]


def test_a_builder_can_be_built_upon_twice(table: ZOrderTable) -> None:
    base = table.optimize().option("verify", "full")
    assert repr(base.where("p = 1").option("retention", "1h").full()) != repr(base)
    assert repr(base) == "OPTIMIZE TABLE `shop`.`sales` OPTIONS ('verify' 'full')"


def test_a_table_prints_its_target(table: ZOrderTable) -> None:
    assert repr(table) == "ZOrderTable(`shop`.`sales`)"


NOT_A_STR = cast(Any, 7)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda t: t.optimize().where(NOT_A_STR), "predicate must be a str, but is int"),
        (lambda t: t.optimize().into(NOT_A_STR), "directory must be a str, but is int"),
        (lambda t: t.optimize().option(NOT_A_STR, "v"), "key must be a str, but is int"),
        (lambda t: t.optimize().option("k", cast(Any, None)), "value must be .* is NoneType"),
        (lambda t: t.optimize().executeZOrderBy("a", NOT_A_STR), "column 2 must be a str"),
        (lambda t: t.layout(NOT_A_STR), "column 1 must be a str, but is int"),
        (lambda t: t.createIndex(options={"k": NOT_A_STR}), "value must be a str, but is int"),
        (lambda t: t.createIndex(options={NOT_A_STR: "v"}), "key must be a str, but is int"),
        (lambda t: t.createIndex(values="u"), "values must be a sequence of str, but is a str"),
        (lambda t: t.createIndex(values=[NOT_A_STR]), "column 1 must be a str, but is int"),
        (lambda t: t.createIndex(cast(Any, ["a"])), "column 1 must be a str, but is list"),
        (lambda t: t.publish(where=NOT_A_STR), "where must be a str, but is int"),
        (lambda t: t.history(cast(Any, "3")), "limit must be an int, but is str"),
        (lambda t: t.vacuum(cast(Any, True)), "hours must be an int, but is bool"),
        (lambda t: t.forName(t, NOT_A_STR), "name must be a str, but is int"),
        (lambda t: t.forPath(t, NOT_A_STR), "path must be a str, but is int"),
    ],
)
def test_a_wrong_type_names_the_argument_and_its_type(
    session: Recorder, table: ZOrderTable, call: Callable[[ZOrderTable], Any], message: str
) -> None:
    with pytest.raises(TypeError, match=message):
        call(table)
    assert session.statements == []


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda t: t.optimize().executeZOrderBy(), "executeZOrderBy needs at least one column"),
        (lambda t: t.optimize().executeZOrderBy([]), "executeZOrderBy needs at least one column"),
        (lambda t: t.optimize().executeZOrderBy("a..b"), "not a name: 'a..b'"),
        (lambda t: t.optimize().into(""), "directory is empty"),
        (lambda t: t.optimize().where(" \n"), "predicate is empty"),
        (lambda t: t.publish(" "), "where is empty"),
        (
            lambda t: t.createIndex(options={"VALUES": "a"}, values=["b"]),
            "values either as an argument or as an option",
        ),
        (lambda t: t.history(0), "limit must be at least 1, but is 0"),
        (lambda t: t.vacuum(-1), "hours must be at least 0, but is -1"),
        (lambda t: t.forName(t, "a."), "not a name: 'a.'"),
        (lambda t: t.forPath(t, ""), "path is empty"),
    ],
)
def test_a_wrong_value_names_it(
    session: Recorder, table: ZOrderTable, call: Callable[[ZOrderTable], Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        call(table)
    assert session.statements == []


def test_the_builder_is_documented_by_its_statement(table: ZOrderTable) -> None:
    assert isinstance(table.optimize(), OptimizeBuilder)
    assert repr(table.optimize().dryRun()) == "OPTIMIZE TABLE `shop`.`sales` DRY RUN"
