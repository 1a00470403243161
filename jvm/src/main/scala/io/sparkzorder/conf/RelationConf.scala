package io.sparkzorder.conf

import org.apache.hadoop.conf.Configuration

import org.apache.spark.sql.execution.datasources.HadoopFsRelation
import org.apache.spark.sql.sparkzorder.SparkLine
import org.apache.spark.sql.sparkzorder.SparkLine.Session

/**
 * Hadoop's settings for a relation, built lazily and once: they dominate planning of small queries.
 */
private[sparkzorder] final class RelationConf(relation: HadoopFsRelation) {
  def session: Session = SparkLine.session(relation.sparkSession)

  lazy val hadoop: Configuration =
    session.sessionState.newHadoopConfWithOptions(relation.options)
}
