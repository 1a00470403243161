// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping

import java.io.File
import java.nio.file.Files

import scala.util.Random

import org.apache.hadoop.fs.{Path => HadoopPath}
import org.scalatest.tagobjects.Slow

import org.apache.spark.sql.Row
import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanHelper
import org.apache.spark.sql.functions.col
import org.apache.spark.sql.sparkzorder.SparkLine

import io.sparkzorder.errors.ZOrderException
import io.sparkzorder.index.{IndexCache, ValuesUpdate}
import io.sparkzorder.index.values.{PostingsFormat, PostingsReader, ValuesPart}
import io.sparkzorder.table.ParquetFiles

/** Look-ups of values by columns whose min and max span everything. */
class ValuesIndexSuite extends ValuesIndexTestBase with AdaptiveSparkPlanHelper {

  test("a value by a column that does not order the table keeps its file alone", Slow) {
    withTableDir { dir =>
      scattered(dir, 40)
      val row = create(dir, "k, u, d, m, n")
      val values = row.getSeq[Row](7)
      assert(values.map(_.getAs[String]("column")) === Seq("k", "u", "d", "m", "n"))
      assert(values.forall(v =>
        v.getAs[Long]("files") == 40 && v.getAs[Long]("filesUncovered") == 0))
      assert(values.forall(_.getAs[Long]("bytes") > 0))
      assert(values.head.getAs[Long]("entries") === 2000)
      val one = read(dir).orderBy("id").limit(101).collect().last
      val unique = Seq(
        s"k = ${one.getAs[Long]("k")}",
        s"k IN (${one.getAs[Long]("k")}, -1)",
        s"k <=> ${one.getAs[Long]("k")}",
        s"u = '${one.getAs[String]("u")}'",
        s"u LIKE '${one.getAs[String]("u")}'",
        s"k + 1 = ${one.getAs[Long]("k") + 1}",
        s"m = ${one.getAs[java.math.BigDecimal]("m")}",
        s"n = ${one.getAs[Long]("id")}",
        s"u = '${one.getAs[String]("u")}' AND id >= 0",
        s"d = 25.0 AND k = ${one.getAs[Long]("k")}",
        s"u = '${one.getAs[String]("u")}' OR u = 'x'")
      val open = Seq(
        "u > 'u-'",
        "n IS NULL",
        "n <=> NULL",
        "n NOT IN (1, 2)",
        s"NOT (k = ${one.getAs[Long]("k")})")
      val all = unique.map(_ -> 1) ++ open.map(_ -> 40) :+ "u = 'u-nobody'" -> 0
      all.zip(keptEach(dir, all.map(_._1))).foreach { case ((filter, files), found) =>
        assert(found === files, filter)
      }
      assert(kept(dir, "d = 25.0") <= 4)
    }
  }

  test("a warm look-up makes one read of few bytes") {
    withTableDir { dir =>
      scattered(dir, 20, rows = 2000)
      create(dir, "u")
      def ask(i: Int) = kept(dir, s"u = concat('u-', md5('$i'))")
      ask(7)
      val (requests, bytes) = PostingsReader.reads
      assert(ask(8) === 1)
      val (after, bytesAfter) = PostingsReader.reads
      assert(after - requests === 1)
      assert(bytesAfter - bytes <= 8192)
    }
  }

  test("EXPLAIN and SHOW SKIPPING tell what the values prune") {
    withTableDir { dir =>
      scattered(dir, 10)
      create(dir, "u")
      scattered(dir, 2, from = 100000)
      val df = read(dir).where("u = concat('u-', md5('3'))")
      assert(df.collect().length === 1)
      assert(
        df.queryExecution.executedPlan.toString.contains("pruned by u: 9; not in the index: 2"))
      def reason(filter: String) =
        sql(s"SHOW SKIPPING FOR SELECT * FROM parquet.`$dir` WHERE $filter")
          .collect().map(_.getAs[String]("reason")).filter(_ != null).toSet
      val many = (1 to 30).map(i => s"concat('u-', md5('$i'))").mkString(", ")
      assert(reason(s"u IN ($many)")
        .exists(_.endsWith("values would cost more than reading the 10 files that are left")))
      sql(s"DROP ZORDER INDEX ON '$dir'")
      create(dir, "u")
      scattered(dir, 3, from = 200000)
      sql(s"CREATE TABLE t USING parquet LOCATION '$dir'")
      try assert(reason("u = 'x'").isEmpty)
      finally sql("DROP TABLE t")
    }
  }

  test("REFRESH keeps the list and adds what is new; DROP removes everything") {
    withTableDir { dir =>
      scattered(dir, 10)
      create(dir, "u")
      scattered(dir, 5, from = 100000)
      val added = dataFiles(dir).size - 10
      assert(kept(dir, "u = concat('u-', md5('100001'))") === added)
      val row = sql(s"REFRESH ZORDER INDEX ON '$dir'").head()
      assert(row.getSeq[Row](7).map(_.getAs[Long]("files")) === Seq(10 + added))
      assert(partsOf(dir).size === 2)
      assert(kept(dir, "u = concat('u-', md5('100001'))") === 1)
      assert(kept(dir, "u = concat('u-', md5('5'))") === 1)
      sql(s"DROP ZORDER INDEX ON '$dir'").collect()
      assert(partsOf(dir).isEmpty)
      sql(s"CREATE ZORDER INDEX ON '$dir'").collect()
      assert(kept(dir, "u = concat('u-', md5('5'))") === 10 + added)
    }
  }

  test("files that are written again, and files that go") {
    withTableDir { dir =>
      scattered(dir, 10)
      create(dir, "u")
      val names = dataFiles(dir).map(_.name)
      overwrite(dir, names(0), by = names(1))
      Files.delete(new File(dir, names(2)).toPath)
      keptOfEach(dir, "u", filesOf(dir, "u").take(30))
      sql(s"REFRESH ZORDER INDEX ON '$dir'").collect()
      val truth = filesOf(dir, "u").take(30).toSeq
      assert(keptOfEach(dir, "u", truth) === truth.map(_._2.size))
    }
  }

  test("each byte of a part that is flipped keeps the rows", Slow) {
    withTableDir { dir =>
      scattered(dir, 6, rows = 20)
      create(dir, "k")
      val truth = filesOf(dir, "k").toSeq.take(3)
      def all() = truth.map { case (k, files) => keptOf(dir, "k", k, files) }
      val part = partsOf(dir).head
      part.listFiles.foreach { file =>
        val good = Files.readAllBytes(file.toPath)
        val step = math.max(1, good.length / 25)
        (0 until good.length by step).foreach { at =>
          val bad = good.clone()
          bad(at) = (bad(at) ^ (1 << Random.nextInt(8))).toByte
          Files.write(file.toPath, bad)
          IndexCache.clear()
          all()
        }
        Seq(good.take(good.length / 2), Array.emptyByteArray).foreach { torn =>
          Files.write(file.toPath, torn)
          IndexCache.clear()
          all()
        }
        Files.delete(file.toPath)
        IndexCache.clear()
        assert(all().forall(_ > 1))
        Files.write(file.toPath, good)
      }
      IndexCache.clear()
      assert(all().forall(_ == 1))
    }
  }

  test("a part of another table in the place of a part") {
    withTableDir { dir =>
      withTableDir { other =>
        scattered(dir, 6)
        scattered(other, 6, from = 5000)
        create(dir, "k")
        create(other, "k")
        val (mine, foreign) = (partsOf(dir).head, partsOf(other).head)
        foreign.listFiles.foreach(f =>
          Files.copy(
            f.toPath,
            new File(mine, f.getName).toPath,
            java.nio.file.StandardCopyOption.REPLACE_EXISTING))
        IndexCache.clear()
        keptOfEach(dir, "k", filesOf(dir, "k").take(20))
      }
    }
  }

  test("fingerprints that collide cost files, never rows", Slow) {
    PostingsFormat.withFingerprints(4) {
      withTableDir { dir =>
        scattered(dir, 20)
        create(dir, "k, u, s")
        for (c <- Seq("k", "u", "s"); (value, files) <- filesOf(dir, c).take(40)) {
          keptOf(dir, c, value, files)
        }
      }
    }
  }

  test("values in most files, and long values", Slow) {
    withTableDir { dir =>
      spark.range(300).selectExpr(
        "id AS i",
        "'all' AS c",
        "CASE WHEN id % 100 = 0 THEN concat(repeat('x', 5000), id) ELSE concat('v', id) END AS v")
        .repartitionByRange(300, col("i")).write.parquet(dir.getPath)
      val files = dataFiles(dir).size
      create(dir, "c, v")
      assert(kept(dir, "c = 'all'") === files)
      assert(kept(dir, "v = 'v7'") <= 4)
      assert(kept(dir, s"v = '${"x" * 5000}100'") <= 4)
      assert(kept(dir, "c = 'none'") === 0)
    }
  }

  test("a column of two types that Spark reads as one", Slow) {
    assume(org.apache.spark.sql.sparkzorder.SparkLine.readsWidened)
    withTableDir { dir =>
      for (t <- Seq("int", "bigint"); i <- 0 until 4) {
        val from = if (t == "int") i else 10 + i
        spark.range(100).selectExpr(s"cast(id * 20 + $from as $t) AS k", "id").coalesce(1)
          .write.mode("append").parquet(dir.getPath)
      }
      create(dir, "k")
      val wide = spark.read.schema("k BIGINT, id BIGINT").parquet(dir.getPath)
      (0 until 30).foreach(k => assert(keptFiles(wide.where(s"k = $k")) <= 1))
      // in another domain the index of values is not asked
      val real = spark.read.schema("k DOUBLE, id BIGINT").parquet(dir.getPath)
      assert(scanOf(real.where("k = 3")).kept().size === 8)
    }
  }

  test("OPTIMIZE, UNDO and INTO keep the values of new files") {
    withTableDir { dir =>
      withTableDir { copy =>
        copy.delete()
        scattered(dir, 10)
        create(dir, "u")
        sql(s"OPTIMIZE '$dir' ZORDER BY (id) OPTIONS ('targetFileSize' '8k')").collect()
        val files = dataFiles(dir).size
        assert(files > 3)
        val five = (0 until 5).map(i => s"u = concat('u-', md5('$i'))")
        assert(keptEach(dir, five).forall(_ == 1))
        sql(s"OPTIMIZE '$dir' ZORDER BY (k) INTO '$copy' OPTIONS ('targetFileSize' '8k')").collect()
        assert(keptEach(copy, five).forall(_ == 1))
        sql(s"UNDO LAYOUT '$dir'").collect()
        assert(keptEach(dir, five).forall(_ == 1))
      }
    }
  }

  test("the keys of a join are looked up") {
    withTableDir { dir =>
      scattered(dir, 30, rows = 100)
      create(dir, "u")
      read(dir).createOrReplaceTempView("facts")
      spark.range(1, 4).selectExpr("concat('u-', md5(cast(id as string))) AS u", "id AS i")
        .write.mode("overwrite").parquet(s"$dir-wanted")
      spark.read.parquet(s"$dir-wanted").createOrReplaceTempView("wanted")
      val df = sql("SELECT f.* FROM facts f JOIN wanted w ON f.u = w.u WHERE w.i > 0")
      assert(df.collect().length === 3)
      val files = collect(df.queryExecution.executedPlan) { case s: FileSourceScanExec => s }
        .filter(_.output.exists(_.name == "k")).map(_.metrics("numFiles").value)
      assert(files.forall(_ <= 3) && files.nonEmpty, df.queryExecution.executedPlan.toString)
    }
  }

  test("REFRESH makes a damaged part anew, and takes the property of the table") {
    withTable("t") {
      sql("CREATE TABLE t (a BIGINT, u STRING) USING parquet")
      spark.range(400).selectExpr(
        "id",
        "md5(cast(id as string))").repartition(8).write.insertInto("t")
      sql("CREATE ZORDER INDEX ON t").collect()
      sql("ALTER TABLE t SET TBLPROPERTIES ('zorder.index.values' = 'u')")
      def ofValues(row: Row) = row.getSeq[Row](7).map(v => (v.getString(0), v.getLong(1)))
      assert(ofValues(sql("REFRESH ZORDER INDEX ON t").head()) === Seq(("u", 8L)))
      checkValues(spark.table("t"), "u", most = 1)
      val dir = locationOf("t")
      val head = new File(partsOf(dir).head, ValuesPart.Head).toPath
      Files.write(head, Files.readAllBytes(head).take(20))
      IndexCache.clear()
      checkValues(spark.table("t"), "u", most = 8)
      assert(sql("SHOW LAYOUT t FOR (u)").head().getAs[Row]("values").getLong(0) === 0L)
      assert(ofValues(sql("REFRESH ZORDER INDEX ON t").head()) === Seq(("u", 8L)))
      checkValues(spark.table("t"), "u", most = 1)
      // and an index that cannot be read begins anew, with the property's columns
      storeOf(dir).generations().foreach(g =>
        Files.write(new File(g.getPath.toUri.getPath).toPath, "no index".getBytes))
      assert(ofValues(sql("REFRESH ZORDER INDEX ON t").head()) === Seq(("u", 8L)))
      checkValues(spark.table("t"), "u", most = 1)
    }
  }

  test("what cannot be indexed is refused") {
    withTable("t") {
      sql("CREATE TABLE t (a INT, d DATE, ts TIMESTAMP, c CHAR(3), s STRUCT<f: INT>, b BOOLEAN, p INT) " +
        "USING parquet PARTITIONED BY (p)")
      sql("INSERT INTO t VALUES (1, current_date(), now(), 'a', named_struct('f', 1), true, 1)")
      def message(values: String) = intercept[ZOrderException](
        sql(s"CREATE ZORDER INDEX ON t OPTIONS ('values' '$values')").collect()).getMessage
      Seq("d", "ts", "c", "s", "s.f", "b", "p", "a, d").foreach { c =>
        withClue(c)(assert(message(c).startsWith("[ZORDER_INDEX_COLUMN_INVALID]")))
      }
      assert(message("nobody").startsWith("[ZORDER_COLUMN_NOT_FOUND]"))
      sql("ALTER TABLE t SET TBLPROPERTIES ('zorder.index.values' = 'a')")
      val row = sql("CREATE ZORDER INDEX ON t").head()
      assert(row.getSeq[Row](7).map(_.getAs[String]("column")) === Seq("a"))
    }
  }

  test("partitions, ORC, names in another case, and files that lack the column", Slow) {
    withTable("pt", "orct") {
      spark.range(2000).selectExpr(
        "id",
        "concat('u-', md5(cast(id as string))) AS u",
        "id % 4 AS p")
        .repartition(6).write.format("parquet").partitionBy("p").saveAsTable("pt")
      sql("CREATE ZORDER INDEX ON pt OPTIONS ('values' 'U')").collect()
      checkValues(spark.table("pt"), "u", most = 1)
      spark.range(2000).selectExpr(
        "id",
        "concat('u-', md5(cast(id as string))) AS u",
        "id * 2 AS k")
        .repartition(6).write.format("orc").saveAsTable("orct")
      sql("CREATE ZORDER INDEX ON orct OPTIONS ('values' 'u, k')").collect()
      checkValues(spark.table("orct"), "u", most = 1)
      checkValues(spark.table("orct"), "k", most = 1)
    }
    withTableDir { dir =>
      val rows = spark.range(400).selectExpr("id", "id * 7 % 401 AS k")
      rows.repartition(4).write.parquet(dir.getPath)
      rows.selectExpr(
        "id",
        "k + 1000 AS K").repartition(4).write.mode("append").parquet(dir.getPath)
      rows.select("id").repartition(2).write.mode("append").parquet(dir.getPath)
      create(dir, "k")
      // to a session that knows case, a file with the other spelling lacks the column
      for ((sensitive, most) <- Seq("false" -> 2, "true" -> 10)) {
        inConf("spark.sql.caseSensitive" -> sensitive) {
          checkValues(spark.read.schema("id BIGINT, k BIGINT").parquet(dir.getPath), "k", most)
          checkValues(spark.read.schema("id BIGINT, K BIGINT").parquet(dir.getPath), "K", most)
        }
      }
    }
  }

  test("a column that was added with a default is never looked up in files that lack it") {
    withTable("t") {
      sql("CREATE TABLE t (id BIGINT) USING parquet")
      spark.range(100).repartition(3).write.insertInto("t")
      sql("ALTER TABLE t ADD COLUMN k BIGINT DEFAULT 42")
      spark.range(100).selectExpr("id", "id * 3 AS k").repartition(3).write.insertInto("t")
      sql("CREATE ZORDER INDEX ON t OPTIONS ('values' 'k')").collect()
      assert(keptFiles(spark.table("t").where("k = 42")) >= 4)
      assert(keptFiles(spark.table("t").where("k = 43")) <= 3)
    }
  }

  test("bytes of ORC files that a table has as text: the reader's text is not that of the bytes") {
    withTable("t") {
      withTableDir { dir =>
        spark.range(80).selectExpr("cast(cast(id + 10 AS STRING) AS BINARY) b", "id").repartition(4)
          .write.orc(dir.getPath)
        sql(s"CREATE TABLE t (b STRING, id BIGINT) USING orc LOCATION '$dir'")
        sql("CREATE ZORDER INDEX ON t OPTIONS ('values' 'b')").collect()
        def ids(query: String): Seq[Any] = sql(query).collect().map(_.get(0)).toSeq
        // ORC's reader gives the digits of '27'
        assert(ids("SELECT b FROM t WHERE id = 17") === Seq("32 37"))
        assert(ids("SELECT id FROM t WHERE b = '32 37'") === Seq(17))
        assert(ids("SELECT id FROM t WHERE b IN ('32 37', '32 38') ORDER BY id") === Seq(17, 18))
        assert(ids("SELECT id FROM t JOIN VALUES ('32 37') AS k(b) USING (b)") === Seq(17))
        val bytes = spark.read.schema("b BINARY, id BIGINT").orc(dir.getPath)
        assert(keptFiles(bytes.where("b = X'3237'")) === 1)
      }
    }
  }

  test("a column with a default, and a file that has its name in another case") {
    withTable("t") {
      withTableDir { dir =>
        inConf("spark.sql.caseSensitive" -> "true") {
          spark.range(10).selectExpr("id", "cast(7 as bigint) AS K").write.parquet(dir.getPath)
          sql(s"CREATE TABLE t (id BIGINT) USING parquet LOCATION '$dir'")
          sql("ALTER TABLE t ADD COLUMN k BIGINT DEFAULT 42")
          sql("INSERT INTO t VALUES (100, 1)")
          sql("CREATE ZORDER INDEX ON t OPTIONS ('values' 'k')").collect()
          assert(sql("SELECT * FROM t WHERE k = 42").count() === 10)
          assert(sql("SELECT * FROM t WHERE k = 1").count() === 1)
        }
      }
    }
  }

  test("a column that is named twice is indexed once; a file that cannot be read costs no index") {
    withTableDir { dir =>
      scattered(dir, 4)
      assert(create(dir, "k, K").getSeq[Row](7).map(_.getString(0)) === Seq("k"))
      assert(kept(dir, "k = 7919") === 1)
      sql(s"DROP ZORDER INDEX ON '$dir'").collect()
      val bad = new File(dir, dataFiles(dir).head.name).toPath
      val bytes = Files.readAllBytes(bad)
      java.util.Arrays.fill(bytes, 4, 200, 0x5a.toByte)
      Files.write(bad, bytes)
      val row = create(dir, "k")
      assert(row.getAs[String]("reason").startsWith("values of 1 files could not be read"))
      assert(row.getSeq[Row](7).map(v => (v.getLong(1), v.getLong(2))) === Seq((3L, 1L)))
      assert(sql(s"SHOW LAYOUT '$dir'").count() > 0)
    }
  }

  test("the files of a shadow are looked up") {
    withTableDir { dir =>
      scattered(dir, 8)
      create(dir, "u")
      sql(s"OPTIMIZE '$dir' ZORDER BY (id) OPTIONS ('targetFileSize' '8k', 'publish' 'shadow')")
        .collect()
      (0 until 10).foreach { i =>
        val df = read(dir).where(s"u = concat('u-', md5('$i'))")
        assert(df.collect().map(_.getAs[Long]("id")).toSeq === Seq(i.toLong))
        val files = collect(df.queryExecution.executedPlan) { case s: FileSourceScanExec => s }
          .map(_.metrics("numFiles").value)
        assert(files === Seq(1L))
      }
      val row = sql(s"SHOW LAYOUT '$dir' FOR (u, k)").collect()
        .map(r => r.getString(0) -> Option(r.getAs[Row]("values"))).toMap
      assert(row("u").exists(_.getLong(0) > 0) && row("k").isEmpty)
    }
  }

  test("many parts are made one by REFRESH", Slow) {
    withTableDir { dir =>
      scattered(dir, 2)
      create(dir, "u")
      (1 to 21).foreach { i =>
        scattered(dir, 1, rows = 5, from = i * 10000)
        if (i == 20) {
          sql(s"OPTIMIZE '$dir' ZORDER BY (id)").collect()
          val root = new HadoopPath(s"file:$dir")
          val why = new ValuesUpdate(SparkLine.session(spark), root, ParquetFiles)
            .attempt(mayRebuild = false)
          assert(why.exists(_.contains("`u` has 20 parts in the index")), why)
        }
        sql(s"REFRESH ZORDER INDEX ON '$dir'").collect()
      }
      val summary = ValuesUpdate.summaries(
        new HadoopPath(s"file:$dir"),
        spark.sessionState.newHadoopConf())
      assert(summary.map(_.uncovered) === Seq(0L))
      filesOf(dir, "u").take(20).foreach { case (u, files) =>
        assert(keptOf(dir, "u", u, files) === 1)
      }
      assert(storeOf(dir).generations().headOption.isDefined)
    }
  }

  test(
    "of many parts, REFRESH keeps the one with the values of a file that cannot be read again",
    Slow) {
    withTableDir { dir =>
      scattered(dir, 2)
      create(dir, "u")
      (1 to 21).foreach { i =>
        if (i == 15) {
          val bad = new File(dir, dataFiles(dir).head.name)
          val (bytes, time) = (Files.readAllBytes(bad.toPath), bad.lastModified)
          java.util.Arrays.fill(bytes, 4, 200, 0x5a.toByte)
          Files.write(bad.toPath, bytes)
          assert(bad.setLastModified(time))
        }
        scattered(dir, 1, rows = 5, from = i * 10000)
        sql(s"REFRESH ZORDER INDEX ON '$dir'").collect()
      }
      def parts = partsOf(dir).map(_.getName).toSet
      assert(storeOf(dir).newest.isDefined)
      sql(s"VACUUM LAYOUT '$dir' RETAIN 0 HOURS").collect()
      val few = parts
      // the job over all files failed, and its halves made several parts
      assert(few.size < 10)
      (1 to 3).foreach(_ => sql(s"REFRESH ZORDER INDEX ON '$dir'").collect())
      assert(parts === few)
      val summary = ValuesUpdate.summaries(
        new HadoopPath(s"file:$dir"),
        spark.sessionState.newHadoopConf())
      assert(summary.map(_.uncovered) === Seq(0L))
    }
  }

  test("an index of values that says something wrong is noticed") {
    withTableDir { dir =>
      scattered(dir, 6)
      create(dir, "u")
      val part = partsOf(dir).head
      val head = new File(part, ValuesPart.Head).toPath
      val bytes = Files.readAllBytes(head)
      val parsed = ValuesPart.parse(bytes, part.getName)
      // by another seed nothing is found
      val wrong = Iterator.from(1).map(i => parsed.copy(seed = parsed.seed + i).toBytes)
        .find(_.length == bytes.length).get
      Files.write(head, wrong)
      IndexCache.clear()
      val lost = intercept[org.scalatest.exceptions.TestFailedException] {
        keptOfEach(dir, "u", filesOf(dir, "u").take(20))
      }
      assert(lost.getMessage.contains("lost where"))
    }
  }
}
