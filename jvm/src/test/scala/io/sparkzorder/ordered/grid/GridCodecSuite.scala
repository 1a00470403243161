// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.ordered.grid

import java.io.{ByteArrayOutputStream, DataOutputStream, IOException}
import java.util.zip.CRC32

import scala.util.{Random, Try}

import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.tagobjects.Slow

import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import io.sparkzorder.cluster.{
  FolderGrid,
  FolderGridBuilder,
  FolderSample,
  Grid,
  KeyColumn,
  Placement
}

/** The bytes of a stored grid: what is read places rows as what was written, or is refused. */
class GridCodecSuite extends AnyFunSuite {
  private val types: Seq[DataType] =
    Seq(IntegerType, StringType, DecimalType(30, 2), BinaryType, DoubleType)
  private val random = new Random(17)

  private def value(t: DataType): Any =
    if (random.nextInt(9) == 0) null
    else t match {
      case IntegerType => random.nextInt(50)
      case StringType => UTF8String.fromString("key-" + random.nextInt(300))
      case DoubleType => random.nextGaussian()
      case BinaryType => Array.fill(4)(random.nextInt(5).toByte)
      case _ => Decimal(BigDecimal(BigInt(90, random), 2), 30, 2)
    }

  private val rows = Seq.fill(2000)(types.map(value))

  private def grid(cells: Int): FolderGrid = {
    val columns = types.indices.map { c =>
      val builder = KeyColumn.newBuilder(types(c))
      rows.foreach(r => builder.add(r(c)))
      builder.result()
    }
    new FolderGridBuilder(types, FolderSample(columns), 2000L, cells, 0).build()
  }

  private def stored(folder: FolderGrid) = StoredGrid(
    types.indices.map("c" + _),
    types.map(_.json),
    Map("p=1" -> folder, "" -> grid(3)),
    grid(1),
    1.5)

  private def cellsOf(folder: FolderGrid): Seq[Int] = rows.map { r =>
    folder.tree.cellOf(types.indices.map { c =>
      if (r(c) == null) -1 else folder.columns(c).bounds.slotOf(r(c))
    }.toArray)
  }

  private def placesOf(folder: FolderGrid): Seq[Long] = {
    val at = new Placement(
      Grid(
        types.map(_.toString),
        IndexedSeq(Some(folder.copy(cells = folder.cells.zipWithIndex.map { case (c, i) =>
          c.copy(file = i, files = 1)
        }))))).folder(0)
    rows.map { r =>
      at.place(
        types.indices.map(c => if (r(c) == null) -1 else at.slotOf(c, r(c))).toArray,
        0L)
    }
  }

  test("a thinned grid has the same cells; places inside of a cell become coarser") {
    for (cells <- Seq(1, 2, 7, 64)) {
      val whole = grid(cells)
      val thin = ThinGrid.of(whole, 16)
      assert(cellsOf(thin) === cellsOf(whole))
      assert(thin.columns.forall(_.bounds.length <= 16 + 64))
      thin.columns.foreach { c =>
        assert(c.midRanks.length === 2 * c.bounds.length + 2)
        assert(c.midRanks.toSeq === c.midRanks.toSeq.sorted)
      }
      assert(placesOf(ThinGrid.of(whole, 1 << 20)) === placesOf(whole))
    }
  }

  test("what was written is read") {
    val before = stored(ThinGrid.of(grid(40), 256))
    val after = GridCodec.read(GridCodec.write(before))
    assert(after.columns === before.columns && after.types === before.types)
    assert(after.shuffleRatio === 1.5)
    assert(after.folders.keySet === before.folders.keySet)
    for (path <- before.folders.keys) {
      assert(placesOf(after.folders(path)) === placesOf(before.folders(path)))
    }
    assert(placesOf(after.pooled) === placesOf(before.pooled))
  }

  private def withChecksum(body: Array[Byte]): Array[Byte] = {
    val crc = new CRC32
    crc.update(body)
    val out = new ByteArrayOutputStream
    val data = new DataOutputStream(out)
    Seq(0x5a4f4744, 1, body.length).foreach(data.writeInt)
    data.writeLong(crc.getValue)
    data.write(body)
    out.toByteArray
  }

  for ((n, tags) <- Seq(60 -> Nil, 300 -> Seq(Slow))) test(
    s"damaged bytes are refused with an IOException, or place rows in cells that exist: $n times",
    tags: _*) {
    val good = GridCodec.write(stored(ThinGrid.of(grid(6), 8)))
    val body = good.drop(20)
    assert(withChecksum(body).toSeq === good.toSeq)
    intercept[IOException](GridCodec.read(good.updated(30, (good(30) ^ 1).toByte)))
    for (length <- Seq(0, 3, 19, good.length - 1)) {
      intercept[IOException](GridCodec.read(good.take(length)))
    }
    intercept[IOException](GridCodec.read(good :+ 0.toByte))
    intercept[IOException](GridCodec.read(good.updated(7, 2.toByte)))
    GridCodec.requireSize(64L << 20)
    intercept[IOException](GridCodec.requireSize((64L << 20) + 1))
    val seed = System.nanoTime()
    val dice = new Random(seed)
    for (_ <- 1 to n) {
      val at = dice.nextInt(body.length)
      val damaged = dice.nextInt(3) match {
        case 0 => body.updated(at, dice.nextInt(256).toByte)
        case 1 => body.take(at)
        case _ => body.patch(at, Array.fill(4)(0xff.toByte), 4)
      }
      Try(GridCodec.read(withChecksum(damaged))) match {
        case scala.util.Success(grid) =>
          (grid.folders.values.toSeq :+ grid.pooled).foreach { f =>
            if (f.columns.size == types.size && grid.types == types.map(_.json)) {
              assert(placesOf(f).forall(_ >= 0), s"seed $seed")
            }
          }
        case scala.util.Failure(e) =>
          assert(e.isInstanceOf[IOException], s"seed $seed: $e")
      }
    }
  }
}
