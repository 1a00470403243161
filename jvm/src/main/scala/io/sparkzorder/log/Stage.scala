package io.sparkzorder.log

/** How far a committed run is in one folder: where its token lies. */
private[log] sealed trait Stage
private[log] object Stage {

  /** Committed, and nothing of it is visible. */
  case object Waiting extends Stage

  /** The folder is being published. */
  case object Publishing extends Stage

  /** Every new file is visible. */
  case object Finished extends Stage

  /** The old files count: in conflict with another program, or abandoned. */
  case object Conflict extends Stage

  /** There is no token: the folder was overwritten by a program that spares hidden names, or dropped. */
  case object Gone extends Stage
}
