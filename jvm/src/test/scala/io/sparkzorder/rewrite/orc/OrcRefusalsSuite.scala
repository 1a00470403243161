// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.rewrite.orc

import java.io.File
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.Files
import java.util.TimeZone

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.hadoop.hive.ql.exec.vector.TimestampColumnVector
import org.apache.orc.{
  CompressionKind,
  EncryptionAlgorithm,
  InMemoryKeystore,
  OrcFile,
  TypeDescription
}
import org.scalatest.tagobjects.Slow

import io.sparkzorder.commands.OrcTables
import io.sparkzorder.table.DataFile
import io.sparkzorder.table.stats.OrcFooters

/** ORC files and tables that are refused by name, and left as they are. */
class OrcRefusalsSuite extends OrcTables {

  private val byA = "ZORDER BY (a)"

  private def refused(dir: File, rest: String, condition: String, words: String*): Unit = {
    val tree = snapshot(dir)
    fails(condition, words: _*)(sql(s"OPTIMIZE orc.`${dir.getAbsolutePath}` $rest").collect())
    assert(snapshot(dir) === tree)
  }

  test("files that are no ORC: truncated, without bytes, of another format") {
    for (kind <- Seq("truncated", "empty", "text", "parquet")) withTableDir { dir =>
      write(shuffled(100, 2), dir)
      val bad = new File(dir, s"bad-$kind.orc")
      kind match {
        case "truncated" =>
          val bytes = Files.readAllBytes(orcFiles(dir).head.toPath)
          Files.write(bad.toPath, bytes.take(bytes.length / 2))
        case "empty" => Files.write(bad.toPath, Array.emptyByteArray)
        case "text" => Files.write(bad.toPath, "no ORC at all, but long enough".getBytes(UTF_8))
        case _ =>
          val other = new File(dir.getParentFile, "parquet")
          shuffled(10, 1).write.parquet(other.getPath)
          Files.copy(other.listFiles.find(_.getName.endsWith(".parquet")).get.toPath, bad.toPath)
      }
      refused(dir, byA, "ZORDER_FILE_UNREADABLE", bad.getName, "as ORC")
    }
  }

  test("a codec without its library: the file, the codec and the way out") {
    // the ORC of Spark 3.5 does not know the codec
    assume(CompressionKind.values.exists(_.name == "BROTLI"))
    withTableDir { dir =>
      withSQLConf("spark.sql.orc.compression.codec" -> "zstd")(write(shuffled(100, 2), dir))
      val file = orcFiles(dir).head
      val bytes = Files.readAllBytes(file.toPath)
      // the last byte is the length of the postscript, whose second field is the kind of the codec: 5, ZSTD
      val postscript = bytes.length - 1 - bytes.last
      val kind = bytes.indexOf(0x10.toByte, postscript) + 1
      assert(bytes(kind) === 5)
      Files.write(file.toPath, bytes.updated(kind, 6.toByte))
      new File(dir, s".${file.getName}.crc").delete()
      refused(dir, byA, "ZORDER_CODEC_NOT_AVAILABLE", file.getName, "brotli", "class path")
      refused(dir, s"$byA DRY RUN", "ZORDER_CODEC_NOT_AVAILABLE", file.getName)
    }
  }

  test("a class of another version of ORC is no missing codec") {
    withTableDir { dir =>
      write(shuffled(10, 1), dir)
      val status = new FileStatus(
        orcFiles(dir).head.length,
        false,
        1,
        1,
        1,
        new Path(s"file:${orcFiles(dir).head}"))
      val error = intercept[NoSuchMethodError](
        OrcFooters.withFile(DataFile.alone(status), spark.sessionState.newHadoopConf())(_ =>
          throw new NoSuchMethodError("getColumnEncryptionKeys")))
      assert(error.getMessage === "getColumnEncryptionKeys")
    }
  }

  test("encrypted columns") {
    withTableDir { dir =>
      dir.mkdirs()
      val types = TypeDescription.fromString("struct<a:bigint,b:bigint>")
      val keys = new InMemoryKeystore()
        .addKey("pii", EncryptionAlgorithm.AES_CTR_128, Array.fill[Byte](16)(7))
      val options = OrcFile.writerOptions(spark.sessionState.newHadoopConf())
        .setSchema(types).setKeyProvider(keys).encrypt("pii:a")
      val writer = OrcFile.createWriter(new Path(null, null, s"$dir/x.orc"), options)
      val batch = types.createRowBatch()
      batch.size = 3
      writer.addRowBatch(batch)
      writer.close()
      refused(dir, byA, "ZORDER_FILE_ENCRYPTED", ".orc")
    }
  }

  test("columns without names, and columns that are found by their positions") {
    withTableDir { dir =>
      foreign(dir, "old", "struct<_col0:bigint,_col1:bigint>") { b => longs(b, 0); longs(b, 1) }
      refused(dir, "ZORDER BY (_col0)", "ZORDER_FILE_UNREADABLE", "_col0", "no names")
      // no entry of the index may speak for such a file
      sql(s"CREATE ZORDER INDEX ON orc.`$dir`").collect()
      val rows = spark.read.schema("x BIGINT, y BIGINT").orc(dir.getPath).where("y = 5")
      assert(rows.count() === 3)
    }
    withTableDir { dir =>
      write(shuffled(100, 2), dir)
      withSQLConf("orc.force.positional.evolution" -> "true") {
        refused(dir, byA, "ZORDER_UNSUPPORTED_TABLE", "positions")
      }
    }
    withTable("t") {
      sql("CREATE TABLE t (a INT) USING orc OPTIONS ('orc.force.positional.evolution' 'true')")
      fails("ZORDER_UNSUPPORTED_TABLE", "positions")(sql("OPTIMIZE t ZORDER BY (a)"))
    }
  }

  test("types that Spark does not read, or would not write back") {
    withTableDir { dir =>
      foreign(dir, "x.orc", "struct<a:bigint,t:timestamp with local time zone>") { b =>
        longs(b, 0)
      }
      refused(dir, byA, "ZORDER_TYPE_NOT_READABLE", "`t`", "local time zone")
    }
    withTableDir { dir =>
      foreign(dir, "x.orc", "struct<a:bigint,u:uniontype<int,string>>")(longs(_, 0))
      refused(dir, byA, "ZORDER_TYPE_NOT_READABLE", "`u`", "uniontype")
    }
    withTableDir { dir =>
      foreign(dir, "x.orc", "struct<a:bigint,t:timestamp>") { b =>
        longs(b, 0)
        val v = b.cols(1).asInstanceOf[TimestampColumnVector]
        (0 until 3).foreach { i =>
          v.time(i) = 1000000000000L
          v.nanos(i) = 123456789
        }
      }
      refused(dir, byA, "ZORDER_TYPE_NOT_WRITABLE", "`t`", "nanoseconds")
      val expected = bag(read(dir))
      sql(s"OPTIMIZE orc.`$dir` ZORDER BY (a) OPTIONS ('allowTypeChange' 'true')").collect()
      assert(bag(read(dir)) === expected)
      // where there are no rows, there are no nanoseconds
      foreign(dir, "y.orc", "struct<a:bigint,t:timestamp>", rows = 0)(_ => ())
      write(read(dir).limit(2), dir)
      sql(s"OPTIMIZE orc.`$dir` FULL ZORDER BY (a)").collect()
    }
  }

  test("timestamps of a clock that goes otherwise; of the same clock, hours that come twice")(
    checkClocks(withRuns = false))

  test("timestamps of a clock that goes otherwise, after runs of OPTIMIZE", Slow)(
    checkClocks(withRuns = true))

  private def checkClocks(withRuns: Boolean): Unit = {
    val before = TimeZone.getDefault
    def zone(id: String) = TimeZone.setDefault(TimeZone.getTimeZone(id))
    try withTableDir { dir =>
        zone("America/Los_Angeles")
        // around the hours that were there twice and not at all, by the quarter
        val times = Seq(1604188800L, 1583625600L).map(from =>
          spark.range(0, 120).selectExpr(s"id a", s"timestamp_seconds($from + id * 900) t"))
        write(times.reduce(_ union _), dir)
        val expected = bag(read(dir))
        zone("UTC")
        refused(dir, byA, "ZORDER_TYPE_NOT_WRITABLE", "`t`", "America/Los_Angeles", "UTC")
        zone("America/Los_Angeles")
        optimizeOrc(dir, "ZORDER BY (t) OPTIONS ('verify' 'full')")
        assert(bag(read(dir)) === expected && expected.size === 240)
        if (withRuns) {
          sql(s"OPTIMIZE orc.`$dir` FULL ZORDER BY (t)").collect()
          zone("UTC")
          fails("ZORDER_TYPE_NOT_WRITABLE", "zone")(sql(s"OPTIMIZE orc.`$dir` FULL").collect())
          sql(s"OPTIMIZE orc.`$dir` FULL ZORDER BY (a) OPTIONS ('allowTypeChange' 'true')")
            .collect()
        }
      }
    finally TimeZone.setDefault(before)
  }

  test("a file of writers with several clocks, put together without looking at a row") {
    val before = TimeZone.getDefault
    try withTableDir { dir =>
        for (zone <- Seq("America/Los_Angeles", "UTC")) {
          TimeZone.setDefault(TimeZone.getTimeZone(zone))
          write(spark.range(0, 9, 1, 1).selectExpr("id a", "timestamp_seconds(id) t"), dir)
        }
        // merging leaves files open, so it gets a file system that does not count them
        val conf = new Configuration()
        conf.setBoolean("fs.file.impl.disable.cache", true)
        val parts = orcFiles(dir).map(f => new Path(null, null, f.getPath))
        // the one of this clock goes first
        val ordered = parts.sortBy(p => -new File(p.toString).lastModified).asJava
        val whole = new Path(null, null, s"$dir/merged.orc")
        assert(OrcFile.mergeFiles(whole, OrcFile.writerOptions(conf), ordered).size === 2)
        parts.foreach(p => assert(new File(p.toString).delete()))
        refused(dir, byA, "ZORDER_TYPE_NOT_WRITABLE", "merged", "America/Los_Angeles", "UTC")
      }
    finally TimeZone.setDefault(before)
  }

  test("CHAR and VARCHAR of a file stay what they are") {
    withTableDir { dir =>
      import org.apache.hadoop.hive.ql.exec.vector.BytesColumnVector
      val schema = "struct<a:bigint,c:char(5),v:varchar(7),s:struct<w:varchar(3)>>"
      for (i <- 0 to 1) foreign(dir, s"f$i.orc", schema) { b =>
        longs(b, 0)
        def text(c: org.apache.hadoop.hive.ql.exec.vector.ColumnVector) =
          (0 until 3).foreach(r =>
            c.asInstanceOf[BytesColumnVector].setVal(r, s"t$r".getBytes(UTF_8)))
        text(b.cols(1))
        text(b.cols(2))
        text(b.cols(3).asInstanceOf[
          org.apache.hadoop.hive.ql.exec.vector.StructColumnVector].fields(0))
      }
      optimizeOrc(dir, "ZORDER BY (v, c) OPTIONS ('verify' 'full')")
      assert(orcFiles(dir).map(withOrc(_)(_.getSchema.toString)) === Seq(schema))
      assert(read(dir).where("c = 't1' AND v = 't1' AND s.w = 't1'").count() === 2)
    }
  }

  test("columns without min/max, tables of other formats, paths of the other format") {
    withTableDir { dir =>
      write(shuffled(100, 2).selectExpr("*", "cast(s AS BINARY) x"), dir)
      refused(dir, "ZORDER BY (x)", "ZORDER_COLUMN_NOT_ORDERABLE", "`x`", "ORC")
      fails("ZORDER_UNSUPPORTED_TABLE", "orc.`")(sql(s"OPTIMIZE '$dir' ZORDER BY (a)").collect())
    }
    withTableDir { dir =>
      shuffled(100, 2).write.parquet(dir.getPath)
      refused(dir, byA, "ZORDER_UNSUPPORTED_TABLE", "parquet.`")
    }
    withTableDir { dir =>
      shuffled(100, 2).write.bucketBy(2, "a").option("path", dir.getPath).format("orc")
        .saveAsTable("buckets")
      fails("ZORDER_UNSUPPORTED_TABLE", "bucketed")(sql("OPTIMIZE buckets ZORDER BY (a)"))
      refused(dir, byA, "ZORDER_UNSUPPORTED_TABLE", "bucketed")
      sql("DROP TABLE buckets")
    }
  }
}
