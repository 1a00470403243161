// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.index.values

import java.io.IOException
import java.nio.ByteBuffer
import java.util.Arrays
import java.util.concurrent.atomic.LongAdder

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import io.sparkzorder.util.{ManyFiles, RawFiles}

/** Where the buckets of a shard end, and their checksums. */
private[sparkzorder] final class ShardDirectory(bytes: Array[Byte]) {
  private val ints = ByteBuffer.wrap(bytes).asIntBuffer()
  def start(bucket: Int): Int = if (bucket == 0) 0 else ints.get(2 * bucket - 2)
  def end(bucket: Int): Int = ints.get(2 * bucket)
  def checksum(bucket: Int): Int = ints.get(2 * bucket + 1)
  def size: Int = bytes.length
}

/**
 * Looks hashes up in a part. Any damage that could hide an entry raises an error.
 *
 * @param directory of the part
 */
private[sparkzorder] final class PostingsReader(
    directory: Path,
    part: ValuesPart,
    conf: Configuration) {
  import PostingsReader._
  private val format = part.format

  /** Reads the directory of a shard that has entries. */
  def directoryOf(shard: Int): ShardDirectory = {
    val file = part.shards(shard)
    val bytes = read(
      new Path(directory, file.name),
      file.length,
      file.directoryOffset,
      file.directoryLength)
    val found = PostingsFormat.checksum(
      part.id,
      shard,
      PostingsFormat.Directory,
      bytes,
      0,
      bytes.length)
    if (found != file.directoryChecksum) damaged(shard, "directory")
    new ShardDirectory(bytes)
  }

  /**
   * Calls `found` with the number of each file that may have a value with one of the hashes; with
   * `format.allFiles` if every file may have one.
   *
   * @param directories of the shards
   */
  def lookUp(hashes: Array[Long], directories: Int => ShardDirectory)(found: Int => Unit): Unit =
    hashes.groupBy(format.shardOf).toSeq.sortBy(_._1).foreach { case (shard, same) =>
      if (part.shards(shard).entries > 0) {
        inShard(shard, same.map(format.packed(_, 0)), directories(shard))(found)
      }
    }

  private def inShard(shard: Int, packed: Array[Long], directory: ShardDirectory)(
      found: Int => Unit): Unit = {
    val file = part.shards(shard)
    val bits = file.bucketBits
    val wanted = packed.groupBy(format.bucketOf(_, bits)).toSeq.sortBy(_._1)
      .filter { case (b, _) => directory.end(b) > directory.start(b) }
    val runs = ranges(wanted.map(_._1), directory)
    val path = new Path(this.directory, file.name)
    val read = ManyFiles.map(runs) { case (first, last) =>
      val from = directory.start(first)
      val length = (directory.end(last) - from) * PostingsFormat.EntryBytes
      (from, this.read(path, file.length, from.toLong * PostingsFormat.EntryBytes, length))
    }.toIndexedSeq
    var run = 0
    wanted.foreach { case (bucket, keys) =>
      while (runs(run)._2 < bucket) run += 1
      val (from, bytes) = read(run)
      val start = (directory.start(bucket) - from) * PostingsFormat.EntryBytes
      val length = (directory.end(bucket) - directory.start(bucket)) * PostingsFormat.EntryBytes
      val sum = PostingsFormat.checksum(part.id, shard, bucket, bytes, start, length)
      if (sum != directory.checksum(bucket)) damaged(shard, s"bucket $bucket")
      val prints = keys.map(format.fingerprintOf(_, bits))
      Arrays.sort(prints)
      val entries = ByteBuffer.wrap(bytes, start, length).asIntBuffer()
      while (entries.hasRemaining) {
        val entry = entries.get()
        if (Arrays.binarySearch(prints, entry >>> format.fileBits) >= 0) {
          found(entry & format.allFiles)
        }
      }
    }
  }

  /** Buckets that are near each other are read together. */
  private def ranges(buckets: Seq[Int], directory: ShardDirectory): IndexedSeq[(Int, Int)] = {
    val out = scala.collection.mutable.ArrayBuffer.empty[(Int, Int)]
    buckets.foreach { b =>
      val isNear = out.nonEmpty &&
        (directory.start(b) - directory.end(out.last._2)) * PostingsFormat.EntryBytes <= Gap
      if (isNear) out(out.size - 1) = (out.last._1, b) else out += ((b, b))
    }
    out.toIndexedSeq
  }

  private def read(path: Path, whole: Long, offset: Long, length: Int): Array[Byte] =
    PostingsReader.read(path, whole, offset, length, conf)

  private def damaged(shard: Int, piece: String): Nothing =
    throw new IOException(s"the $piece of shard $shard of $directory is damaged")
}

private[sparkzorder] object PostingsReader {

  // a request costs as much as so many bytes
  private val Gap = 64 * 1024

  private val requests = new LongAdder
  private val bytes = new LongAdder

  /** Reads of files of indexes of values in this JVM, and their bytes. */
  def reads: (Long, Long) = (requests.sum(), bytes.sum())

  /** @param whole the length of the file, so that nobody asks the file system for it */
  def read(path: Path, whole: Long, offset: Long, length: Int, conf: Configuration): Array[Byte] = {
    val fs = RawFiles.of(path, conf)
    val in = fs.openFile(path)
      .opt("fs.option.openfile.length", whole.toString)
      .opt("fs.option.openfile.read.policy", "random")
      .build().get()
    try {
      val out = new Array[Byte](length)
      in.readFully(offset, out, 0, length)
      requests.increment()
      bytes.add(length.toLong)
      out
    } finally in.close()
  }
}
