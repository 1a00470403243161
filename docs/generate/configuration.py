"""The page of the settings, from the settings themselves."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

HEAD = """\
# Configuration

*Made from the settings in `conf/Settings.scala` by `make docs-pages`.*

A setting has one key and three places. Where it is set in several, the first of these counts:

| place | how | for |
|---|---|---|
| statement | `OPTIMIZE TABLE t ... OPTIONS ('targetFileSize' '64m')` | one run |
| table | `ALTER TABLE t SET TBLPROPERTIES ('zorder.targetFileSize' = '64m')` | every run on a catalog table |
| session | `SET spark.zorder.targetFileSize = 64m`, or `--conf` at its start | everything in the session |

OPTIMIZE refuses an unknown key or a wrong value, wherever it is set, before it does anything. In
Python, `ZOrderTable.optimize().option("targetFileSize", "64m")` writes OPTIONS. `SET -v` lists the settings that a
session can have.
"""

TAIL = """\

With `enabled` off not even the rules of spark-zorder run, so reads see a
[half-published table](safety.md#readers) as it is. `batchSize` counts whole partitions. `verify=full` adds a
[checksum over all columns](safety.md#what-verification-sees). With `timestampType=preserve` an INT96 column cannot be an
ordering column. `skipping.cacheSize` is for all sessions of a driver together.

Sizes are binary (`128m` is 128 MiB), durations are like `90min`, `24h`, `7d`; write the unit, a bare number is bytes or milliseconds. In `zorder.columns` a name with a dot
or another odd character stands in backquotes, as in SQL.

Spark's and Parquet's own settings that matter here: `parquet.page.row.count.limit` and `parquet.block.size` are
the largest page and row group that OPTIMIZE writes; the codec, the schema and the key-values of the footers are those
of the files that are rewritten, whatever the session says.
"""

PLACES = {"Statement": "statement", "Table": "table", "Session": "session"}


def page(spark: SparkSession) -> str:
    """Return the page; it needs a classic session, whose JVM it asks."""
    settings = spark._jvm.io.sparkzorder.conf.Settings.all()  # type: ignore[union-attr]
    lines = [_line(settings.apply(i)) for i in range(settings.size())]
    table = ["| key | default | may be | set for | meaning |", "|---|---|---|---|---|", *lines]
    return "\n".join([HEAD, *table, TAIL])


def _line(setting: Any) -> str:
    scopes = setting.scopes()
    named = {scope: place for scope, place in PLACES.items() if _has(scopes, scope)}
    default = setting.default()
    cells = [
        f"`{setting.key()}`",
        f"`{default.get()}`" if default.isDefined() else "",
        setting.legal().removeprefix("a text"),
        ", ".join(named.values()),
        setting.doc().replace("|", "\\|"),
    ]
    return "| " + " | ".join(cells) + " |"


def _has(scopes: Any, name: str) -> bool:
    return name in scopes.mkString(",").split(",")
