package io.sparkzorder.workload

import java.io.File
import java.util.UUID

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import io.sparkzorder.log.StateDirectory

/** Makes a recorded workload count as if it had been run by several drivers. */
object RepeatedWorkload {
  def of(dir: File, times: Int): Unit = {
    WorkloadCapture.flush()
    val conf = new Configuration()
    val store = new WorkloadStore(new StateDirectory(new Path(dir.toURI), conf), conf)
    for (sketch <- store.read(WorkloadStore.today); _ <- 1 until times)
      store.write(sketch.copy(id = UUID.randomUUID().toString), None)
  }
}
