# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""Adds the extension to a session before the session is built."""

import os
import re
import shlex
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from spark_zorder import _jars

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXTENSION = "io.sparkzorder.ZOrderExtensions"

_JARS = "spark.jars"
_EXTENSIONS = "spark.sql.extensions"


def configure(builder: "SparkSession.Builder") -> "SparkSession.Builder":
    """Add spark-zorder to the session that `builder` will build.

    Appends the jar for the running Spark to ``spark.jars``, and the extension to
    ``spark.sql.extensions``. If the builder, ``PYSPARK_SUBMIT_ARGS`` or ``spark-defaults.conf`` (or
    the file of ``--properties-file`` in its place) has values for these two settings, `configure`
    keeps them. No other setting changes, and a second call has no effect.

    Parameters
    ----------
    builder : SparkSession.Builder
        A builder with or without settings; ``remote("local[*]")`` works too.

    Returns
    -------
    SparkSession.Builder
        The same builder.

    Raises
    ------
    LookupError
        There is no jar for the running pyspark. The message names the supported Spark versions.
    RuntimeError
        The jar cannot be added, because a JVM without it is already running, the session will run
        on a remote server, or pyspark is the thin client without Spark.

    Examples
    --------
    >>> from pyspark.sql import SparkSession
    >>> from spark_zorder import configure
    >>> spark = configure(SparkSession.builder).getOrCreate()  # doctest: +SKIP
    """
    set_so_far = _settings_of(builder)
    _refuse_remote_server(set_so_far)
    _refuse_thin_client()
    running = _settings_of_running_jvm()
    if running:
        _refuse_jvm_without_jar(running)
    else:
        _add_jar(builder, set_so_far)
    extensions = _entries(_EXTENSIONS, set_so_far, running)
    if EXTENSION not in extensions:
        builder.config(_EXTENSIONS, ",".join([*extensions, EXTENSION]))
    return builder


def _add_jar(builder: "SparkSession.Builder", set_so_far: dict[str, str]) -> None:
    jars = _entries(_JARS, set_so_far, {})
    if _jars.ours_in(jars):
        return
    jar = _jars.find_for_pyspark()
    if _JARS in _submit_arguments():
        raise RuntimeError(
            "configure() cannot add the spark-zorder jar: the jars that PYSPARK_SUBMIT_ARGS names "
            f"hide those of the builder. Add {jar} to them, after a comma"
        )
    builder.config(_JARS, ",".join([*jars, str(jar)]))


def _settings_of(builder: "SparkSession.Builder") -> dict[str, str]:
    # pyspark cannot return the settings of a builder; they are the only dict among its attributes
    held = [value for value in vars(builder).values() if isinstance(value, dict)]
    return {key: str(value) for mapping in held for key, value in mapping.items()}


def _entries(key: str, set_so_far: dict[str, str], running: dict[str, str]) -> list[str]:
    # Spark looks in this order, and the first source that has the key hides the others. A JVM that
    # spark-submit started has already read its arguments and the file.
    for settings in (set_so_far, running or _submit_arguments(), _defaults_file()):
        if key in settings:
            return [entry.strip() for entry in settings[key].split(",") if entry.strip()]
    return []


def _submit_words() -> list[tuple[str, str]]:
    """List the words of PYSPARK_SUBMIT_ARGS, each with the next word, which may be its value."""
    words = shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", ""))
    # --conf=a=b means the same as --conf a=b
    joined = ("--conf=", "--jars=", "--properties-file=")
    apart = [word.split("=", 1) if word.startswith(joined) else [word] for word in words]
    return list(pairwise(chain.from_iterable(apart)))


def _submit_arguments() -> dict[str, str]:
    given = _submit_words()
    values = [value for option, value in given if option in ("--conf", "-c")]
    found = {key: value for key, equals, value in (v.partition("=") for v in values) if equals}
    for option, value in given:
        if option == "--jars":
            # the option --jars hides the setting spark.jars
            found[_JARS] = value
    return found


def _defaults_file() -> dict[str, str]:
    folder = os.environ.get("SPARK_CONF_DIR")
    path = (Path(folder) if folder else _jars.spark_home() / "conf") / "spark-defaults.conf"
    # Spark reads the last file of this option in the place of spark-defaults.conf
    for option, value in _submit_words():
        if option == "--properties-file":
            path = Path(value)
    if not path.is_file():
        return {}
    # A Java properties file: blanks, '=' or ':' separate key and value, and '\' joins lines, except
    # lines of comments.
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    text = "\n".join(line for line in lines if line.strip()[:1] not in ("#", "!"))
    joined = re.sub(r"\\\n\s*", "", text).splitlines()
    pairs = [re.split(r"\s*[=:\s]\s*", line.strip(), maxsplit=1) for line in joined]
    return {pair[0]: pair[1].strip() for pair in pairs if len(pair) == 2}


def _refuse_remote_server(set_so_far: dict[str, str]) -> None:
    url = set_so_far.get("spark.remote") or os.environ.get("SPARK_REMOTE", "")
    if url.startswith("sc://"):
        jar = _jars.find_for_pyspark()
        raise RuntimeError(
            f"configure() cannot add a jar to the running Spark Connect server {_host(url)}. Start "
            f"the server with --jars {jar} --conf {_EXTENSIONS}={EXTENSION} and connect without "
            "configure()"
        )


def _refuse_thin_client() -> None:
    if not os.environ.get("SPARK_HOME") and not (_jars.spark_home() / "jars").is_dir():
        raise RuntimeError(
            "configure() has no Spark to add a jar to: this pyspark is a client only. Start the "
            "Spark Connect server with the jar of its own version (`spark-zorder jar --spark 4.1` "
            f"prints the path) in --jars and --conf {_EXTENSIONS}={EXTENSION}, and connect "
            "without configure()"
        )


def _host(url: str) -> str:
    # the text after the host may contain a token, which must not be printed
    return re.split(r"[/;]", url.removeprefix("sc://"), maxsplit=1)[0]


def _refuse_jvm_without_jar(running: dict[str, str]) -> None:
    if not _jars.ours_in(_jars.class_path(running.get, _jars.spark_home())):
        raise RuntimeError(
            "A JVM without the spark-zorder jar is already running for this process, even if its "
            "session was stopped, and a jar can only be added when it starts. Call configure() "
            "before the first session (restart Python or the notebook's kernel), or start Spark "
            f"with --jars {_jars.find_for_pyspark()}"
        )


def _settings_of_running_jvm() -> dict[str, str]:
    from pyspark import SparkConf, SparkContext

    if "PYSPARK_GATEWAY_PORT" in os.environ:
        # spark-submit started the JVM, which waits for this process to connect. The property
        # already has this value, but setting it makes pyspark connect.
        SparkContext.setSystemProperty("SPARK_SUBMIT", "true")
    # a new SparkConf has the settings that the JVM was started with, and is empty without a JVM
    return dict(SparkConf().getAll())
