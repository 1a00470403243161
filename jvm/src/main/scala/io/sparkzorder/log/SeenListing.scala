package io.sparkzorder.log

import java.lang.ref.WeakReference

import org.apache.hadoop.fs.FileStatus

/**
 * The files of a listing, to be known again: from a listing that it holds, Spark hands out the same
 * objects to every query. They belong to Spark and are held weakly.
 */
private[sparkzorder] final class SeenListing(files: Iterator[FileStatus]) {
  private val seen = files.map(new WeakReference(_)).toArray

  /** True for the same objects in the same order. */
  def is(files: Iterator[FileStatus]): Boolean = {
    var i = 0
    while (i < seen.length && files.hasNext && (files.next() eq seen(i).get)) i += 1
    i == seen.length && !files.hasNext
  }
}
