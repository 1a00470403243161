# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""The page of the public interface names all that users may call in Python."""

import pytest

import spark_zorder
from tests.support import ROOT

pytestmark = pytest.mark.classic_only

DOCS = ROOT / "docs"


def test_the_page_names_every_public_name() -> None:
    page = (DOCS / "public-api.md").read_text()
    assert [name for name in spark_zorder.__all__ if f"`{name}`" not in page] == []


def test_the_reference_describes_every_public_name() -> None:
    page = (DOCS / "python-reference.md").read_text()
    described = {line.rpartition(".")[2] for line in page.splitlines() if line.startswith(":::")}
    assert described == {*spark_zorder.__all__} - {"__version__"}
