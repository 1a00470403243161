package io.sparkzorder.protocol

/**
 * What must hold in every state, and when all have ended.
 *
 * @param original rows of the table at the start, by folder
 * @param overwritten directories that somebody overwrites
 * @param variant of the protocol, which recovers too
 * @param rewritesFile whether somebody writes a file again under its old name
 */
final class Invariants(
    original: Map[String, Seq[String]],
    overwritten: Set[String],
    rewritesFile: Boolean,
    variant: Variant.Value) {

  private val recovery = new RewriterModel(variant)
  private val oldRows = original.values.flatten.toSet

  private def visible(disk: Disk, folder: String): Seq[String] =
    disk.list(folder).getOrElse(Nil).filter(Places.isVisible)
      .flatMap(n => disk.rows(s"$folder/$n")).flatMap(_.rows)

  /** Who lists a folder without the extension never counts a row twice. */
  val neverTwice: Invariant = Invariant(
    "no row twice",
    s =>
      original.keys.flatMap { f =>
        visible(s.disk, f).groupBy(identity).find(_._2.size > 1).map(r => s"${r._1} twice in $f")
      }.headOption)

  /** Every row lies in some file, unless a writer has deleted a file with it. */
  val neverLost: Invariant = Invariant(
    "no only copy deleted",
    s => {
      val there = s.disk.files.valuesIterator.collect { case r: Rows => r.rows }.flatten.toSet
      val expected = oldRows ++ written(s.disk)
      (expected -- there -- s.disk.userDeleted).headOption.map(r => s"row $r is nowhere")
    })

  private def written(disk: Disk): Set[String] = disk.events.collect {
    case FolderWritten(_, row) => row
    case RowsAppended(_) => "x"
    case FileRewritten(_) => "y"
  }.toSet

  /** Once an overwriter has cleared a directory, nothing of before is seen there again. */
  val neverBack: Invariant = Invariant(
    "no replaced row comes back",
    s =>
      cleared(s.disk).flatMap { top =>
        original.keys.filter(isBelow(_, top)).flatMap(visible(s.disk, _)).find(oldRows)
          .map(r => s"$r is back in $top")
      }.headOption)

  private def cleared(disk: Disk): Seq[String] = disk.events.collect { case FolderCleared(f) => f }

  private def isBelow(folder: String, top: String) = folder == top || folder.startsWith(top + "/")

  /** The record that a run has committed stays what it is, until the whole table is overwritten. */
  val commitStays: Invariant = Invariant(
    "the commit is exclusive",
    s =>
      if (overwritten(Places.root)) None
      else s.disk.events.collect { case RunCommitted(n, run) => n -> run }.flatMap {
        case (n, run) =>
          s.disk.get(Places.record(n)) match {
            case Some(Committed(r)) if r.run == run => None
            case other => Some(s"record $n of run $run is now $other")
          }
      }.headOption)

  /** No two runs replace the same file. */
  val replacedOnce: Invariant = Invariant(
    "a file is replaced by one run",
    s => {
      val all = s.disk.files.valuesIterator.collect { case Committed(r) => r }.toSeq.distinct
      val committed = all.filter(r =>
        s.disk.events.exists {
          case RunCommitted(_, run) => run == r.run
          case _ => false
        })
      committed.flatMap(r =>
        r.changes.flatMap(c => c.replaced.map(f => (c.folder, f.name, f.content))))
        .groupBy(identity).find(_._2.size > 1).map(f => s"${f._1} is replaced twice")
    })

  /** A reader never gets a row twice, and one with the extension gets all or fails. */
  val readersRight: Invariant = Invariant(
    "readers see each row once",
    s =>
      s.actors.filter(_.name.startsWith("reader")).flatMap { a =>
        a.result.collect { case Right(rows: Seq[_]) => rows.map(_.toString) }.flatMap(wrongRead(
          a.name,
          _))
      }.headOption)

  private def wrongRead(reader: String, rows: Seq[String]): Option[String] = {
    val twice = rows.diff(rows.distinct).headOption.map(r => s"$reader got $r twice")
    val mayMiss = overwritten.nonEmpty || rewritesFile || reader.contains("without")
    twice.orElse {
      if (mayMiss) None else (oldRows -- rows).headOption.map(r => s"$reader missed $r")
    }
  }

  /** What every interleaving must leave behind once an OPTIMIZE has rolled forward. */
  val afterRecovery: Invariant = Invariant("after recovery", s => endState(s))

  private def endState(s: State): Option[String] = {
    // each recovery may end in the named conflict of one run
    val disk = (1 to 3).foldLeft(s.disk)((d, _) => Actor.run(recovery.recover, d)._1)
    val recovered = State(disk, Vector.empty, 0)
    neverTwice.wrong(recovered)
      .orElse(neverLost.wrong(recovered))
      .orElse(neverBack.wrong(recovered))
      .orElse(original.keys.toSeq.sorted.flatMap(rowsOf(disk, _)).headOption)
      .orElse(stray(disk))
      .orElse(nextRun(disk))
  }

  /** The rows of a folder are as if each statement had happened at one moment. */
  private def rowsOf(disk: Disk, folder: String): Option[String] = {
    val rows = visible(disk, folder).toSet
    val clear = disk.events.lastIndexWhere {
      case FolderCleared(top) => isBelow(folder, top)
      case _ => false
    }
    val append = disk.events.indexOf(RowsAppended(folder))
    val lost =
      if (clear >= 0) {
        val wrote = disk.events.collect { case FolderWritten(`folder`, row) => row }
        val appended = if (append > clear) Set("x") else Set.empty[String]
        // another overwriter may have deleted these, and failed before the whole table was cleared
        wrote.toSet ++ appended -- rows -- disk.userDeleted
      } else {
        val expected = original(folder).toSet ++ (if (append >= 0) Set("x") else Set.empty[String])
        val y = if (disk.events.contains(FileRewritten(folder))) Set("y") else Set.empty[String]
        expected ++ y -- rows -- (disk.userDeleted - "y")
      }
    // kept for good, and an error says where
    val kept = disk.files.collect {
      case (p, r: Rows) if p.contains("/_retained/") || p.contains("/_zorder_") => r.rows
    }.flatten.toSet
    // where nobody overwrites, a conflict hides nothing
    val mayHide = overwritten.nonEmpty && isNamed(disk)
    if (lost.isEmpty || (mayHide && lost.subsetOf(kept))) None
    else Some(s"${lost.mkString(", ")} are missing in $folder")
  }

  /** A conflict was noted, or the overwriter of the table failed half way after deleting our records. */
  private def isNamed(disk: Disk): Boolean =
    (othersChange && disk.files.keys.exists(_.endsWith("_conflict"))) || isHalfOverwritten(disk)

  private def isHalfOverwritten(disk: Disk): Boolean =
    overwritten(Places.root) && !cleared(disk).contains(Places.root)

  // where nobody else changes or removes data files no conflict may cost a row
  private def othersChange = overwritten.nonEmpty || rewritesFile

  /** Visible files are those of the writers and of committed runs, and none waits any more. */
  private def stray(disk: Disk): Option[String] = {
    val runs = disk.events.collect { case RunCommitted(_, run) => run }.toSet
    // nobody knows of a hidden file whose record is deleted while its folder is not
    val failed = isHalfOverwritten(disk)
    original.keys.flatMap(f => disk.list(f).getOrElse(Nil).map(f -> _)).collectFirst {
      case (f, n) if n.startsWith("n-") && !runs(n.split('-')(1)) => s"$f/$n of no committed run"
      case (f, n) if n.startsWith("_zorder_") && !failed => s"$f/$n still waits"
    }
  }

  /** The next OPTIMIZE commits, and changes no row. */
  private def nextRun(disk: Disk): Option[String] = {
    val (after, result) = Actor.run(recovery.optimize("next"), disk)
    result match {
      case Left(error) => Some(s"the next OPTIMIZE fails: $error")
      case Right(_) =>
        original.keys.find(f => visible(disk, f).sorted != visible(after, f).sorted)
          .map(f => s"the next OPTIMIZE changes the rows of $f")
    }
  }

  val always: Seq[Invariant] =
    Seq(neverTwice, neverLost, neverBack, commitStays, replacedOnce, readersRight)
  val atEnd: Seq[Invariant] = Seq(afterRecovery)
}
