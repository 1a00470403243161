// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping

import scala.util.Random

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, Literal}
import org.apache.spark.sql.catalyst.util.TypeUtils
import org.apache.spark.sql.sparkzorder.SparkLine.{Frame, Session}
import org.apache.spark.sql.sparkzorder.TestAccess
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import io.sparkzorder.ordering.ValuesOfTypes

/**
 * A leaf column of a random table.
 *
 * @param name as SQL has it, with dots
 * @param pool values of its files and neighbours of them, without NULL, in Spark's order
 */
final case class RandomColumn(name: String, dataType: DataType, pool: IndexedSeq[Any]) {
  def literal(random: Random): Literal = Literal(pool(random.nextInt(pool.size)), dataType)
}

/** Random tables whose files hold neighbouring values, so that many predicates can pass some over. */
final class RandomTable(random: Random) {
  private val types = ValuesOfTypes.types.filterNot(_.typeName.startsWith("time("))

  private def pool(t: DataType): IndexedSeq[Any] = {
    val all = (ValuesOfTypes.values(t, random) ++ extra(t)).filter(isWritable(t, _))
    val ordering = TypeUtils.getInterpretedOrdering(t)
    all.sortWith((a, b) => ordering.lt(a, b)).toIndexedSeq
  }

  private def extra(t: DataType): Seq[Any] = t match {
    case StringType =>
      val long = "https://example.org/a/long/prefix/that/all/of/them/share/and/that/is/cut/"
      (1 to 12).map(i => UTF8String.fromString(s"$long$i")) ++
        Seq(UTF8String.fromString("x%y_z\\"), UTF8String.fromString("é" * 40))
    // around 1900, from where on no calendar and no zone's first rule changes a timestamp, and 1883,
    // when zones of America began
    case DateType => Seq(-25568, -25567, -25566, -31455)
    case TimestampType | TimestampNTZType =>
      Seq(-2208988800000001L, -2208988800000000L, -2208960000000000L, -2717640000000000L)
    case _ => Nil
  }

  // what Spark's reader or a session's zone cannot bring back unchanged
  private def isWritable(t: DataType, v: Any): Boolean = (t, v) match {
    case (DateType, d: Int) => d > -719162 && d < 2932896
    case (TimestampType | TimestampNTZType, m: Long) =>
      m > -62135596800000000L + 86400000000L && m < 253402300799000000L - 86400000000L
    case _ => true
  }

  private val flat = Seq.fill(6)(types(random.nextInt(types.size)))
  private val inner = Seq.fill(2)(types(random.nextInt(types.size)))

  /** Leaf columns: six flat ones, two in a struct. */
  val columns: IndexedSeq[RandomColumn] =
    (flat.zipWithIndex.map { case (t, i) => RandomColumn(s"c$i", t, pool(t)) } ++
      inner.zipWithIndex.map { case (t, i) => RandomColumn(s"s.f$i", t, pool(t)) }).toIndexedSeq

  val schema: StructType = {
    val struct = StructType(inner.zipWithIndex.map { case (t, i) => StructField(s"f$i", t) })
    StructType(flat.zipWithIndex.map { case (t, i) => StructField(s"c$i", t) } :+
      StructField("s", struct))
  }

  /** A frame of so many partitions, each of which becomes one file. */
  def frame(session: Session, files: Int): Frame = {
    val rows = (0 until files).map(_ => rowsOfFile())
    val rdd = session.sparkContext.parallelize(rows, files).flatMap(identity)
    TestAccess.internalFrame(session, rdd, schema)
  }

  private def rowsOfFile(): Seq[InternalRow] = {
    val draws = columns.map(valuesOfFile)
    Seq.fill(random.nextInt(6) + 1) {
      val values = draws.map(_())
      val struct =
        if (random.nextInt(12) == 0) null
        else new GenericInternalRow(values.drop(flat.size).toArray)
      new GenericInternalRow((values.take(flat.size) :+ struct).toArray[Any])
    }
  }

  /** Draws of one column of one file: from a few neighbouring values, or NULL now and then. */
  private def valuesOfFile(c: RandomColumn): () => Any = {
    val nulls = random.nextInt(6) match {
      case 0 => 1.0
      case 1 => 0.3
      case _ => 0.0
    }
    val width = random.nextInt(5) + 1
    val from = random.nextInt(math.max(1, c.pool.size - width))
    val window = c.pool.slice(from, from + width)
    () => if (random.nextDouble() < nulls) null else window(random.nextInt(window.size))
  }
}
