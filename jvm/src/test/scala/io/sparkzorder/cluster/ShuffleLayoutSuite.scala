// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.cluster

import java.io.File

import org.apache.hadoop.fs.Path

import org.apache.spark.sql.execution.SortExec
import org.apache.spark.sql.functions.{col, monotonically_increasing_id, spark_partition_id}
import org.apache.spark.sql.types._

import io.sparkzorder.RandomInputs
import io.sparkzorder.commands.OptimizeTestBase
import io.sparkzorder.table.{OrderingColumn, ParquetFiles, PathTarget, TableFiles, TableLister}

/** Input, sample and dealing over real files. */
class ShuffleLayoutSuite extends OptimizeTestBase with RandomInputs {
  private val clashing =
    Seq("_zorder_folder", "_ZORDER_FILE", "_zorder_z", "_metadata", "row_index")

  private def withFiles(body: (TableFiles, StructType) => Unit): Unit = withTableDir { dir =>
    val names = clashing.zipWithIndex.map { case (n, i) => s"pmod(hash(id, $i), 20) `$n`" }
    write(shuffled(3000, 3).selectExpr("*" +: names :+ "int(id >= 2500) p": _*), dir, "p")
    val target = PathTarget(new Path(dir.toURI).toString, ParquetFiles)
    val schema = StructType(read(dir).schema.filterNot(_.name == "p"))
    body(new TableLister(spark, target).list(), schema)
  }

  private val columns = Seq(
    OrderingColumn(Seq("a"), IntegerType),
    OrderingColumn(Seq("b"), LongType))

  test("the listing: folders and files") {
    withFiles { (files, _) =>
      assert(files.folders.map(f => (f.path.getName, f.values.getInt(0))) ===
        Seq(("p=0", 0), ("p=1", 1)))
      assert(files.files.map(_.path.toString) === files.files.map(_.path.toString).sorted)
      files.files.foreach(f => assert(f.path.getParent === f.folder.path))
      val one = files.onlyFolders(_.path.getName == "p=1")
      assert(one.folders === files.folders.drop(1))
      assert(one.files === files.files.filter(_.folder == files.folders(1)) && one.files.nonEmpty)
    }
  }

  test("our own columns never take the name of a user's") {
    withFiles { (files, schema) =>
      val input = new InputFrame(spark, files, schema, ParquetFiles)
      assert(input.folderColumn === "_zorder_folder1" && input.fileColumn === "_zorder_file1")
      val rows = input.frame.select(
        col(input.folderColumn),
        col(input.fileColumn),
        input.rowIndex,
        col("`_zorder_folder`"),
        col("`_metadata`"),
        col("row_index")).collect()
      assert(rows.length === 3000)
      assert(rows.map(r => (r.getInt(1), r.getLong(2))).distinct.length === 3000)
      rows.foreach(r => assert(files.files(r.getInt(1)).folder === files.folders(r.getInt(0))))
      withSQLConf("spark.sql.caseSensitive" -> "true") {
        assert(new InputFrame(spark, files, schema, ParquetFiles).fileColumn === "_zorder_file")
      }
      val many = StructType((Seq("x") ++ (1 to 9).map("x" + _)).map(StructField(_, LongType)))
      assert(InputFrame.unused("X", many, spark) === "X10")
    }
  }

  test("the sample is the same in every run, about as large as asked, with a floor a folder") {
    withFiles { (files, schema) =>
      val input = new InputFrame(spark, files, schema, ParquetFiles)
      val rows = IndexedSeq(2500L, 500L)
      def sample(wanted: Long) = Sampler.sample(input, columns, rows, wanted)
      def rowsOf(sample: IndexedSeq[FolderSample]) = sample.map { f =>
        val Seq(a, b) = f.ranked
        a.ranks.zip(b.ranks).toSeq.map { case (ra, rb) =>
          (
            a.distinct.key(ra - 1).asInstanceOf[Long].toInt,
            b.distinct.key(rb - 1).asInstanceOf[Long])
        }.sorted
      }
      def keys(wanted: Long) = rowsOf(sample(wanted))
      val first = keys(600)
      withSQLConf("spark.sql.files.maxPartitionBytes" -> "2000") {
        val split = new InputFrame(spark, files, schema, ParquetFiles)
        val again = Sampler.sample(split, columns, rows, 600)
        assert(rowsOf(again) === first)
      }
      assert(sample(3000).map(_.rows) === Seq(2500, 500))
      assert(sample(100000).map(_.rows) === Seq(2500, 500))
      val few = sample(1).map(_.rows)
      // the floor of 200, by a hash, so about
      few.foreach(n => assert(n > 140 && n < 260))
      val some = sample(1200).map(_.rows)
      assert(some.head > 850 && some.head < 1150)
      // whole key rows of the table
      val real = read(new File(files.root.toUri.getPath)).select("a", "b").collect()
        .map(r => (r.getInt(0), r.getLong(1))).toSet
      first.flatten.foreach(row => assert(real(row)))
    }
  }

  test("how many rows to sample") {
    assert(Sampler.rowsFor(1) === 100000)
    assert(Sampler.rowsFor(1000) === 200000)
    assert(Sampler.rowsFor(10000) === 1000000)
    assert(Sampler.rowsFor(15000) === 1000000)
    assert(Sampler.rowsFor(20000) === 1280000)
  }

  test("partition i of the dealt frame holds just the rows of file i, sorted") {
    withFiles { (files, schema) =>
      val input = new InputFrame(spark, files, schema, ParquetFiles)
      val rows = IndexedSeq(2500L, 500L)
      val samples = Sampler.sample(input, columns, rows, 1000)
      for (by <- Seq(columns, columns.take(1))) {
        val sampled = samples.map(s => s.copy(columns = s.columns.take(by.size)))
        val grid = Grid.build(
          by.map(c => (c.name, c.dataType)),
          rows,
          IndexedSeq(200.0, 200.0),
          sampled)
        val placement = new Placement(grid)
        val frame = ShuffleLayout.byGrid(spark, input, schema, by, grid)
        assert(frame.schema.fieldNames === schema.fieldNames)
        assert(frame.rdd.getNumPartitions === grid.files)
        val dealt = frame.select(
          spark_partition_id(),
          monotonically_increasing_id(),
          col("a"),
          col("b"),
          col("id")).collect()
        assert(dealt.length === 3000)
        dealt.groupBy(_.getInt(0)).foreach { case (file, inFile) =>
          val folder = grid.folderOfFile(file)
          assert(inFile.forall(r => (if (r.getLong(4) >= 2500) 1 else 0) == folder))
          val at = placement.folder(folder)
          val places = inFile.sortBy(_.getLong(1)).map { r =>
            val slots = Array(at.slotOf(0, r.getInt(2))) ++
              (if (by.size == 2) Array(at.slotOf(1, r.getLong(3))) else Array.emptyIntArray)
            at.place(slots, 0L)
          }
          assert(places.toSeq === places.toSeq.sorted)
          places.foreach { p =>
            assert(PartitionKeys.partitionOf(placement.preimage(p), grid.files) === file)
          }
          if (by.size == 1) {
            val as = inFile.sortBy(_.getLong(1)).map(_.getInt(2)).toSeq
            assert(as === as.sorted)
          }
        }
      }
    }
  }

  test("the places follow the data columns, and no row is copied to leave them out") {
    withFiles { (files, schema) =>
      val input = new InputFrame(spark, files, schema, ParquetFiles)
      val samples = Sampler.sample(input, columns, IndexedSeq(2500L, 500L), 1000)
      val grid = Grid.build(
        columns.map(c => (c.name, c.dataType)),
        IndexedSeq(2500L, 500L),
        IndexedSeq(200.0, 200.0),
        samples)
      val frame = ShuffleLayout.withPlaces(spark, input, schema, columns, grid, _ => 1)
      assert(frame.schema.fieldNames.toSeq === schema.fieldNames.toSeq :+ "_zorder_place")
      val plan = frame.queryExecution.sparkPlan
      assert(plan.isInstanceOf[SortExec], plan)
    }
  }

  test("byFile puts whole files together and keeps the order of rows") {
    withFiles { (files, schema) =>
      val input = new InputFrame(spark, files, schema, ParquetFiles)
      val n = files.files.size
      val fileOf = files.files.map(f => files.folders.indexOf(f.folder))
      val frame = ShuffleLayout.byFile(spark, input, schema, fileOf, 2)
      val dealt = frame.select(spark_partition_id(), monotonically_increasing_id(), col("id"))
        .collect().sortBy(_.getLong(1))
      assert(n >= 4 && dealt.length === 3000)
      for (out <- 0 to 1) {
        // the files were consecutive ranges of id, named by their part number
        val ids = dealt.filter(_.getInt(0) == out).map(_.getLong(2)).toSeq
        assert(ids === (if (out == 0) 0L until 2500L else 2500L until 3000L))
      }
    }
  }
}
