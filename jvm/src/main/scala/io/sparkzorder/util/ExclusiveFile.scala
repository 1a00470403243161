package io.sparkzorder.util

import java.io.IOException
import java.nio.file.{FileAlreadyExistsException => NioFileExists, Files, Paths => LocalPaths, StandardOpenOption}

import scala.util.Try

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{
  FileAlreadyExistsException,
  FileContext,
  FileSystem,
  Options,
  Path,
  StreamCapabilities
}

/**
 * Files that appear at once with all their content, and only if they are not there.
 *
 * On local disk a hard link does that: Hadoop's local create and rename are not exclusive. Elsewhere
 * a rename without overwrite does, as HDFS and ABFS with hierarchical namespace have it.
 */
private[sparkzorder] object ExclusiveFile {
  private val Looks = 20
  private val PauseMs = 50L
  private val BufferBytes = 4096

  /**
   * @param run names the temporary file
   * @return false when somebody else was first
   */
  def create(
      fs: FileSystem,
      path: Path,
      run: String,
      content: Array[Byte],
      conf: Configuration): Boolean = {
    val temporary = new Path(path.getParent, s"_tmp_${run}_${path.getName}")
    try {
      writeAlone(fs, temporary, content)
      publish(fs, temporary, path, conf)
    } finally fs.delete(temporary, false)
  }

  /**
   * Lets a complete file appear under its name, unless that name is taken.
   *
   * @param temporary the file, in the same directory; it may be there still afterwards
   * @return false when somebody else was first
   */
  def publish(fs: FileSystem, temporary: Path, path: Path, conf: Configuration): Boolean =
    if (RawFiles.isLocal(fs)) link(temporary, path) else rename(temporary, path, conf)

  /**
   * Writes a small file, without the checksum file that Hadoop lays beside one on local disk. Several
   * may write the same one with the same content at once.
   */
  def write(fs: FileSystem, path: Path, content: Array[Byte]): Unit =
    try writeAlone(fs, path, content)
    catch {
      // HDFS takes a file away from who has it open when the next one creates it
      case e: IOException => if (!appears(fs, path, content.length.toLong)) throw e
    }

  private def writeAlone(fs: FileSystem, path: Path, content: Array[Byte]): Unit =
    if (RawFiles.isLocal(fs)) {
      Files.write(
        local(path),
        content,
        StandardOpenOption.CREATE,
        StandardOpenOption.TRUNCATE_EXISTING,
        StandardOpenOption.WRITE,
        StandardOpenOption.SYNC)
    } else {
      // plain `create` would make the directories again of a table that was overwritten meanwhile
      val out = fs.createNonRecursive(
        path,
        true,
        BufferBytes,
        fs.getDefaultReplication(path),
        fs.getDefaultBlockSize(path),
        null)
      try {
        out.write(content)
        // object stores have nothing to flush before the end
        if (out.hasCapability(StreamCapabilities.HSYNC)) out.hsync()
      } finally out.close()
    }

  /** Waits a moment for whoever took a file over to be done with it. */
  private def appears(fs: FileSystem, path: Path, length: Long): Boolean =
    !RawFiles.isLocal(fs) && (0 until Looks).exists { look =>
      if (look > 0) Thread.sleep(PauseMs)
      Try(fs.getFileStatus(path).getLen == length).getOrElse(false)
    }

  private def link(from: Path, to: Path): Boolean =
    try {
      Files.createLink(local(to), local(from))
      true
    } catch { case _: NioFileExists => false }

  private def rename(from: Path, to: Path, conf: Configuration): Boolean =
    try {
      FileContext.getFileContext(to.toUri, conf).rename(from, to, Options.Rename.NONE)
      true
    } catch { case _: FileAlreadyExistsException => false }

  private def local(path: Path) = LocalPaths.get(path.toUri.getPath)
}
