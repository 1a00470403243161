// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.util

import org.apache.hadoop.fs.{EtagSource, FileStatus}

/**
 * ETags: names of the content of an object, which a store gives. Two objects with one ETag have the same
 * content; an ETag says nothing else, and cannot be computed from the content.
 */
private[sparkzorder] object Etags {

  /** Empty where a listing has none. Spark drops the ETags of long listings. */
  def of(status: FileStatus): String = status match {
    case s: EtagSource => Option(s.getEtag).getOrElse("")
    case _ => ""
  }

  /** False only if both ETags are known and differ. */
  def mayHave(etag: String, status: FileStatus): Boolean =
    etag == null || etag.isEmpty || Seq("", etag).contains(of(status))
}
