"""An independent reader of a Tideline file, written from docs/reference/file-format.md alone.

Usage: read_vault.py FILE KEY_IN_HEX OUT
Writes the decrypted database, log included, to OUT: a plain SQLite file.
It shares no code with the library; of libsodium it uses two functions.
"""

import ctypes
import ctypes.util
import hashlib
import os
import struct
import sys

PAGE, TEXT, FRAME = 4096, 4056, 4144

sodium = ctypes.CDLL(ctypes.util.find_library("sodium") or "libsodium.so.23")


def unseal(key, nonce, sealed, bound):
    """XChaCha20-Poly1305; None when the bytes are not as they were sealed."""
    out = ctypes.create_string_buffer(len(sealed) - 16)
    failed = sodium.crypto_aead_xchacha20poly1305_ietf_decrypt(
        out, None, None, sealed, ctypes.c_ulonglong(len(sealed)),
        bound, ctypes.c_ulonglong(len(bound)), nonce, key)
    return None if failed else out.raw


def blake(data, key=b"", **more):
    return hashlib.blake2b(data, digest_size=32, key=key, **more).digest()


def is_sound(copy):
    return copy[:8] == b"TIDELINE" and blake(copy[:4064]) == copy[4064:4096]


def data_key(header, key):
    for slot in range(8):
        at = header[64 + 160 * slot:64 + 160 * (slot + 1)]
        if struct.unpack_from("<I", at)[0] != 1:
            continue
        wrapping = blake(b"tideline slot 1\0" + at[16:32], key)
        found = unseal(wrapping, at[32:56], at[56:104], header[:12] + header[16:44] + at[:32])
        if found:
            return found
    raise SystemExit("wrong key")


class Units:
    """Opens the units of one file."""

    def __init__(self, header, data):
        self.file_id = header[16:32]
        self.keys = [
            blake(b"", data, salt=struct.pack("<QQ", number, 0), person=b"tl-vault" + bytes(8))
            for number in range(4)]

    def open(self, unit, key, kind, number):
        bound = self.file_id + struct.pack("<IIIIQ", 1, PAGE, 1, kind, number)
        return unseal(self.keys[key], unit[-40:-16], unit[:-40] + unit[-16:], bound)

    def lead(self, frame, number):
        """The header of a frame, sealed with its number under the nonce of its page."""
        out = ctypes.create_string_buffer(32)
        failed = sodium.crypto_secretbox_xchacha20poly1305_open_easy(
            out, frame[:48], ctypes.c_ulonglong(48), frame[-40:-16], self.keys[2])
        return None if failed or out.raw[:8] != struct.pack("<Q", number) else out.raw[8:]


def checksum(state, data, order):
    first, second = state
    words = struct.unpack(order + "%dI" % (len(data) // 4), data)
    for x, y in zip(words[::2], words[1::2]):
        first = (first + x + second) & 0xFFFFFFFF
        second = (second + y + first) & 0xFFFFFFFF
    return first, second


def log_pages(units, log):
    """The pages that the log holds, and the size of the database after it."""
    header = units.open(log[:72], 2, 0x48, 0) if len(log) >= 72 else None
    if header is None:
        return {}, None
    order = ">" if struct.unpack(">I", header[:4])[0] & 1 else "<"
    state = checksum((0, 0), header[:24], order)
    if state != struct.unpack(">II", header[24:32]):
        return {}, None
    waiting, pages, size = {}, {}, None
    for number in range(1, (len(log) - 72) // FRAME + 1):
        start = 72 + (number - 1) * FRAME
        frame = log[start:start + FRAME]
        lead = units.lead(frame, number)
        if lead is None or lead[8:16] != header[16:24]:
            break
        place, commit = struct.unpack(">II", lead[:8])
        text = units.open(frame[48:], 1, 0x50, place)
        if text is None:
            break
        page = text + bytes(40)
        state = checksum(checksum(state, lead[:8], order), page, order)
        if state != struct.unpack(">II", lead[16:24]):
            break
        waiting[place] = page
        if commit:
            pages.update(waiting)
            waiting, size = {}, commit
    return pages, size


def main():
    path, key, target = sys.argv[1], bytes.fromhex(sys.argv[2]), sys.argv[3]
    with open(path, "rb") as file:
        data = file.read()
    log = b""
    if os.path.exists(path + "-wal"):
        with open(path + "-wal", "rb") as file:
            log = file.read()
    copies = [copy for copy in (data[:4096], data[4096:8192]) if is_sound(copy)]
    if not copies:
        raise SystemExit("damaged, or not ours")
    header = max(copies, key=lambda copy: struct.unpack_from("<I", copy, 12)[0])
    if struct.unpack_from("<I", header, 8)[0] != 1:
        raise SystemExit("too new")
    units = Units(header, data_key(header, key))
    if blake(header[:4000], units.keys[3]) != header[4000:4032]:
        raise SystemExit("damaged header")
    changed, size = log_pages(units, log)
    count = size or (len(data) - 8192) // PAGE
    with open(target, "wb") as out:
        for number in range(1, count + 1):
            page = changed.get(number)
            if page is None:
                start = 8192 + (number - 1) * PAGE
                text = units.open(data[start:start + PAGE], 1, 0x50, number)
                if text is None:
                    raise SystemExit("page %d is damaged" % number)
                page = text + bytes(40)
            if number == 1:
                # A file without a log beside it is read in the other mode.
                page = page[:18] + b"\x01\x01" + page[20:]
            out.write(page)
    print("%d pages, %d from the log" % (count, len(changed)))


main()
