package io.sparkzorder.log

import org.apache.hadoop.security.UserGroupInformation

/**
 * Removes replaced files whose time has come, counted from when they were replaced. Those of a run
 * that met a conflict stay: they may be the only copy.
 */
final class Retention(state: StateDirectory) {
  def removeExpired(nowMs: Long): Unit = {
    val cleanup = new Cleanup(state, UserGroupInformation.getCurrentUser.getShortUserName)
    new Leftovers(state, nowMs).expired(None).foreach(cleanup.remove)
  }
}
