package io.sparkzorder.cluster

/**
 * The cuts of a folder as a binary tree. An inner node compares one column's slot with a cut; rows at
 * or above it are on the right.
 *
 * A slot is a value's place among the bounds of its column ([[io.sparkzorder.ordering.BoundsIndex]]),
 * and -1 for NULL.
 *
 * @param column of each inner node; the root is node 0
 * @param slot of each inner node: the least slot on its right
 * @param children of each inner node, left and right: an inner node, or the complement `~cell` of a
 *   cell's number
 */
final class CutTree(column: Array[Int], slot: Array[Int], children: Array[Int])
    extends Serializable {

  /** The number of the cell of a row, by its slots. */
  def cellOf(slots: Array[Int]): Int =
    if (column.length == 0) 0
    else {
      var node = 0
      while (node >= 0) {
        // 1 at or above the cut, without a jump: a processor could guess only half of them right
        val right = (slot(node) - slots(column(node)) - 1) >>> 31
        node = children(2 * node + right)
      }
      ~node
    }
}

object CutTree {

  /** Of a folder without cuts. */
  val onlyCell: CutTree =
    new CutTree(Array.emptyIntArray, Array.emptyIntArray, Array.emptyIntArray)
}
