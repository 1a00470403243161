// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.util

/** Recognises the error of a job that was cancelled. The caller must fail, too, and not go on without the job. */
private[sparkzorder] object JobCancellation {
  private val MaxCauses = 16

  def isCauseOf(e: Throwable): Boolean =
    Iterator.iterate(e)(_.getCause).takeWhile(_ != null).take(MaxCauses).exists(c =>
      Option(c.getMessage).exists(_.contains("SPARK_JOB_CANCELLED")))
}
