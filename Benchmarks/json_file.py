"""A row: each conversation is one encrypted JSON file, as small clients do it.

At each change the whole file is decrypted, parsed, changed, printed, encrypted and put in the place
of the old one; a read decrypts and parses it too. The parser is orjson, the cipher
XChaCha20-Poly1305 of libsodium. `live_full` syncs the file and its folder, all else leaves that to
the system. There is no list of conversations, no scrolling and no jump: to read a part is to read
all.
"""

import os

import nacl.secret
import orjson

import peer

BOX = nacl.secret.Aead(bytes([7]) * 32)
LIVE = 20


class Store:
    """Messages by id, in a file for each conversation."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir(exist_ok=True)

    def _path(self, conversation):
        return self.folder / f"room-{conversation:05}.json.enc"

    def load(self, conversation):
        try:
            sealed = self._path(conversation).read_bytes()
        except FileNotFoundError:
            return {}
        return orjson.loads(BOX.decrypt(sealed))

    def save(self, conversation, found, is_full=False):
        path = self._path(conversation)
        new = path.with_suffix(".new")
        with open(new, "wb") as file:
            file.write(BOX.encrypt(orjson.dumps(found)))
            if is_full:
                file.flush()
                os.fsync(file.fileno())
        os.replace(new, path)
        if is_full:
            folder = os.open(self.folder, os.O_RDONLY)
            os.fsync(folder)
            os.close(folder)

    def take(self, conversation, page, is_full=False):
        """A page as it comes from a server."""
        found = self.load(conversation)
        for message in orjson.loads(page):
            found[message["message_id"]] = message
        self.save(conversation, found, is_full)
        return found


def screen(found):
    """The newest messages, in order."""
    return sorted(found.values(), key=lambda message: message["created_at"])[-peer.SCREEN:]


def ingest(path, data):
    store, watch = Store(path), peer.Stopwatch()
    for conversation in range(data.conversations):
        end = data.length(conversation)
        while end > 0:
            first = max(end - peer.PAGE, 0)
            page = data.page(conversation, first, end)
            with watch:
                store.take(conversation, page)
            end = first
    peer.told("ingest", data.messages, watch)


def cold(path, data):
    peer.drop_cache(path)
    watch = peer.Stopwatch()
    with watch:
        screen(Store(path).load(0))
    peer.told("cold", 1, watch)


def read(path, data):
    store = Store(path)
    for figure, conversations, count in [("first", 1, 1), ("warm", 1, 20), ("spread", 200, 200)]:
        watch = peer.Stopwatch()
        for i in range(count):
            with watch:
                screen(store.load(i % min(conversations, data.conversations)))
        peer.told(figure, count, watch)
    peer.said("memory_kib", peer.memory_kib())


def live(path, data, is_full=False):
    store, watch = Store(path), peer.Stopwatch()
    length = data.length(0) + 10_000 * is_full
    for i in range(LIVE):
        page = data.page(0, length + i, length + i + 1)
        with watch:
            screen(store.take(0, page, is_full))
    peer.told("live_full" if is_full else "live_normal", LIVE, watch)


def deletes(path, data):
    store, watch, length = Store(path), peer.Stopwatch(), data.length(0)
    ids = [orjson.loads(data.json(0, length - 1 - 2 * i))["message_id"]
           for i in range(min(1000, length // 2))]
    with watch:
        found = store.load(0)
        for name in ids:
            del found[name]
        store.save(0, found)
    peer.told("deletes", len(ids), watch)


if __name__ == "__main__":
    peer.main({"ingest": ingest, "cold": cold, "read": read, "live_normal": live,
               "live_full": lambda path, data: live(path, data, True), "deletes": deletes})
