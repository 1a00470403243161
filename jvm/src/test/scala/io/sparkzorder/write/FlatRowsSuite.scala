// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.write

import scala.collection.mutable.ArrayBuffer

import org.apache.hadoop.mapreduce.Job
import org.apache.parquet.io.api.{Binary, RecordConsumer}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection
import org.apache.spark.sql.execution.datasources.parquet.{ParquetFileFormat, ParquetWriteSupport}
import org.apache.spark.sql.types._

import io.sparkzorder.commands.OptimizeTestBase

/** Our loop over the columns of a row tells Parquet what Spark's write support tells it. */
class FlatRowsSuite extends OptimizeTestBase {

  /** Writes down what it is told. */
  private final class Recorder extends RecordConsumer {
    val told = ArrayBuffer.empty[Any]
    override def startMessage(): Unit = told += "("
    override def endMessage(): Unit = told += ")"
    override def startField(field: String, index: Int): Unit = told += ((field, index))
    override def endField(field: String, index: Int): Unit = told += ((index, field))
    override def startGroup(): Unit = told += "{"
    override def endGroup(): Unit = told += "}"
    override def addInteger(value: Int): Unit = told += value
    override def addLong(value: Long): Unit = told += value
    override def addBoolean(value: Boolean): Unit = told += value
    // a reused array would change later
    override def addBinary(value: Binary): Unit = told += value.getBytes.toSeq
    override def addFloat(value: Float): Unit = told += java.lang.Float.floatToRawIntBits(value)
    override def addDouble(value: Double): Unit =
      told += java.lang.Double.doubleToRawLongBits(value)
  }

  private val all = Seq(
    "CAST(id - 50 AS TINYINT) AS tiny",
    "CAST(id * 600 - 30000 AS SMALLINT) AS small",
    "CAST(hash(id) AS INT) AS i",
    "xxhash64(id) AS l",
    "id % 3 = 0 AS bool",
    "IF(id = 1, float('NaN'), IF(id = 2, float('-0.0'), CAST(hash(id) AS FLOAT))) AS f",
    "IF(id = 1, double('-Infinity'), CAST(xxhash64(id) AS DOUBLE)) AS d",
    "CONCAT('a ü ', repeat(CAST(id AS STRING), CAST(id % 20 AS INT))) AS s",
    "CAST(repeat(CAST(id AS STRING), CAST(id % 5 AS INT)) AS BINARY) AS b",
    "date_add(DATE'1500-01-01', CAST(id * 4000 AS INT)) AS day",
    "timestamp_micros(xxhash64(id) DIV 100) AS ts",
    "CAST(timestamp_micros(xxhash64(id) DIV 100) AS TIMESTAMP_NTZ) AS ntz",
    "CAST(id - 50 AS DECIMAL(9, 2)) AS d9",
    "CAST(xxhash64(id) DIV 1000 AS DECIMAL(18, 0)) AS d18",
    "make_ym_interval(CAST(id - 50 AS INT), 3) AS ym",
    "make_dt_interval(CAST(id - 50 AS INT), 1, 2, 3.000001) AS dt")

  /** What Spark's write support and ours tell of the same rows, which have one more column. */
  private def told(columns: Seq[String]): (Seq[Any], Option[Seq[Any]]) = inConf(
    "spark.sql.parquet.datetimeRebaseModeInWrite" -> "CORRECTED",
    "spark.sql.parquet.outputTimestampType" -> "TIMESTAMP_MICROS") {
    val nullable = columns.zipWithIndex.map { case (c, i) =>
      val Array(value, name) = c.split(" AS (?=\\w+$)")
      s"IF(id % 7 = ${i % 7}, NULL, $value) AS $name"
    }
    val frame = spark.range(0, 100, 1, 1).selectExpr(nullable :+ "id AS place": _*)
    val rows = frame.queryExecution.toRdd.map(_.copy()).collect()
    val schema = StructType(frame.schema.dropRight(1))
    val job = Job.getInstance(spark.sessionState.newHadoopConf())
    new ParquetFileFormat().prepareWrite(spark, job, Map.empty, schema)
    val (sparks, ours) = (new Recorder, new Recorder)
    val support = new ParquetWriteSupport
    support.init(job.getConfiguration)
    support.prepareForWrite(sparks)
    val narrow = UnsafeProjection.create(schema)
    rows.foreach(r => support.write(narrow(r)))
    val flat = FlatRows.of(schema)
    flat.foreach(f => rows.foreach(r => f.write(r: InternalRow, ours)))
    (sparks.told.toSeq, flat.map(_ => ours.told.toSeq))
  }

  test("each type is told as by Spark's write support, with NULLs, and without what follows") {
    val (sparks, ours) = told(all)
    assert(sparks.size > 100 * all.size)
    assert(ours === Some(sparks))
  }

  test("nested columns, wide decimals and VOID are left to Spark") {
    Seq(
      "named_struct('a', id) AS x",
      "array(id) AS x",
      "map(id, id) AS x",
      "CAST(id AS DECIMAL(19, 0)) AS x").foreach { column =>
      assert(told(all :+ column)._2 === None, column)
    }
    assert(FlatRows.of(new StructType().add("x", NullType)).isEmpty)
  }

  test("OPTIMIZE by two columns writes nested columns and wide decimals") {
    withTableDir { dir =>
      val nested =
        "IF(id % 5 = 0, NULL, named_struct('a', id, 'b', array(CAST(id AS STRING)))) AS n"
      writingOldDates(write(
        spark.range(0, 100, 1, 3).selectExpr(
          all :+ nested :+ "CAST(id AS DECIMAL(30, 3)) AS wide" :+ "id % 10 AS k" :+ "id": _*),
        dir))
      // checks itself that the rows are the same multiset
      optimize(s"OPTIMIZE '$dir' ZORDER BY (k, id)", dir)(read(dir))
    }
  }
}
