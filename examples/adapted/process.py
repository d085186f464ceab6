"""A server that runs as a process of this program, with its files in a folder, on a port of the
loopback."""
import pathlib
import shutil
import signal
import socket
import subprocess
import time

TELL_S = 5


class Process:
    """Which server it is says ``start``, by ``run``."""

    def __init__(self, folder):
        self.folder, self.process = folder, None
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]

    def run(self, command, look, environment=None):
        """Starts it, and waits until it can be looked at, for as long as it runs. What it said is
        the error where it ended."""
        path = self.folder / "run.log"
        with open(path, "a") as log:
            self.process = subprocess.Popen(
                command, cwd=self.folder, stdout=log, stderr=log, env=environment)
        began = told = time.monotonic()
        while self.process.poll() is None:
            try:
                return look()
            except OSError:
                time.sleep(0.1)
            if (now := time.monotonic()) - told > TELL_S:
                told = now
                print(f"waiting for {pathlib.Path(command[0]).name} to answer on port {self.port}: "
                      f"{round(now - began)} s so far; it writes to {path}", flush=True)
        raise SystemExit(path.read_text()[-2_000:])

    def end(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        self.process.wait()
