// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.workload

import io.sparkzorder.index.FileTable
import io.sparkzorder.skipping.predicate.{ConjunctUse, FileTest, FilterOnFiles}

/**
 * The filters of a scan, tested against what is known of the files of a table.
 *
 * @param identity of that knowledge: the distribution of a column is computed once for each
 * @param files what is known
 * @param tested each conjunct of the filters
 */
private[sparkzorder] final case class NotedFilters(
    identity: AnyRef,
    files: FileTable,
    tested: Seq[(ConjunctUse, FileTest)])

private[sparkzorder] object NotedFilters {

  /** @param answers of one index to groups of filters; at least one group */
  def of(answers: Seq[FilterOnFiles]): NotedFilters =
    NotedFilters(
      answers.head.indexIdentity,
      answers.head.indexedFiles,
      answers.flatMap(_.tested))
}
