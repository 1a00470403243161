// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.table.schema

import java.util.TimeZone

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.orc.{Reader, TypeDescription}
import org.apache.orc.TypeDescription.Category

import org.apache.spark.sql.execution.datasources.orc.OrcUtils
import org.apache.spark.sql.sparkzorder.SparkPrivate
import org.apache.spark.sql.types.{ArrayType, DataType, MapType, StructType}

import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.table.OrcSchema
import io.sparkzorder.table.stats.{OrcFooters, ScannedFile}

/**
 * The ORC schema of rewritten files. If a column has the same type in all inputs, it keeps exactly this type, also CHAR
 * and VARCHAR, and its attributes. Otherwise it gets the type that Spark's writer uses for the common Spark type of all
 * inputs.
 *
 * @param sameName true for two names that count as equal
 */
private[sparkzorder] final class OrcOutput(sameName: (String, String) => Boolean) {

  /** @param inputs schemas of the input files; one of several equal schemas is enough */
  def of(schema: StructType, inputs: Seq[OrcSchema]): TypeDescription =
    combine(schema, OrcUtils.orcTypeDescription(schema), inputs.map(_.types))

  private def combine(
      dataType: DataType,
      spark: TypeDescription,
      found: Seq[TypeDescription]): TypeDescription = {
    def all(category: Category) = found.nonEmpty && found.forall(_.getCategory == category)
    dataType match {
      case s: StructType if all(Category.STRUCT) =>
        withAttributes(struct(s, spark, found), found)
      case a: ArrayType if all(Category.LIST) =>
        withAttributes(TypeDescription.createList(nested(a.elementType, spark, found, 0)), found)
      case m: MapType if all(Category.MAP) =>
        withAttributes(
          TypeDescription.createMap(
            nested(m.keyType, spark, found, 0),
            nested(m.valueType, spark, found, 1)),
          found)
      case _ =>
        val same = found.headOption.filter(t => found.forall(_.equals(t, false)))
        same.map(t => withAttributes(t.clone(), found)).filter(isReadAs(_, dataType))
          .getOrElse(spark.clone())
    }
  }

  /** Gives `made` the attributes that all inputs have with the same value, and no others. */
  private def withAttributes(
      made: TypeDescription,
      found: Seq[TypeDescription]): TypeDescription = {
    made.getAttributeNames.asScala.toList.foreach(made.removeAttribute)
    for {
      name <- found.head.getAttributeNames.asScala
      value = found.head.getAttributeValue(name)
      if found.forall(_.getAttributeValue(name) == value)
    } made.setAttribute(name, value)
    made
  }

  private def nested(
      dataType: DataType,
      spark: TypeDescription,
      found: Seq[TypeDescription],
      child: Int): TypeDescription =
    combine(dataType, spark.getChildren.get(child), found.map(_.getChildren.get(child)))

  private def struct(
      s: StructType,
      spark: TypeDescription,
      found: Seq[TypeDescription]): TypeDescription = {
    val made = TypeDescription.createStruct()
    s.fields.zip(spark.getChildren.asScala).foreach { case (field, t) =>
      val present = found.flatMap(child(_, field.name))
      // Rows of a file without the column get the default value, which may not fit into the CHAR or VARCHAR of the
      // other files. So Spark's type of the column counts like the type of one more file.
      val brings = TableSchema.hasDefault(field) && present.size < found.size
      made.addField(
        field.name,
        combine(field.dataType, t, if (brings) present :+ t else present))
    }
    made
  }

  private def child(t: TypeDescription, name: String): Option[TypeDescription] = {
    val names = t.getFieldNames.asScala
    val exact = names.indexOf(name)
    val i = if (exact >= 0) exact else names.indexWhere(sameName(_, name))
    if (i < 0) None else Some(t.getChildren.get(i))
  }

  private def isReadAs(t: TypeDescription, dataType: DataType): Boolean = {
    val one = TypeDescription.createStruct().addField("c", t.clone())
    OrcUtils.toCatalystSchema(one).head.dataType == dataType
  }
}

private[sparkzorder] object OrcOutput {

  /**
   * Refuses a file whose timestamps may have nanoseconds, because Spark would cut the nanoseconds off. ORC's TIMESTAMP
   * has room for nanoseconds. Spark writes none, but any other writer may have written some.
   *
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_TYPE_NOT_WRITABLE, naming column and file
   */
  def checkWritable(footer: ScannedFile): Unit =
    if (footer.rows > 0 && !footer.keyValues.contains("org.apache.spark.version")) {
      footer.orc.flatMap(_.timestamp).foreach { path =>
        throw ZOrderErrors.typeNotWritable(
          path,
          s"${Category.TIMESTAMP.getName} that may have nanoseconds (no footer of Spark's)",
          footer.file.path.toString,
          "TIMESTAMP with microseconds")
      }
    }
}

/**
 * The time zones in which ORC files were written. A TIMESTAMP of ORC is a local time in the zone of its writer.
 * OPTIMIZE reads and writes these times in one zone. If this zone has other rules, OPTIMIZE would change two kinds
 * of times: those in an hour that daylight saving skips in this zone, and those in an hour that occurs twice.
 */
private[sparkzorder] object OrcZones {

  /**
   * Refuses files from a zone with other rules than the zone of this JVM, in which the tasks are assumed to
   * run.
   *
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_TYPE_NOT_WRITABLE, naming column and file
   */
  def check(footers: Seq[ScannedFile], conf: Configuration): Unit = {
    val timed = footers.filter(f => f.rows > 0 && f.orc.exists(_.timestamp.isDefined))
    val here = TimeZone.getDefault
    val zones = SparkPrivate.inParallel(timed)(f => OrcFooters.withFile(f.file, conf)(zonesOf))
    val others = timed.zip(zones).flatMap { case (f, own) =>
      own.find(!_.hasSameRules(here)).map(f -> _)
    }
    others.headOption.foreach { case (f, zone) =>
      throw ZOrderErrors.typeNotWritable(
        f.orc.get.timestamp.get,
        s"${Category.TIMESTAMP.getName} of the zone ${zone.getID}",
        f.file.path.toString,
        s"one of the zone ${here.getID} (or run the statement with -Duser.timezone=${zone.getID})")
    }
  }

  /** The zones of all stripes: a file may have been concatenated from stripes of several writers. */
  private def zonesOf(reader: Reader): Seq[TimeZone] =
    OrcFooters.ofStripes(reader, reader.getStripes.asScala.toSeq)
      .filter(_.hasWriterTimezone).map(_.getWriterTimezone).distinct.map(TimeZone.getTimeZone)
}
