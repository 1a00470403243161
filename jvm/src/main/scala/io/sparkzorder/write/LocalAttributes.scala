package io.sparkzorder.write

import java.nio.file.{Files, Path => LocalPath, Paths => LocalPaths}
import java.nio.file.attribute.{PosixFileAttributes, PosixFileAttributeView, PosixFilePermissions}

import org.apache.hadoop.fs.Path
import org.apache.hadoop.fs.permission.FsPermission

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
