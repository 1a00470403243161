// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.table

import java.io.FileNotFoundException
import java.util.Locale

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileSystem, Path}

import org.apache.spark.sql.catalyst.catalog.{CatalogTable, CatalogTableType}

import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.util.{ManyFiles, ObjectStore}

/** Rejects tables that OPTIMIZE must not change. The checks read no data file, and write nothing. */
private[sparkzorder] object TargetChecks {

  /** Checks a target: what kind of table it is, and what lies in and above its directory. */
  def check(target: Target, conf: Configuration): Unit = {
    checkKind(target, conf)(checkTable)
    checkPlace(target, conf)
  }

  /**
   * Rejects a table that cannot have an index, because Spark does not read its files as plain
   * Parquet or ORC. Buckets and options are allowed, because an index changes no data file.
   */
  def checkForIndex(target: Target, conf: Configuration): Unit = {
    checkKind(target, conf) { (name, table) =>
      if (table.tableType == CatalogTableType.VIEW) {
        refuse(name, "a view", "Name the table that it reads.")
      }
      checkFormat(name, table)
    }
    checkPlace(target, conf)
  }

  /**
   * Checks a path, and each catalog table that is known to be there. So the catalog protects a bucketed table, for
   * example, also if a statement names only its path.
   *
   * @param ofTable checks a table, by the name that messages show
   */
  private def checkKind(target: Target, conf: Configuration)(
      ofTable: (String, CatalogTable) => Unit): Unit = {
    val names = target match {
      case p: PathTarget =>
        checkPath(p, conf)
        checkNames(target.name, target.format, conf)
        p.tables.map(t => s"${p.name}, the directory of ${t.identifier.quotedString},")
      case t: CatalogTarget => Seq(t.name)
    }
    names.zip(target.tables).foreach { case (name, table) =>
      ofTable(name, table)
      checkNames(name, CatalogTarget(table).format, confOf(table, conf))
    }
  }

  /**
   * Rejects a file system on which files cannot be replaced in place.
   *
   * @param schemes the setting `inPlaceSchemes`: schemes of file systems on which files can be replaced in place
   */
  def checkInPlace(target: Target, conf: Configuration, schemes: String): Unit =
    unsafeInPlace(target, conf, schemes)
      .foreach(s => throw ZOrderErrors.inPlaceUnsafe(target.name, s))

  /**
   * Rejects a path if a part of the catalog could not be read. A table at the path may be in this part, and may be of a
   * kind whose files must not be changed.
   */
  def checkCatalog(target: Target): Unit = target match {
    case PathTarget(_, _, _, Some(problem)) => refuse(
        target,
        "a path at which the catalog may have a table, and a part of the catalog could not be " +
          s"read ($problem)",
        "Run the statement when the catalog can be read, or with the name of the table. If no table is there, run it " +
          "in a session with spark.sql.catalogImplementation=in-memory.")
    case _ =>
  }

  /** The kind of the target's file system if files cannot be replaced in place there, else None. */
  def unsafeInPlace(target: Target, conf: Configuration, schemes: String): Option[String] = {
    val root = target.root(conf)
    val scheme = Option(root.toUri.getScheme).getOrElse("file")
    if (!schemes.split(',').map(_.trim).contains(scheme)) Some(scheme)
    else if (ObjectStore.isFlatAzure(root.getFileSystem(conf))) {
      Some(s"$scheme without a hierarchical namespace")
    } else None
  }

  /** Schemes on which ExclusiveFile works, even if the settings do not allow to replace data files in place there. */
  private val exclusive = Set("file", "hdfs", "viewfs", "abfs", "abfss")

  /**
   * Rejects a file system on which no shadow can be committed.
   *
   * @param schemes the setting `inPlaceSchemes`: schemes of file systems on which files can be replaced in place
   */
  def checkShadow(target: Target, conf: Configuration, schemes: String): Unit = {
    val fs = target.root(conf).getFileSystem(conf)
    if (!ObjectStore.isOne(fs) && !exclusive(fs.getUri.getScheme)) {
      unsafeInPlace(target, conf, schemes).foreach { s =>
        throw ZOrderErrors.storeUnsafe(
          target.name,
          s,
          "spark-zorder does not know how to create a file there only if it does not exist")
      }
    }
  }

  /**
   * Rejects folders that are another table, or lie below one. Readers of the other table read the files that its own
   * state names, and would miss the files that a run here replaces.
   *
   * @param folders that a run changes, below the table's root
   */
  def checkNested(target: String, fs: FileSystem, root: Path, folders: Seq[Path]): Unit = {
    val below = folders.flatMap(f =>
      Iterator.iterate(f)(_.getParent).takeWhile(d => d != null && d != root))
    // an error of the file system must not hide the other table, so it is thrown
    ManyFiles.firstProblem(below.distinct)(d =>
      tableMarkers.find(m => fs.exists(new Path(d, m))).map(m => s"$d has $m")).foreach { found =>
      throw ZOrderErrors.unsupportedTable(
        target,
        s"a directory with another table in it: $found",
        "Leave the partition out by WHERE, or move the other table elsewhere.")
    }
  }

  private val tableMarkers = Seq("_zorder", "_delta_log", ".hoodie", "_spark_metadata")

  private def checkTable(name: String, table: CatalogTable): Unit = {
    if (table.tableType == CatalogTableType.VIEW) {
      refuse(name, "a view", "Optimize the table that it reads.")
    }
    checkFormat(name, table)
    hidingOption(table).foreach { o =>
      refuse(
        name,
        s"read with the option $o, which decides what its files or values are",
        "Remove the option from the table first.")
    }
    if (table.bucketSpec.isDefined) {
      refuse(name, "bucketed", "Rewriting its files would break the buckets.")
    }
  }

  private def checkFormat(name: String, table: CatalogTable): Unit = {
    if (DataFormat.of(table).isEmpty) {
      refuseFormat(name, table.provider.fold("hive")(_.toLowerCase(Locale.ROOT)))
    }
    if (table.properties.get("transactional").exists(_.equalsIgnoreCase("true"))) {
      refuse(name, "a transactional table of Hive", "Use Hive's own compaction.")
    }
  }

  /** Rejects tables in which readers find columns by position. A rewrite finds columns by name. */
  private def checkNames(name: String, format: DataFormat, conf: Configuration): Unit =
    if (!format.readsByName(conf)) {
      refuse(
        name,
        s"read by the positions of its columns (${format.byPosition})",
        "Set it to false if the names in all files are those of the table.")
    }

  private def confOf(table: CatalogTable, conf: Configuration): Configuration = {
    val merged = new Configuration(conf)
    (table.properties ++ table.storage.properties).foreach { case (k, v) =>
      if (k.startsWith("orc.") || k.startsWith("parquet.")) merged.set(k, v)
    }
    merged
  }

  /** An option of the table that decides which files are read, or how their values are read. */
  def hidingOption(table: CatalogTable): Option[String] =
    table.storage.properties.keys.find(k => hiding.exists(_.equalsIgnoreCase(k)))

  // the first four could hide a rewritten file from readers; with the others, readers could see other values in it
  private val hiding = Seq(
    "pathGlobFilter",
    "recursiveFileLookup",
    "modifiedBefore",
    "modifiedAfter",
    "datetimeRebaseMode",
    "int96RebaseMode")

  /** Rejects a table whose format is `format`, which is neither Parquet nor ORC. */
  def refuseFormat(name: String, format: String): Nothing = {
    val (kind, advice) = format match {
      case "delta" =>
        "a Delta table" -> ("OPTIMIZE TABLE ... ZORDER BY rewrites it by a commit of Delta, if Delta's extension is " +
          "loaded. For the history and for older versions use Delta's own statements.")
      case "iceberg" =>
        "an Iceberg table" -> ("Use CALL catalog.system.rewrite_data_files(table => '...', " +
          "strategy => 'sort', sort_order => 'zorder(...)').")
      case "hudi" => "a Hudi table" -> "Use Hudi's own clustering."
      case other =>
        s"a table of the format $other" -> "Only Parquet and ORC tables can be optimized."
    }
    throw ZOrderErrors.unsupportedTable(name, kind, advice)
  }

  private def checkPath(target: PathTarget, conf: Configuration): Unit = {
    val (path, p) = (target.path, target.location)
    val fs = target.fileSystem(conf)
    val status =
      try fs.getFileStatus(p)
      catch {
        case _: FileNotFoundException =>
          val globs = "*?[]{}".exists(path.indexOf(_) >= 0)
          throw ZOrderErrors.pathNotATable(
            path,
            if (globs) "it is a glob pattern" else "it does not exist")
      }
    if (!status.isDirectory) throw ZOrderErrors.pathNotATable(path, "it is a file")
    val qualified = fs.makeQualified(p)
    if (qualified.isRoot) {
      throw ZOrderErrors.pathNotATable(path, "it is the root of a file system")
    }
    // a table of the catalog tells that the directory is the table, whatever its name is
    if (qualified.getName.contains("=") && target.tables.isEmpty) {
      throw ZOrderErrors.pathNotATable(
        path,
        "its name says that it is one partition; name the table's directory and use WHERE")
    }
  }

  private def checkPlace(target: Target, conf: Configuration): Unit = {
    val root = target.root(conf)
    val fs = root.getFileSystem(conf)
    checkDirectory(target, fs, root)
    checkAncestors(fs, root)
  }

  private def checkDirectory(target: Target, fs: FileSystem, root: Path): Unit = {
    def has(name: String): Boolean = fs.exists(new Path(root, name))
    if (has("_delta_log")) refuseFormat(target.name, "delta")
    if (has(".hoodie")) refuseFormat(target.name, "hudi")
    if (isIcebergRoot(fs, root)) refuseFormat(target.name, "iceberg")
    if (has("_spark_metadata")) {
      refuse(
        target,
        "the sink of a streaming query (_spark_metadata)",
        "Its readers read only the files that the stream wrote.")
    }
    if (has("_symlink_format_manifest")) {
      refuse(
        target,
        "listed by symbolic manifests (_symlink_format_manifest)",
        "Their readers would look for the replaced files.")
    }
  }

  /** Rejects a directory that lies inside another table. */
  def checkAncestors(fs: FileSystem, root: Path): Unit = {
    val ancestors =
      Iterator.iterate(root.getParent)(_.getParent).takeWhile(d => d != null && !d.isRoot)
    // An ancestor may be the directory of a database, which has unrelated tables below it. Only a marker directly in
    // the ancestor shows that the ancestor is a table.
    ancestors.foreach { dir =>
      tableMarkers
        .find(m => exists(fs, new Path(dir, m)))
        .orElse(if (isReadableIcebergRoot(fs, dir)) Some("metadata") else None)
        .foreach(m => throw ZOrderErrors.pathInTable(root.toString, dir.toString, m))
    }
  }

  /**
   * True when the directory may be an Iceberg table. An error is thrown: the files of an Iceberg table must not be
   * replaced only because the user may not list its metadata.
   */
  private[table] def isIcebergRoot(fs: FileSystem, dir: Path): Boolean = {
    val metadata = new Path(dir, "metadata")
    fs.exists(metadata) && fs.listStatus(metadata).exists { s =>
      val n = s.getPath.getName
      n == "version-hint.text" || n.endsWith(".metadata.json")
    }
  }

  private def isReadableIcebergRoot(fs: FileSystem, dir: Path): Boolean =
    try isIcebergRoot(fs, dir)
    catch { case _: java.io.IOException => false }

  // false after any error: the user may have no right to read an ancestor, which then counts as an ordinary directory
  private def exists(fs: FileSystem, path: Path): Boolean =
    try fs.exists(path)
    catch { case _: java.io.IOException => false }

  private[table] def refuse(target: Target, kind: String, advice: String): Nothing =
    refuse(target.name, kind, advice)

  private def refuse(name: String, kind: String, advice: String): Nothing =
    throw ZOrderErrors.unsupportedTable(name, kind, advice)
}
