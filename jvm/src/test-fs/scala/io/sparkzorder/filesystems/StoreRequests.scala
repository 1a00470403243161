// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.filesystems

import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicLong

import scala.collection.JavaConverters._

import software.amazon.awssdk.core.interceptor.{
  Context,
  ExecutionAttributes,
  ExecutionInterceptor,
  SdkExecutionAttribute
}

/** Counts the requests of Hadoop's S3 client by the names of the protocol, and delays each by a fixed time. */
class StoreRequests extends ExecutionInterceptor {

  override def beforeTransmission(
      context: Context.BeforeTransmission,
      attributes: ExecutionAttributes): Unit = {
    val operation = attributes.getAttribute(SdkExecutionAttribute.OPERATION_NAME)
    StoreRequests.counts.computeIfAbsent(operation, _ => new AtomicLong).incrementAndGet()
    if (StoreRequests.delayMs > 0) Thread.sleep(StoreRequests.delayMs)
  }
}

object StoreRequests {
  private val counts = new ConcurrentHashMap[String, AtomicLong]

  /** So many milliseconds pass before each request. */
  @volatile var delayMs: Long = 0

  /** The setting of a session whose requests are counted. */
  val setting: (String, String) =
    "spark.hadoop.fs.s3a.audit.execution.interceptors" -> classOf[StoreRequests].getName

  /** The requests of `body` by operation, such as `GetObject`, and what `body` returns. */
  def of[T](body: => T): (T, Map[String, Long]) = {
    counts.clear()
    val result = body
    (result, counts.asScala.map { case (operation, n) => operation -> n.get }.toMap)
  }
}
