# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""A replacement of standard error for tests of the progress bar."""

import io
import re


class Output(io.StringIO):
    """Standard error that records its text, and that may claim to be a terminal."""

    terminal = False

    def isatty(self) -> bool:
        return self.terminal

    @property
    def lines(self) -> list[str]:
        """Return each state of the line."""
        return [line.strip() for line in re.split(r"[\r\n]", self.getvalue()) if line.strip()]
