// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.tpc

import java.io.File

import scala.util.{Failure, Success, Try}

/**
 * Seconds of the queries, the contenders in turns. The rows of each query are compared with those of the
 * first contender.
 *
 * @param target the results; raw numbers are saved beside them
 */
private final class AutoSeconds(
    workload: Workload,
    open: Seq[OpenContender],
    target: File,
    say: String => Unit) {
  private val raw = new File(s"$target".stripSuffix(".txt") + ".seconds.json")

  /** @param rounds runs that are timed, after the one that compares rows */
  def report(queries: Seq[(TpcQuery, Int)], rounds: Int): Unit = {
    var measured = Seq.empty[MeasuredQuery]
    queries.foreach { case (query, seed) =>
      val name = s"${query.name}.$seed"
      Try(TpcBenchmark.run(query, open, rounds)) match {
        case Success(runs) =>
          measured :+= MeasuredQuery(workload.name, name, None, runs)
          say(s"$name: " + runs.map(r => f"${median(r.seconds)}%.2f s").mkString(", ") +
            runs.flatMap(r =>
              r.difference.map(d => s"; ${r.contender} HAS OTHER ROWS: $d")).mkString)
        case Failure(e) =>
          say(
            s"$name: fails, ${e.getClass.getSimpleName} ${s"${e.getMessage}".linesIterator.next()}")
      }
      TpcBenchmark.save(Results(Map("rounds" -> rounds.toString), measured), raw)
    }
    say(s"${measured.size} queries, sums of medians, and of each round")
    open.indices.foreach(i => say(line(measured.map(_.measured(i)))))
    open.indices.drop(1).foreach { i =>
      val faster =
        measured.count(q => median(q.measured.head.seconds) < median(q.measured(i).seconds))
      say(s"$faster queries are faster with ${open.head.contender.name} than with " +
        open(i).contender.name)
    }
  }

  private def line(runs: Seq[Measured]): String = {
    def sums(of: Measured => Seq[Double]): String = {
      val rounds = runs.map(of).transpose.map(_.sum)
      f"${runs.map(r => median(of(r))).sum}%.1f (${rounds.map(r => f"$r%.1f").mkString(", ")})"
    }
    s"${runs.head.contender}: seconds ${sums(_.seconds)}, processor seconds ${sums(_.cpuSeconds)}"
  }

  private def median(of: Seq[Double]): Double = of.sorted.apply(of.size / 2)
}
