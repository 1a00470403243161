// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.table

import java.io.IOException
import java.util.Locale

import scala.util.Try
import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.hadoop.security.AccessControlException

import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.analysis.{NoSuchDatabaseException, NoSuchNamespaceException}
import org.apache.spark.sql.catalyst.catalog.{CatalogTable, ExternalCatalog}
import org.apache.spark.sql.sparkzorder.SparkLine.Session

import io.sparkzorder.util.SameDirectory

/**
 * Finds the tables of the session's catalog whose directory a statement names by its path. No catalog
 * finds tables by their location, so all tables are looked at, once for each statement.
 */
private[sparkzorder] final class CatalogTables(conf: Configuration, catalog: => ExternalCatalog)
    extends Logging {
  def this(session: Session, conf: Configuration) =
    this(conf, session.sessionState.catalog.externalCatalog)

  // why a part of the catalog is not known, which may have a table at the path
  private var unread = Option.empty[String]

  /** The target, with the tables that are at its path. */
  def known(target: Target): Target = target match {
    case p: PathTarget =>
      // the checks of the target tell what is wrong with its path
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

  /** @param isPassed whether an error means that the session has no such table */
  private def logged[T](
      what: String,
      body: => T,
      isPassed: Throwable => Boolean): Option[T] =
    try Some(body)
    catch {
      case NonFatal(e) =>
        logWarning(
          s"The catalog does not show $what, which may be at the path: ${e.getMessage}")
        if (!isPassed(e) && unread.isEmpty) unread = Some(s"$what: ${e.getMessage}")
        None
    }
}

private object CatalogTables {

  /** Names of one call: as many as Hive's metastore itself looks up at once. */
  val AtOnce = 300

  /** What the user may not look at, or what is dropped meanwhile, is no table for the user. */
  private def isHidden(e: Throwable): Boolean = causes(e).exists {
    case _: NoSuchDatabaseException | _: NoSuchNamespaceException => true
    case _: AccessControlException | _: SecurityException => true
    case other =>
      val text = String.valueOf(other.getMessage).toLowerCase(Locale.ROOT)
      Seq("permission", "privilege", "access denied", "not authorized", "unauthorized")
        .exists(text.contains)
  }

  /** False for a table that no session like this one can read, as one of a class that is not there. */
  private def isOfConnection(e: Throwable): Boolean = causes(e).exists {
    case _: AccessControlException => false
    case _: IOException => true
    case other => other.getClass.getSimpleName == "TTransportException"
  }

  private def causes(e: Throwable): Iterator[Throwable] =
    Iterator.iterate(e)(_.getCause).takeWhile(_ != null).take(MaxCauses)

  private val MaxCauses = 20
}
