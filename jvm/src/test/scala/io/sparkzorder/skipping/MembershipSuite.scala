// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping

/** Lists of values by other names than IN. */
class MembershipSuite extends GridTestBase {
  private val ansi = "spark.sql.ansi.enabled"

  testShapes("an array of values")(
    "array_contains(array(5, 7, 9), k)" -> 4,
    "array_contains(array(5L, 7L, 9L), k)" -> 4,
    "array_contains(array(5, 7, null), k)" -> 4,
    "NOT array_contains(array(5, 7, null), k)" -> 0,
    "NOT array_contains(sequence(0, 24), k)" -> 16,
    "array_contains(sequence(5, 9), k)" -> 4,
    "array_contains(split('c000005,c000007', ','), name)" -> 4,
    "array_contains(transform(array(5, 7), v -> v + 1), k)" -> 4,
    "array_contains(filter(array(5, 7, 70), v -> v < 10), k)" -> 4,
    "array_contains(transform(array(5, 7), v -> v + k), 5)" -> 16,
    "array_contains(array(k, k + 1), 5)" -> 4,
    "array_contains(array(k, 7), 7)" -> 16,
    "array_position(array(5, 7, 9), k) > 0" -> 4,
    "array_position(array(5, 7, 9), k) = 2" -> 4,
    "array_position(array(5, 7, 9), k) != 0" -> 4,
    "0 < array_position(array(5, 7, 9), k)" -> 4,
    "NOT (array_position(array(5, 7, 9), k) = 0)" -> 4,
    "arrays_overlap(array(k), array(5, 7, 9))" -> 4,
    "arrays_overlap(array(5, 7, 9), array(k))" -> 4,
    "arrays_overlap(array(k, nullable), array(5, 7, null))" -> 4,
    "size(array_intersect(array(k), array(5, 7, 9))) > 0" -> 4,
    "size(array_intersect(array(5, 7, 9), array(k))) >= 1" -> 4,
    "exists(array(5, 7, 9), v -> v = k)" -> 4,
    "exists(array(5, 50), v -> k >= v AND k < v + 2)" -> 8,
    "NOT forall(array(5, 7, 9), v -> v != k)" -> 4,
    "forall(array(5, 7, 9), v -> k < v)" -> 4,
    "size(filter(array(5, 7, 9), v -> v = k)) > 0" -> 4,
    "size(filter(array(5, 7, 9), v -> v = k)) = 1" -> 4,
    "NOT (size(filter(array(5, 7, 9), v -> v = k)) = 0)" -> 4,
    "array_size(filter(array(5, 7, 9), v -> v <=> k)) > 0" -> 4,
    "exists(array(5, 7), v -> v = k) AND other = 1" -> 4,
    "aggregate(array(5, 7, 9), false, (so, v) -> so OR v = k)" -> 4,
    "NOT aggregate(array(5, 7, 9), true, (so, v) -> so AND v != k)" -> 4,
    "aggregate(array(5, 7, null), k > 1000, (so, v) -> v = k OR so, so -> so)" -> 4,
    "aggregate(array(5, 7), false, (so, v) -> so OR v = k AND so)" -> 16,
    // a call inside of another lambda is not understood, and the other condition is
    "k = 5 AND aggregate(array(0, 1), true, (so, v) -> size(filter(array(1, 2), y -> so AND k > v + y)) > 0)" -> 4)

  testShapes("a text with values")(
    "find_in_set(name, 'c000005,c000007') > 0" -> 4,
    "find_in_set(name, 'c000005,c000007') >= 1" -> 4,
    "find_in_set(name, 'c000005,c000007') != 0" -> 4,
    "find_in_set(name, 'c000005,c000080') = 2" -> 4,
    "find_in_set(cast(k as string), '5,7,9') > 0" -> 16,
    "find_in_set(digits, '5,7,9') > 0" -> 16,
    "instr(',c000005,c000007,', concat(',', name, ',')) > 0" -> 4,
    "locate(concat(',', name, ','), ',c000005,c000007,') > 0" -> 4,
    "position(concat(',', name, ',') IN ',c000005,c000007,') > 0" -> 4,
    "',c000005,c000007,' LIKE concat('%,', name, ',%')" -> 4,
    "'c000005,c000007,' LIKE concat(name, ',%')" -> 4,
    "'c000005' LIKE name" -> 4,
    "NOT (',c000005,c000007,' LIKE concat('%,', name, ',%'))" -> 16,
    "',c000005,c000007,' LIKE concat('%,_', name, ',%')" -> 16,
    "contains(',c000005,c000007,', concat(',', name, ','))" -> 4,
    "contains('c000005,c000007', name)" -> 16)

  testShapes("a map with values")(
    "map_contains_key(map(5, 1, 7, 2), k)" -> 4,
    "element_at(map(5, 1, 7, 2), k) IS NOT NULL" -> 4,
    "map(5, 1, 7, 2)[k] IS NOT NULL" -> 4,
    "map(5, 1, 7, 2)[k] = 1" -> 4,
    "map(5, 1, 70, 2)[k] = 2" -> 4,
    "map(5, 'a', 7, 'b')[k] LIKE 'a%'" -> 4,
    "coalesce(map(5, 1, 7, 2)[k], 0) > 0" -> 4,
    "coalesce(map(5, true)[k], false)" -> 4,
    "try_element_at(map(5, 1, 7, 2), k) > 0" -> 4)

  testShapes("names of values that hold for all other rows keep the rows")(
    "map(5, 1, 7, 2)[k] IS NULL" -> 16,
    "NOT array_contains(array(5, 7), k)" -> 16,
    "array_contains(array(5, 7), nullable) IS NULL" -> 16,
    "find_in_set(name, 'c000005') = 0" -> 16,
    "array_position(array(5, 7), k) < 1" -> 16,
    "array_contains(cast(array() as array<int>), k)" -> 0,
    "arrays_overlap(array(k), array(null))" -> 0,
    "exists(array(null, 5), v -> v = k) IS NULL" -> 16)

  test("the same without ANSI") {
    inConf(ansi -> "false") {
      checkShapes(
        "array_contains(array(5, 7, 9), k)" -> 4,
        "element_at(map(5, 1, 7, 2), k) IS NOT NULL" -> 4,
        "find_in_set(name, 'c000005,c000007') > 0" -> 4,
        "arrays_overlap(array(k), array(5, 7, 9))" -> 4)
    }
  }

  test("bound values") {
    val rows = spark.sql(
      "SELECT * FROM orders WHERE array_contains(:ids, k)",
      Map("ids" -> org.apache.spark.sql.functions.array(
        Seq(5, 7, 9).map(org.apache.spark.sql.functions.lit(_)): _*)))
    assert(keptFiles(rows) === 4)
  }
}
