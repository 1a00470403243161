// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources

import java.util.{HashMap => JHashMap}

import org.apache.spark.sql.Column
import org.apache.spark.sql.catalyst.expressions.Literal
import org.apache.spark.sql.catalyst.expressions.objects.Invoke
import org.apache.spark.sql.catalyst.util.QuotingUtils.quoteIdentifier
import org.apache.spark.sql.functions.{col, lit, xxhash64}
import org.apache.spark.sql.sparkzorder.SparkLine
import org.apache.spark.sql.sparkzorder.SparkLine.{Frame, Session}
import org.apache.spark.sql.types.IntegerType
import org.apache.spark.unsafe.types.UTF8String

import io.sparkzorder.cluster.InputFrame

/**
 * The rows of some files of a table, each with the folder of its file and a hash of its file and position.
 *
 * @param loaded the rows
 * @param file column of `loaded`: the path of a row's file
 * @param row column of `loaded`: a different value for each row of a file
 */
private[sources] final class PlacedRows(
    session: Session,
    loaded: Frame,
    file: Column,
    row: Column,
    files: Seq[FormatFile],
    folders: IndexedSeq[FormatFolder]) {

  val folderColumn: String = InputFrame.unused("_zorder_folder", loaded.schema, session)
  private val hashColumn = InputFrame.unused("_zorder_hash", loaded.schema, session)

  val frame: Frame = {
    val path = InputFrame.unused("_zorder_path", loaded.schema, session)
    val columns = loaded.schema.fieldNames.map(n => col(quoteIdentifier(n))).toSeq
    val hash = xxhash64(file, row)
    val placed = loaded.select((columns :+ hash.as(hashColumn) :+ file.as(path)): _*)
    val folder =
      if (folders.size == 1) lit(0)
      else {
        val position = folders.zipWithIndex.toMap
        val byPath = new FoldersByPath(files.map(f => f.path -> position(f.folder)).toMap)
        val attribute = placed.queryExecution.analyzed.output.find(_.name == path).get
        SparkLine.column(Invoke(
          Literal.fromObject(byPath),
          "of",
          IntegerType,
          Seq(attribute),
          propagateNull = false,
          returnNullable = false))
      }
    placed.select((columns :+ col(hashColumn) :+ folder.as(folderColumn)): _*)
  }

  def rowHash: Column = col(quoteIdentifier(hashColumn))
}

/**
 * Finds the folder of a file by the file's path. Rows come file by file, so the last path is compared first.
 *
 * @param positions the position of the folder, by the path of the file
 */
private[sparkzorder] final class FoldersByPath(positions: Map[String, Int]) extends Serializable {
  // Tasks of one JVM share this field without a lock. They see a whole pair, because its fields are final.
  @transient private var last: (UTF8String, Int) = _

  @transient private lazy val byPath: JHashMap[UTF8String, Integer] = {
    val map = new JHashMap[UTF8String, Integer](positions.size * 2)
    positions.foreach { case (path, i) => map.put(UTF8String.fromString(path), i) }
    map
  }

  def of(path: UTF8String): Int = {
    val known = last
    if (known != null && known._1 == path) known._2
    else {
      val found = byPath.get(path)
      // the row of a file that this batch does not replace would be written a second time
      if (found == null)
        throw new IllegalStateException(s"a row of the unknown file $path was read")
      last = (path.clone(), found.intValue)
      found
    }
  }

  // the default of the expression that holds it would have a hash
  override def toString: String = "folders"
}
