#!/bin/sh
# noiseframework 1.3.0 (PyPI), with noiseprotocol 0.3.1 and dissononce 0.34.3.
#
# Guess: two implementations of Noise that are given one name, Noise_NN_25519_ChaChaPoly_SHA256 say,
# understand each other: the name fixes each byte, and the newest calls itself "Spec-Compliant".
# Seen: the two older ones do. The newest one understands itself alone: the first message that is
# encrypted is refused by each of the others, in either direction, as if it had been changed on its
# way, since keys are derived by another function than the specification's HMAC-HASH. With a hash of
# 64 bytes (SHA512, BLAKE2b) its handshake fails with itself as well: keys are not cut to 32 bytes.
# A client that was tested against its own server with it finds no other server.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install noiseframework==1.3.0 noiseprotocol==0.3.1 dissononce==0.34.3 2>pip.log
cat >try.py <<'PY'
from dissononce.cipher.chachapoly import ChaChaPolyCipher
from dissononce.dh.x25519.x25519 import X25519DH
from dissononce.hash.sha256 import SHA256Hash
from dissononce.hash.sha512 import SHA512Hash
from dissononce.processing.handshakepatterns.interactive.NN import NNHandshakePattern
from dissononce.processing.impl.cipherstate import CipherState
from dissononce.processing.impl.handshakestate import HandshakeState
from dissononce.processing.impl.symmetricstate import SymmetricState
from noise.connection import NoiseConnection
from noiseframework import NoiseHandshake


class Framework:
    def __init__(self, digest, first):
        self.side = NoiseHandshake(f"Noise_NN_25519_ChaChaPoly_{digest}")
        (self.side.set_as_initiator if first else self.side.set_as_responder)()
        self.side.initialize()

    def write(self):
        return self.side.write_message(b"hello")

    def read(self, message):
        return self.side.read_message(message)


class Protocol:
    def __init__(self, digest, first):
        self.side = NoiseConnection.from_name(f"Noise_NN_25519_ChaChaPoly_{digest}".encode())
        (self.side.set_as_initiator if first else self.side.set_as_responder)()
        self.side.start_handshake()

    def write(self):
        return bytes(self.side.write_message(b"hello"))

    def read(self, message):
        return bytes(self.side.read_message(message))


class Dissononce:
    def __init__(self, digest, first):
        hashes = {"SHA256": SHA256Hash, "SHA512": SHA512Hash}
        state = SymmetricState(CipherState(ChaChaPolyCipher()), hashes[digest]())
        self.side = HandshakeState(state, X25519DH())
        self.side.initialize(NNHandshakePattern(), first, b"")

    def write(self):
        message = bytearray()
        self.side.write_message(b"hello", message)
        return bytes(message)

    def read(self, message):
        text = bytearray()
        self.side.read_message(message, text)
        return bytes(text)


def meet(digest, one, other):
    first, second = one(digest, True), other(digest, False)
    try:
        second.read(first.write())  # Only a public key: nothing of it is encrypted.
        return first.read(second.write()).decode()
    except Exception as error:
        return type(error).__name__


for digest in "SHA256", "SHA512":
    for one, other in ((Protocol, Dissononce), (Dissononce, Protocol), (Framework, Framework),
                       (Framework, Protocol), (Protocol, Framework), (Framework, Dissononce),
                       (Dissononce, Framework)):
        print(digest, one.__name__, "reads", other.__name__ + ":", meet(digest, one, other))
PY
timeout 60 venv/bin/python try.py | tee seen
test "$(grep -c '^SHA[0-9]* Protocol reads Dissononce: hello$' seen)" = 2
test "$(grep -c '^SHA[0-9]* Dissononce reads Protocol: hello$' seen)" = 2
grep -qx 'SHA256 Framework reads Framework: hello' seen
grep -qx 'SHA256 Framework reads Protocol: AuthenticationError' seen
grep -qx 'SHA256 Protocol reads Framework: InvalidTag' seen
grep -qx 'SHA256 Framework reads Dissononce: AuthenticationError' seen
grep -qx 'SHA256 Dissononce reads Framework: DecryptFailedException' seen
test "$(grep -c '^SHA512 .*Framework.*: InvalidKeySizeError$' seen)" = 5
