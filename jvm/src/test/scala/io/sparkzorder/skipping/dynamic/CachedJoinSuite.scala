// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.dynamic

import java.io.File
import java.nio.file.Files.copy
import java.util.concurrent.atomic.AtomicBoolean

import org.apache.spark.SparkConf
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}

import io.sparkzorder.FaultyFileSystem

/** Joins whose rows are cached: the bounds of the keys and the rows of the join come from one listing. */
class CachedJoinSuite extends StarTestBase {

  override protected def sparkConf: SparkConf =
    FaultyFileSystem.settings.foldLeft(super.sparkConf) { case (conf, (k, v)) => conf.set(k, v) }

  testParts(
    "files that come while the bounds of a range join are computed count wholly or not at all")(
    joinsWhileFilesCome(isCached = true))(joinsWhileFilesCome(isCached = false))

  private def joinsWhileFilesCome(isCached: Boolean): Unit = withTableDir { dir =>
    val fact = new File(dir, "fact")
    withTempView("fact", "spans") {
      sql("SELECT id, int(id) day, sha2(string(id), 512) code, sha2(string(-id), 512) more " +
        "FROM range(0, 16000, 10, 16)").write.mode("overwrite").parquet(fact.getPath)
      createIndex(fact)
      spark.read.parquet(fact.getPath).createOrReplaceTempView("fact")
      val (spans, more) = (new File(s"${fact}Spans"), new File(s"${fact}More"))
      def write(rows: String, to: File): Unit =
        sql(s"SELECT * FROM VALUES $rows t(lo, hi)").coalesce(1).write.parquet(to.getPath)
      write("(3000, 3050)", spans)
      write("(3040, 3045), (9000, 9010)", more)
      val appended = more.listFiles().filter(_.getName.endsWith(".parquet")).head

      val df = spark.read.parquet(s"faulty://$spans")
      df.createOrReplaceTempView("spans")
      val listing = df.queryExecution.analyzed.collectFirst { case r: LogicalRelation =>
        r.relation.asInstanceOf[HadoopFsRelation].location
      }.get
      val once = new AtomicBoolean
      withoutBroadcast(inConf("spark.sql.adaptive.enabled" -> "false") {
        val joined =
          sql("SELECT f.id, s.lo FROM fact f JOIN spans s ON f.day BETWEEN s.lo AND s.hi")
        if (isCached) joined.cache()
        try {
          val rows = FaultyFileSystem.withHook { (operation, path) =>
            if (operation == "open" && path.toString.contains(spans.getName) &&
              once.compareAndSet(false, true)) FaultyFileSystem.withoutHook {
              copy(appended.toPath, new File(spans, "part-more.parquet").toPath)
              // a task may not use the session
              val refreshing = new Thread(() => listing.refresh())
              refreshing.start()
              refreshing.join()
            }
          }(joined.collect().length)
          assert(once.get)
          // six rows of the first span alone, or one and two of the others as well
          assert(rows === 6 || rows === 9)
        } finally {
          val _ = joined.unpersist()
        }
      })
    }
  }
}
