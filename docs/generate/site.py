"""What the site needs beside its pages; MkDocs calls it, see mkdocs.yml."""

from __future__ import annotations

from typing import Any

# a site begins with index.html, but index.md is the page of the skipping index
ADDRESSES = {"index.md": "skipping-index.html", "home.md": "index.html"}


def on_files(files: Any, config: Any) -> Any:
    """Give two pages other addresses than their names; links between pages follow."""
    for source, address in ADDRESSES.items():
        page = files.get_file_from_path(source)
        page.dest_uri = address
        page.abs_dest_path = f"{config['site_dir']}/{address}"
        page.url = address
    return files
