// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands.layout

import java.io.File

import org.scalatest.tagobjects.Slow

import org.apache.spark.SparkConf
import org.apache.spark.sql.Row

import io.sparkzorder.FaultyFileSystem

/** What SHOW LAYOUT may name, what it chooses by itself, and what it refuses. */
class ShowLayoutTargetsSuite extends ShowLayoutTestBase {

  override protected def sparkConf: SparkConf = {
    val conf = super.sparkConf.set("spark.zorder.inPlaceSchemes", "file,faulty")
    FaultyFileSystem.settings.foreach { case (k, v) => conf.set(k, v) }
    conf
  }

  test("the columns are as documented") {
    withTable("t") {
      sql("CREATE TABLE t (a INT) USING parquet")
      val shown = sql("SHOW LAYOUT t")
      val units = "STRUCT<count: BIGINT NOT NULL, perPointQuery: DOUBLE NOT NULL, " +
        "ideal: DOUBLE NOT NULL, excess: DOUBLE>"
      val depth = "STRUCT<mean: DOUBLE NOT NULL, max: BIGINT NOT NULL, " +
        "histogram: MAP<BIGINT, BIGINT> NOT NULL>"
      assert(describedColumns(shown) === Seq(
        "column STRING NOT NULL",
        "files BIGINT NOT NULL",
        "rows BIGINT NOT NULL",
        "filesPerPointQuery DOUBLE NOT NULL",
        "ideal DOUBLE NOT NULL",
        "excess DOUBLE",
        s"overlapDepth $depth NOT NULL",
        "distinctAtLeast BIGINT NOT NULL",
        "nullShare DOUBLE",
        "sortedness DOUBLE",
        s"rowGroups $units NOT NULL",
        s"pages $units",
        "retainedBytes BIGINT NOT NULL",
        "retainedUntil TIMESTAMP",
        "warning STRING",
        "fileRanges ARRAY<STRUCT<min: STRING, max: STRING, rows: BIGINT NOT NULL>> NOT NULL",
        "values STRUCT<files: BIGINT NOT NULL, filesUncovered: BIGINT NOT NULL, bytes: BIGINT NOT NULL>"))
      assert(shown.collect().map(_.toSeq.take(6)).toSeq ===
        Seq(Seq[Any]("a", 0L, 0L, 0.0, 0.0, null)))
    }
  }

  test("by name and by path, partitioned or not, one row group or none") {
    withTable("t", "pt") {
      shuffled(600, 3).write.format("parquet").saveAsTable("t")
      shuffled(600, 3).selectExpr("*", "id % 2 p").write.format("parquet").partitionBy("p")
        .saveAsTable("pt")
      for (t <- Seq("t", "pt")) {
        val dir = locationOf(t)
        val byName = layout(dir, s"SHOW LAYOUT $t FOR (a, S)")
        assert(byName.keySet === Set("a", "s"))
        for (target <- Seq(s"'$dir'", s"parquet.`$dir`", s"default.$t")) {
          assert(layout(dir, s"SHOW LAYOUT $target FOR a, S") === byName)
        }
        for (c <- Seq("a", "s")) checkExact(byName(c), seen(spark.table(t), c), 2)
      }
    }
    withTableDir { dir =>
      dir.mkdirs()
      assert(layout(dir, s"SHOW LAYOUT '$dir'") === Map.empty)
      assert(layout(dir, s"SHOW LAYOUT '$dir' FOR (a)") === Map.empty)
      write(spark.range(0, 0, 1, 1).toDF("a"), dir)
      assert(layout(dir, s"SHOW LAYOUT '$dir' FOR (a)")("a").getAs[Long]("files") === 0)
    }
  }

  test("without FOR: the last layout, else the property, else each leaf by itself") {
    withTable("t") {
      shuffled(
        2000,
        4).selectExpr("id", "a", "b", "named_struct('x', a, 'y', array(b)) n", "array(a) l")
        .write.format("parquet").saveAsTable("t")
      val dir = locationOf("t")
      val alone = layout(dir, "SHOW LAYOUT t")
      assert(alone.keySet === Set("id", "a", "b", "n.x"))
      assert(alone("a").getAs[Double]("ideal") === 1.0)
      sql("ALTER TABLE t SET TBLPROPERTIES ('zorder.columns' = 'b, `n`.x')")
      assert(layout(dir, "SHOW LAYOUT t").keySet === Set("b", "n.x"))
      assert(layout(dir, "SHOW LAYOUT t")("b").getAs[Double]("ideal") === 2.0)
      sql("OPTIMIZE t ZORDER BY (a)").collect()
      assert(layout(dir, "SHOW LAYOUT t").keySet === Set("a"))
      sql("UNDO LAYOUT t").collect()
      assert(layout(dir, "SHOW LAYOUT t").keySet === Set("b", "n.x"))
    }
  }

  test("a half-published table: as it will be when it is published", Slow) {
    for (k <- Seq(0, 1, 3, 5)) withTableDir { dir =>
      write(shuffled(1000, 3).selectExpr("*", "id % 2 p"), dir, "p")
      val publishing = (o: String, p: org.apache.hadoop.fs.Path) =>
        o == "rename" && !Seq(
          "_commits",
          "_runs").exists(p.toString.contains) && p.getName != "_waiting" &&
          !p.getName.endsWith("_trial")
      val (_, failed) = FaultyFileSystem.failing(k)(publishing)(scala.util.Try(
        sql(s"OPTIMIZE 'faulty://$dir' ZORDER BY (a, b)").collect()))
      assert(failed)
      val half = layout(dir, s"SHOW LAYOUT '$dir'")
      sql(s"RECOVER LAYOUT 'faulty://$dir'").collect()
      val whole = layout(dir, s"SHOW LAYOUT '$dir'")
      assert(half.keySet === Set("a", "b"))
      for (c <- half.keys) {
        assert(withoutRetained(half(c)) === withoutRetained(whole(c)), s"rename $k, column $c")
        checkExact(whole(c), seen(read(dir), c), 2)
      }
    }
  }

  private def withoutRetained(row: Row): Map[String, Any] =
    row.schema.fieldNames.zip(row.toSeq).toMap
      .filterNot { case (name, _) => name.startsWith("retained") }
      // staged files have other names, so other places among the files
      .map {
        case ("fileRanges", ranges) =>
          "fileRanges" -> ranges.asInstanceOf[scala.collection.Seq[Any]].toSet
        case other => other
      }

  test("a table with options is seen as Spark reads it") {
    withTableDir { dir =>
      write(shuffled(500, 2), dir)
      val one = dataFiles(dir).head.name
      withTable("t") {
        sql(s"CREATE TABLE t USING parquet OPTIONS (pathGlobFilter '$one') LOCATION '$dir'")
        val row = layout(dir, "SHOW LAYOUT t FOR a")("a")
        assert(row.getAs[Long]("files") === 1)
        checkExact(row, seen(spark.table("t"), "a"), 1)
      }
    }
  }

  test("columns that came later") {
    withTable("t") {
      shuffled(500, 2).write.format("parquet").saveAsTable("t")
      sql("ALTER TABLE t ADD COLUMN c INT")
      sql("ALTER TABLE t ADD COLUMN d INT DEFAULT 5")
      val rows = layout(locationOf("t"), "SHOW LAYOUT t FOR (c, d)")
      assert(rows("c").getAs[String]("warning") === "no file has a column of this name")
      assert(rows("c").getAs[Double]("nullShare") === 1.0)
      assert(rows("c").getAs[Double]("filesPerPointQuery") === 0.0)
      // the rows hold the default, which no file knows
      assert(rows("d").isNullAt(rows("d").fieldIndex("nullShare")))
      assert(rows("d").getAs[Double]("filesPerPointQuery") === 2.0)
    }
  }

  test("what it refuses") {
    withTable("t", "o", "pt") {
      sql("CREATE TABLE o (a INT) USING json")
      fails("ZORDER_LAYOUT_NOT_KNOWN", "Parquet and ORC files")(sql("SHOW LAYOUT o").collect())
      shuffled(100, 1).selectExpr("*", "id % 2 p", "array(a) l").write.format("parquet")
        .partitionBy("p").saveAsTable("pt")
      fails("ZORDER_COLUMN_NOT_FOUND")(sql("SHOW LAYOUT pt FOR (nope)").collect())
      fails("ZORDER_COLUMN_IS_PARTITION_COLUMN")(sql("SHOW LAYOUT pt FOR (p)").collect())
      fails("ZORDER_COLUMN_NOT_ORDERABLE")(sql("SHOW LAYOUT pt FOR (l)").collect())
      fails("ZORDER_COLUMN_DUPLICATED")(sql("SHOW LAYOUT pt FOR (a, A)").collect())
      fails("TABLE_OR_VIEW_NOT_FOUND")(sql("SHOW LAYOUT nope").collect())
    }
    withTempDir { dir =>
      fails("ZORDER_PATH_NOT_A_TABLE")(sql(s"SHOW LAYOUT '$dir/nope'").collect())
      val bad = new File(dir, "bad")
      write(shuffled(50, 1), bad)
      java.nio.file.Files.write(new File(bad, "x.parquet").toPath, "no Parquet".getBytes)
      fails("ZORDER_FILE_UNREADABLE", "x.parquet")(sql(s"SHOW LAYOUT '$bad'").collect())
    }
    withView("v") {
      sql("CREATE VIEW v AS SELECT 1 a")
      intercept[org.apache.spark.sql.AnalysisException](sql("SHOW LAYOUT v").collect())
    }
  }
}
