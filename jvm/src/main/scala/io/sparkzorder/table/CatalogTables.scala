// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.table

import scala.util.Try
import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.sparkzorder.SparkLine.Session

import io.sparkzorder.util.SameDirectory

/**
 * Finds the tables of the session's catalog whose directory a statement names by its path. No catalog
 * finds tables by their location, so all tables are looked at, once for each statement.
 */
private[sparkzorder] final class CatalogTables(session: Session, conf: Configuration)
    extends Logging {

  /** The target, with the tables that are at its path. */
  def known(target: Target): Target = target match {
    case p: PathTarget =>
      // the checks of the target tell what is wrong with its path
      Try(new SameDirectory(p.location, conf)).fold(_ => p, d => p.copy(tables = at(d)))
    case other => other
  }

  private def at(directory: SameDirectory): Seq[CatalogTable] =
    all().filter(_.storage.locationUri.exists(uri => directory.is(new Path(uri)))).toList

  private def all(): Iterator[CatalogTable] = {
    val catalog = session.sessionState.catalog.externalCatalog
    logged("the databases", catalog.listDatabases()).getOrElse(Nil).iterator.flatMap { database =>
      val names = logged(s"the tables of $database", catalog.listTables(database)).getOrElse(Nil)
      names.grouped(CatalogTables.AtOnce).flatMap { some =>
        // one table that Spark cannot read must not hide the others
        Try(catalog.getTablesByName(database, some)).getOrElse(some.flatMap(name =>
          logged(s"the table $database.$name", catalog.getTable(database, name))))
      }
    }
  }

  /** What the user may not look at is no table for the user. */
  private def logged[T](what: String, body: => T): Option[T] =
    try Some(body)
    catch {
      case NonFatal(e) =>
        logWarning(
          s"The catalog does not show $what, which may be at the path: ${e.getMessage}")
        None
    }
}

private object CatalogTables {

  /** Names of one call: as many as Hive's metastore itself looks up at once. */
  val AtOnce = 300
}
