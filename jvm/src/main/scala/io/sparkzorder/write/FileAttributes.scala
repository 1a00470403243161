package io.sparkzorder.write

import java.io.IOException
import java.nio.file.{Files, Path => LocalPath, Paths => LocalPaths}
import java.nio.file.attribute.{PosixFileAttributes, PosixFileAttributeView, PosixFilePermissions}

import scala.collection.JavaConverters._
import scala.util.Try
import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, FileSystem, Path}
import org.apache.hadoop.fs.permission.{FsAction, FsPermission}
import org.apache.hadoop.security.AccessControlException

import org.apache.spark.internal.Logging

import io.sparkzorder.table.TableFiles
import io.sparkzorder.table.stats.ScannedFile
import io.sparkzorder.util.RawFiles

/**
 * Keeps rows from those who could not read them before: a written file gets what is common to the
 * permissions of all files whose rows it may hold, and so do the directories in which it waits, and in
 * which the replaced files are kept.
 */
private[sparkzorder] final class FileAttributes(conf: Configuration) extends Logging {

  /**
   * Gives each written file the permission bits, the access control list, the group and, where the
   * process may, the owner of its folder's inputs.
   *
   * @param inputs the replaced files
   * @param written the new files; a file's `folder` is that of its inputs
   */
  def copy(inputs: TableFiles, written: Seq[ScannedFile]): Unit = {
    val models = inputs.files.groupBy(_.folder).map { case (folder, own) =>
      folder -> Protection.common(own.map(f => protection(f.path)))
    }
    written.foreach { w =>
      models.get(w.file.folder).flatten.foreach(apply(w.file.path, _))
    }
  }

  /** Lets nobody but its owner into a directory. */
  def makePrivate(directory: Path): Unit =
    fileSystem(directory).setPermission(directory, FileAttributes.OwnerOnly)

  /**
   * Lets into a directory only who may go into each of some folders.
   *
   * @param folders below `root`; what lies between counts too
   */
  def protect(directory: Path, root: Path, folders: Seq[Path]): Unit = {
    val all =
      folders.flatMap(Iterator.iterate(_)(_.getParent).takeWhile(d => d != null && d != root))
    Protection.common((root +: all).distinct.map(protection)).foreach { p =>
      val bits = new FsPermission(FsAction.ALL, p.bits.getGroupAction, p.bits.getOtherAction)
      // whose it is decides who may remove it
      apply(directory, p.copy(bits = bits, owner = None))
    }
  }

  private def fileSystem(path: Path): FileSystem = RawFiles.of(path, conf)

  /** None where a file system has no permissions to show. */
  private def protection(path: Path): Option[Protection] =
    try {
      val fs = fileSystem(path)
      if (RawFiles.isLocal(fs)) Some(LocalAttributes.read(path))
      else {
        val status = fs.getFileStatus(path)
        val named = if (status.hasAcl) fs.getAclStatus(path).getEntries.asScala.toSeq else Nil
        Some(Protection.of(status, named))
      }
    } catch {
      case _: UnsupportedOperationException => None
    }

  private def apply(path: Path, wanted: Protection): Unit =
    try {
      val fs = fileSystem(path)
      if (RawFiles.isLocal(fs)) LocalAttributes.write(path, wanted, orElse(path))
      else applyAny(fs, path, wanted)
    } catch {
      case _: UnsupportedOperationException =>
        logWarning(s"$path keeps the permissions that it was written with")
      case NonFatal(e) =>
        throw new IOException(s"cannot give $path the permissions of the files that it replaces", e)
    }

  private def applyAny(fs: FileSystem, path: Path, wanted: Protection): Unit = {
    val status: FileStatus = fs.getFileStatus(path)
    // of the directory's defaults, which may name others than the files that are replaced
    if (status.hasAcl) fs.removeAcl(path)
    wanted.group.filter(_ != status.getGroup).foreach(g => orElse(path)(fs.setOwner(path, null, g)))
    val bits = wanted.bitsFor(fs.getFileStatus(path).getGroup)
    fs.setPermission(path, bits)
    if (wanted.entries.nonEmpty) fs.setAcl(path, wanted.aclSpec.asJava)
    wanted.owner.filter(_ != status.getOwner).foreach(o => orElse(path)(fs.setOwner(path, o, null)))
  }

  /** Only a superuser may give files away, and only a member may give them to a group. */
  private def orElse(path: Path)(change: => Unit): Unit =
    Try(change).recover {
      case e @ (_: AccessControlException | _: IOException | _: UnsupportedOperationException) =>
        logDebug(s"the owner or the group of $path stays: ${e.getMessage}")
    }.get
}

private object FileAttributes {
  val OwnerOnly = new FsPermission("700")
}

/**
 * Permissions on local disk: Hadoop's file system starts a program for each file that it is asked for.
 * Access control lists of local disks are not seen.
 */
private[write] object LocalAttributes {

  def read(path: Path): Protection = {
    val own = Files.readAttributes(local(path), classOf[PosixFileAttributes])
    Protection(
      FsPermission.valueOf("-" + PosixFilePermissions.toString(own.permissions)),
      Nil,
      Some(own.group.getName),
      Some(own.owner.getName))
  }

  /** @param orElse runs what a process may not be allowed to do */
  def write(path: Path, wanted: Protection, orElse: (=> Unit) => Unit): Unit = {
    val view = Files.getFileAttributeView(local(path), classOf[PosixFileAttributeView])
    val has = view.readAttributes()
    val names = local(path).getFileSystem.getUserPrincipalLookupService
    wanted.group.filter(_ != has.group.getName).foreach(g =>
      orElse(view.setGroup(names.lookupPrincipalByGroupName(g))))
    val bits = wanted.bitsFor(view.readAttributes().group.getName)
    val permissions =
      PosixFilePermissions.fromString(bits.toString.take(9).replaceAll("[tT]$", "x"))
    if (has.permissions != permissions) view.setPermissions(permissions)
    wanted.owner.filter(_ != has.owner.getName).foreach(o =>
      orElse(view.setOwner(names.lookupPrincipalByName(o))))
  }

  private def local(path: Path): LocalPath = LocalPaths.get(path.toUri.getPath)
}
