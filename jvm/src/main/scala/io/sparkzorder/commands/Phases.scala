// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands

import scala.collection.immutable.ListMap
import scala.collection.mutable

import org.apache.spark.SparkContext
import org.apache.spark.internal.Logging

/**
 * Names and times the phases of a run. The Spark UI shows the phase as the description of its jobs.
 * The stages are named after the phase as well, because a status tracker sees only names of stages.
 * The user's own description comes back afterwards.
 */
private[sparkzorder] final class Phases(sc: SparkContext, statement: String) extends Logging {
  // Spark names a stage by the short form of its call site
  private val keys = Seq("spark.job.description", "callSite.short")
  private var ofStatement = statement
  private val spent = mutable.LinkedHashMap.empty[String, Long]

  /** Runs one phase; the times of equally named phases add up. */
  def apply[T](name: String)(body: => T): T = {
    val before = keys.map(sc.getLocalProperty)
    keys.foreach(sc.setLocalProperty(_, s"$ofStatement: $name"))
    val start = System.nanoTime()
    try body
    finally {
      val ms = (System.nanoTime() - start) / 1000000L
      spent(name) = spent.getOrElse(name, 0L) + ms
      keys.zip(before).foreach { case (key, value) => sc.setLocalProperty(key, value) }
      logInfo(s"$statement: $name took $ms ms")
    }
  }

  /** Names the part of the statement that the phases of `body` are of, such as a batch of two passes. */
  def part[T](name: Option[String])(body: => T): T = {
    ofStatement = (statement +: name.toSeq).mkString(", ")
    try body
    finally ofStatement = statement
  }

  /** Milliseconds of each phase, in the order in which they began. */
  def millis: Map[String, Long] = ListMap(spent.toSeq: _*)
}
