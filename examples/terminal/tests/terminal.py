"""A terminal for the tests: the client runs in a pseudo-terminal, and what it draws is a screen of
text. Each wait is for a condition and bounded."""

import codecs
import fcntl
import os
import pathlib
import pty
import select
import signal
import struct
import sys
import termios
import time

import pyte

COLUMNS, LINES = 118, 34
#: The columns of the list of conversations.
SIDE = 34
#: Far beyond what anything takes; a test that comes here has failed.
PATIENCE_SECONDS = 60

KEYS = {"enter": "\r", "escape": "\x1b", "tab": "\t", "up": "\x1b[A", "down": "\x1b[B",
        "pageup": "\x1b[5~", "pagedown": "\x1b[6~", "ctrl+o": "\x0f", "ctrl+l": "\x0c",
        "ctrl+q": "\x11", "ctrl+f": "\x06", "backspace": "\x7f"}
#: How the picture of the spans, which is drawn by time, is told apart.
SPANS = set("▄█ ")


class Screen(pyte.Screen):
    """pyte's screen without what it does not know of Textual's private sequences."""

    def select_graphic_rendition(self, *attributes, private=False, **more):
        if not private:
            super().select_graphic_rendition(*attributes)

    def report_device_status(self, mode, **more):
        pass

    def report_device_attributes(self, mode=0, **more):
        pass


class Terminal:
    """One run of the client in a terminal of its own."""

    def __init__(self, port, file, *options):
        self.screen = Screen(COLUMNS, LINES)
        self._stream = pyte.Stream(self.screen)
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        words = [sys.executable, "-m", "tideline_terminal", "--port", str(port), "--file",
                 str(file), *options]
        environment = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor",
                       "TZ": "UTC", "LC_ALL": "C.UTF-8", "COLUMNS": str(COLUMNS),
                       "LINES": str(LINES)}
        self.pid, self._master = pty.fork()
        if self.pid == 0:
            os.execvpe(words[0], words, environment)
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
        #: Each state of the screen that a read has left, for tests that look at all of them.
        self.frames = 0
        self.watch = None

    # What is seen.

    @property
    def lines(self):
        """The screen as text."""
        return [line.rstrip() for line in self.screen.display]

    @property
    def text(self):
        return "\n".join(self.lines)

    @property
    def main(self):
        """The part beside the list of conversations."""
        # Of the cells and not of the text, where a wide character takes one place for two.
        return ["".join(line[at].data for at in range(SIDE, COLUMNS)).rstrip()
                for line in (self.screen.buffer[row] for row in range(LINES))]

    @property
    def messages(self):
        """The lines of the messages: below the title, above the picture of the spans."""
        main = self.main
        bottom = next(at for at, line in enumerate(main) if line.strip() and at > 2
                      and set(line) <= SPANS)
        return main[2:bottom]

    @property
    def composer(self):
        """What stands in the line where one writes."""
        return self.main[-4].strip("│┃").strip()

    # What is done.

    def read(self, seconds):
        """Takes what the client has drawn; False where nothing came in this time or it ended."""
        ready, _, _ = select.select([self._master], [], [], seconds)
        if not ready:
            return False
        try:
            data = os.read(self._master, 65_536)
        except OSError:
            return False
        self._stream.feed(self._decoder.decode(data))
        self.frames += 1
        if self.watch is not None:
            self.watch(self)
        return bool(data)

    def until(self, condition, what):
        """Waits until the screen is as it has to be, and is drawn to its end: a frame comes in
        several pieces."""
        end = time.monotonic() + PATIENCE_SECONDS
        while True:
            drawn = not self.read(0.1)
            if drawn and condition(self):
                return
            if time.monotonic() > end:
                raise AssertionError(f"never seen: {what}\n{self.text}")

    def until_text(self, text):
        """Waits until a text stands anywhere."""
        self.until(lambda terminal: text in terminal.text, text)

    def until_still(self):
        """Waits until a status request is answered by nothing new: the drawing has come to rest."""
        quiet = 0
        end = time.monotonic() + PATIENCE_SECONDS
        while quiet < 4 and time.monotonic() < end:
            quiet = 0 if self.read(0.1) else quiet + 1

    def press(self, *keys):
        """Presses keys, or types texts that are no key's name."""
        for key in keys:
            os.write(self._master, KEYS.get(key, key).encode())

    def quit(self):
        """Ends it as a user does, and reads to its end."""
        self.press("ctrl+q")
        self._wait()

    def kill(self):
        """Ends it as a crash does."""
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            self._wait()

    def _wait(self):
        end = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < end:
            done, status = os.waitpid(self.pid, os.WNOHANG)
            if done:
                self.pid = 0
                os.close(self._master)
                return status
            self.read(0.05)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        self.pid = 0
        raise AssertionError(f"did not end\n{self.text}")


def program():
    """The server's program."""
    return pathlib.Path(os.environ["TIDELINE_SERVER"])
