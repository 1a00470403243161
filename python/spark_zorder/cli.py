# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""The command ``spark-zorder``."""

import argparse
import sys
from collections.abc import Sequence

from spark_zorder import _check, _jars
from spark_zorder._version import __version__
from spark_zorder.session import configure


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code."""
    options = _parser().parse_args(arguments)
    try:
        if options.command == "jar":
            print(_jar(options.spark, options.scala))
            return 0
        return _check_here()
    except (LookupError, RuntimeError) as error:
        print(f"spark-zorder: {error}", file=sys.stderr)
    except Exception as error:
        print(f"spark-zorder: {type(error).__name__}: {error}", file=sys.stderr)
    return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="spark-zorder", description="Z-order clustering of plain Parquet tables for Spark"
    )
    parser.add_argument("--version", action="version", version=f"spark-zorder {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    jar = commands.add_parser("jar", help="print the path of the jar to put into spark.jars")
    jar.add_argument("--spark", help="Spark line, such as 3.5; default: that of pyspark")
    jar.add_argument("--scala", help="Scala version, such as 2.12; default: that of Spark")
    commands.add_parser("check", help="start a local session and say whether it has the extension")
    return parser


def _jar(spark: str | None, scala: str | None) -> str:
    scala = None if scala is None else _jars.line_of(scala)
    if spark is not None:
        return str(_jars.find(_jars.line_of(spark), scala))
    try:
        if scala is None:
            return str(_jars.find_for_pyspark())
        return str(_jars.find(_jars.pyspark_line(), scala))
    except ImportError:
        raise LookupError(
            "pyspark is not installed here, so name the Spark line, for example --spark 4.1"
        ) from None


def _check_here() -> int:
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        print("\n".join(_check.installed()))
        raise LookupError("pyspark is not installed here: pip install pyspark") from None
    try:
        spark = configure(SparkSession.builder.master("local[1]").appName("spark-zorder check"))
        session = spark.getOrCreate()
    except Exception as error:
        raise RuntimeError(f"no session could be started: {error}") from error
    try:
        return 0 if _check.check(session) else 1
    finally:
        session.stop()
