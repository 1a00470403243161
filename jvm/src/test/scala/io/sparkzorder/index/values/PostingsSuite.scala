// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.index.values

import java.io.{File, IOException}
import java.nio.file.Files
import java.util.UUID

import scala.collection.mutable
import scala.util.{Random, Try}

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.tagobjects.Slow

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Cast, EqualTo, Literal}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import io.sparkzorder.RandomInputs
import io.sparkzorder.skipping.values.{BytesPosition, LongPosition, SingleValues}
import io.sparkzorder.skipping.values.{ComparisonDomain, Intervals, LiteralPosition}

/** Shards against a model, damaged shards, and the hash of values. */
class PostingsSuite extends AnyFunSuite with RandomInputs {
  private val conf = new Configuration()
  private val one = 1L << 60
  private val two = 2L << 60

  private def withDirectory(body: File => Unit): Unit = {
    val dir = Files.createTempDirectory("zorder-values").toFile
    try body(dir)
    finally org.apache.commons.io.FileUtils.deleteDirectory(dir)
  }

  /** Writes a part as a job does. */
  private def write(
      dir: File,
      pairs: Seq[(Long, Int)],
      format: PostingsFormat,
      files: Int): ValuesPart = {
    val id = UUID.randomUUID()
    val shards = (0 until format.shards).map { number =>
      val packed = pairs.filter(p => format.shardOf(p._1) == number)
        .map { case (hash, file) => format.packed(hash, file) }.toArray
      val (bytes, shard) = PostingsWriter.shard(id, number, format, packed, files)
      if (bytes.isEmpty) shard
      else {
        Files.write(new File(dir, s"_$number").toPath, bytes)
        shard.copy(name = s"_$number")
      }
    }
    val covered = CoveredFiles(
      (0 until files).map(i => s"p=${i % 3}/part-$i".getBytes("UTF-8")),
      Array.tabulate(files)(_.toLong),
      Array.tabulate(files)(_ + 7L),
      Array.tabulate(files)(_ % 5 != 0))
    val part = ValuesPart(id, "ü", "bytes", 7L, format, shards, covered)
    val read = ValuesPart.parse(part.toBytes, ValuesPart.nameOf(id))
    assert(read.files.paths.map(new String(_, "UTF-8")) ===
      covered.paths.map(new String(_, "UTF-8")))
    assert(read.files.lengths === covered.lengths)
    assert(read.files.modified === covered.modified)
    assert(read.files.covered === covered.covered)
    assert(read.copy(files = covered) === part)
    read
  }

  private def found(dir: File, part: ValuesPart, hashes: Array[Long]): Set[Int] = {
    val reader = new PostingsReader(new Path(dir.toURI), part, conf)
    val all = mutable.Set.empty[Int]
    reader.lookUp(hashes, reader.directoryOf) { file =>
      if (file == part.format.allFiles) all ++= (0 until part.files.size) else all += file
    }
    all.toSet
  }

  for ((rounds, tags) <- Seq(6 -> Nil, 30 -> Seq(Slow))) test(
    s"look-ups find every file of a value, and few others: $rounds rounds",
    tags: _*) {
    withRandom { random =>
      for (round <- 1 to rounds) withDirectory { dir =>
        val files = 1 + random.nextInt(if (round % 3 == 0) 3000 else 40)
        val bits = if (round % 2 == 0) 4 else 31
        val sized = PostingsFormat.withFingerprints(bits)(PostingsFormat.of(files, 1))
        val format = sized.copy(shardBits = random.nextInt(4))
        val values = Seq.fill(1 + random.nextInt(400))(random.nextLong())
        val pairs = values.flatMap { v =>
          val many = random.nextInt(50) == 0
          val of =
            if (many) 0 until files else Seq.fill(1 + random.nextInt(3))(random.nextInt(files))
          of.map(v -> _)
        }
        val part = write(dir, random.shuffle(pairs ++ pairs.take(9)), format, files)
        assert(part.pairs <= pairs.distinct.size)
        val model = pairs.groupBy(_._1).map { case (v, of) => v -> of.map(_._2).toSet }
        values.foreach(v => assert((model(v) -- found(dir, part, Array(v))).isEmpty))
        val some = random.shuffle(values).take(20)
        assert((some.flatMap(model).toSet -- found(dir, part, some.toArray)).isEmpty)
        if (bits == 31 && files < 100) {
          val others = Seq.fill(200)(random.nextLong())
          assert(others.count(v => found(dir, part, Array(v)).nonEmpty) <= 2)
        }
      }
    }
  }

  test("a value in many files has one entry") {
    withDirectory { dir =>
      val format = PostingsFormat.of(2000, 1)
      val part = write(dir, (0 until 2000).map(one -> _) ++ Seq(two -> 5), format, 2000)
      assert(part.entries === 2)
      assert(found(dir, part, Array(one)).size === 2000)
      assert(found(dir, part, Array(two)) === Set(5))
    }
  }

  for ((what, step, tags) <- Seq(("some", 16, Nil), ("each", 1, Seq(Slow)))) test(
    s"a flipped bit and a cut of a shard or a head is noticed, at $what byte of the shards",
    tags: _*) {
    withRandom { random =>
      withDirectory { dir =>
        val format = PostingsFormat.of(9, 1).copy(shardBits = 1)
        val pairs = Seq.fill(60)(random.nextLong() -> random.nextInt(9))
        val part = write(dir, pairs, format, 9)
        val model = pairs.groupBy(_._1).map { case (v, of) => v -> of.map(_._2).toSet }
        def noLoss(): Unit = model.foreach { case (v, files) =>
          Try(found(dir, part, Array(v))) match {
            case scala.util.Success(some) => assert((files -- some).isEmpty)
            case scala.util.Failure(e) => assert(e.isInstanceOf[IOException], e)
          }
        }
        for (file <- dir.listFiles) {
          val good = Files.readAllBytes(file.toPath)
          good.indices.by(step).foreach { at =>
            val bad = good.clone()
            bad(at) = (bad(at) ^ (1 << random.nextInt(8))).toByte
            Files.write(file.toPath, bad)
            noLoss()
            Files.write(file.toPath, good.take(at))
            noLoss()
          }
          Files.write(file.toPath, good)
        }
        val head = part.toBytes
        head.indices.foreach { at =>
          val bad = head.clone()
          bad(at) = (bad(at) ^ (1 << random.nextInt(8))).toByte
          intercept[IOException](ValuesPart.parse(bad, ValuesPart.nameOf(part.id)))
          intercept[IOException](ValuesPart.parse(head.take(at), ValuesPart.nameOf(part.id)))
        }
        intercept[IOException](ValuesPart.parse(head, ValuesPart.nameOf(UUID.randomUUID())))
      }
    }
  }

  test("the hash is the same in all versions") {
    assert(ValueHash.ofLong(1L, 42L) === -7001672635703045582L)
    assert(ValueHash.ofBytes("a".getBytes("UTF-8"), 42L) === -8582455328737087284L)
    assert(ValueHash.ofUnscaled(java.math.BigInteger.ONE, 42L) === ValueHash.ofLong(1L, 42L))
  }

  private val types: Seq[DataType] = Seq(
    ByteType,
    ShortType,
    IntegerType,
    LongType,
    FloatType,
    DoubleType,
    DecimalType(9, 2),
    DecimalType(18, 2),
    DecimalType(30, 2),
    DecimalType(38, 2),
    DecimalType(38, 0),
    StringType,
    BinaryType)

  private def value(t: DataType, random: Random): Any = {
    val small = random.nextInt(5) - 2
    t match {
      case ByteType => small.toByte
      case ShortType => small.toShort
      case IntegerType => small
      case LongType => if (random.nextBoolean()) small.toLong else random.nextLong()
      case FloatType =>
        Seq(small.toFloat, -0.0f, 0.0f, Float.NaN, 0.1f, Float.NegativeInfinity)(random.nextInt(6))
      case DoubleType =>
        Seq(
          small.toDouble,
          -0.0,
          0.0,
          java.lang.Double.longBitsToDouble(0x7ff8000000000001L),
          0.1f.toDouble,
          0.1)(random.nextInt(6))
      case d: DecimalType =>
        Decimal(
          BigDecimal(small) + (if (d.scale > 0) BigDecimal("0.5") else 0),
          d.precision,
          d.scale)
      case StringType =>
        UTF8String.fromString("aé" (random.nextInt(2)).toString * random.nextInt(3))
      case BinaryType => "aé" (random.nextInt(2)).toString.getBytes("UTF-8")
    }
  }

  private def hash(v: Any, t: DataType): Long =
    ValueDomain.of(t).get.hasher(0, t, 3L)(InternalRow(v))

  test("values that Spark calls equal have one hash, and filters ask for it") {
    withRandom { random =>
      for (a <- types; b <- types if ValueDomain.of(a) == ValueDomain.of(b); _ <- 1 to 200) {
        val (v, w) = (value(a, random), value(b, random))
        val common = Seq(a, b).maxBy(_.defaultSize)
        val isEqual = EqualTo(
          Cast(Literal(v, a), common, None),
          Cast(Literal(w, b), common, None)).eval() == true
        assert((hash(v, a) == hash(w, b)) === isEqual, s"$v of $a, $w of $b")
        // and the hash that a filter asks for
        val domain = ComparisonDomain.of(a).get
        val points = LiteralPosition.of(v, domain).get match {
          case LongPosition(low, _) => Intervals.ofLongs(Seq(low))
          case BytesPosition(low, _, _) => Intervals.ofBytes(Seq(low))
        }
        val single = SingleValues.of(points, domain, 10).get
        assert(single.hashes(3L).toSeq === Seq(hash(v, a)), s"$v of $a")
      }
    }
  }

  test("intervals of few whole numbers are single values") {
    val domain = ComparisonDomain.of(LongType).get
    def size(low: Long, high: Long) =
      SingleValues.of(Intervals.between(low, high), domain, 100).map(_.size)
    assert(size(5, 7) === Some(3))
    assert(size(Long.MinValue, Long.MaxValue) === None)
    assert(size(Long.MaxValue - 1, Long.MaxValue) === Some(2))
    assert(size(0, 99) === Some(100))
    assert(size(0, 100) === None)
    val text = ComparisonDomain.of(StringType).get
    assert(SingleValues.of(Intervals.ofPrefix("a".getBytes), text, 100).isEmpty)
  }
}
