// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands.index

import java.io.File
import java.nio.file.Files
import java.util.concurrent.{CountDownLatch, TimeUnit}

import scala.collection.JavaConverters._

import org.apache.hadoop.fs.Path
import org.scalatest.concurrent.Eventually
import org.scalatest.time.SpanSugar._

import org.apache.spark.sql.Row
import org.apache.spark.sql.sparkzorder.{SparkLine, TestAccess}

import io.sparkzorder.{FaultyFileSystem, JobCounter}
import io.sparkzorder.commands.FaultyTables
import io.sparkzorder.index.{BuiltIndex, ColumnChoice, IndexBuild, LoadedIndex}
import io.sparkzorder.table.{ParquetFiles, PathTarget, TableLister}

/** CREATE, REFRESH and DROP of an index. */
class IndexCommandSuite extends IndexTestBase {

  test("the columns of the result are as documented") {
    withTableDir { dir =>
      write(shuffled(100, 2), dir)
      val wanted = "path:string!,files:bigint!,columns:array<string>!,rows:bigint!," +
        "indexBytes:bigint!,filesRead:bigint!,reason:string,values:array<struct<column:string," +
        "files:bigint,filesUncovered:bigint,entries:bigint,bytes:bigint,millis:bigint>>!"
      for (statement <- Seq(
          "CREATE ZORDER INDEX ON",
          "REFRESH ZORDER INDEX ON",
          "DROP ZORDER INDEX ON")) {
        val df = sql(s"$statement '$dir'")
        val columns = df.schema.map(f =>
          s"${f.name}:${f.dataType.catalogString}${if (f.nullable) "" else "!"}")
        assert(columns.mkString(",") === wanted)
      }
    }
  }

  test("CREATE, REFRESH, DROP: every number of the row is what the directory shows") {
    withTableDir { dir =>
      write(shuffled(100, 3), dir)
      val created = one(s"CREATE ZORDER INDEX ON '$dir'")
      assert(new Path(created.getString(0)).toUri.getPath === dir.getPath)
      assert(created.getLong(1) === 3L && created.getSeq[String](2) === Seq("id", "a", "b", "s"))
      assert(created.getLong(3) === 100L && created.getLong(5) === 3L && created.isNullAt(6))
      assert(created.getLong(4) === new File(dir, "_zorder/_index/_1").length)
      assert(entries(dir) === listed(dir))
      assert(bounds(dir, "id").map(_._2).min === 0L && bounds(dir, "id").map(_._3).max === 99L)
      // nothing has changed: no footer is read
      assert(one(s"REFRESH ZORDER INDEX ON '$dir'").getLong(5) === 0L)
      write(shuffled(50, 2), dir)
      dataFiles(dir).take(1).foreach(f => assert(new File(dir, f.name).delete()))
      val refreshed = one(s"REFRESH ZORDER INDEX ON '$dir'")
      assert(refreshed.getLong(5) === 2L || refreshed.getLong(5) === 1L)
      assert(entries(dir) === listed(dir))
      val dropped = one(s"DROP ZORDER INDEX ON '$dir'")
      assert(dropped.getLong(1) === listed(dir).size && dropped.getLong(5) === 0L)
      assert(!new File(dir, "_zorder/_index").exists())
      checkState(dir)
    }
  }

  test("IF EXISTS, IF NOT EXISTS and their errors") {
    withTableDir { dir =>
      write(shuffled(10, 1), dir)
      fails("ZORDER_INDEX_NOT_FOUND")(sql(s"REFRESH ZORDER INDEX ON '$dir'").collect())
      fails("ZORDER_INDEX_NOT_FOUND")(sql(s"DROP ZORDER INDEX ON '$dir'").collect())
      assert(one(s"DROP IF EXISTS ZORDER INDEX ON '$dir'").getString(6) === "there is no index")
      assert(!new File(dir, "_zorder").exists())
      assert(one(s"CREATE IF NOT EXISTS ZORDER INDEX ON '$dir'").isNullAt(6))
      val again = one(s"CREATE IF NOT EXISTS ZORDER INDEX ON '$dir'")
      assert(again.getString(6) === "the index exists already" && again.getLong(1) === 1L)
      fails("ZORDER_INDEX_EXISTS", "REFRESH")(sql(s"CREATE ZORDER INDEX ON '$dir'").collect())
      Files.write(new File(dir, "_zorder/_index/_1").toPath, "damaged".getBytes)
      fails("ZORDER_STATE_UNREADABLE", "_zorder/_index/_1", "REFRESH ZORDER INDEX")(
        sql(s"CREATE IF NOT EXISTS ZORDER INDEX ON '$dir'").collect())
      assert(one(s"REFRESH ZORDER INDEX ON '$dir'").getLong(1) === 1L)
      assert(one(s"CREATE IF NOT EXISTS ZORDER INDEX ON '$dir'").getLong(1) === 1L)
    }
  }

  test("a property `zorder.columns` that no parser understands") {
    withTable("t") {
      sql("CREATE TABLE t USING parquet AS SELECT id, id % 3 p FROM range(20)")
      sql("ALTER TABLE t SET TBLPROPERTIES ('zorder.columns' = 'p, no name')")
      assert(one("CREATE ZORDER INDEX ON t").getSeq[String](2) === Seq("id", "p"))
      assert(one("REFRESH ZORDER INDEX ON t").getSeq[String](2) === Seq("id", "p"))
      assert(sql("SHOW LAYOUT t").collect().nonEmpty)
    }
  }

  test("named columns, nested ones, their errors, and that REFRESH keeps them") {
    withTableDir { dir =>
      val frame = spark.range(10).selectExpr(
        "id",
        "named_struct('x', id, 'in', named_struct('y', -id)) s",
        "array(id) l",
        "id % 2 p")
      write(frame, dir, "p")
      fails("ZORDER_COLUMN_NOT_FOUND", "`id`")(sql(s"CREATE ZORDER INDEX ON '$dir' (q)").collect())
      fails("ZORDER_INDEX_COLUMN_INVALID", "partition column")(
        sql(s"CREATE ZORDER INDEX ON '$dir' (p)").collect())
      fails("ZORDER_INDEX_COLUMN_INVALID", "fields")(
        sql(s"CREATE ZORDER INDEX ON '$dir' (s.in)").collect())
      fails("ZORDER_INDEX_COLUMN_INVALID")(sql(s"CREATE ZORDER INDEX ON '$dir' (l)").collect())
      assert(!storeOf(dir).exists)
      one(s"CREATE ZORDER INDEX ON '$dir' (S.`In`.y, ID)")
      assert(names(dir).toSet === Set("s.in.y", "id"))
      write(frame, dir, "p")
      one(s"REFRESH ZORDER INDEX ON '$dir'")
      assert(names(dir).toSet === Set("s.in.y", "id"))
      assert(entries(dir) === listed(dir))
      val other = one(s"REFRESH ZORDER INDEX ON '$dir' (s.x)")
      assert(other.getSeq[String](2) === Seq("s.x") && other.getLong(5) === listed(dir).size)
      one(s"DROP ZORDER INDEX ON '$dir'")
      one(s"CREATE ZORDER INDEX ON '$dir'")
      assert(names(dir).toSet === Set("id", "s.x", "s.in.y"))
    }
  }

  test("a job reads the footers of many files, with the same result") {
    withTableDir { dir =>
      write(shuffled(600, 6), dir)
      val files = new TableLister(
        SparkLine.session(spark),
        PathTarget(dir.getPath, ParquetFiles)).list().files
      val root = new Path(s"file:$dir")
      val session = SparkLine.session(spark)
      var byJob: BuiltIndex = null
      val jobs = JobCounter.count(spark) {
        byJob = new IndexBuild(session, root, ColumnChoice(), jobFrom = 1, ParquetFiles).of(files)
      }
      assert(jobs.jobs === 1)
      val here =
        new IndexBuild(session, root, ColumnChoice(), jobFrom = 100, ParquetFiles).of(files)
      var byJobs: BuiltIndex = null
      val three = JobCounter.count(spark) {
        byJobs = new IndexBuild(
          session,
          root,
          ColumnChoice(),
          jobFrom = 1,
          ParquetFiles,
          filesOfJob = 2).of(files)
      }
      assert(three.jobs === 3)
      for (built <- Seq(byJob, byJobs)) {
        assert(built.content.files.size === 6)
        assert(
          (0 until 6).map(built.content.files.path) === (0 until 6).map(here.content.files.path))
        built.content.columns.zip(here.content.columns).foreach { case ((c, v), (d, w)) =>
          assert(c === d && v.nulls.toSeq === w.nulls.toSeq && v.flags.toSeq === w.flags.toSeq)
        }
      }
    }
  }

  test("a file that is no Parquet is left out and named") {
    withTableDir { dir =>
      write(shuffled(100, 2), dir)
      Files.write(new File(dir, "broken.parquet").toPath, "no".getBytes)
      val row = one(s"CREATE ZORDER INDEX ON '$dir'")
      assert(row.getLong(1) === 2L && row.getString(6).contains("broken.parquet"))
    }
  }

  test("tables of the catalog, bucketed ones too; views and other formats are refused") {
    withTable("t", "b", "j") {
      sql("CREATE TABLE t USING parquet AS SELECT id, id % 3 p FROM range(20)")
      assert(one("CREATE ZORDER INDEX ON t").getSeq[String](2) === Seq("id", "p"))
      sql(
        "CREATE TABLE b USING parquet CLUSTERED BY (id) INTO 2 BUCKETS AS SELECT id FROM range(9)")
      assert(one("CREATE ZORDER INDEX ON b").getLong(3) === 9L)
      sql("CREATE TABLE j USING json AS SELECT id FROM range(2)")
      fails("ZORDER_UNSUPPORTED_TABLE", "json")(sql("CREATE ZORDER INDEX ON j").collect())
      fails("ZORDER_PATH_NOT_A_TABLE")(sql("CREATE ZORDER INDEX ON '/not/there'").collect())
      withView("v") {
        sql("CREATE VIEW v AS SELECT * FROM t")
        intercept[Exception](sql("CREATE ZORDER INDEX ON v").collect())
      }
    }
  }

  test("directories and files of odd names are found by what they are called") {
    withTableDir { dir =>
      val values = Seq("a b", "c%20d", "e:f", "é漢", "g=h", "50%")
      val frame = spark.createDataFrame(
        values.map(v => Row(1, v)).asJava,
        new org.apache.spark.sql.types.StructType().add("id", "int").add("p", "string"))
      write(frame, dir, "p")
      one(s"CREATE ZORDER INDEX ON '$dir'")
      assert(entries(dir) === listed(dir))
      val index = new LoadedIndex(
        new Path(s"file:$dir"),
        storeOf(dir).newest.get,
        spark.sessionState.newHadoopConf(),
        1L << 20)
      val files =
        new TableLister(
          SparkLine.session(spark),
          PathTarget(dir.getPath, ParquetFiles)).list().files
      files.foreach(f => assert(index.files.indexOf(f.status) >= 0, f.path))
      val other = files.head.status
      val later = new org.apache.hadoop.fs.FileStatus(
        other.getLen,
        false,
        1,
        1L,
        other.getModificationTime + 1,
        other.getPath)
      assert(index.files.indexOf(later) === -1)
    }
  }
}

/** The job that reads footers. */
class IndexJobSuite extends FaultyTables with Eventually {

  test("a job that is cancelled leaves no broadcast behind") {
    withTableDir { dir =>
      write(shuffled(100, 2), dir)
      val session = SparkLine.session(spark)
      val files =
        new TableLister(session, PathTarget(s"faulty://$dir", ParquetFiles)).list().files
      val build =
        new IndexBuild(session, new Path(s"faulty:$dir"), ColumnChoice(), jobFrom = 1, ParquetFiles)
      // the job's own settings are the next broadcast
      val settings = spark.sparkContext.broadcast(0).id + 1
      val hasFailed = new CountDownLatch(1)
      @volatile var wasThere = false
      FaultyFileSystem.withHook { (operation, _) =>
        if (operation == "open") {
          wasThere = TestAccess.hasBroadcast(settings)
          spark.sparkContext.cancelAllJobs()
          val _ = hasFailed.await(20, TimeUnit.SECONDS)
        }
      } {
        try intercept[org.apache.spark.SparkException](build.of(files))
        finally hasFailed.countDown()
      }
      assert(wasThere)
      eventually(timeout(10.seconds))(assert(!TestAccess.hasBroadcast(settings)))
    }
  }
}
