// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.index

import java.nio.charset.StandardCharsets.UTF_8

import scala.util.Random

import org.apache.hadoop.fs.{FileStatus, Path}
import org.scalatest.funsuite.AnyFunSuite

import io.sparkzorder.RandomInputs

/** The files of listings in runs of entries, against a look at each path. */
class ListedEntriesSuite extends AnyFunSuite with RandomInputs {
  private val root = new Path("file:/data/sales")

  private def path(i: Int): String = s"day=${i / 50}/part-$i.parquet"

  // times before 2013 tell no change of a file
  private val FirstTime = 1700000000000L

  private def lookup(size: Int): PathLookup = {
    val paths = new ByteValues.Builder(size)
    (0 until size).foreach(i => paths.add(path(i).getBytes(UTF_8)))
    new PathLookup(
      root,
      FileTable(
        paths.result(),
        Array.tabulate(size)(1000L + _),
        Array.tabulate(size)(FirstTime + _),
        Array.fill(size)(1L),
        Array.fill(size)(0)))
  }

  private def status(i: Int, longer: Int = 0, later: Int = 0): FileStatus =
    new FileStatus(1000L + i + longer, false, 1, 1L, FirstTime + i + later, new Path(root, path(i)))

  /** Files in some order: known ones, unknown ones, and known ones that have changed. */
  private def listing(random: Random, size: Int): Array[FileStatus] = {
    val numbers = (0 until size + size / 4).filter(_ => random.nextInt(10) > 0)
    val inOrder = random.nextInt(3) match {
      case 0 => numbers
      case 1 => random.shuffle(numbers)
      case _ => numbers.sortBy(i => path(i))
    }
    inOrder.map { i =>
      random.nextInt(20) match {
        case 0 => status(i, longer = 1)
        case 1 => status(i, later = 1)
        case _ => status(i)
      }
    }.toArray
  }

  private def expected(files: Array[FileStatus], size: Int): Seq[Int] = files.toSeq.map { f =>
    val i = f.getPath.getName.filter(_.isDigit).toInt
    if (i < size && f.getLen == 1000L + i && f.getModificationTime == FirstTime + i) i else -1
  }

  private def found(listed: ListedEntries, directories: Seq[Array[FileStatus]]): Seq[Seq[Int]] =
    directories.indices.map { d =>
      (listed.firstRun(d) until listed.firstRun(d + 1)).flatMap { r =>
        (0 until listed.sizes(r)).map(k =>
          if (listed.entries(r) < 0) -1 else listed.entries(r) + k)
      }
    }

  test("runs have the entry of each file") {
    withRandom { random =>
      for (_ <- 1 to 300) {
        val size = random.nextInt(300)
        val files = listing(random, size)
        val directories =
          if (random.nextBoolean() || files.isEmpty) IndexedSeq(files)
          else files.grouped(1 + random.nextInt(60)).toIndexedSeq :+ Array.empty[FileStatus]
        val listed = ListedEntries.of(lookup(size), directories)
        assert(found(listed, directories) === directories.map(expected(_, size)))
        (0 until directories.size).foreach { d =>
          val runs = listed.firstRun(d) until listed.firstRun(d + 1)
          assert(
            runs.map(listed.positions(_)) === runs.map(listed.sizes(_)).scanLeft(0)(_ + _).init)
        }
      }
    }
  }

  test("a listing in the order of the index is one run for each directory") {
    val files = Array.tabulate(300)(status(_))
    val listed = ListedEntries.of(lookup(300), files.grouped(100).toIndexedSeq)
    assert(listed.sizes.toSeq === Seq(100, 100, 100) && listed.entries.toSeq === Seq(0, 100, 200))
    assert(listed.bytes < 100)
  }
}
