// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.table

import java.io.{File, IOException}

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{Path, RawLocalFileSystem}

import org.apache.spark.sql.catalyst.TableIdentifier
import org.apache.spark.sql.catalyst.catalog.{
  BucketSpec,
  CatalogStorageFormat,
  CatalogTable,
  CatalogTableType,
  InMemoryCatalog
}
import org.apache.spark.sql.types.StructType

import io.sparkzorder.log.StateTestBase

/** Refusals of [[TargetChecks]] without a session; RefusalsSuite has those of paths and file systems. */
class TargetChecksSuite extends StateTestBase {
  private val unsupported = "ZORDER_UNSUPPORTED_TABLE"

  private def path(dir: File, format: DataFormat = ParquetFiles): Target =
    PathTarget(s"file:${dir.getAbsolutePath}", format)

  private def table(
      dir: File,
      provider: Option[String] = Some("parquet"),
      kind: CatalogTableType = CatalogTableType.EXTERNAL,
      serde: Option[String] = None,
      options: Map[String, String] = Map.empty,
      properties: Map[String, String] = Map.empty,
      buckets: Option[BucketSpec] = None): Target =
    CatalogTarget(CatalogTable(
      TableIdentifier("t", Some("d")),
      kind,
      CatalogStorageFormat.empty
        .copy(locationUri = Some(dir.toURI), serde = serde, properties = options),
      new StructType().add("a", "int"),
      provider,
      bucketSpec = buckets,
      properties = properties))

  private def check(target: Target, in: Configuration = conf): Unit = TargetChecks.check(target, in)

  test("plain tables pass, by path and by name, also inside the directory of a database") {
    withTable { (dir, _) =>
      put(dir, "data.parquet", "x")
      put(dir.getParentFile, s"${dir.getName}_other/x.parquet", "x")
      for (format <- DataFormat.all) {
        check(path(dir, format))
        check(table(dir, Some(format.name)))
        TargetChecks.checkForIndex(table(dir, Some(format.name)), conf)
      }
      check(table(dir, Some("hive"), serde = Some("org.apache.hadoop.hive.ql.io.orc.OrcSerde")))
    }
  }

  test("what the catalog says of a table") {
    withTable { (dir, _) =>
      val orc = Map("orc.force.positional.evolution" -> "true")
      for ((target, words) <- Seq(
          table(dir, kind = CatalogTableType.VIEW) -> "a view",
          table(dir, Some("csv")) -> "a table of the format csv",
          table(dir, Some("delta")) -> "a Delta table",
          table(dir, Some("hudi")) -> "a Hudi table",
          table(dir, Some("iceberg")) -> "an Iceberg table",
          table(dir, Some("hive"), serde = Some("org.x.LazySimpleSerDe")) -> "the format hive",
          table(dir, properties = Map("transactional" -> "TRUE")) -> "transactional",
          table(dir, options = Map("PathGlobFilter" -> "*")) -> "the option PathGlobFilter",
          table(dir, options = Map("int96RebaseMode" -> "LEGACY")) -> "the option int96RebaseMode",
          table(dir, buckets = Some(BucketSpec(2, Seq("a"), Nil))) -> "bucketed",
          table(dir, properties = Map("parquet.column.index.access" -> "true")) ->
            "the positions of its columns",
          table(dir, Some("orc"), properties = orc) -> "the positions of its columns",
          table(dir, Some("orc"), options = orc) -> "the positions of its columns")) {
        fails(unsupported, words)(check(target))
      }
      val positional = new Configuration(conf)
      positional.set("orc.force.positional.evolution", "true")
      fails(unsupported, "positions")(check(path(dir, OrcFiles), positional))
      check(path(dir), positional)
    }
  }

  test("an index takes buckets and options, because no file is changed") {
    withTable { (dir, _) =>
      def forIndex(target: Target): Unit = TargetChecks.checkForIndex(target, conf)
      forIndex(table(dir, buckets = Some(BucketSpec(2, Seq("a"), Nil))))
      forIndex(table(dir, options = Map("pathGlobFilter" -> "*")))
      fails(unsupported, "a view")(forIndex(table(dir, kind = CatalogTableType.VIEW)))
      fails(unsupported, "format csv")(forIndex(table(dir, Some("csv"))))
      fails(unsupported, "transactional")(
        forIndex(table(dir, properties = Map("transactional" -> "true"))))
      put(dir, "_delta_log/0.json", "x")
      fails(unsupported, "Delta")(forIndex(path(dir)))
    }
  }

  test("what lies in the directory, and what lies above it") {
    withTable { (dir, _) =>
      put(dir, "below/deep/data.parquet", "x")
      put(dir, ".hoodie/hoodie.properties", "x")
      fails(unsupported, "a Hudi table")(check(table(dir)))
      fails("ZORDER_PATH_IN_TABLE", dir.getName, ".hoodie")(
        check(path(new File(dir, "below/deep"))))
    }
    withTable { (dir, _) =>
      put(dir, "below/data.parquet", "x")
      // a directory of this name that is not Iceberg's
      put(dir, "metadata/notes.txt", "x")
      check(path(new File(dir, "below")))
      put(dir, "_zorder/_README", "x")
      check(path(dir))
      fails("ZORDER_PATH_IN_TABLE", "_zorder")(check(path(new File(dir, "below"))))
    }
  }

  test("an error of the file system does not hide a table inside of a partition") {
    val flaky = new RawLocalFileSystem {
      override def exists(path: Path): Boolean =
        if (path.getName == "_delta_log") throw new IOException("slow down") else false
    }
    val root = new Path("file:/t")
    intercept[IOException](
      TargetChecks.checkNested("t", flaky, root, Seq(new Path(root, "p=1"))))
  }

  private def inCatalog(dir: File)(fail: PartialFunction[String, Throwable]): PathTarget = {
    def read[T](what: String)(body: => T): T = fail.lift(what).fold(body)(throw _)
    val catalog = new InMemoryCatalog {
      override def listDatabases(): Seq[String] = read("databases")(Seq("default", "other"))
      override def listTables(database: String): Seq[String] =
        read(s"tables $database")(Seq(s"in_$database"))
      override def getTablesByName(database: String, names: Seq[String]): Seq[CatalogTable] =
        read(s"table $database")(names.map(getTable(database, _)))
      override def getTable(database: String, name: String): CatalogTable =
        read(s"table $database")(CatalogTable(
          TableIdentifier(name, Some(database)),
          CatalogTableType.EXTERNAL,
          CatalogStorageFormat.empty.copy(locationUri =
            Some(if (database == "other") dir.toURI else new File(dir, "_x").toURI)),
          new StructType(),
          Some("parquet")))
    }
    new CatalogTables(conf, catalog).known(path(dir))
      .asInstanceOf[PathTarget]
  }

  test("a path that the catalog may know is refused while the catalog does not show it") {
    withTable { (dir, _) =>
      val all = inCatalog(dir)(PartialFunction.empty)
      assert(all.tables.map(_.identifier.table) === Seq("in_other"))
      TargetChecks.checkCatalog(all)
      val lost = new java.net.SocketTimeoutException("no answer")
      for (what <- Seq("databases", "tables default", "tables other", "table other")) {
        val open = inCatalog(dir) { case `what` => new RuntimeException(lost) }
        fails("ZORDER_UNSUPPORTED_TABLE", "no answer")(TargetChecks.checkCatalog(open))
      }
      // what the user may not see, and what no session like this one can read
      for ((what, error) <- Seq(
          "databases" -> new RuntimeException("Permission denied: user=u"),
          "tables other" -> new RuntimeException(
            new org.apache.hadoop.security.AccessControlException("u")),
          "table other" -> new RuntimeException("class of the SerDe not found"))) {
        TargetChecks.checkCatalog(inCatalog(dir) { case `what` => error })
      }
    }
  }
}
