// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.log

import java.io.{File, FileNotFoundException, IOException}

import scala.util.Random

import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.hadoop.security.AccessControlException
import org.scalatest.tagobjects.Slow

import io.sparkzorder.FaultyFileSystem
import io.sparkzorder.log.publish.{Checkpoints, LiveFacts}

/** Checkpoints: what they keep, what they cost, and what of a checkpoint counts for nothing. */
class CheckpointSuite extends CheckpointTestBase {

  for ((n, tags) <- Seq(400 -> Nil, 10000 -> Seq(Slow)))
    test(s"$n records cost a statement and the first query no more than 20 do", tags: _*) {
      def opened(records: Int): (Int, Int) = {
        var counts = (0, 0)
        withScheme("faulty") { (dir, state) =>
          runs(dir, 1L to records.toLong)
          checkpoints(state)
          // a session that has not seen the table
          History.forget(state.root.toString)
          val query = count("open", "list")(new CommitLogReader(state).read())
          History.forget(state.root.toString)
          counts = (query, count("open", "list")(TableLog.read(state).unfinished))
        }
        counts
      }
      val (few, many) = (opened(20), opened(n))
      info(s"20 records: $few calls; $n: $many")
      assert(many._1 <= few._1 && many._2 <= few._2)
    }

  test("a checkpoint holds the files in the table, the columns and the last records") {
    withTable { (dir, state) =>
      published(dir, (1L to 30L).map(n => n -> optimize(n, s"p=${n % 3}", Seq(s"c$n"))))
      // each run of a folder replaces a file of another name, so that all stay
      val before = read(state)
      checkpoints(state)
      History.forget(state.root.toString)
      val now = read(state)
      assert(checkpointFiles(dir) === Seq(20) && recordFiles(dir) === (21L to 30L))
      assert(now.last === 30 && now.records === before.records.drop(20))
      assert(now.all.map(_._1) === (1L to 30L))
      assert(now.all.map(_._2.changes.map(_.added)) === before.all.map(_._2.changes.map(_.added)))
      assert(now.inForce.map(_._2.run) === before.inForce.map(_._2.run))
    }
  }

  test("what later runs replaced is forgotten, the columns in force are not") {
    withTable { (dir, state) =>
      published(dir, Seq(1L -> optimize(1, columns = Seq("x", "y"))))
      published(dir, (2L to 40L).map(n => n -> optimize(n, columns = Nil)))
      checkpoints(state)
      val now = read(state)
      // number 30 added the file that 31 replaces
      assert(now.all.map(_._1) === 1L +: (30L to 40L))
      assert(now.inForce.map(_._2.columns).find(_.nonEmpty) === Some(Seq("x", "y")))
    }
  }

  test("a run whose replaced files are kept stays whole, its undo hides it, its death is known") {
    withTable { (dir, state) =>
      runs(dir, 1L to 40L)
      // number 5 is undone by number 6, and something of it is kept
      val undo = optimize(6).copy(kind = Record.Undo, undone = Some(id("run 5")))
      val abort = optimize(7).copy(
        kind = Record.Abort,
        changes = Nil,
        createdMs = System.currentTimeMillis() - hour)
      published(dir, Seq(6L -> undo, 7L -> abort))
      val notes = new Intents(state)
      for (n <- Seq(5, 12)) notes.write(Intent(id(s"run $n"), Seq("")))
      checkpoints(state)
      val now = read(state)
      assert(now.records.map(_._1) === Seq(5L, 7L, 12L) ++ (31L to 40L))
      assert(recordFiles(dir) === now.records.map(_._1))
      assert(now.isUndone(id("run 5")) && now.isAborted(id("run 7")))
      assert(now.records.find(_._1 == 12).get._2 === optimize(12))
      assert(!now.inForce.exists(_._1 == 5L))
      // and reduced when it is not kept any more
      notes.remove(id("run 12"))
      runs(dir, 41L to 50L)
      checkpoints(state)
      assert(read(state).records.map(_._1) === Seq(5L, 7L) ++ (41L to 50L))
      assert(recordFiles(dir) === Seq(5L, 7L) ++ (41L to 50L))
    }
  }

  test("a run that met a conflict stays whole, and readers look for what it gives back") {
    withTable { (dir, state) =>
      runs(dir, 1L to 40L)
      put(commits(dir), "_7_conflict", "")
      val before = new CommitLogReader(state).read().pending.map(_.known.number)
      checkpoints(state)
      val now = new CommitLogReader(state).read()
      assert(before === Seq(7) && now.pending.map(_.known.number) === Seq(7))
      assert(
        now.pending.head.known.record === optimize(7) && TableLog.read(state).unfinished.isEmpty)
      assert(recordFiles(dir) === 7L +: (31L to 40L) && state.hasConflict(7))
      // run 7 gave f6 back, which is a file of run 6 again, and it gave back no file that earlier runs had replaced
      assert(now.pending.head.known.changes === optimize(7).changes)
      assert(TableLog.read(state).all.map(_._1).contains(6L))
    }
  }

  test("no record of a run that is not published, or after it, is covered") {
    withTable { (dir, state) =>
      runs(dir, 1L to 60L)
      assert(new File(commits(dir), "_25_done").delete())
      checkpoints(state)
      assert(checkpointFiles(dir) === Seq(24))
      assert(TableLog.read(state).unfinished.map(_._1) === Seq(25))
      runs(dir, Seq(25L))
      checkpoints(state)
      assert(checkpointFiles(dir) === Seq(24, 50) && TableLog.read(state).unfinished.isEmpty)
    }
  }

  test("the checkpoint of a table that was overwritten since counts for nothing") {
    withTable { (dir, state) =>
      runs(dir, 1L to 30L)
      checkpoints(state)
      val old = text(commits(dir), "_checkpoint_20")
      commits(dir).listFiles.foreach(f => assert(f.delete()))
      runs(dir, 1L to 3L)
      put(commits(dir), "_checkpoint_20", old)
      assert(read(state).records.map(_._1) === Seq(1L, 2L, 3L))
      assert(state.createRecord(
        4,
        optimize(99)) && TableLog.read(state).unfinished.map(_._1) === Seq(4L))
      checkpoints(state)
      assert(recordFiles(dir) === (1L to 4L))
      // also when the numbers reach it
      runs(dir, (1L to 30L).map(n => n).filter(_ != 21))
      published(dir, Seq(21L -> optimize(77)))
      assert(read(state).records.map(_._1) === (1L to 30L))
    }
  }

  test("a damaged record after a checkpoint takes nothing of the checkpoint away") {
    withTable { (dir, state) =>
      runs(dir, 1L to 30L)
      checkpoints(state)
      val before = new CommitLogReader(state).read().history.folders("").steps
      History.forget(state.root.toString)
      put(commits(dir), "_21", "damaged")
      val now = new CommitLogReader(state).read()
      assert(now.upTo === 20 && now.history.folders("").steps.size === before.size - 1)
    }
  }

  test("an error of the file system that passes does not hide a record") {
    withScheme("faulty") { (dir, state) =>
      runs(dir, 1L to 3L)
      def open = new CommitLogReader(state).read().open.map(_.known.record)
      val error = intercept[IOException](FaultyFileSystem.withHook { (operation, path) =>
        if (operation == "open" && path.getName == "_2") throw new IOException("a timeout")
      }(open))
      assert(error.getMessage === "a timeout")
      assert(open === (1L to 3L).map(optimize(_)))
      // a record with bad content is passed over, and is read again with the next record
      put(commits(dir), "_2", "damaged")
      History.forget(state.root.toString)
      assert(open === Seq(optimize(1), null, optimize(3)))
      runs(dir, 2L to 4L)
      assert(open === (1L to 4L).map(optimize(_)))
    }
  }

  test("a disagreement names the newest run that replaced one of the files, once for each kind") {
    withTable { (dir, state) =>
      val change = FolderChange("", Seq("b", "a").map(n => Replaced(n, 1L, 1L, s"_old_$n")), Nil)
      def run(n: Long, replaced: Seq[Replaced], added: String) = n -> optimize(n).copy(changes =
        Seq(change.copy(replaced = replaced, added = Seq(Added("_new_0", added, 1L, 1L, 1L)))))
      published(
        dir,
        Seq(run(1L, change.replaced.take(1), "x"), run(2L, change.replaced.drop(1), "y")))
      def status(name: String, length: Long) =
        new FileStatus(length, false, 1, 1L, 1L, new Path(state.root, name))
      val listed = Map(
        "a" -> status("a", 1L),
        "b" -> status("b", 2L),
        "x" -> status("x", 1L),
        "y" -> status("y", 1L))
      val history = new CommitLogReader(state).read().history.folders("")
      val found = history.disagreements(listed)
      assert(found.map(d => d.names -> d.run) ===
        Seq(Seq("a") -> id("run 2"), Seq("b") -> id("run 1")))
      assert(found.map(history.isNew(_, listed)) === Seq(true, true))
      assert(found.map(history.isNew(_, listed)) === Seq(false, false))
      val both = listed.updated("b", status("b", 1L))
      assert(history.disagreements(both).map(d => d.names -> d.run) ===
        Seq(Seq("a", "b") -> id("run 2")))
    }
  }

  test("a checkpoint is input from others: a bad one is named, and nothing is touched") {
    val good = new String(
      Checkpoint.toJson(Checkpoint(
        1,
        20L,
        id("run 21"),
        0L,
        Seq(CheckpointEntry(3L, whole = false, optimize(3, "p=1"))))),
      "UTF-8")
    for ((from, to) <- Seq(
        "\"folder\":\"p=1\"" -> "\"folder\":\"../p\"",
        "\"name\":\"f3\"" -> "\"name\":\"../f3\"",
        id("run 3") -> "../../victim",
        id("run 21") -> "x",
        "\"version\":1,\"upTo\"" -> "\"version\":2,\"upTo\"",
        "\"upTo\":20" -> "\"upTo\":19",
        "\"number\":3" -> "\"number\":21",
        "\"records\"" -> "\"others\"",
        good -> "",
        good -> "null")) withTable { (dir, state) =>
      assert(good.contains(from), from)
      runs(dir, 1L to 30L)
      put(commits(dir), "_checkpoint_20", good.replace(from, to))
      val before = commits(dir).list().toSet
      fails("ZORDER_STATE_UNREADABLE", "_checkpoint_20")(read(state))
      fails("ZORDER_STATE_UNREADABLE", "_checkpoint_20")(TableLog.read(state).unfinished)
      checkpoints(state)
      assert(commits(dir).list().toSet === before)
    }
  }

  test("two tables of many names stay in memory beside each other") {
    withScheme("faulty") { (_, one) =>
      withScheme("faulty") { (_, two) =>
        for (state <- Seq(one, two)) {
          val added = (1 to 300000).map(i => Added("_0", s"f$i", 1L, 1L, 1L))
          val r = optimize(1).copy(changes = Seq(FolderChange("", Nil, added)))
          // staged names may not repeat in one record, and are not looked at here
          val known = OpenRecord(KnownRecord(1L, r), isDone = true, isSettled = true)
          History.remember(
            state.root.toString,
            CommitLog(
              LogFiles(Nil, Nil),
              None,
              Seq(known),
              new History(state.root, Nil),
              new Shadows(Nil)))
        }
        assert(History.cached(one.root.toString).isDefined)
        assert(History.cached(two.root.toString).isDefined)
        Seq(one, two).foreach(s => History.forget(s.root.toString))
      }
    }
  }

  test("a file that an UNDO has brought back stays a file of the table after a checkpoint") {
    withTable { (dir, state) =>
      published(
        dir,
        Seq(
          1L -> exchange(1, Seq("x", "b"), Seq("c")),
          2L -> exchange(2, Seq("c"), Seq("x", "b"), undone = Some(1)),
          // the rows of b are not in d
          3L -> exchange(3, Seq("x", "y"), Seq("d"))) ++
          (4L to 30L).map(n => n -> optimize(n, "p=1")))
      checkpoints(state)
      assert(checkpointFiles(dir) === Seq(20))
      val now = new CommitLogReader(state).read().history.folders("")
      assert(now.explains(listing(state, Seq("b", "d"))))
      assert(now.disagreements(listing(state, Seq("b", "d"))) === Nil)
      for (old <- Seq("x", "y", "c")) {
        assert(now.disagreements(listing(state, Seq("b", "d", old))).flatMap(_.names) === Seq(old))
      }
    }
  }

  for ((tables, tags) <- Seq(5 -> Nil, 100 -> Seq(Slow))) test(
    s"random runs and UNDOs of $tables tables: a checkpoint takes no file of a table for an old one, and knows all old ones",
    tags: _*) {
    val seed = System.nanoTime()
    val random = new Random(seed)
    withClue(s"seed $seed: ") {
      for (_ <- 1 to tables) withTable { (dir, state) =>
        var live = Vector("u0", "u1", "u2")
        var dead = Set.empty[String]
        // the runs in force, newest first, by number, inputs and outputs
        var inForce = List.empty[(Int, Seq[String], Seq[String])]
        def publish(n: Int, from: Seq[String], to: Seq[String], undone: Option[Int]): Unit = {
          published(dir, Seq(n.toLong -> exchange(n, from, to, undone)))
          live = live.diff(from) ++ to
          dead = (dead ++ from) -- to
        }
        for (n <- 1 to 60) {
          if (random.nextInt(3) == 0) live :+= s"u$n-append"
          inForce match {
            case (run, from, to) :: older if random.nextInt(3) == 0 && to.forall(live.contains) =>
              publish(n, to, from, Some(run))
              inForce = older
            case _ =>
              val from = random.shuffle(live).take(1 + random.nextInt(3))
              val to = (1 to 1 + random.nextInt(2)).map(i => s"f$n-$i")
              publish(n, from, to, None)
              inForce ::= ((n, from, to))
          }
          checkpoints(state)
          History.forget(state.root.toString)
          val now = new CommitLogReader(state).read().history.folders("")
          assert(now.explains(listing(state, live)), s"record $n, $live")
          val restored = now.disagreements(listing(state, live ++ dead)).flatMap(_.names)
          assert(restored.toSet === dead, s"record $n, $live")
        }
        assert(checkpointFiles(dir).nonEmpty)
      }
    }
  }

  test("the newest reduced run in force stays, where UNDO ends, and the last one with columns") {
    withTable { (dir, state) =>
      runs(dir, 1L to 7L)
      published(dir, (8L to 40L).map(n => n -> optimize(n, columns = Nil)))
      val undoable = 5L to 7L
      undoable.foreach(n => new Intents(state).write(Intent(id(s"run $n"), Seq(""))))
      checkpoints(state)
      assert(read(state).records.map(_._1) === undoable ++ (31L to 40L))
      // UNDO ends at run 30 and does not go on to an older whole record; of the reduced runs, run 4 has the columns
      assert(read(state).inForce.map(_._1) === (40L to 30L by -1L) ++ (7L to 4L by -1L))
    }
  }

  test("a published shadow stays published when later runs have replaced its files") {
    for (hasConflict <- Seq(false, true)) withTable { (dir, state) =>
      val shadow = optimize(1).copy(
        version = Record.ShadowVersion,
        mode = Record.Shadow,
        changes = Seq("p=1", "p=2").map(exchangeIn(_, "a", "s1", retained = "")))
      val publish = optimize(2).copy(
        changes = shadow.changes.map(c => exchangeIn(c.folder, "a", "s1")),
        published = Seq(shadow.run))
      val later = (3L to 30L).map(n => n -> optimize(n, "p=1")).updated(
        0,
        3L -> optimize(3).copy(changes = Seq("p=1", "p=2").map(exchangeIn(_, "s1", "f3"))))
      new Intents(state).write(Intent(shadow.run, Seq("p=1", "p=2")))
      published(dir, Seq(1L -> shadow, 2L -> publish) ++ later)
      if (hasConflict) put(commits(dir), "_2_conflict", "")
      def isPublished =
        Seq("p=1", "p=2", "p=3").map(read(state).shadows.isPublished(shadow.run, _))
      assert(isPublished === Seq(true, true, false))
      checkpoints(state)
      History.forget(state.root.toString)
      assert(checkpointFiles(dir) === Seq(20) && isPublished === Seq(true, true, false))
    }
  }

  private def exchangeIn(
      folder: String,
      from: String,
      to: String,
      retained: String = "_old_0"): FolderChange =
    FolderChange(
      folder,
      Seq(Replaced(from, 1L, 1L, retained)),
      Seq(Added("_new_0", to, 1L, 1L, 1L)))

  test("a past file that does not fit into the list of one run is in no list") {
    def pastOf(max: Int) = {
      val entries = Seq(
        1L -> exchange(1, Seq("p"), Seq("x", "y")),
        2L -> exchange(2, Seq("y"), Seq("w")),
        3L -> optimize(3, "p=1")).map { case (n, r) => CheckpointEntry(n, whole = true, r) }
      new LiveFacts(entries, max).entriesFor(_ => false, new Runs(Nil))
        .map(e =>
          e.number -> e.past.filter(_.folder.isEmpty).flatMap(_.files.map(_.name)).toSet).toMap
    }
    // run 1 has lost its list of replaced files to the checkpoint, as run 2 has
    assert(pastOf(100) === Map(1L -> Set("p"), 2L -> Set("y", "p"), 3L -> Set()))
    // the list of run 3 takes one place. Without the rule, only run 2 would answer for the rows of p
    assert(pastOf(3) === Map(1L -> Set(), 2L -> Set("y"), 3L -> Set()))
  }

  private def exchange(
      n: Int,
      from: Seq[String],
      to: Seq[String],
      undone: Option[Int] = None): Record = optimize(n.toLong).copy(
    kind = if (undone.isDefined) Record.Undo else Record.Optimize,
    undone = undone.map(r => id(s"run $r")),
    changes = Seq(FolderChange(
      "",
      from.zipWithIndex.map { case (name, i) => Replaced(name, 1L, 1L, s"_old_$i") },
      to.zipWithIndex.map { case (name, i) => Added(s"_new_$i", name, 1L, 1L, 1L) })))

  private def listing(state: StateDirectory, names: Seq[String]): Map[String, FileStatus] =
    names.map(n =>
      n -> new FileStatus(1L, false, 1, 1L, 1L, new Path(state.root, n))).toMap

  test("files that others removed are forgotten") {
    withTable { (dir, state) =>
      put(dir, "p=1/f1000", "x")
      published(dir, addingRuns)
      checkpoints(state)
      assert(added(read(state)) === "f1000" +: (1091 to 1100).map(n => s"f$n"))
    }
  }

  test("files that others removed are not forgotten while a run keeps files of their folder") {
    withTable { (dir, state) =>
      put(dir, "p=1/f1000", "x")
      published(dir, addingRuns)
      // a later run of this folder has replaced files whose only copy run 1 may keep
      new Intents(state).write(Intent(id("run 1"), Seq("p=1")))
      checkpoints(state)
      assert(added(read(state)).sorted === (1 to 1100).map(n => s"f$n").sorted)
    }
  }

  test("files of a folder that this user may not enter or list are not forgotten") {
    for (isClosed <- Seq(true, false)) withScheme("faulty") { (dir, state) =>
      put(dir, "p=1/f1000", "x")
      published(dir, addingRuns)
      FaultyFileSystem.withHook { (operation, path) =>
        // a closed folder of local disk looks as if it did not exist
        if (operation == "list" && path.getName == "p=1")
          throw (if (isClosed) new FileNotFoundException(path.toString)
                 else new AccessControlException(path.toString))
      }(new Checkpoints(state, System.currentTimeMillis(), f => isClosed && f == "p=1")
        .writeIfDue())
      assert(checkpointFiles(dir) === Seq(1090L))
      assert(added(read(state)).sorted === (1 to 1100).map(n => s"f$n").sorted)
    }
  }

  /** Runs of which each adds a file that nobody replaces. */
  private def addingRuns = (1L to 1100L).map { n =>
    val r = optimize(n, "p=1")
    n -> r.copy(changes = r.changes.map(_.copy(replaced = Nil)))
  }

  private def added(log: TableLog): Seq[String] =
    log.all.flatMap(_._2.changes.flatMap(_.added.map(_.name)))
}
