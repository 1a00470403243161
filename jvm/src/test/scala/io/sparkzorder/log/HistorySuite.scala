// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.log

import org.apache.hadoop.fs.{FileStatus, Path}

import io.sparkzorder.RandomInputs

/** Which listed files the history of a folder calls files that came back. */
class HistorySuite extends CheckpointTestBase with RandomInputs {
  private val folder = new Path("file:/t")

  private def step(number: Long, replaced: Seq[String], added: Seq[String]): Step = {
    val change = FolderChange(
      "",
      replaced.map(n => Replaced(n, n.length.toLong, 1L, s"_old_$n")),
      added.zipWithIndex.map { case (n, i) => Added(s"_new_$i", n, n.length.toLong, 1L) })
    Step(
      KnownRecord(number, optimize(number).copy(changes = Seq(change))),
      change,
      underWay = false)
  }

  private def listing(names: Seq[String]): Map[String, FileStatus] = names.map(n =>
    n -> new FileStatus(n.length.toLong, false, 1, 1L, 1L, new Path(folder, n))).toMap

  private def returned(
      history: FolderHistory,
      listed: Map[String, FileStatus]): Set[String] =
    history.disagreements(listed).collect { case r: Returned => r.names }.flatten.toSet

  /** By definition: follows the rows of each file from step to step. */
  private def byDefinition(
      steps: IndexedSeq[Step],
      listed: Map[String, FileStatus]): Set[String] = {
    val live = steps.foldLeft(Map.empty[String, Long]) { (files, s) =>
      files -- s.change.replaced.map(_.name) ++ s.change.added.map(_.name -> s.known.number)
    }
    val there = live.filter(f => listed.contains(f._1)).values.toSet
    def makers(name: String): Set[Long] = steps.foldLeft((Set(name), Set.empty[Long])) {
      case ((family, found), s) if s.change.replaced.exists(r => family(r.name)) =>
        (family ++ s.change.added.map(_.name), found + s.known.number)
      case (same, _) => same
    }._2
    val isAll = live.keys.forall(listed.contains)
    val replaced = steps.flatMap(_.change.replaced.map(_.name)).toSet -- live.keys
    if (there.isEmpty) Set.empty
    else replaced.filter(n => listed.contains(n) && (isAll || makers(n).exists(there)))
  }

  test("files that came back are those that a chain of runs leads to a file that is there") {
    var some = 0
    withRandom { random =>
      for (_ <- 1 to 2000) {
        val names = (0 until 12).map("f" + _)
        val steps = (1L to (1 + random.nextInt(6)).toLong).map { n =>
          val (replaced, others) = random.shuffle(names).splitAt(random.nextInt(4))
          // like an UNDO, a step may bring a name back
          step(n, replaced, others.take(random.nextInt(4)))
        }
        val history = History.ofFolder(folder, steps)
        for (_ <- 1 to 3) {
          val listed = listing(names.filter(_ => random.nextInt(3) > 0))
          val expected = byDefinition(steps, listed)
          // the second time, the history remembers
          for (_ <- 1 to 2) assert(returned(history, listed) === expected)
          if (expected.nonEmpty) some += 1
        }
      }
    }
    assert(some > 500)
  }

  test("a listing from before a run of many files costs one pass") {
    val names = (1 to 50000).map("f" + _)
    val steps =
      IndexedSeq(step(1, Seq("a"), Seq("live")), step(2, names, Seq("b"))) ++
        (3L to 20L).map(n => step(n, Seq(s"x$n"), Seq(s"y$n")))
    val history = History.ofFolder(folder, steps)
    val listed = listing(names :+ "live")
    val begin = System.nanoTime()
    assert(returned(history, listed) === Set.empty)
    // a walk over all replaced files for each of them takes minutes
    assert(System.nanoTime() - begin < 10L * 1000 * 1000 * 1000)
  }
}
