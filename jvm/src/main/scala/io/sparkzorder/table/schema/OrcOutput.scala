package io.sparkzorder.table.schema

import scala.collection.JavaConverters._

import org.apache.orc.TypeDescription
import org.apache.orc.TypeDescription.Category

import org.apache.spark.sql.execution.datasources.orc.OrcUtils
import org.apache.spark.sql.types.{ArrayType, DataType, MapType, StructType}

import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.table.OrcSchema
import io.sparkzorder.table.stats.Footer

/**
 * The ORC schema of rewritten files: where all inputs agree on a column, its type exactly as it is
 * (CHAR and VARCHAR, attributes); where they differ, what Spark's writer makes of the Spark type that
 * holds them all.
 *
 * @param sameName how names are compared
 */
final class OrcOutput(sameName: (String, String) => Boolean) {

  /** @param inputs at least one for each distinct schema of the inputs */
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

  /** With the attributes that all inputs have. */
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
      made.addField(field.name, combine(field.dataType, t, found.flatMap(child(_, field.name))))
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

object OrcOutput {

  /**
   * Refuses a file whose timestamps may have nanoseconds, which Spark cuts off: ORC's type has them, and
   * only of files that Spark wrote is it known that they have none.
   *
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_TYPE_NOT_WRITABLE, naming column and file
   */
  def checkWritable(footer: Footer): Unit =
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
