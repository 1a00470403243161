# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""A builder for the statement OPTIMIZE."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from spark_zorder import _sql
from spark_zorder._errors import run
from spark_zorder._progress import shown
from spark_zorder._sql import column_list, require_str, require_text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, repr=False)
class OptimizeBuilder:
    """The clauses of an OPTIMIZE; every method returns a new builder and does not change this one.

    `ZOrderTable.optimize` returns a builder. The methods that begin with ``execute`` run the
    statement and return its one row. Printing a builder shows the statement.

    Examples
    --------
    The examples use the table `points` of `ZOrderTable`, before its first OPTIMIZE.

    >>> points.optimize().option("targetFileSize", "4k").dryRun()
    OPTIMIZE TABLE `points` OPTIONS ('targetFileSize' '4k') DRY RUN
    """

    _spark: "SparkSession"
    _target: str
    _full: bool = False
    _predicate: str | None = None
    _directory: str | None = None
    _options: dict[str, str] = field(default_factory=dict)
    _dry_run: bool = False

    def where(self, predicate: str) -> "OptimizeBuilder":
        """Restrict the run to matching files; a second predicate is added with AND.

        Parameters
        ----------
        predicate : str
            A condition in SQL. Conditions on partition columns select partitions. Conditions on
            data columns select the files that, by the min/max in their footers, may contain a
            matching row. With ``into``, only partition columns are allowed.

        Raises
        ------
        TypeError, ValueError
            `predicate` is not a str, or empty.

        Examples
        --------
        >>> points.optimize().where("day = '2026-01-01'").where("x > 5")
        OPTIMIZE TABLE `points` WHERE (day = '2026-01-01') AND (x > 5)
        """
        require_text("predicate", require_str("predicate", predicate).strip())
        # the next clause must not become part of a comment at the end of the predicate
        closed = f"{predicate}\n" if "--" in predicate else predicate
        both = closed if self._predicate is None else f"({self._predicate}) AND ({closed})"
        return replace(self, _predicate=both)

    def full(self) -> "OptimizeBuilder":
        """Rewrite all files that the statement chooses, also those that are already well laid out.

        A compaction rewrites only small files in any case.

        Examples
        --------
        >>> points.optimize().full()
        OPTIMIZE TABLE `points` FULL
        """
        return replace(self, _full=True)

    def into(self, directory: str) -> "OptimizeBuilder":
        """Write the result into an empty directory, and do not change this table.

        Raises
        ------
        TypeError, ValueError
            `directory` is not a str, or empty.

        Examples
        --------
        >>> points.optimize().into("/data/points")
        OPTIMIZE TABLE `points` INTO '/data/points'
        """
        return replace(self, _directory=require_text("directory", directory))

    def option(self, key: str, value: str | int | float | bool) -> "OptimizeBuilder":
        """Change a setting for this run, such as ``option("targetFileSize", "64m")``.

        Raises
        ------
        TypeError
            `key` is not a str, or `value` is neither a str, a number nor a bool.

        Examples
        --------
        >>> points.optimize().option("verify", "full")
        OPTIMIZE TABLE `points` OPTIONS ('verify' 'full')
        """
        require_str("key", key)
        if not isinstance(value, (str, int, float)):
            raise TypeError(
                f"value must be a str, a number or a bool, but is {type(value).__name__}"
            )
        text = str(value).lower() if isinstance(value, bool) else str(value)
        # keys of settings are case-insensitive, and the last value applies
        others = {k: v for k, v in self._options.items() if k.lower() != key.lower()}
        return replace(self, _options={**others, key: text})

    def dryRun(self) -> "OptimizeBuilder":
        """Change nothing: sample the rows, and return the expected result of a run.

        Examples
        --------
        >>> predicted = points.optimize().dryRun().executeZOrderBy("x", "y").first().metrics
        >>> predicted.numFilesRemoved, predicted.numFilesAdded
        (4, 1)
        """
        return replace(self, _dry_run=True)

    def executeCompaction(self, *, progress: bool | None = None) -> "DataFrame":
        """Run the statement without ``ZORDER BY``.

        The table keeps the columns of its layout, or takes those of its property
        ``zorder.columns``. A table with neither is compacted: small files become larger ones.

        Parameters
        ----------
        progress : bool, optional
            As for `executeZOrderBy`.

        Returns
        -------
        DataFrame
            The one row of the statement: path, metrics and reason.

        Examples
        --------
        >>> compacted = points.optimize().executeCompaction().first().metrics
        >>> compacted.numFilesRemoved, compacted.numFilesAdded, compacted.numRows
        (4, 1, 1000)
        """
        return self._execute(self._statement(), progress)

    def executeZOrderBy(
        self, *cols: "str | Sequence[str]", progress: bool | None = None
    ) -> "DataFrame":
        """Run the statement with ``ZORDER BY`` `cols`.

        Parameters
        ----------
        *cols : str
            One or more columns, or one list of columns, which Delta's method of this name takes,
            too. ``a.b`` is the field ``b`` of ``a``, and ```a.b``` is one column.
        progress : bool, optional
            Whether to draw a progress bar, which needs the package tqdm. The bar shows the phase,
            its tasks and the files written; over Spark Connect it shows tasks only. By default it
            is drawn in notebooks, and on terminals where Spark draws no bar itself.

        Returns
        -------
        DataFrame
            The one row of the statement: path, metrics and reason.

        Raises
        ------
        TypeError, ValueError
            A column is not a str, or not a name, or there are no columns.

        Examples
        --------
        >>> laid_out = points.optimize().full().executeZOrderBy("x", "y").first().metrics
        >>> laid_out.numRows
        1000
        """
        if len(cols) == 1 and isinstance(cols[0], (list, tuple)):
            cols = tuple(cols[0])
        if not cols:
            raise ValueError("executeZOrderBy needs at least one column")
        return self._execute(self._statement(f"ZORDER BY {column_list(cols)}"), progress)

    def executeZOrderByAuto(self, *, progress: bool | None = None) -> "DataFrame":
        """Run the statement with ``ZORDER BY AUTO``: the recorded workload chooses the columns.

        Parameters
        ----------
        progress : bool, optional
            As for `executeZOrderBy`.

        Returns
        -------
        DataFrame
            The one row of the statement. The column ``reason`` says what was chosen, and why.

        Examples
        --------
        >>> points.optimize().executeZOrderByAuto().first().reason.split(":")[0]
        'AUTO keeps the layout by (x, y)'
        """
        return self._execute(self._statement("ZORDER BY AUTO"), progress)

    def _execute(self, statement: str, progress: bool | None) -> "DataFrame":
        with shown(self._spark, f"OPTIMIZE {self._target}", progress):
            return run(self._spark, statement)

    def __repr__(self) -> str:
        return self._statement()

    def _statement(self, order: str | None = None) -> str:
        clauses = [
            f"OPTIMIZE TABLE {self._target}",
            "FULL" if self._full else None,
            None if self._predicate is None else f"WHERE {self._predicate}",
            order,
            None
            if self._directory is None
            else f"INTO {_sql.string(self._directory, self._spark)}",
            _sql.options(self._options, self._spark) if self._options else None,
            "DRY RUN" if self._dry_run else None,
        ]
        return " ".join(clause for clause in clauses if clause)
