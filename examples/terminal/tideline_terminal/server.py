"""Starts the reference server as a process of its own, for the demonstration and the tests."""

from __future__ import annotations

import ctypes
import os
import pathlib
import re
import signal
import subprocess
from typing import Optional, Sequence

#: What it can do of what is not always there, as the server's options name it.
CAPABILITIES = ("before", "around", "idempotent_send")
#: The same of one that keeps a log, which names its places itself.
LOG_CAPABILITIES = ("idempotent_send",)

_LIBC = ctypes.CDLL(None)
#: `PR_SET_PDEATHSIG` of Linux: the signal that a process gets when the one that began it ends.
_PARENT_DEATH_SIGNAL = 1


def _end_with(parent: int) -> None:
    """Runs in the new process: it ends with its parent, however that one ends."""
    _LIBC.prctl(_PARENT_DEATH_SIGNAL, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


class Server:
    """A server that runs; ``port`` is where it speaks TCP."""

    def __init__(self, program: pathlib.Path, options: Sequence[str], port: int = 0) -> None:
        # Fine times, so that what is said within one second keeps its order.
        words = [os.fspath(program), "--ws-port", "0", "--tcp-port", str(port), "--server-time",
                 "--resolution", "ms"]
        for name in LOG_CAPABILITIES if "--log" in options else CAPABILITIES:
            words += ["--capability", name]
        parent = os.getpid()
        self._process: Optional[subprocess.Popen[str]] = subprocess.Popen(
            [*words, *options], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            stdin=subprocess.DEVNULL, start_new_session=True,
            preexec_fn=lambda: _end_with(parent))
        self.port = self._ready()

    def _ready(self) -> int:
        """Reads until the server listens; its last words are the error where it does not."""
        assert self._process is not None and self._process.stdout is not None
        said = []
        for line in self._process.stdout:
            said.append(line)
            if match := re.match(r"tideline-server ready tcp=(\d+)", line):
                return int(match.group(1))
        self.kill()
        raise RuntimeError("the server did not start: " + "".join(said[-5:]))

    def kill(self) -> None:
        """Ends it at once, as a power cut would."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """Ends it in order."""
        self._end(signal.SIGTERM)

    def _end(self, number: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(number)
            process.wait()
            if process.stdout is not None:
                process.stdout.close()
