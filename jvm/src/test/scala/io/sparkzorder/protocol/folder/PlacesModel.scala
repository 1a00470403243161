// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.protocol.folder

import io.sparkzorder.protocol.{Disk, Finished, Program, Text}
import io.sparkzorder.protocol.Program._

/** Where the folders of a run are now, by the copies of its changes. */
final class PlacesModel(fault: Fault.Value) {

  /** Each change with the same change by the folder where it is; None when nothing is left of it. */
  def of(run: Run): Program[Seq[(Change, Option[Change])]] =
    if (fault == Fault.NoCopies) Finished(run.changes.map(c => c -> Some(c)))
    else each(run.changes)(c => look("copy?")(copyIn(_, c.folder, run.id)).map(c -> _)).flatMap {
      seen =>
        val missing = seen.filterNot { case (c, copy) => copy.contains(c.folder) }
        if (missing.isEmpty) Finished(seen.map { case (c, _) => c -> Some(c) })
        else for {
          first <- search(run.id)
          found <- if (missing.forall(m => first.contains(m._1.folder))) Finished(first)
          else search(run.id).map(first ++ _)
        } yield seen.map { case (c, copy) =>
          val folder =
            if (copy.contains(c.folder)) Some(c.folder)
            else found.get(c.folder).orElse(if (copy.isEmpty) Some(c.folder) else None)
          c -> folder.map(f => c.copy(folder = f))
        }
    }

  private def copyIn(d: Disk, folder: String, run: String): Option[String] =
    Seq(At.own(folder, run), At.closed(folder, run)).flatMap(o => d.get(s"$o/_change"))
      .collectFirst { case Text(of) => of }

  /** The folders of the table, and then each of them: a folder may be moved in between. */
  private def search(run: String): Program[Map[String, String]] = for {
    folders <- look("list tree")(d =>
      d.list("t").getOrElse(Nil).filter(At.isVisible).map(n => s"t/$n").filter(d.directories))
    found <- each(folders)(f => look("copy in")(copyIn(_, f, run)).map(_.map(_ -> f)))
  } yield found.flatten.toMap
}
