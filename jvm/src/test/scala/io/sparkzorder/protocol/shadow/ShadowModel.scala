// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.protocol.shadow

import org.apache.hadoop.fs.{FileStatus, Path}

import io.sparkzorder.log.{Added, FolderChange, KnownRecord, Record, Replaced, Step}
import io.sparkzorder.snapshot.{FolderShadow, ShadowedFile}

/** What a file holds, and the time by which it is known again. */
final case class Content(rows: Set[Int], time: Int)

/** A record of the model. */
sealed trait Entry
final case class Shadow(
    run: String,
    replaced: Map[String, Int],
    added: Map[String, Set[Int]])
    extends Entry
final case class Abandoned(run: String) extends Entry
final case class Expired(run: String, names: Set[String]) extends Entry

/**
 * One folder on an object store.
 *
 * @param visible by name
 * @param hidden by run and name
 * @param log the records; the number of each is its position
 * @param clock the time of the next write
 */
final case class Store(
    visible: Map[String, Content],
    hidden: Map[(String, String), Content] = Map.empty,
    log: Vector[Entry] = Vector.empty,
    clock: Int = 1) {

  def put(name: String, rows: Set[Int]): Store =
    copy(visible = visible + (name -> Content(rows, clock)), clock = clock + 1)
}

/** Variants of the protocol that must be found to be wrong. */
final case class Broken(
    anyHeldSuffices: Boolean = false,
    ignoresChain: Boolean = false,
    skipsRecheck: Boolean = false,
    deletesUnannounced: Boolean = false,
    overwritesRecords: Boolean = false)

/** What a reader makes of a listing and of the records, by the rule of the product. */
final class Rule(broken: Broken) {

  /** The files to read, by name: a visible one, or the run that has hidden it. */
  def view(listed: Map[String, Content], log: Vector[Entry]): Map[String, Option[String]] = {
    val abandoned = log.collect { case Abandoned(run) => run }.toSet
    val gone = log.collect { case Expired(run, names) => names.map(run -> _) }.flatten.toSet
    val steps = log.collect { case s: Shadow if !abandoned(s.run) => step(s, listed, log) }
    val statuses = listed.map { case (n, c) => n -> status(n, c.time) }
    new FolderShadow(steps, (s, a) => !gone(s.known.record.run -> a.name)).over(statuses) match {
      case None => listed.map { case (n, _) => n -> None }
      case Some(files) => files.map { case (n, f) => n -> runOf(f) }
    }
  }

  private def runOf(f: ShadowedFile): Option[String] = f.shadow.map(_._1.known.record.run)

  private def step(s: Shadow, listed: Map[String, Content], log: Vector[Entry]): Step = {
    val needed = s.replaced.filter { case (name, time) =>
      if (broken.ignoresChain) listed.contains(name)
      else !broken.anyHeldSuffices || listed.get(name).exists(_.time == time)
    }
    val change = FolderChange(
      "",
      (if (needed.isEmpty) s.replaced else needed).toSeq.sorted
        .map { case (n, time) => Replaced(n, 1L, millis(time), "") },
      s.added.keys.toSeq.sorted.map(n => Added(s"_$n", n, 1L, 1L, 0L)))
    val record = Record.marker(Record.Optimize, s.run, "").copy(
      mode = Record.Shadow,
      createdMs = 0L,
      changes = Seq(change))
    val known = new KnownRecord(log.indexOf(s).toLong + 1, record, Nil)
    Step(known, change, underWay = false)
  }

  // times before 2013 tell no change of a file
  private def millis(time: Int): Long = 1700000000000L + time

  private def status(name: String, time: Int) =
    new FileStatus(1L, false, 1, 1L, millis(time), new Path(s"/t/$name"))
}

/** A process: its next step, or none at its end. */
trait Process {
  def name: String
  def step(store: Store): Option[(Store, Process)]
}

/** A process that has ended; `committed` is the record that it believes to have committed. */
final case class Ended(name: String, committed: Option[Entry] = None) extends Process {
  override def step(store: Store): Option[(Store, Process)] = None
}

/** OPTIMIZE: list, write, check again, create the next record. */
final class Driver(rule: Rule, broken: Broken) {

  def start(run: String): Process = Listing(run)

  private case class Listing(name: String) extends Process {
    override def step(store: Store): Option[(Store, Process)] =
      Some(store -> LogRead(name, store.visible))
  }

  private case class LogRead(name: String, listed: Map[String, Content]) extends Process {
    override def step(store: Store): Option[(Store, Process)] = {
      val view = rule.view(listed, store.log)
      // what a reader would find already laid out in one file is left
      if (view.size < 2) Some(store -> Ended(name))
      else Some(store -> Writing(name, listed, view, store.log.size))
    }
  }

  private def read(store: Store, name: String, hiddenBy: Option[String]): Option[Set[Int]] =
    hiddenBy match {
      case None => store.visible.get(name).map(_.rows)
      case Some(run) => store.hidden.get(run -> name).map(_.rows)
    }

  private case class Writing(
      name: String,
      listed: Map[String, Content],
      view: Map[String, Option[String]],
      seen: Int)
      extends Process {
    override def step(store: Store): Option[(Store, Process)] = {
      val rows = view.toSeq.map { case (n, by) => read(store, n, by) }
      if (rows.contains(None)) Some(store -> Ended(name))
      else {
        val file = Content(rows.flatten.flatten.toSet, 0)
        val replaced = view.map { case (n, by) =>
          n -> (if (by.isDefined) 0 else listed(n).time)
        }
        Some(store.copy(hidden = store.hidden + ((name, s"new-$name") -> file)) ->
          Checking(name, view, Shadow(name, replaced, Map(s"new-$name" -> file.rows)), seen))
      }
    }
  }

  private case class Checking(
      name: String,
      view: Map[String, Option[String]],
      record: Shadow,
      seen: Int)
      extends Process {
    override def step(store: Store): Option[(Store, Process)] = {
      val now = rule.view(store.visible, store.log)
      val isSame = record.replaced.forall { case (n, time) =>
        now.get(n) == view.get(n) &&
        (view(n).isDefined || store.visible.get(n).exists(_.time == time))
      }
      if (!isSame && !broken.skipsRecheck) Some(discard(store) -> Ended(name))
      else Some(store -> Creating(name, view, record, store.log.size))
    }

    private def discard(store: Store) =
      store.copy(hidden = store.hidden - (name -> s"new-$name"))
  }

  private case class Creating(
      name: String,
      view: Map[String, Option[String]],
      record: Shadow,
      number: Int)
      extends Process {
    override def step(store: Store): Option[(Store, Process)] =
      if (store.log.size == number) {
        Some(store.copy(log = store.log :+ record) -> Ended(name, Some(record)))
      } else if (broken.overwritesRecords) {
        Some(store.copy(log = store.log.updated(number, record)) -> Ended(name, Some(record)))
      } else {
        val taken = store.log.drop(number).exists {
          case s: Shadow => s.replaced.keySet.exists(record.replaced.contains)
          case Expired(_, names) => names.exists(record.replaced.contains)
          case _ => false
        }
        if (taken) Some(store -> Ended(name))
        else Some(store -> Checking(name, view, record, store.log.size))
      }
  }
}

/** UNDO LAYOUT of the last shadow. */
final case class Undo(name: String) extends Process {
  override def step(store: Store): Option[(Store, Process)] = {
    val gone = store.log.collect { case Abandoned(run) => run }.toSet
    store.log.collect { case s: Shadow if !gone(s.run) => s.run }.lastOption match {
      case Some(run) =>
        Some(store.copy(log = store.log :+ Abandoned(run)) -> Ended(name, Some(Abandoned(run))))
      case None => Some(store -> Ended(name))
    }
  }
}

/** VACUUM LAYOUT RETAIN 0 HOURS: what no reader reads is announced, and deleted then. */
final class Vacuum(rule: Rule, broken: Broken) {
  def start: Process = Looking

  private case object Looking extends Process {
    override def name: String = "vacuum"
    override def step(store: Store): Option[(Store, Process)] = {
      val used = rule.view(store.visible, store.log).collect { case (n, Some(run)) =>
        run -> n
      }.toSet
      val runs = store.log.collect { case s: Shadow => s.run }.toSet
      val unused = store.hidden.keySet.filter(h => runs(h._1) && !used(h))
      if (unused.isEmpty) Some(store -> Ended(name)) else Some(store -> Announcing(unused))
    }
  }

  private case class Announcing(unused: Set[(String, String)]) extends Process {
    override def name: String = "vacuum"
    override def step(store: Store): Option[(Store, Process)] = {
      val entries = unused.groupBy(_._1).toSeq.sortBy(_._1)
        .map { case (run, files) => Expired(run, files.map(_._2)) }
      val log = if (broken.deletesUnannounced) store.log else store.log ++ entries
      Some(store.copy(log = log) -> Deleting(unused))
    }
  }

  private case class Deleting(unused: Set[(String, String)]) extends Process {
    override def name: String = "vacuum"
    override def step(store: Store): Option[(Store, Process)] =
      Some(store.copy(hidden = store.hidden -- unused) -> Ended(name))
  }
}

/** A program that knows nothing of shadows: some changes, one after the other. */
final case class Writer(name: String, changes: List[Store => Store]) extends Process {
  override def step(store: Store): Option[(Store, Process)] = changes match {
    case Nil => None
    case change :: rest => Some(change(store) -> copy(changes = rest))
  }
  // two with as many changes left are at the same point
  override def hashCode: Int = name.hashCode + changes.size
  override def equals(o: Any): Boolean = o match {
    case w: Writer => w.name == name && w.changes.size == changes.size
    case _ => false
  }
}
