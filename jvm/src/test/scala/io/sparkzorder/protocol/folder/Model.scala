// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.protocol.folder

import io.sparkzorder.protocol.{Content, Failed, Finished, Program, Rows, RunCommitted, Text}
import io.sparkzorder.protocol.Program._

/** Ways to break the protocol, each of which the explorer must catch. */
object Fault extends Enumeration {
  val None: Value = Value

  /** No visible token: nobody notices an overwriter that spares hidden names. */
  val NoToken: Value = Value

  /** A conflict puts nothing back. */
  val NothingBack: Value = Value

  /** A conflict does not close the run's directory before it puts files back. */
  val OpenDoor: Value = Value

  /** New files get their names before the replaced ones are hidden. */
  val NewBeforeOld: Value = Value

  /** A replaced file is not looked at where it arrives. */
  val NoLookAfterMove: Value = Value

  /** A run that finds no record of itself deletes all that it has. */
  val DiscardAll: Value = Value

  /** The files of a dead run are removed without a record that keeps it from committing. */
  val CleanUnseen: Value = Value

  /** A folder whose token is gone counts as overwritten, although replaced files are hidden. */
  val GuessOverwritten: Value = Value

  /** Doubt is seen only where a run hides files first, and not where the end of a conflict moves them. */
  val DoubtInOwn: Value = Value

  /** An undo that finds no record of itself gives back all that it has. */
  val GiveAllBack: Value = Value

  /** A folder is looked for by its name alone, and not by the copy of its change. */
  val NoCopies: Value = Value

  /** A reader takes the folder of a published run for empty that was moved since. */
  val MovedUnseen: Value = Value

  /** A run takes what is listed, without a look at what earlier runs have replaced. */
  val MergeReturned: Value = Value
}

final case class Old(index: Int, name: String, content: Rows)
final case class New(index: Int, name: String, content: Rows) {

  /** The hidden name. An undo brings a file back that another run has hidden. */
  def hidden: String = if (index < New.Kept) s"_new_$index" else s"_old_${index - New.Kept}"
}

object New {

  /** From this index on, a file of an undo: the undone run has hidden it as an old one of the index without this. */
  val Kept = 200
}

object Old {

  /** From this index on, a file that an undo replaces. */
  val ByUndo = 100

  def isOfUndo(hidden: String): Boolean =
    hidden.startsWith("_old_") && hidden.stripPrefix("_old_").toInt >= ByUndo
}

final case class Change(folder: String, old: Seq[Old], added: Seq[New])

/** @param undone the run that this one undoes: its directories become those of this run */
final case class Run(id: String, changes: Seq[Change], undone: Option[String] = scala.None) {
  override lazy val hashCode: Int = id.hashCode * 31 + changes.hashCode
}

/** A record of `_commits`: a run, or the end of a dead one. */
final case class Numbered(run: Run, aborts: Boolean) extends Content

/** Where things lie. */
object At {
  val home = "t/_zorder"
  val commits = s"$home/_commits"
  val runs = s"$home/_runs"
  def record(n: Int): String = s"$commits/_$n"
  def done(n: Int): String = s"$commits/_${n}_done"
  def conflict(n: Int): String = s"$commits/_${n}_conflict"
  def intent(run: String): String = s"$runs/_$run"
  def own(folder: String, run: String): String = s"$folder/_zorder_$run"
  def closed(folder: String, run: String): String = s"$folder/_zorder_${run}_closed"

  /** The copy of a change holds the name of its folder. */
  def copy(folder: String, run: String): String = s"${own(folder, run)}/_change"
  def token(folder: String, run: String): String = s"$folder/c-$run"
  def isVisible(name: String): Boolean = !name.startsWith("_")
}

/** The records and their marks. */
final class LogModel {

  val numbers: Program[Seq[Int]] = look("numbers")(d =>
    d.list(At.commits).getOrElse(Nil).map(_.stripPrefix("_")).filter(n =>
      n.nonEmpty && n.forall(_.isDigit)).map(_.toInt).sorted)

  def read(n: Int): Program[Numbered] = look("read")(_.get(At.record(n))).flatMap {
    case Some(r: Numbered) => Finished(r)
    case _ => Failed("ZORDER_STATE_UNREADABLE")
  }

  def holds(n: Int, run: String): Program[Boolean] = look("holds")(_.get(At.record(n)) match {
    case Some(r: Numbered) => r.run.id == run
    case _ => false
  })

  /** One step: the mark holds the run's id, and the record is that run's. */
  def isDone(n: Int): Program[Boolean] = look("isDone")(d =>
    (d.get(At.done(n)), d.get(At.record(n))) match {
      case (Some(Text(run)), Some(r: Numbered)) => r.run.id == run
      case _ => false
    })

  def markDone(n: Int, run: String): Program[Unit] =
    isDone(n).flatMap(if (_) unit else write(At.done(n), Text(run)))

  def markConflict(n: Int): Program[Unit] = write(At.conflict(n), Text(""))

  /** All records, with whether they are done. */
  val all: Program[Seq[(Int, Numbered, Boolean)]] = numbers.flatMap(ns =>
    each(ns)(n =>
      for (r <- read(n); done <- isDone(n))
        yield (n, r, done)))

  val unfinished: Program[Seq[(Int, Run)]] =
    all.map(_.collect { case (n, r, false) if !r.aborts => n -> r.run })

  def create(n: Int, record: Numbered): Program[Boolean] = step("create record") { d =>
    if (d.get(At.record(n)).isDefined) (d, Option(false))
    else {
      val event = if (record.aborts) Nil else Seq(RunCommitted(n, record.run.id))
      d.put(At.record(n), record)
        .map(after => (event.foldLeft(after)(_.note(_)), Option(true)))
        .getOrElse((d, Option.empty[Boolean]))
    }
  }.flatMap(_.map(Finished(_)).getOrElse(Failed("IOException: no such directory")))

  private def write(path: String, c: Content): Program[Unit] =
    step("write mark")(d => d.put(path, c).map(_ -> true).getOrElse(d -> false))
      .flatMap(ok => if (ok) unit else Failed("IOException: no such directory"))
}
