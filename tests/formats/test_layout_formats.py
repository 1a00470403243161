# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""SHOW LAYOUT of Delta and Iceberg tables counts the live files of the table format."""

from pathlib import Path

import pytest

from tests.support import neighbours

pytestmark = pytest.mark.slow

ROWS = """
rows = spark.range(0, 1000, 1, 4).selectExpr("id a", "id % 7 b", "id % 2 p")
"""

# returns the rows of SHOW LAYOUT, or the error condition, for each target
SHOW = """
for target in targets:
    try:
        shown = spark.sql(f"SHOW LAYOUT {target} FOR (a, b)").collect()
        answer = [
            dict(
                column=r["column"], files=r.files, rows=r.rows, reads=r.filesPerPointQuery,
                ranges=sorted((f.min, f.max) for f in r.fileRanges), warning=r.warning,
            )
            for r in shown
        ]
    except PySparkException as error:
        answer = condition_of(error)
    answers[target.replace(str(folder), "")] = answer
"""

DELTA = """
rows.write.saveAsTable("lake", format="delta")
spark.sql("DELETE FROM lake WHERE a >= 500")
rows.write.format("delta").partitionBy("p").save(f"{folder}/parts")
rows.write.saveAsTable("plain", format="parquet")
targets = ["lake", f"'{folder}/parts'", f"parquet.`{folder}/parts`", "plain"]
"""

ICEBERG = """
rows.writeTo("ice.db.t").create()
spark.sql("DELETE FROM ice.db.t WHERE a >= 500")
rows.createOrReplaceTempView("numbers")
spark.sql("CREATE TABLE ice.db.parts USING iceberg PARTITIONED BY (p) AS SELECT * FROM numbers")
targets = ["ice.db.t", "ice.db.parts", f"'{folder}/ice/db/t'"]
"""


def test_delta(tmp_path: Path) -> None:
    """A DELETE removed two of four files from the table, but not from the directory."""
    found = neighbours.answers(tmp_path, "DELTA", ROWS + DELTA + SHOW)
    a, b = found["lake"]
    assert (a["files"], a["rows"]) == (2, 500)
    assert a["ranges"] == [["0", "249"], ["250", "499"]]
    assert a["reads"] == 1.0
    assert b["reads"] == 2.0
    for target in ("'/parts'", "parquet.`/parts`"):
        a, b = found[target]
        assert (a["files"], a["rows"]) == (8, 1000)
        assert a["reads"] == pytest.approx(2.0, rel=0.01)
    a, _ = found["plain"]
    assert (a["files"], a["reads"]) == (4, 1.0)


def test_iceberg(tmp_path: Path) -> None:
    """The metadata table `files` lists the files; a bare directory is refused."""
    found = neighbours.answers(tmp_path, "ICEBERG", ROWS + ICEBERG + SHOW)
    a, b = found["ice.db.t"]
    assert (a["files"], a["rows"]) == (2, 500)
    assert a["ranges"] == [["0", "249"], ["250", "499"]]
    assert (a["reads"], b["reads"]) == (1.0, 2.0)
    a, _ = found["ice.db.parts"]
    assert a["rows"] == 1000
    assert found["'/ice/db/t'"] == "ZORDER_UNSUPPORTED_TABLE"
