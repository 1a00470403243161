# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Puts Scaladoc into the site of the documentation, where `make site` has made it.

The link and a page are always there, so that `make docs` needs no Scala compiler.
"""

import shutil
from pathlib import Path

from mkdocs.structure.nav import Link

SCALADOC = Path("target/rows/4.1_2.13/target/scala-2.13/api")
MISSING = "<!doctype html><title>Scaladoc</title><p><code>make site</code> makes these pages."


def on_nav(nav, **_kwargs):
    """Add the link to the section Reference; mkdocs.yml can only name pages of docs/."""
    (reference,) = (item for item in nav.items if item.title == "Reference")
    reference.children.append(Link("Scaladoc", "scaladoc/index.html"))
    return nav


def on_post_build(config):
    """Copy the pages of Scaladoc, or write one page in their place."""
    target = Path(config.site_dir) / "scaladoc"
    if (SCALADOC / "index.html").is_file():
        shutil.copytree(SCALADOC, target, dirs_exist_ok=True)
    else:
        target.mkdir(exist_ok=True)
        (target / "index.html").write_text(MISSING)
