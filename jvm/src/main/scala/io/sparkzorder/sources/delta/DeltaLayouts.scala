// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.delta

import java.util.UUID

import scala.collection.JavaConverters._
import scala.util.Try

import com.fasterxml.jackson.databind.ObjectMapper

import org.apache.spark.sql.Column
import org.apache.spark.sql.delta.{DeltaColumnMapping, DeltaLog, Snapshot}
import org.apache.spark.sql.delta.actions.AddFile
import org.apache.spark.sql.functions.{col, desc, lit}
import org.apache.spark.sql.types.{DataType, StructField, StructType}

import io.sparkzorder.commands.OrderingColumns
import io.sparkzorder.sources.{DealtTo, LastLayout, LayoutKeys, LayoutTag, PlannedPass}
import io.sparkzorder.table.OrderingColumn

/**
 * The layouts in the tags of a table's files. A tag belongs to the entry of a file in the log, so the tag
 * exists as long as the file does, and RESTORE restores the tag.
 */
private[delta] object DeltaLayouts {
  private val keys = new LayoutKeys(
    "zorder.columns",
    "zorder.fields",
    "zorder.targetFileSize",
    "zorder.weights",
    "zorder.run",
    "zorder.since")
  // the first version that the statement has read
  private val ReadVersion = "zorder.readVersion"
  private val Table = "zorder.table"
  // all versions that the statement has read until this batch, because each pass reads a later version
  private val BatchVersion = "zorder.batchVersion"
  private val Plan = "zorder.plan"
  private val Region = "zorder.region"

  // Delta's writer numbers its files by the tasks that write them
  private val NumberedName = "(?:.*/)?part-(\\d{1,9})-[^/]*".r

  /** How many commits are searched for an OPTIMIZE. Each commit is a file that must be read. */
  private val RecentCommits = 100

  // neither Parquet nor Delta accepts a line break in the name of a column
  private val Separator = "\n"

  /** The columns by their names in the data files, which a rename of a column does not change. */
  def key(columns: Seq[OrderingColumn], schema: StructType): String =
    names(columns, schema).mkString(Separator)

  def names(columns: Seq[OrderingColumn], schema: StructType): Seq[String] =
    columns.map(c => physical(c.parts, schema).mkString("."))

  /** Name parts of a column in the files and in their statistics. */
  def physical(parts: Seq[String], schema: StructType): Seq[String] = {
    val field = schema.fields.find(_.name == parts.head).get
    physicalName(field) +: (field.dataType match {
      case inner: StructType if parts.size > 1 => physical(parts.tail, inner)
      case _ => Nil
    })
  }

  /** True if a schema has the column or nested field with these name parts. */
  def contains(in: DataType, parts: Seq[String]): Boolean = (in, parts) match {
    case (_, Nil) => true
    case (s: StructType, head +: tail) =>
      s.fields.find(_.name == head).exists(f => contains(f.dataType, tail))
    case _ => false
  }

  private def physicalName(field: StructField): String = DeltaColumnMapping.getPhysicalName(field)

  /**
   * The name parts of the column that data files call `key`; None if the schema has no such column.
   *
   * @param prefix the part of `key` that leads to the struct `in`, with a dot at its end
   */
  private def logical(key: String, prefix: String, in: StructType): Option[Seq[String]] =
    in.fields.iterator.flatMap { f =>
      val path = prefix + physicalName(f)
      if (path == key) Some(Seq(f.name))
      else f.dataType match {
        case inner: StructType if key.startsWith(path + ".") =>
          logical(key, path + ".", inner).map(f.name +: _)
        case _ => None
      }
    }.toSeq.headOption

  /**
   * The tags of a new file.
   *
   * @param table the id of the table
   * @param versions the versions that the statement has read until now, the first one first
   */
  def tags(layout: LayoutTag, table: String, versions: Seq[Long]): Map[String, String] =
    keys.write(layout) ++ Map(
      ReadVersion -> versions.head.toString,
      BatchVersion -> versions.mkString(","),
      Table -> table)

  /** A new file of a layout in two passes, with tags for the pass that wrote the file. */
  def withPass(add: AddFile, pass: PlannedPass): AddFile = {
    val number = add.path match {
      case NumberedName(n) => Some(n.toInt)
      case _ => None
    }
    val region = pass.regionOf(number).map(r => Region -> r.toString)
    // a file of the first pass whose region is not known gets no tags of a pass, so it counts as a new file
    if (pass.isFirst && region.isEmpty) add
    else add.copyWithTags(add.tagsOrEmpty ++ region + (Plan -> pass.plan))
  }

  /** The region into which the first of two passes has put a file. */
  def dealt(add: AddFile): Option[DealtTo] =
    for {
      plan <- planOf(add)
      text <- add.tagsOrEmpty.get(Region)
      region <- Try(text.toInt).toOption if region >= 0
    } yield DealtTo(plan, region)

  /** The plan whose second pass has made a file. */
  def finishedPlan(add: AddFile): Option[String] =
    planOf(add).filter(_ => !add.tagsOrEmpty.contains(Region))

  private def planOf(add: AddFile): Option[String] =
    add.tagsOrEmpty.get(Plan).filter(p => Try(UUID.fromString(p)).isSuccess)

  /** The layout of a file; None for files of other writers. */
  def of(add: AddFile): Option[LayoutTag] = of(add.tagsOrEmpty)

  private def of(tags: Map[String, String]): Option[LayoutTag] =
    keys.read(tags.get).filter(tag => Try(UUID.fromString(tag.run)).isSuccess)

  /** A number for each run; 0 for files of other writers. */
  def commit(layout: Option[LayoutTag]): Long =
    layout.fold(0L)(l => UUID.fromString(l.run).getMostSignificantBits)

  /**
   * The versions that the last run read until its newest batch. Tags that CLONE has copied from another table do not
   * count, because they have versions of that table.
   */
  def versionsOfLastRun(snapshot: Snapshot): Option[Set[Long]] =
    newest(snapshot, col("tags").getItem(Table) === snapshot.metadata.id).flatMap { tags =>
      def versions(key: String) =
        tags.get(key).toSeq.flatMap(_.split(',')).flatMap(v => Try(v.toLong).toOption)
      versions(ReadVersion).headOption.map(first => Set(first) ++ versions(BatchVersion))
    }

  /** The tags of the newest file among those that a run has written and that meet `where`. */
  private def newest(snapshot: Snapshot, where: Column): Option[Map[String, String]] =
    snapshot.allFiles.toDF().where(col("tags").getItem(keys.run).isNotNull && where)
      .select(col("tags")).orderBy(desc("modificationTime")).limit(1).collect().headOption
      .map(_.getMap[String, String](0).toMap)

  /**
   * Name parts of the columns by which the last OPTIMIZE ZORDER BY of the history, which may be Delta's own, ordered
   * rows. The names are those of that time: a column may have been renamed since.
   */
  def columnsOfHistory(log: DeltaLog): Seq[Seq[String]] = {
    log.history.getHistory(Some(RecentCommits)).iterator.filter(_.operation == "OPTIMIZE")
      .flatMap(c => Option(c.operationParameters).flatMap(_.get("zOrderBy")))
      .map(json => new ObjectMapper().readTree(json).asScala.map(_.asText).toSeq)
      .find(_.nonEmpty).toSeq.flatMap(OrderingColumns.parsed)
  }

  /**
   * The layout of the last run, whose file has the latest modification time. None if no file has a tag of a run, if a
   * column of the layout is gone, or if the last run was a compaction.
   */
  def lastLayout(snapshot: Snapshot): Option[LastLayout] =
    newest(snapshot, lit(true)).flatMap(of(_)).flatMap { tag =>
      val found = tag.key.split(Separator).toSeq.map(logical(_, "", snapshot.schema))
      if (found.exists(_.isEmpty)) None
      else Some(LastLayout(found.flatten, tag.targetFileSize, tag.weights, tag.sinceMs))
    }
}
