// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands

import scala.collection.immutable.ListMap
import scala.collection.mutable

import org.apache.spark.SparkContext
import org.apache.spark.internal.Logging

/**
 * Names and times the phases of a statement. The Spark UI shows the phase as the description of its jobs. The stages
 * have the name of the phase, too, because Spark's status tracker shows the names of stages and no descriptions of
 * jobs. After the phase, the user's own description is restored.
 */
private[sparkzorder] final class Phases(sc: SparkContext, statement: String) extends Logging {
  // `callSite.short` is the property from which Spark takes the name of a stage
  private val keys = Seq("spark.job.description", "callSite.short")
  private var ofStatement = statement
  private val spent = mutable.LinkedHashMap.empty[String, Long]

  /** Runs a phase. The times of phases with the same name are added up. */
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

  /** Adds the name of a part of the statement, such as a batch, to the phases of `body`. */
  def part[T](name: Option[String])(body: => T): T = {
    ofStatement = (statement +: name.toSeq).mkString(", ")
    try body
    finally ofStatement = statement
  }

  /** Milliseconds of each phase, in the order in which they began. */
  def millis: Map[String, Long] = ListMap(spent.toSeq: _*)
}
