// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.index

import org.scalatest.funsuite.AnyFunSuite

import io.sparkzorder.RandomInputs
import io.sparkzorder.table.stats.ColumnStats

/** Bounds of texts are as long as they must be to tell files apart. */
class SeparatingBoundsSuite extends AnyFunSuite with RandomInputs {
  private val column = IndexedColumn(Seq("s"), StringLeaf)

  private def content(bounds: Seq[(String, String)]): IndexContent =
    IndexContent.of(bounds.zipWithIndex.map { case ((min, max), i) =>
      val stats = ColumnStats(0, min.getBytes("UTF-8"), max.getBytes("UTF-8"), known = true)
      FileEntry(s"f$i", 1, 1, 1, LeafColumns(Seq(Seq("s"))), Seq(LeafEntry(column, stats)))
    })

  private def cut(bounds: Seq[(String, String)]): Seq[(Array[Byte], Array[Byte])] = {
    val ColumnValues(_, _, ByteStats(min), ByteStats(max)) =
      SeparatingBounds.of(content(bounds)).columns.head._2: @unchecked
    bounds.indices.map(i => (min(i), max(i)))
  }

  private def compare(a: Array[Byte], b: Array[Byte]): Int =
    ByteValues.compare(a, 0, a.length, b)

  test("short bounds stay") {
    val short = Seq("a" * 64 -> "b" * 64, "" -> "z")
    assert(cut(short).map { case (a, b) => (new String(a), new String(b)) } === short)
  }

  test("neighbours stay apart behind a long common beginning") {
    val prefix = "x" * 500
    val files = (0 until 100).map(i => (f"$prefix$i%04d", f"$prefix$i%04d" + "y" * 900))
    val shortened = cut(files)
    shortened.zip(shortened.tail).foreach { case ((_, max), (min, _)) =>
      assert(compare(max, min) < 0)
    }
    assert(shortened.forall(b => b._1.length < 540 && b._2.length < 540))
  }

  test("texts that differ early keep 64 bytes") {
    val files = (10 until 99).map(i => (s"$i" + "x" * 300, s"$i" + "y" * 300))
    assert(cut(files).forall(b => b._1.length <= 64 && b._2.length <= 64))
  }

  test("random texts lie within their bounds, and files stay apart") {
    withRandom { random =>
      val letters = IndexedSeq("a", "z", "\u00e4", "\u4e2d", "\ud83d\ude00")
      def text() = Seq.fill(random.nextInt(90))(letters(random.nextInt(letters.size))).mkString
      (1 to 200).foreach { _ =>
        val prefix = text() * random.nextInt(4)
        val order = Ordering.fromLessThan[String]((a, b) =>
          compare(a.getBytes("UTF-8"), b.getBytes("UTF-8")) < 0)
        val all = Seq.fill(20)(prefix + text()).distinct.sorted(order)
        val files = all.grouped(2).map(g => (g.head, g.last)).toSeq
        cut(files).zip(files).foreach { case ((min, max), (least, greatest)) =>
          assert(compare(min, least.getBytes("UTF-8")) <= 0)
          assert(compare(max, greatest.getBytes("UTF-8")) >= 0)
        }
        cut(files).zip(cut(files).drop(1)).foreach { case ((_, max), (min, _)) =>
          assert(compare(max, min) <= 0)
        }
      }
    }
  }
}
