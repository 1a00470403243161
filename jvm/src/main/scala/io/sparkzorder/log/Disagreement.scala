// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.log

import org.apache.hadoop.fs.Path

import io.sparkzorder.errors.ZOrderErrors

/**
 * Files of a folder that another program has put there under names which a run has replaced, while the
 * files of later runs hold the rows.
 */
private[sparkzorder] sealed trait Disagreement {
  def folder: Path

  /** Names of the files, ascending. */
  def names: Seq[String]

  /** The newest run that replaced one of them. */
  def run: String

  /** What SHOW LAYOUT and the log of a query say. */
  def warning: String
}

/**
 * The replaced files themselves, with their length and modification time: a backup was restored
 * or copied them back. Their rows are in later files, so the files do not count.
 */
private[sparkzorder] final case class Returned(folder: Path, names: Seq[String], run: String)
    extends Disagreement {
  override def warning: String =
    s"${ZOrderErrors.some(names)} in $folder were replaced by run $run and are there again; their " +
      "rows are in other files, so they are left out. Readers without the extension read them twice"
}

/**
 * Other files under these names: a program that writes by fixed names has run again. The files count, and
 * whether their rows are new ones is not known.
 */
private[sparkzorder] final case class Reused(folder: Path, names: Seq[String], run: String)
    extends Disagreement {
  override def warning: String =
    s"${ZOrderErrors.some(names)} in $folder have names that run $run replaced, and are other files; " +
      "if a program wrote them again to correct rows, the old rows are in the table as well"
}
