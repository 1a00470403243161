// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping

import java.io.File

import scala.util.Random

import org.scalatest.tagobjects.Slow

import org.apache.spark.sql.DataFrame

import io.sparkzorder.RandomInputs

/**
 * Random star schemas: a fact table of many files and up to three dimensions, joined in each way that
 * a filter can come from. Queries with skipping return the rows of queries without.
 *
 * The system property `sparkzorder.test.pairs` asks for more queries, as `make torture-skipping` does.
 */
class StarFuzzSuite extends SkippingTestBase with RandomInputs with StarQueries {
  private val quick = 4
  private val more = math.max(60, sys.props.get("sparkzorder.test.pairs").fold(0)(_.toInt / 50))
  private val perTable = 30

  private def write(frame: DataFrame, dir: File, name: String): Unit =
    frame.write.mode("append").parquet(new File(dir, name).getPath)

  private def round(random: Random, count: Int): Unit = withTableDir { dir =>
    val dimensions = random.nextInt(3) + 1
    val keys = Seq.fill(dimensions)(keyOf(random))
    factFrames(random, keys).foreach(write(_, dir, "fact"))
    keys.zipWithIndex.foreach { case (k, i) => write(dimensionFrame(random, k), dir, s"dim$i") }
    createIndex(new File(dir, "fact"))
    if (random.nextBoolean()) createIndex(new File(dir, "dim0"))
    val settings = Seq(
      "spark.sql.adaptive.enabled" -> random.nextBoolean().toString,
      "spark.sql.autoBroadcastJoinThreshold" -> pick(random, "-1", "10485760", "10485760"),
      "spark.sql.parquet.outputTimestampType" -> "TIMESTAMP_MICROS")
    inConf(settings: _*) {
      ("fact" +: keys.indices.map(i => s"dim$i")).foreach { name =>
        read(new File(dir, name)).createOrReplaceTempView(name)
      }
      for (_ <- 1 to count) {
        val text = query(random, dimensions)
        withClue(s"$settings $text\n") {
          val rows = bag(sql(text))
          assert(rows === withoutSkipping(bag(sql(text))))
          done += 1
        }
      }
    }
  }

  private var done = 0

  private def check(queries: Int): Unit = {
    done = 0
    inConf(
      "spark.sql.parquet.outputTimestampType" -> "TIMESTAMP_MICROS",
      "spark.sql.shuffle.partitions" -> "3") {
      withRandom { random =>
        while (done < queries) {
          val seed = random.nextLong()
          withClue(s"seed $seed: ")(round(new Random(seed), math.min(perTable, queries - done)))
          if (done % 300 == 0 && queries > 600) note(s"seed $randomSeed: $done queries of stars")
        }
        info(s"seed $randomSeed: $done queries")
      }
    }
  }

  test(s"queries of star schemas have the same rows with skipping: $quick queries")(check(quick))

  test(s"queries of star schemas: $more queries", Slow)(check(more))
}
