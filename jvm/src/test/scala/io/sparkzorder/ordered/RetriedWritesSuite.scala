// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.ordered

import java.io.File
import java.util.concurrent.ThreadLocalRandom
import java.util.concurrent.atomic.{AtomicBoolean, AtomicInteger}

import org.scalatest.Tag
import org.scalatest.tagobjects.Slow

import org.apache.spark.TaskContext
import org.apache.spark.scheduler.{SparkListener, SparkListenerStageSubmitted, SparkListenerTaskEnd}
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.expressions.{Alias, AttributeReference, PythonUDF}
import org.apache.spark.sql.catalyst.plans.logical.{AttachDistributedSequence, Project}
import org.apache.spark.sql.functions.{col, udf}
import org.apache.spark.sql.sparkzorder.{RetriedTasks, TestAccess}
import org.apache.spark.sql.types.LongType

import io.sparkzorder.plans.Repeatability

/** Tasks and stages of ordered writes that run again: each row is there once, and in order. */
class RetriedWritesSuite extends DealtTables with RetriedTasks {
  import RetriedWritesSuite._

  // a trace of each failure that the tests make
  override protected def beforeAll(): Unit = {
    super.beforeAll()
    spark.sparkContext.setLogLevel("OFF")
  }

  override protected def afterAll(): Unit =
    try spark.sparkContext.setLogLevel("WARN")
    finally super.afterAll()

  for (grade <- Seq("sort", "cells", "sampled")) {
    test(s"$grade: tasks fail while they read, and after they have written", rest(grade): _*) {
      withWritten(grade) { written =>
        val again = written {
          DisturbedCommit.before(firstAttempts) {
            write(points(60000, 2).withColumn("v", failing(col("v"))))
          }
        }
        assert(again.tasks >= 3, again)
      }
    }
  }

  for (grade <- Seq("cells", "sampled")) {
    test(s"$grade: the shuffle's files vanish when some tasks have committed", rest(grade): _*) {
      withWritten(grade) { written =>
        val again = written(DisturbedCommit.after(lostShuffle())(write(points(60000, 2))))
        assert(again.stages >= 2, again)
      }
    }
  }

  /** Cells have all that can go wrong; the others are tested with the slow tests. */
  private def rest(grade: String): Seq[Tag] = if (grade == "cells") Nil else Seq(Slow)

  test("cells of two columns: a shuffle that runs again deals as before", Slow) {
    withTable("t") {
      create()
      insert(60000, 1)
      sql("OPTIMIZE t")
      val before = filesBelow(directory("t")).toSet
      inConf(DisturbedCommit.setting) {
        DisturbedCommit.after(lostShuffle())(write(points(60000, 2)))
      }
      assert(excess(filesBelow(directory("t")).toSet -- before) < 1.35)
      assertRows("t", points(60000, 1).union(points(60000, 2)))
    }
  }

  test("rows whose place changes when they are made again are not dealt", Slow) {
    withTable("t") {
      create()
      insert(60000, 1)
      sql("OPTIMIZE t")
      val random = udf(() => ThreadLocalRandom.current().nextInt(1000)).asNondeterministic()
      inConf("spark.zorder.write" -> "cells", DisturbedCommit.setting) {
        DisturbedCommit.after(lostShuffle())(write(points(60000, 2).withColumn("a", random())))
      }
      val seen = sql("SELECT v, count(*) FROM t GROUP BY v").collect().map(_.getLong(1))
      assert(seen.length === 60000 && seen.forall(_ == 2))
    }
  }

  test("some queries that are not dealt, because their rows may change, and some that are")(
    checkRepeatable(every = 5))

  test("which queries are not dealt, because their rows may change, and which are", Slow)(
    checkRepeatable(every = 1))

  private def checkRepeatable(every: Int): Unit = {
    withTable("t") {
      create()
      insert(if (every == 1) 60000 else 3000, 1)
      sql("OPTIMIZE t")
      points(1000, 1).createOrReplaceTempView("src")
      val cached = points(1000, 2).dropDuplicates("p").cache()
      cached.createOrReplaceTempView("cached")
      points(1000, 2).orderBy("p").limit(10).cache().createOrReplaceTempView("first_rows")
      points(1000, 4).createOrReplaceTempView("keys")
      val rows = points(1000, 5).dropDuplicates("p")
      spark.createDataFrame(rows.rdd, rows.schema).createOrReplaceTempView("of_rdd")
      points(1000, 3).cache().createOrReplaceTempView("repeated")
      try inConf("spark.zorder.write" -> "cells") {
          for ((query, why) <- changing.indices.by(every).map(changing)) {
            val plan = sql(s"EXPLAIN INSERT INTO t $query").head().getString(0)
            assert(plan.contains("sort: the order is ZORDER (a, b), by the grid; "), plan)
            assert(plan.contains(why), plan)
          }
          for (query <- repeated.indices.by(every).map(repeated)) {
            val plan = sql(s"EXPLAIN INSERT INTO t $query").head().getString(0)
            assert(plan.contains("cell_of_place"), plan)
          }
        }
      finally spark.catalog.clearCache()
    }
  }

  test("nodes that number rows, functions of batches, and files that may be left out") {
    val rows = points(100, 1).queryExecution.analyzed
    assert(Repeatability.obstacle(rows).isEmpty)
    val numbered = AttachDistributedSequence(AttributeReference("n", LongType)(), rows)
    assert(Repeatability.obstacle(numbered).exists(_.contains("AttachDistributedSequence")))
    def function(kind: Int) = PythonUDF("f", null, LongType, rows.output.take(1), kind, true)
    def calls(kind: Int) = Project(Seq(Alias(function(kind), "x")()), rows)
    // Python's own, by pickles and by Arrow; pandas' and its form with an iterator
    Seq(100, 101).foreach(kind => assert(Repeatability.obstacle(calls(kind)).isEmpty))
    Seq(200, 204).foreach { kind =>
      assert(Repeatability.obstacle(calls(kind)).exists(_.contains("batches of rows")))
    }
    withTempDir { dir =>
      points(10, 1).write.parquet(s"$dir/files")
      val files = spark.read.parquet(s"$dir/files").queryExecution.analyzed
      assert(Repeatability.obstacle(files).isEmpty)
      inConf("spark.sql.files.ignoreMissingFiles" -> "true") {
        assert(Repeatability.obstacle(files).exists(_.contains("left out")))
      }
      val tolerant = spark.read.option("ignoreCorruptFiles", "true").parquet(s"$dir/files")
      assert(
        Repeatability.obstacle(tolerant.queryExecution.analyzed).exists(_.contains("left out")))
      // Spark's other reader of files
      inConf("spark.sql.sources.useV1SourceList" -> "") {
        for (tolerates <- Seq("false", "true")) {
          val rows = spark.read.option("ignoreMissingFiles", tolerates).parquet(s"$dir/files")
          val plans = Seq(rows.queryExecution.analyzed, rows.queryExecution.optimizedPlan)
          val cached = rows.cache().queryExecution.withCachedData
          for (plan <- plans :+ cached) {
            val why = Repeatability.obstacle(plan)
            assert(why.isDefined === tolerates.toBoolean, plan)
          }
          rows.unpersist()
        }
      }
    }
  }

  private val changing = Seq(
    "SELECT a, b, v, uuid() FROM src" -> "the query is not deterministic",
    // without a vector of its own, each call draws another one
    "SELECT a, b, v, base64(aes_encrypt(p, '0000111122223333')) FROM src" ->
      "the query is not deterministic",
    "SELECT a, b, v, base64(aes_encrypt(p, '0000111122223333', 'CBC')) FROM src" ->
      "the query is not deterministic",
    // of 0.0 and -0.0 the first one stays
    "SELECT a, cast(max(cast(b AS double)) AS bigint), v, p FROM src GROUP BY a, v, p" ->
      "max may depend on the order",
    "SELECT * FROM src LIMIT 10" -> "the query has a limit",
    "SELECT * FROM src TABLESAMPLE (50 PERCENT)" -> "the query draws a sample",
    "SELECT first(a), b, v, p FROM src GROUP BY b, v, p" -> "first may depend on the order",
    "SELECT a, cast(sum(cast(b AS double)) AS bigint), v, p FROM src GROUP BY a, v, p" ->
      "sum may depend on the order",
    // a part of the rows may be too large to add up
    "SELECT a, try_sum(b), v, p FROM src GROUP BY a, v, p" -> "may depend on the order",
    "SELECT a, cast(sum(cast(b AS decimal(29, 0))) AS bigint), v, p FROM src GROUP BY a, v, p" ->
      "sum may depend on the order",
    "SELECT a, cast(avg(cast(b AS int)) AS bigint), v, p FROM src GROUP BY a, v, p" ->
      "avg may depend on the order",
    "SELECT a, b, v, p FROM (SELECT *, row_number() OVER (PARTITION BY p ORDER BY a) AS n FROM src) " +
      "WHERE n = 1" -> "row_number may depend on the order",
    "SELECT a, sum(b) OVER (ORDER BY a ROWS 5 PRECEDING), v, p FROM src" ->
      "sum may depend on the order",
    "SELECT * FROM cached" -> "first may depend on the order",
    "SELECT * FROM first_rows" -> "the query has a limit",
    "SELECT * FROM src WHERE v IN (SELECT v FROM keys LIMIT 10)" -> "the query has a limit",
    "SELECT * FROM src WHERE EXISTS (SELECT 1 FROM (SELECT v AS w, row_number() OVER " +
      "(PARTITION BY p ORDER BY a) AS n FROM keys) WHERE n = 1 AND w = v)" ->
      "row_number may depend on the order",
    "SELECT * FROM of_rdd" -> "may return other rows when it is read again",
    "SELECT * FROM src ORDER BY v" -> "the query partitions its rows itself",
    "SELECT /*+ COALESCE(1) */ * FROM src" -> "the query partitions its rows itself")

  private val repeated = Seq(
    "SELECT * FROM repeated",
    "SELECT a, b, v, base64(aes_encrypt(p, '0000111122223333', 'ECB')) FROM src",
    "SELECT a, b, v, max(p) FROM src GROUP BY a, b, v",
    "SELECT * FROM src WHERE v IN (SELECT v FROM keys WHERE a > 3)",
    "SELECT * FROM src WHERE v > (SELECT min(v) FROM keys)",
    "SELECT * FROM t WHERE a > 3",
    "SELECT * FROM VALUES (1, 2L, 3L, 'x')",
    "WITH c AS (SELECT * FROM src) SELECT x.* FROM c x JOIN c y ON x.v = y.v",
    "SELECT DISTINCT * FROM src",
    "SELECT s.a, r.b, s.v, r.p FROM src s JOIN repeated r ON s.v = r.v",
    "SELECT max(a), sum(v), v, min(p) FROM src GROUP BY v HAVING count(DISTINCT a) = 1",
    "SELECT rank() OVER (ORDER BY a), sum(v) OVER (PARTITION BY p ORDER BY a), v, p FROM src")

  /**
   * A table ordered by `b`, with a grid. The body gets a function that runs an insert of
   * `points(60000, 2)` and counts what ran again; afterwards rows and files are checked.
   */
  private def withWritten(grade: String)(body: ((=> Unit) => Again) => Unit): Unit =
    withTable("t") {
      sql("CREATE TABLE t (a INT, b BIGINT, v BIGINT, p STRING) USING parquet " +
        "SORT BY ZORDER (b) TBLPROPERTIES ('zorder.targetFileSize' = '64k')")
      insert(60000, 1)
      sql("OPTIMIZE t")
      val before = filesBelow(directory("t")).toSet
      inConf("spark.zorder.write" -> grade, DisturbedCommit.setting) {
        assert(explained(60000, 2).contains(s"$grade: "))
        body(run => counted(run))
      }
      assertRows("t", points(60000, 1).union(points(60000, 2)))
      val files = filesBelow(directory("t")).toSet -- before
      byFileOf(files).foreach(b => assert(b === b.sorted))
      if (grade != "sort") assert(share(files, "b") * files.size < 1.3)
    }

  private def byFileOf(files: Set[File]): Iterable[Seq[Long]] =
    spark.read.parquet(files.toSeq.map(_.toString): _*).selectExpr("_metadata.file_name", "b")
      .collect().toSeq.groupBy(_.getString(0)).values.map(_.map(_.getLong(1)))

  private def write(rows: DataFrame): Unit = rows.write.insertInto("t")

  private def counted(run: => Unit): Again = {
    val (tasks, stages) = (new AtomicInteger, new AtomicInteger)
    val listener = new SparkListener {
      override def onTaskEnd(end: SparkListenerTaskEnd): Unit =
        if (end.taskInfo.failed) { val _ = tasks.incrementAndGet() }
      override def onStageSubmitted(stage: SparkListenerStageSubmitted): Unit =
        if (stage.stageInfo.attemptNumber() > 0) { val _ = stages.incrementAndGet() }
    }
    spark.sparkContext.addSparkListener(listener)
    try {
      run
      TestAccess.drainListeners(spark.sparkContext)
    } finally spark.sparkContext.removeSparkListener(listener)
    Again(tasks.get, stages.get)
  }
}

private object RetriedWritesSuite {

  /** Tasks that failed, and stages that were submitted again. */
  final case class Again(tasks: Int, stages: Int)

  /** The first attempt of every second task fails when it has written its rows. */
  def firstAttempts(task: TaskContext): Unit =
    if (task.attemptNumber() == 0 && task.partitionId() % 2 == 0) {
      throw new IllegalStateException("a first attempt")
    }

  /** The same number. The first attempt of the second task of a stage fails in the midst. */
  val failing = udf { (v: Long) =>
    val task = TaskContext.get()
    if (task.attemptNumber() == 0 && task.partitionId() == 1 && v == 30000) {
      throw new IllegalStateException("in the midst")
    }
    v
  }.asNonNullable()

  /** Deletes what map tasks have written, once. */
  def lostShuffle(): TaskContext => Unit = {
    val done = new AtomicBoolean
    _ => if (done.compareAndSet(false, true)) RetriedTasks.shuffleFiles().foreach(_.delete())
  }
}
