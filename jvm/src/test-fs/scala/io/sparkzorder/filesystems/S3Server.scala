// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.filesystems

import java.io.{File, IOException}
import java.net.{HttpURLConnection, InetAddress, ServerSocket, Socket, URI, URLClassLoader}
import java.nio.file.Files

import scala.util.control.NonFatal

/**
 * S3Proxy, a server of the S3 protocol that keeps objects in memory, in this process. It has a class
 * loader of its own, since its libraries are not those of Spark, and ends with the process.
 */
object S3Server {
  private val host = "127.0.0.1"
  private val patienceMs = 60000L

  private lazy val port: Int = {
    val free = new ServerSocket(0, 1, InetAddress.getByName(host))
    try free.getLocalPort
    finally free.close()
  }

  /** The address of the running server; the first call starts it. */
  lazy val endpoint: String = {
    start()
    awaitAnswer()
    s"http://$host:$port"
  }

  /** Makes a bucket. */
  def makeBucket(name: String): Unit = {
    val connection =
      URI.create(s"$endpoint/$name").toURL.openConnection().asInstanceOf[HttpURLConnection]
    connection.setRequestMethod("PUT")
    require(connection.getResponseCode == 200, s"bucket $name: ${connection.getResponseMessage}")
    connection.disconnect()
  }

  /** Settings of a session that reaches the server by Hadoop's own S3 client. */
  def settings: Map[String, String] = Map(
    "endpoint" -> endpoint,
    "endpoint.region" -> "us-east-1",
    "path.style.access" -> "true",
    "connection.ssl.enabled" -> "false",
    "access.key" -> "access",
    "secret.key" -> "secret",
    "attempts.maximum" -> "3").map { case (k, v) => s"spark.hadoop.fs.s3a.$k" -> v }

  /** Runs a program, and ends it with the server, whose threads would go on. */
  def program(body: => Unit): Unit =
    try {
      body
      sys.exit(0)
    } catch {
      case NonFatal(e) =>
        e.printStackTrace()
        sys.exit(1)
    }

  private def start(): Unit = {
    val urls = System.getProperty("zorder.test.s3server").split(File.pathSeparatorChar)
      .map(new File(_).toURI.toURL)
    System.setProperty("logback.configurationFile", quietLog().getAbsolutePath)
    val loader = new URLClassLoader(urls, ClassLoader.getPlatformClassLoader)
    val thread = Thread.currentThread()
    val before = thread.getContextClassLoader
    // the server looks its parts up by the loader of the thread
    thread.setContextClassLoader(loader)
    try loader.loadClass("org.gaul.s3proxy.Main").getMethod("main", classOf[Array[String]])
        .invoke(null, Array("--properties", properties().getAbsolutePath))
    finally thread.setContextClassLoader(before)
  }

  private def properties(): File =
    file(
      ".properties",
      "s3proxy.authorization=none",
      s"s3proxy.endpoint=http://$host:$port",
      "jclouds.provider=transient",
      "jclouds.identity=access",
      "jclouds.credential=secret")

  // else its logger, which nobody but the server uses, prints every request
  private def quietLog(): File =
    file(".xml", "<configuration><root level=\"WARN\"/></configuration>")

  private def file(suffix: String, lines: String*): File = {
    val made = File.createTempFile("s3proxy", suffix)
    made.deleteOnExit()
    Files.write(made.toPath, lines.mkString("\n").getBytes("UTF-8"))
    made
  }

  private def awaitAnswer(): Unit = {
    val until = System.currentTimeMillis() + patienceMs
    def answers: Boolean =
      try {
        new Socket(host, port).close()
        true
      } catch { case _: IOException => false }
    while (!answers) {
      require(System.currentTimeMillis() < until, s"no S3 server on port $port")
      Thread.sleep(50)
    }
  }
}
