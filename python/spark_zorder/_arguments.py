"""Checks of arguments; the errors name the argument, and its type or its value."""

from collections.abc import Sequence

from spark_zorder import _sql


def column_list(cols: Sequence[object]) -> str:
    """Return a list of columns as SQL text; refuse values that are not names."""
    names = [require_str(f"column {position}", col) for position, col in enumerate(cols, start=1)]
    return _sql.columns(names)


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
