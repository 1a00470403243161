package io.sparkzorder.layout

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Expression, TernaryExpression}
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode, FalseLiteral}
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.types.{DataType, LongType}

import io.sparkzorder.grid.Grid

/** The cuts of a grid, arranged for a search by row. Immutable. */
final class Dealer(grid: Grid) extends Serializable {
  private val froms: Array[Array[Long]] =
    grid.folders.map(_.map(_.cells.map(_.from).toArray).getOrElse(Array.emptyLongArray)).toArray

  private val firstFiles: Array[Array[Int]] = grid.folders.map { folder =>
    folder.map(f => f.cells.scanLeft(f.firstFile)(_ + _.files).toArray)
      .getOrElse(Array.emptyIntArray)
  }.toArray

  private val preimages: Array[Long] = ShufflePreimages(math.max(1, grid.files))

  /** Number of the file that holds a row. */
  def file(folder: Int, z: Long, tie: Long): Int = {
    val from = froms(folder)
    var lo = 0
    var hi = from.length - 1
    while (lo < hi) {
      val mid = (lo + hi + 1) >>> 1
      if (from(mid) <= z) lo = mid else hi = mid - 1
    }
    val first = firstFiles(folder)(lo)
    val files = firstFiles(folder)(lo + 1) - first
    if (files == 1) first else first + java.lang.Math.floorMod(tie, files.toLong).toInt
  }

  /** What hash partitioning needs to send a row to its file's partition. */
  def preimage(folder: Int, z: Long, tie: Long): Long = preimages(file(folder, z, tie))
}

/**
 * The shuffle key of a row: BIGINT that Spark's hash partitioning sends to the partition whose number
 * is that of the row's file.
 *
 * @param first folder, INT and never null
 * @param second Z-value, BIGINT and never null
 * @param third BIGINT that tells rows of one heavy Z-value apart, never null
 */
case class DealtFile(first: Expression, second: Expression, third: Expression, dealer: Dealer)
    extends TernaryExpression {
  override def nullable: Boolean = false
  override def dataType: DataType = LongType
  override def prettyName: String = "dealt_file"
  override def stringArgs: Iterator[Any] = children.iterator

  override def eval(input: InternalRow): Any =
    dealer.preimage(
      first.eval(input).asInstanceOf[Int],
      second.eval(input).asInstanceOf[Long],
      third.eval(input).asInstanceOf[Long])

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val d = ctx.addReferenceObj("dealer", dealer)
    val (f, z, t) = (first.genCode(ctx), second.genCode(ctx), third.genCode(ctx))
    ev.copy(
      code = code"""
        ${f.code}
        ${z.code}
        ${t.code}
        long ${ev.value} = $d.preimage(${f.value}, ${z.value}, ${t.value});
      """,
      isNull = FalseLiteral)
  }

  override protected def withNewChildrenInternal(
      newFirst: Expression,
      newSecond: Expression,
      newThird: Expression): DealtFile =
    copy(first = newFirst, second = newSecond, third = newThird)
}
