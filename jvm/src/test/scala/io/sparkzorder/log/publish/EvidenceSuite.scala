// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.log.publish

import java.io.File

import scala.collection.mutable
import scala.util.Random

import org.apache.hadoop.fs.FileStatus

import io.sparkzorder.{RandomInputs, SmallStack}
import io.sparkzorder.log._
import io.sparkzorder.util.Json

/** Whether replaced files may be removed, compared with the plain recursive definition. */
class EvidenceSuite extends CheckpointTestBase with RandomInputs {
  private val folders = Seq("", "p=1")

  /** Random records with marks, the first ones perhaps in a checkpoint with random past files. */
  private def write(dir: File, random: Random): Unit = {
    def maybe(percent: Int) = random.nextInt(100) < percent
    val names = (0 until 3 + random.nextInt(8)).map(i => s"f$i")
    def some(most: Int) = random.shuffle(names).take(1 + random.nextInt(most))
    val most = 1 + random.nextInt(3)
    val records = (1 to 2 + random.nextInt(9)).map { n =>
      val changes = folders.filter(_ => maybe(70)).map { f =>
        FolderChange(
          f,
          some(most).zipWithIndex.map { case (name, i) =>
            Replaced(name, if (maybe(90)) 1L else 2L, 1L, s"_old_$i")
          },
          some(most).zipWithIndex.map { case (name, i) => Added(s"_new_$i", name, 1L, 1L, 1L) })
      }
      n.toLong -> optimize(n.toLong).copy(changes = changes)
    }
    published(dir, records)
    records.foreach { case (n, r) =>
      if (maybe(10)) put(dir, s"_zorder/_commits/_${n}_conflict", r.run)
    }
    if (maybe(50)) {
      val upTo = 1 + random.nextInt(records.size - 1)
      val entries = records.take(upTo).map { case (n, r) =>
        val past = r.changes.map(c =>
          PastFolder(c.folder, some(3).map(PastFile(_, 1L, 1L))))
        CheckpointEntry(n, whole = maybe(50), r, conflict = maybe(10), past = past)
      }
      val content = Checkpoint(1, upTo.toLong, records(upTo)._2.run, 0L, entries)
      put(
        dir,
        s"_zorder/_commits/_checkpoint_$upTo",
        new String(Checkpoint.toJson(content), "UTF-8"))
    }
    val percent = random.nextInt(100)
    for (f <- folders; n <- names if maybe(percent))
      put(dir, if (f.isEmpty) n else s"$f/$n", if (maybe(90)) "1" else "22")
  }

  /** The recursive definition, without a memory. Also notes the files that are looked at. */
  private def holds(state: StateDirectory, log: TableLog, isReadable: FileStatus => Boolean)(
      folder: String,
      change: FolderChange,
      number: Long): Boolean = {
    def isThere(a: Added) =
      state.status(new org.apache.hadoop.fs.Path(state.folder(folder), a.name))
        .exists(s => s.isFile && s.getLen == a.length && isReadable(s))
    def isProven(a: Added, n: Long): Boolean = isThere(a) || {
      val later = log.settledChanges.filter { case (m, c) =>
        m > n && c.folder == change.folder &&
        c.replaced.exists(r => r.name == a.name && r.length == a.length)
      }
      later.nonEmpty && later.forall { case (m, c) => c.added.forall(isProven(_, m)) }
    }
    change.added.map(a => a -> isThere(a)) // all files of the change itself are looked at
    change.added.forall(isProven(_, number))
  }

  test("the proof is that of the recursive definition, and looks at the same files") {
    withRandom { random =>
      val answers = mutable.Map.empty[Boolean, Int].withDefaultValue(0)
      var indirect = 0
      for (_ <- 0 until 150) withTable { (dir, state) =>
        write(dir, random)
        val damaged = random.nextInt(12)
        def reading(seen: mutable.Set[String])(s: FileStatus) = {
          seen.synchronized(seen += s.getPath.toString)
          s.getPath.getName != s"f$damaged"
        }
        val log = TableLog.read(state)
        val (seen, expectedSeen) = (mutable.Set.empty[String], mutable.Set.empty[String])
        val evidence = new Evidence(state, log, reading(seen))
        for {
          (n, record) <- log.all
          change <- record.changes
          folder <- folders
          number <- Seq(0L, n)
        } {
          val expected = holds(state, log, reading(expectedSeen))(folder, change, number)
          assert(evidence.holds(folder, change, number) === expected, (number, folder, change))
          answers(expected) += 1
          if (expected && change.added.exists(a => !new File(dir, s"$folder/${a.name}").exists())) {
            indirect += 1
          }
        }
        assert(seen === expectedSeen)
      }
      assert(answers.values.forall(_ > 300) && indirect > 30, (answers, indirect))
    }
  }

  private val links = 2000

  /** A chain of runs, each with its intent and with the file that it replaced. */
  private def chain(dir: File): Unit = {
    runs(dir, 1L to links.toLong)
    for (n <- 1 to links) {
      val run = id(s"run $n")
      put(dir, s"_zorder/_runs/_$run", Json.mapper.writeValueAsString(Intent(run, Seq(""))))
      put(dir, s"_zorder_$run/_old_0", "x")
    }
  }

  test(s"a chain of $links runs: clean-up, in a thread with a small stack") {
    withTable { (dir, state) =>
      chain(dir)
      def kinds() = SmallStack {
        val found = new Leftovers(state, System.currentTimeMillis() + hour, (_: FileStatus) => true)
        found.expired(Some(0L)).map(l => l.kind -> l.files)
      }
      assert(kinds() === Seq.fill(links)(Leftover.Unproven -> 1L))
      put(dir, s"f$links", "x")
      assert(kinds() === Seq.fill(links)(Leftover.Retained -> 1L))
      SmallStack(
        new Retention(
          state,
          (_: FileStatus) => true).removeExpired(System.currentTimeMillis() + hour))
      assert(!dir.list().exists(_.startsWith("_zorder_")))
      assert(new Intents(state).runs() === Set.empty)
    }
  }
}
