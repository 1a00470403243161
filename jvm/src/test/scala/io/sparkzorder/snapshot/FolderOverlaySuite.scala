// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.snapshot

import scala.collection.mutable
import scala.util.Random

import org.apache.hadoop.fs.{FileStatus, Path}

import io.sparkzorder.SmallStack
import io.sparkzorder.log._
import io.sparkzorder.table.TokenFile

/** Which changes of one folder apply to a listing, compared with the plain recursive definition. */
class FolderOverlaySuite extends CheckpointTestBase with io.sparkzorder.RandomInputs {
  private val folder = new Path("file:/t")

  private def status(name: String, length: Long, modified: Long): FileStatus =
    new FileStatus(length, false, 1, 1L, modified, new Path(folder, name))

  /** The recursive definition. */
  private final class Oracle(
      steps: IndexedSeq[Step],
      listed: Map[String, FileStatus],
      now: (Step, Added) => Option[FileStatus],
      upTo: Option[Long]) {
    private type File = Either[FileStatus, (Step, Added)]
    private val files = mutable.LinkedHashMap.empty[String, File]
    private val found = mutable.Map.empty[(String, String), Option[FileStatus]]
    private val applicable = mutable.Map.empty[Int, Boolean]
    private val leftOut = mutable.ArrayBuffer.empty[Step]
    private val missing = mutable.Set.empty[(String, Long)]

    def result(): Option[Map[String, FileStatus]] = {
      listed.foreach { case (n, s) => if (!TokenFile.isOne(n)) files(n) = Left(s) }
      for ((step, i) <- steps.zipWithIndex) {
        if (upTo.exists(step.known.number > _) &&
          (step.known.isReduced || !step.own.forall(holds))) leftOut += step
        else apply(i)
      }
      val located = files.toSeq.flatMap {
        case (n, Left(s)) => Some(n -> s)
        case (n, Right((step, a))) => locate(step, a).map(n -> _)
      }.toMap
      if (located.size < files.size) None
      else Some(located).filter(_.values.map(_.getPath).toSet != listed.values.map(_.getPath).toSet)
    }

    def isUndecided: Boolean = leftOut.exists { s =>
      s.known.isReduced || s.own.exists(r => missing(r.name -> r.length)) ||
      s.known.isCovered && steps.exists(o => o.known.isReduced && !leftOut.contains(o))
    }

    private def replaces(i: Int, name: String, length: Long) =
      steps(i).change.replaced.exists(r => r.name == name && r.length == length)

    private def apply(i: Int): Unit = {
      val change = steps(i).change
      val replaced = change.replaced.filter(r =>
        holds(r) && (r.retained.nonEmpty ||
          steps.indices.filter(replaces(_, r.name, r.length)).forall(isApplicable)))
      val absent = change.added.filterNot(a => files.contains(a.name))
      if ((replaced.nonEmpty || steps(i).underWay) && isApplicable(i)) {
        replaced.foreach(r => files.remove(r.name))
        change.added.filterNot(a => files.contains(a.name))
          .foreach(a => files(a.name) = Right(steps(i) -> a))
      } else if (replaced.isEmpty) absent.foreach { a =>
        locate(steps(i), a) match {
          case Some(s) => files(a.name) = Left(s)
          case None => missing += a.name -> a.length
        }
      }
    }

    private def holds(r: Replaced): Boolean = files.get(r.name).exists {
      case Left(s) => r.is(s)
      case Right((_, a)) => a.length == r.length
    }

    private def isApplicable(i: Int): Boolean = applicable.getOrElse(
      i, {
        val is = steps(i).change.added.forall { a =>
          locate(steps(i), a).isDefined || (i + 1 until steps.size).exists(j =>
            replaces(j, a.name, a.length) && isApplicable(j))
        }
        applicable(i) = is
        is
      })

    private def locate(step: Step, a: Added): Option[FileStatus] = {
      def inListing = listed.get(a.name).filter(_.getLen == a.length)
      def present = found.getOrElseUpdate((step.known.record.run, a.name), now(step, a))
      if (step.underWay) present.orElse(inListing) else inListing.orElse(present)
    }
  }

  private final class Case(random: Random) {
    private def maybe(percent: Int) = random.nextInt(100) < percent
    private val names = (0 until 3 + random.nextInt(8)).map(i => s"f$i")
    private def name() = names(random.nextInt(names.size))
    private def length() = if (maybe(85)) 1L else 2L

    val steps: IndexedSeq[Step] = {
      val sizes = (random.nextInt(3), random.nextInt(3))
      (1 to random.nextInt(9)).map { n =>
        val replaced = (0 to random.nextInt(sizes._1 + 1)).map(i =>
          Replaced(name(), length(), 1L, if (maybe(70)) s"_old_$i" else ""))
        val added = (0 to random.nextInt(sizes._2 + 1)).map(i =>
          Added(s"_new_$i", name(), length(), 1L, 1L))
        val change =
          FolderChange("", if (maybe(10)) Nil else replaced, if (maybe(5)) Nil else added)
        val record = optimize(n.toLong).copy(changes = Seq(change))
        val isReduced = maybe(10)
        val known =
          new KnownRecord(n.toLong, record, Seq(change), isReduced || maybe(20), isReduced)
        Step(known, change, underWay = maybe(10))
      }
    }
    private def some(percent: Int) = names.filter(_ => maybe(percent))
      .map(n => n -> status(n, length(), if (maybe(90)) 1L else 2L)).toMap
    val listed: Map[String, FileStatus] = some(random.nextInt(100)) ++ Seq(
      RunFolder.tokenName(id("run"), ".parquet")).filter(_ => maybe(10)).map(n =>
      n -> status(n, 0L, 1L))
    val there: Map[String, FileStatus] = some(random.nextInt(100))
    val upTo: Option[Long] =
      if (maybe(50)) None else Some(random.nextInt(steps.size + 1).toLong)
  }

  test(
    "the files to read, and the files that are looked up, are those of the recursive definition") {
    withRandom { random =>
      var changed = 0
      var deep = 0
      for (_ <- 0 until 30000) {
        val c = new Case(random)
        def looking(log: mutable.Buffer[String])(s: Step, a: Added) = {
          log += s"${s.known.number} ${a.name}"
          c.there.get(a.name).filter(_.getLen == a.length)
        }
        val (seen, expectedSeen) = (mutable.Buffer.empty[String], mutable.Buffer.empty[String])
        val overlay = new FolderOverlay(c.steps, c.listed, looking(seen), c.upTo)
        val oracle = new Oracle(c.steps, c.listed, looking(expectedSeen), c.upTo)
        val expected = oracle.result()
        assert(overlay.result() === expected, c.steps.map(_.change))
        assert(overlay.isUndecided === oracle.isUndecided, c.steps.map(_.change))
        assert(seen === expectedSeen, c.steps.map(_.change))
        if (expected.isDefined) changed += 1
        if (seen.size > 4) deep += 1
      }
      assert(changed > 3000 && deep > 3000, (changed, deep))
    }
  }

  private val links = 2000

  test(s"a chain of $links runs: a query with the oldest listing, in a thread with a small stack") {
    withTable { (dir, state) =>
      runs(dir, 1L to links.toLong)
      val newest = put(dir, s"f$links", "x")
      val listing = new FolderListing {
        override def files(f: Path) = Some(Map("f0" -> status("f0", 1L, 1L)))
      }
      def read() = SmallStack(Snapshot.of(state, listing, ShadowUse.Off))
      assert(read().values.map(_.keySet) === Seq(Set(s"f$links")))
      // without the newest file, nobody knows where the rows are: the listing stays, and its file is missing
      assert(newest.delete())
      assert(read() === Map.empty)
    }
  }
}
