// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.conf

import org.apache.hadoop.conf.Configuration

import org.apache.spark.sql.execution.datasources.HadoopFsRelation
import org.apache.spark.sql.sparkzorder.SparkLine
import org.apache.spark.sql.sparkzorder.SparkLine.Session

/**
 * Hadoop's settings for a relation. They are built lazily and once, because building them takes
 * most of the planning time of a small query.
 */
private[sparkzorder] final class RelationConf(relation: HadoopFsRelation) {
  def session: Session = SparkLine.session(relation.sparkSession)

  lazy val hadoop: Configuration =
    session.sessionState.newHadoopConfWithOptions(relation.options)
}
