package io.sparkzorder.grid

/**
 * The cuts of a folder as a binary tree. An inner node compares one column's slot with a cut; rows at
 * or above it are on the right.
 *
 * A slot is a value's place among the bounds of its column ([[io.sparkzorder.expressions.BoundsIndex]]),
 * and -1 for NULL.
 *
 * @param column of each inner node; the root is node 0
 * @param slot of each inner node: the least slot on its right
 * @param left of each inner node: an inner node, or the complement `~cell` of a cell's number
 * @param right likewise
 */
final class CutTree(
    column: Array[Int],
    slot: Array[Int],
    left: Array[Int],
    right: Array[Int])
    extends Serializable {

  /** The number of the cell of a row, by its slots. */
  def cellOf(slots: Array[Int]): Int =
    if (column.length == 0) 0
    else {
      var node = 0
      while (node >= 0) {
        node = if (slots(column(node)) >= slot(node)) right(node) else left(node)
      }
      ~node
    }
}
