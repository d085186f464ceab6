"""How long the longest call takes while a million messages are purged, and how large the file is.

    python3 Benchmarks/retention.py [--messages 1000000] [--conversations 100]

The file is filled by an import, so it times that as well. Each slice is one call: by the work of a
purge, and then, of another file, by `advance`, between which a screen reads and a message arrives.
Times are those of the wall; run it on a machine that has nothing else to do.
"""

import argparse
import json
import os
import pathlib
import tempfile
import time

import tideline


class Source:
    """Messages as JSON lines, made as they are read."""

    def __init__(self, count, conversations, size):
        self.count, self.conversations, self.body = count, conversations, "x" * size
        self.length = len(self.line(0))

    def line(self, number):
        second = 1_700_000_000 + number * 30
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))
        return json.dumps({
            "message_id": f"m{number:08}", "sender_id": "you", "created_at": stamp,
            "conversation_id": f"c{number % self.conversations:05}",
            "payload": {"text": self.body}}).encode() + b"\n"

    def seek(self, offset, whence=0):
        self.offset = self.count * self.length if whence else offset
        return self.offset

    def read(self, size):
        first, skipped = divmod(self.offset, self.length)
        last = min(self.count, first + size // self.length + 2)
        return b"".join(map(self.line, range(first, last)))[skipped:skipped + size]


class Calls:
    """Times of calls, in milliseconds."""

    def __init__(self):
        self.times = []

    def __call__(self, function, *arguments):
        began = time.perf_counter()
        result = function(*arguments)
        self.times.append((time.perf_counter() - began) * 1_000)
        return result

    def __str__(self):
        times = sorted(self.times)
        return (f"{len(times)} calls, median {times[len(times) // 2]:.1f} ms, 99th of a hundred "
                f"{times[len(times) * 99 // 100]:.1f} ms, longest {times[-1]:.1f} ms")


def fill(client, source):
    began, calls = time.perf_counter(), Calls()
    work = client.import_messages(source, "bench")
    while not calls(work.step).is_done:
        pass
    took = time.perf_counter() - began
    print(f"import: {source.count / took:,.0f} messages a second, {calls}")


def size(path):
    return sum(file.stat().st_size for file in path.parent.glob(path.name + "*"))


def by_work(client):
    calls = Calls()
    work = client.purge()
    while not calls(work.step).is_done:
        pass
    print(f"purge by work: {calls}")


def by_advance(client):
    calls, others, number = Calls(), Calls(), 0
    while True:
        wait = calls(client.advance)
        number += 1
        if number % 16 == 0:
            others(client.messages, "c00001", tideline.From.LATEST)
            others(client.receive, json.dumps({
                "type": "message_new", "conversation_id": "c00001", "message": {
                    "message_id": f"n{number:08}", "sender_id": "you", "payload": {"text": "new"},
                    "created_at": time.strftime(
                        "%Y-%m-%dT%H:%M:%S", time.gmtime(1_800_000_000 + number))}}))
        room = client.room()
        if wait is None or room.counted and room.messages <= client.goal and not room.free_bytes:
            break
    print(f"purge by advance: {calls}")
    print(f"  reads and pushes in between: {others}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--conversations", type=int, default=100)
    parser.add_argument("--bytes", type=int, default=300)
    told = parser.parse_args()
    key = os.urandom(tideline.KEY_BYTES)
    for purge in (by_work, by_advance):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "bench.tideline")
            source = Source(told.messages, told.conversations, told.bytes)
            with tideline.Client(path, key, user_id="me") as client:
                fill(client, source)
            before = size(path)
            with tideline.Client(path, key, user_id="me") as client:
                client.goal = told.messages // 10
                client.retain(tideline.Budget(messages=client.goal))
                purge(client)
                room = client.room()
                print(f"  {room.messages:,} of {told.messages:,} are left, over: {room.over}")
            after = size(path)
            print(f"  the file: {before:,} to {after:,} bytes, {after / before:.1%}")


if __name__ == "__main__":
    main()
