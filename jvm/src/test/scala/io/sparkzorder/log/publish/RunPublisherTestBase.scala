// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.log.publish

import java.io.File

import scala.util.Try

import org.apache.spark.SparkThrowable

import io.sparkzorder.TestConditions
import io.sparkzorder.log.{Added, FolderChange, Record, Replaced, StateDirectory, StateTestBase}

/** One committed run of two folders, and what everybody may see of it. */
abstract class RunPublisherTestBase extends StateTestBase {
  protected val own = s"_zorder_$run"
  protected val folders = Map(
    "" -> ((Seq("a", "b"), Seq("n1", "n2"))),
    "p=1" -> ((Seq("a", "b", "c", "d"), Seq("n1", "n2"))))
  protected val (old, fresh) = (Set("a", "b", "c", "d"), Set("n1", "n2"))

  /** A committed run whose files wait in their folders. */
  protected def committed(dir: File, state: StateDirectory): Record = {
    state.create()
    val changes = folders.toSeq.sortBy(_._1).map { case (folder, (replaced, added)) =>
      val at = if (folder.isEmpty) dir else new File(dir, folder)
      val olds = replaced.zipWithIndex.map { case (n, i) =>
        val f = put(at, n, s"old $folder/$n")
        Replaced(n, f.length, f.lastModified, s"_old_$i")
      }
      put(at, s"$own/_waiting", "")
      FolderChange(
        folder,
        olds,
        added.zipWithIndex.map { case (n, i) =>
          val f = put(at, s"$own/_new_${i}_0", s"new $folder/$n")
          Added(s"_new_${i}_0", n, f.length, 1L, f.lastModified)
        })
    }
    val record = Record(
      Record.Version,
      Record.Optimize,
      run,
      1L,
      "me",
      Seq("a"),
      1L,
      changes,
      suffix = ".parquet")
    assert(state.createRecord(1, record))
    state.read(1)
  }

  protected final class OneRun(state: StateDirectory, record: Record) {
    def publish(): Unit = new Publisher(state).publish(1, record)
    def abandon(): Unit = new Publisher(state).abandon(1, record)
  }

  protected def publisher(state: StateDirectory, record: Record) = new OneRun(state, record)

  /** Publishes the run, unless somebody must say what a folder holds: then nothing of it moves. */
  protected def recover(dir: File, record: Record): Unit = {
    val state = stateOf(dir)
    if (!state.isDone(1)) {
      def hiddenIn(f: String) = (visible(dir, f), inside(dir, f).filter(_.startsWith("_old_")))
      val before = hiddenIn("p=1")
      Try(publisher(state, record).publish()).failed.foreach {
        case e: SparkThrowable if TestConditions.of(e) == "ZORDER_FOLDER_IN_DOUBT" =>
          assert(hiddenIn("p=1") === before && before._2.nonEmpty)
        case _ => assert(state.isDone(1))
      }
    }
  }

  protected def inside(dir: File, folder: String): Set[String] =
    Option(new File(new File(dir, folder), own).list()).map(_.toSet).getOrElse(Set.empty)

  protected def checkPublished(dir: File): Unit = {
    assert(visible(dir) === fresh && visible(dir, "p=1") === fresh)
    assert(inside(dir, "p=1") === Set("_finished", "_old_0", "_old_1", "_old_2", "_old_3"))
  }
}
