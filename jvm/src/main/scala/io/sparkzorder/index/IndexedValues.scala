// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.index

import java.io.IOException

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import io.sparkzorder.index.values.{CoveredFiles, PostingsReader, ShardDirectory, ValuesPart}

/**
 * The files that may have some values, as bitmaps of one bit for each entry of the index.
 *
 * @param mayHave the files that may have one of the values; every file that is not covered is among them
 * @param covered the files all of whose values are known
 */
private[sparkzorder] final case class FilesOfValues(mayHave: Array[Long], covered: Array[Long])

/**
 * The index of one column's values. Nothing is read before the first look-up.
 *
 * @param table the entries of the index
 * @param load reads what is needed of a part, or takes it from the cache
 */
private[sparkzorder] final class IndexedValues private[index] (
    val parts: Seq[HeaderValuesPart],
    table: => FileTable,
    load: HeaderValuesPart => LoadedValues) {

  /** The estimated mean number of files that hold a value. */
  def filesOfValue: Double = parts.map(p => p.pairs.toDouble / math.max(1L, p.distinct)).sum

  /** The number of files in all parts, including files that have changed since. */
  def files: Long = parts.map(_.files.toLong).sum

  /** The files all of whose values are known. */
  def covered: Array[Long] = {
    val words = new Array[Long]((table.size + 63) / 64)
    parts.foreach(load(_).entries.foreach(i => if (i >= 0) words(i >> 6) |= 1L << i))
    words
  }

  /**
   * Looks values up.
   *
   * @param hashes of the values, by the seed of the hash
   * @throws java.io.IOException also if a part is damaged
   */
  def lookUp(hashes: Long => Array[Long]): FilesOfValues = {
    val covered = this.covered
    val mayHave = covered.map(~_)
    parts.foreach(load(_).lookUp(hashes, mayHave))
    FilesOfValues(mayHave, covered)
  }
}

/**
 * A part of an index of values, as look-ups use it.
 *
 * @param entries the position in the index of each file of the part; -1 for a file that is not covered, or
 *   that the index has in another state
 * @param directory of a shard, from the cache or read now
 */
private[index] final class LoadedValues(
    part: ValuesPart,
    val entries: Array[Int],
    reader: PostingsReader,
    directory: Int => ShardDirectory)
    extends Sized {

  def lookUp(hashes: Long => Array[Long], into: Array[Long]): Unit =
    reader.lookUp(hashes(part.seed), directory) { file =>
      if (file == part.format.allFiles) entries.foreach(set(into, _))
      else set(into, entries(file))
    }

  private def set(words: Array[Long], i: Int): Unit = if (i >= 0) words(i >> 6) |= 1L << i

  override def bytes: Long = 4L * entries.length + 100L * part.shards.size
}

private[index] object LoadedValues {

  /**
   * @throws java.io.IOException also if the directory has another part than the one that the index names
   */
  def head(directory: Path, named: HeaderValuesPart, conf: Configuration): ValuesPart = {
    val head = PostingsReader.read(
      new Path(directory, ValuesPart.Head),
      named.headBytes.toLong,
      0L,
      named.headBytes,
      conf)
    val part = ValuesPart.parse(head, named.name)
    if (part.files.count != named.files || part.domain != named.domain ||
      !named.isOf(part.column)) {
      throw new IOException(s"$directory is not the part that the index names")
    }
    part
  }

  /** @param files finds the entries of the index */
  def read(
      directory: Path,
      named: HeaderValuesPart,
      files: PathLookup,
      conf: Configuration,
      cacheSize: Long): LoadedValues = {
    val part = head(directory, named, conf)
    val known = part.files
    val entries = Array.tabulate(known.size) { i =>
      if (known.covered(i)) files.entryOf(known.paths(i), known.lengths(i), known.modified(i))
      else -1
    }
    val slim = part.copy(files = CoveredFiles.none)
    val reader = new PostingsReader(directory, slim, conf)
    def directoryOf(shard: Int): ShardDirectory = {
      val file = slim.shards(shard)
      val key =
        CacheKey(s"$directory/${file.name}", named.name, file.length, 0L, IndexCache.Values, "")
      IndexCache(key, cacheSize)(new CachedDirectory(reader.directoryOf(shard))).directory
    }
    new LoadedValues(slim, entries, reader, directoryOf)
  }

  private final class CachedDirectory(val directory: ShardDirectory) extends Sized {
    override def bytes: Long = 100L + directory.size
  }
}
