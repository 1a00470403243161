package io.sparkzorder.log

import org.apache.hadoop.fs.Path

/**
 * Something below `_zorder/` that was meant to be there for a while only.
 *
 * @param run whose it is; of a temporary file its name
 * @param files files in it, and itself when it is a file
 * @param sinceMs when the files were replaced, or when the newest was written, in milliseconds
 */
final case class Leftover(
    kind: Leftover.Kind,
    path: Path,
    run: String,
    files: Long,
    bytes: Long,
    sinceMs: Long)

object Leftover {
  sealed abstract class Kind(val name: String)

  /** Files that a published run replaced. */
  case object Retained extends Kind("retained")

  /** Files that a run replaced which met a conflict: they may be the only copy, and stay. */
  case object Conflict extends Kind("conflict")

  /** Files of a run that no record says has committed. */
  case object Staged extends Kind("staged")

  /** A record that was written and never got its number. */
  case object Temporary extends Kind("temporary")
}
