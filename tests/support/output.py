"""Standard error of a program, as a progress bar sees it."""

import io
import re


class Output(io.StringIO):
    """Standard error of a program that runs at a terminal, or does not."""

    terminal = False

    def isatty(self) -> bool:
        return self.terminal

    @property
    def lines(self) -> list[str]:
        """What each drawing of the line showed."""
        return [line.strip() for line in re.split(r"[\r\n]", self.getvalue()) if line.strip()]
