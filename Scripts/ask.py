#!/usr/bin/env python3
"""Asks the reference server one thing over TCP and prints its answer: ask.py PORT USER REQUEST

A server that is just starting is given ten seconds.
"""

import json
import socket
import sys
import time


def connect(port):
    for turn in range(100):
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=30)
        except ConnectionRefusedError:
            if turn == 99:
                raise
            time.sleep(0.1)


port, user, request = sys.argv[1:]
wanted = json.loads(request)["type"]
with connect(int(port)) as connection:
    hello = json.dumps({"type": "hello", "user": user})
    connection.sendall(f"{hello}\n{request}\n".encode())
    for line in connection.makefile("r", encoding="utf-8"):
        if json.loads(line).get("type") == wanted:
            print(line, end="")
            break
