// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder

import java.net.URI
import java.nio.file.Files
import java.nio.file.attribute.PosixFilePermissions

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{
  ChecksumFs,
  DelegateToFileSystem,
  FsConstants,
  LocalFileSystem,
  Path,
  RawLocalFileSystem
}
import org.apache.hadoop.fs.permission.FsPermission

/** The local disk as in Hadoop, but without a program `chmod` for each new file and directory. */
class LocalFiles extends LocalFileSystem(new RawLocalFiles)

class RawLocalFiles extends RawLocalFileSystem {
  override def setPermission(path: Path, permission: FsPermission): Unit = {
    // `java.nio` knows no sticky bit
    if (permission.getStickyBit) super.setPermission(path, permission)
    else {
      val bits = PosixFilePermissions.fromString(permission.toString)
      val _ = Files.setPosixFilePermissions(pathToFile(path).toPath, bits)
    }
  }
}

/** The same for `AbstractFileSystem`, by which records are written. */
class LocalAbstractFiles(uri: URI, conf: Configuration)
    extends ChecksumFs(new RawLocalAbstractFiles(conf))

private class RawLocalAbstractFiles(conf: Configuration)
    extends DelegateToFileSystem(FsConstants.LOCAL_FS_URI, new RawLocalFiles, conf, "file", false) {
  override def getUriDefaultPort: Int = -1
  override def isValidName(name: String): Boolean = true
}
