"""SQL text from Python values: every name and value that reaches a statement is quoted here."""

import re

# back-quoted, with a back-quote doubled inside; or anything without dots and back-quotes
_PART = re.compile(r"`((?:[^`]|``)+)`|([^`.]+)")


def parts(name: str) -> list[str]:
    """Split a dotted name as Spark does: ``a.`b.c` `` has the parts ``a`` and ``b.c``.

    Raises
    ------
    ValueError
        When a part is empty or a back-quote is not closed.
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
    """Quote every part of a dotted name, so that Spark reads it as a name whatever it holds."""
    return ".".join(quote(part) for part in parts(name))


def quote(part: str) -> str:
    """Back-quote one part of a name."""
    return "`" + part.replace("`", "``") + "`"


def columns(names: list[str]) -> str:
    """Write a list of columns, nested fields among them."""
    return "(" + ", ".join(identifier(name) for name in names) + ")"


def string(text: str) -> str:
    """Write a string literal."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
