// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.filesystems

import scala.collection.JavaConverters._

import org.apache.hadoop.fs.Path
import org.apache.hadoop.fs.permission.{AclEntry, FsPermission}

/** Access control lists: a rewrite gives nobody a row that was not open to them. */
class HdfsAclSuite extends HdfsTestBase {

  private def setAcl(path: Path, spec: String): Unit =
    cluster.superuser.setAcl(path, AclEntry.parseAclSpec(spec, true))

  private def acl(path: Path): Set[String] =
    cluster.superuser.getAclStatus(path).getEntries.asScala.map(_.toStringStable).toSet

  private def bits(path: Path): String =
    cluster.superuser.getFileStatus(path).getPermission.toString

  private def filesOf(dir: Path, folder: String): Seq[Path] =
    dataNames(dir).toSeq.filter(_.startsWith(s"$folder/")).sorted.map(n => statuses(dir)(n).getPath)

  private val forBob = "user::rw-,user:bob:r--,group::---,mask::r--,other::---"

  test("files with one list keep it; where lists differ, nobody gets more than each gave") {
    withHdfsTable { dir =>
      writeTo(dir, shuffled(400, 2).selectExpr("*", "id % 3 p"), "p")
      filesOf(dir, "p=0").foreach(setAcl(_, forBob))
      val Seq(one, two) = filesOf(dir, "p=1")
      setAcl(one, forBob)
      cluster.superuser.setPermission(two, new FsPermission("644"))
      // bob may not read what all others may
      filesOf(dir, "p=2").zip(Seq(
        "user::rw-,user:bob:---,group::r--,mask::r--,other::r--",
        "user::rw-,group::r--,other::r--")).foreach { case (f, spec) => setAcl(f, spec) }
      val list = acl(filesOf(dir, "p=0").head)
      optimized(dir)
      for (f <- filesOf(dir, "p=0")) assert(acl(f) === list)
      for (f <- filesOf(dir, "p=1")) {
        assert(acl(f) === Set.empty)
        assert(bits(f) === "rw-------")
      }
      for (f <- filesOf(dir, "p=2")) {
        assert(acl(f) === Set.empty)
        assert(bits(f) === "rw-------")
      }
    }
  }

  test("defaults of the table's directory give nothing that the files did not give") {
    withHdfsTable { dir =>
      writeTo(dir, shuffled(400, 2).selectExpr("*", "id % 2 p"), "p")
      (filesOf(dir, "p=0") ++ filesOf(dir, "p=1")).foreach { f =>
        cluster.superuser.setPermission(f, new FsPermission("600"))
      }
      setAcl(
        dir,
        "user::rwx,group::r-x,other::r-x," +
          "default:user::rwx,default:user:bob:rwx,default:group::r-x,default:mask::rwx,default:other::r-x")
      optimized(dir)
      for (f <- filesOf(dir, "p=0") ++ filesOf(dir, "p=1")) {
        assert(acl(f) === Set.empty)
        assert(bits(f) === "rw-------")
      }
    }
  }

  test(
    "where the process may not give the files' group, the other group gets no rights by the list") {
    withHdfsTable { dir =>
      writeTo(dir, shuffled(400, 2).selectExpr("*", "0 p"), "p")
      filesOf(dir, "p=0").foreach { f =>
        cluster.superuser.setOwner(f, null, "sales")
        setAcl(f, "user::rw-,user:bob:r--,group::r--,mask::r--,other::---")
      }
      optimized(dir)
      for (f <- filesOf(dir, "p=0")) {
        assert(cluster.superuser.getFileStatus(f).getGroup !== "sales")
        assert(acl(f) === Set.empty)
        assert(bits(f) === "rw-------")
      }
    }
  }

  test("staged and retained files of a closed partition are closed") {
    withHdfsTable { dir =>
      writeTo(dir, shuffled(400, 2).selectExpr("*", "id % 2 p"), "p")
      cluster.superuser.setPermission(new Path(dir, "p=1"), new FsPermission("700"))
      optimized(dir)
      val own = cluster.superuser.listStatus(new Path(dir, "p=1")).toSeq.filter(_.isDirectory)
      assert(own.map(_.getPermission.toString) === Seq("rwx------"))
    }
  }
}
