// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.cluster

import org.scalatest.tagobjects.Slow

import org.apache.spark.SparkFunSuite
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import io.sparkzorder.RandomInputs

/** A row's place: interpreted, generated, and by hand. */
class PlaceOfRowSuite extends SparkFunSuite with ExpressionEvalHelper with RandomInputs {
  private val kinds = Seq[(DataType, Int => Any)](
    (IntegerType, i => i),
    (StringType, i => UTF8String.fromString(f"prefix-of-many-bytes-$i%05d")),
    (DoubleType, i => i / 7.0),
    (DecimalType(38, 18), i => Decimal(BigDecimal(i) / 8, 38, 18)),
    (BinaryType, i => Array[Byte]((i >> 8).toByte, i.toByte)),
    (TimestampType, i => i * 1000000L),
    (BooleanType, i => i % 2 == 0),
    (ByteType, i => (i % 100).toByte),
    (DecimalType(10, 2), i => Decimal(BigDecimal(i) / 4, 10, 2)))

  private def build(d: Int, rows: Seq[Seq[Any]], files: Int): Grid = {
    val types = Seq.tabulate(d)(c => kinds(c % kinds.length)._1)
    val columns = if (rows.isEmpty) types.map(_ => Seq.empty[Any]) else rows.transpose
    Grid.build(
      types.zipWithIndex.map { case (t, c) => (s"c$c", t) },
      IndexedSeq(0L, 1000L),
      IndexedSeq(1.0, 1000.0 / files),
      IndexedSeq(
        FolderSample(types.map(KeyColumns.of(_, Nil)).toIndexedSeq),
        FolderSample(types.zip(columns).map { case (t, vs) => KeyColumns.of(t, vs) }.toIndexedSeq)))
  }

  for ((d, tags) <- Seq(1, 2, 3, 5, 9).map(_ -> Nil) ++ Seq(10, 40).map(_ -> Seq(Slow))) {
    test(s"$d columns of every kind", tags: _*) {
      withRandom { random =>
        def row(): Seq[Any] = Seq.tabulate(d)(c =>
          if (random.nextInt(8) == 0) null else kinds(c % kinds.length)._2(random.nextInt(5000)))
        val rows = Seq.fill(300)(row())
        val grid = build(d, rows, 12)
        val placement = new Placement(grid)
        val expression = PlaceOfRow(
          Seq.tabulate(d)(c => BoundReference(c, kinds(c % kinds.length)._1, nullable = true)),
          Literal(1),
          BoundReference(d, LongType, nullable = false),
          placement)
        assert(!expression.nullable && !expression.foldable)
        for (r <- Seq.fill(20)(row()) :+ Seq.fill(d)(null)) {
          val tie = random.nextLong()
          val at = placement.folder(1)
          val slots = r.zipWithIndex.map { case (v, c) => if (v == null) -1 else at.slotOf(c, v) }
          val place = at.place(slots.toArray, tie)
          assert(place >= 0)
          checkEvaluation(expression, place, InternalRow.fromSeq(r :+ tie))
          checkEvaluation(
            PlaceOfRow.shuffleKeyOf(BoundReference(0, LongType, nullable = false), placement),
            placement.preimage(place),
            InternalRow(place))
          // the file is that of the row's cell
          val folder = grid.folders(1).get
          val cell = folder.cells(folder.tree.cellOf(slots.toArray))
          val file = PartitionKeys.partitionOf(placement.preimage(place), grid.files)
          assert(file >= cell.file && file < cell.file + cell.files)
        }
      }
    }
  }

  test("rows of one heavy key are dealt to all of its files by the tie alone") {
    val grid = build(2, Seq.fill(100)(Seq[Any](1, UTF8String.fromString("x"))), 7)
    val placement = new Placement(grid)
    val at = placement.folder(1)
    val slots = Array(at.slotOf(0, 1), at.slotOf(1, UTF8String.fromString("x")))
    val files = (0 until 1000).map(t =>
      PartitionKeys.partitionOf(placement.preimage(at.place(slots, t - 500L)), grid.files))
    assert(files.distinct.sorted === (0 until 7))
    assert(files.groupBy(identity).values.forall(_.size > 130))
  }

  test("within a cell, neighbours on the curve are neighbours in every column") {
    withRandom { random =>
      val n = 20000
      val a = IndexedSeq.fill(n)(random.nextInt())
      val b = IndexedSeq.fill(n)(random.nextLong())
      val grid = Grid.build(
        Seq("a" -> IntegerType, "b" -> LongType),
        IndexedSeq(n.toLong),
        IndexedSeq(n / 4.0),
        IndexedSeq(FolderSample(IndexedSeq(
          KeyColumns.of(IntegerType, a),
          KeyColumns.of(LongType, b)))))
      val at = new Placement(grid).folder(0)
      val sorted =
        a.indices.sortBy(i => at.place(Array(at.slotOf(0, a(i)), at.slotOf(1, b(i))), 0L))
      val ranksA = a.sorted.zipWithIndex.toMap
      val ranksB = b.sorted.zipWithIndex.toMap
      // 16 pages a file, so 64 pages: the ideal side is an eighth
      val sides = sorted.grouped(n / 64).toSeq.flatMap { page =>
        Seq(
          page.map(i => ranksA(a(i))).max - page.map(i => ranksA(a(i))).min,
          page.map(i => ranksB(b(i))).max - page.map(i => ranksB(b(i))).min)
      }
      val excess = sides.map(_.toDouble / n).sum / sides.size / 0.125
      assert(excess < 1.3, s"excess of pages $excess")
    }
  }

  test("equality, canonical form and text") {
    val placement = new Placement(build(1, Nil, 1))
    val e = PlaceOfRow(
      Seq(BoundReference(0, IntegerType, nullable = true)),
      Literal(1),
      Literal(0L),
      placement)
    assert(e === e.copy() && e.semanticEquals(e.copy()))
    assert(e !== e.copy(placement = new Placement(build(1, Nil, 1))))
    assert(e.toString === "place_of_row(input[0, int, true])")
  }
}
