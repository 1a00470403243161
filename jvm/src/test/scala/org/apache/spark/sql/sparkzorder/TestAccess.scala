package org.apache.spark.sql.sparkzorder

import org.apache.spark.SparkContext

/** What tests need of Spark that is private to it. */
object TestAccess {

  /** Waits until every event so far has reached the listeners. */
  def drainListeners(sc: SparkContext): Unit = sc.listenerBus.waitUntilEmpty()
}
