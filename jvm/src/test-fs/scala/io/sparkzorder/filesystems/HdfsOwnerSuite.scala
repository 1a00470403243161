// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.filesystems

import org.apache.hadoop.fs.permission.FsPermission
import org.apache.hadoop.security.UserGroupInformation

/** A superuser's OPTIMIZE of a table that belongs to somebody else. */
class HdfsOwnerSuite extends HdfsTestBase {
  override protected def user: UserGroupInformation = UserGroupInformation.getLoginUser

  test("the files stay their owner's") {
    withHdfsTable { dir =>
      writeTo(dir, shuffled(400, 2))
      for (name <- dataNames(dir)) {
        val path = statuses(dir)(name).getPath
        cluster.superuser.setOwner(path, "bob", "sales")
        cluster.superuser.setPermission(path, new FsPermission("640"))
      }
      val before = dataNames(dir)
      optimized(dir)
      assert(dataNames(dir).intersect(before) === Set.empty)
      for (name <- dataNames(dir)) {
        val s = statuses(dir)(name)
        assert((s.getOwner, s.getGroup, s.getPermission.toString) ===
          (("bob", "sales", "rw-r-----")))
      }
    }
  }
}
