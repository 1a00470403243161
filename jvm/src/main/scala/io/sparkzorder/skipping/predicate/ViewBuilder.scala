package io.sparkzorder.skipping.predicate

import java.math.BigInteger

import scala.collection.mutable

import org.apache.spark.sql.types.DataType

import io.sparkzorder.index.{
  BoundValues,
  ByteBounds,
  ByteValues,
  ColumnValues,
  FileShape,
  IndexColumns,
  IndexValue,
  LongBounds,
  NoBounds,
  Sized
}

/**
 * A leaf column of the table that is read.
 *
 * @param path name parts as the table spells them
 * @param nullWhereMissing rows of a file that lacks the column read as NULL, not as some default
 */
private[sparkzorder] final case class DataColumn(
    path: Seq[String],
    dataType: DataType,
    nullWhereMissing: Boolean) {
  def name: String = path.mkString(".")
}

/** The `info` of a [[ColumnView]]. */
private final class FileInfo(val info: Array[Byte]) extends Sized {
  override def bytes: Long = info.length.toLong
}

/** Finds columns of a table in its index: one of the table may be several there. */
private[sparkzorder] final class ViewBuilder(index: IndexColumns, caseSensitive: Boolean) {
  import ColumnView._

  // a filter may ask for a column hundreds of times
  private val made = mutable.HashMap.empty[DataColumn, Either[String, ColumnView]]

  /** The column on the axis of its type; or why the index says nothing of it. */
  def apply(column: DataColumn): Either[String, ColumnView] =
    made.getOrElseUpdate(column, make(column))

  private def make(column: DataColumn): Either[String, ColumnView] = {
    val stored = index.indexed.zipWithIndex.filter { case (c, _) => isNamed(c.path, column.path) }
    val usable = stored.flatMap { case (c, i) =>
      Conversion.of(c.leafType, column.dataType).map(conversion => (c, i, conversion))
    }
    val axis = Axis.of(column.dataType)
    if (stored.isEmpty) Left(s"the column ${column.name} is not in the index")
    else if (axis.isEmpty) Left(s"the type ${column.dataType.sql} of ${column.name}")
    else if (usable.isEmpty) {
      Left(s"files store ${column.name} as ${stored.head._1.leafType.text}, not as " +
        column.dataType.sql)
    } else {
      val loaded = usable.map { case (c, i, conversion) =>
        val values = index.column(i)
        val known = index.derived(i, "info")(new FileInfo(infoOf(values, c.leafType.isFloating)))
        converted(values, conversion, known.info)
      }
      val merged = if (loaded.size == 1) loaded.head else merge(loaded)
      Right(if (column.nullWhereMissing) markedMissing(merged, column.path) else merged)
    }
  }

  private def isNamed(stored: Seq[String], wanted: Seq[String]): Boolean =
    if (caseSensitive) stored == wanted
    else stored.map(FileShape.lower) == wanted.map(FileShape.lower)

  /** What is known of each file: the same for every query. */
  private def infoOf(v: ColumnValues, floating: Boolean): Array[Byte] = {
    val rows = index.table.rows
    val info = new Array[Byte](rows.length)
    var i = 0
    while (i < info.length) {
      var w = 0
      val nulls = v.nulls(i)
      if ((v.flags(i) & ColumnValues.Bounded) != 0) w |= Bounded
      if (nulls == 0) w |= NoNulls
      if (nulls == rows(i)) w |= NoValues
      if (!floating || (v.flags(i) & ColumnValues.NoNaN) != 0) w |= NoNaN
      info(i) = w.toByte
      i += 1
    }
    info
  }

  /** @param info shared with other queries */
  private def converted(v: ColumnValues, conversion: Conversion, info: Array[Byte]): ColumnView =
    (conversion, v.min, v.max) match {
      case (NullsOnly, _, _) =>
        new ColumnView(info.map(w => (w & ~Bounded).toByte), NoBounds, NoBounds)
      case (MillisToMicros, LongBounds(min), LongBounds(max)) =>
        val own = info.clone()
        new ColumnView(own, micros(min, own), micros(max, own))
      case (ToWideDecimal, LongBounds(min), LongBounds(max)) =>
        new ColumnView(info, wide(min), wide(max))
      case _ => new ColumnView(info, v.min, v.max)
    }

  private def micros(millis: Array[Long], info: Array[Byte]): BoundValues = {
    val limit = Long.MaxValue / 1000
    millis.indices.foreach { i =>
      if (millis(i) > limit || millis(i) < -limit) info(i) = (info(i) & ~Bounded).toByte
    }
    LongBounds(millis.map(_ * 1000L))
  }

  private def wide(values: Array[Long]): BoundValues = {
    val builder = new ByteValues.Builder(values.length)
    values.foreach(v => builder.add(IndexValue.wide(BigInteger.valueOf(v)).get))
    ByteBounds(builder.result())
  }

  /** Of each file what the one view says that knows it. */
  private def merge(views: Seq[ColumnView]): ColumnView = {
    val n = views.head.info.length
    val from = Array.fill(n)(-1)
    // bits that are set where nothing is known, too
    val knows = Bounded | NoNulls | NoValues
    for ((v, k) <- views.zipWithIndex; i <- 0 until n if (v.info(i) & knows) != 0) {
      from(i) = if (from(i) == -1) k else -2
    }
    val info = Array.tabulate(n)(i => if (from(i) < 0) 0.toByte else views(from(i)).info(i))
    def pick(end: ColumnView => BoundValues): BoundValues =
      if (views.exists(v => end(v).isInstanceOf[ByteBounds])) {
        val builder = new ByteValues.Builder(n)
        (0 until n).foreach(i =>
          builder.add(if (from(i) < 0) none else bytes(end(views(from(i))), i)))
        ByteBounds(builder.result())
      } else {
        LongBounds(Array.tabulate(n)(i => if (from(i) < 0) 0L else long(end(views(from(i))), i)))
      }
    new ColumnView(info, pick(_.min), pick(_.max))
  }

  private val none = Array.emptyByteArray
  private def bytes(values: BoundValues, i: Int): Array[Byte] = values match {
    case ByteBounds(b) => b(i)
    case _ => none
  }
  private def long(values: BoundValues, i: Int): Long = values match {
    case LongBounds(l) => l(i)
    case _ => 0L
  }

  /** A file that has no such column has NULL in every row. */
  private def markedMissing(view: ColumnView, path: Seq[String]): ColumnView = {
    val lacking = index.shapes.map(_.lacks(path)).toArray
    if (!lacking.contains(true)) view
    else {
      // the view is that of other queries, too
      val info = view.info.clone()
      val shapeOf = index.table.shapeOf
      info.indices.foreach { i =>
        val s = shapeOf(i)
        if (s >= 0 && s < lacking.length && lacking(s)) info(i) = NoValues.toByte
      }
      new ColumnView(info, view.min, view.max)
    }
  }
}
