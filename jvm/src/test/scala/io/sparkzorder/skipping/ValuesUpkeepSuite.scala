// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping

import java.io.File
import java.nio.file.Files
import java.util.concurrent.atomic.AtomicBoolean

import org.apache.hadoop.fs.{Path => HadoopPath}
import org.scalatest.tagobjects.Slow

import org.apache.spark.SparkConf
import org.apache.spark.sql.Row
import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanHelper
import org.apache.spark.sql.sparkzorder.SparkLine

import io.sparkzorder.FaultyFileSystem
import io.sparkzorder.errors.ZOrderException
import io.sparkzorder.index.{IndexCache, IndexReader, ValuesUpdate}
import io.sparkzorder.index.values.ValuesPart
import io.sparkzorder.table.ParquetFiles

/** How an index of values changes: by several sessions at once, with odd files, and what it leaves behind. */
class ValuesUpkeepSuite extends ValuesIndexTestBase with AdaptiveSparkPlanHelper {

  override def sparkConf: SparkConf = {
    val conf = super.sparkConf
    FaultyFileSystem.settings.foreach { case (k, v) => conf.set(k, v) }
    conf
  }

  private def refresh(dir: File, scheme: String = ""): Row =
    sql(s"REFRESH ZORDER INDEX ON '$scheme$dir'").head()

  /** Names of the parts that the newest generation names, by their columns. */
  private def named(dir: File): Map[String, Set[String]] = {
    val newest = storeOf(dir).newest.get
    new IndexReader(newest.file, spark.sessionState.newHadoopConf()).header.values.get.parts
      .groupBy(_.column).map { case (c, parts) => c -> parts.map(_.name).toSet }
  }

  private def ofValues(row: Row): Seq[(String, Long, Long)] =
    row.getSeq[Row](7).map(v => (v.getString(0), v.getLong(1), v.getLong(2)))

  private def damage(dir: File, part: String): Unit = {
    val head = new File(dir, s"_zorder/_index/$part/${ValuesPart.Head}").toPath
    Files.write(head, Files.readAllBytes(head).take(20))
    IndexCache.clear()
  }

  /** Runs `body`, and in the middle of it `other` on another session, before the operation that `at` finds. */
  private def interrupted[T](at: (String, String) => Boolean)(other: => Any)(body: => T): T = {
    val isFirst = new AtomicBoolean(true)
    @volatile var failed: Throwable = null
    val result = FaultyFileSystem.withHook { (operation, path) =>
      if (at(operation, path.toString) && isFirst.getAndSet(false)) {
        val thread = new Thread(() =>
          try { val _ = other }
          catch { case e: Throwable => failed = e })
        thread.start()
        thread.join()
      }
    }(body)
    assert(!isFirst.get, "nothing came between")
    if (failed != null) throw failed
    result
  }

  private def isNewPart(operation: String, path: String): Boolean =
    operation == "mkdirs" && path.contains(s"/_index/${ValuesPart.Prefix}")

  test("a session that makes all parts of a column anew leaves those that another one has added") {
    withTableDir { dir =>
      scattered(dir, 4)
      create(dir, "u")
      damage(dir, named(dir)("u").head)
      interrupted(isNewPart) {
        scattered(dir, 3, from = 100000)
        refresh(dir)
      }(refresh(dir, "faulty://"))
      assert(ofValues(refresh(dir)) === Seq(("u", 7L, 0L)))
      // by the damaged part, the other session has made all files anew
      assert(named(dir)("u").size === 1)
      assert(keptOfEach(dir, "u", filesOf(dir, "u").take(20)).forall(_ == 1))
    }
  }

  test("two sessions that read the values of the same files leave one part") {
    withTableDir { dir =>
      scattered(dir, 4)
      create(dir, "u, k")
      scattered(dir, 2, from = 100000)
      interrupted(isNewPart)(refresh(dir))(refresh(dir, "faulty://"))
      assert(named(dir).map { case (c, parts) => c -> parts.size } === Map("u" -> 2, "k" -> 2))
      assert(partsOf(dir).map(_.getName).toSet === named(dir).values.flatten.toSet)
      // and a session that read fewer files than the other one has added
      scattered(dir, 1, from = 200000)
      interrupted(isNewPart) {
        scattered(dir, 1, from = 300000)
        refresh(dir)
      }(refresh(dir, "faulty://"))
      assert(named(dir).map { case (c, parts) => c -> parts.size } === Map("u" -> 3, "k" -> 3))
      assert(ofValues(refresh(dir)) === Seq(("u", 8L, 0L), ("k", 8L, 0L)))
    }
  }

  test("of two sessions that create an index at once, one says that there is one") {
    withTableDir { dir =>
      scattered(dir, 4)
      def isNewIndex(operation: String, path: String) =
        operation == "create" && path.contains("/_index/_tmp_")
      def theirs = s"CREATE IF NOT EXISTS ZORDER INDEX ON 'faulty://$dir' OPTIONS ('values' 'k')"
      val lost = intercept[ZOrderException](interrupted(isNewIndex)(create(dir, "u"))(
        sql(theirs.replace("IF NOT EXISTS ", "")).collect()))
      assert(lost.getMessage.startsWith("[ZORDER_INDEX_EXISTS]"))
      assert(ofValues(refresh(dir)) === Seq(("u", 4L, 0L)))
      sql(s"DROP ZORDER INDEX ON '$dir'").collect()
      val row = interrupted(isNewIndex)(create(dir, "u"))(sql(theirs).head())
      assert(row.getAs[String]("reason") === "the index exists already")
      assert(ofValues(row) === Seq(("u", 4L, 0L)))
    }
  }

  test("a session whose index is dropped meanwhile leaves no values behind") {
    withTableDir { dir =>
      scattered(dir, 4)
      create(dir, "u")
      scattered(dir, 2, from = 100000)
      def drop() = sql(s"DROP ZORDER INDEX ON '$dir'").collect()
      intercept[ZOrderException](interrupted(isNewPart)(drop())(refresh(dir, "faulty://")))
      assert(!storeOf(dir).exists)
      assert(partsOf(dir).isEmpty)
      // what a session that was killed has left
      val left = new File(dir, s"_zorder/_index/${ValuesPart.Prefix}left")
      assert(left.mkdirs())
      Files.write(new File(left, ValuesPart.Head).toPath, Array[Byte](1))
      def vacuum() = sql(s"VACUUM LAYOUT '$dir'").collect()
        .filter(_.getAs[String]("kind") == "index").map(_.getAs[String]("path").split('/').last)
      // a job may be writing it
      assert(vacuum().isEmpty)
      age(dir, hours = 25)
      assert(vacuum() === Array(left.getName))
      assert(partsOf(dir).isEmpty)
    }
  }

  private def valuesOf(dir: File, scheme: String = "file:") =
    new ValuesUpdate(SparkLine.session(spark), new HadoopPath(s"$scheme$dir"), ParquetFiles)

  test("a column that gets no further values is named, and so are files that changed") {
    withTableDir { dir =>
      scattered(dir, 4)
      create(dir, "u, k")
      assert(valuesOf(dir).attempt(mayRebuild = false) === None)
      damage(dir, named(dir)("u").head)
      val why = valuesOf(dir).attempt(mayRebuild = false)
      assert(why.exists(_.contains("the values of `u` in the index cannot be read")), why)
      assert(why.exists(_.contains("4 files")), why)
      assert(ofValues(refresh(dir)).map(_._2) === Seq(4L, 4L))
    }
    withTableDir { dir =>
      scattered(dir, 4)
      // changes when its entry is made, and before its values are read
      val file = new File(dir, dataFiles(dir).head.name)
      def isRead(operation: String, path: String) =
        operation == "create" && path.contains("/_index/_tmp_")
      val row = interrupted(isRead) {
        assert(file.setLastModified(file.lastModified + 5000))
      }(sql(s"CREATE ZORDER INDEX ON 'faulty://$dir' OPTIONS ('values' 'u')").head())
      assert(ofValues(row) === Seq(("u", 3L, 1L)))
      assert(row.getAs[String]("reason").contains(file.getName))
    }
  }

  private def age(dir: File, hours: Int): Unit = {
    def all(f: File): Seq[File] = f +: Option(f.listFiles).toSeq.flatten.flatMap(all)
    all(new File(dir, "_zorder/_index")).foreach(f =>
      f.setLastModified(System.currentTimeMillis() - hours * 3600L * 1000))
  }

  test("parts that were replaced go with the generations that name them") {
    withTableDir { dir =>
      scattered(dir, 4)
      create(dir, "u, k")
      val old = named(dir)
      damage(dir, old("u").head)
      refresh(dir)
      val now = named(dir)
      // only the damaged part is made anew, and queries may read the generation before
      assert(now("k") === old("k") && now("u").intersect(old("u")).isEmpty)
      val mine = new File(dir, s"_zorder/_index/${ValuesPart.Prefix}mine")
      mine.mkdir()
      def there = partsOf(dir).map(_.getName).toSet - mine.getName
      assert(there === (old("u") ++ now("u") ++ now("k")))
      refresh(dir)
      assert(there === (old("u") ++ now("u") ++ now("k")))
      scattered(dir, 1, from = 100000)
      refresh(dir)
      assert(there === named(dir).values.flatten.toSet)
      // a job may be writing it
      assert(mine.isDirectory)
    }
  }

  test(
    "a day later, parts that were replaced go where nothing changes; VACUUM removes them at once") {
    withTableDir { dir =>
      scattered(dir, 4)
      create(dir, "u")
      def unused = partsOf(dir).map(_.getName).toSet -- named(dir)("u")
      damage(dir, named(dir)("u").head)
      refresh(dir)
      age(dir, hours = 23)
      refresh(dir)
      assert(unused.size === 1)
      age(dir, hours = 25)
      refresh(dir)
      assert(unused.isEmpty)
      assert(storeOf(dir).generations().size === 1)

      damage(dir, named(dir)("u").head)
      refresh(dir)
      sql(s"OPTIMIZE '$dir' ZORDER BY (id)").collect()
      damage(dir, named(dir)("u").head)
      refresh(dir)
      def vacuum(rest: String) = sql(s"VACUUM LAYOUT '$dir' $rest").collect()
        .filter(_.getAs[String]("kind") == "index").map(_.getAs[String]("path").split('/').last)
      val part = unused
      assert(part.nonEmpty && vacuum("").isEmpty)
      assert(part.subsetOf(vacuum("RETAIN 0 HOURS DRY RUN").toSet) && unused === part)
      assert(part.subsetOf(vacuum("RETAIN 0 HOURS").toSet) && unused.isEmpty)
      assert(vacuum("RETAIN 0 HOURS").isEmpty)
      assert(keptOfEach(dir, "u", filesOf(dir, "u").take(20)).forall(_ == 1))
    }
  }

  test(
    "a file with a column of another type, and one that cannot be read, are uncovered alone",
    Slow) {
    withTableDir { dir =>
      scattered(dir, 6)
      spark.range(20).selectExpr("id", "cast(id as string) AS k", "concat('x', id) AS u")
        .coalesce(1).write.mode("append").parquet(dir.getPath)
      val row = create(dir, "k, u")
      assert(ofValues(row) === Seq(("k", 6L, 1L), ("u", 7L, 0L)))
      assert(row.getAs[String]("reason") === null)
      assert(kept(dir, "u = 'x7'") === 1)
      def asked(t: String) = spark.read.schema(s"id BIGINT, k $t, u STRING").parquet(dir.getPath)
      // the odd file may hold what these queries read as the value; Spark's answer is an error
      assert(scanOf(asked("BIGINT").where("k = 7919")).kept().size === 2)
      assert(scanOf(asked("BIGINT").where("k = -1")).kept().size === 1)
      assert(scanOf(asked("STRING").where("k = '7'")).kept().size === 7)
      refresh(dir)
      assert(named(dir).values.map(_.size).forall(_ == 1))

      val bad = dataFiles(dir).map(_.name).find(n =>
        kept(dir, "u = 'x7'") == 1 && {
          val kept = scanOf(read(dir).where("u = 'x7'")).kept()
          !kept(n)
        }).get
      val path = new File(dir, bad).toPath
      val bytes = Files.readAllBytes(path)
      java.util.Arrays.fill(bytes, 4, bytes.length / 2, 0x5a.toByte)
      Files.write(path, bytes)
      new File(dir, s".$bad.crc").delete()
      sql(s"DROP ZORDER INDEX ON '$dir'").collect()
      val damaged = create(dir, "k, u")
      assert(ofValues(damaged) === Seq(("k", 5L, 2L), ("u", 6L, 1L)))
      assert(damaged.getAs[String]("reason").startsWith("values of 1 files could not be read"))
    }
  }

  test("an ORC file that stores a column as another type is uncovered alone") {
    withTableDir { dir =>
      spark.range(400).selectExpr("id", "id * 3 AS k").repartition(4).write.orc(dir.getPath)
      spark.range(10).selectExpr("id", "cast(id as string) AS k").coalesce(1)
        .write.mode("append").orc(dir.getPath)
      withTable("t") {
        sql(s"CREATE TABLE t (id BIGINT, k BIGINT) USING orc LOCATION '$dir'")
        assert(ofValues(sql("CREATE ZORDER INDEX ON t OPTIONS ('values' 'k')").head()) ===
          Seq(("k", 4L, 1L)))
        // ORC reads the text as a number, unless it gets a filter by a number
        inConf("spark.sql.orc.filterPushdown" -> "false") {
          assert(spark.table("t").where("k = 6").count() === 2)
        }
        assert(scanOf(spark.table("t").where("k = 6")).kept().size === 2)
        assert(scanOf(spark.table("t").where("k = 7")).kept().size === 1)
      }
    }
  }

  test("a property that is no list of columns costs the index of values alone") {
    withTable("t") {
      sql("CREATE TABLE t (a BIGINT, u STRING) USING parquet " +
        "TBLPROPERTIES ('zorder.index.values' = 'u, a b c')")
      def insert() = spark.range(400).selectExpr("id", "md5(cast(id as string))").repartition(4)
        .write.insertInto("t")
      insert()
      sql("OPTIMIZE t ZORDER BY (a)").collect()
      val dir = locationOf("t")
      assert(storeOf(dir).exists)
      val why = "zorder.index.values = u, a b c: this is no list of columns"
      val row = sql("REFRESH ZORDER INDEX ON t").head()
      assert(row.getAs[String]("reason").startsWith(why) && ofValues(row).isEmpty)
      sql("DROP ZORDER INDEX ON t").collect()
      assert(sql("CREATE ZORDER INDEX ON t").head().getAs[String]("reason").startsWith(why))
      sql("DROP ZORDER INDEX ON t").collect()
      fails("ZORDER_INDEX_COLUMN_INVALID", "`u, a b c`", "this is no list of columns")(
        sql("CREATE ZORDER INDEX ON t OPTIONS ('values' 'u, a b c')").collect())
      assert(!storeOf(dir).exists)
      // an index that has its columns does not ask the property
      sql("CREATE ZORDER INDEX ON t OPTIONS ('values' 'u')").collect()
      insert()
      val again = sql("REFRESH ZORDER INDEX ON t").head()
      assert(again.getAs[String]("reason") === null && ofValues(again).map(_._3) === Seq(0L))
    }
  }

  test("a text that is compared with a number: SHOW SKIPPING says what to write") {
    withTableDir { dir =>
      scattered(dir, 10)
      create(dir, "u, s")
      def reason(filter: String) =
        sql(s"SHOW SKIPPING FOR SELECT * FROM parquet.`$dir` WHERE $filter")
          .collect().map(_.getAs[String]("reason")).filter(_ != null).toSeq.distinct
      for (ansi <- Seq("true", "false")) inConf("spark.sql.ansi.enabled" -> ansi) {
        assert(reason("u = 5").head.endsWith(
          "for this comparison; quote the literal, as in u = '5'"))
        assert(reason("7 = u").exists(_.contains("quote the literal, as in u = '7'")))
        // without ANSI, Spark casts the numbers to texts here
        val of = reason("u IN (5, 6)")
        assert(
          of.exists(_.contains("quote the literal, as in u IN ('5', ..)")) === ansi.toBoolean,
          of)
        assert(reason("u <=> 5").exists(_.contains("as in u <=> '5'")))
        assert(!reason("u = '5'").exists(_.contains("quote")))
        assert(!reason("id = 5").exists(_.contains("quote")))
      }
    }
  }

  test("the keys of a star are looked up, each by its own column", Slow) {
    withTableDir { dir =>
      scattered(dir, 30, rows = 100)
      create(dir, "k, u")
      read(dir).createOrReplaceTempView("facts")
      for ((name, key, id) <- Seq(
          ("ks", "id * 7919 % 1000003", 40),
          ("us", "concat('u-', md5(cast(id as string)))", 41))) {
        spark.range(id, id + 3).selectExpr(s"$key AS key", "id AS i")
          .write.mode("overwrite").parquet(s"$dir-$name")
        spark.read.parquet(s"$dir-$name").createOrReplaceTempView(name)
      }
      for (broadcast <- Seq("10m", "-1")) {
        inConf("spark.sql.autoBroadcastJoinThreshold" -> broadcast) {
          val df = sql("SELECT f.id FROM facts f JOIN ks ON f.k = ks.key JOIN us ON f.u = us.key " +
            "WHERE ks.i > 0 AND us.i > 0")
          // rows 41 and 42 are in both dimensions
          assert(df.collect().map(_.getLong(0)).toSet === Set(41L, 42L))
          val files = collect(df.queryExecution.executedPlan) { case s: FileSourceScanExec => s }
            .filter(_.output.exists(_.name == "k")).map(_.metrics("numFiles").value)
          assert(files.nonEmpty && files.forall(_ <= 3), df.queryExecution.executedPlan.toString)
        }
      }
    }
  }

  test("AUTO lays a table out whose values are looked up, and the values stay in the index", Slow) {
    withTableDir { dir =>
      scattered(dir, 8)
      create(dir, "u")
      inConf("spark.zorder.workload.enabled" -> "true") {
        for (i <- 0 until 30) {
          read(dir).where(s"u = concat('u-', md5('$i'))").collect()
          read(dir).where(s"k BETWEEN ${i * 1000} AND ${i * 1000 + 9000}").collect()
        }
        sql(s"OPTIMIZE '$dir' ZORDER BY AUTO OPTIONS ('targetFileSize' '8k')").collect()
      }
      val row = refresh(dir)
      assert(row.getAs[Long]("filesRead") === 0L && ofValues(row).map(_._3) === Seq(0L))
      // the column of ranges orders the table, and the other one is still found by its values
      assert(kept(dir, "k BETWEEN 1000 AND 2000") < dataFiles(dir).size / 2)
      (0 until 10).foreach(i => assert(kept(dir, s"u = concat('u-', md5('$i'))") === 1))
    }
  }
}
