package io.sparkzorder.write

import scala.collection.JavaConverters._

import org.apache.hadoop.fs.FileStatus
import org.apache.hadoop.fs.permission.{
  AclEntry,
  AclEntryScope,
  AclEntryType,
  AclUtil,
  FsAction,
  FsPermission
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
   * The bits of a file whose group is `actual`. If `actual` is another group, its members had the
   * rights of all others before. So the group's bits then allow only what all others may do too.
   */
  def bitsFor(actual: String): FsPermission =
    if (group.contains(actual)) bits
    else {
      val both = bits.getGroupAction.and(bits.getOtherAction)
      new FsPermission(bits.getUserAction, both, bits.getOtherAction)
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
   * them is not known, or `all` is empty. If the protections differ, the access control lists are
   * dropped. No user gets more rights by that: where an entry denied what the bits allow,
   * `withoutEntries` reduces the bits.
   */
  def common(all: Seq[Option[Protection]]): Option[Protection] = {
    val known = all.flatten.distinct
    if (known.isEmpty || all.exists(_.isEmpty)) None
    else if (known.size == 1) known.headOption
    else {
      val groups = known.flatMap(_.group).distinct
      val bits = known.map(withoutEntries).reduce(and)
      val one = Protection(
        bits,
        Nil,
        if (groups.size == 1) groups.headOption else None,
        if (known.map(_.owner).distinct.size == 1) known.head.owner else None)
      // A member of one group was among all others for the files of the other groups. So the
      // group's bits allow only what all others may do too.
      Some(if (groups.size == 1) one else one.copy(bits = one.bitsFor("")))
    }
  }

  private def withoutEntries(p: Protection): FsPermission =
    if (p.entries.isEmpty) p.bits
    else {
      val mask = p.bits.getGroupAction
      val named = p.entries.filter(_.getName != null).map(_.getPermission)
      val group = p.entries
        .find(e => e.getName == null && e.getType == AclEntryType.GROUP)
        .map(_.getPermission).getOrElse(FsAction.NONE)
      val all = named.foldLeft(FsAction.ALL)(_ and _)
      new FsPermission(
        p.bits.getUserAction,
        group.and(mask).and(all),
        p.bits.getOtherAction.and(all))
    }

  private def and(a: FsPermission, b: FsPermission): FsPermission = new FsPermission(
    a.getUserAction.and(b.getUserAction),
    a.getGroupAction.and(b.getGroupAction),
    a.getOtherAction.and(b.getOtherAction))
}
