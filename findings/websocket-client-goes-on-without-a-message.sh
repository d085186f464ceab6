#!/bin/sh
# websocket-client 1.9.2 (PyPI), with a server of websockets 17.4.
#
# Guess: an exception in `on_message` ends `run_forever`, which raises it, or prints it at the
# least.
# Guess: with `reconnect` each lost connection is reported by `on_close`, and each new one by
# `on_open`, so a catch-up belongs there.
# Seen: the exception goes to `on_error`, and the next message is handed out: what could not be
# stored is missing between two that were. Without `on_error` nothing is printed either; the logger
# of the library is silent until a program sets it up. A program counts such an error itself, and
# closes.
# Seen: with `reconnect`, `on_close` is called at the very end only. The first lost connection goes
# to `on_error`, a later one to nothing. With an `on_reconnect`, `on_open` is called once.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install websocket-client==1.9.2 websockets==17.4 2>pip.log
cat >try.py <<'PY'
import sys
import threading

import websocket
import websockets.sync.server

connections = 0


def serve(connection):
    """Sends two messages; loses the first two connections, and closes the third."""
    global connections
    connections += 1
    connection.send(f"m{connections}")
    connection.send(f"n{connections}")
    if connections < 3:
        connection.recv()
        connection.socket.close()


server = websockets.sync.server.serve(serve, "127.0.0.1", 0)
threading.Thread(target=server.serve_forever, daemon=True).start()
address = "ws://127.0.0.1:%d" % server.socket.getsockname()[1]


def run(label, **handlers):
    global connections
    connections = 0
    seen = []

    def on_message(app, text):
        if text == "m1":
            seen.append("m1 is not stored")
            raise RuntimeError("the disk is full")
        seen.append(text)
        if text.startswith("n") and connections < 3:
            app.send("go on")
        elif text == "n3":
            app.close()

    def note(name):
        return lambda *arguments: seen.append(
            f"{name} {type(arguments[1]).__name__}" if name == "on_error" else name)

    app = websocket.WebSocketApp(
        address, on_message=on_message, **{name: note(name) for name in handlers})
    guard = threading.Timer(30, app.close)
    guard.start()
    try:
        app.run_forever(reconnect=handlers.get("reconnect", 1))
    finally:
        guard.cancel()
    print(f"{label}:", ", ".join(seen), flush=True)


run("no handler of errors")
run("all handlers", on_error=1, on_open=1, on_close=1, on_reconnect=1)
PY
timeout 90 venv/bin/python try.py 2>errors | tee seen
echo "printed besides: $(wc -c <errors) bytes" | tee -a seen
grep -qx 'no handler of errors: m1 is not stored, n1, m2, n2, m3, n3' seen
events='on_open, m1 is not stored, on_error RuntimeError, n1, on_error WebSocketConnectionClosedException'
grep -qx "all handlers: $events, on_reconnect, m2, n2, on_reconnect, m3, n3, on_close" seen
grep -qx 'printed besides: 0 bytes' seen
