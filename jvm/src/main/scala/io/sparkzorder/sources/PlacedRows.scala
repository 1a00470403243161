package io.sparkzorder.sources

import org.apache.spark.sql.Column
import org.apache.spark.sql.catalyst.util.QuotingUtils.quoteIdentifier
import org.apache.spark.sql.functions.{col, lit, xxhash64}
import org.apache.spark.sql.sparkzorder.SparkLine
import org.apache.spark.sql.sparkzorder.SparkLine.{Frame, Session}

import io.sparkzorder.cluster.InputFrame

/**
 * The rows of some files of a table, each with the folder of its file and a hash of where it was read.
 *
 * @param loaded the rows
 * @param file column of `loaded`: the path of a row's file
 * @param row column of `loaded`: tells the rows of a file apart
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
        SparkLine.column(FolderOfFile(attribute, byPath))
      }
    placed.select((columns :+ col(hashColumn) :+ folder.as(folderColumn)): _*)
  }

  def rowHash: Column = col(quoteIdentifier(hashColumn))
}
