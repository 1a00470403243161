package io.sparkzorder.torture

import java.io.File

import scala.util.{Random, Try}

import org.apache.spark.sql.SparkSession

import io.sparkzorder.FaultyFileSystem

/**
 * What is killed: a statement on a table in some state.
 *
 * @param name as the table of kills shows the scene
 * @param text the statement on a table
 * @param prepare brings a fresh table there
 */
private[torture] final case class Scene(
    name: String,
    text: File => String,
    prepare: (SparkSession, File, Random) => Unit)

private[torture] object Scene {
  private def path(table: File) = s"'faulty://${table.getAbsolutePath}'"

  private def optimized(bytes: Long)(session: SparkSession, table: File): Unit = {
    val _ = session.sql(TortureSession.statement(table, "a, b", bytes)).collect()
  }

  /** A run that died at a random rename of its publishing. */
  private def half(bytes: Long)(session: SparkSession, table: File, random: Random): Unit =
    Torture.synchronized {
      var (seen, dead) = (0, false)
      val last = random.nextInt(30)
      FaultyFileSystem.withHook { (operation, at) =>
        if (at.toUri.getPath.startsWith(table.getAbsolutePath)) synchronized {
          val name = at.getName
          if (operation == "rename" && (name.startsWith("part-") || name.startsWith("_old_") ||
              name == "_finished")) {
            if (seen == last) dead = true
            seen += 1
          }
          if (dead && StepLog.changes(operation)) throw new FaultyFileSystem.Injected(name)
        }
      }(Try(optimized(bytes)(session, table)))
      ()
    }

  def all(bytes: Long): Seq[Scene] = Seq(
    Scene("OPTIMIZE", TortureSession.statement(_, "a, b", bytes), (_, _, _) => ()),
    Scene("RECOVER", t => s"RECOVER LAYOUT ${path(t)}", half(bytes)),
    Scene("RECOVER ABANDON", t => s"RECOVER LAYOUT ${path(t)} ABANDON", half(bytes)),
    Scene("UNDO", t => s"UNDO LAYOUT ${path(t)}", (s, t, _) => optimized(bytes)(s, t)),
    Scene(
      "VACUUM",
      t => s"VACUUM LAYOUT ${path(t)} RETAIN 0 HOURS",
      (s, t, r) => if (r.nextBoolean()) optimized(bytes)(s, t) else half(bytes)(s, t, r)))
}
