// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.index.values

import java.io.ByteArrayInputStream

import io.sparkzorder.ZOrderSessionSuite

/** The settings with which the values of files are read. */
class FewSettingsSuite extends ZOrderSessionSuite {

  test("Hadoop's defaults are left out, and what a user has set stays") {
    val conf = spark.sessionState.newHadoopConf()
    conf.set("fs.s3a.endpoint", "here")
    conf.set("my.directory", "${hadoop.tmp.dir}/x")
    // a value of the user under the name of a default
    conf.set("fs.AbstractFileSystem.file.impl", "77")
    val few = FewSettings.of(conf)
    assert(few.size < conf.size)
    assert(few.get("fs.s3a.endpoint") === "here" && few.get(
      "my.directory") === s"${conf.get("hadoop.tmp.dir")}/x")
    assert(few.get("fs.AbstractFileSystem.file.impl") === "77")
    assert(few.get("hadoop.tmp.dir") === conf.get("hadoop.tmp.dir"))
    assert(few.get("spark.sql.session.timeZone") === conf.get("spark.sql.session.timeZone"))
    assert(few.get("io.serializations") === null)
    // a default that refers to another default
    val defaults = """<configuration>
      <property><name>one</name><value>${two}/1</value></property>
      <property><name>two</name><value>2</value></property>
      </configuration>"""
    conf.addResource(new ByteArrayInputStream(defaults.getBytes("UTF-8")), "our-default.xml")
    assert(FewSettings.of(conf).get("one") === null)
    conf.set("own", "${one}/0")
    assert(FewSettings.of(conf).get("own") === "2/1/0")
    // a file system that is made for each file must have all settings
    conf.set("fs.s3a.impl.disable.cache", "true")
    assert(FewSettings.of(conf) eq conf)
  }
}
