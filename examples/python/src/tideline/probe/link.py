"""Ways to an adapter: a TCP socket with a frame a line, a WebSocket, or an object in Python."""

from __future__ import annotations

import importlib
import importlib.util
import pathlib
import socket
import sys
from collections.abc import Callable
from typing import Any, Protocol


class Closed(Exception):
    """The connection is gone."""


class Link(Protocol):
    """One connection: whole frames, as a WebSocket or a line carries them."""

    def send(self, frame: bytes) -> None:
        """Sends one frame."""

    def receive(self, timeout_s: float) -> bytes | None:
        """The next frame, or None where none came in that time. Raises ``Closed``."""

    def close(self) -> None:
        """Ends the connection."""


Dial = Callable[[], Link]


class Lines:
    """One frame a line over TCP."""

    def __init__(self, host: str, port: int) -> None:
        self._socket = socket.create_connection((host, port), timeout=30)
        self._bytes = bytearray()

    def send(self, frame: bytes) -> None:
        try:
            self._socket.settimeout(30)
            self._socket.sendall(frame + b"\n")
        except OSError as error:
            raise Closed(str(error)) from error

    def receive(self, timeout_s: float) -> bytes | None:
        while b"\n" not in self._bytes:
            self._socket.settimeout(max(timeout_s, 0.001))
            try:
                got = self._socket.recv(1 << 16)
            except TimeoutError:
                return None
            except OSError as error:
                raise Closed(str(error)) from error
            if not got:
                raise Closed("the other side has closed")
            self._bytes += got
        line, _, rest = bytes(self._bytes).partition(b"\n")
        self._bytes = bytearray(rest)
        return line

    def close(self) -> None:
        self._socket.close()


class WebSocket:
    """One frame a message over a WebSocket, by the package ``websockets``."""

    def __init__(self, address: str) -> None:
        module: Any = importlib.import_module("websockets.sync.client")
        self._socket: Any = module.connect(address, max_size=None)

    def send(self, frame: bytes) -> None:
        try:
            self._socket.send(frame.decode())
        except OSError as error:
            raise Closed(str(error)) from error

    def receive(self, timeout_s: float) -> bytes | None:
        try:
            got = self._socket.recv(timeout=timeout_s)
        except TimeoutError:
            return None
        except Exception as error:
            raise Closed(str(error)) from error
        return got.encode() if isinstance(got, str) else bytes(got)

    def close(self) -> None:
        self._socket.close()


def load(name: str) -> Any:
    """What ``module:name`` or ``path/to/file.py:name`` names."""
    place, _, attribute = name.rpartition(":")
    if not place or not attribute.isidentifier():
        raise ImportError(f"{name!r} is neither tcp://host:port, nor ws://…, nor module:name, nor "
                          "path/to/file.py:name")
    if place.endswith(".py"):
        # What lies beside the file may be imported by it.
        sys.path.insert(0, str(pathlib.Path(place).resolve().parent))
        spec = importlib.util.spec_from_file_location(pathlib.Path(place).stem, place)
        if spec is None or spec.loader is None:
            raise ImportError(place)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    else:
        module = importlib.import_module(place)
    return getattr(module, attribute)


def dialer(target: str) -> Dial:
    """How to connect to ``tcp://host:port``, ``ws://…``, ``wss://…``, or ``module:Adapter``, a
    class or function that gives a ``Link`` at each call."""
    if target.startswith("tcp://"):
        host, _, port = target[len("tcp://"):].rstrip("/").rpartition(":")
        if not port.isdecimal():
            raise ImportError(f"{target!r} names no port")
        return lambda: Lines(host or "127.0.0.1", int(port))
    if target.startswith(("ws://", "wss://")):
        return lambda: WebSocket(target)
    made: Dial = load(target)
    return made
