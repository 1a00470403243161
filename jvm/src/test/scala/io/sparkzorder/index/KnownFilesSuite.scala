package io.sparkzorder.index

import java.lang.ref.WeakReference
import java.nio.charset.StandardCharsets.UTF_8
import java.util.concurrent.{Callable, Executors}

import scala.collection.JavaConverters._
import scala.util.Random

import org.apache.hadoop.fs.{FileStatus, Path}
import org.scalatest.funsuite.AnyFunSuite

import io.sparkzorder.RandomInputs

/** Files that are known by identity are those that their paths say. */
class KnownFilesSuite extends AnyFunSuite with RandomInputs {
  private val root = new Path("file:/data/sales")

  private def path(i: Int): String = s"day=${i / 50}/part-$i.parquet"

  private def lookup(size: Int): PathLookup = {
    val paths = new ByteValues.Builder(size)
    (0 until size).foreach(i => paths.add(path(i).getBytes(UTF_8)))
    new PathLookup(
      root,
      FileTable(
        paths.result(),
        Array.tabulate(size)(1000L + _),
        Array.tabulate(size)(5000L + _),
        Array.fill(size)(1L),
        Array.fill(size)(0)))
  }

  private def status(i: Int, longer: Int = 0, later: Int = 0): FileStatus =
    new FileStatus(1000L + i + longer, false, 1, 1L, 5000L + i + later, new Path(root, path(i)))

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
    if (i < size && f.getLen == 1000L + i && f.getModificationTime == 5000L + i) i else -1
  }

  private def found(walk: KnownFiles#Walk, files: Array[FileStatus]): Seq[Int] =
    files.toSeq.map(walk.find)

  test("the same whether a listing was seen before or not") {
    withRandom { random =>
      for (_ <- 1 to 200) {
        val size = random.nextInt(300)
        val index = lookup(size)
        val listings = Seq.fill(3)(listing(random, size))
        for (_ <- 1 to 12) {
          val files = listings(random.nextInt(listings.size))
          // a query may read a part of a listing
          val from = if (random.nextBoolean() || files.isEmpty) 0 else random.nextInt(files.length)
          val part = files.drop(from)
          assert(found(index.walk(), part) === expected(part, size))
        }
      }
    }
  }

  test("queries at the same time") {
    withRandom { random =>
      val size = 2000
      val index = lookup(size)
      val listings = Seq.fill(4)(listing(random, size))
      val answers = listings.map(expected(_, size))
      val threads = Executors.newFixedThreadPool(4)
      try {
        val tasks = (0 until 200).map { n =>
          new Callable[Boolean] {
            override def call(): Boolean =
              found(index.walk(), listings(n % 4)) == answers(n % 4)
          }
        }
        assert(threads.invokeAll(tasks.asJava).asScala.forall(_.get()))
      } finally threads.shutdownNow()
    }
  }

  // a method of its own, since a local variable holds what it has held
  private def lookAtOnce(index: PathLookup): Array[WeakReference[FileStatus]] = {
    val files = Array.tabulate(10)(status(_))
    assert(found(index.walk(), files) === (0 until 10))
    files.map(new WeakReference(_))
  }

  test("a listing that nobody holds goes") {
    val index = lookup(10)
    val gone = lookAtOnce(index)
    var tries = 0
    while (gone.exists(_.get != null) && tries < 100) {
      tries += 1
      System.gc()
      Thread.sleep(10)
    }
    assert(gone.forall(_.get == null))
    assert(found(index.walk(), Array.tabulate(10)(status(_))) === (0 until 10))
  }
}
