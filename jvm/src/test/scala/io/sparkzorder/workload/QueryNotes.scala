// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.workload

import java.io.File
import java.nio.file.Files
import java.util.UUID

import org.apache.commons.io.FileUtils
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import io.sparkzorder.log.StateDirectory

/** What single queries leave in the record of a table, kept in a file for each query. */
object QueryNotes {
  private val conf = new Configuration()

  private def store(table: File) =
    new WorkloadStore(new StateDirectory(new Path(table.toURI), conf), conf)

  /** Moves the notes that the driver has made of a table since the last call into `file`. */
  def take(table: File, file: File): Unit = {
    WorkloadCapture.flush()
    store(table).read(WorkloadStore.today).foreach { sketch =>
      FileUtils.writeByteArrayToFile(file, SketchFormat.toBytes(sketch))
    }
    forget(table)
  }

  def forget(table: File): Unit =
    FileUtils.deleteDirectory(new File(table, s"_zorder/${WorkloadStore.Name}"))

  private def read(file: File): StoredSketch = SketchFormat.of(Files.readAllBytes(file.toPath))

  /** The notes of some files as one workload. */
  def workload(files: Seq[File]): Workload =
    Workload.of(files.map(read), WorkloadStore.today)

  /** Puts notes beside a table as if the queries had been run so often, by several drivers. */
  def put(table: File, files: Seq[File], times: Int): Unit =
    for (file <- files; _ <- 0 until times) {
      val sketch = read(file).copy(id = UUID.randomUUID().toString, day = WorkloadStore.today)
      store(table).write(sketch, None)
    }
}
