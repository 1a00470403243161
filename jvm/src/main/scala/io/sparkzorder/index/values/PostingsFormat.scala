// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.index.values

import java.io.IOException
import java.nio.ByteBuffer
import java.util.{Arrays, UUID}
import java.util.concurrent.atomic.LongAdder
import java.util.zip.CRC32

import scala.collection.mutable

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import io.sparkzorder.util.{ManyFiles, RawFiles}

/**
 * Defines how the bits of a hash lead to an entry: the first bits choose the shard, the next bits choose
 * the bucket in the shard, and the bits after these are the fingerprint in the entry. Two values of one bucket
 * may have the same fingerprint. A look-up of one value then also returns the files of the other value, so a
 * query reads more files than it needs, but misses none.
 *
 * {{{
 * hash     shard | bucket | fingerprint | (left out)
 * entry                     fingerprint | number of the file
 * }}}
 *
 * @param fileBits the number of bits of a file number
 * @param fingerprintBits the number of bits of a fingerprint
 * @param shardBits the number of bits that choose the shard
 */
private[sparkzorder] final case class PostingsFormat(
    fileBits: Int,
    fingerprintBits: Int,
    shardBits: Int) {

  def shards: Int = 1 << shardBits

  /** The file number that stands for all files of the part together. */
  def allFiles: Int = (1 << fileBits) - 1

  def shardOf(hash: Long): Int = if (shardBits == 0) 0 else (hash >>> (64 - shardBits)).toInt

  /**
   * A hash and a file in one number. The hash is moved up by the bits of its shard, which are dropped, and then
   * the file number takes the place of the lowest bits.
   */
  def packed(hash: Long, file: Int): Long =
    ((hash << shardBits) >>> fileBits << fileBits) | file.toLong

  def fileOf(packed: Long): Int = packed.toInt & allFiles
  def hashOf(packed: Long): Long = packed >>> fileBits

  def bucketOf(packed: Long, bucketBits: Int): Int =
    if (bucketBits == 0) 0 else (packed >>> (64 - bucketBits)).toInt

  def fingerprintOf(packed: Long, bucketBits: Int): Int =
    ((packed << bucketBits) >>> (64 - fingerprintBits)).toInt

  def entry(packed: Long, bucketBits: Int): Int =
    (fingerprintOf(packed, bucketBits) << fileBits) | fileOf(packed)
}

private[sparkzorder] object PostingsFormat {
  val EntryBytes = 4

  /**
   * The size of the entry that a bucket has in the directory: an INT with the number of entries up to the end of the
   * bucket, and an INT with a checksum.
   */
  val DirectoryEntryBytes = 8

  /** The greatest number of files of a part. It leaves at least 15 of the 32 bits of an entry to the fingerprint. */
  val MaxFiles: Int = (1 << 17) - 1

  private val EntriesOfBucket = 1024
  private val EntriesOfShard = 1 << 22
  private val MaxShardBits = 12

  // tests lower this limit, so that fingerprints collide
  @volatile private var mostFingerprintBits = 31

  /** Runs a test with fingerprints of few bits. */
  private[sparkzorder] def withFingerprints[T](bits: Int)(body: => T): T = {
    mostFingerprintBits = bits
    try body
    finally mostFingerprintBits = 31
  }

  /**
   * Chooses the numbers of bits for a part.
   *
   * @param values the number of values in all files together
   */
  def of(files: Int, values: Long): PostingsFormat = {
    require(files <= MaxFiles, s"$files files in a part of an index of values")
    val fileBits = 32 - Integer.numberOfLeadingZeros(math.max(1, files))
    val shardBits = (0 to MaxShardBits).find(b => (values >> b) <= EntriesOfShard)
    PostingsFormat(
      fileBits,
      math.min(32 - fileBits, mostFingerprintBits),
      shardBits.getOrElse(MaxShardBits))
  }

  /** The number of bits that choose the bucket in a shard with `entries` entries. */
  def bucketBits(entries: Int): Int = (0 to 30).find(b => (entries >> b) <= EntriesOfBucket).get

  /** A value that is in more files than this gets a single entry, which stands for all files of the part. */
  def mostFilesOfValue(files: Int): Int = math.max(files / 4, 256)

  /**
   * The checksum of a piece of a shard. It includes the position of the piece, so that a piece that was
   * written to a wrong place is detected.
   *
   * @param piece the number of a bucket, or [[Directory]]
   */
  def checksum(part: UUID, shard: Int, piece: Int, bytes: Array[Byte], from: Int, n: Int): Int = {
    val place = ByteBuffer.allocate(24)
    place.putLong(part.getMostSignificantBits).putLong(part.getLeastSignificantBits)
    place.putInt(shard).putInt(piece)
    val crc = new CRC32
    crc.update(place.array)
    crc.update(bytes, from, n)
    crc.getValue.toInt
  }

  /** The piece that is the directory of a shard. */
  val Directory: Int = -1
}

/**
 * A written shard.
 *
 * @param name the name of the file; empty if the shard has no entries and therefore no file
 * @param directoryChecksum the checksum of the directory at the end of the file
 * @param pairs the number of pairs of a value and a file. All pairs of a frequent value count, although they
 *   have one entry together
 * @param distinct the number of different values
 */
private[sparkzorder] final case class ShardFile(
    name: String,
    length: Long,
    bucketBits: Int,
    directoryChecksum: Int,
    entries: Int,
    pairs: Long,
    distinct: Long) {

  def directoryLength: Int = PostingsFormat.DirectoryEntryBytes << bucketBits
  def directoryOffset: Long = length - directoryLength
}

/** Makes the bytes of a shard. */
private[sparkzorder] object PostingsWriter {

  /**
   * @param packed hashes with files, as [[PostingsFormat.packed]] makes them, in any order and with
   *   duplicates; this method changes the array
   * @param files the number of files of the part
   * @return the bytes of the file, and the shard without the name of its file
   */
  def shard(
      part: UUID,
      number: Int,
      format: PostingsFormat,
      packed: Array[Long],
      files: Int): (Array[Byte], ShardFile) = {
    val count = packed.length
    // an unsigned sort: the sign bits are flipped before a signed sort, and flipped back after it
    var i = 0
    while (i < count) { packed(i) ^= Long.MinValue; i += 1 }
    Arrays.sort(packed)
    i = 0
    while (i < count) { packed(i) ^= Long.MinValue; i += 1 }
    val most = PostingsFormat.mostFilesOfValue(files)
    var (kept, pairs, distinct) = (0, 0L, 0L)
    i = 0
    while (i < count) {
      val (hash, first) = (format.hashOf(packed(i)), kept)
      while (i < count && format.hashOf(packed(i)) == hash) {
        if (kept == first || packed(kept - 1) != packed(i)) {
          packed(kept) = packed(i)
          kept += 1
        }
        i += 1
      }
      pairs += kept - first
      distinct += 1
      if (kept - first > most) {
        packed(first) |= format.allFiles.toLong
        kept = first + 1
      }
    }
    if (kept == 0) (Array.emptyByteArray, ShardFile("", 0L, 0, 0, 0, 0L, 0L))
    else {
      val bits = PostingsFormat.bucketBits(kept)
      val bytes = bytesOf(part, number, format, packed, kept, bits)
      val directory = PostingsFormat.DirectoryEntryBytes << bits
      val from = bytes.length - directory
      val checksum =
        PostingsFormat.checksum(part, number, PostingsFormat.Directory, bytes, from, directory)
      (bytes, ShardFile("", bytes.length.toLong, bits, checksum, kept, pairs, distinct))
    }
  }

  /** The content of a file: the buckets, and then the directory. */
  private def bytesOf(
      part: UUID,
      number: Int,
      format: PostingsFormat,
      packed: Array[Long],
      count: Int,
      bucketBits: Int): Array[Byte] = {
    val buckets = 1 << bucketBits
    val out = ByteBuffer.allocate(
      Math.addExact(
        count * PostingsFormat.EntryBytes,
        buckets * PostingsFormat.DirectoryEntryBytes))
    val directory = count * PostingsFormat.EntryBytes
    var (i, bucket) = (0, 0)
    while (bucket < buckets) {
      val from = i
      while (i < count && format.bucketOf(packed(i), bucketBits) == bucket) {
        out.putInt(i * PostingsFormat.EntryBytes, format.entry(packed(i), bucketBits))
        i += 1
      }
      val (start, length) =
        (from * PostingsFormat.EntryBytes, (i - from) * PostingsFormat.EntryBytes)
      val at = directory + bucket * PostingsFormat.DirectoryEntryBytes
      out.putInt(at, i)
      out.putInt(
        at + 4,
        PostingsFormat.checksum(part, number, bucket, out.array, start, length))
      bucket += 1
    }
    out.array
  }
}

/** Where the buckets of a shard end, and their checksums. */
private[sparkzorder] final class ShardDirectory(bytes: Array[Byte]) {
  private val ints = ByteBuffer.wrap(bytes).asIntBuffer()
  def start(bucket: Int): Int = if (bucket == 0) 0 else ints.get(2 * bucket - 2)
  def end(bucket: Int): Int = ints.get(2 * bucket)
  def checksum(bucket: Int): Int = ints.get(2 * bucket + 1)
  def size: Int = bytes.length
}

/**
 * Looks hashes up in a part. Any damage that could hide an entry raises an error, because a query would skip the
 * file of a hidden entry.
 *
 * @param directory the directory of the part
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
    val path = new Path(directory, file.name)
    val bytes = read(path, file.length, file.directoryOffset, file.directoryLength, conf)
    val found =
      PostingsFormat.checksum(part.id, shard, PostingsFormat.Directory, bytes, 0, bytes.length)
    if (found != file.directoryChecksum) damaged(shard, "directory")
    new ShardDirectory(bytes)
  }

  /**
   * Calls `found` with the number of each file that may have a value with one of the hashes. The number is
   * `format.allFiles` if every file may have such a value.
   *
   * @param directories gives the directory of a shard
   */
  def lookUp(hashes: Array[Long], directories: Int => ShardDirectory)(found: Int => Unit): Unit = {
    val lock = new Object
    ManyFiles.map(hashes.groupBy(format.shardOf).toSeq.filter { case (shard, _) =>
      part.shards(shard).entries > 0
    }) { case (shard, same) =>
      // a value may be in very many files, so no list of them is kept
      inShard(shard, same.map(format.packed(_, 0)), directories(shard))(f =>
        lock.synchronized(found(f)))
    }
    ()
  }

  private def inShard(shard: Int, packed: Array[Long], directory: ShardDirectory)(
      found: Int => Unit): Unit = {
    val file = part.shards(shard)
    val bits = file.bucketBits
    val wanted = packed.groupBy(format.bucketOf(_, bits)).toSeq.sortBy(_._1)
      .filter { case (b, _) => directory.end(b) > directory.start(b) }
    val runs = ranges(wanted.map(_._1), directory)
    val path = new Path(this.directory, file.name)
    val buckets = ManyFiles.map(runs) { case (first, last) =>
      val from = directory.start(first)
      val length = (directory.end(last) - from) * PostingsFormat.EntryBytes
      val offset = from.toLong * PostingsFormat.EntryBytes
      (from, read(path, file.length, offset, length, conf))
    }.toIndexedSeq
    var run = 0
    wanted.foreach { case (bucket, keys) =>
      while (runs(run)._2 < bucket) run += 1
      val (from, bytes) = buckets(run)
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

  /** The first and the last bucket of each read. One read gets all buckets that are at most `Gap` bytes apart. */
  private def ranges(buckets: Seq[Int], directory: ShardDirectory): IndexedSeq[(Int, Int)] = {
    val out = mutable.ArrayBuffer.empty[(Int, Int)]
    buckets.foreach { b =>
      val isNear = out.nonEmpty &&
        (directory.start(b) - directory.end(out.last._2)) * PostingsFormat.EntryBytes <= Gap
      if (isNear) out(out.size - 1) = (out.last._1, b) else out += ((b, b))
    }
    out.toIndexedSeq
  }

  private def damaged(shard: Int, piece: String): Nothing =
    throw new IOException(s"the $piece of shard $shard of $directory is damaged")
}

private[sparkzorder] object PostingsReader {

  // a further request costs about as much as reading this number of bytes
  private val Gap = 64 * 1024

  private val requests = new LongAdder
  private val bytes = new LongAdder

  /** The number of reads from indexes of values in this JVM, and the number of bytes read. */
  def reads: (Long, Long) = (requests.sum(), bytes.sum())

  /** @param whole the length of the file, for which the file system need not be asked */
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
