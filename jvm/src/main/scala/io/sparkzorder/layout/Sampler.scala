package io.sparkzorder.layout

import scala.collection.mutable

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.functions.{col, element_at, lit, typedLit}
import org.apache.spark.sql.sparkzorder.{SparkLine, SparkPrivate}

import io.sparkzorder.grid.FolderSample
import io.sparkzorder.tables.TableFiles

/** One pass over the ordering columns that takes a share of the key rows of every folder. */
object Sampler {
  private val Scale = 1L << 30
  private val FolderFloor = 200L

  /** Key rows to sample when no setting says so. */
  def rowsFor(files: Long): Long =
    math.max(if (files > 10000) 64 * files else 100 * files, 100000L)

  /**
   * The sample of each folder.
   *
   * @param wanted key rows of the whole table
   * @param rows rows of each folder
   */
  def sample(
      input: InputFrame,
      files: TableFiles,
      columns: Seq[OrderingColumn],
      rows: IndexedSeq[Long],
      wanted: Long): IndexedSeq[FolderSample] = {
    val share = wanted.toDouble / math.max(1L, rows.sum)
    val thresholds = rows.map { r =>
      val floor = FolderFloor.toDouble / math.max(1L, r)
      math.min(Scale.toDouble, math.ceil(math.max(share, floor) * Scale)).toLong
    }
    val keys = columns.map(c => SparkLine.column(input.resolve(c.parts)))
    val folder = col(InputFrame.quoted(input.folderColumn))
    val chosen =
      if (thresholds.forall(_ >= Scale)) input.frame
      else {
        // a hash of the row's place: the same rows in every attempt and every run
        val position = input.rowHash.bitwiseAND(lit(Scale - 1))
        val threshold =
          if (thresholds.distinct.size == 1) lit(thresholds.head)
          else element_at(typedLit(thresholds), folder + 1)
        input.frame.where(position < threshold)
      }
    group(
      SparkPrivate.collectInternal(chosen.select(folder +: keys: _*)),
      columns,
      files.folders.size)
  }

  private def group(
      rows: Array[InternalRow],
      columns: Seq[OrderingColumn],
      folders: Int): IndexedSeq[FolderSample] = {
    val values = Array.fill(folders, columns.size)(mutable.ArrayBuffer.empty[Any])
    rows.foreach { row =>
      val f = row.getInt(0)
      columns.indices.foreach(c => values(f)(c) += row.get(c + 1, columns(c).dataType))
    }
    values.toIndexedSeq.map(f => FolderSample(f.toIndexedSeq.map(_.toArray)))
  }
}
