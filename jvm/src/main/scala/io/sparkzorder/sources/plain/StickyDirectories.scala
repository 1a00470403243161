package io.sparkzorder.sources.plain

import java.nio.file.{Files, LinkOption, Paths}

import scala.util.Try

import org.apache.hadoop.fs.{FileStatus, FileSystem, Path}

import io.sparkzorder.table.DataFile
import io.sparkzorder.util.{ManyFiles, RawFiles}

/**
 * Finds files that a user may not rename although the user may write in their directory: in a directory
 * with the sticky bit, only the owner of a file, the owner of the directory and the superuser may rename
 * the file. The trial rename before the commit would not show that, since it renames a file of ours.
 */
private[plain] final class StickyDirectories(fs: FileSystem, user: String) {

  /** Such a file, and its owner, for each directory that has one. */
  def foreign(files: Seq[DataFile]): Seq[(DataFile, String)] = {
    // of a run that is not published yet the files lie deeper, and are on their way to the folder
    val byFolder = files.groupBy(_.folder.path).toSeq.sortBy(_._1.toString)
    ManyFiles.map(byFolder) { case (directory, own) =>
      if (!isSticky(directory) || ownerOf(directory) == user) None
      else {
        val owners = ManyFiles.map(own)(f => f -> ownerOf(f.path))
        owners.find(_._2 != user).filterNot(_ => isSuperuser)
      }
    }.flatten
  }

  private def isSticky(directory: Path): Boolean =
    if (RawFiles.isLocal(fs)) {
      // disks without such bits have no attribute of the name
      val mode = Try(Files.getAttribute(local(directory), "unix:mode").asInstanceOf[Int])
      mode.toOption.exists(m => (m & StickyDirectories.Sticky) != 0)
    } else status(directory).exists(_.getPermission.getStickyBit)

  // HDFS gives the root to the superuser. One who is not known as such here is refused needlessly
  private lazy val isSuperuser: Boolean = {
    val root = new Path(fs.getUri.toString + "/")
    if (RawFiles.isLocal(fs)) user == "root" else ownerOf(root) == user
  }

  private def ownerOf(path: Path): String =
    if (RawFiles.isLocal(fs)) {
      Try(Files.getOwner(local(path), LinkOption.NOFOLLOW_LINKS).getName).getOrElse(user)
    } else status(path).fold(user)(_.getOwner)

  /** None for what is gone meanwhile; the check before the commit finds that. */
  private def status(path: Path): Option[FileStatus] =
    Try(fs.getFileStatus(path)).toOption

  private def local(path: Path) = Paths.get(path.toUri.getPath)
}

private object StickyDirectories {
  val Sticky = 512 // octal 1000
}
