// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.util

import scala.util.Try

import com.fasterxml.jackson.databind.{DeserializationFeature, ObjectMapper}
import com.fasterxml.jackson.module.scala.DefaultScalaModule

/** How case classes are written as JSON. A member that only a newer version knows is left out. */
private[sparkzorder] object Json {
  val mapper: ObjectMapper = new ObjectMapper()
    .registerModule(DefaultScalaModule)
    .configure(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES, false)

  /**
   * Lets Jackson read the class files of some classes. It does so once for each class, to find the names of
   * parameters.
   */
  def readClassFiles(classes: Class[_]*): Unit =
    classes.foreach(c => Try(mapper.readValue("{}", c)))
}
