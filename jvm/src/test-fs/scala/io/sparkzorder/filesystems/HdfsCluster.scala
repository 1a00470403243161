// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.filesystems

import java.io.File
import java.security.PrivilegedExceptionAction

import scala.util.Try

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.hadoop.fs.permission.FsPermission
import org.apache.hadoop.hdfs.{DistributedFileSystem, MiniDFSCluster}
import org.apache.hadoop.security.UserGroupInformation

/**
 * An HDFS cluster of one data node in this process. Its superuser is whoever runs the tests; the
 * tests themselves run as [[HdfsCluster.alice]].
 */
final class HdfsCluster(directory: File) extends AutoCloseable {
  // known to the name node from its start
  require(HdfsCluster.alice != HdfsCluster.bob)

  private val cluster = {
    val conf = new Configuration()
    conf.set(MiniDFSCluster.HDFS_MINIDFS_BASEDIR, directory.getAbsolutePath)
    conf.setBoolean("dfs.permissions.enabled", true)
    // a space quota counts a whole block for a file that is being written
    conf.setLong("dfs.namenode.fs-limits.min-block-size", HdfsCluster.BlockBytes)
    conf.setLong("dfs.blocksize", HdfsCluster.BlockBytes)
    new MiniDFSCluster.Builder(conf).numDataNodes(1).build()
  }

  /** The file system of the superuser, whoever asks. */
  val superuser: DistributedFileSystem = cluster.getFileSystem

  val uri: String = superuser.getUri.toString

  for (user <- Seq(HdfsCluster.alice, HdfsCluster.bob)) {
    val home = new Path(s"/user/${user.getShortUserName}")
    superuser.mkdirs(home, new FsPermission("755"))
    superuser.setOwner(home, user.getShortUserName, user.getPrimaryGroupName)
  }

  /** Stops the name node and starts it again from what it had logged. */
  def restartNameNode(): Unit = cluster.restartNameNode(true)

  override def close(): Unit = cluster.shutdown(true)
}

object HdfsCluster {
  val BlockBytes: Long = 1L << 20

  val alice: UserGroupInformation =
    UserGroupInformation.createUserForTesting("alice", Array("analysts", "interns"))
  val bob: UserGroupInformation =
    UserGroupInformation.createUserForTesting("bob", Array("sales"))

  /** Runs as a user; what fails comes out as it was thrown. */
  def as[T](user: UserGroupInformation)(body: => T): T =
    user.doAs(new PrivilegedExceptionAction[Try[T]] {
      override def run(): Try[T] = Try(body)
    }).get

  /** Settings of a session for a cluster that may be named by its URI. */
  val settings: Map[String, String] = Map(
    "spark.hadoop.fs.hdfs.impl" -> classOf[HookedHdfs].getName,
    "spark.hadoop.dfs.replication" -> "1",
    "spark.hadoop.dfs.blocksize" -> BlockBytes.toString)
}
