// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.iceberg

import scala.collection.JavaConverters._
import scala.util.control.NonFatal

import org.apache.iceberg.{BaseTable, FileFormat}
import org.apache.iceberg.exceptions.{CleanableFailure, CommitFailedException, ValidationException}
import org.apache.iceberg.io.FileIO

import org.apache.spark.internal.Logging

import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.sources.LayoutTag

/** Replaces files of an Iceberg table by one `RewriteFiles`. */
private[iceberg] final class IcebergCommit(table: BaseTable, name: String) {

  def commit(rows: IcebergRows, staged: IcebergStaged, layout: LayoutTag): Unit = {
    val start = rows.snapshot.current.get
    val layouts = new IcebergLayouts(table)
    val before = layouts.snapshotsOf(layout.run)
    try {
      // The new files do not get the sequence number of the start. Equality deletes that came since then
      // would apply to them, but Iceberg may drop such deletes in the same commit: it looks for the least
      // number among the files that stay. Without a number they are a conflict.
      val rewrite = table.newRewrite().validateFromSnapshot(start.snapshotId)
      rows.files.foreach { f =>
        rewrite.deleteFile(f.file)
        // a deletion vector is of one file; other files of deletes may be of more
        f.task.deletes.asScala.filter(_.format == FileFormat.PUFFIN)
          .foreach(rewrite.deleteFile(_))
      }
      staged.files.foreach(f => rewrite.addFile(f.file))
      layouts.summary(layout).foreach { case (k, v) => rewrite.set(k, v) }
      rewrite.commit()
    } catch {
      // other failures may have come after the commit, which then needs the files
      case e: Exception
          if e.isInstanceOf[CleanableFailure] && isMissing(layouts, layout, before) =>
        delete(staged)
        e match {
          case _: ValidationException | _: CommitFailedException =>
            throw ZOrderErrors.conflict(name, e.getMessage.stripSuffix("."), Some(e))
          case _ => throw e
        }
      case e: Exception =>
        IcebergCommit.unknown(name, layout)
        throw e
    }
  }

  /**
   * True if it is sure that the table has no snapshot of this commit. A commit whose answer was lost is
   * repeated by Iceberg, or on the way to the catalog, and the second one then fails by the first.
   */
  private def isMissing(layouts: IcebergLayouts, layout: LayoutTag, before: Set[Long]): Boolean =
    try {
      table.refresh()
      layouts.snapshotsOf(layout.run).subsetOf(before)
    } catch { case NonFatal(_) => false }

  def delete(staged: IcebergStaged): Unit =
    IcebergCommit.delete(table.io, staged.files.map(_.path))
}

private[iceberg] object IcebergCommit extends Logging {

  def unknown(table: String, layout: LayoutTag): Unit =
    logWarning(
      s"it is not known whether OPTIMIZE on $table was committed, so its new files stay. It was " +
        s"if a snapshot has zorder-run=${layout.run} in its summary")

  /** Deletes written files. What cannot be deleted is an orphan file of the table. */
  def delete(io: FileIO, files: Seq[String]): Unit = files.foreach { f =>
    try io.deleteFile(f)
    catch { case NonFatal(e) => logWarning(s"$f was written and could not be deleted", e) }
  }
}
