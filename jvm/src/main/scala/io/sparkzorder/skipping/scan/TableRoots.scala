// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.scan

import java.util.{HashSet => JavaHashSet}

import org.apache.hadoop.fs.{FileStatus, Path}

import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.execution.datasources.{FileIndex, InMemoryFileIndex}
import org.apache.spark.sql.sparkzorder.LeafFiles

import io.sparkzorder.conf.{RelationConf, Settings}
import io.sparkzorder.log.{StateDirectory, StateSearch}
import io.sparkzorder.util.ObjectStore

/**
 * Finds the tables whose files a scan reads. A scan may name a table, its partitions, folders or single
 * files. Such a path does not tell where the root of the table is, so the state of a table is searched for
 * in the directories above the path.
 *
 * @param table the table in the catalog, whose location is known
 */
private[sparkzorder] final class TableRoots(table: Option[CatalogTable], settings: RelationConf) {
  private lazy val conf = settings.hadoop

  /** False for a scan that names directories or files. */
  def isNamed: Boolean = table.isDefined

  /** The properties of the table in the catalog. */
  def properties: Map[String, String] = table.fold(Map.empty[String, String])(_.properties)

  /** The state of each table that may hold files of `index`. */
  def states(index: FileIndex): Seq[StateDirectory] = {
    val (searched, stores) = searchFrom(index).partition(isSearched)
    // On object stores, a directory such as `t/p=1/q=2` may lie in the table `t`, but also in a table whose own
    // root is named `t/p=1` or `t/p=1/q=2`. So all three count as roots. No request is needed for that.
    StateSearch.above(searched, conf) ++
      stores.flatMap(d => if (home.contains(d)) Seq(d) else TableRoots.named(d)).distinct
        .map(new StateDirectory(_, conf))
  }

  /** The directories of the tables that may have an index for files of `index`. */
  def ofIndexes(index: FileIndex): Seq[Path] = {
    val (searched, remote) = searchFrom(index).partition(isSearched)
    val found = StateSearch.above(searched, conf).map(_.root)
    val guessed = remote.flatMap(TableRoots.named)
    (found ++ guessed).distinct
  }

  /**
   * The directories from which the search goes upwards. The location of a catalog table replaces the
   * partitions below it, and a directory replaces the files in it.
   */
  private[scan] def searchFrom(index: FileIndex): Seq[Path] = {
    val directories = foldersOf(index).map(qualified)
    home match {
      case Some(root) => root +: directories.filterNot(r => r == root || isBelow(root, r))
      case None => directories
    }
  }

  /** Where the table of the catalog lies. */
  private lazy val home: Option[Path] =
    table.flatMap(_.storage.locationUri).map(u => qualified(new Path(u)))

  /** The root paths of the index. A root path that is a file is replaced by its folder. */
  private def foldersOf(index: FileIndex): Seq[Path] = index match {
    case listed: InMemoryFileIndex if listed.rootPaths.size > 1 || isFile(listed) =>
      val roots = new JavaHashSet[Path](listed.rootPaths.size * 2)
      listed.rootPaths.foreach(roots.add)
      val files = new JavaHashSet[Path]
      listed.allFiles().foreach(f => if (roots.contains(f.getPath)) files.add(f.getPath))
      if (files.isEmpty) listed.rootPaths
      else listed.rootPaths.map(r => if (files.contains(r)) r.getParent else r).distinct
    case other => other.rootPaths
  }

  /**
   * True if the only root is a file. This looks into Spark's map of files, because `allFiles` would make a list of all
   * files for each query.
   */
  private def isFile(listed: InMemoryFileIndex): Boolean = {
    val files = LeafFiles.of(listed).asInstanceOf[scala.collection.Map[Path, Array[FileStatus]]]
    listed.rootPaths.exists(root => files.get(root.getParent).exists(_.exists(_.getPath == root)))
  }

  private def isBelow(home: Path, path: Path): Boolean = {
    val (a, b) = (home.toUri, path.toUri)
    a.getScheme == b.getScheme && a.getAuthority == b.getAuthority &&
    b.getPath.startsWith(if (a.getPath.endsWith("/")) a.getPath else a.getPath + "/")
  }

  /**
   * True if the directories above are searched for the state of a table. On object stores the search costs a
   * request for each of these directories. There, the search is made only if the session lets OPTIMIZE replace
   * files in place.
   */
  private def isSearched(directory: Path): Boolean = {
    val scheme = Option(directory.toUri.getScheme).getOrElse("file")
    !ObjectStore.hasScheme(scheme) || settings.session.sessionState.conf
      .getConfString(Settings.InPlaceSchemes.sessionKey, "").split(',').map(_.trim).contains(scheme)
  }

  private[scan] def qualified(path: Path): Path = path.getFileSystem(conf).makeQualified(path)
}

private object TableRoots {

  /** The directories from `path` upwards to the nearest one that does not have the name of a partition. */
  private def named(path: Path): Seq[Path] =
    if (path.getName.contains("=") && path.getParent != null) path +: named(path.getParent)
    else Seq(path)
}
