"""A table as an object: the statements of spark-zorder with the method names of ``DeltaTable``."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from spark_zorder import _sql
from spark_zorder._errors import run
from spark_zorder.report import LayoutReport

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class ZOrderTable:
    """A table of Parquet files, by name or by path, as a handle for its layout.

    Every method writes one SQL statement and returns that statement's rows, on a classic session
    and over Spark Connect alike. Get one by `forName` or `forPath`. Without the extension the
    methods raise `spark_zorder.MissingExtensionError`.

    .. versionadded:: 0.1.0

    Examples
    --------
    >>> from spark_zorder import ZOrderTable
    >>> sales = ZOrderTable.forName(spark, "shop.sales")
    >>> sales.optimize().where("day = '2026-01-01'").dryRun()
    OPTIMIZE TABLE `shop`.`sales` WHERE day = '2026-01-01' DRY RUN
    """

    def __init__(self, spark: "SparkSession", target: str) -> None:
        self._spark = spark
        self._target = target

    @classmethod
    def forName(cls, spark: "SparkSession", name: str) -> "ZOrderTable":
        """Take a table of the catalog.

        Parameters
        ----------
        spark : SparkSession
            Classic or Spark Connect.
        name : str
            As in SQL: ``sales``, ``shop.sales``, ``shop.`odd.name` ``.

        Raises
        ------
        TypeError, ValueError
            `name` is not a str, or not a name.
        """
        _require_str("name", name)
        return cls(spark, _sql.identifier(name))

    @classmethod
    def forPath(cls, spark: "SparkSession", path: str) -> "ZOrderTable":
        """Take the table in a directory.

        Parameters
        ----------
        spark : SparkSession
            Classic or Spark Connect.
        path : str
            The table's root, as ``spark.read.parquet`` would take it.

        Raises
        ------
        TypeError, ValueError
            `path` is not a str, or empty.
        """
        _require_str("path", path)
        if not path:
            raise ValueError("path is empty")
        return cls(spark, f"parquet.{_sql.quote(path)}")

    def __repr__(self) -> str:
        return f"ZOrderTable({self._target})"

    def toDF(self) -> "DataFrame":
        """Read the table."""
        return self._spark.table(self._target)

    def optimize(self) -> "OptimizeBuilder":
        """Begin an OPTIMIZE; it runs by `executeCompaction` or `executeZOrderBy`."""
        return OptimizeBuilder(self._spark, self._target)

    def detail(self) -> "DataFrame":
        """Describe the layout that the table has: ``SHOW LAYOUT``."""
        return self._run(f"SHOW LAYOUT {self._target}")

    def layout(self, *cols: str) -> LayoutReport:
        """Report how well queries on `cols` skip files: ``SHOW LAYOUT ... FOR``.

        Parameters
        ----------
        *cols : str
            Columns; without any, those of the table's layout, as in `detail`.

        Returns
        -------
        LayoutReport
            Prints as a table, draws itself by ``plot()``, and has the rows in ``df``.

        Raises
        ------
        TypeError, ValueError
            A column is not a str, or not a name.
        """
        if not cols:
            return LayoutReport(self.detail())
        return LayoutReport(self._run(f"SHOW LAYOUT {self._target} FOR {_column_list(cols)}"))

    def history(self, limit: int | None = None) -> "DataFrame":
        """List the runs that changed the table's layout, the newest first.

        Parameters
        ----------
        limit : int, optional
            How many; all unless given.

        Raises
        ------
        TypeError, ValueError
            `limit` is not an int, or below 1.
        """
        if limit is not None:
            _require_int("limit", limit, 1)
        runs = self._run(f"SHOW LAYOUT HISTORY {self._target}")
        return runs if limit is None else runs.limit(limit)

    def vacuum(self, hours: int | None = None, *, dryRun: bool = False) -> "DataFrame":
        """Delete replaced files, and files of dead runs, that are older than the retention.

        Parameters
        ----------
        hours : int, optional
            The retention, instead of that of each run and of the table. 0 also ends runs that are
            under way.
        dryRun : bool
            Delete nothing: only return what a run would do.

        Returns
        -------
        DataFrame
            A row for each directory or file.

        Raises
        ------
        TypeError, ValueError
            `hours` is not an int, or below 0.
        """
        clauses = [f"VACUUM LAYOUT {self._target}"]
        if hours is not None:
            clauses.append(f"RETAIN {_require_int('hours', hours, 0)} HOURS")
        if dryRun:
            clauses.append("DRY RUN")
        return self._run(" ".join(clauses))

    def undo(self) -> "DataFrame":
        """Put back the files that the last run replaced; a second one undoes the run before.

        Refused, with nothing touched, when files of the run were removed or changed since, or when
        what it replaced is not retained any more. Files that others wrote since stay.
        """
        return self._run(f"UNDO LAYOUT {self._target}")

    def recover(self) -> "DataFrame":
        """Finish a run that was interrupted after its commit."""
        return self._run(f"RECOVER LAYOUT {self._target}")

    def createIndex(self, *cols: str) -> "DataFrame":
        """Build the skipping index, for `cols` or for the columns of the layout.

        Raises
        ------
        TypeError, ValueError
            A column is not a str, or not a name.
        """
        columns = f" {_column_list(cols)}" if cols else ""
        return self._run(f"CREATE ZORDER INDEX ON {self._target}{columns}")

    def _run(self, statement: str) -> "DataFrame":
        return run(self._spark, statement)


@dataclass(frozen=True, repr=False)
class OptimizeBuilder:
    """An OPTIMIZE in the making; every method returns a new builder and leaves this one.

    Get one by `ZOrderTable.optimize`. The two methods that begin with ``execute`` run the statement
    and return its one row; printing a builder shows the statement so far.
    """

    _spark: "SparkSession"
    _target: str
    _full: bool = False
    _predicate: str | None = None
    _directory: str | None = None
    _options: dict[str, str] = field(default_factory=dict)
    _dry_run: bool = False

    def where(self, predicate: str) -> "OptimizeBuilder":
        """Take only what `predicate` chooses; a second one is added by AND.

        Parameters
        ----------
        predicate : str
            A condition in SQL. A part of it on partition columns chooses partitions, one with data
            columns the files in which a row may match, by the min/max of their footers. With
            ``into`` it may use partition columns only.

        Raises
        ------
        TypeError
            `predicate` is not a str.
        """
        _require_str("predicate", predicate)
        both = predicate if self._predicate is None else f"({self._predicate}) AND ({predicate})"
        return replace(self, _predicate=both)

    def full(self) -> "OptimizeBuilder":
        """Lay out all files, also those that are well placed."""
        return replace(self, _full=True)

    def into(self, directory: str) -> "OptimizeBuilder":
        """Write the laid-out table into an empty directory, and leave this one alone.

        Raises
        ------
        TypeError, ValueError
            `directory` is not a str, or empty.
        """
        _require_str("directory", directory)
        if not directory:
            raise ValueError("directory is empty")
        return replace(self, _directory=directory)

    def option(self, key: str, value: str | int | float | bool) -> "OptimizeBuilder":
        """Set one of the settings for this run, such as ``option("targetFileSize", "64m")``.

        Raises
        ------
        TypeError
            `key` is not a str, or `value` neither str, number nor bool.
        """
        _require_str("key", key)
        if not isinstance(value, (str, int, float)):
            raise TypeError(
                f"value must be a str, a number or a bool, but is {type(value).__name__}"
            )
        text = str(value).lower() if isinstance(value, bool) else str(value)
        return replace(self, _options={**self._options, key: text})

    def dryRun(self) -> "OptimizeBuilder":
        """Change nothing: only sample, and return what a run would do."""
        return replace(self, _dry_run=True)

    def executeCompaction(self) -> "DataFrame":
        """Run it by the columns of the table's layout or of its property ``zorder.columns``.

        A table that has neither is merely compacted: small files become larger ones.
        """
        return run(self._spark, self._statement())

    def executeZOrderBy(self, *cols: "str | Sequence[str]") -> "DataFrame":
        """Run it, ordering by `cols`.

        Parameters
        ----------
        *cols : str
            At least one column, or one list of them; ``a.b`` is the field ``b`` of ``a``, and
            ```a.b``` one column.

        Raises
        ------
        TypeError, ValueError
            A column is not a str, or not a name, or there are no columns.
        """
        if len(cols) == 1 and isinstance(cols[0], (list, tuple)):
            cols = tuple(cols[0])
        if not cols:
            raise ValueError("executeZOrderBy requires > 0 parameters but the actual number is 0")
        return run(self._spark, self._statement(f"ZORDER BY {_column_list(cols)}"))

    def __repr__(self) -> str:
        return self._statement()

    def _statement(self, order: str | None = None) -> str:
        options = ", ".join(f"{_sql.string(k)} {_sql.string(v)}" for k, v in self._options.items())
        clauses = [
            f"OPTIMIZE TABLE {self._target}",
            "FULL" if self._full else None,
            None if self._predicate is None else f"WHERE {self._predicate}",
            order,
            None if self._directory is None else f"INTO {_sql.string(self._directory)}",
            f"OPTIONS ({options})" if options else None,
            "DRY RUN" if self._dry_run else None,
        ]
        return " ".join(clause for clause in clauses if clause)


def _column_list(cols: Sequence[object]) -> str:
    names = [_require_str(f"column {position}", col) for position, col in enumerate(cols, start=1)]
    return _sql.columns(names)


def _require_str(argument: str, value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{argument} must be a str, but is {type(value).__name__}")
    return value


def _require_int(argument: str, value: object, least: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{argument} must be an int, but is {type(value).__name__}")
    if value < least:
        raise ValueError(f"{argument} must be at least {least}, but is {value}")
    return value
