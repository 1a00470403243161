package io.sparkzorder.table

import org.apache.hadoop.fs.Path

import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.sparkzorder.SparkLine.Frame

/**
 * Lists whatever Spark reads as Parquet or ORC files: Delta tables, Hive-format tables, tables with
 * options that choose files. The relation's own file index says which files count.
 */
object RelationLister {

  /** None when the query does not read one relation of such files. */
  def list(name: String, frame: Frame): Option[ListedTable] =
    frame.queryExecution.analyzed.collect { case l: LogicalRelation => l.relation } match {
      case Seq(r: HadoopFsRelation) =>
        DataFormat.readBy(r.fileFormat)
          .map(ListedTable(name, filesOf(r), Some(r.dataSchema), None, _))
      case _ => None
    }

  private def filesOf(r: HadoopFsRelation): TableFiles = {
    // an index may give one partition in several parts
    val partitions = r.location.listFiles(Nil, Nil)
      .groupBy(_.values.copy().toSeq(r.partitionSchema)).values.toSeq
      .map(parts => (parts.head.values, parts.flatMap(_.files).map(_.fileStatus)))
    OtherFiles.of(
      r.location.rootPaths.headOption.getOrElse(new Path("/")),
      r.partitionSchema,
      partitions.filter(_._2.nonEmpty))
  }
}
