// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.rewrite

import java.io.File

import org.scalatest.tags.Slow

import org.apache.spark.sql.DataFrame

import io.sparkzorder.log.Record

/**
 * The layout that two passes make is as good as that of one shuffle: for several distributions, numbers of columns,
 * of files and of batches. The system property `sparkzorder.test.files` is the number of files of the largest table;
 * one of 1,024 takes minutes.
 */
@Slow
class TwoPassesQualitySuite extends TwoPassesTestBase {
  private val rowsOfFile = 150
  private val mostFiles = sys.props.get("sparkzorder.test.files").fold(256)(_.toInt)

  private def column(k: Int) = s"pmod(hash(id, $k), 100003)"

  private val firstColumn: Map[String, String] = Map(
    "uniform" -> column(1),
    "correlated" -> s"${column(2)} + pmod(hash(id, 1), 5000)",
    "Zipf" -> "int(pow(1e5, pmod(hash(id), 100003) / 100003D)) % 1000",
    "in order of time" -> "id",
    "in order of time, 2 % late" -> "if(pmod(hash(id, 9), 50) = 0, id - pmod(hash(id, 8), 5000), id)")

  private def table(kind: String, columns: Int, files: Int): DataFrame = {
    val first = s"bigint(${firstColumn(kind)}) c1"
    val others = (2 to columns).map(k => s"bigint(${column(k)}) c$k")
    spark.range(0, rowsOfFile.toLong * files, 1, files)
      .selectExpr(("id" +: first +: others) :+ "unhex(sha2(string(id), 512)) s": _*)
  }

  private def excess(dir: File, columns: Int): Double = {
    val ideal = math.pow(dataFiles(dir).size.toDouble, (columns - 1.0) / columns)
    (1 to columns).map { k =>
      val values = read(dir).where("hash(id) % 60 = 0").selectExpr(s"c$k").collect()
        .map(_.getLong(0)).toSeq
      filesPerPoint(dir, s"c$k", values)
    }.sum / columns / ideal
  }

  for {
    (kinds, columns, files, count) <- Seq(
      (firstColumn.keys.toSeq.sorted, 2, 64, 4),
      (firstColumn.keys.toSeq.sorted, 2, 256, 8),
      (Seq("in order of time", "uniform"), 3, 256, 8),
      (Seq("in order of time", "uniform"), 4, 256, 8),
      (Seq("uniform"), 2, 1024, 32)) if files <= mostFiles
    kind <- kinds
  } test(s"$kind, $columns columns, $files files in $count batches") {
    withTableDir { dir =>
      val copy = new File(dir.getParentFile, "one")
      Seq(dir, copy).foreach(write(table(kind, columns, files), _))
      val bytes = dataFiles(dir).map(_.length).sum
      val sizes = Sizes(bytes / files, bytes / count + 1)
      val expected = bag(read(dir))
      val by = (1 to columns).map(k => s"c$k").mkString("ZORDER BY (", ", ", ")")
      sql(s"OPTIMIZE '$copy' $by ${sizes.inOne}").collect()
      sql(s"OPTIMIZE '$dir' $by ${sizes.options}").collect()
      assert(bag(read(dir)) === expected)
      val dealt = ofPlan(dir, Record.Dealt)
      val largest = records(dir).flatMap(_.cost).map(_.inputBytes).max
      assert(dealt.size >= count && largest <= 1.3 * sizes.batch)
      val (two, one) = (excess(dir, columns), excess(copy, columns))
      info(f"excess $two%.3f, of one shuffle $one%.3f: ${two / one}%.3f; the largest batch " +
        f"${largest.toDouble / sizes.batch}%.2f of batchSize")
      assert(two <= 1.02 * one)
    }
  }
}
