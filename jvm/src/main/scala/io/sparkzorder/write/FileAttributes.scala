package io.sparkzorder.write

import java.io.IOException
import java.nio.file.{Files, Paths}
import java.nio.file.attribute.{PosixFileAttributes, PosixFileAttributeView}

import scala.util.Try
import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, FileSystem}
import org.apache.hadoop.security.AccessControlException

import org.apache.spark.internal.Logging

import io.sparkzorder.table.TableFiles
import io.sparkzorder.table.stats.ScannedFile
import io.sparkzorder.util.RawFiles

/**
 * Gives written files the permission bits, the group and, where the process may, the owner of the
 * files that they replace, so that whoever could read the table still can. The first replaced
 * file of a folder is the model for all new files of that folder.
 */
private[sparkzorder] final class FileAttributes(conf: Configuration) extends Logging {

  /**
   * @param inputs the replaced files
   * @param written the new files; a file's `folder` is that of its inputs
   */
  def copy(inputs: TableFiles, written: Seq[ScannedFile]): Unit = {
    val models = inputs.files.groupBy(_.folder).map { case (f, own) => f -> own.head.status }
    written.foreach { w =>
      models.get(w.file.folder).foreach { model =>
        val fs = RawFiles.of(w.file.path, conf)
        try {
          if (RawFiles.isLocal(fs)) copyLocal(model, w.file.status)
          else copyAny(fs, model, w.file.status)
        } catch {
          // some file systems have no permissions to show
          case NonFatal(e) =>
            logWarning(s"${w.file.path} keeps the permissions that it was written with", e)
        }
      }
    }
  }

  // Hadoop's local file system starts a program for each owner that it is asked for
  private def copyLocal(model: FileStatus, file: FileStatus): Unit = {
    val wanted = Files.readAttributes(
      Paths.get(model.getPath.toUri.getPath),
      classOf[PosixFileAttributes])
    val view = Files.getFileAttributeView(
      Paths.get(file.getPath.toUri.getPath),
      classOf[PosixFileAttributeView])
    val has = view.readAttributes()
    if (has.permissions != wanted.permissions) view.setPermissions(wanted.permissions)
    if (has.group != wanted.group) where(file)(view.setGroup(wanted.group))
    if (has.owner != wanted.owner) where(file)(view.setOwner(wanted.owner))
  }

  private def copyAny(fs: FileSystem, model: FileStatus, file: FileStatus): Unit = {
    val path = file.getPath
    if (file.getPermission != model.getPermission) fs.setPermission(path, model.getPermission)
    if (file.getGroup != model.getGroup) where(file)(fs.setOwner(path, null, model.getGroup))
    if (file.getOwner != model.getOwner) where(file)(fs.setOwner(path, model.getOwner, null))
  }

  /** Only a superuser may give files away, and only a member may give them to a group. */
  private def where(file: FileStatus)(change: => Unit): Unit =
    Try(change).recover {
      case e @ (_: AccessControlException | _: IOException | _: UnsupportedOperationException) =>
        logDebug(s"the owner or the group of ${file.getPath} stays: ${e.getMessage}")
    }.get
}
