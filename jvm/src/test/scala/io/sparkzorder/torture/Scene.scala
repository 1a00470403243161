// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.torture

import java.io.File

import scala.util.Try

import org.apache.spark.sql.SparkSession

import io.sparkzorder.FaultyFileSystem

/**
 * What is killed: a statement on a table in some state.
 *
 * @param name as the table of kills shows the scene
 * @param text the statement on a table, which SQL names so
 * @param states the states that the table may be in
 * @param next what a user does after the kill
 * @param isFlat true for a table without partitions, which another writer may change meanwhile
 */
private[torture] final case class Scene(
    name: String,
    text: String => String,
    states: Seq[Scene.State],
    next: String => String,
    isFlat: Boolean = false)

private[torture] object Scene {

  /** What has happened to a table before the statement. */
  sealed trait State

  /** Nothing: it has its first files. */
  case object Fresh extends State

  /** One run is published. */
  case object Optimized extends State

  /** A run died at a rename of its publishing, counted from 0. */
  final case class Half(renames: Int) extends State

  private val halves = (0 until 20 by 2).map(Half)

  def all(bytes: Long): Seq[Scene] = {
    val other: String => String = TortureSession.optimize(_, "b, a", bytes)
    // a folder has about three files of the target size
    val twoPasses: String => String =
      TortureSession.optimize(_, "a, b", bytes, bytes * 22 / 10)
    Seq(
      Scene("OPTIMIZE", TortureSession.optimize(_, "a, b", bytes), Seq(Fresh), other),
      Scene("OPTIMIZE in two passes", twoPasses, Seq(Fresh), twoPasses),
      Scene("OPTIMIZE of one folder", twoPasses, Seq(Fresh), twoPasses, isFlat = true),
      Scene("RECOVER", t => s"RECOVER LAYOUT $t", halves, other),
      Scene("RECOVER ABANDON", t => s"RECOVER LAYOUT $t ABANDON", halves, other),
      Scene("UNDO", t => s"UNDO LAYOUT $t", Seq(Optimized), other),
      Scene(
        "VACUUM",
        t => s"VACUUM LAYOUT $t RETAIN 0 HOURS",
        Seq.fill(10)(Optimized) ++ halves,
        other))
  }

  /** Brings a fresh table to a state. */
  def prepare(session: SparkSession, table: File, bytes: Long, state: State): Unit = state match {
    case Fresh => ()
    case Optimized => optimized(session, table, bytes)
    case Half(last) => half(session, table, bytes, last)
  }

  private def optimized(session: SparkSession, table: File, bytes: Long): Unit = {
    val _ = session.sql(TortureSession.statement(table, "a, b", bytes)).collect()
  }

  private def half(session: SparkSession, table: File, bytes: Long, last: Int): Unit =
    Torture.synchronized {
      var (seen, dead) = (0, false)
      FaultyFileSystem.withHook { (operation, at) =>
        if (TortureTable.holds(table, at)) synchronized {
          val name = at.getName
          if (operation == "rename" && (name.startsWith("part-") || name.startsWith("_old_") ||
              name == "_finished")) {
            if (seen == last) dead = true
            seen += 1
          }
          if (dead && StepLog.changes(operation)) throw new FaultyFileSystem.Injected(name)
        }
      }(Try(optimized(session, table, bytes)))
      ()
    }
}
