// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands.actors

import java.io.{ByteArrayInputStream, ByteArrayOutputStream, File}
import java.net.URI
import java.nio.{ByteBuffer, ByteOrder}
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.Files
import java.nio.file.attribute.PosixFilePermissions
import java.security.PrivilegedExceptionAction

import scala.collection.JavaConverters._
import scala.util.Try

import com.fasterxml.jackson.databind.ObjectMapper
import org.apache.commons.io.FileUtils
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FsStatus, Path}
import org.apache.hadoop.security.UserGroupInformation
import org.apache.parquet.example.data.simple.SimpleGroupFactory
import org.apache.parquet.format.{CompressionCodec, Util}
import org.apache.parquet.hadoop.example.ExampleParquetWriter
import org.apache.parquet.schema.MessageTypeParser

import org.apache.spark.{SPARK_VERSION, SparkConf}
import org.apache.spark.sql.DataFrame

import io.sparkzorder.FaultyFileSystem
import io.sparkzorder.commands.FaultyTables

/**
 * A statement that is refused has changed nothing: for every condition of the catalogue, the tree of a
 * table and the tables of the catalog are the same before and after the statements that meet it.
 */
class RefusalsChangeNothingSuite extends FaultyTables {
  import RefusalsChangeNothingSuite.Full

  override protected def sparkConf: SparkConf = super.sparkConf
    .set("spark.zorder.inPlaceSchemes", "file,faulty,full")
    .set("spark.hadoop.fs.full.impl", classOf[Full].getName)

  /** A table with what belongs to a test beside it. */
  private class Place(val base: File) {
    val dir = new File(base, "table")

    /** The files as they were before any run. */
    val originals = new File(base, "originals")

    def at(path: String): File = new File(base, path)
    def partition(p: Int): File = new File(dir, s"p=$p")
    def files(p: Int): Seq[File] = dataFilesIn(partition(p))
    def commits: File = new File(dir, "_zorder/_commits")
  }

  private def dataFilesIn(folder: File): Seq[File] =
    folder.listFiles.filter(_.getName.endsWith(".parquet")).sorted.toSeq

  // --- what a table has been through ---

  private lazy val places = Files.createTempDirectory("refusals").toFile

  override protected def afterAll(): Unit =
    try FileUtils.deleteDirectory(places)
    finally super.afterAll()

  private def rows(n: Int): DataFrame = shuffled(n, 2).selectExpr(
    "id",
    "a",
    "b",
    "array(id) l",
    "named_struct('x', a) n",
    "id % 2 p")

  private lazy val fresh: Place = {
    val place = new Place(new File(places, "fresh"))
    write(rows(60), place.dir, "p")
    FileUtils.copyDirectory(place.dir, place.originals, true)
    place
  }

  /** One run whose retention is over, and one that was killed while it was being published. */
  private lazy val worn: Place = {
    val place = new Place(new File(places, "worn"))
    FileUtils.copyDirectory(fresh.base, place.base, true)
    sql(s"OPTIMIZE '${place.dir}' ZORDER BY a OPTIONS ('retention' '1h')").collect()
    longAgo(place.dir, 48)
    write(rows(40), place.dir, "p")
    kill(isRevealing)(s"OPTIMIZE ${faulty(place.dir)} FULL ZORDER BY b")
    place
  }

  /** Kills a statement before the first operation that matches. */
  private def kill(matches: (String, Path) => Boolean)(statement: String): Unit =
    assert(killedAt(0)(matches)(sql(statement).collect())._2, s"$statement was not killed")

  /** True for a rename that makes a new file visible: what it replaced in the folder is hidden then. */
  private def isRevealing(operation: String, path: Path): Boolean =
    isPublishing(operation, path) && !path.getParent.getName.startsWith("_zorder_") &&
      !path.getName.startsWith("part-zorder-")

  /** The token of the folder in which the killed run was about to make a file visible. */
  private def token(place: Place): File = Seq(0, 1).map(place.files).collectFirst {
    case Seq(only) if only.getName.startsWith("part-zorder-") => only
  }.get

  // --- statements ---

  private def optimizing(clauses: String, options: String = "")(place: Place): Seq[String] =
    Seq(
      s"OPTIMIZE '${place.dir}' $clauses $options",
      s"OPTIMIZE '${place.dir}' $clauses $options DRY RUN") :+ copying(clauses, options)(place)

  private def copying(clauses: String, options: String = "")(place: Place): String =
    s"OPTIMIZE '${place.dir}' $clauses INTO '${place.at("copy")}' $options"

  private def onRuns(target: String): Seq[String] = Seq(
    s"RECOVER LAYOUT $target",
    s"RECOVER LAYOUT $target ABANDON",
    s"UNDO LAYOUT $target",
    s"VACUUM LAYOUT $target",
    s"VACUUM LAYOUT $target RETAIN 0 HOURS")

  private def onPath(path: File): Seq[String] = onRuns(s"'$path'") ++ Seq(
    s"OPTIMIZE '$path' ZORDER BY a",
    s"OPTIMIZE '$path' ZORDER BY a INTO '${path}_copy'",
    s"OPTIMIZE '$path' ZORDER BY a DRY RUN",
    s"SHOW LAYOUT '$path'",
    s"SHOW LAYOUT HISTORY '$path'",
    s"SHOW WORKLOAD '$path'",
    s"CREATE ZORDER INDEX ON '$path'",
    s"REFRESH ZORDER INDEX ON '$path'",
    s"DROP ZORDER INDEX ON '$path'")

  private def showing(columns: String)(place: Place): String =
    s"SHOW LAYOUT '${place.dir}' FOR ($columns)"

  private def indexing(columns: String)(place: Place): String =
    s"CREATE ZORDER INDEX ON '${place.dir}' ($columns)"

  private def sorting(columns: String)(place: Place): Seq[String] = Seq(
    s"ALTER TABLE t SORT BY ($columns)",
    s"CREATE TABLE n (a INT, b INT, l ARRAY<INT>, p INT) USING parquet PARTITIONED BY (p) " +
      s"LOCATION '${place.at("new")}' SORT BY ($columns)",
    s"CREATE TABLE n USING parquet PARTITIONED BY (p) LOCATION '${place.at("new")}' " +
      s"SORT BY ($columns) AS SELECT 1 a, 2 b, array(1) l, 3 p")

  private def explaining(query: Place => String)(place: Place): String =
    s"SHOW SKIPPING FOR ${query(place)}"

  // --- what is wrong with the table ---

  /** Makes the table `t` of the catalog on the directory. */
  private def named(place: Place): Unit = {
    sql("CREATE TABLE t (id BIGINT, a INT, b INT, l ARRAY<BIGINT>, n STRUCT<x: INT>, p BIGINT) " +
      s"USING parquet PARTITIONED BY (p) LOCATION '${place.dir}'")
    sql("MSCK REPAIR TABLE t")
    ()
  }

  private def json(place: Place): Unit = {
    sql(s"CREATE TABLE j (a INT) USING json LOCATION '${place.at("json")}'")
    ()
  }

  /** Puts a file of other columns into a folder. */
  private def stranger(df: => DataFrame)(place: Place): Unit = {
    val made = place.at("made")
    df.coalesce(1).write.parquet(made.getPath)
    FileUtils.moveFile(dataFilesIn(made).head, new File(place.partition(0), "x.parquet"))
    FileUtils.deleteDirectory(made)
  }

  private def bytes(content: Array[Byte])(place: Place): Unit = {
    val _ = Files.write(new File(place.partition(0), "x.parquet").toPath, content)
  }

  /** Puts a file of one row of another writer into a folder. */
  private def parquet(column: String, keys: (String, String)*)(place: Place): Unit = {
    val path = new Path(null, null, s"${place.partition(0)}/x.parquet")
    val schema = MessageTypeParser.parseMessageType(s"message m { $column }")
    val writer = ExampleParquetWriter.builder(path).withConf(new Configuration())
      .withType(schema).withExtraMetaData(keys.toMap.asJava).build()
    writer.write(new SimpleGroupFactory(schema).newGroup().append(schema.getFieldName(0), 1L))
    writer.close()
  }

  /** Puts a file into a folder that says that its codec is one without a library. */
  private def foreignCodec(place: Place): Unit = {
    parquet("optional int64 id;")(place)
    val file = new File(place.partition(0), "x.parquet").toPath
    val content = Files.readAllBytes(file)
    // at the end are the footer, its length and the magic number
    val end = content.length - 8
    val from = end - ByteBuffer.wrap(content).order(ByteOrder.LITTLE_ENDIAN).getInt(end)
    val footer = Util.readFileMetaData(new ByteArrayInputStream(content.slice(from, end)))
    for (group <- footer.getRow_groups.asScala; column <- group.getColumns.asScala) {
      column.getMeta_data.setCodec(CompressionCodec.BROTLI)
    }
    val out = new ByteArrayOutputStream
    Util.writeFileMetaData(footer, out)
    val length = ByteBuffer.allocate(4).order(ByteOrder.LITTLE_ENDIAN).putInt(out.size).array
    Files.write(file, content.take(from) ++ out.toByteArray ++ length ++ content.takeRight(4))
    // the sum of what was there before
    FileUtils.forceDelete(new File(place.partition(0), ".x.parquet.crc"))
  }

  /** Files come back under the names that a run has replaced. */
  private def back(times: Boolean)(place: Place): Unit = {
    if (!place.commits.exists()) optimized(place)
    val folder = Try(token(place).getParentFile).getOrElse(place.partition(0))
    val file = dataFilesIn(new File(place.originals, folder.getName)).head
    FileUtils.copyFile(file, new File(folder, file.getName), times)
  }

  private def optimized(place: Place): Unit = {
    sql(s"OPTIMIZE '${place.dir}' ZORDER BY a").collect()
    ()
  }

  private def indexed(place: Place): Unit = {
    sql(s"CREATE ZORDER INDEX ON '${place.dir}'").collect()
    ()
  }

  /** Files that the last run replaced in a folder. */
  private def kept(place: Place, p: Int): Seq[File] = {
    val own = place.partition(p).listFiles.filter(_.getName.startsWith("_zorder_"))
    assert(own.length === 1)
    own.head.listFiles.filter(_.getName.startsWith("_old_")).sorted.toSeq
  }

  /** A run in `p=1` is published, and one in `p=0` that has committed before it is not. */
  private def crossed(place: Place): Unit = {
    def in(p: Int) = s"OPTIMIZE ${faulty(place.dir)} WHERE p = $p ZORDER BY a"
    meanwhile(relisting(place.dir)) {
      assert(killedAt(3)(isPublishing)(sql(in(0)).collect())._2)
    }(sql(in(1)).collect())
    assert(place.commits.list.toSet.filter(_.endsWith("_done")) === Set("_2_done"))
  }

  private def edit(file: File)(change: String => String): Unit = {
    val text = FileUtils.readFileToString(file, UTF_8)
    assert(change(text) !== text)
    FileUtils.write(file, change(text), UTF_8)
  }

  private def put(path: String)(place: Place): Unit =
    FileUtils.write(place.at(path), "x", UTF_8)

  private def bits(file: File, permissions: String): Unit = {
    val _ =
      Files.setPosixFilePermissions(file.toPath, PosixFilePermissions.fromString(permissions))
  }

  // --- the catalogue ---

  /**
   * @param statements that are refused
   * @param spoil makes the table one for which they are
   * @param pasts what the table has been through before that
   * @param around what runs the statements
   */
  private class Refused(
      val statements: Place => Seq[String],
      val spoil: Place => Unit = _ => (),
      val pasts: Seq[String] = Seq("fresh", "worn"),
      val around: (() => Unit) => Unit = _())

  private val onFresh = Seq("fresh")
  private val onWorn = Seq("worn")

  private def setting(key: String, value: String)(body: () => Unit): Unit =
    withSQLConf(key -> value)(body())

  private def asCarol(body: () => Unit): Unit =
    UserGroupInformation.createRemoteUser("carol").doAs(new PrivilegedExceptionAction[Unit] {
      override def run(): Unit = body()
    })

  private val refused: Seq[(String, Seq[Refused])] = Seq(
    "ZORDER_BOUNDS_INVALID" -> Seq(new Refused(p =>
      Seq(
        explaining(p => s"SELECT range_partition_id(a, array(3, 1)) FROM parquet.`${p.dir}`")(p)))),
    "ZORDER_CODEC_NOT_AVAILABLE" -> Seq(
      new Refused(optimizing("FULL ZORDER BY a"), foreignCodec)),
    "ZORDER_COLUMN_DUPLICATED" -> Seq(new Refused(
      p => optimizing("ZORDER BY (a, A)")(p) ++ sorting("a, A")(p) :+ showing("a, A")(p),
      named)),
    "ZORDER_COLUMN_IS_PARTITION_COLUMN" -> Seq(new Refused(
      p => optimizing("ZORDER BY (a, p)")(p) ++ sorting("a, p")(p) :+ showing("p")(p),
      named)),
    "ZORDER_COLUMN_NOT_FOUND" -> Seq(
      new Refused(
        p => optimizing("ZORDER BY nope")(p) ++ sorting("nope")(p) :+ showing("nope")(p),
        named),
      new Refused(p => Seq(indexing("nope")(p), indexing("a, n.nope")(p)), pasts = onFresh),
      new Refused(
        p => Seq(s"REFRESH ZORDER INDEX ON '${p.dir}' (nope)"),
        indexed,
        onFresh)),
    "ZORDER_COLUMN_NOT_ORDERABLE" -> Seq(new Refused(
      p => optimizing("ZORDER BY l")(p) ++ sorting("l")(p) :+ showing("l")(p),
      named)),
    "ZORDER_DIRECTORY_NOT_WRITABLE" -> Seq(
      new Refused(
        p => Seq(s"OPTIMIZE ${faulty(p.dir)} FULL ZORDER BY a"),
        p => bits(p.partition(0), "r-xr-xr-x")),
      new Refused(
        p => Seq(s"OPTIMIZE '${p.dir}' ZORDER BY a INTO ${faulty(p.at("closed/copy"))}"),
        { p =>
          assert(p.at("closed").mkdir())
          bits(p.at("closed"), "r-xr-xr-x")
        })),
    "ZORDER_DIRECTORY_STICKY" -> Seq(new Refused(
      p => Seq(s"OPTIMIZE '${p.dir}' FULL ZORDER BY a"),
      p => {
        val sticky = Integer.valueOf(Integer.parseInt("1777", 8))
        val _ = Files.setAttribute(p.partition(0).toPath, "unix:mode", sticky)
      },
      around = asCarol)),
    "ZORDER_FILES_OUTSIDE_PARTITIONS" -> Seq(new Refused(
      optimizing("ZORDER BY a"),
      p =>
        FileUtils.copyFile(
          dataFilesIn(new File(p.originals, "p=0")).head,
          new File(p.dir, "x.parquet")))),
    "ZORDER_FILES_RETURNED" -> Seq(new Refused(optimizing("ZORDER BY b"), back(times = true))),
    "ZORDER_FILE_ENCRYPTED" -> Seq(new Refused(
      optimizing("ZORDER BY a"),
      bytes(
        "PARE".getBytes(UTF_8) ++ Array.fill[Byte](40)(7) ++ Array[Byte](40, 0, 0, 0) ++
          "PARE".getBytes(UTF_8)))),
    "ZORDER_FILE_UNREADABLE" -> Seq(
      new Refused(
        p => optimizing("ZORDER BY a")(p) :+ showing("a")(p),
        bytes("no Parquet at all, but long enough".getBytes(UTF_8))),
      // a kept file lost its content, as in a power failure
      new Refused(
        p => Seq(s"UNDO LAYOUT '${p.dir}'"),
        { p =>
          optimized(p)
          val file = kept(p, 1).head
          val modified = file.lastModified
          Files.write(file.toPath, new Array[Byte](file.length.toInt))
          assert(file.setLastModified(modified))
        },
        onFresh)),
    "ZORDER_FOLDER_IN_DOUBT" -> Seq(new Refused(
      p =>
        optimizing("ZORDER BY a")(p) ++ onRuns(s"'${p.dir}'").filterNot(_.contains("ABANDON")) ++
          Seq(0, 1).map(i => s"OPTIMIZE '${p.dir}' FULL WHERE p = $i ZORDER BY a") :+
          showing("a")(p),
      p => assert(token(p).delete()),
      onWorn)),
    "ZORDER_FOOTER_HOLDS_DATA" -> Seq(new Refused(
      optimizing("ZORDER BY a"),
      parquet(
        "optional int64 id;",
        "pandas" -> ("""{"index_columns": [{"kind": "range", "name": "key", "start": 0, """ +
          """"stop": 7, "step": 1}], "columns": []}""")))),
    "ZORDER_INCOMPATIBLE_SCHEMAS" -> Seq(new Refused(
      optimizing("ZORDER BY b"),
      stranger(spark.range(9).selectExpr("id", "string(id) a")))),
    "ZORDER_INDEX_COLUMN_INVALID" -> Seq(
      new Refused(p => Seq("p", "n", "l", "a, l").map(indexing(_)(p)), pasts = onFresh),
      new Refused(
        p => Seq("p", "n", "l").map(c => s"REFRESH ZORDER INDEX ON '${p.dir}' ($c)"),
        indexed,
        onFresh)),
    "ZORDER_INDEX_EXISTS" -> Seq(
      new Refused(
        p => Seq(s"CREATE ZORDER INDEX ON '${p.dir}'", indexing("a")(p)),
        p => if (!p.commits.exists()) indexed(p))),
    "ZORDER_INDEX_NOT_FOUND" -> Seq(new Refused(
      p =>
        Seq("REFRESH", "DROP").map(v => s"$v ZORDER INDEX ON '${p.dir}'") :+
          s"REFRESH ZORDER INDEX ON '${p.dir}' (a)",
      p => FileUtils.deleteDirectory(new File(p.dir, "_zorder/_index")))),
    "ZORDER_INVALID_SETTING" -> Seq(
      new Refused(
        p =>
          onRuns("t") ++
            Seq("", s"INTO '${p.at("copy")}'", "DRY RUN").map(o => s"OPTIMIZE t ZORDER BY a $o"),
        { p =>
          named(p)
          sql("ALTER TABLE t SET TBLPROPERTIES ('zorder.retention' = 'soon')")
          ()
        }),
      new Refused(optimizing("ZORDER BY a", "OPTIONS ('targetFileSize' 'x')")),
      new Refused(
        p => Seq(s"CREATE ZORDER INDEX ON '${p.dir}' OPTIONS ('int96' 'x')"),
        pasts = onFresh)),
    "ZORDER_IN_PLACE_UNSAFE_FILE_SYSTEM" -> Seq(new Refused(
      p =>
        optimizing("ZORDER BY a", "OPTIONS ('publish' 'rename')")(p).take(2) :+
          s"PUBLISH LAYOUT '${p.dir}'",
      around = setting("spark.zorder.inPlaceSchemes", "hdfs"))),
    "ZORDER_LAYOUT_NOT_KNOWN" -> Seq(new Refused(_ => Seq("SHOW LAYOUT j"), json, onFresh)),
    "ZORDER_NAMES_REUSED" -> Seq(new Refused(optimizing("ZORDER BY b"), back(times = false))),
    "ZORDER_NOTHING_TO_UNDO" -> Seq(
      new Refused(p => Seq(s"UNDO LAYOUT '${p.dir}'"), pasts = onFresh),
      new Refused(
        p => Seq(s"UNDO LAYOUT '${p.dir}'"),
        { p =>
          optimized(p)
          kill(isRevealing)(s"UNDO LAYOUT ${faulty(p.dir)}")
        },
        onFresh),
      new Refused(
        p => Seq(s"UNDO LAYOUT '${p.dir}'"),
        { p =>
          kill(isRevealing)(s"OPTIMIZE ${faulty(p.dir)} ZORDER BY a")
          kill(isPublishing)(s"RECOVER LAYOUT ${faulty(p.dir)} ABANDON")
        },
        onFresh)),
    "ZORDER_NOT_A_QUERY" -> Seq(new Refused(p =>
      Seq(
        s"INSERT OVERWRITE DIRECTORY '${p.dir}' USING parquet SELECT 1",
        "CREATE TABLE n USING parquet AS SELECT 1 x",
        s"EXECUTE IMMEDIATE 'INSERT OVERWRITE DIRECTORY \\'${p.dir}\\' USING parquet SELECT 1'",
        s"BEGIN INSERT OVERWRITE DIRECTORY '${p.dir}' USING parquet SELECT 1; END")
        // Spark 3.5 has neither EXECUTE IMMEDIATE with such a text nor scripts
        .take(if (SPARK_VERSION.startsWith("3.")) 2 else 4).map(q => explaining(_ => q)(p)))),
    "ZORDER_NOT_ENOUGH_SPACE" -> Seq(
      new Refused(p => Seq(s"OPTIMIZE 'full://${p.dir}' FULL ZORDER BY a")),
      new Refused(p => Seq(s"OPTIMIZE '${p.dir}' ZORDER BY a INTO 'full://${p.at("copy")}'"))),
    "ZORDER_PARTITION_OUTSIDE_TABLE" -> Seq(new Refused(
      p =>
        Seq(
          "OPTIMIZE t FULL WHERE p = 1 ZORDER BY a",
          s"OPTIMIZE t ZORDER BY a INTO '${p.at("copy")}'"),
      { p =>
        named(p)
        sql(s"ALTER TABLE t PARTITION (p = 1) SET LOCATION '${p.originals}/p=1'")
        ()
      })),
    "ZORDER_PARTITION_TOO_LARGE" -> Seq(new Refused(
      optimizing("FULL ZORDER BY a")(_).take(2),
      around = setting("spark.zorder.batchSize", "10"))),
    "ZORDER_PATH_IN_TABLE" -> Seq(
      new Refused(
        p => onPath(new File(p.dir, "below")),
        { p =>
          put("table/.hoodie/hoodie.properties")(p)
          FileUtils.copyDirectory(p.originals, new File(p.dir, "below"))
        }),
      new Refused(p => Seq(s"OPTIMIZE '${p.dir}' ZORDER BY a INTO '${p.dir}/copy'"))),
    "ZORDER_PATH_NOT_A_TABLE" -> Seq(
      new Refused(p => onPath(new File(p.dir, "nope"))),
      new Refused(p => onPath(p.partition(0)))),
    "ZORDER_PREDICATE_NOT_ON_PARTITIONS" -> Seq(new Refused(p =>
      Seq(copying("WHERE a = 1 ZORDER BY a")(p)))),
    "ZORDER_PREDICATE_NOT_TRANSLATABLE" -> Seq(new Refused(
      optimizing("WHERE rand() < 0.5 ZORDER BY a"))),
    "ZORDER_RECORD_LOST" -> Seq(new Refused(
      optimizing("ZORDER BY a"),
      p => {
        val token = new File(p.dir, s"p=0/part-zorder-${new java.util.UUID(1, 2)}.parquet")
        assert(token.createNewFile())
      })),
    "ZORDER_SAMPLING_NOT_SUPPORTED" -> Seq(new Refused(p =>
      Seq(explaining(p => s"SELECT zorder(a, uuid()) FROM parquet.`${p.dir}`")(p)))),
    "ZORDER_SORT_BY_UNSUPPORTED" -> Seq(
      new Refused(p => Seq(s"ALTER TABLE parquet.`${p.dir}` SORT BY (a)")),
      new Refused(
        p =>
          Seq(
            "ALTER TABLE j SORT BY (a)",
            "CREATE TABLE n (a INT) USING csv SORT BY (a)",
            s"CREATE TABLE n USING csv LOCATION '${p.at("new")}' SORT BY (a) AS SELECT 1 a"),
        json,
        onFresh)),
    "ZORDER_STATE_UNREADABLE" -> Seq(
      new Refused(
        p =>
          optimizing("ZORDER BY a")(p) ++ onRuns(s"'${p.dir}'") ++ Seq(
            showing("a")(p),
            s"SHOW LAYOUT HISTORY '${p.dir}'",
            s"CREATE ZORDER INDEX ON '${p.dir}'",
            indexing("a")(p)),
        put("table/_zorder/_commits/_1"),
        onFresh),
      new Refused(
        p =>
          optimizing("ZORDER BY a")(p) ++ onRuns(s"'${p.dir}'") ++ Seq(
            showing("a")(p),
            s"SHOW LAYOUT HISTORY '${p.dir}'",
            s"REFRESH ZORDER INDEX ON '${p.dir}'"),
        put("table/_zorder/_commits/_2"),
        onWorn)),
    "ZORDER_SCHEMA_NOT_READABLE" -> Seq(new Refused(
      optimizing("ZORDER BY a"),
      parquet(
        "optional int64 id;",
        "org.apache.spark.sql.parquet.row.metadata" -> (
          """{"type":"struct","fields":[{"name":"id","type":"long","nullable":true,"metadata":""" +
            """{"EXISTS_DEFAULT":"5"}},{"name":"v","type":"of another version","nullable":true,""" +
            """"metadata":{}}]}""")))),
    "ZORDER_SYMBOLIC_LINK" -> Seq(new Refused(
      optimizing("ZORDER BY a")(_).take(2),
      { p =>
        val _ = Files.createSymbolicLink(
          new File(p.partition(0), "x.parquet").toPath,
          dataFilesIn(new File(p.originals, "p=0")).head.toPath)
      })),
    "ZORDER_TARGET_NOT_EMPTY" -> Seq(
      new Refused(p => Seq(copying("ZORDER BY a")(p)), put("copy/x"))),
    "ZORDER_TOO_MANY_COLUMNS" -> Seq(new Refused(
      optimizing((1 to 64).map(i => s"c$i").mkString("ZORDER BY (", ", ", ")")))),
    "ZORDER_TYPE_NOT_READABLE" -> Seq(new Refused(
      optimizing("ZORDER BY a"),
      parquet("optional int64 t (TIMESTAMP(NANOS,true));"))),
    "ZORDER_TYPE_NOT_WRITABLE" -> Seq(new Refused(
      optimizing("FULL ZORDER BY a"),
      p =>
        withSQLConf("spark.sql.parquet.writeLegacyFormat" -> "true")(
          stranger(rows(9).drop("p"))(p)))),
    "ZORDER_UNDO_REFUSED" -> Seq(
      new Refused(
        p => Seq(s"UNDO LAYOUT '${p.dir}'"),
        { p =>
          optimized(p)
          assert(kept(p, 1).head.delete())
        },
        onFresh),
      new Refused(
        p => Seq(s"UNDO LAYOUT '${p.dir}'"),
        { p =>
          optimized(p)
          assert(p.files(0).head.setLastModified(1700000000000L))
        },
        onFresh),
      // the record tells other rows than the kept files have
      new Refused(
        p => Seq(s"UNDO LAYOUT '${p.dir}'"),
        { p =>
          optimized(p)
          edit(new File(p.commits, "_1"))(_.replaceFirst("\"rows\":\\d+", "\"rows\":7"))
        },
        onFresh),
      // another run waits for being published
      new Refused(
        p => Seq(s"UNDO LAYOUT '${p.dir}'"),
        { p =>
          crossed(p)
          assert(kept(p, 1).head.delete())
        },
        onFresh)),
    "ZORDER_UNKNOWN_SETTING" -> Seq(
      new Refused(
        p => optimizing("ZORDER BY a")(p) ++ onRuns(s"'${p.dir}'"),
        around = setting("spark.zorder.nope", "1")),
      new Refused(optimizing("ZORDER BY a", "OPTIONS ('nope' '1')")),
      new Refused(
        p => Seq(s"CREATE ZORDER INDEX ON '${p.dir}' OPTIONS ('nope' '1')"),
        pasts = onFresh)),
    "ZORDER_UNSUPPORTED_TABLE" -> Seq(
      new Refused(p => onPath(p.dir), put("table/_spark_metadata/0")),
      new Refused(
        optimizing("FULL ZORDER BY a")(_).take(1),
        put("table/p=0/.hoodie/hoodie.properties"))))

  /** What no statement on such a table is refused with. */
  private val others: Seq[(String, String)] = Seq(
    "ZORDER_BUCKETS_UNKNOWN" -> "an error of a query",
    "ZORDER_CONFLICT" -> "an error before the commit, when files of the run are written already",
    "ZORDER_EXTENSION_MISSING" -> "the session does not know our statements, so none of them runs",
    "ZORDER_LISTING_INCOMPLETE" -> "an error of a query",
    "ZORDER_PERMISSION_DENIED" -> "an error of any step, in PermissionsSuite",
    "ZORDER_PUBLISH_CONFLICT" -> "an error after the commit",
    "ZORDER_STATE_LOST" -> "an error of a run whose table was overwritten meanwhile",
    "ZORDER_STORE_UNSAFE" -> "in StoreShadowSuite, which has such a store",
    "ZORDER_VERIFICATION_FAILED" -> "an error before the commit, when files are written already")

  test("the list has every condition of the catalogue") {
    val in = getClass.getResourceAsStream("/io/sparkzorder/zorder-error-conditions.json")
    val catalogue =
      try new ObjectMapper().readTree(in).fieldNames().asScala.toSeq
      finally in.close()
    assert((refused.map(_._1) ++ others.map(_._1)).sorted === catalogue.sorted)
  }

  /** The tables of the catalog with all that a statement might change. */
  private def tables: Set[Any] = {
    val catalog = spark.sessionState.catalog
    catalog.listTables("default").map(catalog.getTableMetadata).map { t =>
      (t.identifier, t.schema, t.properties, t.storage, t.stats)
    }.toSet
  }

  for {
    (condition, kinds) <- refused
    past <- Seq("fresh", "worn") if kinds.exists(_.pasts.contains(past))
  } test(s"$condition, on a $past table") {
    val changes = kinds.filter(_.pasts.contains(past)).flatMap { kind =>
      val place = new Place(new File(places, "place"))
      FileUtils.copyDirectory((if (past == "fresh") fresh else worn).base, place.base, true)
      try {
        kind.spoil(place)
        kind.statements(place).filter { statement =>
          val (tree, known) = (snapshot(place.base), tables)
          kind.around(() => { val _ = fails(condition)(sql(statement).collect()) })
          val now = snapshot(place.base)
          if (now != tree) info(s"$statement: ${now.toSet.diff(tree.toSet).map(_._1).toSeq.sorted}")
          now != tree || tables != known
        }
      } finally {
        Seq("t", "n", "j").foreach(t => sql(s"DROP TABLE IF EXISTS $t"))
        Seq(place.partition(0), place.at("closed")).filter(_.exists())
          .foreach(f => Try(bits(f, "rwxr-xr-x")))
        FileUtils.deleteDirectory(place.base)
      }
    }
    assert(changes === Nil)
  }
}

object RefusalsChangeNothingSuite {

  /** A disk on which there is no room. */
  class Full extends FaultyFileSystem {
    override def getUri: URI = URI.create("full:///")
    override def getScheme: String = "full"
    override def getStatus(path: Path): FsStatus = new FsStatus(1000L, 1000L, 0L)
  }
}
