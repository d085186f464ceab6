"""A server that runs as a process of this program, with its files in a folder, on a port of the
loopback."""
import shutil
import signal
import socket
import subprocess
import time

PATIENCE_S = 60


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
        """Starts it, and waits until it can be looked at. What it said is the error where not."""
        path = self.folder / "run.log"
        with open(path, "a") as log:
            self.process = subprocess.Popen(
                command, cwd=self.folder, stdout=log, stderr=log, env=environment)
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end and self.process.poll() is None:
            try:
                return look()
            except OSError:
                time.sleep(0.1)
        raise SystemExit(path.read_text()[-2_000:])

    def end(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        self.process.wait()
