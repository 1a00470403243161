# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

import pytest

from spark_zorder import _sql


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("a", ["a"]),
        ("a.b.c", ["a", "b", "c"]),
        ("`a.b`.c", ["a.b", "c"]),
        ("a.`b``c`", ["a", "b`c"]),
        ("größe", ["größe"]),
        ("order", ["order"]),
        ("my-table", ["my-table"]),
        ("with space", ["with space"]),
    ],
)
def test_a_name_is_split_at_dots_outside_back_quotes(name: str, parts: list[str]) -> None:
    assert _sql.parts(name) == parts


@pytest.mark.parametrize("name", ["", ".", "a.", ".a", "a..b", "`a", "a`b", "``", "`a`b", "a.`"])
def test_what_is_not_a_name_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="not a name"):
        _sql.parts(name)


def test_every_part_of_a_name_is_quoted() -> None:
    assert _sql.identifier("a.`b``c`") == "`a`.`b``c`"
    assert _sql.identifier("t ORDER BY x; DROP TABLE t") == "`t ORDER BY x; DROP TABLE t`"


def test_columns_are_a_list_in_parentheses() -> None:
    assert _sql.columns(["a.b", "`c d`"]) == "(`a`.`b`, `c d`)"


def test_quotes_and_backslashes_in_strings_are_escaped() -> None:
    assert _sql.string("it's") == r"'it\'s'"
    assert _sql.string("C:\\x\\") == r"'C:\\x\\'"
