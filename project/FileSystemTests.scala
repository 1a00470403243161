// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

import sbt._

/** What `make test-fs` needs besides Spark: an HDFS cluster, Hadoop's S3 client and an S3 server. */
object FileSystemTests {

  /** The Hadoop that Spark 4.1 brings. */
  private val hadoop = "3.4.2"

  /** The AWS SDK of that Hadoop. */
  private val awsSdk = "2.29.52"

  // Hadoop asks for all of the SDK in one jar of 600 MB
  private val sdkBundle = ExclusionRule("software.amazon.awssdk", "bundle")

  val modules: Seq[ModuleID] = Seq(
    "org.apache.hadoop" % "hadoop-client-minicluster" % hadoop,
    ("org.apache.hadoop" % "hadoop-aws" % hadoop).excludeAll(sdkBundle),
    "software.amazon.awssdk" % "s3" % awsSdk,
    "software.amazon.awssdk" % "s3-transfer-manager" % awsSdk,
    "software.amazon.awssdk" % "sts" % awsSdk).map(_ % Test)

  /** The server has a class loader of its own, since its libraries are not those of Spark. */
  val server: Seq[ModuleID] = Seq("org.gaul" % "s3proxy" % "4.1.0")

  /** The system property that tells the tests where the server's jars are. */
  val serverClasspath = "zorder.test.s3server"
}
