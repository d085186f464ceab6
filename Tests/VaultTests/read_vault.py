"""An independent reader of a Tideline file, written from docs/reference/file-format.md alone.

Usage: read_vault.py FILE raw|passphrase|code KEY_IN_HEX OUT
Writes the decrypted database, log included, to OUT: a plain SQLite file; of a FILE-own the texts of
its frames, one behind the other.
It shares no code with the library; of libsodium it uses five functions.
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


def unmarked(copy):
    """A copy of the header as its sums count it."""
    return copy[:2048] + bytes(72) + copy[2120:]


def is_sound(copy):
    return copy[:8] == b"TIDELINE" and blake(unmarked(copy)[:4064]) == copy[4064:4096]


def times(a, b):
    """The product of two elements of the field of 32, modulo x^5 + x^2 + 1."""
    product = 0
    for bit in range(5):
        product ^= (a << bit) * (b >> bit & 1)
    for bit in range(8, 4, -1):
        product ^= (0b100101 << bit - 5) * (product >> bit & 1)
    return product


def normal(code):
    """A recovery code as it was made; it ends the program where it has a typing error."""
    letters = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
    text = "".join(code.decode().upper().replace("-", "").split())
    text = text.replace("O", "0").replace("I", "1").replace("L", "1")
    values = [letters.find(letter) for letter in text]
    # The code word, as a polynomial, is zero at 2, 2^2, 2^3 and 2^4.
    point = 1
    for _ in range(4):
        point, sum = times(point, 2), 0
        for value in values:
            sum = times(sum, point) ^ value
        if len(values) != 30 or min(values) < 0 or sum != 0:
            raise SystemExit("typing error")
    return text.encode()


def wrapping_key(kind, key, slot):
    if kind != 2:
        return blake(b"tideline slot %d\0" % kind + slot[16:32], key)
    operations, memory = struct.unpack_from("<IQ", slot, 4)
    out = ctypes.create_string_buffer(32)
    failed = sodium.crypto_pwhash(
        out, ctypes.c_ulonglong(32), key, ctypes.c_ulonglong(len(key)), slot[16:32],
        ctypes.c_ulonglong(operations), ctypes.c_size_t(memory), 2)
    return None if failed else out.raw


def times_point(secret, point=None):
    """X25519: of a point, or of the base."""
    out = ctypes.create_string_buffer(32)
    if point is None:
        failed = sodium.crypto_scalarmult_base(out, secret)
    else:
        failed = sodium.crypto_scalarmult(out, secret, point)
    return None if failed else out.raw


def data_key(header, kind, key):
    for slot in range(8):
        at = header[64 + 160 * slot:64 + 160 * (slot + 1)]
        if struct.unpack_from("<I", at)[0] != kind:
            continue
        wrapping = wrapping_key(kind, key, at)
        once = header[1344 + 32 * slot:1344 + 32 * (slot + 1)]
        if once != bytes(32):
            secret = blake(b"tideline slot secret", wrapping)
            wrapping = blake(once + times_point(secret), times_point(secret, once))
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
            for number in range(7)]

    def open(self, unit, key, kind, number):
        bound = self.file_id + struct.pack("<IIIIQ", 1, PAGE, 1, kind, number)
        return unseal(self.keys[key], unit[-40:-16], unit[:-40] + unit[-16:], bound)

    def lead(self, frame, number):
        """The header of a frame, sealed with its number under the nonce of its page."""
        out = ctypes.create_string_buffer(32)
        failed = sodium.crypto_secretbox_xchacha20poly1305_open_easy(
            out, frame[:48], ctypes.c_ulonglong(48), frame[-40:-16], self.keys[2])
        return None if failed or out.raw[:8] != struct.pack("<Q", number) else out.raw[8:]


class Mark:
    """What the file says of its log: that of the newest generation."""

    def __init__(self, units, copies, flags):
        found = [units.open(copy[2048:2120], 2, 0x4D, place) for place, copy in enumerate(copies)]
        marks = [struct.unpack("<QQQQ", text) for text in found if text]
        self.is_half = bool(flags & 2) and len(marks) == 1
        if flags & 2 and not marks:
            raise SystemExit("damaged marks")
        self.generation, self.frames, self.copied, self.state = max(marks, default=(0, 0, 0, 2))

    @property
    def generations(self):
        return [self.generation] + [self.generation + 1] * (self.state == 2)

    def is_lost(self, generation, frames):
        """Whether the log, of a generation or None, lacks what was on disk."""
        if self.state == 2:
            return self.is_half and generation != self.generation + 1
        return generation != self.generation or frames < self.frames


def checksum(state, data, order):
    first, second = state
    words = struct.unpack(order + "%dI" % (len(data) // 4), data)
    for x, y in zip(words[::2], words[1::2]):
        first = (first + x + second) & 0xFFFFFFFF
        second = (second + y + first) & 0xFFFFFFFF
    return first, second


def log_pages(units, mark, log):
    """The pages that the log holds, the size of the database after it, and whether it has lost
    commits."""
    opened = [(units.open(log[:72], 2, 0x48, generation), generation)
              for generation in mark.generations if len(log) >= 72]
    header, generation = next(((text, of) for text, of in opened if text), (None, None))
    pages, size, frames = read_log(units, header, log) if header else ({}, None, 0)
    if mark.state == 2 and generation == mark.generation and frames < mark.copied:
        pages, size = {}, None
    return pages, size, mark.is_lost(generation, frames)


def read_log(units, header, log):
    """The pages of a log, the size of the database after it, and how many frames count."""
    order = ">" if struct.unpack(">I", header[:4])[0] & 1 else "<"
    state = checksum((0, 0), header[:24], order)
    if state != struct.unpack(">II", header[24:32]):
        return {}, None, 0
    waiting, pages, size, frames = {}, {}, None, 0
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
            waiting, size, frames = {}, commit, number
    return pages, size, frames


def own_texts(units, data):
    """The texts of a file of own work, up to the first frame that does not open."""
    start, tag, number = PAGE + 16, data[PAGE:PAGE + 16], 1
    while start + 4 <= len(data):
        size, = struct.unpack_from("<I", data, start)
        unit = data[start + 4:start + 44 + size]
        bound = units.file_id + struct.pack("<IIIIQI", 1, PAGE, 1, 0x4F, number, size) + tag
        text = len(unit) == size + 40 and unseal(
            units.keys[6], unit[-40:-16], unit[:-40] + unit[-16:], bound)
        if not text:
            return
        yield text
        start, tag, number = start + 44 + size, unit[-16:], number + 1


def main():
    path, kind, key, target = *sys.argv[1:3], bytes.fromhex(sys.argv[3]), sys.argv[4]
    if kind == "code":
        key = normal(key)
    kind = {"raw": 1, "passphrase": 2, "code": 3}[kind]
    with open(path, "rb") as file:
        data = file.read()
    log = b""
    if os.path.exists(path + "-wal"):
        with open(path + "-wal", "rb") as file:
            log = file.read()
    copies = [copy for copy in (data[:4096], data[4096:8192]) if is_sound(copy)]
    if not copies:
        raise SystemExit("damaged, or not ours")
    header = max(copies, key=lambda copy: (any(copy[64:4064]), struct.unpack_from("<I", copy, 12)))
    if struct.unpack_from("<I", header, 8)[0] != 1:
        raise SystemExit("too new")
    if not any(header[64:4064]):
        raise SystemExit("no file")
    units = Units(header, data_key(header, kind, key))
    if blake(unmarked(header)[:4000], units.keys[3]) + bytes(32) != header[4000:4064]:
        raise SystemExit("damaged header")
    if path.endswith("-own"):
        with open(target, "wb") as out:
            out.writelines(own_texts(units, data))
        return
    flags, = struct.unpack_from("<I", header, 44)
    mark = Mark(units, (data[:4096], data[4096:8192]), flags)
    changed, size, is_lost = log_pages(units, mark, log)
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
    lost = ", lost commits" if is_lost else ""
    print("%d pages, %d from the log%s" % (count, len(changed), lost))


if __name__ == "__main__":
    main()
