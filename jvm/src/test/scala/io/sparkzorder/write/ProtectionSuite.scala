// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.write

import scala.collection.JavaConverters._

import org.apache.hadoop.fs.permission.{AclEntry, FsPermission}
import org.scalatest.funsuite.AnyFunSuite

/** Rights of new files, as HDFS would grant them; `HdfsAclSuite` asks HDFS itself. */
class ProtectionSuite extends AnyFunSuite {

  private def protection(bits: Int, entries: String): Protection = Protection(
    new FsPermission(bits.toShort),
    if (entries.isEmpty) Nil else AclEntry.parseAclSpec(entries, true).asScala.toSeq,
    Some("staff"),
    Some("ann"))

  test("a user whom the mask of a list shuts out gets no right as one of all others") {
    // chmod 604 of a file with an entry of bob: the mask is empty, so bob reads nothing
    val masked = protection(Integer.parseInt("604", 8), "user:bob:r--,group::r--")
    val open = protection(Integer.parseInt("644", 8), "")
    for (all <- Seq(Seq(masked, open), Seq(open, masked))) {
      val common = Protection.common(all.map(Option(_))).get
      assert(common.entries === Nil)
      assert(common.bits === new FsPermission(Integer.parseInt("600", 8).toShort))
    }
    assert(masked.ofGroup("others").bits === new FsPermission(Integer.parseInt("600", 8).toShort))
  }

  test("one list for all files is kept") {
    val one = protection(Integer.parseInt("640", 8), "user:bob:r--,group::r--")
    assert(Protection.common(Seq(Some(one), Some(one))) === Some(one))
  }
}
