package io.sparkzorder.table

import java.nio.file.{Files, Path => LocalPath, Paths}

import org.apache.hadoop.fs.Path

/**
 * Symbolic links among the folders and files of a table, which only local disks have. Hadoop follows
 * them without a word: renaming a file below such a folder would change what lies elsewhere.
 */
private[sparkzorder] object SymbolicLinks {

  /** The first link below the table's root; the root itself may be reached by one. */
  def first(files: TableFiles): Option[LocalPath] =
    if (files.root.toUri.getScheme != "file") None
    else {
      val root = local(files.root)
      val folders = files.folders.map(f => local(f.path)).flatMap { folder =>
        Iterator.iterate(folder)(_.getParent).takeWhile(f => f != null && f != root)
      }.distinct
      (folders.iterator ++ files.files.iterator.map(f => local(f.path)))
        .find(Files.isSymbolicLink(_))
    }

  private def local(path: Path): LocalPath = Paths.get(path.toUri.getPath)
}
