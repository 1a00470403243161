// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping

import java.io.{File, RandomAccessFile}

import scala.util.Random

import org.apache.hadoop.fs.Path
import org.scalatest.tagobjects.Slow

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.sparkzorder.SparkLine

import io.sparkzorder.index.{ColumnChoice, IndexBuild, IndexReader}
import io.sparkzorder.table.{DataFile, ParquetFiles}
import io.sparkzorder.table.stats.FooterReader

/** Bounds of FLOAT and DOUBLE columns whose NaN hide them from footers: they are read from the values. */
class ReadBoundsSuite extends SkippingTestBase {

  /** Ten files of numbers from 10 * i on, each with a NaN, a NULL or both, and one file of NaN and NULL alone. */
  private def write(dir: File): Unit = {
    val numbers = (0 until 10).map { i =>
      spark.range(0, 10).selectExpr(
        "id",
        s"if(id = 3 and ${i % 3 != 1}, double('NaN'), if(id = 4, null, id + 10D * $i)) d",
        s"if(id = 5, float('NaN'), cast(id + 10 * $i as float)) f",
        s"named_struct('x', if(id = 0, double('NaN'), -1D * (id + 10 * $i))) n")
    }
    val none = spark.range(2).selectExpr(
      "id",
      "if(id = 0, double('NaN'), null) d",
      "float('NaN') f",
      "named_struct('x', double('NaN')) n")
    filesAtOnce(dir, numbers :+ none: _*)
  }

  private def create(dir: File, columns: String): Unit = {
    val _ = sql(s"CREATE ZORDER INDEX ON '$dir' $columns").collect()
  }

  // with the number of the ten files that may match; the file of NaN alone has no bounds and is read as well
  private val predicates = Seq(
    "d = 42" -> 1,
    "d BETWEEN 41 AND 52" -> 2,
    "d < 10" -> 1,
    "d IN (11, 22, 33)" -> 3,
    "f = 42" -> 1,
    "f <= 9" -> 1,
    "n.x < -92" -> 1,
    "n.x BETWEEN -35 AND -32" -> 1,
    "d >= 55 AND NOT isnan(d)" -> 5,
    "nanvl(d, 0.0D) > 95" -> 1,
    "coalesce(nanvl(d, null), 0.0D) BETWEEN 41 AND 42" -> 1,
    "round(d) = 42" -> 1,
    "floor(d / 10) * 10 = 40" -> 1)

  /** The number of files with numbers that are kept. */
  private def kept(dir: File, predicate: String): Int = keptEach(dir, Seq(predicate)).head

  private def keptEach(dir: File, predicates: Seq[String]): Seq[Int] = {
    val table = read(dir)
    val numbers +: found = matchingEach(table, "f < 1000" +: predicates): @unchecked
    predicates.zip(found).map { case (p, matching) =>
      val kept = scanOf(table.where(p)).kept()
      assert((matching -- kept).isEmpty, s"files with rows that match $p")
      kept.count(numbers)
    }
  }

  test("files with NaN are skipped by a column that the index names") {
    withTableDir { dir =>
      write(dir)
      create(dir, "(d, f, n.x)")
      val all = predicates ++ Seq(
        // NaN is the greatest value, so files with NaN may match, and those without are skipped
        "d > 1000" -> 7,
        "isnan(d)" -> 7,
        "d = double('NaN')" -> 7,
        "f > 1000" -> 10,
        // each file has a NaN in f, and no NULL
        "nanvl(f, cast(null as float)) IS NULL" -> 10,
        "coalesce(nanvl(f, cast(null as float)), float(-1)) = -1" -> 10)
      all.zip(keptEach(dir, all.map(_._1))).foreach { case ((p, n), found) =>
        assert(found === n, p)
      }
    }
  }

  test("the first columns of a file are not read if the index names none") {
    withTableDir { dir =>
      write(dir)
      create(dir, "")
      assert(kept(dir, "f = 42") === 10)
      // seven of ten have NaN, and 42 is in another file
      assert(kept(dir, "d = 42") === 8)
    }
  }

  test("a file that the job cannot read keeps the entry of its footer") {
    withTableDir { dir =>
      write(dir)
      val root = new Path(dir.toURI)
      val conf = spark.sessionState.newHadoopConf()
      val files = root.getFileSystem(conf).listStatus(root).toSeq
        .filter(_.getPath.getName.endsWith(".parquet")).map(DataFile.alone)
      val footers =
        FooterReader.tryRead(files, conf, ParquetFiles).map(_.get).map(f =>
          f -> f.file.path.getName)
      val build = new IndexBuild(
        SparkLine.session(spark),
        root,
        ColumnChoice(Some(Seq(Seq("id"), Seq("d")))),
        format = ParquetFiles)
      def entries = build.ofFooters(footers).files
      val all = entries.size
      assert(all === files.size)
      // the last file has a NaN, so its values are read
      assert(new File(files.last.path.toUri).delete())
      assert(entries.size === all)
    }
  }

  test("by a job over all files the bounds are the same") {
    withTableDir { dir =>
      write(dir)
      val root = new Path(dir.toURI)
      val session = SparkLine.session(spark)
      val fs = root.getFileSystem(spark.sessionState.newHadoopConf())
      val files = fs.listStatus(root).toSeq.filter(_.getPath.getName.endsWith(".parquet"))
        .map(DataFile.alone)
      val choice = ColumnChoice(Some(Seq(Seq("d"), Seq("F"), Seq("n", "x"))))
      val Seq(byJob, byThreads) = Seq(1, 1000).map { jobFrom =>
        val content = new IndexBuild(session, root, choice, jobFrom, ParquetFiles).of(files).content
        (0 until content.files.size).map { i =>
          content.files.path(i) -> content.columns.map { case (c, v) =>
            (
              c.name,
              v.nulls(i),
              v.flags(i),
              bound(v.min, v.flags(i), i),
              bound(v.max, v.flags(i), i))
          }.toSet
        }.toMap
      }
      assert(byJob === byThreads)
      assert(byJob.size === 11)
    }
  }

  /** The number of files that the scan opens, hidden ones as well. */
  private def filesRead(df: DataFrame): Long = {
    df.collect()
    df.queryExecution.executedPlan.collect { case s: FileSourceScanExec =>
      s.metrics("numFiles").value
    }.sum
  }

  private def bound(values: io.sparkzorder.index.StatValues, flags: Byte, i: Int): Long =
    values match {
      case io.sparkzorder.index.LongStats(v) if (flags & 1) != 0 => v(i)
      case _ => 0L
    }

  test("OPTIMIZE reads the values of its ordering columns")(checkOptimize(""))

  test("OPTIMIZE reads the values of its ordering columns beside the files", Slow)(
    checkOptimize(", 'publish' 'shadow'"))

  private def checkOptimize(options: String): Unit = {
    withTableDir { dir =>
      write(dir)
      sql(s"OPTIMIZE '$dir' ZORDER BY (d, f) OPTIONS ('targetFileSize' '600'$options)").collect()
      for (p <- Seq("d = 42", "f BETWEEN 41 AND 42")) {
        val rows = withoutSkipping(bag(read(dir).where(p)))
        assert(filesRead(read(dir).where(p)) <= 6, s"$p $options")
        assert(bag(read(dir).where(p)) === rows)
      }
      assert(filesRead(read(dir)) > 9)
      // the entries are complete: nothing is read again
      assert(sql(s"REFRESH ZORDER INDEX ON '$dir'").head().getLong(5) === 0L)
    }
  }

  test("OPTIMIZE reads the values of its ordering columns into a directory", Slow) {
    withTableDir { dir =>
      write(dir)
      withTableDir { copy =>
        copy.delete()
        sql(
          s"OPTIMIZE '$dir' ZORDER BY (d) INTO '$copy' OPTIONS ('targetFileSize' '600')").collect()
        val all = scanOf(read(copy)).files.size
        assert(keptFiles(read(copy).where("d = 42")) <= all / 2)
      }
    }
  }

  test("REFRESH reads the values of new files") {
    withTableDir { dir =>
      write(dir)
      create(dir, "(d)")
      // with the column that the other files are known by, as any file may give the schema
      filesOf(
        dir,
        sql("SELECT 1L id, double('NaN') d, float(5000) f UNION ALL SELECT 2L, 777D, float(5000)"))
      sql(s"REFRESH ZORDER INDEX ON '$dir'").collect()
      assert(kept(dir, "d = 42") === 1)
      assert(keptFiles(read(dir).where("d = 777")) === 2)
      assert(keptFiles(read(dir).where("d = 778")) === 1)
      val header = new IndexReader(
        storeOf(dir).generations().head,
        spark.sessionState.newHadoopConf()).header
      assert(header.columns.map(_.path.mkString(".")).toSet === Set("d"))
    }
  }

  test("a file whose values cannot be read gets no bounds, and the others do") {
    withTableDir { dir =>
      write(dir)
      val schema = read(dir).schema
      val damaged = matching(read(dir).where("f = 3")).head
      val bytes = new RandomAccessFile(new File(dir, damaged), "rw")
      // the footer at the end stays
      try {
        bytes.seek(4)
        bytes.write(Array.fill[Byte](60)(-1))
      } finally bytes.close()
      create(dir, "(d, f, n.x)")
      // a schema that is given is not read from the damaged file
      val numbers = scanOf(spark.read.schema(schema).parquet(dir.getPath).where("f = 77")).kept()
      assert(numbers.contains(damaged) && numbers.size === 3)
    }
  }

  testParts("random numbers with NaN, infinities and zeros of both signs lose no row")(
    checkRandom(40))(checkRandom(400))

  private def checkRandom(count: Int): Unit = {
    val seed = System.nanoTime()
    val random = new Random(seed)
    withClue(s"seed $seed: ") {
      withTableDir { dir =>
        val odd = Seq("NaN", "Infinity", "-Infinity", "-0.0", "0.0", "NaN")
        def value(): String =
          if (random.nextInt(4) == 0) odd(random.nextInt(odd.size))
          else (random.nextInt(2000) / 10.0 - 100).toString
        filesAtOnce(
          dir,
          (1 to 12).map { i =>
            val rows = (1 to 1 + random.nextInt(6)).map(_ =>
              s"(double('${value()}'), float('${value()}'), $i)")
            val frame = sql(s"SELECT * FROM VALUES ${rows.mkString(", ")} AS t(d, f, i)")
            if (i % 3 == 0) frame.selectExpr("f d", "f", "i") else frame
          }: _*)
        create(dir, "(d, f)")
        val table = spark.read.schema("d double, f float, i int").parquet(dir.getPath)
        val functions =
          Seq(
            "d",
            "-d",
            "abs(d)",
            "d * 2",
            "d + f",
            "sqrt(d)",
            "d / 0.5D",
            "greatest(d, f)",
            "nanvl(d, f)",
            "nanvl(d, null)",
            "coalesce(nanvl(d, null), 0D)",
            "coalesce(d, 1D)",
            "if(isnan(d), 0D, d)",
            "f",
            "cast(f as double)")
        val predicates = (1 to count).flatMap { _ =>
          val f = functions(random.nextInt(functions.size))
          val op = Seq("=", "<", "<=", ">", ">=", "!=", "<=>")(random.nextInt(7))
          val p = s"$f $op double('${value()}')"
          Seq(p, s"NOT ($p)")
        }
        keptFilesEach(table, predicates)
      }
    }
  }
}
