// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources

import scala.util.Random

import org.scalatest.tagobjects.Slow

import io.sparkzorder.RandomInputs
import io.sparkzorder.skipping.StarQueries

/**
 * Random star schemas written as tables of a format. Queries return the rows that they return without the files
 * pruned by joins, subqueries and functions.
 *
 * The system property `sparkzorder.test.pairs` asks for more queries.
 */
trait FormatStarFuzz extends FormatTestBase with RandomInputs with StarQueries {

  protected def starFormat: String

  /** The full name of a table. */
  protected def nameOf(table: String): String

  /** Runs `body`, and drops its tables. */
  protected def withTablesOfStar(body: => Any): Unit

  private val quick = 3
  private val more = math.max(40, sys.props.get("sparkzorder.test.pairs").fold(0)(_.toInt / 50))

  override protected def ownFilter(random: Random): String = pick(
    random,
    s"f.v + ${random.nextInt(9)} = ${random.nextInt(1200)}",
    s"abs(f.v - ${random.nextInt(1200)}) < ${random.nextInt(90)}",
    s"coalesce(f.v, 0) < ${random.nextInt(1200)}",
    s"f.v IN (${Seq.fill(3)(random.nextInt(1200)).mkString(", ")})",
    "true",
    "true")

  private def round(random: Random, count: Int): Unit = withTablesOfStar {
    val dimensions = random.nextInt(3) + 1
    val keys = Seq.fill(dimensions)(keyOf(random))
    val frames = ("fact" -> factFrames(random, keys).reduce(_ union _)) +:
      keys.zipWithIndex.map { case (k, i) => s"dim$i" -> dimensionFrame(random, k) }
    frames.foreach { case (name, frame) =>
      frame.createOrReplaceTempView("rows_of_star")
      sql(s"CREATE TABLE ${nameOf(s"s_$name")} USING $starFormat AS SELECT * FROM rows_of_star")
      spark.table(nameOf(s"s_$name")).createOrReplaceTempView(name)
    }
    if (random.nextBoolean()) sql(s"DELETE FROM ${nameOf("s_fact")} WHERE v % 7 = 3")
    frames.foreach { case (name, _) =>
      spark.table(nameOf(s"s_$name")).createOrReplaceTempView(name)
    }
    val settings = Seq(
      "spark.sql.adaptive.enabled" -> random.nextBoolean().toString,
      "spark.sql.autoBroadcastJoinThreshold" -> pick(random, "-1", "10485760", "10485760"))
    inConf(settings: _*) {
      for (_ <- 1 to count) {
        val text = query(random, dimensions)
        withClue(s"$settings $text\n") {
          val df = sql(text)
          val rows = bag(df)
          if (df.queryExecution.toString.contains("ZOrderFilesAtRunTime")) pruned += 1
          val plain = inConf(
            "spark.zorder.skipping.dynamic" -> "false",
            "spark.zorder.skipping.enabled" -> "false")(bag(sql(text)))
          assert(rows === plain)
          done += 1
        }
      }
    }
  }

  private var done = 0
  private var pruned = 0

  private def check(queries: Int): Unit = {
    done = 0
    pruned = 0
    withRandom { random =>
      while (done < queries) {
        val seed = random.nextLong()
        withClue(s"seed $seed: ")(round(new Random(seed), math.min(20, queries - done)))
      }
      info(s"seed $randomSeed: $done queries, $pruned with keys of joins")
      assert(pruned > 0)
    }
  }

  common("queries of random stars have the rows that they have without us")(check(quick))

  test("more queries of random stars", Slow)(check(more))
}
