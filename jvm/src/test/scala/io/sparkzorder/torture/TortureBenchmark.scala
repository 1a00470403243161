package io.sparkzorder.torture

import java.io.File
import java.nio.file.Files
import java.util.concurrent.atomic.AtomicInteger

import scala.concurrent.{blocking, Await, ExecutionContext, Future}
import scala.concurrent.duration.Duration
import scala.util.Random

import io.sparkzorder.protocol.Explored
import io.sparkzorder.protocol.folder.Case

/**
 * `make torture`: the large scenarios of the interleaving explorer, then OPTIMIZE in children that are
 * killed by SIGKILL before each of their changes on disk and at random moments. Arguments: random
 * kills, seed, minutes after which no further kill is begun, and one of `kills` and `interleavings` for
 * one half alone.
 */
object TortureBenchmark {

  def main(args: Array[String]): Unit = {
    val random = args.headOption.map(_.toInt).getOrElse(200)
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
      try torture(base, session, random, seed, deadline)
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
      random: Int,
      seed: Long,
      deadline: Long): Int = {
    // one waits for its child while the other judges
    val lanes = (1 to 2).map { i =>
      new Torture(new File(base, s"lane$i"), session, folders = 3, files = 6)
    }
    val steps = lanes.map(_.steps).head
    println(
      s"\n## Kills\n\nseed $seed; the statement makes ${steps.size} changes on disk and takes " +
        s"${lanes.map(_.runMs).mkString(" and ")} ms in a new process")
    val source = new Random(seed)
    // half of the random kills hit the other statements; mixed, so that a run that is cut short has
    // killed everywhere
    val others = lanes.head.scenes.tail.zipWithIndex.flatMap { case (scene, i) =>
      val own = lanes.head.measure(scene)._1
      val n = random / 2 / (lanes.head.scenes.size - 1)
      val some = own.map(s => BeforeChange(s.change)) ++
        Seq.fill(n)(RunningPast(source.nextInt(math.max(1, own.size))))
      source.shuffle(some).take(n).map((i + 1) -> _)
    }
    val moments = source.shuffle(
      (steps.map(s => BeforeChange(s.change)) ++
        Moment.random(random - others.size, steps, source)).map(0 -> _) ++ others)
    val next = new AtomicInteger
    def work(lane: Torture): Seq[Kill] = {
      val numbers = Iterator.continually(next.getAndIncrement())
        .takeWhile(i => i < moments.size && System.nanoTime() < deadline)
      val done = numbers.map { i =>
        val (scene, moment) = moments(i)
        val kill = lane.kill(moment, new Random(seed + i), lane.scenes(scene))
        kill.failure.foreach(f =>
          println(s"FAILED: kill $i, ${kill.scene}, $moment, in ${kill.phase}: $f"))
        if (i % 20 == 19) println(s"${i + 1} of ${moments.size} kills")
        kill
      }.toList
      lane.end()
      done
    }
    val working = lanes.map(lane => Future(blocking(work(lane)))(ExecutionContext.global))
    val kills = working.flatMap(Await.result(_, Duration.Inf))
    if (kills.size < moments.size)
      println(s"out of time after ${kills.size} of ${moments.size} kills")
    println(s"\n${Kill.table(kills)}\n")
    println(s"recoveries that were made to fail on the way: ${kills.map(_.recoveriesFailed).sum}")
    println(
      s"read with the extension before recovery: ${if (Torture.hasOverlay) "yes" else "not yet"}")
    kills.count(_.failure.isDefined)
  }
}
