// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.util

/** Tells an error of a job that somebody has cancelled. What needed the job must not go on without it. */
private[sparkzorder] object JobCancellation {
  private val MaxCauses = 16

  def isCauseOf(e: Throwable): Boolean =
    Iterator.iterate(e)(_.getCause).takeWhile(_ != null).take(MaxCauses).exists(c =>
      Option(c.getMessage).exists(_.contains("SPARK_JOB_CANCELLED")))
}
