// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.protocol.folder

import io.sparkzorder.protocol.{
  Actor,
  Disk,
  FileRewritten,
  FolderCleared,
  FolderMoved,
  FolderWritten,
  Invariant,
  OriginalsReturned,
  Rows,
  RowsAppended,
  RunCommitted,
  State
}

/** What must hold in every state, and when all have ended. */
final class Rules(
    original: Map[String, Seq[String]],
    overwritten: Set[String],
    sparing: Boolean,
    fault: Fault.Value,
    recordLost: Boolean = false) {
  private val statements = new Statements(fault)

  /** The folder where rows of a folder are, after all moves. */
  private def nowOf(disk: Disk, folder: String): String = disk.events.foldLeft(folder) {
    case (at, FolderMoved(from, to)) if at == from => to
    case (at, _) => at
  }

  private def folders(disk: Disk): Seq[String] =
    (original.keys ++ original.keys.map(nowOf(disk, _))).toSeq.distinct.sorted

  private def isReturned(disk: Disk, folder: String): Boolean =
    disk.events.contains(OriginalsReturned(folder))
  private val oldRows = original.values.flatten.toSet

  private def visible(disk: Disk, folder: String): Seq[String] =
    disk.list(folder).getOrElse(Nil).filter(At.isVisible)
      .flatMap(n => disk.rows(s"$folder/$n")).flatMap(_.rows)

  private val neverTwice = Invariant(
    "no row twice",
    s =>
      folders(s.disk).filterNot(isReturned(s.disk, _)).flatMap { f =>
        visible(s.disk, f).groupBy(identity).find(_._2.size > 1).map(r => s"${r._1} twice in $f")
      }.headOption)

  /** Somebody has brought the originals back: their rows are twice there, and no statement makes that last. */
  private val neverMerged = Invariant(
    "no returned row is merged",
    s =>
      s.disk.files.collectFirst {
        case (p, r: Rows) if r.rows != r.rows.distinct && At.isVisible(p.split('/').last) =>
          s"$p has a row twice"
      })

  private val neverLost = Invariant(
    "no only copy deleted",
    s => {
      val there = s.disk.files.valuesIterator.collect { case r: Rows => r.rows }.flatten.toSet
      val written = s.disk.events.collect {
        case FolderWritten(_, row) => row
        case RowsAppended(_) => "x"
        case FileRewritten(_) => "y"
      }
      (oldRows ++ written -- there -- s.disk.userDeleted).headOption.map(r => s"row $r is nowhere")
    })

  private def cleared(disk: Disk) = disk.events.collect { case FolderCleared(f) => f }
  private def isBelow(folder: String, top: String) = folder == top || folder.startsWith(top + "/")

  private val neverBack = Invariant(
    "no replaced row comes back",
    s =>
      cleared(s.disk).flatMap { top =>
        original.keys.filter(isBelow(_, top)).flatMap(visible(s.disk, _)).find(oldRows)
          .map(r => s"$r is back in $top")
      }.headOption)

  private val commitStays = Invariant(
    "the commit is exclusive",
    s =>
      if (overwritten("t") || recordLost) None
      else s.disk.events.collect { case RunCommitted(n, run) => n -> run }.flatMap {
        case (n, run) =>
          s.disk.get(At.record(n)) match {
            case Some(r: Numbered) if r.run.id == run => None
            case other => Some(s"record $n of run $run is now $other")
          }
      }.headOption)

  private val copies = Invariant(
    "a copy is whole",
    s =>
      s.actors.filter(_.name == "INTO").flatMap { a =>
        a.result.collect { case Right(rows: Seq[_]) => rows.map(_.toString) }.flatMap { rows =>
          val twice = rows.diff(rows.distinct).headOption.map(r => s"the copy has $r twice")
          twice.orElse {
            if (overwritten.nonEmpty) None
            else (oldRows -- rows).headOption.map(r => s"the copy lacks $r")
          }
        }
      }.headOption)

  private val readersRight = Invariant(
    "readers see each row once",
    s =>
      s.actors.filter(_.name.startsWith("reader")).flatMap { a =>
        a.result.collect { case Right(rows: Seq[_]) => rows.map(_.toString) }.flatMap { rows =>
          val twice = rows.diff(rows.distinct).headOption.map(r => s"${a.name} got $r twice")
          twice.orElse {
            if (overwritten.nonEmpty || a.name.contains("without")) None
            else (oldRows -- rows -- s.disk.userDeleted).headOption.map(r => s"${a.name} missed $r")
          }
        }
      }.headOption)

  private def endState(s: State): Option[String] = {
    val tried = (1 to 3).foldLeft(s.disk)((d, _) => Actor.run(statements.recover, d)._1)
    Actor.run(statements.recover, tried) match {
      // an error says what is wrong; whichever way out is taken, no row is lost or doubled
      case (disk, Left(e)) if e.contains("ZORDER_FOLDER_IN_DOUBT") =>
        inDoubt(disk).orElse(ended(Actor.run(statements.abandon, disk)._1, brought = true))
      case (disk, _) => ended(disk, brought = false)
    }
  }

  /** While a folder is in doubt, a reader gets the error. The reader of the model knows the first run of a folder. */
  private def inDoubt(disk: Disk): Option[String] = {
    val isLater = disk.events.exists {
      case RunCommitted(_, run) => Statements.isOfPasses(run) || Statements.isUndo(run)
      case _ => false
    }
    if (isLater) None else readInDoubt(disk)
  }

  private def readInDoubt(disk: Disk): Option[String] = {
    val wrong = folders(disk).flatMap(f => Actor.run(statements.reader.read(f), disk)._2.toOption)
    if (wrong.size < folders(disk).size) None
    else Some(s"a folder is in doubt, and readers get $wrong")
  }

  /** @param brought whether a person has said that a folder was not overwritten */
  private def ended(disk: Disk, brought: Boolean): Option[String] = {
    val recovered = State(disk, Vector.empty, 0)
    neverTwice.wrong(recovered)
      .orElse(neverLost.wrong(recovered))
      .orElse(if (brought) None else neverBack.wrong(recovered))
      .orElse(original.keys.toSeq.sorted.flatMap(rowsOf(disk, _)).headOption)
      .orElse(stray(disk))
      .orElse(nextRun(disk))
  }

  private def rowsOf(disk: Disk, folder: String): Option[String] = {
    val rows = visible(disk, nowOf(disk, folder)).toSet
    val clear = disk.events.lastIndexWhere {
      case FolderCleared(top) => isBelow(folder, top)
      case _ => false
    }
    val append = disk.events.indexOf(RowsAppended(folder))
    val lost =
      if (clear >= 0) {
        val wrote = disk.events.collect { case FolderWritten(`folder`, row) => row }
        wrote.toSet ++ (if (append > clear) Set("x")
                        else Set.empty[String]) -- rows -- disk.userDeleted
      } else {
        val expected = original(folder).toSet ++ (if (append >= 0) Set("x") else Set.empty[String])
        val y = if (disk.events.contains(FileRewritten(folder))) Set("y") else Set.empty[String]
        expected ++ y -- rows -- (disk.userDeleted - "y")
      }
    // who overwrote has failed half way: it deleted our files, and has to be run again
    val half = overwritten.exists(top => isBelow(folder, top) && !cleared(disk).contains(top))
    val kept = disk.files.collect {
      case (p, r: Rows) if p.contains("/_zorder_") => r.rows
    }.flatten.toSet
    val named = disk.files.keys.exists(_.endsWith("_conflict")) || half
    if (lost.isEmpty || (overwritten.nonEmpty && named && lost.subsetOf(kept))) None
    else Some(s"${lost.mkString(", ")} are missing in $folder")
  }

  private def stray(disk: Disk): Option[String] = {
    val runs = disk.events.collect { case RunCommitted(_, run) => run }.toSet
    folders(disk).flatMap(f => disk.list(f).getOrElse(Nil).map(f -> _)).collectFirst {
      case (f, n) if n.startsWith("n-") && !runs(n.split('-')(1)) => s"$f/$n of no committed run"
      case (f, n) if n.startsWith("c-") && !overwritten("t") => s"$f/$n still there"
    }
  }

  private def nextRun(disk: Disk): Option[String] = {
    val (after, result) = Actor.run(statements.optimize("next"), disk)
    result match {
      case Left(error) if error.contains(Statements.Named) =>
        // who has put such a name there is told so, and nothing is merged
        val isNamed = disk.events.exists {
          case _: OriginalsReturned | _: FileRewritten => true
          case _ => false
        }
        if (isNamed) None else Some(s"nobody has reused a name, but: $error")
      case Left(error) => Some(s"the next OPTIMIZE fails: $error")
      case Right(_) =>
        folders(disk).find(f => visible(disk, f).sorted != visible(after, f).sorted)
          .map(f => s"the next OPTIMIZE changes the rows of $f")
    }
  }

  // an old file that was put back just before is hidden again by the next recovery
  val always: Seq[Invariant] =
    Seq(neverTwice, neverMerged, neverLost, commitStays, copies, readersRight) ++ (if (sparing) Nil
                                                                                   else
                                                                                     Seq(neverBack))
  val atEnd: Seq[Invariant] = Seq(Invariant("after recovery", endState))
}
