// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.tpc

import java.io.File

import org.apache.spark.sql.SparkSession

/**
 * Fact tables of a table format, laid out by our OPTIMIZE and read by the format alone or with us. Of such a
 * pair, the format alone is the first.
 */
object FormatContenders {
  val Names: Seq[String] = Seq("delta", "iceberg")

  /** What a session needs from its start, if it is to read such tables. */
  val sessionSettings: Map[String, String] = Map(
    "spark.sql.extensions" ->
      "io.sparkzorder.ZOrderExtensions,io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog" -> "org.apache.spark.sql.delta.catalog.DeltaCatalog")

  def of(format: String, data: TpcData): Seq[Contender] = {
    val warehouse = new File(data.base, s"iceberg-${data.files}").getAbsoluteFile
    val (tables, settings) =
      if (format == "delta") (new DeltaFacts(data), Map.empty[String, String])
      else (new IcebergFacts(data, warehouse), catalog(warehouse))
    Seq(
      Contender(s"$format alone", settings + ("spark.zorder.enabled" -> "false"), tables),
      Contender(format, settings, tables))
  }

  private def catalog(warehouse: File): Map[String, String] = Map(
    "spark.sql.catalog.ice" -> "org.apache.iceberg.spark.SparkCatalog",
    "spark.sql.catalog.ice.type" -> "hadoop",
    "spark.sql.catalog.ice.warehouse" -> warehouse.getPath)

  /** As many files as the tables of plain files have, if the format compresses as well. */
  private def layOut(
      session: SparkSession,
      data: TpcData,
      fact: FactTable,
      name: String,
      bytes: => Long): Unit = {
    session.sql(
      s"OPTIMIZE TABLE $name ZORDER BY (${fact.order.mkString(", ")}) " +
        s"OPTIONS ('targetFileSize' '${bytes / data.files}b')").collect()
    ()
  }

  private final class DeltaFacts(data: TpcData) extends FactTables {
    override def open(session: SparkSession, fact: FactTable): OpenFact = {
      val source = data.inGeneratedOrder(session, fact)
      val folder = data.made(s"delta-${data.files}-by-${fact.order.mkString("-")}/${fact.name}") {
        to =>
          session.read.parquet(source.getPath).write.format("delta").save(to.getPath)
          layOut(session, data, fact, s"delta.`$to`", size(session, to)._2)
      }
      val (files, bytes) = size(session, folder)
      OpenFact(session.read.format("delta").load(folder.getPath), files, bytes)
    }

    private def size(session: SparkSession, folder: File): (Int, Long) = {
      val row = session.sql(s"DESCRIBE DETAIL delta.`$folder`").head()
      (row.getAs[Long]("numFiles").toInt, row.getAs[Long]("sizeInBytes"))
    }
  }

  private final class IcebergFacts(data: TpcData, warehouse: File) extends FactTables {
    override def open(session: SparkSession, fact: FactTable): OpenFact = {
      val source = data.inGeneratedOrder(session, fact)
      val database = s"by-${fact.order.mkString("-")}"
      val name = s"ice.`$database`.${fact.name}"
      data.made(s"${warehouse.getName}/$database/${fact.name}") { _ =>
        session.read.parquet(source.getPath).writeTo(name).using("iceberg").create()
        layOut(session, data, fact, name, size(session, name)._2)
      }
      val (files, bytes) = size(session, name)
      OpenFact(session.table(name), files, bytes)
    }

    private def size(session: SparkSession, name: String): (Int, Long) = {
      val row = session.sql(s"SELECT count(*), sum(file_size_in_bytes) FROM $name.files").head()
      (row.getLong(0).toInt, row.getLong(1))
    }
  }
}
