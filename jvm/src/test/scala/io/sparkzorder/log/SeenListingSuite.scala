// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.log

import org.apache.hadoop.fs.{FileStatus, Path}
import org.scalatest.funsuite.AnyFunSuite

class SeenListingSuite extends AnyFunSuite {
  private def status(i: Int) =
    new FileStatus(1L, false, 1, 1L, 1L, new Path(s"file:/t/part-$i.parquet"))
  private val files = (0 until 5).map(status)

  private def isSame(seen: Seq[FileStatus], now: Seq[FileStatus]): Boolean =
    new SeenListing(seen.iterator).is(now.iterator)

  test("the same objects in the same order, and nothing else") {
    assert(isSame(files, files))
    assert(!isSame(files, files.tail))
    assert(!isSame(files, files.init))
    assert(!isSame(files, files :+ status(9)))
    assert(!isSame(files, files.reverse))
    assert(!isSame(files, files.init :+ status(4)), "an equal file is another object")
    assert(!isSame(files, Nil))
    assert(!isSame(Nil, files))
    assert(isSame(Nil, Nil))
  }
}
