// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands.auto

import java.io.{File, PrintWriter}

import org.apache.spark.sql.SparkSession

/**
 * `make bench-auto-heldout`: what scans that AUTO has not seen read of its layout, beside the best
 * layout in hindsight, in the workloads of [[HeldOutWorkload]]. Writes a table in Markdown.
 *
 * Arguments: the file to write, the number of seeds, and parts of the names of the workloads, if not all
 * are wanted.
 */
object HeldOutBenchmark {
  private val Columns = 5

  def main(args: Array[String]): Unit = {
    val spark = SparkSession.builder().master("local[1]").config("spark.ui.enabled", "false")
      .getOrCreate()
    val out = new PrintWriter(new File(args(0)).getAbsoluteFile, "UTF-8")
    def say(line: String): Unit = {
      println(line)
      out.println(line)
      out.flush()
    }
    val seeds = 1 to args(1).toInt
    say("| workload | AUTO's layout | AUTO / best | without boxes | by the model | best layout |")
    say("| --- | --- | --- | --- | --- | --- |")
    HeldOutWorkload.all.filter(w => args.length < 3 || args.drop(2).exists(w.name.contains))
      .foreach { w =>
        val judged = seeds.map { seed =>
          val table = new HeldOut(spark, w, seed)
          val (order, byWeights) = (table.auto(), table.auto(cutsByQueries = false))
          val (best, least) = table.best(Columns)
          val ratios = Seq(
            table.reads(order),
            table.reads(table.by(byWeights)),
            table.reads(table.byModel())).map(_ / least)
          (HeldOut.text(table.by(order)), ratios, HeldOut.text(best))
        }
        def numbers(of: Int): String = {
          val ratios = judged.map(_._2(of))
          val mean = math.exp(ratios.map(math.log).sum / ratios.size)
          f"$mean%.3f (${ratios.min}%.3f to ${ratios.max}%.3f)"
        }
        val (layout, _, best) = judged.head
        say(s"| ${w.name} | `$layout` | ${numbers(0)} | ${numbers(1)} | ${numbers(2)} | `$best` |")
      }
    out.close()
    spark.stop()
  }
}
