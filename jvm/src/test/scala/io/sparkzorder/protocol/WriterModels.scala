// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.protocol

import io.sparkzorder.protocol.Program._

/** Everybody else who changes the table, and knows nothing of `_zorder/`. */
object WriterModels {

  /** INSERT INTO: one new file, in a directory that is made when it is not there. */
  def append(folder: String, rows: Seq[String]): Program[Unit] = change("append") { d =>
    d.makeDirectories(folder).put(s"$folder/x", Rows(rows)).get.note(RowsAppended(folder))
  }

  /** A program that writes its own file again under the old name, by a rename over it. */
  def overwriteFile(path: String, rows: Seq[String]): Program[Unit] = change("overwrite file") {
    d =>
      d.put(path, Rows(rows, modified = 1)) match {
        case Some(after) =>
          after.copy(userDeleted = d.userDeleted ++ d.rows(path).toSeq.flatMap(_.rows))
            .note(FileRewritten(Disk.parent(path)))
        case None => d
      }
  }

  def renameFile(from: String, to: String): Program[Unit] =
    change("rename file")(d => d.rename(from, to).getOrElse(d))

  /** ALTER TABLE RENAME PARTITION, or `mv`: the folder with all that is in it. */
  def move(from: String, to: String): Program[Unit] = change("move folder") { d =>
    d.renameDirectory(from, to).fold(d)(_.note(FolderMoved(from, to)))
  }

  /** A task that goes on after its statement has ended. It makes no directory. */
  def lateTask(directory: String): Program[Unit] = change("late file")(d =>
    d.put(s"$directory/_new_9", Rows(Seq("late"))).getOrElse(d))

  /** DROP PARTITION, all at once. */
  def drop(folder: String): Program[Unit] = change("drop folder") { d =>
    if (!d.directories(folder)) d
    else {
      val gone =
        d.files.collect { case (p, r: Rows) if p.startsWith(folder + "/") => r.rows }.flatten
      d.deleteTree(folder).copy(userDeleted = d.userDeleted ++ gone).note(FolderCleared(folder))
    }
  }

  /** `cp -p` or a restored backup: a file with the content and the times that it had at first. */
  def bringBack(path: String, content: Rows): Program[Unit] = change("bring back") { d =>
    if (d.get(path).isDefined) d
    else d.put(path, content).fold(d)(_.note(OriginalsReturned(Disk.parent(path))))
  }

  /** A program that removes empty files: all visible ones without rows. */
  def cleanEmpty(folder: String): Program[Unit] = change("remove empty files") { d =>
    d.list(folder).getOrElse(Nil).map(n => s"$folder/$n")
      .filter(p =>
        d.get(p).exists(c => !c.isInstanceOf[Rows]) && !p.split('/').last.startsWith("_"))
      .foldLeft(d)((now, p) => now.delete(p))
  }

  /** The same, also below hidden names: the token that ABANDON puts into a folder in doubt has no bytes. */
  def cleanConflict(directories: Seq[String]): Program[Unit] = change("remove _conflict")(d =>
    directories.foldLeft(d)((now, own) => now.delete(s"$own/_conflict")))

  /**
   * INSERT OVERWRITE of a partition, and of a whole table with `_zorder/` in it, as Spark does it on
   * local disk: the directory is listed and its files are deleted one by one; where something has
   * come into it meanwhile, the statement fails. HDFS deletes a tree at once, which is one of these
   * interleavings.
   *
   * @param stateFirst whether `_zorder/` is deleted before the data files
   * @param into folder of the file that is written, which is named after the first of `rows`
   */
  def overwrite(
      directory: String,
      into: String,
      rows: Seq[String],
      stateFirst: Boolean = true): Program[String] = for {
    cleared <- clear(directory, directory, stateFirst)
    _ <- if (cleared) unit else Failed("cannot clear the directory")
    _ <- Forget(("write", directory), change("mkdirs")(_.makeDirectories(into)))
    _ <- step("write") { d =>
      val written =
        d.put(s"$into/${rows.head}", Rows(rows)).map(_.note(FolderWritten(directory, rows.head)))
      written.map(_ -> true).getOrElse(d -> false)
    }.flatMap(ok => if (ok) unit else Failed("cannot write"))
  } yield "overwritten"

  private def clear(directory: String, top: String, stateFirst: Boolean): Program[Boolean] = {
    val children = look("list") { d =>
      d.list(directory).map { names =>
        val order = if (stateFirst) names else names.reverse
        order.map(n => s"$directory/$n").map(p => p -> d.directories(p))
      }
    }
    children.flatMap {
      case None => Finished(true)
      case Some(listed) =>
        def one(left: List[(String, Boolean)]): Program[Unit] = left match {
          case Nil => unit
          case (path, isDirectory) :: rest =>
            val delete =
              if (isDirectory) clear(path, top, stateFirst).map(_ => ()) else deleteFile(path)
            delete.flatMap(_ => one(rest))
        }
        one(listed.toList).flatMap(_ =>
          step("rmdir") { d =>
            d.removeDirectory(directory) match {
              case Some(after) if directory == top => (after.note(FolderCleared(top)), true)
              case Some(after) => (after, true)
              case None => (d, false)
            }
          })
    }
  }

  private def deleteFile(path: String): Program[Unit] = change("delete") { d =>
    d.delete(path).copy(userDeleted = d.userDeleted ++ d.rows(path).toSeq.flatMap(_.rows))
  }
}
