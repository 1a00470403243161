// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.index

import java.nio.charset.StandardCharsets.UTF_8
import java.util.Arrays

import org.apache.hadoop.io.WritableComparator

import io.sparkzorder.index.values.ValueDomain
import io.sparkzorder.table.stats.ColumnStats

/**
 * A column of the index: one leaf column in one spelling and of one type. If the files of a table differ in
 * spelling or type, one column of the table has several columns in the index. For example, a table with the column
 * `id` in some files and `ID` in others has two.
 */
private[sparkzorder] final case class IndexedColumn(path: Seq[String], leafType: LeafType) {
  def name: String = path.mkString(".")
}

/**
 * The data files that an index knows.
 *
 * @param paths the path of each file below the table's root, in UTF-8, as the directory lists the file
 * @param modified modification times in milliseconds
 * @param shapeOf for each file, the position of its set of leaf columns in `shapes`; -1 if it is not known
 */
private[sparkzorder] final case class FileTable(
    paths: ByteValues,
    lengths: Array[Long],
    modified: Array[Long],
    rows: Array[Long],
    shapeOf: Array[Int]) {
  def size: Int = lengths.length
  def path(i: Int): String = new String(paths(i), UTF_8)

  /** False for an entry that marks a removed file, and for an entry that a later part replaces. */
  def isLive(i: Int): Boolean = lengths(i) != FileTable.Gone

  /** Live entries, evenly spread over the table: at most one in each section of `size / most` entries. */
  def sample(most: Int): IndexedSeq[Int] = {
    val step = math.max(1, size / most)
    (0 until size by step).flatMap(i => (i until math.min(size, i + step)).find(isLive))
  }

  def bytes: Long = paths.bytes + 28L * size
}

private[sparkzorder] object FileTable {

  /** The length in an entry that is not live. No file has this length, so a look-up never finds the entry. */
  val Gone: Long = -1L
}

/** The minimum, or the maximum, of one column in each file. */
private[sparkzorder] sealed trait StatValues extends Serializable { def bytes: Long }
private[sparkzorder] final case class LongStats(values: Array[Long]) extends StatValues {
  override def bytes: Long = 8L * values.length
}
private[sparkzorder] final case class ByteStats(values: ByteValues) extends StatValues {
  override def bytes: Long = values.bytes
}
private[sparkzorder] case object NoStats extends StatValues { override def bytes: Long = 0L }

/**
 * The statistics of one column in all files, by the position of the file.
 *
 * @param nulls number of nulls, -1 where it is not known
 * @param flags the bits [[ColumnValues.Bounded]] and [[ColumnValues.NoNaN]]
 * @param min least values; meaningless where not bounded
 * @param max greatest values; meaningless where not bounded
 */
private[sparkzorder] final case class ColumnValues(
    nulls: Array[Long],
    flags: Array[Byte],
    min: StatValues,
    max: StatValues) {
  def bytes: Long = 9L * nulls.length + min.bytes + max.bytes
}

private[sparkzorder] object ColumnValues {

  /** The file has both bounds. */
  val Bounded: Byte = 1

  /** The column holds no NaN in the file, so `max` is the greatest of all its values. */
  val NoNaN: Byte = 2
}

/**
 * Data files with the bounds of their columns, by which filters prune files. The bounds come from a table's
 * index, or from footers that were just read.
 */
private[sparkzorder] trait IndexColumns {
  def indexed: IndexedSeq[IndexedColumn]

  /** Each set of leaf columns that some file has. */
  def shapes: IndexedSeq[LeafColumns]
  def table: FileTable

  /** The statistics of a column, by its position in [[indexed]]. */
  def column(number: Int): ColumnValues

  /** The index of the values of a column, if there is one. */
  def values(column: String, domain: ValueDomain): Option[IndexedValues] = None

  /**
   * A value that `make` computes from the column at position `number`. An implementation may keep the value for
   * other queries, under `number` and `name`.
   */
  def derived[T <: Sized](number: Int, name: String)(make: => T): T = make
}

/**
 * A whole index in memory, by columns.
 *
 * @param columns in the order in which they first appear in a file
 * @param shapes each set of leaf columns that some file has
 */
private[sparkzorder] final case class IndexContent(
    files: FileTable,
    columns: IndexedSeq[(IndexedColumn, ColumnValues)],
    shapes: IndexedSeq[LeafColumns])
    extends IndexColumns {
  override def indexed: IndexedSeq[IndexedColumn] = columns.map(_._1)
  override def table: FileTable = files
  override def column(number: Int): ColumnValues = columns(number)._2
}

private[sparkzorder] object IndexContent {
  val empty: IndexContent = of(Nil)
  def of(entries: Seq[FileEntry]): IndexContent = {
    val columns = entries.flatMap(_.leaves.map(_.column)).distinct.toIndexedSeq
    val builders = columns.map(c => c -> new ColumnBuilder(c.leafType, entries.size)).toMap
    val paths = new ByteValues.Builder(entries.size)
    val shapes = entries.map(_.shape).distinct.toIndexedSeq
    val shapeNumber = shapes.zipWithIndex.toMap
    entries.foreach { e =>
      paths.add(e.path.getBytes(UTF_8))
      val found = e.leaves.map(l => l.column -> l.stats).toMap
      builders.foreach { case (column, builder) =>
        builder.add(found.getOrElse(column, ColumnStats.unknown))
      }
    }
    IndexContent(
      FileTable(
        paths.result(),
        entries.map(_.length).toArray,
        entries.map(_.modified).toArray,
        entries.map(_.rows).toArray,
        entries.map(e => shapeNumber(e.shape)).toArray),
      columns.map(c => c -> builders(c).result()),
      shapes)
  }

  /** One content with the files of all `parts`. No file may be in two parts. */
  def concat(parts: Seq[IndexContent]): IndexContent = parts match {
    case Seq(one) => one
    case _ =>
      val columns = parts.flatMap(_.columns.map(_._1)).distinct.toIndexedSeq
      val shapes = parts.flatMap(_.shapes).distinct.toIndexedSeq
      val files = concatFiles(parts.map(p => (p.files, p.shapes)), shapes)
      val values = columns.map { c =>
        val found = parts.map(p => (p.files.size, p.columns.find(_._1 == c).map(_._2)))
        c -> concatColumn(c.leafType, found)
      }
      IndexContent(files, values, shapes)
  }

  /** Entries that are not live. In a later part, such an entry says that the file was removed. */
  def gone(paths: Iterable[String]): IndexContent = {
    val builder = new ByteValues.Builder(paths.size)
    paths.foreach(p => builder.add(p.getBytes(UTF_8)))
    def all(value: Long) = Array.fill(paths.size)(value)
    val files =
      FileTable(builder.result(), all(FileTable.Gone), all(0), all(0), all(-1).map(_.toInt))
    IndexContent(files, IndexedSeq.empty, IndexedSeq.empty)
  }

  /** @param shapes all shapes of the parts, each once */
  private[index] def concatFiles(
      parts: Seq[(FileTable, IndexedSeq[LeafColumns])],
      shapes: IndexedSeq[LeafColumns]): FileTable = {
    val number = shapes.zipWithIndex.toMap
    val tables = parts.map(_._1)
    val paths = new ByteValues.Builder(tables.map(_.size).sum)
    for (t <- tables; i <- 0 until t.size) {
      paths.add(t.paths, i)
    }
    FileTable(
      paths.result(),
      tables.flatMap(_.lengths).toArray,
      tables.flatMap(_.modified).toArray,
      tables.flatMap(_.rows).toArray,
      parts.flatMap { case (table, own) =>
        val map = own.map(number)
        // a file of an index stores at most `IndexFormat.MaxShapes` shapes, so some shapes may not be known
        table.shapeOf.map(s => if (s < 0 || s >= map.size) -1 else map(s))
      }.toArray)
  }

  /** @param parts the number of files of each part, and the column if the part has it */
  private[index] def concatColumn(
      leafType: LeafType,
      parts: Seq[(Int, Option[ColumnValues])]): ColumnValues = {
    val builder = new ColumnBuilder(leafType, parts.map(_._1).sum)
    parts.foreach {
      case (size, Some(values)) => (0 until size).foreach(builder.copy(values, _))
      case (size, None) => (0 until size).foreach(_ => builder.add(ColumnStats.unknown))
    }
    builder.result()
  }

  /**
   * The index reduced to the files whose positions `keep` accepts. A column without statistics in these files is
   * left out.
   */
  def select(content: IndexContent, keep: Int => Boolean): IndexContent = {
    val kept = content.files.lengths.indices.filter(keep).toArray
    if (kept.length == content.files.size) content
    else {
      val f = content.files
      val paths = new ByteValues.Builder(kept.length)
      kept.foreach(paths.add(f.paths, _))
      val columns = content.columns.map { case (column, values) =>
        val builder = new ColumnBuilder(column.leafType, kept.length)
        kept.foreach(builder.copy(values, _))
        column -> builder.result()
      }
      IndexContent(
        FileTable(
          paths.result(),
          kept.map(f.lengths(_)),
          kept.map(f.modified(_)),
          kept.map(f.rows(_)),
          kept.map(f.shapeOf(_))),
        columns.filter { case (_, v) => v.nulls.exists(_ >= 0) || v.flags.exists(_ != 0) },
        content.shapes)
    }
  }
}

/**
 * The statistics of one leaf column in one file.
 *
 * @param stats statistics whose bounds are longs or byte arrays, as [[IndexValue]] converts them
 */
private[sparkzorder] final case class LeafEntry(column: IndexedColumn, stats: ColumnStats)

/**
 * The entry of one data file in the index.
 *
 * @param path path relative to the table's root, in the spelling of the directory listing
 * @param modified modification time in milliseconds
 */
private[sparkzorder] final case class FileEntry(
    path: String,
    length: Long,
    modified: Long,
    rows: Long,
    shape: LeafColumns,
    leaves: Seq[LeafEntry])

/** Collects the statistics of one column in many files. */
private[index] final class ColumnBuilder(leafType: LeafType, expected: Int) {
  private val nulls = Array.newBuilder[Long]
  private val flags = Array.newBuilder[Byte]
  private val longs =
    if (leafType.inLongs) Some((Array.newBuilder[Long], Array.newBuilder[Long])) else None
  private val bytes =
    if (leafType.inLongs || !leafType.hasBounds) None
    else Some((new ByteValues.Builder(expected), new ByteValues.Builder(expected)))
  nulls.sizeHint(expected)
  flags.sizeHint(expected)

  /** Adds the statistics of the next file, `ColumnStats.unknown` if the file has none for this column. */
  def add(stats: ColumnStats): Unit = {
    nulls += stats.nulls
    val bounded = if (stats.bounds.isDefined) ColumnValues.Bounded else 0
    val noNaN = if (stats.noNaN) ColumnValues.NoNaN else 0
    flags += (bounded | noNaN).toByte
    longs.foreach { case (min, max) =>
      val (least, greatest) = stats.bounds.getOrElse((0L, 0L))
      min += least.asInstanceOf[Long]
      max += greatest.asInstanceOf[Long]
    }
    bytes.foreach { case (min, max) =>
      val none = Array.emptyByteArray
      val (least, greatest) = stats.bounds.getOrElse((none, none))
      min.add(least.asInstanceOf[Array[Byte]])
      max.add(greatest.asInstanceOf[Array[Byte]])
    }
  }

  /** Copies the statistics of file `i` from other values of the same column. */
  def copy(from: ColumnValues, i: Int): Unit = {
    nulls += from.nulls(i)
    flags += from.flags(i)
    (from.min, from.max, longs, bytes) match {
      case (LongStats(a), LongStats(b), Some((min, max)), _) =>
        min += a(i)
        max += b(i)
      case (ByteStats(a), ByteStats(b), _, Some((min, max))) =>
        min.add(a, i)
        max.add(b, i)
      case _ =>
    }
  }

  def result(): ColumnValues = {
    val (min, max) = (longs, bytes) match {
      case (Some((a, b)), _) => (LongStats(a.result()), LongStats(b.result()))
      case (_, Some((a, b))) => (ByteStats(a.result()), ByteStats(b.result()))
      case _ => (NoStats, NoStats)
    }
    ColumnValues(nulls.result(), flags.result(), min, max)
  }
}

/**
 * Many byte strings in one array.
 *
 * @param data the byte strings, concatenated
 * @param ends where each ends in `data`
 */
private[sparkzorder] final class ByteValues(val data: Array[Byte], val ends: Array[Int])
    extends Serializable {
  def size: Int = ends.length
  def start(i: Int): Int = if (i == 0) 0 else ends(i - 1)
  def length(i: Int): Int = ends(i) - start(i)
  def apply(i: Int): Array[Byte] = Arrays.copyOfRange(data, start(i), ends(i))
  def compare(i: Int, other: Array[Byte]): Int =
    ByteValues.compare(data, start(i), length(i), other)

  /** Compares value `i` with value `j` of `other`, unsigned. */
  def compare(i: Int, other: ByteValues, j: Int): Int =
    WritableComparator.compareBytes(
      data,
      start(i),
      length(i),
      other.data,
      other.start(j),
      other.length(j))

  def bytes: Long = data.length + 4L * ends.length
}

private[sparkzorder] object ByteValues {

  /** Compares `length` bytes of `a`, from position `from` on, with all of `b`, unsigned. */
  def compare(a: Array[Byte], from: Int, length: Int, b: Array[Byte]): Int =
    WritableComparator.compareBytes(a, from, length, b, 0, b.length)

  /** The number of equal bytes with which two byte strings begin. */
  def shared(a: Array[Byte], b: Array[Byte]): Int = {
    val most = math.min(a.length, b.length)
    var n = 0
    while (n < most && a(n) == b(n)) n += 1
    n
  }

  /** The number of equal bytes with which all byte strings begin; 0 if there is none. */
  def shared(all: Seq[Array[Byte]]): Int = all.headOption.fold(0)(first =>
    all.tail.foldLeft(first.length)((n, other) => math.min(n, shared(first, other))))

  final class Builder(expected: Int) {
    private var data = new Array[Byte](math.max(16, math.min(expected, 1 << 20) * 16))
    private val ends = Array.newBuilder[Int]
    private var length = 0
    ends.sizeHint(expected)

    def add(from: Array[Byte], offset: Int, count: Int): Unit = {
      val end = length.toLong + count
      if (end > Int.MaxValue - 16) {
        throw new IllegalStateException(
          "more than 2 GB of paths or bounds in one column of the index")
      }
      if (end > data.length) {
        val grown = math.max(end, math.min(data.length * 2L, Int.MaxValue - 16L))
        data = Arrays.copyOf(data, grown.toInt)
      }
      System.arraycopy(from, offset, data, length, count)
      length = end.toInt
      ends += length
    }

    def add(value: Array[Byte]): Unit = add(value, 0, value.length)
    def add(from: ByteValues, i: Int): Unit = add(from.data, from.start(i), from.length(i))

    def result(): ByteValues = new ByteValues(Arrays.copyOf(data, length), ends.result())
  }
}
