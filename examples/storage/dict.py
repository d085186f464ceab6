"""A storage in a dict, in a hundred lines: a client on it is opened twice.

With a path it is written there whole at each sync, so that it outlives the process.
"""

import os
import pickle
import sys
import threading

import tideline


class DictStorage(tideline.Storage):
    """Objects are byte arrays by (name, object); one lock makes each call one step."""

    buffers = True

    def __init__(self, path=None):
        self.path, self.lock = path, threading.Lock()
        self.objects = {}               # What a holder reads.
        self.durable = {}               # What outlives a crash.
        self.fences = {}                # The newest number of each name, always durable.
        if path and os.path.exists(path):
            with open(path, "rb") as file:
                self.durable, self.fences = pickle.load(file)
            self.crash()

    def _held(self, name, fence):
        """Refuses every number but the newest. Called with the lock held."""
        if self.fences.get(name) != fence:
            raise tideline.LeaseLost(name)

    def _save(self):
        if self.path:
            with open(self.path + ".new", "wb") as file:
                pickle.dump((self.durable, self.fences), file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(self.path + ".new", self.path)
            folder = os.open(os.path.dirname(os.path.abspath(self.path)), os.O_RDONLY)
            os.fsync(folder)
            os.close(folder)

    def acquire(self, name):
        with self.lock:
            self.fences[name] = self.fences.get(name, 0) + 1
            self._save()
            return self.fences[name]

    def release(self, name, fence):
        pass                            # Whoever acquires next has a greater number.

    def read(self, name, fence, object, offset, size):
        with self.lock:
            self._held(name, fence)
            return bytes(self.objects.get((name, object), b"")[offset:offset + size])

    def write(self, name, fence, object, offset, data):
        with self.lock:
            self._held(name, fence)
            known = self.objects.setdefault((name, object), bytearray())
            known.extend(bytes(max(0, offset - len(known))))
            known[offset:offset + len(data)] = data

    def truncate(self, name, fence, object, size):
        with self.lock:
            self._held(name, fence)
            known = self.objects.setdefault((name, object), bytearray())
            del known[size:]
            known.extend(bytes(size - len(known)))

    def size(self, name, fence, object):
        with self.lock:
            self._held(name, fence)
            return len(self.objects.get((name, object), b""))

    def sync(self, name, fence, object):
        with self.lock:
            self._held(name, fence)
            self.durable[name, object] = bytes(self.objects.get((name, object), b""))
            self._save()

    def remove(self, name, fence, object):
        with self.lock:
            self._held(name, fence)
            self.objects.pop((name, object), None)

    def crash(self):
        """What the death of the process leaves."""
        with self.lock:
            self.objects = {key: bytearray(data) for key, data in self.durable.items() if data}


if __name__ == "__main__":
    storage, key = DictStorage(*sys.argv[1:2]), bytes(range(32))
    for turn in range(2):
        with tideline.Client("eva", key, user_id="eva", storage=storage) as client:
            client.send("general", {"text": f"ahoj {turn + 1}"})
            print("kept:", [row.json["text"] for row in client.messages("general").messages])
