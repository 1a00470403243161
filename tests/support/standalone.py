# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""A standalone cluster of Spark on this machine: a master and two workers, processes of their own.

Each worker has a host name of its own (Linux answers on all of 127.0.0.0/8), so that Spark takes
them for two machines and runs speculative copies of tasks, which it never does on one host.
The first worker serves the shuffled rows of both, as a cluster's shuffle service would, so that
they are there when the executor that wrote them is dead or slow.
"""

import os
import re
import subprocess
import time
from pathlib import Path
from types import TracebackType

from tests.support import ROOT, cluster
from tests.support.installed import free_port

HOSTS = ("127.0.0.1", "127.0.0.2")
DEPLOY = "org.apache.spark.deploy"


class Standalone:
    """A context manager that starts the cluster and stops its processes."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.url = ""
        self.settings = {
            "spark.driver.host": HOSTS[0],
            "spark.executor.memory": "512m",
            "spark.shuffle.service.enabled": "true",
            "spark.shuffle.service.port": str(free_port()),
        }
        self.workers: list[subprocess.Popen[bytes]] = []
        self._started: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> "Standalone":
        try:
            self._start("master", HOSTS[0], f"{DEPLOY}.master.Master")
            (self.url,) = self._logged("master", r"Starting Spark master at (spark://\S+)")
            serving = [f"-D{key}={value}" for key, value in self.settings.items()]
            self.workers.append(self._start_worker(HOSTS[0], " ".join(serving)))
            self.workers.append(self._start_worker(HOSTS[1]))
            for host in HOSTS:
                self._logged(host, r"(Successfully registered with master)")
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop()

    def executor(self, host: str) -> int:
        """Return the executor process of the worker on a host."""
        # while a worker forks an executor, two processes have this command line
        found: list[int] = []
        until = time.monotonic() + 10
        while len(found) != 1 and time.monotonic() < until:
            found = cluster.executors(host)
            time.sleep(0.02)
        (one,) = found
        return one

    def _start_worker(self, host: str, java_options: str = "") -> "subprocess.Popen[bytes]":
        work = str(self.home / f"work-{host}")
        size = ("--cores", "1", "--memory", "1g", "--work-dir", work)
        main = f"{DEPLOY}.worker.Worker"
        return self._start(host, host, main, *size, self.url, java_options=java_options)

    def _start(
        self, name: str, host: str, main: str, *options: str, java_options: str = ""
    ) -> "subprocess.Popen[bytes]":
        spark = cluster.spark_home(self.home)
        command = [str(spark / "bin/spark-class"), main, "--host", host, "--port", "0"]
        environment = {
            **os.environ,
            "SPARK_HOME": str(spark),
            "SPARK_LOCAL_IP": host,
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": java_options,
        }
        with (self.home / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(
                [*command, "--webui-port", "0", *options],
                stdout=log,
                stderr=subprocess.STDOUT,
                env=environment,
                cwd=ROOT,
            )
        self._started.append(process)
        return process

    def _logged(self, name: str, pattern: str) -> tuple[str, ...]:
        """Wait until the log of a daemon matches a pattern; return the groups."""
        until = time.monotonic() + cluster.PATIENCE
        while time.monotonic() < until:
            text = (self.home / f"{name}.log").read_text()
            found = re.search(pattern, text)
            if found:
                return found.groups()
            time.sleep(0.1)
        raise TimeoutError(text)

    def _stop(self) -> None:
        # stop workers before the master; a worker stops its executors
        for process in reversed(self._started):
            process.terminate()
        for process in self._started:
            process.wait(timeout=60)
