package io.sparkzorder.formats.iceberg

import scala.collection.JavaConverters._
import scala.util.control.NonFatal

import org.apache.iceberg.{BaseTable, FileFormat}
import org.apache.iceberg.exceptions.{CleanableFailure, CommitFailedException, ValidationException}
import org.apache.iceberg.io.FileIO

import org.apache.spark.internal.Logging

import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.formats.LayoutTag

/** Replaces files of an Iceberg table by one `RewriteFiles`. */
private[iceberg] final class IcebergCommit(table: BaseTable, name: String) {

  def commit(rows: IcebergRows, staged: IcebergStaged, layout: LayoutTag): Unit = {
    val start = rows.snapshot.current.get
    try {
      val rewrite = table.newRewrite().validateFromSnapshot(start.snapshotId)
        // equality deletes that came since the start apply to the new files, too
        .dataSequenceNumber(start.sequenceNumber)
      rows.files.foreach { f =>
        rewrite.deleteFile(f.file)
        // a deletion vector is of one file; other files of deletes may be of more
        f.task.deletes.asScala.filter(_.format == FileFormat.PUFFIN)
          .foreach(rewrite.deleteFile(_))
      }
      staged.files.foreach(f => rewrite.addFile(f.file))
      new IcebergLayouts(table).summary(layout).foreach { case (k, v) => rewrite.set(k, v) }
      rewrite.commit()
    } catch {
      // other failures may have come after the commit, which then needs the files
      case e: Exception if e.isInstanceOf[CleanableFailure] =>
        delete(staged)
        e match {
          case _: ValidationException | _: CommitFailedException =>
            throw ZOrderErrors.conflict(name, e.getMessage.stripSuffix("."), Some(e))
          case _ => throw e
        }
    }
  }

  def delete(staged: IcebergStaged): Unit =
    IcebergCommit.delete(table.io, staged.files.map(_.path))
}

private[iceberg] object IcebergCommit extends Logging {

  /** Deletes written files. What cannot be deleted is an orphan file of the table. */
  def delete(io: FileIO, files: Seq[String]): Unit = files.foreach { f =>
    try io.deleteFile(f)
    catch { case NonFatal(e) => logWarning(s"$f was written and could not be deleted", e) }
  }
}
