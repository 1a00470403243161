package io.sparkzorder.rewrite

import java.nio.file.{FileAlreadyExistsException => NioFileExists, Files, Paths, StandardOpenOption}

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileAlreadyExistsException, FileContext, FileSystem, Options, Path}

/**
 * Files that appear at once with all their content, and only if they are not there.
 *
 * On local disk a hard link does that: Hadoop's local create and rename are not exclusive. Elsewhere
 * a rename without overwrite does, as HDFS and ABFS with hierarchical namespace have it.
 */
private[rewrite] object ExclusiveFile {
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
    write(fs, temporary, content)
    try if (RawFiles.isLocal(fs)) link(temporary, path) else rename(temporary, path, conf)
    finally fs.delete(temporary, false)
  }

  /** Writes a small file, without the checksum file that Hadoop lays beside one on local disk. */
  def write(fs: FileSystem, path: Path, content: Array[Byte]): Unit =
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
        out.hsync()
      } finally out.close()
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

  private def local(path: Path) = Paths.get(path.toUri.getPath)
}
