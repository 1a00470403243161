// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.index

import java.io.File

import org.apache.hadoop.conf.Configuration

import io.sparkzorder.skipping.SkippingTestBase
import io.sparkzorder.util.RawFiles

/** Indexes of earlier versions of the format. */
class IndexVersionSuite extends SkippingTestBase {

  /** Puts an index of another version in the place of the newest one. */
  private def asOfVersion(dir: File, version: Int): Unit = {
    val conf = spark.sessionState.newHadoopConf()
    val file = storeOf(dir).generations().head
    val reader = new IndexReader(file, conf)
    val (content, header) = (reader.content(), reader.header.copy(version = version, id = ""))
    assert(new File(file.getPath.toUri.getPath).delete())
    IndexWriter.write(content, header, file.getPath, RawFiles.writeRaw(new Configuration(conf)))
  }

  test("CREATE IF NOT EXISTS over an index of a newer version names the condition") {
    withTableDir { dir =>
      filesOf(dir, sql("SELECT 1 i"))
      createIndex(dir)
      asOfVersion(dir, 4)
      fails("ZORDER_STATE_UNREADABLE", "format version is 4")(
        sql(s"CREATE IF NOT EXISTS ZORDER INDEX ON '$dir'").collect())
    }
  }
}
