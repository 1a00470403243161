// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.protocol.folder

import io.sparkzorder.protocol.{FolderCleared, FolderWritten, Program, Rows}
import io.sparkzorder.protocol.Program._

/** Those who overwrite what they see: Hive's INSERT OVERWRITE, and rm *.parquet. */
object SparingWriter {
  def overwrite(folder: String, row: String): Program[Unit] = for {
    _ <- change("clear visible") { d =>
      val gone = d.list(folder).getOrElse(Nil).filter(At.isVisible).map(n => s"$folder/$n")
        .filter(p => d.get(p).isDefined)
      gone.foldLeft(d) { (now, p) =>
        now.delete(p).copy(userDeleted = now.userDeleted ++ d.rows(p).toSeq.flatMap(_.rows))
      }.note(FolderCleared(folder))
    }
    _ <- change("write")(d =>
      d.put(s"$folder/$row", Rows(Seq(row)))
        .map(_.note(FolderWritten(folder, row))).getOrElse(d))
  } yield ()

  /** Removes a file of a folder, as DELETE of single files by hand. */
  def remove(path: String): Program[Unit] = change("remove file") { d =>
    d.delete(path).copy(userDeleted = d.userDeleted ++ d.rows(path).toSeq.flatMap(_.rows))
  }
}
