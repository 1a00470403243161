// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.workload

import io.sparkzorder.index.FileTable
import io.sparkzorder.skipping.predicate.{ConjunctUse, FileTest, FilterOnFiles}

/**
 * The filters of a scan, each with its test on the files of a skipping index.
 *
 * @param identity identifies the loaded index; the distribution of a column is computed once for each
 *   identity
 * @param files the file entries of the index
 * @param tested the conjuncts of the filters and their tests
 */
private[sparkzorder] final case class NotedFilters(
    identity: AnyRef,
    files: FileTable,
    tested: Seq[(ConjunctUse, FileTest)])

private[sparkzorder] object NotedFilters {

  /** @param answers the results of one index for groups of filters; at least one group */
  def of(answers: Seq[FilterOnFiles]): NotedFilters =
    NotedFilters(
      answers.head.indexIdentity,
      answers.head.indexedFiles,
      answers.flatMap(_.tested))
}
