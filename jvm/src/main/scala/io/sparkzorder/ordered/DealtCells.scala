package io.sparkzorder.ordered

import org.apache.spark.sql.catalyst.expressions.{BinaryExpression, Expression, UnaryExpression}
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.catalyst.plans.physical.{HashPartitioning, Partitioning}
import org.apache.spark.sql.types.{DataType, IntegerType, LongType}
import org.apache.spark.unsafe.types.UTF8String

import io.sparkzorder.cluster.{Grid, Placement, ShufflePreimages}
import io.sparkzorder.ordered.grid.StoredGrid

/**
 * How the rows of a write are dealt to the partitions of its shuffle. The cells of a folder are as
 * many neighbouring partitions, a ''bucket''; folders share buckets where there are more folders.
 * AQE and [[JoinCells]] put neighbouring partitions together until a task has enough for a file.
 *
 * Immutable and safe for threads.
 *
 * @param buckets number of buckets
 * @param units partitions of a bucket
 * @param targetBytes bytes of the shuffle that make one file
 */
private[sparkzorder] final class DealtCells(
    grid: StoredGrid,
    buckets: Int,
    units: Int,
    val targetBytes: Long)
    extends Serializable {

  private val paths = grid.folders.keys.toArray.sorted
  private val numbers = new java.util.HashMap[UTF8String, Integer]
  paths.indices.foreach(i => numbers.put(UTF8String.fromString(paths(i)), Integer.valueOf(i)))
  private val pooled = paths.length

  /** Places the rows of each stored folder, and at last those of all other folders. */
  val placement: Placement =
    new Placement(
      Grid(grid.columns, paths.map(p => Option(grid.folders(p))).toIndexedSeq :+ Some(grid.pooled)))

  private val first: Array[Int] = placement.firstParts.toArray
  private val keyBits = placement.keyBits
  private val preimages = ShufflePreimages(partitions)

  def partitions: Int = buckets * units

  /** The number of a folder in `placement`. */
  def folder(path: UTF8String): Int = {
    val number = numbers.get(path)
    if (number == null) pooled else number.intValue
  }

  /** The shuffle key of a row: what hash partitioning maps to the partition of its cell. */
  def key(place: Long, path: UTF8String): Long = {
    val own = folder(path)
    val bucket = Math.floorMod(if (own == pooled) path.hashCode else own, buckets)
    preimages(bucket * units + unit(place, own))
  }

  /** The cells of a folder in equal parts; a cell is cut along its curve if there are more units. */
  private def unit(place: Long, folder: Int): Int = {
    val cells = first(folder + 1) - first(folder)
    val cell = (place >>> keyBits) - first(folder)
    val within = (place & ((1L << keyBits) - 1)) >>> math.max(0, keyBits - DealtCells.Fraction)
    val position = (cell << DealtCells.Fraction) + within
    math.min(units - 1L, position * units / (cells.toLong << DealtCells.Fraction)).toInt
  }
}

private[ordered] object DealtCells {

  /** The cells to which a shuffle deals its rows. */
  def of(shuffle: Partitioning): Option[DealtCells] = shuffle match {
    case HashPartitioning(Seq(CellOfPlace(_, _, cells)), _) => Some(cells)
    case _ => None
  }

  // bits of the position inside of a cell
  private val Fraction = 20
}

/** The number of the folder of a row, from its path below the table. */
case class FolderOfPath(child: Expression, cells: DealtCells) extends UnaryExpression {
  override def nullable: Boolean = false
  override def dataType: DataType = IntegerType
  override def prettyName: String = "folder_of_path"
  override def stringArgs: Iterator[Any] = children.iterator

  override protected def nullSafeEval(path: Any): Any = cells.folder(path.asInstanceOf[UTF8String])

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val all = ctx.addReferenceObj("cells", cells)
    nullSafeCodeGen(ctx, ev, path => s"${ev.value} = $all.folder($path);")
  }

  override protected def withNewChildInternal(newChild: Expression): FolderOfPath =
    copy(child = newChild)
}

/**
 * The shuffle key of a row, see [[DealtCells.key]].
 *
 * @param left the place of the row
 * @param right the path of its folder below the table
 */
case class CellOfPlace(left: Expression, right: Expression, cells: DealtCells)
    extends BinaryExpression {
  override def nullable: Boolean = false
  override def dataType: DataType = LongType
  override def prettyName: String = "cell_of_place"
  override def stringArgs: Iterator[Any] = children.iterator

  override protected def nullSafeEval(place: Any, path: Any): Any =
    cells.key(place.asInstanceOf[Long], path.asInstanceOf[UTF8String])

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val all = ctx.addReferenceObj("cells", cells)
    nullSafeCodeGen(ctx, ev, (place, path) => s"${ev.value} = $all.key($place, $path);")
  }

  override protected def withNewChildrenInternal(
      newLeft: Expression,
      newRight: Expression): CellOfPlace = copy(left = newLeft, right = newRight)
}
