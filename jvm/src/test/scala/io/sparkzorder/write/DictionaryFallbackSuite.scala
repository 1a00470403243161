// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.write

import java.io.File

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.parquet.hadoop.metadata.ParquetMetadata
import org.scalatest.tagobjects.Slow

import io.sparkzorder.commands.OptimizeTestBase

/** Columns whose dictionaries Parquet throws away are written without them. */
class DictionaryFallbackSuite extends OptimizeTestBase {

  /** Footers of a file whose column `v` has as many values as rows, and of one with three values. */
  private def withFooters(body: (ParquetMetadata, ParquetMetadata) => Unit): Unit =
    withTableDir { dir =>
      def footer(name: String, v: String): ParquetMetadata = {
        spark.range(0, 5000, 1, 1).selectExpr("id % 10 AS k", s"$v AS v").write
          .parquet(s"$dir/$name")
        val file = new File(s"$dir/$name").listFiles.find(_.getName.endsWith(".parquet")).get
        DictionaryFallback.footer(new Path(file.toURI), new Configuration()).get
      }
      body(footer("distinct", "uuid()"), footer("few", "CAST(id % 3 AS STRING)"))
    }

  test("a column that fell back in two files is written plainly, and checked each 16th file") {
    withFooters { (distinct, _) =>
      val d = new DictionaryFallback(always = Set.empty)
      assert(d.next() === None)
      d.learn(distinct)
      assert(d.next() === None)
      d.learn(distinct)
      val next = (3 to 40).map(i => i -> d.next())
      assert(next.collect { case (i, None) => i } === Seq(16, 32))
      assert(next.flatMap(_._2).distinct === Seq(Set("v")))
    }
  }

  test("a column that kept a dictionary once keeps its dictionaries") {
    withFooters { (distinct, few) =>
      val d = new DictionaryFallback(always = Set.empty)
      d.learn(distinct)
      d.learn(distinct)
      assert(d.next() === Some(Set("v")))
      d.learn(few)
      (1 to 15).foreach(_ => assert(d.next() === None))
      assert(d.next() === Some(Set.empty), "no file is looked at any more")
    }
  }

  test("an ordering column keeps its dictionaries") {
    withFooters { (distinct, _) =>
      val d = new DictionaryFallback(always = Set("v"))
      (1 to 3).foreach(_ => d.learn(distinct))
      assert(d.next() === None)
    }
  }

  test("a file with few values tells nothing, an unreadable one neither") {
    withTableDir { dir =>
      spark.range(0, 100, 1, 1).selectExpr("uuid() AS v").write.parquet(s"$dir/small")
      val file = new File(s"$dir/small").listFiles.find(_.getName.endsWith(".parquet")).get
      val d = new DictionaryFallback(always = Set.empty)
      (1 to 3).foreach { _ =>
        d.learn(DictionaryFallback.footer(new Path(file.toURI), new Configuration()).get)
      }
      assert(d.next() === None)
      assert(DictionaryFallback.footer(new Path(s"$dir/none"), new Configuration()) === None)
    }
  }

  test("OPTIMIZE spares dictionaries until a file shows that they are of use", Slow) {
    withTableDir { dir =>
      // v is distinct in the first 40 of 64 files and constant in the others; the 32nd and the 48th file
      // of the run show anew whether dictionaries save bytes, and tasks may change places by a few
      val rows = 64 * 1500
      write(
        spark.range(0, rows.toLong, 1, 4).selectExpr(
          "id AS k",
          s"IF(id < ${rows / 64 * 40}, sha2(CAST(id AS STRING), 256), repeat('x', 64)) AS v",
          "CAST(id % 5 AS INT) AS few"),
        dir)
      val size = dir.listFiles.map(_.length).sum / 64
      optimize(s"OPTIMIZE '$dir' ZORDER BY (k) OPTIONS ('targetFileSize' '$size')", dir)(read(dir))
      val files = dir.listFiles.filter(_.getName.endsWith(".parquet")).map { f =>
        val footer = DictionaryFallback.footer(new Path(f.toURI), new Configuration()).get
        def dictionary(column: String): Boolean = footer.getBlocks.asScala
          .flatMap(_.getColumns.asScala).filter(_.getPath.toDotString == column)
          .exists(_.getEncodings.asScala.exists(_.usesDictionary))
        val constant = read(f).selectExpr("max(length(v)) = 64 AND max(v) LIKE 'x%' AND " +
          "min(v) LIKE 'x%'").head().getBoolean(0)
        (constant, dictionary("v"), dictionary("few"))
      }
      assert(files.length > 40, files.length)
      assert(files.forall(_._3), "a column with few values has its dictionaries in each file")
      assert(files.forall(f => f._1 || !f._2), "a distinct column has none")
      val constants = files.filter(_._1)
      assert(constants.exists(!_._2), "the writer went on as it had learned")
      assert(constants.exists(_._2), "and noticed the change")
    }
  }
}
