#!/usr/bin/env python3
"""Asks the reference server one thing over TCP and prints its answer: ask.py PORT USER REQUEST"""

import json
import socket
import sys

port, user, request = sys.argv[1:]
wanted = json.loads(request)["type"]
with socket.create_connection(("127.0.0.1", int(port)), timeout=30) as connection:
    hello = json.dumps({"type": "hello", "user": user})
    connection.sendall(f"{hello}\n{request}\n".encode())
    for line in connection.makefile("r", encoding="utf-8"):
        if json.loads(line).get("type") == wanted:
            print(line, end="")
            break
