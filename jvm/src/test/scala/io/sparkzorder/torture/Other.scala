// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.torture

import java.io.File
import java.nio.file.{Files, StandardCopyOption}
import java.util.UUID

/**
 * Another writer of a table without partitions, who knows nothing of `_zorder/`: an INSERT, or an INSERT OVERWRITE.
 *
 * @param at number of the change of the statement, from 0, before which the writer acts
 * @param file of the new rows
 */
private[torture] final case class Other(overwrites: Boolean, at: Int, file: File) {
  def text: String = s"$overwrites $at $file"

  def act(table: File): Unit = {
    // tasks may write meanwhile
    while (overwrites && table.list().nonEmpty) {
      table.listFiles.foreach(f => scala.util.Try(TortureTable.delete(f)))
    }
    val made = new File(file.getParentFile, s"_${UUID.randomUUID()}").toPath
    Files.copy(file.toPath, made)
    val name = s"part-00000-${UUID.randomUUID()}-c000.snappy.parquet"
    val _ = Files.move(made, new File(table, name).toPath, StandardCopyOption.ATOMIC_MOVE)
  }

  /** The rows after the writer has acted. */
  def rows(before: TortureTable.Bag, own: TortureTable.Bag): TortureTable.Bag =
    if (overwrites) own
    else own.foldLeft(before) { case (all, (r, n)) => all + (r -> (all.getOrElse(r, 0) + n)) }
}

private[torture] object Other {
  def parse(text: String): Other = {
    val fields = text.split(" ", 3)
    Other(fields(0).toBoolean, fields(1).toInt, new File(fields(2)))
  }

  /** How a statement ends of which another writer has overwritten inputs. */
  def isConflict(failure: String): Boolean =
    Seq("ZORDER_CONFLICT", "ZORDER_PUBLISH_CONFLICT", "ZORDER_STATE_LOST").exists(failure.contains)
}
