"""A whole instance in its own processes, as ``make run`` starts it, with its own data folder and port."""

from __future__ import annotations

import http.client
import os
import re
import signal
import socket
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from tests.conftest import PROJECT_ROOT, installing_variables
from tests.evaluator.processes import descendants, wait_until


class Instance:
    """An instance on ``folder``; ``variables`` are its settings."""

    def __init__(self, folder: Path, **variables: str) -> None:
        self.data = folder / "var"
        self.output = folder / "output"
        self.environment = {
            "PATH": os.environ["PATH"],
            **installing_variables(),
            "DJANGO_SETTINGS_MODULE": "leaderboard.settings",
            "ENV_FILE": os.devnull,
            "DATA_DIR": str(self.data),
            "WORKERS": "2",
            "WEB_WORKERS": "1",
            **variables,
        }
        self.within: tuple[str, ...] = ()
        """What precedes the command line of everything that runs."""
        self.patience_seconds = 300.0
        self.process: subprocess.Popen[bytes] | None = None
        with closing(socket.create_server(("127.0.0.1", 0))) as server:
            self.listen(server.getsockname()[1])

    def make_folders(self) -> None:
        """Make the data folder, private, and that of its sandboxes beside it, since the boxes' user must pass through.

        The second one is the counterpart of /var/lib/lmr-board in other instances.
        """
        folder = self.data.parent
        sandboxes = folder / "sandbox"
        for made in (folder, self.data, sandboxes):
            made.mkdir(mode=0o700, exist_ok=True)
        (self.data / "sandbox").symlink_to(sandboxes)
        for passed in (folder, sandboxes):
            passed.chmod(0o711)

    def listen(self, port: int) -> None:
        """Serve the site at this port."""
        self.port = port
        self.address = f"http://127.0.0.1:{port}"
        self.environment["PORT"] = str(port)

    def python(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run Python on the instance's settings."""
        return subprocess.run(
            [*self.within, sys.executable, *arguments],
            cwd=PROJECT_ROOT,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=self.patience_seconds,
        )

    def manage(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run one of the instance's commands."""
        return self.python("manage.py", *arguments)

    def printed(self, *arguments: str) -> str:
        """Run a command that must succeed, and return its output."""
        result = self.manage(*arguments)
        assert result.returncode == 0, result.stderr
        return result.stdout

    def start(self, *arguments: str) -> int:
        """Start ``manage.py serve``, wait until it prints its address, and return the supervisor's process id."""
        with self.output.open("wb") as output:
            process = self.process = subprocess.Popen(
                [*self.within, sys.executable, "manage.py", "serve", *arguments],
                cwd=PROJECT_ROOT,
                env=self.environment,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        # Only the host of the site has an address.
        started = re.compile("answers at|works for")
        wait_until(
            lambda: bool(started.search(self.log_text())) or process.poll() is not None, "the start", seconds=600
        )
        assert process.poll() is None, self.log_text()
        return process.pid

    def log_text(self) -> str:
        """The supervisor's output."""
        return self.output.read_text(encoding="utf-8")

    def get(self, address: str) -> tuple[int, str]:
        """Status and text of a page."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        with closing(connection):
            connection.request("GET", address)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()

    def worker(self, name: str) -> int | None:
        """The process id of the worker ``name``."""
        assert self.process is not None
        for pid in descendants(self.process.pid):
            command = Path(f"/proc/{pid}/cmdline")
            if command.exists() and f"worker\0--name\0{name}\0" in command.read_text(encoding="utf-8"):
                return pid
        return None

    def takes_jobs(self, name: str) -> bool:
        """Return whether the worker ``name`` handles SIGTERM: once it has started, it ends its own processes on it."""
        pid = self.worker(name)
        status = Path(f"/proc/{pid}/status")
        caught = re.search(r"^SigCgt:\s*([0-9a-f]+)", status.read_text(encoding="ascii"), re.MULTILINE) if pid else None
        return caught is not None and bool(int(caught[1], 16) >> (signal.SIGTERM - 1) & 1)

    def stop(self, number: int) -> int:
        """Send the supervisor a signal and return its exit code."""
        assert self.process is not None
        self.process.send_signal(number)
        return self.process.wait(timeout=60)
