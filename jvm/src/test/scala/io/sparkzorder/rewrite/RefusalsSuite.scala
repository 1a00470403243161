// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.rewrite

import java.io.File
import java.nio.file.Files

import io.sparkzorder.commands.OptimizeTestBase

/** What OPTIMIZE refuses, by condition; each leaves the directory as it was. */
class RefusalsSuite extends OptimizeTestBase {

  private def refused(dir: File, condition: String, words: String*)(statement: String): Unit = {
    val before = snapshot(dir)
    fails(condition, words: _*)(sql(statement))
    assert(snapshot(dir) === before)
  }

  private def withRows(body: File => Unit): Unit = withTableDir { dir =>
    write(shuffled(100, 2), dir)
    body(dir)
  }

  test("directories of other formats and sinks") {
    for ((marker, words) <- Seq(
        "_delta_log/0.json" -> "Delta",
        ".hoodie/hoodie.properties" -> "Hudi",
        "metadata/version-hint.text" -> "Iceberg",
        "metadata/v1.metadata.json" -> "Iceberg",
        "_spark_metadata/0" -> "streaming",
        "_symlink_format_manifest/manifest" -> "manifest")) withRows { dir =>
      val f = new File(dir, marker)
      f.getParentFile.mkdirs()
      Files.write(f.toPath, Array[Byte](1))
      refused(dir, "ZORDER_UNSUPPORTED_TABLE", words, dir.getPath)(
        s"OPTIMIZE '$dir' ZORDER BY a")
      // and so is a directory below it
      val below = new File(dir, "below")
      write(shuffled(10, 1), below)
      if (!marker.startsWith("_symlink")) {
        refused(dir, "ZORDER_PATH_IN_TABLE", below.getPath, marker.split('/').head)(
          s"OPTIMIZE '$below' ZORDER BY a")
      }
    }
  }

  test("paths that are no table") {
    withRows { dir =>
      val partition = new File(dir.getParentFile, "p=1")
      write(shuffled(10, 1), partition)
      for ((path, words) <- Seq(
          s"$dir/${dataFiles(dir).head.name}" -> "it is a file",
          s"$dir/nope" -> "does not exist",
          s"$dir/*" -> "glob",
          "/" -> "root",
          s"$partition" -> "one partition"); target <- Seq(s"'$path'", s"parquet.`$path`"))
        refused(dir, "ZORDER_PATH_NOT_A_TABLE", path, words)(s"OPTIMIZE $target ZORDER BY a")
      sql(s"OPTIMIZE '$dir' ZORDER BY a")
      val below = new File(dir, "below")
      write(shuffled(10, 1), below)
      refused(dir, "ZORDER_PATH_IN_TABLE", dir.getPath, "_zorder")(
        s"OPTIMIZE '$below' ZORDER BY a")
    }
  }

  test("data files below directories that are no partitions") {
    withRows { dir =>
      write(shuffled(10, 1), new File(dir, "backup/old"))
      refused(dir, "ZORDER_FILES_OUTSIDE_PARTITIONS", "backup/old")(s"OPTIMIZE '$dir' ZORDER BY a")
    }
    for (where <- Seq("", "extra", "p=1/extra")) withTableDir { dir =>
      write(shuffled(100, 1).selectExpr("*", "id % 2 p"), dir, "p")
      write(shuffled(10, 1), new File(dir, where))
      refused(dir, "ZORDER_FILES_OUTSIDE_PARTITIONS", where)(s"OPTIMIZE '$dir' ZORDER BY a")
    }
    // Spark refuses other partition columns before we see them, in 3.5 by an assertion
    for (where <- Seq("q=1", "p=3/q=4")) withTableDir { dir =>
      write(shuffled(100, 1).selectExpr("*", "id % 2 p"), dir, "p")
      write(shuffled(10, 1), new File(dir, where))
      val before = snapshot(dir)
      val e = intercept[Throwable](sql(s"OPTIMIZE '$dir' ZORDER BY a"))
      assert(Seq("ZORDER_FILES_OUTSIDE_PARTITIONS", "onflict").exists(e.getMessage.contains), e)
      assert(snapshot(dir) === before)
    }
  }

  private def mark(dir: File, name: String, content: Byte*): Unit = {
    val _ = Files.write(new File(dir, name).toPath, content.toArray)
  }

  test("empty markers of directories, as EMR and old clients of S3 leave them, are no data files") {
    withTableDir { dir =>
      write(shuffled(100, 1).selectExpr("*", "id % 2 p", "id % 3 q"), dir, "p", "q")
      mark(dir, "p=0_$folder$")
      mark(dir, "_$folder$")
      mark(new File(dir, "p=1"), "q=0_$folder$")
      mark(new File(dir, "p=1/q=0"), "x_$folder$")
      val row = sql(s"OPTIMIZE '$dir' ZORDER BY a").head()
      assert(metric(row, "totalConsideredFiles") === 6)
      assert(metric(row, "numRows") === 100)
      sql(s"REFRESH ZORDER INDEX ON '$dir'")
      assert(sql(s"SHOW LAYOUT '$dir' FOR (a)").head().getAs[Long]("files") === 6)
    }
    withTable("marked") {
      sql("CREATE TABLE marked (a INT, b INT, p INT) USING parquet PARTITIONED BY (p)")
      sql("INSERT INTO marked SELECT id, id, id % 2 FROM range(0, 100, 1, 2)")
      val dir = locationOf("marked")
      mark(dir, "p=0_$folder$")
      mark(new File(dir, "p=0"), "y_$folder$")
      assert(metric(sql("OPTIMIZE marked ZORDER BY a").head(), "numRows") === 100)
      assert(spark.table("marked").count() === 100)
    }
  }

  test("a file that is no data file is named") {
    for ((name, content) <- Seq("p=3" -> Nil, "p=0_$folder$" -> Seq[Byte](1))) withTableDir { dir =>
      write(shuffled(100, 1).selectExpr("*", "id % 2 p"), dir, "p")
      mark(dir, name, content: _*)
      refused(dir, "ZORDER_FILES_OUTSIDE_PARTITIONS", s"${dir.getName}/$name")(
        s"OPTIMIZE '$dir' ZORDER BY a")
    }
  }

  test("file systems without atomic renames") {
    withRows { dir =>
      withSQLConf("spark.zorder.inPlaceSchemes" -> "hdfs, abfss") {
        refused(dir, "ZORDER_IN_PLACE_UNSAFE_FILE_SYSTEM", "'file'", "INTO", dir.getPath)(
          s"OPTIMIZE '$dir' ZORDER BY a OPTIONS ('publish' 'rename')")
        sql(s"OPTIMIZE '$dir' ZORDER BY a INTO '${dir}_copy'")
        assert(bag(read(new File(s"${dir}_copy"))) === bag(read(dir)))
      }
      refused(dir, "ZORDER_IN_PLACE_UNSAFE_FILE_SYSTEM")(
        s"OPTIMIZE '$dir' ZORDER BY a OPTIONS ('inPlaceSchemes' 's3a,files', 'publish' 'rename')")
      sql(s"OPTIMIZE '$dir' ZORDER BY a OPTIONS ('inPlaceSchemes' 's3a, file', 'publish' 'rename')")
    }
  }

  test("an encrypted footer") {
    withRows { dir =>
      val magic = "PARE".getBytes("US-ASCII")
      val body = Array.fill[Byte](40)(7)
      val length = Array[Byte](40, 0, 0, 0)
      Files.write(new File(dir, "secret.parquet").toPath, magic ++ body ++ length ++ magic)
      refused(dir, "ZORDER_FILE_ENCRYPTED", "secret.parquet")(s"OPTIMIZE '$dir' ZORDER BY a")
    }
  }

  test("bucketed tables, other formats and views of the catalog") {
    withTable("bucketed", "csv", "hive") {
      shuffled(100, 1).write.format("parquet").bucketBy(2, "a").saveAsTable("bucketed")
      refused(locationOf("bucketed"), "ZORDER_UNSUPPORTED_TABLE", "bucketed")(
        "OPTIMIZE bucketed ZORDER BY a")
      // by its path only the names of its files tell
      val path = locationOf("bucketed")
      refused(path, "ZORDER_UNSUPPORTED_TABLE", "bucketed")(s"OPTIMIZE '$path' ZORDER BY a")
      shuffled(10, 1).write.format("csv").saveAsTable("csv")
      refused(locationOf("csv"), "ZORDER_UNSUPPORTED_TABLE", "format csv")(
        "OPTIMIZE csv ZORDER BY a")
    }
  }

  test("tables with options that choose files or change values") {
    for (option <- Seq(
        "pathGlobFilter" -> "*",
        "modifiedAfter" -> "2020-01-01T00:00:00",
        "datetimeRebaseMode" -> "LEGACY",
        "recursiveFileLookup" -> "false")) withTable("t") {
      sql(s"CREATE TABLE t (a INT) USING parquet OPTIONS ('${option._1}' '${option._2}')")
      fails("ZORDER_UNSUPPORTED_TABLE", option._1)(sql("OPTIMIZE t ZORDER BY a"))
    }
  }

  test("a path that is none") {
    fails("ZORDER_PATH_NOT_A_TABLE")(sql("OPTIMIZE '' ZORDER BY a"))
    for (statement <- Seq(
        "OPTIMIZE 'nofs://b/x' ZORDER BY a",
        "SHOW LAYOUT 'nofs://b/x'",
        "SHOW LAYOUT HISTORY 'nofs://b/x'",
        "SHOW WORKLOAD 'nofs://b/x'",
        "UNDO LAYOUT 'nofs://b/x'",
        "RECOVER LAYOUT 'nofs://b/x'",
        "VACUUM LAYOUT 'nofs://b/x'",
        "PUBLISH LAYOUT 'nofs://b/x'",
        "CREATE ZORDER INDEX ON 'nofs://b/x'",
        "REFRESH ZORDER INDEX ON 'nofs://b/x'",
        "DROP ZORDER INDEX ON 'nofs://b/x'"))
      withClue(statement) {
        fails("ZORDER_PATH_NOT_A_TABLE", "nofs")(sql(statement).collect())
      }
    withRows { dir =>
      for ((into, word) <- Seq("nofs://b/x" -> "nofs", "" -> "empty"))
        refused(dir, "ZORDER_PATH_NOT_A_TABLE", word)(s"OPTIMIZE '$dir' ZORDER BY a INTO '$into'")
    }
  }

  test("files that fit no common schema, and types that Spark cannot write back") {
    withRows { dir =>
      write(spark.range(10).selectExpr("id", "string(id) a"), dir)
      refused(dir, "ZORDER_INCOMPATIBLE_SCHEMAS", "`a`", "INT", "STRING")(
        s"OPTIMIZE '$dir' ZORDER BY b")
    }
    withTableDir { dir =>
      // the layout of lists of two levels
      withSQLConf("spark.sql.parquet.writeLegacyFormat" -> "true") {
        write(spark.range(50).selectExpr("id", "array(id) l"), dir)
      }
      refused(dir, "ZORDER_TYPE_NOT_WRITABLE", "l", "allowTypeChange")(
        s"OPTIMIZE '$dir' ZORDER BY id")
      optimize(s"OPTIMIZE '$dir' ZORDER BY id OPTIONS ('allowTypeChange' 'true')", dir)(read(dir))
    }
  }

  test("INT96: micros by default, kept when asked, and then no ordering column") {
    withTableDir { dir =>
      withSQLConf("spark.sql.parquet.outputTimestampType" -> "INT96") {
        write(
          spark.range(0, 200, 1, 2)
            .selectExpr("id", "timestamp_micros(pmod(hash(id), 1000) * 1000000007L) ts"),
          dir)
      }
      refused(dir, "ZORDER_COLUMN_NOT_ORDERABLE", "INT96", "timestampType")(
        s"OPTIMIZE '$dir' ZORDER BY ts OPTIONS ('timestampType' 'preserve')")
      optimize(s"OPTIMIZE '$dir' ZORDER BY id OPTIONS ('timestampType' 'preserve')", dir)(read(dir))
      optimize(s"OPTIMIZE '$dir' ZORDER BY (ts, id)", dir)(read(dir))
    }
  }
}
