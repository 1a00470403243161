package io.sparkzorder.protocol

/** Ways to break the protocol, each of which the explorer must catch. */
object Variant extends Enumeration {

  /** The protocol as the code has it. */
  val AsBuilt: Value = Value

  /** The record appears before the new files were verified. */
  val CommitBeforeVerify: Value = Value

  /** Replaced files are deleted before the record appears. */
  val DeleteBeforeCommit: Value = Value

  /** New files get their names before the replaced ones are out. */
  val NewBeforeOld: Value = Value

  /** Who finds the record there overwrites it. */
  val CommitByOverwrite: Value = Value

  /** Nobody looks whether the inputs are as they were listed. */
  val NoRecheck: Value = Value

  /** New files go straight from `_staged` to their names, after one look at a marker in the folder. */
  val StagedStraightIn: Value = Value

  /** The same, and recovery does not look for the marker. */
  val MarkerIgnored: Value = Value

  /** The mark of a published run does not say which run it was. */
  val DoneWithoutRun: Value = Value

  /** No look at a replaced file after it was moved. */
  val NoLookAfterMove: Value = Value

  /** A conflict puts no replaced file back. */
  val NothingBack: Value = Value

  /** A conflict puts replaced files back without a look whether the folder was overwritten. */
  val BackUnseen: Value = Value

  /** Replaced files go out although a new file is gone. */
  val PartialFiles: Value = Value
}
