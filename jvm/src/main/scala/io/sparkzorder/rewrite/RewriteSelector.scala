package io.sparkzorder.rewrite

import org.apache.hadoop.fs.Path

import io.sparkzorder.cluster.MergeRule
import io.sparkzorder.conf.Settings
import io.sparkzorder.log.Record
import io.sparkzorder.table.DataFile
import io.sparkzorder.table.stats.ScannedFile
import io.sparkzorder.util.Paths

/** The paths of the files that a run rewrites, and the reason for the choice. */
private[sparkzorder] final case class RewriteSelection(files: Set[Path], reason: Option[String])

/**
 * Selects files in a table that is clustered already: new files, and files that are worth merging
 * with them.
 *
 * @param records records of the table, in ascending order
 */
private[rewrite] final class RewriteSelector(inputs: RewriteInputs, records: Seq[Record]) {
  private val size = inputs.settings(Settings.TargetFileSize)
  private val names = inputs.columns.map(_.name)

  /** @param chosen paths that the statement chooses, at least one */
  def select(chosen: Set[Path]): RewriteSelection = {
    val (same, others) = records.filter(_.kind == Record.Optimize)
      .partition(r =>
        r.columns == names && r.targetFileSize == size && r.columnWeights == inputs.weights)
    val made = new MadeFiles(same)
    val runOf = inputs.files.flatMap(f => made.runOf(f.file).map(f.file.path -> _)).toMap
    if (chosen.exists(runOf.contains)) merged(chosen, runOf)
    else {
      val which = if (chosen.size == inputs.files.size) "all files" else "all of these"
      RewriteSelection(chosen, otherLayout(others).map(_ + s": $which are rewritten"))
    }
  }

  private def merged(chosen: Set[Path], runOf: Map[Path, String]): RewriteSelection = {
    val sameName = inputs.session.sessionState.conf.resolver
    val rule = new MergeRule(inputs.columns, size, sameName, inputs.weights)
    val candidates = inputs.files.filter(f => chosen(f.file.path))
    val folders = candidates.groupBy(_.file.folder).values.map { own =>
      lazy val excess = rule.excess(own)
      val inserts = dealtInserts(rule, own.filterNot(f => runOf.contains(f.file.path)), excess)
      val runs = own.map(f => runOf.get(f.file.path).orElse(inserts.get(f.file.path)))
      rule.choose(own, runs, inserts.values.toSet).map(own(_).file.path) -> inserts.keySet
    }
    val files = folders.flatMap(_._1).toSet
    val dealt = folders.flatMap(_._2).toSet -- files
    val fresh = chosen.count(!runOf.contains(_))
    val earlier = files.count(runOf.contains)
    val reason =
      if (fresh == 0) {
        s"all ${chosen.size} files are laid out by (${names.mkString(", ")}) " +
          "already; FULL rewrites them"
      } else {
        s"of ${chosen.size} files $fresh are new, $earlier of earlier runs are " +
          s"merged with them, and ${chosen.size - files.size} stay as they are" +
          (if (dealt.isEmpty) ""
           else s", ${dealt.size} of them as their writers have laid them out")
      }
    RewriteSelection(files, Some(reason))
  }

  /** The new files of inserts that have dealt their rows well, each with the name of its insert. */
  private def dealtInserts(
      rule: MergeRule,
      added: IndexedSeq[ScannedFile],
      ofFolder: => Double): Map[Path, String] =
    added.flatMap(f => RewriteSelector.jobOf(f.file.path).map(_ -> f)).groupBy(_._1)
      .filter { case (_, own) => rule.isDealt(own.map(_._2), ofFolder) }
      .flatMap { case (job, own) => own.map(_._2.file.path -> job) }

  /** Why files of runs with another layout are rewritten, if there are such files. */
  private def otherLayout(others: Seq[Record]): Option[String] = {
    val present = inputs.files.map(f => placeOf(f.file)).toSet
    others.reverseIterator
      .find(_.changes.exists(c => c.added.exists(a => present((c.folder, a.name)))))
      .map { r =>
        if (r.columns != names) s"its layout was by (${r.columns.mkString(", ")})"
        else if (r.columnWeights != inputs.weights) "its layout had other weights"
        else s"its layout was for files of ${r.targetFileSize} bytes"
      }
  }

  /** Folder and name of a file, in the form that records use. */
  private def placeOf(file: DataFile): (String, String) =
    (folderNames(file.folder), file.path.getName)

  private lazy val folderNames =
    inputs.listed.folders.map(f => f -> Paths.relative(inputs.listed.root, f.path)).toMap

  /**
   * The files that some runs have made. A file counts only if it has the name and length that its
   * run recorded; the name contains the run's id.
   */
  private final class MadeFiles(runs: Seq[Record]) {
    private val made: Map[(String, String), (String, Long)] =
      (for {
        record <- runs
        change <- record.changes
        file <- change.added
      } yield (change.folder, file.name) -> ((record.run, file.length))).toMap

    /** The run that made a file. None if the length of the file has changed since. */
    def runOf(file: DataFile): Option[String] =
      made.get(placeOf(file)).collect { case (run, length) if length == file.length => run }
  }
}

private object RewriteSelector {
  // the name that Spark's writer gives to a file: part-00000-<job>-c000.snappy.parquet
  private val SparksName =
    "part-\\d+-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})[-_.].*".r

  /** The id of the job of Spark that wrote a file, if the name of the file has such an id. */
  def jobOf(file: Path): Option[String] = file.getName match {
    case SparksName(job) => Some(s"insert $job")
    case _ => None
  }
}
