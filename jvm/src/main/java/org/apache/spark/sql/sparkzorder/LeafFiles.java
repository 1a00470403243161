// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.sparkzorder;

import org.apache.spark.sql.execution.datasources.PartitioningAwareFileIndex;

/** Reads a member of Spark that is protected in Scala, but public in the class file. */
public final class LeafFiles {
  private LeafFiles() {}

  /** The listed files of an index, by directory. A refresh makes a new map. */
  public static Object of(PartitioningAwareFileIndex index) {
    return index.leafDirToChildrenFiles();
  }
}
