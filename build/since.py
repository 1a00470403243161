# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Shows `.. versionadded::` of docstrings, which Markdown does not know, as a line of text."""

import re

import griffe

_DIRECTIVE = re.compile(r"^\.\. versionadded:: *(\S+)$", re.MULTILINE)


class Since(griffe.Extension):
    """Rewrites each docstring before it is parsed."""

    def on_object(self, *, obj, **_kwargs):
        """Replace the directive."""
        if obj.docstring:
            obj.docstring.value = _DIRECTIVE.sub(r"*Since \1.*", obj.docstring.value)
