// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder

import java.io.{ByteArrayOutputStream, File}
import java.net.URI
import java.nio.file.{FileAlreadyExistsException => NioFileExists, Files, StandardCopyOption}
import java.util.UUID
import java.util.concurrent.ConcurrentHashMap

import org.apache.hadoop.fs.{
  EtagSource,
  FileAlreadyExistsException,
  FileStatus,
  FSDataOutputStream,
  Path
}
import org.apache.hadoop.fs.permission.FsPermission
import org.apache.hadoop.util.Progressable

/**
 * An object store over the local disk, under the scheme of one: an object appears when its writer closes
 * it, at once; directories come and go with objects; times are whole seconds; nothing is renamed. The hook of
 * [[FaultyFileSystem]] runs before each request, and, as `answer`, when an object was put.
 */
class StoreFileSystem extends FaultyFileSystem {
  override def getUri: URI = URI.create("gs:///")
  override def getScheme: String = "gs"
  override protected def hasOwners: Boolean = false

  override def create(
      path: Path,
      permission: FsPermission,
      overwrite: Boolean,
      bufferSize: Int,
      replication: Short,
      blockSize: Long,
      progress: Progressable): FSDataOutputStream = {
    val content = new ByteArrayOutputStream {
      private var isOpen = true
      override def close(): Unit = if (isOpen) {
        isOpen = false
        put(path, toByteArray, overwrite || StoreFileSystem.lies)
      }
    }
    new FSDataOutputStream(content, null)
  }

  override def create(
      path: Path,
      overwrite: Boolean,
      bufferSize: Int,
      replication: Short,
      blockSize: Long,
      progress: Progressable): FSDataOutputStream =
    create(path, null, overwrite, bufferSize, replication, blockSize, progress)

  private def put(path: Path, content: Array[Byte], overwrite: Boolean): Unit = {
    FaultyFileSystem.before("put", path)
    val file = pathToFile(path).toPath
    val spool = Files.createTempFile("object", null)
    try {
      Files.write(spool, content)
      Files.createDirectories(file.getParent)
      if (overwrite) Files.move(spool, file, StandardCopyOption.REPLACE_EXISTING)
      else Files.createLink(file, spool)
      StoreFileSystem.etags.put(file.toString, UUID.randomUUID().toString)
    } catch {
      case _: NioFileExists => throw new FileAlreadyExistsException(path.toString)
    } finally {
      val _ = Files.deleteIfExists(spool)
    }
    FaultyFileSystem.before("answer", path)
  }

  override def createNonRecursive(
      path: Path,
      permission: FsPermission,
      overwrite: Boolean,
      bufferSize: Int,
      replication: Short,
      blockSize: Long,
      progress: Progressable): FSDataOutputStream =
    throw new UnsupportedOperationException(s"no directory to look for: $path")

  override def rename(from: Path, to: Path): Boolean =
    throw new UnsupportedOperationException(s"rename of $from")

  override def mkdirs(path: Path): Boolean = true
  override def mkdirs(path: Path, permission: FsPermission): Boolean = true
  override def setPermission(path: Path, permission: FsPermission): Unit = ()

  override def delete(path: Path, recursive: Boolean): Boolean = {
    val deleted = super.delete(path, recursive)
    var above = pathToFile(path).getParentFile
    while (above != null && above.getName != "table" && Option(above.list).exists(_.isEmpty)) {
      above.delete()
      above = above.getParentFile
    }
    deleted
  }

  /** The local file system looks at each file, a store does not. */
  override def listStatus(path: Path): Array[FileStatus] = {
    isListing.set(true)
    try super.listStatus(path).map(tagged)
    finally isListing.set(false)
  }

  private val isListing = ThreadLocal.withInitial[Boolean](() => false)

  override def getFileStatus(path: Path): FileStatus = {
    if (!isListing.get) FaultyFileSystem.before("status", path)
    tagged(super.getFileStatus(path))
  }

  private def tagged(s: FileStatus): FileStatus =
    new TaggedStatus(s, StoreFileSystem.etags.get(new File(s.getPath.toUri.getPath).toString))
}

private final class TaggedStatus(s: FileStatus, etag: String)
    extends FileStatus(
      s.getLen,
      s.isDirectory,
      1,
      s.getBlockSize,
      s.getModificationTime / 1000L * 1000L,
      s.getPath)
    with EtagSource {
  override def getEtag: String = etag
}

object StoreFileSystem {
  private val etags = new ConcurrentHashMap[String, String]

  /** True while the store creates an object twice, whatever a client asks for. */
  @volatile var lies = false

  val settings: Map[String, String] =
    Map("spark.hadoop.fs.gs.impl" -> classOf[StoreFileSystem].getName)
}
