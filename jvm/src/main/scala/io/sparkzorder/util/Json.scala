// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.util

import scala.util.Try

import com.fasterxml.jackson.databind.{DeserializationFeature, ObjectMapper}
import com.fasterxml.jackson.module.scala.DefaultScalaModule

/** Writes case classes as JSON, and reads them. A reader ignores fields that this version does not know. */
private[sparkzorder] object Json {
  val mapper: ObjectMapper = new ObjectMapper()
    .registerModule(DefaultScalaModule)
    .configure(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES, false)

  /**
   * Makes Jackson look up the names of the constructors' parameters now. It reads the class files for that,
   * which fails once the session that brought our jar has closed the jar.
   */
  def readClassFiles(classes: Class[_]*): Unit =
    classes.foreach(c => Try(mapper.readValue("{}", c)))
}
