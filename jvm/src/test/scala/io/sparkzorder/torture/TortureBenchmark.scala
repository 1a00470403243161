// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.torture

import java.io.File
import java.nio.file.Files
import java.util.concurrent.ConcurrentLinkedQueue
import java.util.concurrent.atomic.AtomicInteger

import scala.collection.JavaConverters._
import scala.concurrent.{blocking, Await, ExecutionContext, Future}
import scala.concurrent.duration.Duration
import scala.util.Random

import io.sparkzorder.protocol.Explored
import io.sparkzorder.protocol.folder.Case

/**
 * `make torture`: the large scenarios of the interleaving explorer, then statements in children that
 * are killed by SIGKILL before each of their changes on disk and while they run. Arguments: killed
 * statements, seed, minutes after which no further kill is begun, and one of `kills` and `interleavings` for
 * one half alone.
 */
object TortureBenchmark {

  def main(args: Array[String]): Unit = {
    val statements = args.headOption.map(_.toInt).getOrElse(1000)
    val seed = args.lift(1).map(_.toLong).getOrElse(System.currentTimeMillis())
    val minutes = args.lift(2).map(_.toInt).getOrElse(28)
    val deadline = System.nanoTime() + minutes * 60L * 1000000000L
    val half = args.lift(3)
    if (!half.contains("kills")) {
      explore((Case.quick ++ Case.large).map(c => c.name -> (() => c.explore())))
    }
    if (half.contains("interleavings")) System.exit(0)
    val base = Files.createTempDirectory("torture").toFile
    val session = TortureSession.start(base)
    val failed =
      try torture(base, session, statements, seed, deadline)
      finally session.stop()
    if (failed == 0) TortureTable.delete(base)
    // threads of Spark's may linger
    System.exit(if (failed == 0) 0 else 1)
  }

  private def explore(scenarios: Seq[(String, () => Explored)]): Unit = {
    println("\n## Interleavings\n\n| scenario | states | transitions | ends | seconds |")
    println("| --- | --- | --- | --- | --- |")
    scenarios.foreach { case (title, explored) =>
      val start = System.nanoTime()
      val found = explored()
      val seconds = (System.nanoTime() - start) / 1e9
      val name = if (found.complete) title else s"$title (stopped)"
      println(
        f"| $name | ${found.states}%,d | ${found.transitions}%,d | ${found.ends}%,d | $seconds%.1f |")
      found.violation.foreach { v =>
        println(v)
        System.exit(1)
      }
    }
  }

  private def torture(
      base: File,
      session: org.apache.spark.sql.SparkSession,
      statements: Int,
      seed: Long,
      deadline: Long): Int = {
    // one waits for its child while the other judges
    val classes = new ChildClasses(new File(base, "classes"))
    val lanes = (1 to 2).map { i =>
      new Torture(new File(base, s"lane$i"), session, classes, folders = 2, files = 4)
    }
    val source = new Random(seed)
    val batches = new Batches(lanes.head, source).all(statements)
    println(s"\n## Kills\n\nseed $seed; ${batches.map(_.targets.size).sum} statements in " +
      s"${batches.size} processes")
    val next = new AtomicInteger
    val sofar = new ConcurrentLinkedQueue[Kill]
    def work(lane: Torture): Seq[Kill] = {
      val numbers = Iterator.continually(next.getAndIncrement())
        .takeWhile(i => i < batches.size && System.nanoTime() < deadline)
      val done = numbers.flatMap { i =>
        // likely the one after the next, since the other lane takes one
        val kills = lane.kill(batches(i), new Random(seed + i), batches.lift(i + lanes.size))
        for (k <- kills; f <- k.failure)
          println(s"FAILED: process $i, ${k.scene}, ${k.moment}, in ${k.phase}: $f")
        kills.foreach(sofar.add)
        println(s"process ${i + 1} of ${batches.size} killed, ${sofar.size} statements so far")
        // a run of hours can be read before its end
        if (i % 10 == 9) println(s"\n${Kill.table(sofar.asScala.toSeq)}\n")
        kills
      }.toList
      lane.end()
      done
    }
    val working = lanes.map(lane => Future(blocking(work(lane)))(ExecutionContext.global))
    val kills = working.flatMap(Await.result(_, Duration.Inf))
    println(s"\n${Kill.table(kills)}\n")
    println(s"recoveries that were made to fail on the way: ${kills.map(_.recoveriesFailed).sum}")
    kills.count(_.failure.isDefined)
  }
}
