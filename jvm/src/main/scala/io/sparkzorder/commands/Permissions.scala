// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands

import org.apache.hadoop.security.UserGroupInformation

import io.sparkzorder.errors.{ZOrderErrors, ZOrderException}
import io.sparkzorder.util.Directories

/** What statements do where the file system denies their user something. */
private[sparkzorder] object Permissions {

  /**
   * Runs a statement and returns its result. If the file system denies the user something, the error names the
   * statement and the user.
   *
   * @param statement the statement in the error, such as `UNDO LAYOUT of t`
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_PERMISSION_DENIED
   */
  def namingDenials[T](statement: => String)(body: => T): T =
    try body
    catch {
      case e: ZOrderException => throw e
      case e: Exception => causes(e).find(Directories.isDenied) match {
          case Some(denied) =>
            val user = UserGroupInformation.getCurrentUser.getShortUserName
            val error = ZOrderErrors.permissionDenied(statement, user, denied)
            if (e ne denied) error.addSuppressed(e)
            e.getSuppressed.foreach(error.addSuppressed)
            throw error
          case None => throw e
        }
    }

  private def causes(e: Throwable): Iterator[Throwable] =
    Iterator.iterate(e)(_.getCause).takeWhile(_ != null).take(MaxCauses)

  private val MaxCauses = 20
}
