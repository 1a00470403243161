package io.sparkzorder.write

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileSystem, Path}

import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.util.{ExclusiveFile, RawFiles}

/** Tasks write into the run's staging directory, to be published by renames. */
private[sparkzorder] final case class StagingPlaces(directory: String) extends FilePlaces {
  override def path(file: Int, attempt: Int, extension: String): String =
    s"$directory/_${file}_$attempt"
}

/**
 * Tasks write straight to where the files shall lie: nobody reads an INTO directory before the
 * statement has ended, and file systems that cannot rename files need no rename this way.
 *
 * @param folders folder of each file, relative to `root`
 */
private[sparkzorder] final case class IntoPlaces(root: String, folders: Array[String], run: String)
    extends FilePlaces {
  override def path(file: Int, attempt: Int, extension: String): String = {
    val folder = folders.lift(file).filter(_.nonEmpty).map(_ + "/").getOrElse("")
    f"$root/${folder}part-$file%05d-$run-$attempt$extension"
  }
}

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
   * Removes files that runs of this statement wrote and that are not to be kept: those of attempts that
   * the driver did not commit, or all after a failure. Files of anybody else stay.
   *
   * @param keep names of files
   */
  def removeOwn(runs: Set[String], keep: Set[String]): Unit = {
    files().filter(p => isOwn(p, runs) && !keep(p.getName)).foreach(fs.delete(_, false))
    if (fs.exists(root)) fs.listStatus(root).filter(_.isDirectory).foreach(d => prune(d.getPath))
  }

  /**
   * Removes all that this statement wrote, after a failure. Tasks that are being killed may still make a
   * file for a moment, and its folder, so that it looks again until nothing has come for a while.
   */
  def clearOwn(runs: Set[String]): Unit = {
    var rounds = 0
    var quiet = 0
    while (rounds < IntoDirectory.Rounds && quiet < IntoDirectory.QuietRounds) {
      if (rounds > 0) Thread.sleep(IntoDirectory.PauseMs)
      quiet = if (isEmpty) quiet + 1 else 0
      removeOwn(runs, keep = Set.empty)
      rounds += 1
    }
  }

  private def isEmpty: Boolean = !fs.exists(root) || fs.listStatus(root).isEmpty

  /** Removes folders in which nothing is left, so that the statement can be run again. */
  private def prune(folder: Path): Unit = {
    fs.listStatus(folder).filter(_.isDirectory).foreach(d => prune(d.getPath))
    if (fs.listStatus(folder).isEmpty) fs.delete(folder, false)
  }

  /** The name of a file that somebody else wrote here meanwhile. */
  def foreign(runs: Set[String]): Option[String] =
    files().find(!isOwn(_, runs)).map(_.getName)

  private def isOwn(path: Path, runs: Set[String]): Boolean =
    runs.exists(run => path.getName.contains(s"-$run-"))

  private def files(): Seq[Path] = {
    def below(folder: Path): Seq[Path] = fs.listStatus(folder).toSeq.flatMap { s =>
      if (s.isDirectory) below(s.getPath) else Seq(s.getPath)
    }
    if (fs.exists(root)) below(root) else Nil
  }

  /** The marker that Spark leaves in a directory whose write has succeeded. */
  def markSuccess(): Unit =
    ExclusiveFile.write(fs, new Path(root, "_SUCCESS"), Array.emptyByteArray)
}

private object IntoDirectory {
  val Rounds = 30
  val QuietRounds = 5
  val PauseMs = 100L
}
