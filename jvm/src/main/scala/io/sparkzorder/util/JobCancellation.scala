// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.util

import org.apache.commons.lang3.exception.ExceptionUtils

/**
 * Recognises the error of a job that was cancelled. Spark has no class of its own for this error. The caller must fail,
 * too, unless its work is already committed.
 */
private[sparkzorder] object JobCancellation {
  def isCauseOf(e: Throwable): Boolean =
    ExceptionUtils.getThrowables(e).exists(c =>
      Option(c.getMessage).exists(_.contains("SPARK_JOB_CANCELLED")))
}
