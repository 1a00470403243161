// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder

import java.nio.file.Files
import java.nio.file.attribute.PosixFilePermissions

import org.apache.hadoop.fs.{LocalFileSystem, Path, RawLocalFileSystem}
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
