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
import software.amazon.awssdk.http.SdkHttpResponse

/**
 * Counts the requests of Hadoop's S3 client by the names of the protocol, delays each by a fixed time, and spoils
 * some answers.
 */
class StoreRequests extends ExecutionInterceptor {

  /** The store has done what was asked, and the client hears something else. */
  override def modifyHttpResponse(
      context: Context.ModifyHttpResponse,
      attributes: ExecutionAttributes): SdkHttpResponse = {
    val operation = attributes.getAttribute(SdkExecutionAttribute.OPERATION_NAME)
    StoreRequests.spoiled(operation, context.httpResponse.statusCode).fold(context.httpResponse)(
      status => context.httpResponse.toBuilder.statusCode(status).build())
  }

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

  /** The status that every second answer to a put has instead of success. */
  @volatile private var spoil = Option.empty[Int]
  private val puts = new AtomicLong

  /** Runs `body` while answers to puts are spoiled; the number of these answers, and what `body` returns. */
  def spoiling[T](status: Int)(body: => T): (T, Long) = {
    puts.set(0)
    spoil = Some(status)
    try {
      val result = body
      (result, (puts.get + 1) / 2)
    } finally spoil = None
  }

  private def spoiled(operation: String, status: Int): Option[Int] =
    spoil.filter(_ => operation == "PutObject" && status < 300 && puts.getAndIncrement() % 2 == 0)

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
