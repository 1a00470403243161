// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.util

import org.apache.hadoop.conf.Configuration
import org.scalatest.funsuite.AnyFunSuite

/** The configuration of file systems that create a file only if its directory exists. */
class InExistingFoldersSuite extends AnyFunSuite {

  test(
    "the wrapped file system has the settings of the user, also those that the wrapper changes") {
    val users = Seq("fs.s3a.impl" -> "mine", "fs.s3a.impl.disable.cache" -> "true")
    for (set <- users.toSet.subsets()) {
      val conf = new Configuration(false)
      set.foreach { case (key, value) => conf.set(key, value) }
      InExistingFolders.configure(conf, "s3a")
      assert(conf.get("fs.s3a.impl").contains("InExistingFolders"))
      assert(conf.getBoolean("fs.s3a.impl.disable.cache", false))
      val real = InExistingFolders.withoutWrapper(conf, "s3a")
      for ((key, _) <- users) assert(Option(real.get(key)) === set.toMap.get(key))
    }
  }
}
