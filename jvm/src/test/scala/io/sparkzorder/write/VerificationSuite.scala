// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.write

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.parquet.schema.{MessageType, MessageTypeParser}

import org.apache.spark.sql.catalyst.InternalRow

import io.sparkzorder.ParquetTestFiles
import io.sparkzorder.log.StateTestBase
import io.sparkzorder.table.{DataFile, Folder, ParquetFiles}
import io.sparkzorder.table.stats.{ColumnNames, ColumnStats, FooterReader, ScannedFile}

class VerificationSuite extends StateTestBase {
  private val schema = MessageTypeParser.parseMessageType(
    "message m { optional int32 a; optional int64 b; }")

  private val folders =
    Seq("p=0", "p=1").map(p => new Folder(new Path(s"/t/$p"), InternalRow.empty))

  private def footer(
      rows: Long,
      leaves: Seq[ColumnStats],
      folder: Int = 0,
      s: MessageType = schema) =
    ScannedFile(
      DataFile(folders(folder), new FileStatus(1, false, 1, 1, 1, new Path("/t/f"))),
      rows,
      1L,
      s,
      Map.empty,
      Nil,
      leaves.toArray)

  private def bounds(nulls: Long, min: Any, max: Any) = ColumnStats(nulls, min, max, known = true)
  private val a = bounds(1, 5, 10)
  private val b = bounds(0, 1L, 2L)
  private val verification = new Verification("the table", _ equalsIgnoreCase _)

  private def check(before: Seq[ScannedFile], after: Seq[ScannedFile]): Int =
    verification.checkAll(Iterator(before), after, _ => false)

  private val failed = "ZORDER_VERIFICATION_FAILED"

  test("equal rows, nulls and bounds pass; nothing is left unchecked") {
    val in = Seq(footer(10, Seq(a, b)), footer(10, Seq(bounds(0, 1, 3), b)))
    val out = Seq(footer(20, Seq(bounds(1, 1, 10), b)))
    assert(check(in, out) === 0)
    assert(check(Nil, Nil) === 0)
  }

  test("a lost, doubled or displaced row") {
    val in = Seq(footer(10, Seq(a, b)))
    fails(failed, "the table", "10 rows and has 9")(check(in, Seq(footer(9, Seq(a, b)))))
    fails(failed, "has 11")(check(in, Seq(footer(10, Seq(a, b)), footer(1, Seq(a, b)))))
    fails(failed)(check(in, Nil))
    fails(failed)(check(Nil, in))
    // the sums agree, the folders do not
    fails(failed, "folder /t/p=0")(check(
      Seq(footer(10, Seq(a, b), 0), footer(5, Seq(a, b), 1)),
      Seq(footer(5, Seq(a, b), 0), footer(10, Seq(a, b), 1))))
  }

  test("a changed value") {
    val in = Seq(footer(10, Seq(a, b)))
    fails(failed, "`a`", "1 nulls and has 2")(check(in, Seq(footer(10, Seq(bounds(2, 5, 10), b)))))
    fails(failed, "`a`", "from 4")(check(in, Seq(footer(10, Seq(bounds(1, 4, 10), b)))))
    fails(failed, "`b`")(check(in, Seq(footer(10, Seq(a, bounds(0, 1L, 3L))))))
    fails(failed)(check(
      Seq(footer(10, Seq(bounds(10, null, null), b))),
      Seq(footer(10, Seq(bounds(10, 1, 1), b)))))
  }

  test("what has no numbers is counted, not an error") {
    val unknown = ColumnStats(-1, null, null, known = false)
    val in = Seq(footer(10, Seq(unknown, b)))
    assert(check(in, Seq(footer(10, Seq(a, b)))) === 1)
    assert(check(Seq(footer(10, Seq(a, b))), Seq(footer(10, Seq(unknown, unknown)))) === 2)
  }

  test("a column that some files lack holds NULLs there; other types and names of one column") {
    val only = MessageTypeParser.parseMessageType("message m { optional int32 A; }")
    val in = Seq(footer(10, Seq(a, b)), footer(5, Seq(bounds(0, 6, 7)), s = only))
    assert(check(in, Seq(footer(15, Seq(a, bounds(5, 1L, 2L))))) === 0)
    fails(failed, "`b`")(check(in, Seq(footer(15, Seq(a, b)))))
    val wide = MessageTypeParser.parseMessageType("message m { optional int64 a; }")
    assert(check(
      Seq(footer(5, Seq(bounds(0, 6, 7)), s = only)),
      Seq(footer(5, Seq(bounds(0, 6L, 7L)), s = wide))) === 1)
    assert(verification.checkAll(Iterator(in), Seq(footer(15, Seq(a, b))), _ == "b") === 1)
  }

  /** Comparisons of names for a check of files with so many columns. */
  private def comparisons(files: Int, columns: Int): Int = {
    def schema(prefix: String) = MessageTypeParser.parseMessageType(
      (0 until columns).map(i => s"optional int32 $prefix$i;").mkString("message m { ", " ", " }"))
    var n = 0
    val counting = new Verification(
      "the table",
      (x, y) => {
        n += 1
        x.equalsIgnoreCase(y)
      })
    val leaves = Seq.fill(columns)(bounds(0, 1, 1))
    val (lower, upper) = (schema("c"), schema("C"))
    val in = (0 until files).map(i => footer(1, leaves, s = if (i % 2 == 0) lower else upper))
    val out = Seq(footer(files.toLong, leaves, s = lower))
    assert(counting.checkAll(Iterator(in), out, _ => false) === 0)
    n
  }

  test("the values of inputs whose type the new files change are compared among the inputs only") {
    val wider = MessageTypeParser.parseMessageType(
      "message m { optional int64 a; optional int64 b; }")
    val in = Seq(footer(10, Seq(a, b)), footer(10, Seq(bounds(0, 1, 3), b)))
    val out = Seq(
      footer(12, Seq(bounds(1, 1L, 10L), b), s = wider),
      footer(8, Seq(bounds(0, 2L, 4L), b), s = wider))
    // `a` is not comparable, `b` is
    assert(check(in, out) === 1)
  }

  test("a column with a default is compared unless an input lacks it") {
    def checked(in: Seq[ScannedFile], out: Seq[ColumnStats]) =
      verification.checkAll(Iterator(in), Seq(footer(in.map(_.rows).sum, out)), _ == "b")
    val in = Seq(footer(10, Seq(a, b)))
    assert(checked(in, Seq(a, b)) === 0)
    fails(failed, "`b`", "from 3")(checked(in, Seq(a, bounds(0, 3L, 4L))))
    fails(failed, "`b`", "has 1")(checked(in, Seq(a, bounds(1, 1L, 2L))))
    val without = MessageTypeParser.parseMessageType("message m { optional int32 a; }")
    def lacking(rows: Long) = in :+ footer(rows, Seq(bounds(0, 5, 5)), s = without)
    assert(checked(lacking(10), Seq(a, bounds(0, 1L, 7L))) === 1)
    // a file without rows brings no default
    fails(failed, "`b`", "from 1 to 7")(checked(lacking(0), Seq(a, bounds(0, 1L, 7L))))
  }

  test("names are compared once for each column, not for each pair of columns or each file") {
    val once = comparisons(10, 50)
    assert(comparisons(1000, 50) === once)
    assert(comparisons(10, 500) <= 10 * once)
    assert(once <= 4 * 50)
  }

  test("a part of the inputs at a time is as good as all") {
    val in = Seq(footer(10, Seq(a, b)), footer(10, Seq(bounds(0, 1, 3), b)))
    val out = Seq(footer(20, Seq(bounds(1, 1, 10), b)))
    assert(verification.checkAll(in.iterator.map(Seq(_)), out, _ => false) === 0)
    fails(failed, "`a`")(verification.checkAll(
      in.iterator.map(Seq(_)),
      Seq(footer(20, Seq(bounds(1, 0, 10), b))),
      _ => false))
  }
}

/**
 * What the comparison of footers costs, beside reading them. Arguments: files on each side, columns. One
 * footer stands for all files.
 */
object VerificationCost {
  def main(args: Array[String]): Unit = {
    val (files, columns) = (args(0).toInt, args(1).toInt)
    ParquetTestFiles.withWideFile(columns) { one =>
      val footer =
        FooterReader.read(Seq(one), new Configuration(), ParquetFiles, ColumnNames.all).head
      val begun = System.nanoTime()
      val unchecked = new Verification("the table", _ equalsIgnoreCase _).checkAll(
        Iterator.fill(files)(Seq(footer)),
        Seq.fill(files)(footer),
        _ => false)
      val seconds = (System.nanoTime() - begun) / 1e9
      println(f"$files%,d files of $columns%,d columns: $seconds%.1f s, $unchecked not compared")
    }
  }
}
