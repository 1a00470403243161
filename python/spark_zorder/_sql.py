# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""SQL text from Python values: this module checks arguments, and quotes every name and value.

The errors of a check name the argument, and its type or its value.
"""

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# a part in back-quotes, with inner back-quotes doubled, or a part without dots and back-quotes
_PART = re.compile(r"`((?:[^`]|``)+)`|([^`.]+)")


def parts(name: str) -> list[str]:
    """Split a dotted name as Spark does: ``a.`b.c` `` has the parts ``a`` and ``b.c``.

    Raises
    ------
    ValueError
        A part is empty, or a back-quote is not closed.
    """
    found = []
    position = 0
    while match := _PART.match(name, position):
        quoted, plain = match.groups()
        found.append(plain if quoted is None else quoted.replace("``", "`"))
        position = match.end()
        if position == len(name):
            return found
        if name[position] != ".":
            break
        position += 1
    raise ValueError(f"not a name: {name!r}. Quote parts that hold dots: 'a.`b.c`'")


def identifier(name: str) -> str:
    """Quote every part of a dotted name, so that Spark never reads a part as SQL."""
    return ".".join(quote(part) for part in parts(name))


def quote(part: str) -> str:
    """Back-quote one part of a name."""
    return "`" + part.replace("`", "``") + "`"


def columns(names: list[str]) -> str:
    """Return a list of columns in parentheses; a column may be a nested field."""
    return "(" + ", ".join(identifier(name) for name in names) + ")"


# with this setting of Spark, a literal is exactly its characters: a backslash escapes nothing
_VERBATIM = "spark.sql.parser.escapedStringLiterals"


def string(text: str, spark: "SparkSession | None" = None) -> str:
    """Return a string literal.

    Parameters
    ----------
    text : str
        The text that the literal stands for.
    spark : SparkSession, optional
        The session that reads the literal; by default one with Spark's default settings.

    Raises
    ------
    ValueError
        The session reads literals verbatim, and no such literal has this text.
    """
    # most texts need no setting, and over Spark Connect reading one is a round trip to the server
    if not ("'" in text or "\\" in text) or not _is_verbatim(spark):
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
    # parsers still skip the character after a backslash when they look for the end of the literal
    passed = re.sub(r"\\.", "", text, flags=re.DOTALL)
    for quote_mark in "'\"":
        if quote_mark not in passed and not passed.endswith("\\"):
            return f"{quote_mark}{text}{quote_mark}"
    raise ValueError(f"with {_VERBATIM}=true, no literal of SQL has the text: {text}")


def _is_verbatim(spark: "SparkSession | None") -> bool:
    return spark is not None and str(spark.conf.get(_VERBATIM, "false")).lower() == "true"


def options(values: Mapping[str, str], spark: "SparkSession | None" = None) -> str:
    """Return the clause OPTIONS; the values are string literals, as `string` makes them."""
    pairs = ", ".join(
        f"{string(key, spark)} {string(value, spark)}" for key, value in values.items()
    )
    return f"OPTIONS ({pairs})"


def column_list(cols: Sequence[object]) -> str:
    """Return a list of columns as SQL text; refuse values that are not names."""
    names = [require_str(f"column {position}", col) for position, col in enumerate(cols, start=1)]
    return columns(names)


def require_str(argument: str, value: object) -> str:
    """Return `value`, which must be a str."""
    if not isinstance(value, str):
        raise TypeError(f"{argument} must be a str, but is {type(value).__name__}")
    return value


def require_text(argument: str, value: object) -> str:
    """Return `value`, which must be a str that is not empty."""
    text = require_str(argument, value)
    if not text:
        raise ValueError(f"{argument} is empty")
    return text


def require_int(argument: str, value: object, least: int) -> int:
    """Return `value`, which must be an int of at least `least`."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{argument} must be an int, but is {type(value).__name__}")
    if value < least:
        raise ValueError(f"{argument} must be at least {least}, but is {value}")
    return value
