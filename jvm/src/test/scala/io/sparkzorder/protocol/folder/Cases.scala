// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.protocol.folder

import io.sparkzorder.protocol.{Actor, Disk, Explored, Explorer, Program, Rows, WriterModels}

final case class Case(
    name: String,
    folders: Map[String, Map[String, Seq[String]]],
    actors: Seq[(String, Statements => Program[Any])],
    crashes: Int = 1,
    overwritten: Set[String] = Set.empty,
    sparing: Boolean = false,
    exclusive: Boolean = false,
    recordLost: Boolean = false,
    prepare: (Statements, Disk) => Disk = (_, d) => d) {

  def explore(fault: Fault.Value = Fault.None): Explored = {
    val statements = new Statements(fault, exclusive)
    val rules = new Rules(
      folders.map { case (f, files) => f -> files.values.flatten.toSeq },
      overwritten,
      sparing,
      fault,
      recordLost)
    val mortal = actors.map(_._1).filter(Case.Mortal).toSet
    new Explorer(mortal, crashes, rules.always, rules.atEnd)
      .explore(prepare(statements, disk), actors.map { case (n, p) => Actor(n, p(statements)) })
  }

  private def disk: Disk = folders.foldLeft(Disk(Map.empty, Set.empty)) {
    case (d, (folder, files)) =>
      files.foldLeft(d.makeDirectories(folder)) { case (now, (name, rows)) =>
        now.put(s"$folder/$name", Rows(rows)).get
      }
  }
}

object Case {
  private type Who = (String, Statements => Program[Any])
  val Mortal: Set[String] =
    Set(
      "rewriter",
      "second rewriter",
      "recoverer",
      "another recoverer",
      "ABANDON",
      "UNDO",
      "VACUUM")

  private val p = "t/p"
  private val two = Map(p -> Map("a" -> Seq("a1"), "b" -> Seq("b1")))
  private val one = Map(p -> Map("a" -> Seq("a1", "a2")))
  private val small = Map(p -> Map("a" -> Seq("a1")))

  private val rewriter: Who = "rewriter" -> (_.optimize("r1"))
  private val second: Who = "second rewriter" -> (_.optimize("r2"))
  private val recoverer: Who = "recoverer" -> (_.recover)
  private val another: Who = "another recoverer" -> (_.recover)
  private val abandon: Who = "ABANDON" -> (_.abandon)
  private val vacuum: Who = "VACUUM" -> (_.vacuum)
  private val expiry: Who = "VACUUM" -> (_.expire)
  private val inTwo: Who = "rewriter" -> (_.optimizeInTwoPasses("r1"))
  private val secondInTwo: Who = "second rewriter" -> (_.optimizeInTwoPasses("r2"))
  private val twoOfTwo = Map(p -> Map("a" -> Seq("a1", "a2"), "b" -> Seq("b1", "b2")))
  private val q = "t/q"
  private val reader: Who = "reader with the extension" -> (s => s.reader.read(p))
  private val tableReader: Who =
    "reader of the table with the extension" -> (_.reader.readTable)
  private val plain: Who = "reader without the extension" -> (s => s.reader.plain(p))
  private val mover: Who = "mover" -> (_ => WriterModels.move(p, q))
  private val cleaner: Who = "cleaner of empty files" -> (_ => WriterModels.cleanEmpty(p))
  private val restorer: Who =
    "restorer" -> (_ => WriterModels.bringBack(s"$p/a", Rows(Seq("a1", "a2"))))
  private val into: Who = "INTO" -> (_.into)
  private val undo: Who = "UNDO" -> (_.undo("u1"))
  private val appender: Who = "appender" -> (_ => WriterModels.append(p, Seq("x")))
  private val overwriter: Who =
    "partition overwriter" -> (_ => WriterModels.overwrite(p, p, Seq("w")))
  private def dropper(stateFirst: Boolean): Who =
    "table overwriter" -> (_ => WriterModels.overwrite("t", p, Seq("w"), stateFirst))
  private val sparer: Who = "overwriter that spares" -> (_ => SparingWriter.overwrite(p, "w"))
  private val fileWriter: Who =
    "file writer" -> (_ => WriterModels.overwriteFile(s"$p/b", Seq("y")))
  private val newRemover: Who =
    "remover of a new file" -> (_ => SparingWriter.remove(s"$p/n-r1-0-0"))
  private val remover: Who = "remover" -> (_ => SparingWriter.remove(s"$p/b"))

  val recovery =
    Case("rewriter, appender, recoverer, two crashes", one, Seq(rewriter, appender, recoverer), 2)
  val recoverers =
    Case("rewriter, two recoverers, two crashes", small, Seq(rewriter, recoverer, another), 2)
  val overwrittenPartition =
    Case(
      "rewriter, partition overwriter, appender, crash",
      two,
      Seq(rewriter, overwriter, appender),
      1,
      Set(p))
  val overwrittenRecovered =
    Case(
      "rewriter, partition overwriter, recoverer, crash",
      small,
      Seq(rewriter, overwriter, recoverer),
      1,
      Set(p))
  def overwrittenTable(stateFirst: Boolean) = Case(
    s"rewriter, table overwriter (${if (stateFirst) "_zorder" else "data"} first), crash",
    one,
    Seq(rewriter, dropper(stateFirst)),
    1,
    Set("t"))
  val twoRewriters =
    Case("two rewriters, appender, crash", small, Seq(rewriter, second, appender), 1)
  val spared = Case(
    "rewriter, overwriter that spares hidden names, crash",
    two,
    Seq(rewriter, sparer),
    1,
    Set(p),
    sparing = true)
  val sparedRecovered = Case(
    "rewriter, overwriter that spares hidden names, recoverer, crash",
    small,
    Seq(rewriter, sparer, recoverer),
    1,
    Set(p),
    sparing = true)
  val fileOverwritten =
    Case(
      "rewriter, a writer of one file under its old name, crash",
      two,
      Seq(rewriter, fileWriter),
      1)
  val fileOverwrittenRecovered = Case(
    "rewriter, a writer of one file, recoverer, two crashes",
    two,
    Seq(rewriter, fileWriter, recoverer),
    2,
    exclusive = true)
  val fileRemovedRecovered =
    Case(
      "rewriter, somebody removes one file, recoverer, two crashes",
      two,
      Seq(rewriter, remover, recoverer),
      2)
  val newRemoved =
    Case(
      "rewriter, somebody removes a visible new file, recoverer, crash",
      one,
      Seq(rewriter, newRemover, recoverer))
  val abandoned = Case("rewriter, ABANDON, recoverer", small, Seq(rewriter, abandon, recoverer), 0)
  val abandonedAfterCrash = Case("rewriter, ABANDON, crash", small, Seq(rewriter, abandon), 1)
  val abandonedOfTwo = Case("rewriter of two files, ABANDON, crash", two, Seq(rewriter, abandon), 1)
  val abandonedAfterCrashes = Case("rewriter, ABANDON, two crashes", two, Seq(rewriter, abandon), 2)
  val abandonedAndOverwritten =
    Case(
      "rewriter, ABANDON, partition overwriter, crash",
      small,
      Seq(rewriter, abandon, overwriter),
      1,
      Set(p))
  val vacuumed = Case("two rewriters, VACUUM, crash", small, Seq(rewriter, second, vacuum), 1)
  val expired = Case(
    "rewriter, VACUUM of what expired, recoverer, crash",
    small,
    Seq(rewriter, expiry, recoverer),
    1)
  val readers = Case(
    "rewriter, readers without and with the extension, crash",
    one,
    Seq(rewriter, plain, reader),
    1)
  val readersOfConflict =
    Case(
      "rewriter, somebody removes one file, reader with the extension, crash",
      two,
      Seq(rewriter, remover, reader),
      1)
  val readersOfAbandoned =
    Case(
      "rewriter, ABANDON, reader with the extension, crash",
      small,
      Seq(rewriter, abandon, reader),
      1)
  val moved =
    Case("rewriter, a folder is moved, recoverer, crash", small, Seq(rewriter, mover, recoverer))
  val movedAndAbandoned =
    Case("rewriter, a folder is moved, ABANDON, crash", small, Seq(rewriter, mover, abandon))
  val cleaned =
    Case(
      "rewriter, a cleaner of empty files, recoverer, crash",
      one,
      Seq(rewriter, cleaner, recoverer))
  val cleanedAndAbandoned =
    Case(
      "rewriter, a cleaner of empty files, ABANDON, crash",
      small,
      Seq(rewriter, cleaner, abandon))
  val readersOfCleaned =
    Case(
      "rewriter, a cleaner of empty files, reader with the extension, crash",
      one,
      Seq(rewriter, cleaner, reader))
  private val committed: (Statements, Disk) => Disk = (s, d) =>
    Actor.runUntil(s.optimize("r1"), d)(_.get(At.record(1)).isDefined)
  private val hidden: (Statements, Disk) => Disk = (s, d) =>
    Actor.runUntil(s.optimize("r1"), d)(_.rows(s"$p/a").isEmpty)
  val readersOfCleanedAndAbandoned =
    Case(
      "a run killed with its old files hidden, a cleaner of empty files, ABANDON, reader",
      small,
      Seq(cleaner, abandon, reader),
      1,
      prepare = hidden)
  val readersOfCleanedAndPublished =
    Case(
      "a run killed with its old files hidden, recoverer, a cleaner of empty files, ABANDON, reader",
      small,
      Seq(recoverer, cleaner, abandon, reader),
      0,
      prepare = hidden)
  val readersOfMoved =
    Case(
      "a killed run, recoverer, a folder is moved, reader of the table, crash",
      one,
      Seq(recoverer, mover, tableReader),
      prepare = committed)
  val readersOfMovedAndAbandoned =
    Case(
      "a killed run, a folder is moved, ABANDON, reader of the table, crash",
      one,
      Seq(abandon, mover, tableReader),
      prepare = committed)
  val readersOfHiddenMovedAndAbandoned =
    Case(
      "a run killed with its old files hidden, a folder is moved, ABANDON, reader of the table",
      small,
      Seq(abandon, mover, tableReader),
      prepare = hidden)
  private val late: Who = "late task" -> (_ => WriterModels.lateTask(At.own(p, "r1")))
  val lateTask =
    Case(
      "rewriter, a task that ends after it, somebody removes one file, VACUUM, crash",
      two,
      Seq(rewriter, late, remover, vacuum))
  val restored =
    Case(
      "rewriter, originals come back, second rewriter, crash",
      one,
      Seq(rewriter, restorer, second))
  val copied = Case("rewriter, INTO, crash", one, Seq(rewriter, into), 1)
  val undone = Case(
    "UNDO, recoverer, late publisher, crash",
    one,
    Seq(undo, recoverer, "rewriter" -> (_.optimize("r2"))),
    1,
    prepare = (s, d) => Actor.run(s.optimize("r1"), d)._1)
  val undoneOverwritten = Case(
    "UNDO, partition overwriter, recoverer",
    small,
    Seq(undo, recoverer, overwriter),
    0,
    Set(p),
    prepare = (s, d) => Actor.run(s.optimize("r1"), d)._1)

  private def undoing(name: String, actors: Seq[Who]) =
    Case(name, small, actors, prepare = (s, d) => Actor.run(s.optimize("r1"), d)._1)
  val undoneVacuumed = undoing("UNDO, VACUUM, crash", Seq(undo, vacuum))
  val undoneAbandoned = undoing("UNDO, ABANDON, crash", Seq(undo, abandon))
  val undoneExpired =
    undoing("UNDO, VACUUM of what expired, recoverer, crash", Seq(undo, expiry, recoverer))
  val undoneMoved =
    undoing("UNDO, a folder is moved, recoverer, crash", Seq(undo, mover, recoverer))
  val undoneCleaned =
    undoing("UNDO, a cleaner of empty files, ABANDON, crash", Seq(undo, cleaner, abandon))
  private val oldRemover: Who = "remover" -> (_ => SparingWriter.remove(s"$p/a"))
  val undoneRemoved = undoing(
    "UNDO, somebody removes a file of the undone run, recoverer, crash",
    Seq(undo, newRemover, recoverer))
  val undoneOldRemoved = undoing(
    "UNDO, somebody removes a file that came back, recoverer, crash",
    Seq(undo, oldRemover, recoverer))
  private val recordRestorer: Who =
    "restorer of the record" -> (s => WriterModels.renameFile("t/away", At.record(2)))
  val undoneRecordLost = Case(
    "UNDO killed with the files of the undone run hidden, its record removed, VACUUM, the record restored",
    small,
    Seq(vacuum, recordRestorer),
    1,
    recordLost = true,
    prepare = (s, d) => {
      val done = Actor.run(s.optimize("r1"), d)._1
      Actor.runUntil(s.undo("u1"), done)(_.rows(s"$p/n-r1-0-0").isEmpty)
        .rename(At.record(2), "t/away").get
    })
  private val conflictCleaner: Who = "cleaner of hidden empty files" -> (_ =>
    WriterModels.cleanConflict(Seq(At.own(p, "r1"), At.closed(p, "r1"))))
  val cleanedWhileEnded = Case(
    "a run killed with its old files hidden, ABANDON, a cleaner of hidden empty files, reader, crash",
    small,
    Seq(abandon, conflictCleaner, reader),
    1,
    prepare = hidden)

  val twoPasses = Case(
    "rewriter in two passes, appender, recoverer, crash",
    twoOfTwo,
    Seq(inTwo, appender, recoverer))
  val twoPassesGoOn = Case(
    "two rewriters in two passes, crash",
    one,
    Seq(inTwo, secondInTwo))
  val twoPassesOverwritten = Case(
    "rewriter in two passes, partition overwriter, crash",
    twoOfTwo,
    Seq(inTwo, overwriter),
    1,
    Set(p))
  val twoPassesFileOverwritten = Case(
    "rewriter in two passes, a writer of one file under its old name, crash",
    twoOfTwo,
    Seq(inTwo, fileWriter),
    1)
  val vacuumOfTwoPasses = Case(
    "rewriter in two passes, VACUUM of what expired, crash",
    twoOfTwo,
    Seq(inTwo, expiry),
    1)

  /** Few steps of few, so that all are explored in a minute. */
  val quick: Seq[Case] = Seq(
    recovery,
    recoverers,
    overwrittenPartition,
    overwrittenTable(true),
    overwrittenTable(false),
    twoRewriters,
    spared,
    sparedRecovered,
    fileOverwritten,
    fileOverwrittenRecovered,
    fileRemovedRecovered,
    newRemoved,
    abandonedAfterCrash,
    vacuumed,
    expired,
    readers,
    readersOfConflict,
    moved,
    cleaned,
    cleanedAndAbandoned,
    readersOfCleaned,
    readersOfCleanedAndAbandoned,
    readersOfMoved,
    readersOfMovedAndAbandoned,
    readersOfHiddenMovedAndAbandoned,
    lateTask,
    restored,
    copied,
    cleanedWhileEnded,
    undoneVacuumed,
    undoneExpired,
    undoneAbandoned,
    undoneMoved,
    undoneCleaned,
    undoneRemoved,
    undoneOldRemoved,
    undoneRecordLost,
    twoPasses,
    twoPassesGoOn,
    twoPassesOverwritten,
    twoPassesFileOverwritten,
    vacuumOfTwoPasses)

  val large: Seq[Case] = Seq(
    overwrittenRecovered,
    abandoned,
    abandonedOfTwo,
    abandonedAfterCrashes,
    movedAndAbandoned,
    abandonedAndOverwritten,
    readersOfAbandoned,
    readersOfCleanedAndPublished,
    undone,
    undoneOverwritten)
}
