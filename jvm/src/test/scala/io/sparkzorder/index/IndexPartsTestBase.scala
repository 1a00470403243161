// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.index

import java.io.File
import java.nio.file.Files

import scala.util.Random

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}
import org.scalatest.funsuite.AnyFunSuite

import io.sparkzorder.{FaultyFileSystem, RandomInputs}
import io.sparkzorder.table.stats.ColumnStats

/** Entries at random, and what an index says of its entries. */
abstract class IndexPartsTestBase extends AnyFunSuite with RandomInputs {
  protected val conf = new Configuration()
  FaultyFileSystem.settings.foreach { case (k, v) => conf.set(k.stripPrefix("spark.hadoop."), v) }

  protected val columns =
    Seq("a" -> IntegerLeaf(64), "b" -> StringLeaf, "c" -> DoubleLeaf, "d" -> DecimalLeaf(38, 2))

  protected def withRoot(body: (File, IndexStore) => Unit): Unit = {
    val dir = Files.createTempDirectory("zorder-parts").toFile
    assert(new File(dir, "_zorder").mkdir())
    try body(dir, storeOf(dir))
    finally org.apache.commons.io.FileUtils.deleteDirectory(dir)
  }

  protected def storeOf(dir: File) = new IndexStore(new Path(s"faulty:$dir"), conf)

  // times before 2013 tell no change of a file
  private val FirstTime = 1700000000000L

  protected def entry(path: String, random: Random): FileEntry = {
    val there = columns.filter(_ => random.nextInt(5) > 0)
    val leaves = there.map { case (name, t) =>
      val (min, max): (Any, Any) = t match {
        case _: DecimalLeaf =>
          (
            IndexValue.wide(java.math.BigInteger.valueOf(-random.nextInt(9).toLong)).get,
            IndexValue.wide(java.math.BigInteger.valueOf(random.nextInt(9).toLong)).get)
        case DoubleLeaf =>
          val low = random.nextInt(100).toDouble
          IndexValue.bounds(Double.box(low), Double.box(low + 1), DoubleLeaf).get
        case StringLeaf => (s"a${random.nextInt(9)}".getBytes, "z".getBytes)
        case _ => (-random.nextInt(100).toLong, random.nextInt(100).toLong)
      }
      val known = random.nextInt(4) > 0
      LeafEntry(IndexedColumn(Seq(name), t), ColumnStats(random.nextInt(3).toLong, min, max, known))
    }
    val shape = LeafColumns(there.map(c => Seq(c._1)))
    FileEntry(path, random.nextInt(1000).toLong, FirstTime + random.nextInt(900), 9L, shape, leaves)
  }

  protected def entries(random: Random, from: Int, n: Int): Seq[FileEntry] =
    (from until from + n).map(i => entry(s"p=${i % 3}/part-$i", random))

  /** What an index says of some entries. */
  protected def plain(c: IndexColumns, which: Seq[Int]): Set[Any] = {
    val read = c.indexed.indices.map(c.column)
    which.map(plain(c, read, _)).toSet
  }

  protected def plain(c: IndexColumns, read: Seq[ColumnValues], i: Int): Any = {
    val f = c.table
    val said = c.indexed.indices.map { n =>
      val v = read(n)
      def end(s: StatValues): Any = s match {
        case _ if (v.flags(i) & ColumnValues.Bounded) == 0 => None
        case LongStats(l) => l(i)
        case ByteStats(b) => b(i).toSeq
        case NoStats => None
      }
      c.indexed(n) -> ((v.nulls(i), v.flags(i), end(v.min), end(v.max)))
    }
    val known = said.filterNot(s => s._2._1 < 0 && s._2._2 == 0).toMap
    (f.path(i), f.lengths(i), f.modified(i), f.rows(i), c.shapes(f.shapeOf(i)), known)
  }

  protected def plain(c: IndexContent): Set[Any] = plain(c, c.files.lengths.indices)

  protected def read(store: IndexStore): IndexContent = read(store.generations().head)
  protected def read(file: FileStatus): IndexContent = new IndexReader(file, conf).content()

  protected def apply(
      store: IndexStore,
      added: Seq[FileEntry],
      gone: Set[String] = Set.empty): FileStatus =
    store.change(_ => IndexChange(IndexContent.of(added), gone, keepsOthers = true, None)).get

  protected def names(dir: File): Seq[String] =
    new File(dir, "_zorder/_index").list.toSeq.filterNot(_.startsWith("_id_")).sorted

  protected def sizes(file: FileStatus): Seq[Int] =
    new IndexReader(file, conf).reader.parts.map(_.size)
}
