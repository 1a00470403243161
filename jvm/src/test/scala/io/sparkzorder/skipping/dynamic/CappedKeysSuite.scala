// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.dynamic

import java.io.File

import scala.util.Random

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection
import org.apache.spark.sql.execution.{InSubqueryExec, ReusedSubqueryExec}
import org.apache.spark.sql.types.{DataType, LongType, StringType}
import org.apache.spark.unsafe.types.UTF8String

/** Sides of joins with more keys than Spark estimates: a second run gives the driver no more than a limit. */
class CappedKeysSuite extends StarTestBase {

  /**
   * Delta encoding makes the files of all tables but `facts` tiny, so Spark estimates that they have few rows.
   *
   * {{{
   * facts  16 files of 1,000 rows; k and code are apart in the files
   * many   1,100,000 different keys
   * long   70,000 different texts of 1,010 bytes
   * few    100 keys
   * }}}
   */
  private val tables = new SavedTables({ dir =>
    def write(name: String, query: String): Unit =
      sql(query).coalesce(1).write.option("parquet.writer.version", "v2").parquet(s"$dir/$name")
    sql("SELECT id k, int(id % 7) v, repeat('x', 1000) || format_string('%010d', id) code, " +
      "sha2(string(id), 512) pad FROM range(0, 16000, 1, 16)").write.parquet(s"$dir/facts")
    sql(s"CREATE ZORDER INDEX ON parquet.`$dir/facts`")
    write("many", "SELECT id k, id n FROM range(1100000)")
    write(
      "long",
      "SELECT repeat('x', 1000) || format_string('%010d', id) code, id n FROM range(70000)")
    write(
      "few",
      "SELECT id k, id n, repeat('x', 1000) || format_string('%010d', id) code FROM range(100)")
    Seq("facts", "many", "long", "few")
  })

  private def withTables(body: File => Unit): Unit =
    withCopies(tables)(dir => withoutBroadcast(body(dir)))

  /** Asserts that a query gives the rows that it gives without us, and what it reads and collects. */
  protected def checks(query: String, files: Long, collected: Int*): Unit = {
    val df = checkRows(sql(query))
    withClue(s"$query\n${text(df)}") {
      // adaptive execution removes a join with an empty side, and then its scans
      if (collected.sum > 0) assert(filesRead(df, "facts") === Seq(files))
      assert(keysOf(df).filter(_ > 0) === collected.filter(_ > 0))
    }
  }

  /** The numbers of rows that each subquery has given to the driver. A subquery that is used twice counts once. */
  private def keysOf(df: DataFrame): Seq[Int] =
    collectWithSubqueries(df.queryExecution.executedPlan) { case node =>
      node.expressions.flatMap(_.collect {
        case in: InSubqueryExec if !in.plan.isInstanceOf[ReusedSubqueryExec] => in
      })
    }.flatten.flatMap(_.values()).map(_.length).sorted

  private val ofMany = "SELECT count(*), sum(f.v) FROM facts f JOIN many d ON f.k = d.k " +
    "WHERE d.n >= 1000"

  test("above the limits the driver gets one row, and the query reads all files") {
    withTables { _ =>
      bothWays {
        checks(ofMany, Files, 1)
        checks(
          "SELECT count(*), sum(f.v) FROM facts f JOIN long d ON f.code = d.code WHERE d.n >= 1000",
          Files,
          1)
        // the keys of two joins in one filter
        checks(
          "SELECT count(*) FROM facts WHERE k IN (SELECT k FROM few WHERE n < 50) OR " +
            "k IN (SELECT k FROM many WHERE n > 5000)",
          Files,
          1,
          50)
      }
    }
  }

  test("below the limits the driver gets the keys") {
    withTables { _ =>
      bothWays {
        checks("SELECT f.* FROM facts f JOIN few d ON f.k = d.k WHERE d.n >= 90", 1, 10)
        checks(
          "SELECT f.* FROM facts f JOIN few d ON f.code = d.code WHERE d.n >= 90",
          1,
          10)
        checks("SELECT f.* FROM facts f JOIN few d ON f.k = d.k WHERE d.n < 0", 0)
      }
    }
  }

  test("a filter of rows lets all groups pass if there are too many keys") {
    withTables { _ =>
      inConf("spark.sql.ansi.enabled" -> "true")(bothWays {
        def groups(of: String) =
          s"SELECT g.k, 100 div (g.s + 1) q FROM (SELECT k, sum(v) s FROM facts GROUP BY k) g " +
            s"JOIN $of d ON g.k = d.k"
        checks(s"${groups("few")} WHERE d.n >= 90", 1, 10)
        checks(s"${groups("many")} WHERE d.n >= 1000", Files, 1)
      })
    }
  }

  test("a query that was optimized with the extension and runs without it keeps its rows") {
    withTables { _ =>
      bothWays {
        val df = sql(ofMany)
        df.queryExecution.optimizedPlan
        inConf("spark.zorder.enabled" -> "false") {
          assert(df.collect().map(_.getLong(0)) === Array(15000L))
        }
      }
    }
  }

  private def set(limits: CappedKeys.Limits, dataType: DataType, values: Seq[Any]): KeySet = {
    val toUnsafe = UnsafeProjection.create(Array(dataType))
    val set = new KeySet(limits)
    values.foreach(v => set.add(toUnsafe(InternalRow(v))))
    set
  }

  private def copied(set: KeySet, limits: CappedKeys.Limits) = KeySet.of(set.toBytes, limits)

  test("a set of keys, in parts and as a whole") {
    val random = new Random(7)
    val numbers = Seq.fill(20000)(random.nextInt(9000).toLong)
    val texts = numbers.map(n => UTF8String.fromString("k" * (n % 50).toInt + n))
    for ((dataType, values) <- Seq(LongType -> numbers, StringType -> texts)) {
      val distinct = values.toSet
      val size = set(CappedKeys.Limits(1 << 20, 1 << 30), dataType, values).toBytes.length -
        4 - 4 * distinct.size
      for {
        (keys, isAbove) <- Seq(distinct.size -> false, distinct.size - 1 -> true)
        bytes <- Seq(size, size - 1)
      } {
        val limits = CappedKeys.Limits(keys, bytes)
        val whole = set(limits, dataType, values)
        val joined = new KeySet(limits)
        values.grouped(3000).foreach(g => joined.addAll(copied(set(limits, dataType, g), limits)))
        for (s <- Seq(whole, joined, copied(whole, limits))) {
          assert(s.isAbove === (isAbove || bytes < size))
          if (!s.isAbove) assert(s.values(dataType).toSeq.toSet[Any] === distinct.toSet[Any])
          if (!s.isAbove) assert(s.values(dataType).length === distinct.size)
        }
      }
    }
    val none = new KeySet(CappedKeys.Limits(1, 1))
    assert(copied(none, CappedKeys.Limits(1, 1)).values(LongType).isEmpty)
  }

  test("the limit of bytes follows spark.driver.maxResultSize") {
    assert(CappedKeys.limits(0).bytes === (64 << 20))
    assert(CappedKeys.limits(1L << 40).bytes === (64 << 20))
    assert(CappedKeys.limits(8 << 20).bytes === (2 << 20))
  }
}
