package io.sparkzorder.index

/**
 * What one file says of one of its leaf columns.
 *
 * @param nulls number of nulls, or -1 when it is not known
 * @param bounds least and greatest value as [[IndexValue]] makes them
 * @param noNaN the column surely holds no NaN in this file
 */
final case class LeafEntry(
    column: IndexedColumn,
    nulls: Long,
    bounds: Option[(Any, Any)],
    noNaN: Boolean)

/**
 * What the index keeps of one data file.
 *
 * @param path relative to the table's root, as the directory lists it
 * @param modified milliseconds
 */
final case class FileEntry(
    path: String,
    length: Long,
    modified: Long,
    rows: Long,
    shape: FileShape,
    leaves: Seq[LeafEntry])

/** Puts what files say of one column beside each other. */
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

  def add(entry: Option[LeafEntry]): Unit = {
    val bounds = entry.flatMap(_.bounds)
    val noNaN = entry.exists(_.noNaN)
    add(entry.map(_.nulls).getOrElse(-1L), bounds.isDefined, noNaN)
    longs.foreach { case (min, max) =>
      min += bounds.map(_._1.asInstanceOf[Long]).getOrElse(0L)
      max += bounds.map(_._2.asInstanceOf[Long]).getOrElse(0L)
    }
    bytes.foreach { case (min, max) =>
      min.add(bounds.map(_._1.asInstanceOf[Array[Byte]]).getOrElse(Array.emptyByteArray))
      max.add(bounds.map(_._2.asInstanceOf[Array[Byte]]).getOrElse(Array.emptyByteArray))
    }
  }

  /** Adds file `i` of other values of the same column. */
  def copy(from: ColumnValues, i: Int): Unit = {
    nulls += from.nulls(i)
    flags += from.flags(i)
    (from.min, from.max, longs, bytes) match {
      case (LongBounds(a), LongBounds(b), Some((min, max)), _) =>
        min += a(i)
        max += b(i)
      case (ByteBounds(a), ByteBounds(b), _, Some((min, max))) =>
        min.add(a.data, a.start(i), a.ends(i) - a.start(i))
        max.add(b.data, b.start(i), b.ends(i) - b.start(i))
      case _ =>
    }
  }

  private def add(nullCount: Long, bounded: Boolean, noNaN: Boolean): Unit = {
    nulls += nullCount
    val flag = (if (bounded) ColumnValues.Bounded else 0) | (if (noNaN) ColumnValues.NoNaN else 0)
    flags += flag.toByte
  }

  def result(): ColumnValues = {
    val (min, max) = (longs, bytes) match {
      case (Some((a, b)), _) => (LongBounds(a.result()), LongBounds(b.result()))
      case (_, Some((a, b))) => (ByteBounds(a.result()), ByteBounds(b.result()))
      case _ => (NoBounds, NoBounds)
    }
    ColumnValues(nulls.result(), flags.result(), min, max)
  }
}
