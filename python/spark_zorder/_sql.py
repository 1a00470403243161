"""SQL text from Python values; this module quotes every name and value in a statement."""

import re

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


def string(text: str) -> str:
    """Return a string literal."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
