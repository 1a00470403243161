// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.sparkzorder;

import org.apache.spark.sql.execution.datasources.PartitioningAwareFileIndex;

/** Access to a member that Scala protects and the JVM does not. */
public final class LeafFiles {
  private LeafFiles() {}

  /** The files that an index has listed, by directory. A refresh makes another object. */
  public static Object of(PartitioningAwareFileIndex index) {
    return index.leafDirToChildrenFiles();
  }
}
