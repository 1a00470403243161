// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.plain

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.parquet.HadoopReadOptions
import org.apache.parquet.column.ColumnReader
import org.apache.parquet.column.page.PageReadStore
import org.apache.parquet.hadoop.ParquetFileReader
import org.apache.parquet.hadoop.util.HadoopInputFile
import org.apache.parquet.schema.{GroupType, MessageType, Type}
import org.apache.parquet.schema.LogicalTypeAnnotation.{
  MapKeyValueTypeAnnotation,
  MapLogicalTypeAnnotation
}
import org.apache.parquet.schema.Type.Repetition

import org.apache.spark.sql.sparkzorder.SparkLine.Session
import org.apache.spark.util.SerializableConfiguration

import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.index.ColumnsOfFile
import io.sparkzorder.table.stats.ScannedFile

/**
 * Refuses Parquet files in which a key of a map is NULL. Parquet forbids such a key, but some writers make it, and
 * Spark may read it. Spark does not look whether a key is NULL. The new file would have another key in its place, such
 * as the key before it. A hash of the rows would not show this.
 *
 * Nearly all writers mark keys as required. Where a file does not, its keys are read once more for this.
 */
private[plain] final class NullKeys(session: Session, conf: Configuration) {

  /** @throws io.sparkzorder.errors.ZOrderException ZORDER_TYPE_NOT_READABLE, naming column and file */
  def check(files: Seq[ScannedFile]): Unit = {
    val schemas = ScannedFile.ofEachSchema(files).map(_.schema)
    val suspicious = schemas.filter(NullKeys.keysIn(_).nonEmpty).toSet
    if (suspicious.nonEmpty) {
      read(files.filter(f => f.rows > 0 && suspicious(f.schema)).map(_.file.path.toString))
    }
  }

  private def read(files: Seq[String]): Unit = if (files.nonEmpty) {
    val sc = session.sparkContext
    val settings = sc.broadcast(new SerializableConfiguration(conf))
    val found =
      try sc.parallelize(files, math.min(files.size, NullKeys.MaxTasks)).flatMap(f =>
          NullKeys.read(f, settings.value.value).map(f -> _)).collect()
      finally settings.destroy()
    found.headOption.foreach { case (file, map) =>
      throw ZOrderErrors.typeNotReadable(map, "MAP with a NULL key", file)
    }
  }
}

private object NullKeys {
  private val MaxTasks = 10000

  /**
   * The keys of a map that may be NULL.
   *
   * @param leaf a leaf column of the keys
   * @param entry the definition level of a value of the leaf in an entry whose key is NULL
   */
  private final case class Keys(map: Seq[String], leaf: Seq[String], entry: Int)

  private def keysIn(schema: MessageType): Seq[Keys] = keysIn(schema, schema, Nil, isMap = false)

  /** @param isMap true for a map, whose entries may have the annotation of a map, too, in files of old writers */
  private def keysIn(
      schema: MessageType,
      group: GroupType,
      path: Seq[String],
      isMap: Boolean): Seq[Keys] =
    group.getFields.asScala.toSeq.filterNot(_.isPrimitive).map(_.asGroupType).flatMap { t =>
      val at = path :+ t.getName
      val keys = if (isMap) None else keysOf(schema, t, at)
      keys.toSeq ++ keysIn(schema, t, at, isMap = !isMap && isAnnotated(t))
    }

  private def isAnnotated(group: GroupType): Boolean = group.getLogicalTypeAnnotation match {
    case _: MapLogicalTypeAnnotation | _: MapKeyValueTypeAnnotation => true
    case _ => false
  }

  private def keysOf(schema: MessageType, map: GroupType, path: Seq[String]): Option[Keys] =
    if (!isAnnotated(map) || map.getType(0).isPrimitive) None
    else {
      val entries = map.getType(0).asGroupType
      val key = entries.getType(0)
      val at = path :+ entries.getName
      if (key.isRepetition(Repetition.REQUIRED)) None
      else Some(Keys(path, at ++ firstLeaf(key), schema.getMaxDefinitionLevel(at: _*)))
    }

  private def firstLeaf(t: Type): Seq[String] =
    if (t.isPrimitive) Seq(t.getName) else t.getName +: firstLeaf(t.asGroupType.getType(0))

  /** The first map of the file that has a NULL key. */
  private def read(file: String, conf: Configuration): Option[String] = {
    val options = HadoopReadOptions.builder(conf).build()
    val reader = ParquetFileReader.open(HadoopInputFile.fromPath(new Path(file), conf), options)
    try {
      val keys = keysIn(reader.getFooter.getFileMetaData.getSchema)
      // lazy, so nothing is read after the first NULL key
      val found = for {
        (pages, columns) <- ColumnsOfFile.rowGroups(reader, keys.map(_.leaf))
        column <- columns.iterator
        own = keys.filter(_.leaf == column.getDescriptor.getPath.toSeq)
        level <- levelsOf(column, pages)
        key <- own.find(_.entry == level).iterator
      } yield key.map.mkString(".")
      found.take(1).toList.headOption
    } finally reader.close()
  }

  private def levelsOf(column: ColumnReader, pages: PageReadStore): Iterator[Int] = {
    val values = pages.getPageReader(column.getDescriptor).getTotalValueCount
    Iterator.range(0, Math.toIntExact(values)).map { _ =>
      val level = column.getCurrentDefinitionLevel
      column.consume()
      level
    }
  }
}
