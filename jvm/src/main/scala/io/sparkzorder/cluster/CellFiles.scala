package io.sparkzorder.cluster

/** Numbers the files of cells. */
private[sparkzorder] object CellFiles {
  // of a file of the wanted size
  private val Crumb = 0.5
  private val Full = 1.5

  /**
   * A cell much smaller than a file shares the file of a neighbour, if both together fit one: many rows
   * of one value leave such crumbs beside them, which no better cut can avoid.
   *
   * @param rows of the folder
   * @param files wanted
   */
  def number(
      leaves: IndexedSeq[KdCuts.Leaf],
      rows: Long,
      files: Int,
      firstFile: Int): IndexedSeq[Cell] = {
    val sampled = leaves.map(_.rows.toLong).sum
    val target = leaves.map(_.size).sum / files
    // joined(i): leaf i goes on with the last file of the leaf before it
    val joined = new Array[Boolean](leaves.length)
    // size of the file that is open at the end of each leaf
    val open = leaves.map(l => l.size / l.files).toArray
    leaves.indices.drop(1).foreach { i =>
      val own = leaves(i).size / leaves(i).files
      val together = open(i - 1) + own
      val crumb = math.min(open(i - 1), own)
      if (crumb < Crumb * target && together <= Full * target) {
        joined(i) = true
        if (leaves(i).files == 1) open(i) = together
      }
    }
    var next = firstFile
    leaves.indices.map { i =>
      val leaf = leaves(i)
      val first = if (joined(i)) next - 1 else next
      next = first + leaf.files
      Cell(
        leaf.rows.toDouble / sampled * rows,
        first,
        leaf.files,
        leaf.box)
    }
  }
}
