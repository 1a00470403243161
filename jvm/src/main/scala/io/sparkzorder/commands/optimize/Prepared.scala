package io.sparkzorder.commands.optimize

import org.apache.spark.sql.sparkzorder.SparkLine.Session
import org.apache.spark.sql.types.StructType

import io.sparkzorder.cluster.Grid
import io.sparkzorder.conf.Settings
import io.sparkzorder.table.{
  CatalogTarget,
  OrcFiles,
  OrderingColumn,
  ParquetFiles,
  TableFiles,
  Target
}
import io.sparkzorder.table.schema.{OrcOutput, OrcZones, OutputSchema, ParquetTypes}
import io.sparkzorder.table.stats.Footer
import io.sparkzorder.write.{FileShape, FileUnits, OrcShape, ParquetShape}

/**
 * All that is known of the inputs before anything is rewritten.
 *
 * @param session the pinned session
 * @param schema data columns of all inputs
 * @param columns ordering columns; empty for a mere compaction
 */
final case class Prepared(
    session: Session,
    target: Target,
    settings: Settings,
    files: TableFiles,
    footers: IndexedSeq[Footer],
    schema: StructType,
    columns: Seq[OrderingColumn]) {

  /** How the rewritten files look; refuses what cannot be written back as it is. */
  lazy val shape: FileShape = target.format match {
    case ParquetFiles => parquetShape
    case OrcFiles => orcShape
  }

  private def parquetShape: ParquetShape = {
    val allow = settings(Settings.AllowTypeChange)
    val distinct = footers.groupBy(_.schema).values.map(_.head).toSeq.sortBy(_.file.ordinal)
    if (!allow) distinct.foreach(ParquetTypes.checkWritable)
    val output = new OutputSchema(
      settings(Settings.TimestampType) == "preserve",
      session.sessionState.conf.resolver,
      allow)
    ParquetShape(
      output.of(schema, distinct),
      keyValues,
      codec(session.sessionState.conf.parquetCompressionCodec),
      FileUnits.of(rowsOfFile, bytesPerRow, session.sessionState.newHadoopConf()))
  }

  private def orcShape: OrcShape = {
    val conf = session.sessionState.newHadoopConf()
    if (!settings(Settings.AllowTypeChange)) {
      footers.foreach(OrcOutput.checkWritable)
      OrcZones.check(footers, conf)
    }
    OrcShape(
      new OrcOutput(session.sessionState.conf.resolver).of(schema, footers.flatMap(_.orc).distinct),
      keyValues,
      codec(session.sessionState.conf.orcCompressionCodec),
      FileUnits.ofOrc(rowsOfFile, bytesPerRow, conf),
      bloomFilters)
  }

  /** Settings of the table that have its writers add Bloom filters: the new files have them as well. */
  private def bloomFilters: Map[String, String] = target match {
    case CatalogTarget(table) =>
      (table.properties ++ table.storage.properties)
        .filter { case (key, _) => key.startsWith("orc.bloom.filter.") }.toMap
    case _ => Map.empty
  }

  /** Rows of a file of the wanted size, at the bytes a row that this table has now. */
  def targetRows(rows: Long, bytes: Long): Double =
    math.max(1.0, settings(Settings.TargetFileSize).toDouble * rows / math.max(1L, bytes))

  /** Footer key-values on which all inputs agree; Spark's own are written anew. */
  private def keyValues: Map[String, String] =
    footers.map(_.keyValues.toSet).distinct.reduceOption(_ intersect _).getOrElse(Set.empty)
      .filterNot(_._1.startsWith("org.apache.spark.")).toMap

  /** The codec of most bytes; the session's where there are none. */
  private def codec(default: => String): String = {
    val bytes = footers.flatMap(f => f.codec.map(_ -> f.file.length)).groupBy(_._1)
      .map { case (c, fs) => c -> fs.map(_._2).sum }
    if (bytes.isEmpty) default else bytes.maxBy(_._2)._1
  }

  /** Rows of a file on average, where folders smaller than a file have one each. */
  private def rowsOfFile: Double = {
    val folders = footers.groupBy(_.file.folder).values
    val files = folders.map { f =>
      val rows = f.map(_.rows).sum
      Grid.filesFor(rows, targetRows(rows, f.map(_.file.length).sum)).toLong
    }.sum
    footers.map(_.rows).sum.toDouble / math.max(1L, files)
  }

  /** Bytes of a row in a file before compression. */
  private def bytesPerRow: Double =
    footers.map(_.uncompressed).sum.toDouble / math.max(1L, footers.map(_.rows).sum)
}
