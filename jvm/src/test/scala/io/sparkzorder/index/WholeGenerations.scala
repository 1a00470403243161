// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.index

import org.apache.hadoop.fs.FileStatus

/** Writes generations with all entries, which statements do only where there is no index. */
object WholeGenerations {
  implicit final class OfStore(private val store: IndexStore) extends AnyVal {

    /** @param make the new content from the header and content of the newest generation */
    def update(
        make: Option[(IndexHeader, IndexContent)] => (IndexContent, Option[Seq[Seq[String]]]))
        : Option[FileStatus] = store.change { before =>
      val (content, chosen) = make(before.map(b => (b.header, b.content())))
      IndexChange(content, Set.empty, keepsOthers = false, chosen)
    }
  }
}
