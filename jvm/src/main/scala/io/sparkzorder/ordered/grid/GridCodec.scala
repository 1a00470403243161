// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.ordered.grid

import java.io.{
  ByteArrayInputStream,
  ByteArrayOutputStream,
  DataInputStream,
  DataOutputStream,
  IOException
}
import java.nio.charset.StandardCharsets.UTF_8
import java.util.zip.CRC32

import org.apache.spark.sql.types.DataType

import io.sparkzorder.bits.ZValues
import io.sparkzorder.cluster.{Box, Cell, CutTree, FolderGrid, GridColumn, Side}
import io.sparkzorder.ordering.{BoundsIndex, OrderedType}

/**
 * Writes and reads a [[StoredGrid]] as bytes: a magic number, a version, the length and the checksum of the
 * body, and then the body. The body has numbers, strings and byte strings, and no serialized Java objects, which could
 * execute code when a manipulated file is read.
 */
private[sparkzorder] object GridCodec {
  private val Magic = 0x5a4f4744
  private val Version = 1

  // the greatest size of a grid; a larger grid is neither written nor read
  private val MaxBytes = 64 << 20

  /** @throws java.io.IOException if a grid of this size is too large */
  def requireSize(bytes: Long): Unit =
    if (bytes > MaxBytes) throw new IOException(s"it has $bytes bytes, the limit is $MaxBytes")

  /** @throws java.io.IOException if the grid is too large */
  def write(grid: StoredGrid): Array[Byte] = {
    val body = new ByteArrayOutputStream
    new GridWriter(new DataOutputStream(body)).write(grid)
    val whole = new ByteArrayOutputStream
    val out = new DataOutputStream(whole)
    out.writeInt(Magic)
    out.writeInt(Version)
    out.writeInt(body.size)
    out.writeLong(checksum(body.toByteArray))
    body.writeTo(out)
    out.flush()
    requireSize(whole.size)
    whole.toByteArray
  }

  /** @throws java.io.IOException if the bytes are not a valid grid of a known version */
  def read(bytes: Array[Byte]): StoredGrid = {
    val in = new DataInputStream(new ByteArrayInputStream(bytes))
    if (in.readInt() != Magic) throw new IOException("it is not a grid")
    val version = in.readInt()
    if (version != Version) throw new IOException(s"its version is $version, known is $Version")
    val length = in.readInt()
    val sum = in.readLong()
    if (length < 0 || length != in.available()) throw new IOException("it is not complete")
    val body = new Array[Byte](length)
    in.readFully(body)
    if (checksum(body) != sum) throw new IOException("its checksum is wrong")
    try {
      val reader = new GridReader(new DataInputStream(new ByteArrayInputStream(body)))
      reader.read()
    } catch {
      case e: RuntimeException => throw new IOException(s"it is damaged: ${e.getMessage}", e)
    }
  }

  private def checksum(bytes: Array[Byte]): Long = {
    val crc = new CRC32
    crc.update(bytes)
    crc.getValue
  }
}

private final class GridWriter(out: DataOutputStream) {

  def write(grid: StoredGrid): Unit = {
    out.writeInt(grid.columns.size)
    grid.columns.zip(grid.types).foreach { case (name, dataType) =>
      text(name)
      text(dataType)
    }
    out.writeDouble(grid.shuffleRatio)
    folder(grid.pooled)
    out.writeInt(grid.folders.size)
    grid.folders.toSeq.sortBy(_._1).foreach { case (path, own) =>
      text(path)
      folder(own)
    }
    out.flush()
  }

  private def folder(grid: FolderGrid): Unit = {
    grid.columns.foreach(column)
    val tree = grid.tree
    out.writeInt(tree.column.length)
    (tree.column ++ tree.slot ++ tree.children).foreach(out.writeInt)
    out.writeInt(grid.cells.size)
    grid.cells.foreach(c => out.writeDouble(c.rows))
    grid.sides.flatten.foreach { s =>
      out.writeInt(s.from)
      out.writeInt(s.until)
    }
  }

  private def column(column: GridColumn): Unit = {
    out.writeInt(column.bounds.length)
    (0 until column.bounds.length).foreach { i =>
      column.bounds.key(i) match {
        case long: java.lang.Long => out.writeLong(long)
        case other => bytes(OrderedType.bytesOf(other))
      }
    }
    column.midRanks.foreach(out.writeInt)
  }

  private def text(text: String): Unit = bytes(text.getBytes(UTF_8))

  private def bytes(bytes: Array[Byte]): Unit = {
    out.writeInt(bytes.length)
    out.write(bytes)
  }
}

/** Reads the output of [[GridWriter]], and checks every property on which the placement of a row relies. */
private final class GridReader(in: DataInputStream) {
  def read(): StoredGrid = {
    val count = number(ZValues.MaxColumns, "columns")
    require(count >= 1, "it has no columns")
    val (names, types) = Seq.fill(count)((text(), text())).unzip
    // the type of an ordering column is a JSON string; a JSON object may name a class that Spark would load
    require(types.forall(_.startsWith("\"")), "a type")
    val orders = types.map(t => OrderedType.require(DataType.fromJson(t)))
    val ratio = in.readDouble()
    require(ratio > 0 && ratio < 1e6, "its ratio of shuffled bytes")
    val pooled = folder(orders)
    val folders = Seq.fill(number(StoredGrid.MaxFolders, "folders"))(text() -> folder(orders)).toMap
    require(in.available() == 0, "there is more behind it")
    StoredGrid(names, types, folders, pooled, ratio)
  }

  private def folder(orders: Seq[OrderedType]): FolderGrid = {
    val columns = orders.map(column).toIndexedSeq
    val nodes = number(StoredGrid.MaxCells, "cuts")
    val tree = new CutTree(ints(nodes), ints(nodes), ints(2 * nodes))
    val cells = number(StoredGrid.MaxCells, "cells")
    require(cells == nodes + 1, "its cuts do not match its cells")
    checkTree(tree, columns, cells)
    val rows = IndexedSeq.fill(cells)(in.readDouble())
    require(rows.forall(r => r >= 0 && !r.isInfinite), "its cells")
    val sides = IndexedSeq.fill(cells)(columns.map(_ => Side(in.readInt(), in.readInt())))
    require(
      sides.forall(_.forall(s =>
        s.from >= 0 && s.from <= s.until && s.until <= GridReader.MaxRank)),
      "its sides")
    val placed = rows.zipWithIndex.map { case (r, i) => Cell(r, i, 1, Box.empty(columns.size)) }
    FolderGrid(columns, tree, placed, sides)
  }

  /**
   * Checks that each cell, and each inner node except the root, is the child of exactly one node. A node
   * must stand before its children, so that a walk down the tree ends.
   */
  private def checkTree(tree: CutTree, columns: IndexedSeq[GridColumn], cells: Int): Unit = {
    val nodes = tree.column.length
    val seenNodes = new Array[Boolean](nodes)
    val seenCells = new Array[Boolean](cells)
    (0 until nodes).foreach { n =>
      require(columns.indices.contains(tree.column(n)), "a cut of no column")
      val slots = 2 * columns(tree.column(n)).bounds.length
      require(tree.slot(n) >= 0 && tree.slot(n) <= slots, "a cut at no bound")
      Seq(2 * n, 2 * n + 1).map(tree.children(_)).foreach { child =>
        val seen = if (child < 0) seenCells else seenNodes
        val at = if (child < 0) ~child else child
        require(at < seen.length && !seen(at) && (child < 0 || child > n), "its tree")
        seen(at) = true
      }
    }
  }

  private def column(order: OrderedType): GridColumn = {
    val length = number(GridReader.MaxBounds, "bounds")
    val bounds = BoundsIndex.read(order, length)(in.readLong(), bytes())
    // The search finds every bound in its own slot only if the bounds ascend and are distinct.
    require(
      (0 until length).forall(i => bounds.slotOfKey(bounds.key(i)) == 2 * i + 1),
      "its bounds")
    val ranks = ints(2 * length + 2)
    require(
      ranks.forall(r => r >= 0 && r <= GridReader.MaxRank) && ranks.indices.drop(1).forall(i =>
        ranks(i - 1) <= ranks(i)),
      "its ranks")
    GridColumn(bounds, ranks)
  }

  private def ints(n: Int): Array[Int] = {
    require(4L * n <= in.available(), "it is too short")
    Array.fill(n)(in.readInt())
  }

  private def number(limit: Int, what: String): Int = {
    val n = in.readInt()
    // Each counted item takes at least one byte. So a wrong count above the number of remaining bytes is refused
    // before memory is allocated.
    require(n >= 0 && n <= limit && n <= in.available(), s"its number of $what")
    n
  }

  private def text(): String = new String(bytes(), UTF_8)

  private def bytes(): Array[Byte] = {
    val bytes = new Array[Byte](number(Int.MaxValue, "bytes"))
    in.readFully(bytes)
    bytes
  }
}

private object GridReader {
  // the values at which a column is cut are bounds, too
  val MaxBounds: Int = StoredGrid.MaxBounds + StoredGrid.MaxCells

  /** A share of 1 in the units of ranks. */
  val MaxRank: Int = 1 << 30
}
