// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.log.publish

import java.io.File

import scala.util.Try

import org.apache.spark.SparkThrowable

import io.sparkzorder.TestConditions
import io.sparkzorder.log.{Record, StateDirectory, StateTestBase}

/** A committed run of two folders, and what publishing must have made of it. */
abstract class PublisherTestBase extends StateTestBase {

  protected val folders = Map(
    "" -> ((Seq("a", "b"), Seq("n1", "n2"))),
    "p=1" -> ((Seq("a", "c"), Seq("n1"))))

  /** A committed run that is not published. */
  protected def committed(dir: File, state: StateDirectory): Record = {
    val record = stage(dir, state, "run", folders)
    assert(state.createRecord(1, record))
    record
  }

  /** Publishes the run, unless somebody must say what a folder holds: then nothing of it moves. */
  protected def recover(dir: File, record: Record): Unit = {
    val state = stateOf(dir)
    if (!state.isDone(1)) {
      def hidden = Option(new File(dir, s"p=1/_zorder_$run").list()).toSeq.flatten
        .filter(_.startsWith("_old_")).toSet
      val before = (visible(dir, "p=1"), hidden)
      Try(new Publisher(state).publish(1, record)).failed.foreach {
        case e: SparkThrowable if TestConditions.of(e) == "ZORDER_FOLDER_IN_DOUBT" =>
          assert((visible(dir, "p=1"), hidden) === before && before._2.nonEmpty)
        case _ => assert(state.isDone(1))
      }
    }
  }

  protected def checkPublished(dir: File, state: StateDirectory): Unit = {
    assert(visible(dir) === Set("n1", "n2"))
    assert(visible(dir, "p=1") === Set("n1"))
    assert(text(dir, "n1") === "new n1" && text(dir, "p=1/n1") === "new n1")
    assert(state.isDone(1))
    for ((folder, old) <- Seq(
        dir -> Set("old a", "old b"),
        new File(dir, "p=1") -> Set("old p=1/a", "old p=1/c"))) {
      val own = new File(folder, s"_zorder_$run").listFiles.toSeq
      val (retained, rest) = own.partition(_.getName.startsWith("_old_"))
      assert(retained.map(f => text(f.getParentFile, f.getName)).toSet === old)
      assert(rest.map(_.getName) === Seq("_finished"))
    }
    // by the note the replaced files are found later
    assert(new File(dir, s"_zorder/_runs/_$run").exists())
  }

  protected def rename(dir: File, from: String, to: String): Unit = {
    val target = new File(dir, to)
    target.getParentFile.mkdirs()
    assert(new File(dir, from).renameTo(target))
  }

  protected def delete(f: File): Unit = {
    Option(f.listFiles).toSeq.flatten.foreach(delete)
    f.delete()
  }
}
