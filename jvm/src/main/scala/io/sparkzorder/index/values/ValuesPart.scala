// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.index.values

import java.io.{
  BufferedInputStream,
  BufferedOutputStream,
  ByteArrayInputStream,
  ByteArrayOutputStream,
  DataInputStream,
  DataOutputStream,
  IOException
}
import java.util.UUID
import java.util.zip.{CRC32, DeflaterOutputStream, InflaterInputStream}

/**
 * The files whose values a part has, in the order of their numbers.
 *
 * @param paths relative to the table's root, as UTF-8
 * @param covered false for a file if the part may lack some of its values
 */
private[sparkzorder] final case class CoveredFiles(
    paths: IndexedSeq[Array[Byte]],
    lengths: Array[Long],
    modified: Array[Long],
    covered: Array[Boolean]) {
  def size: Int = lengths.length
  def count: Int = covered.count(identity)
}

private[sparkzorder] object CoveredFiles {
  val none: CoveredFiles = CoveredFiles(
    IndexedSeq.empty,
    Array.emptyLongArray,
    Array.emptyLongArray,
    Array.emptyBooleanArray)
}

/**
 * The head of a part of an index of values. A part has the values of one column in some files. It is a
 * directory with a file for its head and a file for each shard that has entries.
 *
 * @param column the column's name
 * @param domain text of the [[ValueDomain]] that says which values are equal
 * @param seed the seed of the hash, a random number
 */
private[sparkzorder] final case class ValuesPart(
    id: UUID,
    column: String,
    domain: String,
    seed: Long,
    format: PostingsFormat,
    shards: IndexedSeq[ShardFile],
    files: CoveredFiles) {

  def entries: Long = shards.map(_.entries.toLong).sum
  def pairs: Long = shards.map(_.pairs).sum
  def distinct: Long = shards.map(_.distinct).sum
  def shardBytes: Long = shards.map(_.length).sum

  def toBytes: Array[Byte] = {
    val bytes = new ByteArrayOutputStream
    val out = new DataOutputStream(new BufferedOutputStream(new DeflaterOutputStream(bytes)))
    out.writeInt(ValuesPart.Version)
    out.writeLong(id.getMostSignificantBits)
    out.writeLong(id.getLeastSignificantBits)
    ValuesPart.write(out, column.getBytes("UTF-8"))
    out.writeUTF(domain)
    out.writeLong(seed)
    Seq(format.fileBits, format.fingerprintBits, format.shardBits).foreach(out.writeByte)
    shards.foreach { s =>
      out.writeUTF(s.name)
      out.writeLong(s.length)
      out.writeByte(s.bucketBits)
      Seq(s.directoryChecksum, s.entries).foreach(out.writeInt)
      Seq(s.pairs, s.distinct).foreach(out.writeLong)
    }
    out.writeInt(files.size)
    var before = Array.emptyByteArray
    files.paths.indices.foreach { i =>
      val path = files.paths(i)
      // a path is written without the bytes that it shares with the beginning of the path before it
      val same = path.indices.find(k => k >= before.length || path(k) != before(k))
        .getOrElse(path.length)
      out.writeShort(math.min(same, Short.MaxValue.toInt))
      ValuesPart.write(out, path.drop(math.min(same, Short.MaxValue.toInt)))
      out.writeLong(files.lengths(i))
      out.writeLong(files.modified(i))
      out.writeBoolean(files.covered(i))
      before = path
    }
    out.close()
    val checksum = ValuesPart.checksum(bytes.toByteArray, bytes.size)
    val whole = new DataOutputStream(bytes)
    whole.writeInt(checksum)
    bytes.toByteArray
  }
}

private[sparkzorder] object ValuesPart {
  val Head = "_head"

  /** The name of a part's directory is this prefix and the id of the part. */
  val Prefix = "_v_"
  private val Version = 1

  def nameOf(id: UUID): String = s"$Prefix$id"

  private def checksum(bytes: Array[Byte], until: Int): Int = {
    val crc = new CRC32
    crc.update(bytes, 0, until)
    crc.getValue.toInt
  }

  private def write(out: DataOutputStream, bytes: Array[Byte]): Unit = {
    out.writeInt(bytes.length)
    out.write(bytes)
  }

  private def read(in: DataInputStream): Array[Byte] = {
    val bytes = new Array[Byte](in.readInt())
    in.readFully(bytes)
    bytes
  }

  /** @throws java.io.IOException unless these are the bytes that a part was written with */
  def parse(bytes: Array[Byte], name: String): ValuesPart = {
    val end = bytes.length - 4
    if (end < 0 || java.nio.ByteBuffer.wrap(bytes).getInt(end) != checksum(bytes, end)) {
      throw new IOException(s"the head of $name is damaged")
    }
    val inflated = new InflaterInputStream(new ByteArrayInputStream(bytes, 0, end))
    val in = new DataInputStream(new BufferedInputStream(inflated))
    try parse(in, name)
    finally in.close()
  }

  private def parse(in: DataInputStream, name: String): ValuesPart = {
    val version = in.readInt()
    if (version != Version) throw new IOException(s"$name has the unknown version $version")
    val id = new UUID(in.readLong(), in.readLong())
    if (nameOf(id) != name) throw new IOException(s"$name holds ${nameOf(id)}")
    val column = new String(read(in), "UTF-8")
    val domain = in.readUTF()
    val seed = in.readLong()
    val format = PostingsFormat(in.readByte().toInt, in.readByte().toInt, in.readByte().toInt)
    val shards = IndexedSeq.fill(format.shards) {
      ShardFile(
        in.readUTF(),
        in.readLong(),
        in.readByte().toInt,
        in.readInt(),
        in.readInt(),
        in.readLong(),
        in.readLong())
    }
    val count = in.readInt()
    val paths = new Array[Array[Byte]](count)
    val (lengths, modified) = (new Array[Long](count), new Array[Long](count))
    val covered = new Array[Boolean](count)
    (0 until count).foreach { i =>
      val same = in.readUnsignedShort()
      paths(i) = (if (i == 0) Array.emptyByteArray else paths(i - 1).take(same)) ++ read(in)
      lengths(i) = in.readLong()
      modified(i) = in.readLong()
      covered(i) = in.readBoolean()
    }
    ValuesPart(
      id,
      column,
      domain,
      seed,
      format,
      shards,
      CoveredFiles(paths.toIndexedSeq, lengths, modified, covered))
  }
}
