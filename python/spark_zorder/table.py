# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""A table as an object, with the method names of ``DeltaTable``."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from spark_zorder import _sql
from spark_zorder._progress import shown
from spark_zorder._runs import LayoutRuns
from spark_zorder._sql import column_list, require_str, require_text
from spark_zorder.optimize import OptimizeBuilder
from spark_zorder.report import LayoutReport

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class ZOrderTable(LayoutRuns):
    """A table of Parquet or ORC files, or of Delta or Iceberg; from `forName` or `forPath`.

    Every method runs one SQL statement and returns its rows, on classic sessions and over Spark
    Connect. Without the extension the methods raise `spark_zorder.MissingExtensionError`.

    .. versionadded:: 0.3.0

    Examples
    --------
    The examples of the methods continue with this table of 1,000 rows in 4 files. Its columns are
    ``id``, ``x``, which is ``id % 37``, and ``y``, which is ``id % 41``.

    >>> from spark_zorder import ZOrderTable
    >>> points = ZOrderTable.forName(spark, "points")
    >>> done = points.optimize().executeZOrderBy("x", "y").first()
    >>> done.metrics.numFilesRemoved, done.metrics.numRows
    (4, 1000)
    """

    @classmethod
    def forName(cls, spark: "SparkSession", name: str) -> "ZOrderTable":
        """Return the table with this name in the catalog.

        Parameters
        ----------
        spark : SparkSession
            Classic or Spark Connect.
        name : str
            A name as in SQL: ``sales``, ``shop.sales``, ``shop.`odd.name` ``. The name
            ``orc.`/data/sales` `` means the ORC table in that directory.

        Raises
        ------
        TypeError, ValueError
            `name` is not a str, or is not a valid name.

        Examples
        --------
        >>> ZOrderTable.forName(spark, "shop.sales")
        ZOrderTable(`shop`.`sales`)
        """
        require_str("name", name)
        return cls(spark, _sql.identifier(name))

    @classmethod
    def forPath(cls, spark: "SparkSession", path: str) -> "ZOrderTable":
        """Return the Parquet table in a directory; for an ORC table use `forName`.

        Parameters
        ----------
        spark : SparkSession
            Classic or Spark Connect.
        path : str
            The root directory of the table, as for ``spark.read.parquet``. For a Delta table, use
            ``forName(spark, "delta.`/path`")`` instead: `toDF` reads all files in the directory,
            and a directory of Delta also has removed files.

        Raises
        ------
        TypeError, ValueError
            `path` is not a str, or empty.

        Examples
        --------
        >>> ZOrderTable.forPath(spark, "/data/sales")
        ZOrderTable(parquet.`/data/sales`)
        """
        return cls(spark, f"parquet.{_sql.quote(require_text('path', path))}")

    def __repr__(self) -> str:
        return f"ZOrderTable({self._target})"

    def toDF(self) -> "DataFrame":
        """Return the rows of the table.

        Examples
        --------
        >>> points.toDF().where("x = 5").count()
        27
        """
        return self._spark.table(self._target)

    def optimize(self) -> "OptimizeBuilder":
        """Begin an OPTIMIZE; a method of the builder such as `executeZOrderBy` runs it.

        Examples
        --------
        >>> points.optimize().where("day = '2026-01-01'").dryRun()
        OPTIMIZE TABLE `points` WHERE day = '2026-01-01' DRY RUN
        """
        return OptimizeBuilder(self._spark, self._target)

    def detail(self) -> "DataFrame":
        """Describe the current layout of the table: ``SHOW LAYOUT``.

        Examples
        --------
        >>> [(row.column, row.files) for row in points.detail().collect()]
        [('x', 1), ('y', 1)]
        """
        return self._run(f"SHOW LAYOUT {self._target}")

    def workload(self) -> "DataFrame":
        """Show the recorded workload of the table: ``SHOW WORKLOAD``.

        Examples
        --------
        >>> points.workload().count()
        0
        """
        return self._run(f"SHOW WORKLOAD {self._target}")

    def layout(self, *cols: str) -> LayoutReport:
        """Report how many files queries on `cols` read: ``SHOW LAYOUT ... FOR``.

        Parameters
        ----------
        *cols : str
            The columns; by default those of the table's layout, as in `detail`.

        Returns
        -------
        LayoutReport
            The report prints as a table; ``plot()`` draws it, and ``df`` has its rows.

        Raises
        ------
        TypeError, ValueError
            A column is not a str, or not a name.

        Examples
        --------
        >>> points.layout("x").rows[0]["filesPerPointQuery"]
        1.0
        """
        if not cols:
            return LayoutReport(self.detail())
        return LayoutReport(self._run(f"SHOW LAYOUT {self._target} FOR {column_list(cols)}"))

    def sortBy(self, *cols: str, order: str = "zorder") -> "DataFrame":
        """Declare the order in which rows are written from now on: ``ALTER TABLE ... SORT BY``.

        Parameters
        ----------
        *cols : str
            The ordering columns; without columns, the declaration is removed.
        order : str
            ``zorder``, by all columns together, or ``lexical``, by the first column, then by the
            second.

        Raises
        ------
        TypeError, ValueError
            A column is not a str, or not a name; `order` is neither of the two.

        Examples
        --------
        >>> _ = points.sortBy("x", "y")
        >>> spark.sql("SHOW TBLPROPERTIES points ('zorder.columns')").first().value
        'x, y'
        """
        if require_str("order", order).lower() not in ("zorder", "lexical"):
            raise ValueError(f"order must be zorder or lexical, but is {order}")
        word = f"{order.upper()} " if cols else ""
        return self._run(f"ALTER TABLE {self._target} SORT BY {word}{column_list(cols)}")

    def createIndex(
        self,
        *cols: str,
        options: Mapping[str, str] | None = None,
        values: Sequence[str] | None = None,
        progress: bool | None = None,
    ) -> "DataFrame":
        """Build the skipping index.

        Parameters
        ----------
        *cols : str
            The columns; by default the first 32 leaf columns of each file and the ordering columns.
        options : mapping of str to str, optional
            Options of the index: ``{"int96": "read"}`` reads the values of INT96 columns, because
            footers have no bounds of them.
        values : sequence of str, optional
            Columns whose values are indexed, so that a query finds the files of one value: the
            option ``values``. Without columns, those of the property ``zorder.index.values``.
        progress : bool, optional
            As for `OptimizeBuilder.executeZOrderBy`.

        Raises
        ------
        TypeError, ValueError
            A column is not a str, or not a name; a key or value of an option is not a str;
            `values` is a str instead of a sequence of str; `options` has the option ``values``,
            too.

        Examples
        --------
        >>> spark.range(0, 1000, 1, 2).write.saveAsTable("unordered")
        >>> ZOrderTable.forName(spark, "unordered").createIndex("id").first().files
        2
        """
        columns = f" {column_list(cols)}" if cols else ""
        for key, value in (options or {}).items():
            require_str("key", key)
            require_str("value", value)
        every = dict(options or {})
        if isinstance(values, str):
            raise TypeError("values must be a sequence of str, but is a str")
        if values is not None and any(key.lower() == "values" for key in every):
            raise ValueError("give values either as an argument or as an option, but not as both")
        if values:
            every["values"] = column_list(values)[1:-1]
        more = f" {_sql.options(every, self._spark)}" if every else ""
        with shown(self._spark, f"INDEX {self._target}", progress):
            return self._run(f"CREATE ZORDER INDEX ON {self._target}{columns}{more}")
