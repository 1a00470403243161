# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""The parts of the package that work without pyspark."""

import subprocess

from tests.support import run_python

# None in sys.modules makes every import of pyspark fail
WITHOUT_PYSPARK = "import sys; sys.modules['pyspark'] = None\n"


def without_pyspark(script: str) -> subprocess.CompletedProcess[str]:
    return run_python(WITHOUT_PYSPARK + script)


def test_the_package_can_be_imported() -> None:
    done = without_pyspark(
        "import spark_zorder\nfrom spark_zorder import ZOrderTable, check, configure, functions\n"
    )
    assert done.returncode == 0, done.stderr


def test_a_jar_can_be_asked_for_by_row() -> None:
    done = without_pyspark(
        "from spark_zorder.cli import main; sys.exit(main(['jar', '--spark', '4.1']))"
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().endswith("spark-zorder-4.1_2.13-0.2.0.jar")


def test_without_a_row_the_command_says_what_is_missing() -> None:
    for command in ("jar", "check"):
        done = without_pyspark(f"from spark_zorder.cli import main; sys.exit(main(['{command}']))")
        assert done.returncode == 1
        assert "pyspark is not installed" in done.stderr
        assert "Traceback" not in done.stderr


def test_importing_the_package_does_not_import_pyspark() -> None:
    done = run_python("import sys, spark_zorder; sys.exit('pyspark' in sys.modules)")
    assert done.returncode == 0, done.stderr
