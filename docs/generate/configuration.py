# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""The page of the settings, from the settings themselves."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

HEAD = """\
# Configuration

*Made from the settings in `conf/Settings.scala` by `make docs-pages`.*

A setting has one key. There are three places to set it; the column *set for* says which of them a setting accepts. If a setting is set in
several places, the first of these counts:

| place | how | for |
|---|---|---|
| statement | `OPTIMIZE TABLE t ... OPTIONS ('targetFileSize' '64m')` | one run |
| table | `ALTER TABLE t SET TBLPROPERTIES ('zorder.targetFileSize' = '64m')` | every run on a catalog table |
| session | `SET spark.zorder.targetFileSize = 64m`, or `--conf` at its start | everything in the session |

Before it does anything, OPTIMIZE refuses an unknown key, wherever the key is set. It also refuses a wrong value, unless
another place overrides the value. CREATE and REFRESH ZORDER INDEX refuse an unknown key, too. In Python,
`ZOrderTable.optimize().option("targetFileSize", "64m")` adds an entry to OPTIONS. `SET -v` lists the settings that a session can have.
"""

TAIL = """\

With `enabled` off, no rule of spark-zorder runs. A query on a
[half-published table](safety.md#readers) then reads the files that it finds there, without the records. One commit
rewrites whole partitions of up to `batchSize` together, or [a part of a larger partition](operations.md#sizing). `verify=full` adds a
[checksum over all columns](safety.md#what-verification-sees). With `timestampType=preserve` an INT96 column cannot be
an ordering column. All sessions of a driver share the memory of `skipping.cacheSize`.

Sizes are binary: `128m` is 128 MiB. Durations look like `90min`, `24h`, `7d`. Write the unit, because a bare number
means bytes or milliseconds. In `zorder.columns`, put a name with a dot or another special character in backquotes,
as in SQL. [Writes in order](ordered-writes.md) describes the settings `columns`, `order` and `write`.

Two settings of Parquet matter here: `parquet.page.row.count.limit` and `parquet.block.size` limit the pages and row
groups that OPTIMIZE writes. The new files keep the codec, the schema and the footer key-values of the files that are
rewritten, whatever the session says.
"""

PLACES = {"Statement": "statement", "Table": "table", "Session": "session"}


def page(spark: SparkSession) -> str:
    """Return the page. `spark` must be a classic session, because its JVM has the settings."""
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
