package io.sparkzorder.write

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileSystem, Path}

import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.util.{Directories, ExclusiveFile, RawFiles}

/** The empty directory of an INTO clause. */
final class IntoDirectory(val root: Path, conf: Configuration) {
  val fs: FileSystem = RawFiles.of(root, conf)

  /** @throws io.sparkzorder.errors.ZOrderException ZORDER_TARGET_NOT_EMPTY */
  def requireEmpty(): Unit =
    if (fs.exists(root)) {
      if (!fs.getFileStatus(root).isDirectory) {
        throw ZOrderErrors.targetNotEmpty(root.toString, root.getName)
      }
      fs.listStatus(root).headOption.foreach { s =>
        throw ZOrderErrors.targetNotEmpty(root.toString, s.getPath.getName)
      }
    }

  /**
   * Removes files that runs of this statement wrote and that must not stay. These are the files of
   * task attempts that the driver did not commit. After a failure these are all files. Files of
   * other writers stay.
   *
   * @param keep names of the files that stay
   */
  def removeOwn(runIds: Set[String], keep: Set[String]): Unit = {
    files().filter(p => isOwn(p, runIds) && !keep(p.getName)).foreach(fs.delete(_, false))
    if (fs.exists(root)) fs.listStatus(root).filter(_.isDirectory).foreach(d => prune(d.getPath))
  }

  /**
   * Removes all files that this statement wrote, after a failure. Tasks that Spark is killing may
   * still create a file and its folder for a moment. Therefore this method repeats the removal
   * until the directory has stayed empty for a while.
   */
  def clearOwn(runIds: Set[String]): Unit = {
    var rounds = 0
    var quiet = 0
    while (rounds < IntoDirectory.Rounds && quiet < IntoDirectory.QuietRounds) {
      if (rounds > 0) Thread.sleep(IntoDirectory.PauseMs)
      quiet = if (isEmpty) quiet + 1 else 0
      removeOwn(runIds, keep = Set.empty)
      rounds += 1
    }
  }

  private def isEmpty: Boolean = !fs.exists(root) || fs.listStatus(root).isEmpty

  /** Removes folders that hold no file, so that the user can run the statement again. */
  private def prune(folder: Path): Unit = {
    fs.listStatus(folder).filter(_.isDirectory).foreach(d => prune(d.getPath))
    val _ = Directories.removeEmpty(fs, folder)
  }

  /** The name of a file that another writer put into the directory during the statement. */
  def foreign(runIds: Set[String]): Option[String] =
    files().find(!isOwn(_, runIds)).map(_.getName)

  private def isOwn(path: Path, runIds: Set[String]): Boolean =
    runIds.exists(id => path.getName.contains(s"-$id-"))

  private def files(): Seq[Path] = {
    def below(folder: Path): Seq[Path] = fs.listStatus(folder).toSeq.flatMap { s =>
      if (s.isDirectory) below(s.getPath) else Seq(s.getPath)
    }
    if (fs.exists(root)) below(root) else Nil
  }

  /** Writes `_SUCCESS`, the marker that Spark leaves after a successful write. */
  def markSuccess(): Unit =
    ExclusiveFile.write(fs, new Path(root, "_SUCCESS"), Array.emptyByteArray)
}

private object IntoDirectory {
  val Rounds = 30
  val QuietRounds = 5
  val PauseMs = 100L
}
