"""The demonstration's server ends with the client, however the client ends."""

import os
import pathlib
import pty
import select
import signal
import sys
import tempfile
import time
import unittest

from terminal import PATIENCE_SECONDS, program


def children(pid):
    return [int(word) for word in
            pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def runs(pid):
    """Whether a process runs; one that nobody has waited for does not."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


class Ends(unittest.TestCase):
    def start(self):
        """The demonstration with its first screen; gives its process, its terminal, its server."""
        folder = self.enterContext(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
        words = [sys.executable, "-m", "tideline_terminal.demo", "--server", str(program()),
                 "--folder", folder, "--quiet"]
        pid, master = pty.fork()
        if pid == 0:
            # nohup, and a CI that works like it, would have it ignored.
            signal.signal(signal.SIGHUP, signal.SIG_DFL)
            os.execvpe(words[0], words, {**os.environ, "TERM": "xterm-256color"})
        drawn, end = b"", time.monotonic() + PATIENCE_SECONDS
        while b"up to date" not in drawn:
            self.assertLess(time.monotonic(), end, drawn[-500:])
            if select.select([master], [], [], 0.1)[0]:
                drawn += os.read(master, 65_536)
        servers = [child for child in children(pid) if b"tideline-server" in
                   pathlib.Path(f"/proc/{child}/cmdline").read_bytes()]
        self.assertEqual(len(servers), 1)
        return pid, master, servers[0]

    def until_ended(self, server):
        end = time.monotonic() + PATIENCE_SECONDS / 4
        while runs(server) and time.monotonic() < end:
            time.sleep(0.05)
        left = runs(server)
        if left:
            os.kill(server, signal.SIGKILL)
        self.assertFalse(left, "the server runs on")

    def test_closing_the_terminal_ends_the_server(self):
        pid, master, server = self.start()
        os.close(master)
        os.waitpid(pid, 0)
        self.until_ended(server)

    def test_a_signal_that_ends_the_client_ends_the_server(self):
        for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGKILL):
            with self.subTest(number):
                pid, master, server = self.start()
                os.kill(pid, number)
                os.waitpid(pid, 0)
                os.close(master)
                self.until_ended(server)


if __name__ == "__main__":
    unittest.main()
