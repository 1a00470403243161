package io.sparkzorder.util

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileSystem, LocalFileSystem, Path, RawLocalFileSystem}

/**
 * The file system of a path, on local disk without the checksum files (`.name.crc`) that Hadoop lays
 * beside every file there: under `_zorder/` every name must begin with `_`, and a checksum file that
 * loses its file stays for good.
 */
private[sparkzorder] object RawFiles {
  def of(path: Path, conf: Configuration): FileSystem = path.getFileSystem(conf) match {
    case local: LocalFileSystem => local.getRawFileSystem
    case other => other
  }

  /** True for the local disk itself, whose files java.nio reaches too. */
  def isLocal(fs: FileSystem): Boolean = fs.getUri.getScheme == "file"

  /** Makes tasks write without checksum files on local disk too. */
  def writeRaw(conf: Configuration): Configuration = {
    conf.set("fs.file.impl", classOf[RawLocalFileSystem].getName)
    // the cache would give the file system that others use, checksums included
    conf.setBoolean("fs.file.impl.disable.cache", true)
    conf
  }

  /** Removes the checksum file of a file that was moved away. */
  def sweepChecksum(fs: FileSystem, moved: Path): Unit =
    if (isLocal(fs)) {
      fs.delete(Paths.child(moved.getParent, s".${moved.getName}.crc"), false)
    }
}
