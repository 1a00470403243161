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
 * @param bits of the owner, the group and all others; with an access control list the group's bits are
 *   those of its mask, as Hadoop shows them
 * @param entries of the access control list; none when the bits say all
 * @param group None when several files have several
 * @param owner None when several files have several
 */
private[write] final case class Protection(
    bits: FsPermission,
    entries: Seq[AclEntry],
    group: Option[String],
    owner: Option[String]) {

  /** The bits of a file that has another group: its members were others before. */
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
      // a directory's defaults are for what is made in it
      entries.filter(_.getScope == AclEntryScope.ACCESS),
      Some(status.getGroup),
      Some(status.getOwner))

  /**
   * What all of them allow; None when one of them is not known, or there are none. Lists that differ
   * are dropped, and nobody gets more by that: an entry may also have denied what the bits allow.
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
      // a member of one of the groups was another to the files of the other group
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
