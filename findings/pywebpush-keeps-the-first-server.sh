#!/bin/sh
# pywebpush 2.5.0 (PyPI), with two push services of this script, which look at the `aud` of the
# token as RFC 8292 (2) defines it: the origin of the push service that the request goes to.
#
# Guess: `vapid_claims` is what a program adds to each token, its address as `sub` say. One dict for
# all subscriptions is right, and a call leaves it as it is.
# Guess: each request has a token that is made for it, so it is valid for hours.
# Seen: the call writes `aud` and `exp` into the caller's dict, and takes what is there already. The
# first subscription decides the push service: each one at another service is refused, by its users
# of another browser, as if the key were wrong. A test with one browser passes.
# Seen: `exp` stays until it is over, so the token of a long-running sender may have a second left
# when it is sent. Give each call a new dict.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install pywebpush==2.5.0 2>pip.log
cat >try.py <<'PY'
import base64
import json
import os
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from pywebpush import WebPushException, webpush


def text(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


class Service(BaseHTTPRequestHandler):
    def log_message(self, *rest):
        pass

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        token = self.headers["Authorization"].split("t=")[1].split(",")[0].split(".")[1]
        self.server.claims = json.loads(base64.urlsafe_b64decode(token + "==="))
        own = f"http://127.0.0.1:{self.server.server_port}"
        self.send_response(201 if self.server.claims["aud"] == own else 403)
        self.send_header("Content-Length", "0")
        self.end_headers()


SERVICES = [ThreadingHTTPServer(("127.0.0.1", 0), Service) for _ in range(2)]
for each in SERVICES:
    threading.Thread(target=each.serve_forever, daemon=True).start()
SECRET = text(ec.generate_private_key(
    ec.SECP256R1()).private_numbers().private_value.to_bytes(32, "big"))
PUBLIC = text(ec.generate_private_key(ec.SECP256R1()).public_key().public_bytes(
    serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint))


def push(service, claims):
    try:
        answer = webpush(
            {"endpoint": f"http://127.0.0.1:{service.server_port}/eva",
             "keys": {"p256dh": PUBLIC, "auth": text(os.urandom(16))}},
            "m1", vapid_private_key=SECRET, vapid_claims=claims)
    except WebPushException as error:
        answer = error.response
    return answer.status_code


claims = {"sub": "mailto:eva@localhost"}
print("one dict:", *(push(each, claims) for each in SERVICES), "- keys:", *sorted(claims))
print("a new dict:", *(push(each, {"sub": "mailto:eva@localhost"}) for each in SERVICES))
soon = int(time.time()) + 60
push(SERVICES[0], {"sub": "mailto:eva@localhost", "exp": soon})
print("exp of an earlier call:", "kept" if SERVICES[0].claims["exp"] == soon else "renewed")
PY
timeout 60 venv/bin/python try.py | tee seen
cat >expected <<'END'
one dict: 201 403 - keys: aud exp sub
a new dict: 201 201
exp of an earlier call: kept
END
cmp seen expected
