# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""``python -m docs.experiments``: runs the experiments and writes their page."""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.demo import data as demo_data
from benchmarks.demo import session
from docs.experiments.impala_text import EXPERIMENTS
from docs.experiments.setting import Setting

PAGE = Path(__file__).with_name("impala_text.md")

HEAD = """\
# Impala's experiments, repeated

A program wrote this page, including the numbers:

```
make experiments
```

The program repeats, with OPTIMIZE, the experiments of a text by the authors of Impala's Z-order (SORT BY ZORDER), and
shows when Z-order does not pay. As in the text, nothing is timed. The tables count the files and pages that footers and
page indexes cannot rule out for a query `column = value`, as a mean over 200 values. *Lexical* is a sort by the same
columns, one after the other. The programs are in `docs/experiments`. [Choosing columns](../choosing-columns.md) has the
conclusions.
"""


def main() -> None:
    """Run every experiment at full size and write the page."""
    options = _options()
    store_sales = demo_data.store_sales(options.data)
    spark = session.start()
    # the page links to its images by this place
    images = options.page.resolve().parent.parent / "images"
    images.mkdir(exist_ok=True)
    try:
        with TemporaryDirectory() as folder:
            text = page(Setting(spark, Path(folder), store_sales, images), say=print)
    finally:
        spark.stop()
    options.page.write_text(text)
    print(f"page: {options.page}")


def page(setting: Setting, say: Callable[[str], object] = lambda _: None) -> str:
    """Run the experiments and return the page."""
    parts = [HEAD]
    for experiment in EXPERIMENTS:
        part = section(experiment.__doc__ or "", experiment(setting))
        say(part)
        parts.append(part)
    return "\n".join(parts)


def section(docstring: str, results: Sequence[str]) -> str:
    """Return a heading, the text below it and the results."""
    title, _, text = inspect.cleandoc(docstring).partition("\n\n")
    return "\n\n".join([f"## {title.rstrip('.')}", text, *results]) + "\n"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m docs.experiments", description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("demo-data"), help="kept and reused")
    parser.add_argument("--page", type=Path, default=PAGE, help="where the page is written")
    return parser.parse_args()


if __name__ == "__main__":
    main()
