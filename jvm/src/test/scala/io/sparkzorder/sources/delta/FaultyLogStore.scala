// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.delta

import io.delta.storage.LocalLogStore
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

/** Writes commits, and throws an error after the next one if a test wishes so. */
class FaultyLogStore(conf: Configuration) extends LocalLogStore(conf) {

  override def write(
      path: Path,
      actions: java.util.Iterator[String],
      overwrite: java.lang.Boolean,
      conf: Configuration): Unit = {
    super.write(path, actions, overwrite, conf)
    val error = FaultyLogStore.afterNext
    if (error.isDefined && path.getName.endsWith(".json")) {
      FaultyLogStore.afterNext = None
      throw error.get(path)
    }
  }
}

object FaultyLogStore {
  @volatile var afterNext: Option[Path => Exception] = None
}
