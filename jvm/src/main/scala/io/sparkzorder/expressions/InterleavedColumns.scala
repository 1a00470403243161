package io.sparkzorder.expressions

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.expressions.codegen.{
  CodegenContext,
  CodeGenerator,
  ExprCode,
  FalseLiteral
}
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.types.{BinaryType, DataType}

import io.sparkzorder.bits.BitInterleaver

/** An expression that puts one value a column into a [[BitInterleaver]] and gives its bytes. */
trait InterleavedColumns extends Expression {

  override def nullable: Boolean = false
  override def dataType: DataType = BinaryType
  override def foldable: Boolean = children.forall(_.foldable)

  /** Puts a value into its column, null as zero bits. */
  protected def put(interleaver: BitInterleaver, column: Int, value: Any): Unit

  /** Java arguments, after the column, of `BitInterleaver.set` for the non-null value `value`. */
  protected def bitsCode(column: Int, value: String): String

  /** The width in bytes of a null of the column. */
  protected def nullBytes(column: Int): Int

  override def eval(input: InternalRow): Any = {
    // not kept: threads may share an expression that is interpreted
    val interleaver = new BitInterleaver(children.length)
    var c = 0
    while (c < children.length) {
      put(interleaver, c, children(c).eval(input))
      c += 1
    }
    interleaver.result()
  }

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val kernel = classOf[BitInterleaver].getName
    val interleaver =
      ctx.addMutableState(kernel, "interleaver", v => s"$v = new $kernel(${children.length});")
    val steps = children.zipWithIndex.map { case (child, c) =>
      val value = child.genCode(ctx)
      val set = s"$interleaver.set($c, ${bitsCode(c, value.value.toString)});"
      val code =
        if (child.nullable) {
          s"if (${value.isNull}) { $interleaver.set($c, 0L, ${nullBytes(c)}); } else { $set }"
        } else set
      s"${value.code}\n$code"
    }
    val all = ctx.splitExpressionsWithCurrentInputs(steps, funcName = "interleave")
    ev.copy(
      code = code"""
        $all
        ${CodeGenerator.javaType(dataType)} ${ev.value} = $interleaver.result();
      """,
      isNull = FalseLiteral)
  }
}
