// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.util

import java.util.Locale

import scala.util.Try

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileSystem, Path}

/**
 * Recognizes a directory under its other names: by symbolic links, by mount points of viewfs, and by
 * other schemes of its store. Most other paths are told apart by their texts alone, because to open the
 * file system of each would be slow.
 */
private[sparkzorder] final class SameDirectory(directory: Path, conf: Configuration) {
  private val default = FileSystem.getDefaultUri(conf)
  private val own = directory.getFileSystem(conf).makeQualified(directory)
  private val names = Seq(own, resolved(own)).distinct
  private val isMounted = isView(own)

  def is(other: Path): Boolean = {
    val path = if (other.isAbsolute) other.makeQualified(default, own) else other
    names.contains(path) ||
    (if (isLocal(own) || isLocal(path)) isLocal(own) && names.contains(resolved(path))
     else names.exists(isOne(_, path)) ||
     (isView(path) && !isMounted && names.exists(isOne(_, resolved(path)))))
  }

  /** True for equal paths of one store. */
  private def isOne(a: Path, b: Path): Boolean =
    a.toUri.getPath == b.toUri.getPath && (store(a) == store(b) ||
      // Hadoop knows default ports, and names of hosts in short
      Try(a.getFileSystem(conf).makeQualified(b)).isSuccess)

  private def store(path: Path): (String, String) = {
    val scheme = schemeOf(path)
    val authority = Option(path.toUri.getAuthority).getOrElse("")
    (SameDirectory.Families.find(f => scheme.matches(f)).getOrElse(scheme), authority)
  }

  /** The path without links and mount points; as it is, if nothing is there. */
  private def resolved(path: Path): Path =
    if (isLocal(path)) {
      Try(RawFiles.local(path).toRealPath()).map(real => new Path(real.toUri)).getOrElse(path)
    } else Try(path.getFileSystem(conf).resolvePath(path)).getOrElse(path)

  private def schemeOf(path: Path): String =
    Option(path.toUri.getScheme).getOrElse("file").toLowerCase(Locale.ROOT)

  private def isLocal(path: Path): Boolean = schemeOf(path) == "file"
  private def isView(path: Path): Boolean = schemeOf(path) == "viewfs"
}

private object SameDirectory {

  /** Schemes under which one bucket, container or cluster is reached. */
  val Families: Seq[String] = Seq("s3[an]?", "abfss?", "wasbs?", "(swebhdfs|webhdfs|hdfs)")
}
