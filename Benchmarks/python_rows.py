#!/usr/bin/env python3
"""What `tideline.Rows.poll` and `tideline.Items.update` take beside `Window.poll`.

One message comes to a window of so many rows, again and again.

    python_rows.py [ROWS]

TIDELINE_LIBRARY and PYTHONPATH as for the tests: `make bench-rows` sets them.
"""

import datetime
import json
import statistics
import sys
import time

import tideline

ROUNDS = 60
START = datetime.datetime(2024, 5, 1)


def push(client, number):
    stamp = (START + datetime.timedelta(seconds=number)).isoformat()
    client.receive(json.dumps({"type": "message_new", "message": {
        "message_id": f"m{number}", "conversation_id": "c", "sender_id": "you",
        "created_at": stamp, "payload": {"text": f"text {number}"}}}))


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    medians = {}
    with tideline.Client(user_id="me") as client:
        client.connected()
        for number in range(count):
            push(client, number)
        for name in ("Window.poll", "Rows.poll", "Items.update"):
            window = client.window("c", count=1_000, rows_max=200_000)
            work = {"Window.poll": window.poll, "Rows.poll": tideline.Rows(window).poll,
                    "Items.update": tideline.Items(window).update}[name]
            work()
            while window.state().row_count < count and window.before(1_000, past_gaps=True):
                work()
            taken = []
            for _ in range(ROUNDS):
                push(client, count)
                count += 1
                begin = time.perf_counter_ns()
                work()
                taken.append((time.perf_counter_ns() - begin) / 1_000)
            window.close()
            medians[name] = statistics.median(taken)
    for name, median in medians.items():
        print(f"{name:13} {median:8.0f} µs  {median / medians['Window.poll']:5.1f} ×")


if __name__ == "__main__":
    main()
