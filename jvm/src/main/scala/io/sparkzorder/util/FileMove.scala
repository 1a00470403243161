package io.sparkzorder.util

import java.io.FileNotFoundException
import java.nio.file.{Files, NoSuchFileException, Paths => LocalPaths, StandardCopyOption}

import org.apache.hadoop.fs.{FileSystem, Path}

/**
 * The rename of a file, as a metadata operation and nothing else. Hadoop's rename on local disk falls
 * back to a copy that makes missing directories: a file would come back into a folder, or a
 * `_zorder/`, that somebody has dropped meanwhile.
 */
private[sparkzorder] object FileMove {

  /** @return false when the file, or the directory that it goes to, is not there */
  def rename(fs: FileSystem, from: Path, to: Path): Boolean =
    if (fs.getUri.getScheme == "file") {
      try {
        Files.move(local(from), local(to), StandardCopyOption.ATOMIC_MOVE)
        true
      } catch { case _: NoSuchFileException => false }
    } else {
      try fs.rename(from, to)
      catch { case _: FileNotFoundException => false }
    }

  private def local(path: Path) = LocalPaths.get(path.toUri.getPath)
}
