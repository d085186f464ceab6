"""Serves an adapter over TCP, a frame a line, and opens the client in the terminal on it."""
import select
import socketserver
import threading

HELLO = b'{"type":"hello","status":"ok"}'


class Bridge:
    """A port of the loopback. Each connection begins with a line of greeting, and is an adapter of
    its own; it ends where either side does. It is closed when all of them have ended."""

    def __init__(self, dial):
        class Handler(socketserver.BaseRequestHandler):
            def handle(self):
                adapter = dial()
                try:
                    self.carry(adapter)
                except OSError:
                    pass
                finally:
                    adapter.close()

            def carry(self, adapter):
                came, greeted = bytearray(), False
                while True:
                    while select.select([self.request], [], [], 0)[0]:
                        got = self.request.recv(1 << 16)
                        if not got:
                            return
                        *lines, rest = bytes(came + got).split(b"\n")
                        came = bytearray(rest)
                        for line in lines[not greeted:]:
                            adapter.send(line)
                        if lines and not greeted:
                            greeted = True
                            self.request.sendall(HELLO + b"\n")
                    while (frame := adapter.receive(0.1)) is not None:
                        self.request.sendall(frame + b"\n")

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = False

        self.server = Server(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def chat(story, person, profile, path):
    """Opens the client in the terminal, while somebody writes now and then."""
    from tideline_terminal.app import ChatApp
    from tideline_terminal.session import Session

    ended = threading.Event()

    def write():
        while not ended.wait(7):
            story.say(1)

    writer = threading.Thread(target=write)
    bridge = Bridge(person.adapter)
    writer.start()
    try:
        session = Session(person.id, path, profile=profile)
        ChatApp(session, bridge.port, conversation=story.room).run()
    finally:
        ended.set()
        writer.join()
        bridge.close()
