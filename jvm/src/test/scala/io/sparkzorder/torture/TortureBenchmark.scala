package io.sparkzorder.torture

import java.io.File
import java.nio.file.Files

import scala.util.Random

import io.sparkzorder.protocol.Scenario

/**
 * `make torture`: the large scenarios of the interleaving explorer, then OPTIMIZE in children that are
 * killed by SIGKILL before each of their changes on disk and at random moments. Arguments: random
 * kills, seed, minutes after which no further kill is begun, and `kills` to explore nothing.
 */
object TortureBenchmark {

  def main(args: Array[String]): Unit = {
    val random = args.headOption.map(_.toInt).getOrElse(200)
    val seed = args.lift(1).map(_.toLong).getOrElse(System.currentTimeMillis())
    val minutes = args.lift(2).map(_.toInt).getOrElse(28)
    val deadline = System.nanoTime() + minutes * 60L * 1000000000L
    // the last argument is for those who want kills alone
    if (!args.lift(3).contains("kills")) explore(Scenario.quick ++ Scenario.large)
    val base = Files.createTempDirectory("torture").toFile
    val session = TortureSession.start(base)
    val failed =
      try torture(base, session, random, seed, deadline)
      finally session.stop()
    if (failed == 0) TortureTable.delete(base)
    // threads of Spark's may linger
    System.exit(if (failed == 0) 0 else 1)
  }

  private def explore(scenarios: Seq[Scenario]): Unit = {
    println("\n## Interleavings\n\n| scenario | states | transitions | ends | seconds |")
    println("| --- | --- | --- | --- | --- |")
    scenarios.foreach { s =>
      val start = System.nanoTime()
      val found = s.explore()
      val seconds = (System.nanoTime() - start) / 1e9
      val name = if (found.complete) s.name else s"${s.name} (stopped)"
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
    val torture = new Torture(base, session, folders = 3, files = 6)
    println(
      s"\n## Kills\n\nseed $seed; the statement makes ${torture.steps.size} changes on disk and " +
        s"takes ${torture.runMs} ms in a new process")
    val source = new Random(seed)
    // mixed, so that a run that is cut short has killed everywhere
    val moments = source.shuffle(
      torture.steps.map(s => BeforeChange(s.change)) ++
        Torture.randomMoments(random, torture.steps, source))
    val begun = moments.iterator.zipWithIndex.takeWhile(_ => System.nanoTime() < deadline)
    val kills = begun.map { case (moment, i) =>
      val kill = torture.kill(moment, new Random(seed + i))
      kill.failure.foreach(f => println(s"FAILED: kill $i, $moment, in ${kill.phase}: $f"))
      if (i % 20 == 19) println(s"${i + 1} of ${moments.size} kills")
      kill
    }.toList
    torture.end()
    if (kills.size < moments.size)
      println(s"out of time after ${kills.size} of ${moments.size} kills")
    println(s"\n${Torture.table(kills)}\n")
    println(s"recoveries that were made to fail on the way: ${kills.map(_.recoveriesFailed).sum}")
    println(
      s"read with the extension before recovery: ${if (Torture.hasOverlay) "yes" else "not yet"}")
    kills.count(_.failure.isDefined)
  }
}
