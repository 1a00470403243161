// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources

import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.connector.catalog.Table
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.execution.datasources.v2.{
  DataSourceV2Relation,
  DataSourceV2ScanRelation
}
import org.apache.spark.sql.types.StructType

import io.sparkzorder.conf.Setting
import io.sparkzorder.skipping.scan.FormatTable
import io.sparkzorder.util.OwnJar

/**
 * Finds our implementation of a table's format. The jars of a format may be missing, so classes that need them are
 * loaded only when a statement or query names a table of the format.
 */
private[sparkzorder] object TableFormats extends Logging {

  /**
   * @param name full name of the table, quoted for SQL
   * @param identifier the last part of the name, as written in the statement
   * @return None if we have no implementation for the table's format or its version; the version is logged
   */
  def of(table: Table, name: String, identifier: String, format: String): Option[SnapshotFormat] =
    tried(name, format, Some(table))(_.open(table, name, identifier))

  /**
   * @param path of a directory
   * @return None if the directory is no table of the format, or for a reason that [[of]] has
   */
  def ofPath(path: String, name: String, conf: Configuration, format: String)
      : Option[SnapshotFormat] =
    tried(name, format, None)(_.openPath(path, name, conf))

  /**
   * Name parts of the ordering columns of the last layout of a directory, for a report. For Delta, they are found even
   * if OPTIMIZE leaves the table to Delta. Empty if they are not known.
   */
  def lastColumns(path: Path, format: String): Seq[Seq[String]] =
    try load(format, None).toSeq.flatMap(_.lastColumns(path))
    catch {
      case e @ (_: LinkageError | _: ReflectiveOperationException | NonFatal(_)) =>
        logDebug(s"the columns of $path are not known", e)
        Nil
    }

  /** The scan of a leaf of an optimized plan, if its table is of a format that we know. */
  def scan(leaf: LogicalPlan): Option[FormatScan] =
    try formatOf(leaf).flatMap { case (format, part) =>
        load(format, Some(part)).flatMap(_.scan(leaf))
      }
    catch {
      case e @ (_: LinkageError | _: ReflectiveOperationException) =>
        logDebug("a scan is not known", e)
        None
    }

  /** The table that a leaf of an optimized plan scans, if its files can be pruned by bounds. */
  def skipping(leaf: LogicalPlan): Option[FormatTable] =
    formatOf(leaf).flatMap { case (format, part) =>
      load(format, Some(part)).flatMap(_.skipping(leaf))
    }

  /** True if ranges of columns prune the table of a leaf. Called before Spark pushes filters to the leaf. */
  def takesRanges(leaf: LogicalPlan): Boolean = formatOf(leaf).exists { case (format, part) =>
    load(format, Some(part)).exists(_.takesRanges(leaf))
  }

  // compares names of classes, because the jars of the format may be missing
  private def formatOf(leaf: LogicalPlan): Option[(String, AnyRef)] = {
    def of(part: AnyRef, format: String, names: String) =
      Some(format -> part).filter(_ => part.getClass.getName.startsWith(names))
    leaf match {
      case l: LogicalRelation => l.relation match {
          case r: HadoopFsRelation => of(r.location, "delta", "org.apache.spark.sql.delta.")
          case _ => None
        }
      case r: DataSourceV2ScanRelation => of(r.scan, "iceberg", "org.apache.iceberg.spark.")
      case r: DataSourceV2Relation => of(r.table, "iceberg", "org.apache.iceberg.spark.")
      case _ => None
    }
  }

  private def tried(name: String, format: String, part: Option[AnyRef])(
      open: FormatOpener => Option[SnapshotFormat]): Option[SnapshotFormat] =
    try load(format, part).flatMap(open)
    catch {
      // the jars of the format are of a version that we do not know
      case e @ (_: LinkageError | _: ReflectiveOperationException) =>
        logWarning(s"$name is left to the statements of $format, whose classes do not fit: $e")
        None
    }

  private val implementations = Map(
    "delta" -> "io.sparkzorder.sources.delta.DeltaTables",
    "iceberg" -> "io.sparkzorder.sources.iceberg.IcebergTables")

  /**
   * @param part an object of the format, whose class loader finds the format's classes; None without one
   * @return None if we have no implementation
   */
  private def load(format: String, part: Option[AnyRef]): Option[FormatOpener] =
    implementations.get(format).map { className =>
      val loader = part.map(_.getClass.getClassLoader)
        .fold(FormatLoaders.of(format))(FormatLoaders.of(format, _))
      loader.loadClass(className).getDeclaredConstructor().newInstance().asInstanceOf[FormatOpener]
    }
}

/** Makes the [[SnapshotFormat]] of a table; has a constructor without parameters. */
private[sparkzorder] trait FormatOpener {

  /** None, after a line in the log, if the version of the format is unknown. */
  def open(table: Table, name: String, identifier: String): Option[SnapshotFormat]

  /** None also if the directory is no table. */
  def openPath(path: String, name: String, conf: Configuration): Option[SnapshotFormat]

  /** None for a leaf that is not a scan of the current state of a table, or if the version is unknown. */
  def scan(leaf: LogicalPlan): Option[FormatScan]

  /** See [[TableFormats.skipping]]. */
  def skipping(leaf: LogicalPlan): Option[FormatTable] = None

  /** See [[TableFormats.takesRanges]]. */
  def takesRanges(leaf: LogicalPlan): Boolean = false

  /** See [[TableFormats.lastColumns]]; empty if the columns of a format are found in another way. */
  def lastColumns(path: Path): Seq[Seq[String]] = Nil
}

/**
 * The releases of a format whose classes our code is known to fit.
 *
 * @param names such as `4.1`
 */
private[sources] final class KnownReleases(names: String*) {
  def contains(version: String): Boolean =
    names.exists(n => version == n || version.startsWith(s"$n.") || version.startsWith(s"$n-"))

  override def toString: String = names.mkString(", ")
}

/**
 * A scan of the current state of a table of another format. It does not refer to the plan of the query, which
 * may hold a list of all files of the table.
 *
 * @param location directory of the table
 * @param properties of the table
 * @param setting the setting by which OPTIMIZE leaves such tables to their format
 */
private[sparkzorder] abstract class FormatScan(
    val location: String,
    val properties: Map[String, String],
    val setting: Setting[String]) {

  /** Tells the table from a later table in the same directory. */
  def id: String

  /** All columns of the table. */
  def schema: StructType

  /** The share of the table's bytes that is left by filters on partitions; 1 if it is not known. */
  def share: Double

  /** Opens the table; None if it is left to its format. */
  def open(): Option[SnapshotFormat]
}

/**
 * Class loaders for our classes that call classes of a format.
 *
 * Spark loads the jars of `--jars` and `--packages` by a child of the class loader of the driver's class path. The
 * child sees the class path, and the class path does not see the child. If our jar is on the class path and the
 * format's jar came by `--packages`, our own class loader does not find the format's classes.
 */
private[sources] object FormatLoaders {

  /** For each format, a class that its jar has. */
  private val markers = Map(
    "delta" -> "org.apache.spark.sql.delta.DeltaLog",
    "iceberg" -> "org.apache.iceberg.BaseTable")

  // kept by the format's class, so that a copy lives as long as the format's class loader
  private val copies = new ClassValue[ClassLoader] {
    override protected def computeValue(theirs: Class[_]): ClassLoader =
      new CopyingLoader(own, theirs.getClassLoader)
  }

  private def own: ClassLoader = getClass.getClassLoader

  /**
   * @param seen a class loader that finds the format's classes, such as that of a table's class
   * @return our own class loader if it finds the same classes of the format, else a class loader with copies of our
   *   classes. The same classes of the format always get the same class loader
   * @throws ClassNotFoundException if `seen` does not find the format's classes
   */
  def of(format: String, seen: ClassLoader): ClassLoader = {
    val theirs = Class.forName(markers(format), false, seen)
    if (find(format, own).contains(theirs)) own else copies.get(theirs)
  }

  /** The same where no object of the format is known: searches our class loader, then that of this thread. */
  def of(format: String): ClassLoader = {
    def context = Option(Thread.currentThread.getContextClassLoader).flatMap(find(format, _))
    if (find(format, own).isDefined) own
    else copies.get(context.getOrElse(throw new ClassNotFoundException(markers(format))))
  }

  /** True for a copy of one of our classes. */
  def isCopy(c: Class[_]): Boolean = c.getClassLoader.isInstanceOf[CopyingLoader]

  private def find(format: String, loader: ClassLoader): Option[Class[_]] =
    try Some(Class.forName(markers(format), false, loader))
    catch { case _: ClassNotFoundException => None }
}

/**
 * Defines copies of the classes of `io.sparkzorder.sources.<format>` that find the format's classes. A copy is never
 * used together with its original: these classes run in the driver only, and only [[TableFormats]] loads them. Objects
 * that run in executors are sent as [[SentToExecutor]].
 */
private final class CopyingLoader(ours: ClassLoader, theirs: ClassLoader)
    extends ClassLoader(theirs) {

  override protected def loadClass(name: String, resolve: Boolean): Class[_] =
    if (isCopied(name)) getClassLoadingLock(name).synchronized {
      Option(findLoadedClass(name)).getOrElse(copied(name))
    }
    else if (name.startsWith("io.sparkzorder.")) ours.loadClass(name)
    else super.loadClass(name, resolve)

  private def isCopied(name: String): Boolean = CopyingLoader.Packages.exists(name.startsWith)

  private def copied(name: String): Class[_] = {
    val code = OwnJar.content(name.replace('.', '/') + ".class")
      .getOrElse(throw new ClassNotFoundException(name))
    defineClass(name, code, 0, code.length)
  }
}

private object CopyingLoader {
  private val Packages = Seq("delta", "iceberg").map(f => s"io.sparkzorder.sources.$f.")
}

/**
 * An object of the package `io.sparkzorder.sources.<format>` on its way to an executor. There as well, our class loader
 * may not find the classes of the format, so the executor makes the object by the class loader that
 * [[FormatLoaders]] returns.
 *
 * @param name the name of the object's class, which has one constructor
 * @param part the first argument of the constructor: an object of the format
 * @param rest the second argument of the constructor, of a class that each class loader of ours finds
 */
private[sources] final class SentToExecutor(
    format: String,
    name: String,
    part: AnyRef,
    rest: AnyRef)
    extends Serializable {

  // called by Java's serialization
  private def readResolve(): AnyRef =
    FormatLoaders.of(format, part.getClass.getClassLoader).loadClass(name)
      .getDeclaredConstructors.head.newInstance(part, rest).asInstanceOf[AnyRef]
}
