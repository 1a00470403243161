package io.sparkzorder.sources

import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.connector.catalog.Table
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation

/**
 * Finds the implementation of a table's format. No class of the format is loaded before a table of
 * that format is met, since its jars need not be there.
 */
object TableFormats extends Logging {

  /**
   * @param name full name of the table, quoted for SQL
   * @param identifier its last name part, as the statement has it
   * @return None if we have no implementation for the table's format or its version; a line of the
   *   log tells the version
   */
  def of(table: Table, name: String, identifier: String, format: String): Option[SnapshotFormat] =
    tried(name, format, Some(table))(_.open(table, name, identifier))

  /**
   * @param path of a directory
   * @return None if the directory is no table of the format, or as above
   */
  def ofPath(path: String, name: String, conf: Configuration, format: String)
      : Option[SnapshotFormat] =
    tried(name, format, None)(_.openPath(path, name, conf))

  /**
   * Name parts of the columns of the last layout of a directory, for a report. A table that OPTIMIZE
   * leaves to its format has such columns, too. Empty if nothing tells them.
   */
  def lastColumns(path: Path, format: String): Seq[Seq[String]] =
    try load(format, None).toSeq.flatMap(_.lastColumns(path))
    catch {
      case e @ (_: LinkageError | _: ReflectiveOperationException | NonFatal(_)) =>
        logDebug(s"the columns of $path are not known", e)
        Nil
    }

  /** The scan that a leaf of an optimized plan is, if its table is of a format that we know. */
  def scan(leaf: LogicalPlan): Option[FormatScan] =
    try formatOf(leaf).flatMap { case (format, part) =>
        load(format, Some(part)).flatMap(_.scan(leaf))
      }
    catch {
      case e @ (_: LinkageError | _: ReflectiveOperationException) =>
        logDebug("a scan is not known", e)
        None
    }

  // by the names of classes, as the jars of the format need not be there
  private def formatOf(leaf: LogicalPlan): Option[(String, AnyRef)] = {
    def of(part: AnyRef, format: String, names: String) =
      Some(format -> part).filter(_ => part.getClass.getName.startsWith(names))
    leaf match {
      case l: LogicalRelation => l.relation match {
          case r: HadoopFsRelation => of(r.location, "delta", "org.apache.spark.sql.delta.")
          case _ => None
        }
      case r: DataSourceV2ScanRelation => of(r.scan, "iceberg", "org.apache.iceberg.spark.")
      case _ => None
    }
  }

  private def tried(name: String, format: String, part: Option[AnyRef])(
      open: FormatOpener => Option[SnapshotFormat]): Option[SnapshotFormat] =
    try load(format, part).flatMap(open)
    catch {
      // the jars of the format are of a version that we do not know
      case e @ (_: LinkageError | _: ReflectiveOperationException) =>
        warn(name, format, e)
        None
    }

  private def warn(name: String, format: String, e: Throwable): Unit =
    logWarning(s"$name is left to the statements of $format, whose classes do not fit: $e")

  private val implementations = Map(
    "delta" -> "io.sparkzorder.sources.delta.DeltaTables",
    "iceberg" -> "io.sparkzorder.sources.iceberg.IcebergTables")

  /**
   * @param part an object of the format, if there is one
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
trait FormatOpener {

  /** None, after a line in the log, if the version of the format is unknown. */
  def open(table: Table, name: String, identifier: String): Option[SnapshotFormat]

  /** None, besides, if the directory is no table. */
  def openPath(path: String, name: String, conf: Configuration): Option[SnapshotFormat]

  /** None for a leaf that is not a scan of the current state of a table, and as above. */
  def scan(leaf: LogicalPlan): Option[FormatScan]

  /** See [[TableFormats.lastColumns]]; empty if a format tells its columns elsewhere. */
  def lastColumns(path: Path): Seq[Seq[String]] = Nil
}
