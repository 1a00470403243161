"""A table as an object, with the method names of ``DeltaTable``."""

from typing import TYPE_CHECKING

from spark_zorder import _sql
from spark_zorder._arguments import column_list, require_int, require_str, require_text
from spark_zorder._errors import run
from spark_zorder._progress import shown
from spark_zorder.optimize import OptimizeBuilder
from spark_zorder.report import LayoutReport

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class ZOrderTable:
    """A table of Parquet or ORC files; `forName` and `forPath` return one.

    Every method runs one SQL statement and returns its rows, on classic sessions and over Spark
    Connect. Without the extension the methods raise `spark_zorder.MissingExtensionError`.

    .. versionadded:: 0.1.0

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

    def __init__(self, spark: "SparkSession", target: str) -> None:
        self._spark = spark
        self._target = target

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
            The root directory of the table, as for ``spark.read.parquet``.

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
        """Begin an OPTIMIZE; `executeCompaction` or `executeZOrderBy` runs the statement.

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

    def history(self, limit: int | None = None) -> "DataFrame":
        """List the runs that changed the layout of the table, newest first.

        Parameters
        ----------
        limit : int, optional
            The number of runs; by default all.

        Raises
        ------
        TypeError, ValueError
            `limit` is not an int, or below 1.

        Examples
        --------
        >>> [(run.operation, run.status) for run in points.history(1).collect()]
        [('optimize', 'published')]
        """
        if limit is not None:
            require_int("limit", limit, 1)
        runs = self._run(f"SHOW LAYOUT HISTORY {self._target}")
        return runs if limit is None else runs.limit(limit)

    def vacuum(self, hours: int | None = None, *, dryRun: bool = False) -> "DataFrame":
        """Delete retained files, and files of dead runs, that are older than the retention.

        Each row of the result stands for a directory or a file.

        Parameters
        ----------
        hours : int, optional
            The retention. By default, the retention of each run counts for its retained files, and
            the retention of the table for all other files. 0 also aborts runs that are in progress.
        dryRun : bool
            Delete nothing, and return what would be deleted.

        Raises
        ------
        TypeError, ValueError
            `hours` is not an int, or below 0.

        Examples
        --------
        >>> points.vacuum(hours=24, dryRun=True).count()
        0
        """
        retain = "" if hours is None else f" RETAIN {require_int('hours', hours, 0)} HOURS"
        return self._run(f"VACUUM LAYOUT {self._target}{retain}{' DRY RUN' if dryRun else ''}")

    def undo(self) -> "DataFrame":
        """Restore the files that the last run replaced; a second call undoes the run before.

        The statement is refused, and changes nothing, if files of the run were removed or changed
        since, or if the replaced files are no longer retained. Files that other programs have added
        since then stay in the table.

        Examples
        --------
        >>> undone = points.undo().first()
        >>> undone.filesAdded, undone.filesRemoved
        (4, 1)
        """
        return self._run(f"UNDO LAYOUT {self._target}")

    def recover(self, abandon: bool = False) -> "DataFrame":
        """Finish a run that was interrupted after its commit, or give it up.

        Parameters
        ----------
        abandon : bool
            True: where the run is not published, the files that it was to replace count again.

        Examples
        --------
        >>> points.recover().first().runsRecovered
        0
        """
        return self._run(f"RECOVER LAYOUT {self._target}{' ABANDON' if abandon else ''}")

    def createIndex(self, *cols: str, progress: bool | None = None) -> "DataFrame":
        """Build the skipping index.

        Parameters
        ----------
        *cols : str
            The columns; by default the first 32 leaf columns of each file and the ordering columns.
        progress : bool, optional
            As for `OptimizeBuilder.executeZOrderBy`.

        Raises
        ------
        TypeError, ValueError
            A column is not a str, or not a name.

        Examples
        --------
        >>> spark.range(0, 1000, 1, 2).write.saveAsTable("unordered")
        >>> ZOrderTable.forName(spark, "unordered").createIndex("id").first().files
        2
        """
        columns = f" {column_list(cols)}" if cols else ""
        with shown(self._spark, f"INDEX {self._target}", progress):
            return self._run(f"CREATE ZORDER INDEX ON {self._target}{columns}")

    def _run(self, statement: str) -> "DataFrame":
        return run(self._spark, statement)
