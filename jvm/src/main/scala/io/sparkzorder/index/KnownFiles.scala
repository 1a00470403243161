package io.sparkzorder.index

import java.lang.ref.WeakReference

import org.apache.hadoop.fs.FileStatus

/**
 * Which entries of an index the files of listings are. From a listing that it holds, Spark hands out the
 * same objects to every query, so a file that was found by its path once is known by its identity then,
 * and no byte of its path is looked at again. The objects belong to Spark: they are held weakly.
 *
 * Queries share this without locks. A reference is only ever put at the entry that its file was found to
 * be, so what is read there is true, whoever wrote it; what gets lost costs one more look at a path.
 */
final class KnownFiles private[index] (lookup: PathLookup) {
  private val size = lookup.table.size
  private val files = new Array[WeakReference[FileStatus]](size)
  // which entry came after another in a listing: position 0 is for the first, i + 1 for after entry i
  private val following = Array.range(0, size + 1)

  /** A walk through one listing, from file to file; for one thread. */
  final class Walk private[KnownFiles] () {
    private var last = -1

    /**
     * @return the file's position in the index; -1 when the index does not know it or knows it with
     *   another length or time
     */
    def find(file: FileStatus): Int = {
      val guess = following(last + 1)
      val known = if (guess < size) files(guess) else null
      if (known != null && (known.get eq file)) {
        last = guess
        guess
      } else {
        val found = lookup.indexOf(file, guess)
        if (found >= 0) {
          files(found) = new WeakReference(file)
          following(last + 1) = found
          last = found
        }
        found
      }
    }
  }

  def walk(): Walk = new Walk
}

private[index] object KnownFiles {

  /** Bytes of memory for each file: a reference, what it points to, and who follows. */
  val BytesOfFile = 40L
}
