// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.write

import java.io.IOException
import java.nio.file.{Files, LinkOption, Path => LocalPath, Paths => LocalPaths}
import java.nio.file.attribute.{PosixFileAttributes, PosixFileAttributeView, PosixFilePermissions}

import scala.collection.JavaConverters._
import scala.util.Try
import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, FileSystem, Path}
import org.apache.hadoop.fs.permission.{
  AclEntry,
  AclEntryScope,
  AclEntryType,
  AclUtil,
  FsAction,
  FsPermission
}
import org.apache.hadoop.security.AccessControlException

import org.apache.spark.internal.Logging

import io.sparkzorder.table.{DataFile, TableFiles}
import io.sparkzorder.util.{Directories, ManyFiles, RawFiles}

/**
 * Makes sure that a rewrite does not show rows to users who could not read them before. A written file may
 * hold rows of each replaced file of its folder, so it gets the permissions that all these files have in
 * common. The hidden directory of a run gets the permissions of its folder.
 */
private[sparkzorder] final class FileAttributes(conf: Configuration) extends Logging {

  /**
   * Gives each written file what the inputs of its folder have in common: the permission bits, the
   * access control list, the group and the owner. The group and the owner stay if the process may
   * not change them.
   *
   * @param inputs the replaced files
   * @param written the new files; the `folder` of a new file is the folder of its inputs
   */
  def copy(inputs: TableFiles, written: Seq[DataFile]): Unit = {
    val models = inputs.files.groupBy(_.folder).map { case (folder, own) =>
      folder -> Protection.common(ManyFiles.map(own)(f => protection(f.path)))
    }
    ManyFiles.map(written)(w => models.get(w.folder).flatten.foreach(apply(w.path, _)))
    ()
  }

  /** Makes a directory that only its owner may access. */
  def makePrivate(directory: Path): Unit =
    if (RawFiles.isLocal(fileSystem(directory))) LocalAttributes.makePrivate(directory)
    else {
      Directories.make(fileSystem(directory), directory, conf)
      fileSystem(directory).setPermission(directory, FileAttributes.OwnerOnly)
    }

  /** Opens a directory of `folder` to all users who may enter the folder. */
  def protect(directory: Path, folder: Path): Unit = protection(folder).foreach { p =>
    val bits = new FsPermission(FsAction.ALL, p.bits.getGroupAction, p.bits.getOtherAction)
    // Only a superuser can give the directory to the owner of the folder, and a superuser may remove it later all the
    // same. The owner of the folder must be able to overwrite and to drop the folder with this directory.
    apply(directory, p.copy(bits = bits))
  }

  private def fileSystem(path: Path): FileSystem = RawFiles.of(path, conf)

  /** The permissions of a file or directory; None if the file system has no permissions. */
  private def protection(path: Path): Option[Protection] =
    try {
      val fs = fileSystem(path)
      if (RawFiles.isLocal(fs)) Some(LocalAttributes.read(path))
      else {
        val status = fs.getFileStatus(path)
        val named = if (status.hasAcl) fs.getAclStatus(path).getEntries.asScala.toSeq else Nil
        Some(Protection.of(status, named))
      }
    } catch {
      case _: UnsupportedOperationException => None
    }

  private def apply(path: Path, wanted: Protection): Unit =
    try {
      val fs = fileSystem(path)
      if (RawFiles.isLocal(fs)) LocalAttributes.write(path, wanted, ifAllowed(path))
      else applyAny(fs, path, wanted)
    } catch {
      case _: UnsupportedOperationException =>
        logWarning(s"$path keeps the permissions that it was written with")
      case NonFatal(e) =>
        throw new IOException(s"cannot give $path the permissions of the files that it replaces", e)
    }

  private def applyAny(fs: FileSystem, path: Path, wanted: Protection): Unit = {
    val status: FileStatus = fs.getFileStatus(path)
    // The new file has inherited a list from the default list of the directory. The default list may name users
    // that the lists of the replaced files do not name.
    if (status.hasAcl) fs.removeAcl(path)
    wanted.group.filter(_ != status.getGroup).foreach(g =>
      ifAllowed(path)(fs.setOwner(path, null, g)))
    val allowed = wanted.ofGroup(fs.getFileStatus(path).getGroup)
    // the list contains the bits, too
    if (allowed.entries.isEmpty) fs.setPermission(path, allowed.bits)
    else fs.setAcl(path, allowed.aclSpec.asJava)
    wanted.owner.filter(_ != status.getOwner).foreach(o =>
      ifAllowed(path)(fs.setOwner(path, o, null)))
  }

  /**
   * Tries to change an owner or a group, and keeps the old one if that is not allowed. Only a
   * superuser may change the owner of a file, and only a member of a group may give a file to the
   * group.
   */
  private def ifAllowed(path: Path)(change: => Unit): Unit =
    Try(change).recover {
      case e @ (_: AccessControlException | _: IOException | _: UnsupportedOperationException) =>
        logDebug(s"the owner or the group of $path stays: ${e.getMessage}")
    }.get
}

private object FileAttributes {
  val OwnerOnly = new FsPermission("700")
}

/**
 * Reads and writes permissions on local disk with `java.nio`, because Hadoop's local file system
 * starts a program for each file. Access control lists on local disk are ignored.
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

  /** @param ifAllowed runs a change that the process may not be allowed to make */
  def write(path: Path, wanted: Protection, ifAllowed: (=> Unit) => Unit): Unit = {
    // A superuser may change any file, so a link that somebody has put here must not be followed.
    val view = Files.getFileAttributeView(
      local(path),
      classOf[PosixFileAttributeView],
      LinkOption.NOFOLLOW_LINKS)
    val has = view.readAttributes()
    val names = local(path).getFileSystem.getUserPrincipalLookupService
    wanted.group.filter(_ != has.group.getName).foreach(g =>
      ifAllowed(view.setGroup(names.lookupPrincipalByGroupName(g))))
    val bits = wanted.ofGroup(view.readAttributes().group.getName).bits
    val permissions =
      PosixFilePermissions.fromString(bits.toString.take(9).replaceAll("[tT]$", "x"))
    if (has.permissions != permissions) view.setPermissions(permissions)
    wanted.owner.filter(_ != has.owner.getName).foreach(o =>
      ifAllowed(view.setOwner(names.lookupPrincipalByName(o))))
  }

  /**
   * In a folder with the setgid bit, files get the group of the folder, and the new directory gets this bit, too. A
   * later change of its permissions would take the bit away, so the directory is made with the permissions.
   */
  def makePrivate(directory: Path): Unit = {
    val bits = PosixFilePermissions.fromString("rwx------")
    val _ = Files.createDirectory(local(directory), PosixFilePermissions.asFileAttribute(bits))
  }

  private def local(path: Path): LocalPath = LocalPaths.get(path.toUri.getPath)
}

/**
 * Who may read a file.
 *
 * @param bits permission bits of the owner, the group and all others; if there is an access control
 *   list, the group's bits are the mask of the list, as Hadoop shows them
 * @param entries entries of the access control list; empty if there are only the bits
 * @param group None for several files with different groups
 * @param owner None for several files with different owners
 */
private[write] final case class Protection(
    bits: FsPermission,
    entries: Seq[AclEntry],
    group: Option[String],
    owner: Option[String]) {

  /**
   * The protection of a file whose group is `actual`. If `actual` is not the group of the replaced files, its
   * members had the rights of all others before, and the members of the earlier group are among all others
   * now. So the group and all others get only the rights that both had before, and there is no list.
   */
  def ofGroup(actual: String): Protection =
    if (group.contains(actual)) this
    else {
      val alone = withoutEntries
      val both = alone.getGroupAction.and(alone.getOtherAction)
      copy(bits = new FsPermission(alone.getUserAction, both, both), entries = Nil)
    }

  /** Bits that allow no user more than bits and list together. */
  def withoutEntries: FsPermission =
    if (entries.isEmpty) bits
    else {
      val mask = bits.getGroupAction
      // the mask limits the named users and groups, too
      val named = entries.filter(_.getName != null).map(_.getPermission.and(mask))
      val unnamed = entries
        .find(e => e.getName == null && e.getType == AclEntryType.GROUP)
        .map(_.getPermission).getOrElse(FsAction.NONE)
      val all = named.foldLeft(FsAction.ALL)(_ and _)
      new FsPermission(
        bits.getUserAction,
        unnamed.and(mask).and(all),
        bits.getOtherAction.and(all))
    }

  def aclSpec: Seq[AclEntry] =
    AclUtil.getAclFromPermAndEntries(bits, entries.asJava).asScala.toSeq
}

private[write] object Protection {

  def of(status: FileStatus, entries: Seq[AclEntry]): Protection =
    Protection(
      new FsPermission(status.getPermission.toShort),
      // default entries of a directory apply to files that are made in it, not to the directory
      entries.filter(_.getScope == AclEntryScope.ACCESS),
      Some(status.getGroup),
      Some(status.getOwner))

  /**
   * Returns a protection that allows only what every protection of `all` allows. None if one of
   * them is not known, or `all` is empty. If the protections differ, the access control lists are dropped.
   * No user gets more rights by that: what an entry denied to a user or a group, `withoutEntries` removes from the
   * bits of the group and of all others.
   */
  def common(all: Seq[Option[Protection]]): Option[Protection] = {
    val known = all.flatten.distinct
    if (known.isEmpty || all.exists(_.isEmpty)) None else Some(commonOf(known))
  }

  private def commonOf(known: Seq[Protection]): Protection =
    if (known.size == 1) known.head
    else {
      val groups = known.flatMap(_.group).distinct
      val bits = known.map(_.withoutEntries).reduce(and)
      val one = Protection(
        bits,
        Nil,
        if (groups.size == 1) groups.headOption else None,
        if (known.map(_.owner).distinct.size == 1) known.head.owner else None)
      // a member of one file's group had only the rights of "others" to a file of another group
      if (groups.size == 1) one else one.ofGroup("")
    }

  private def and(a: FsPermission, b: FsPermission): FsPermission = new FsPermission(
    a.getUserAction.and(b.getUserAction),
    a.getGroupAction.and(b.getGroupAction),
    a.getOtherAction.and(b.getOtherAction))
}
