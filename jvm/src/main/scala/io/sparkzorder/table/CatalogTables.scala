// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.table

import java.io.IOException
import java.util.Locale

import scala.collection.JavaConverters._
import scala.util.Try
import scala.util.control.NonFatal

import org.apache.commons.lang3.exception.ExceptionUtils
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileSystem, Path}
import org.apache.hadoop.security.AccessControlException

import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.analysis.{NoSuchDatabaseException, NoSuchNamespaceException}
import org.apache.spark.sql.catalyst.catalog.{CatalogTable, ExternalCatalog}
import org.apache.spark.sql.sparkzorder.SparkLine.Session

import io.sparkzorder.util.RawFiles

/**
 * Finds the tables of the session's catalog whose directory a statement names by its path. A catalog cannot look up
 * tables by their directory, so each such statement reads the metadata of all tables once.
 */
private[sparkzorder] final class CatalogTables(conf: Configuration, catalog: => ExternalCatalog)
    extends Logging {
  def this(session: Session, conf: Configuration) =
    this(conf, session.sessionState.catalog.externalCatalog)

  // the first part of the catalog that could not be read, and why; a table at the path may be in this part
  private var unread = Option.empty[String]

  /** The target, with the tables that lie at its path. */
  def known(target: Target): Target = target match {
    case p: PathTarget =>
      // the checks of the target refuse a wrong path
      Try(new SameDirectory(p.location, conf)).fold(
        _ => p,
        d => {
          val tables = at(d)
          p.copy(tables = tables, unread = unread)
        })
    case other => other
  }

  private def at(directory: SameDirectory): Seq[CatalogTable] =
    all().filter(_.storage.locationUri.exists(uri => directory.is(new Path(uri)))).toList

  private def all(): Iterator[CatalogTable] =
    logged("the databases", catalog.listDatabases(), CatalogTables.isHidden).getOrElse(
      Nil).iterator.flatMap { database =>
      val names =
        logged(s"the tables of $database", catalog.listTables(database), CatalogTables.isHidden)
          .getOrElse(Nil)
      names.grouped(CatalogTables.AtOnce).flatMap { some =>
        // one table that Spark cannot read must not hide the others
        Try(catalog.getTablesByName(database, some)).getOrElse(some.flatMap(name =>
          logged(
            s"the table $database.$name",
            catalog.getTable(database, name),
            !CatalogTables.isOfConnection(_))))
      }
    }

  /**
   * @param isHarmless true for an error after which no table at the path can be missing, because the session has no
   *   such table
   */
  private def logged[T](
      what: String,
      body: => T,
      isHarmless: Throwable => Boolean): Option[T] =
    try Some(body)
    catch {
      case NonFatal(e) =>
        logWarning(
          s"The catalog does not show $what, which may be at the path: ${e.getMessage}")
        if (!isHarmless(e) && unread.isEmpty) unread = Some(s"$what: ${e.getMessage}")
        None
    }
}

private object CatalogTables {

  /** The number of tables of one call to the catalog. Hive's metastore itself looks up so many at once. */
  val AtOnce = 300

  /** True if the user has no right to see the part of the catalog, or if it was dropped meanwhile. */
  private def isHidden(e: Throwable): Boolean = ExceptionUtils.getThrowableList(e).asScala.exists {
    case _: NoSuchDatabaseException | _: NoSuchNamespaceException => true
    case _: AccessControlException | _: SecurityException => true
    case other =>
      val text = String.valueOf(other.getMessage).toLowerCase(Locale.ROOT)
      Seq("permission", "privilege", "access denied", "not authorized", "unauthorized")
        .exists(text.contains)
  }

  /**
   * True if the connection to the catalog has failed. False for an error of the table itself, for instance that a
   * class is missing: no session like this one can read such a table.
   */
  private def isOfConnection(e: Throwable): Boolean =
    ExceptionUtils.getThrowableList(e).asScala.exists {
      case _: AccessControlException => false
      case _: IOException => true
      case other => other.getClass.getSimpleName == "TTransportException"
    }
}

/**
 * Recognizes a directory under its other names: through symbolic links, through mount points of viewfs, and with other
 * schemes of its store, such as `s3` for `s3a`. All other paths are only compared as texts, because it would be slow to
 * open the file system of each path.
 */
private[sparkzorder] final class SameDirectory(directory: Path, conf: Configuration) {
  private val default = FileSystem.getDefaultUri(conf)
  private val own = directory.getFileSystem(conf).makeQualified(directory)
  private val names = Seq(own, resolved(own)).distinct
  private val isMounted = isView(own)

  def is(other: Path): Boolean = {
    val path = if (other.isAbsolute) other.makeQualified(default, own) else other
    names.contains(path) ||
    (if (isLocal(own) || isLocal(path)) isLocal(own) && names.contains(resolved(path))
     else names.exists(isOne(_, path)) ||
     (isView(path) && !isMounted && names.exists(isOne(_, resolved(path)))))
  }

  /** True if `path` is this directory or lies in it. Nothing need exist at `path`. */
  def contains(path: Path): Boolean = {
    def above(p: Path) = Iterator.iterate(p)(_.getParent).takeWhile(_ != null)
    // a link may also lead to a folder inside of the directory
    above(path).exists(p =>
      is(p) || {
        val real = resolved(p)
        real != p && above(real).exists(is)
      })
  }

  /** True for equal paths of one store. */
  private def isOne(a: Path, b: Path): Boolean =
    a.toUri.getPath == b.toUri.getPath && (store(a) == store(b) ||
      // Hadoop's check of a path also accepts an authority without the default port, or with a short host name
      Try(a.getFileSystem(conf).makeQualified(b)).isSuccess)

  private def store(path: Path): (String, String) = {
    val scheme = schemeOf(path)
    val authority = Option(path.toUri.getAuthority).getOrElse("")
    (SameDirectory.Families.find(f => scheme.matches(f)).getOrElse(scheme), authority)
  }

  /** The path with links and mount points resolved; unchanged if there is nothing at the path. */
  private def resolved(path: Path): Path =
    if (isLocal(path)) {
      Try(RawFiles.local(path).toRealPath()).map(real => new Path(real.toUri)).getOrElse(path)
    } else Try(path.getFileSystem(conf).resolvePath(path)).getOrElse(path)

  private def schemeOf(path: Path): String =
    Option(path.toUri.getScheme).getOrElse("file").toLowerCase(Locale.ROOT)

  private def isLocal(path: Path): Boolean = schemeOf(path) == "file"
  private def isView(path: Path): Boolean = schemeOf(path) == "viewfs"
}

private object SameDirectory {

  /** Schemes under which one bucket, container or cluster is reached. */
  val Families: Seq[String] = Seq("s3[an]?", "abfss?", "wasbs?", "(swebhdfs|webhdfs|hdfs)")
}
