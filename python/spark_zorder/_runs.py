# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""The runs that changed the layout of a table, and what remains of their files."""

from typing import TYPE_CHECKING

from spark_zorder._errors import run
from spark_zorder._sql import require_int, require_str, require_text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class LayoutRuns:
    """The methods of `spark_zorder.ZOrderTable` that list, undo, finish and clean up runs.

    Examples
    --------
    The examples of the methods continue with this run.

    >>> points.optimize().executeZOrderBy("x", "y").first().metrics.numFilesRemoved
    4
    """

    def __init__(self, spark: "SparkSession", target: str) -> None:
        self._spark = spark
        self._target = target

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

        Each row of the result stands for a directory or a file. Retained files are not deleted, and
        `removed` is false, if a file that replaced them is missing or damaged (kind `unproven`), or
        if the run met a conflict.

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

    def publish(self, where: str | None = None) -> "DataFrame":
        """Publish a layout that lies beside the table's files, so that every reader uses it.

        Parameters
        ----------
        where : str, optional
            A predicate on partition columns, as in SQL. By default, all partitions.

        Raises
        ------
        TypeError, ValueError
            `where` is not a str, or empty.
        AnalysisException
            `ZORDER_IN_PLACE_UNSAFE_FILE_SYSTEM`: the file system cannot rename files safely.

        Examples
        --------
        >>> points.publish().first().filesAdded
        0
        """
        if where is not None:
            require_text("where", require_str("where", where).strip())
        clause = "" if where is None else f" WHERE {where}"
        return self._run(f"PUBLISH LAYOUT {self._target}{clause}")

    def recover(self, abandon: bool = False) -> "DataFrame":
        """Finish a run that was interrupted after its commit, or abandon it.

        Parameters
        ----------
        abandon : bool
            True: do not finish the run. In each folder that is not published, the files that the
            run was to replace stay in the table.

        Examples
        --------
        >>> points.recover().first().runsRecovered
        0
        """
        return self._run(f"RECOVER LAYOUT {self._target}{' ABANDON' if abandon else ''}")

    def _run(self, statement: str) -> "DataFrame":
        return run(self._spark, statement)
