// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.conf

import org.apache.hadoop.conf.Configuration

import org.apache.spark.sql.catalyst.FileSourceOptions
import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap
import org.apache.spark.sql.execution.datasources.HadoopFsRelation
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.sparkzorder.SparkLine
import org.apache.spark.sql.sparkzorder.SparkLine.Session

/**
 * The settings for a relation. Hadoop's configuration is built only when it is needed, and only once: building it
 * takes most of the planning time of a small query.
 */
private[sparkzorder] final class RelationConf(relation: HadoopFsRelation) {
  def session: Session = SparkLine.session(relation.sparkSession)

  lazy val hadoop: Configuration =
    session.sessionState.newHadoopConfWithOptions(relation.options)

  /**
   * True if Spark may skip a listed file that does not exist any more. An option of the relation decides. Without one,
   * the answer is true if the setting is on in the session of the query, which Spark asks, or in the session that made
   * the relation, such as that of a view.
   */
  def ignoresMissingFiles: Boolean =
    CaseInsensitiveMap(relation.options).get(FileSourceOptions.IGNORE_MISSING_FILES)
      .fold(session.sessionState.conf.ignoreMissingFiles || SQLConf.get.ignoreMissingFiles)(
        _.toBoolean)
}
