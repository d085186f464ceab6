"""A client in a process of its own, which is killed: it tells each step, and never ends by itself.

    worker.py PORT FILE USER ROOM TEXT
"""
import sys

import tideline
from play import KEY
from server import PROFILE
from tideline.probe.link import Closed, Lines


def step(what):
    print(what, flush=True)


def main(port, path, user, room, text):
    # It has no way to connect anew, on a machine that is busy.
    client = tideline.Client(path, KEY, user_id=user, profile=PROFILE, request_timeout_ms=120_000)
    link = Lines("127.0.0.1", int(port))
    link.send(b'{"type":"hello"}')
    link.receive(60)
    client.connected()
    client.sync(room)
    client.sync(room, tideline.SyncKind.OLDER, want=10_000)
    step("opened")
    client.send(room, text, client_id=text)
    step("performed")
    try:
        talk(client, link)
    except Closed:
        step("closed")
        sys.stdin.read()


def talk(client, link):
    while True:
        for frame in client.frames():
            step("frame")
            link.send(frame.bytes)
            client.frame_sent(frame.id)
            step("sent")
        came = link.receive(0.05)
        if came is not None:
            step("came")
            client.receive(came)
            step("taken")
        client.advance()
        state = client.state()
        if came is None and not state.syncs_left and not state.requests_in_flight:
            step("rest")


if __name__ == "__main__":
    main(*sys.argv[1:])
