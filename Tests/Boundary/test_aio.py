"""tideline.aio: a client that keeps itself connected, and what it says while it cannot.

Time is the client's clock, which a test moves, and pauses are counted instead of waited for.
"""

import asyncio
import contextlib
import dataclasses
import json
import logging
import os
import tempfile
import threading
import unittest

import tideline
import tideline.aio
from tideline import storage_check

from support import KEY, ROOT, message

DictStorage = storage_check.find(f"{ROOT / 'examples' / 'storage' / 'dict.py'}:DictStorage")


class Full(DictStorage):
    """A disk that is full where a test says so."""

    full = False

    def write(self, name, fence, object, offset, data):
        if self.full:
            raise tideline.NoRoom()
        super().write(name, fence, object, offset, data)


class Server:
    """A server in this process, and the transports to it."""

    def __init__(self, messages=()):
        self.messages = list(messages)
        self.transports = []
        self.refusals = 0
        self.is_silent = False
        #: A verb that is never answered.
        self.unanswered = ""
        self.cut_after = None
        self.requests = []

    async def connect(self):
        if self.refusals:
            self.refusals -= 1
            raise ConnectionRefusedError("nobody listens")
        self.transports.append(Transport(self))
        return self.transports[-1]

    def push(self, text):
        self.messages.append(message(len(self.messages) + 1, payload={"text": text}))
        for transport in self.transports:
            transport.hand({"type": "message_new", "message": self.messages[-1]})

    def answer(self, request):
        if request["type"] == "get_messages":
            chosen = [m for m in self.messages if m["created_at"] > request.get("after_ts", "")]
            end = len(chosen) - request.get("offset", 0)
            return {"messages": chosen[max(0, end - request["limit"]):max(0, end)],
                    "total_count": len(self.messages)}
        return {"message_ids": []} if request["type"] == "get_deleted_since" else {}


class Transport:
    def __init__(self, server):
        self.server, self.frames, self.closed = server, asyncio.Queue(), False

    def hand(self, value):
        self.frames.put_nowait(None if value is None else json.dumps(value).encode())

    async def send(self, frame):
        if self.closed:
            raise ConnectionResetError("lost")
        request = json.loads(frame)
        self.server.requests.append(request)
        if self.server.is_silent or request["type"] == self.server.unanswered:
            return
        if self.server.cut_after is not None:
            self.server.cut_after -= 1
            if self.server.cut_after < 0:
                self.server.cut_after = None
                self.hand(None)
                return
        head = {"type": request["type"], "request_id": request["request_id"]}
        data = self.server.answer(request)
        self.hand({**head, "status": "error", "error": {"code": data[0], "message": data[1]}}
                  if isinstance(data, tuple) else {**head, "status": "ok", "data": data})

    async def receive(self):
        return await self.frames.get()

    async def close(self):
        self.closed = True


def minutes(count):
    """Messages a minute apart."""
    return [message(number, created_at=f"2024-05-01T{number // 60:02}:{number % 60:02}:00")
            for number in range(1, count + 1)]


def entries(messages, request):
    """What a server with a log of these messages answers to `get_entries`."""
    count, limit = len(messages), request["limit"]
    if "after" in request:
        low = int(request["after"][1:])
        high = min(count, low + limit)
    else:
        high = int(request.get("before", f"t{count}")[1:])
        low = max(0, high - limit)
    return {"entries": messages[low:high], "after": f"t{high}", "present": high == count,
            **({"before": f"t{low}"} if low else {})}


class Time:
    """The client's clock, and the pauses between two connections, which take none."""

    def __init__(self):
        self.ms, self.pauses = 0, []

    def backoff(self):
        async def sleep(seconds):
            self.pauses.append(seconds)
            await asyncio.sleep(0)
        return tideline.aio.Backoff(random=lambda: 1.0, sleep=sleep)

    async def until(self, client, holds):
        """Lets a second after the other pass until something holds."""
        for _ in range(2_000):
            if holds():
                return
            self.ms += 1_000
            client.connection.wake()
            # Behind what the turn has to do in the worker thread.
            await client.state()
        raise AssertionError("it never came to hold")


@contextlib.asynccontextmanager
async def opened(server, time, **more):
    async with tideline.aio.open(
            user_id="me", connect=server.connect, backoff=time.backoff(), clock=lambda: time.ms,
            log=lambda *_: None, **more) as client:
        yield client


class Aio(unittest.IsolatedAsyncioTestCase):
    def setUp(self):
        logging.getLogger("tideline").disabled = True
        self.addCleanup(setattr, logging.getLogger("tideline"), "disabled", False)
        self.time = Time()

    async def texts(self, client):
        return [row.id for row in (await client.messages("c")).messages]

    async def test_a_sync_ends_and_a_window_follows(self):
        server = Server([message(1), message(2)])
        async with opened(server, self.time) as client:
            status = await client.sync("c")
            self.assertEqual((status.result, status.inserted), (tideline.Status.OK, 2))
            self.assertTrue(client.is_connected)
            async with client.window("c") as window:
                seen = []
                async for step in window:
                    self.assertEqual(step.row_count, len(window.messages))
                    seen.append([row.id for row in window.messages])
                    if len(server.messages) == 2:
                        server.push("three")
                    if len(window.messages) == 3:
                        break
                self.assertEqual(seen[-1], ["m1", "m2", "m3"])
                self.assertEqual(await window.find("m2"), 1)
                async with window.items() as items:
                    async for _ in items:
                        break
                    self.assertEqual(len(items.current), 3)
            async with client.conversation_list() as places:
                async for _ in places:
                    break
                self.assertEqual([row.id for row in places.conversations], ["c"])

    async def test_changes_come_as_they_are_committed(self):
        server = Server([message(1)])
        async with opened(server, self.time) as client:
            await client.sync("c")
            seen = []
            server.push("two")
            async for change in client.changes(0):
                if change.kind is tideline.ChangeKind.INSERTED:
                    seen += [row.id for row in await client.numbered(
                        "c", change.first, change.last)]
                if len(seen) == 2 and len(server.messages) == 2:
                    server.push("three")
                if len(seen) == 3:
                    break
            self.assertEqual(seen, ["m1", "m2", "m3"])

    async def test_a_feed_without_the_entries_asked_for_says_where_to_go_on(self):
        server = Server()
        async with opened(server, self.time) as client:
            with self.assertRaises(tideline.ResyncError) as caught:
                async for _ in client.changes(1_000):
                    pass
            self.assertEqual(caught.exception.change_seq, (await client.state()).change_seq)

    async def test_calls_leave_the_loop_free(self):
        async with opened(Server(), self.time) as client:
            names = set()
            await client.call(lambda: names.add(threading.current_thread().name))
            self.assertNotIn(threading.current_thread().name, names)
            blocked = threading.Event()
            waits = asyncio.ensure_future(client.call(blocked.wait))
            await asyncio.sleep(0)
            # The loop is here while the worker waits for the "disk".
            blocked.set()
            await waits

    async def test_a_server_that_nobody_reaches_is_tried_again_with_longer_pauses(self):
        server = Server([message(1)])
        server.refusals = 8
        async with opened(server, self.time) as client:
            self.assertEqual((await client.sync("c")).result, tideline.Status.OK)
            self.assertEqual(self.time.pauses[:8], [0.5, 1, 2, 4, 8, 16, 30, 30])
            self.assertIsNone(client.trouble)

    async def test_a_lost_connection_is_made_again_and_what_was_missed_arrives(self):
        server = Server([message(number) for number in range(1, 6)])
        server.cut_after = 0
        async with opened(server, self.time) as client:
            await client.sync("c")
            self.assertEqual(len(server.transports), 2)
            server.transports[-1].hand(None)
            server.messages.append(message(6))
            await self.time.until(client, lambda: len(server.transports) == 3)
            await client.sync("c")
            self.assertEqual(await self.texts(client), [f"m{number}" for number in range(1, 7)])

    async def test_a_send_that_fails_ends_the_connection(self):
        server = Server([message(1)])
        async with opened(server, self.time) as client:
            await client.sync("c")
            await server.transports[-1].close()
            await client.sync("c")
            self.assertEqual(len(server.transports), 2)

    async def test_a_silent_server_is_left(self):
        """The library says after its time-outs that the connection is of no use."""
        server = Server([message(1)])
        server.is_silent = True
        async with opened(server, self.time) as client:
            sync = asyncio.ensure_future(client.sync("c"))
            await self.time.until(client, lambda: len(server.transports) > 1)
            self.assertTrue(server.transports[0].closed)
            server.is_silent = False
            await self.time.until(client, sync.done)
            await client.sync("c")
            self.assertEqual(await self.texts(client), ["m1"])

    async def test_a_frame_for_a_connection_of_no_use_ends_it(self):
        """A push that comes late gets OfflineError, which ended the examples for good."""
        server = Server([message(1)])
        async with opened(server, self.time) as client:
            await client.sync("c")
            true, failures = client.plain.receive, iter([tideline.OfflineError])

            def receive(frame):
                for kind in failures:
                    raise kind(tideline.Status.OFFLINE, "the connection is of no use")
                return true(frame)
            client.plain.receive = receive
            server.push("two")
            await self.time.until(client, lambda: len(server.transports) == 2)
            await client.sync("c")
            self.assertEqual(await self.texts(client), ["m1", "m2"])

    async def test_a_full_disk_is_waited_for(self):
        storage, server = Full(), Server([message(1)])
        async with opened(server, self.time, path="eva", key=KEY, storage=storage,
                          catch_up_all=True) as client:
            await client.sync("c")
            storage.full = True
            server.push("two")
            await self.time.until(client, lambda: len(self.time.pauses) >= 4)
            self.assertIsInstance(client.trouble, (tideline.FullError, tideline.StorageError))
            storage.full = False
            await self.time.until(client, lambda: client.trouble is None)
            await client.sync("c")
            self.assertEqual(await self.texts(client), ["m1", "m2"])

    async def test_bad_frames_are_left_aside(self):
        server = Server([message(1)])
        async with opened(server, self.time) as client:
            await client.sync("c")
            for bad in ("no object", {"type": 5}, ["a"], {"type": "message_new", "message": 7}):
                server.transports[-1].hand(bad)
            server.push("two")
            async for change in client.changes(0):
                if "m2" in await self.texts(client):
                    break
            self.assertEqual(len(server.transports), 1)

    async def test_going_on_is_of_no_use_where_the_storage_was_taken_over(self):
        storage, server = DictStorage(), Server([message(1)])
        with self.assertRaises(tideline.LockedError):
            async with opened(server, self.time, path="eva", key=KEY, storage=storage) as client:
                await client.sync("c")
                storage.acquire("eva")
                server.push("two")
                async for _ in client.changes():
                    pass

    async def test_all_since_a_time_is_fetched_and_no_more(self):
        server = Server(minutes(400))
        async with opened(server, self.time) as client:
            await client.sync("c")
            rows = (await client.messages("c")).messages
            server.requests.clear()
            # What is here reaches further back: nothing older is asked for.
            found = [row.id async for row in client.since("c", rows[10].time_us)]
            self.assertEqual(found, [f"m{number}" for number in range(400, 361, -1)])
            self.assertEqual([one["offset"] for one in server.requests
                              if one["type"] == "get_messages"], [0])
            # In pages, further back than what is here; each once.
            since = rows[0].time_us - 100 * 60_000_000
            found = [row.id async for row in client.since("c", since, page=30)]
            self.assertEqual(found, [f"m{number}" for number in range(400, 251, -1)])
            self.assertEqual(len([row async for row in client.since("c", 0)]), 400)

    async def test_what_waits_to_be_sent_hides_nothing_from_a_reader(self):
        """A message that waits has no time yet: it is not older than what is asked for."""
        server = Server(minutes(400))
        server.unanswered = "send_message"
        async with opened(server, self.time) as client:
            await client.sync("c")
            rows = (await client.messages("c")).messages
            for number in range(3):
                await client.send("c", {"text": "later"}, client_id=f"own-{number}")
            since = rows[0].time_us - 100 * 60_000_000
            found = [row.id async for row in client.since("c", since, page=2)]
            own, others = found[:3], found[3:]
            self.assertEqual(own, ["own-2", "own-1", "own-0"])
            self.assertEqual(others, [f"m{number}" for number in range(400, 251, -1)])
            self.assertEqual(len([row async for row in client.since("c", 0)]), 403)

    async def test_what_lies_behind_a_gap_waits_until_it_is_filled(self):
        """Ranges that a screen has loaded far back are here: rows still come in their order."""
        server = Server(minutes(400))
        async with opened(server, self.time) as client:
            await client.sync("c")
            newest = (await client.messages("c")).messages[-1].time_us
            for back in (300, 180):
                async with client.window(
                        "c", tideline.At.TIME, 20, time_us=newest - back * 60_000_000) as window:
                    async for _ in window:
                        if window.messages:
                            break
            gaps = (await client.messages("c", limit=1_000)).coverage.gaps
            self.assertGreater(len(gaps), 1)
            found = [row.id async for row in client.since("c", 0)]
            self.assertEqual(found, [f"m{number}" for number in range(400, 0, -1)])

    async def test_an_item_that_nobody_can_read_is_no_gap_to_fill(self):
        server = Server(minutes(80))
        server.messages[4]["created_at"] = "yesterday"
        async with opened(server, self.time) as client:
            whole = [f"m{number}" for number in range(80, 0, -1) if number != 5]
            # Asking for it finds out that it is there, and cannot be read.
            self.assertEqual(await self.collected(client.since("c", 0)), whole)
            true, kinds = client.sync, []
            client.sync = lambda where, kind=tideline.SyncKind.LATEST, **more: (
                kinds.append(kind), true(where, kind, **more))[1]
            self.assertEqual(await self.collected(client.since("c", 0)), whole)
            self.assertEqual(kinds, [tideline.SyncKind.LATEST])

    async def test_what_fails_for_now_is_asked_again(self):
        """And a page is what is read and asked for at a time."""
        server = Server(minutes(120))
        async with opened(server, self.time) as client:
            true, failures, asked = client.sync, [tideline.Status.OFFLINE] * 3, []

            async def sync(conversation, kind=tideline.SyncKind.LATEST, **more):
                if kind is not tideline.SyncKind.OLDER:
                    return await true(conversation)
                asked.append(more)
                if failures:
                    return dataclasses.replace(status, result=failures.pop())
                return await true(conversation, kind, **more)
            status = await client.sync("c")
            client.sync = sync
            read, limits = client.messages, []
            client.messages = lambda *where, **more: (
                limits.append(more["limit"]), read(*where, **more))[1]
            found = [row.id async for row in client.since("c", 0, page=40)]
            self.assertEqual(found, [f"m{number}" for number in range(120, 0, -1)])
            self.assertEqual(asked[:4], [{"want": 40}] * 4)
            self.assertEqual(set(limits), {40})

    async def test_what_the_server_refuses_ends_the_search(self):
        server = Server([message(number) for number in range(1, 3)])
        true = server.answer
        async with opened(server, self.time) as client:
            server.answer = lambda request: (
                ("forbidden", "no") if request["type"] == "get_messages" else true(request))
            searched = asyncio.ensure_future(self.collected(client.since("c", 0)))
            await self.time.until(client, searched.done)
            self.assertEqual(searched.result(), [])

    async def test_a_page_of_one_printed_time_is_not_taken_as_refused(self):
        """The gap before it has the times of the gap that it filled in part."""
        server = Server([message(number, created_at="2024-05-01T10:00:00" if number > 100 else
                                 f"2024-05-01T09:00:{number // 2:02}")
                         for number in range(1, 221)])
        server.answer = lambda request: entries(server.messages, request)
        log = tideline.Profile(
            page_limit=20, capabilities=tideline.Capabilities.LOG
            | tideline.Capabilities.LOG_REFUSES)
        async with opened(server, self.time, profile=log) as client:
            self.assertEqual(await self.collected(client.since("c", 0, page=50)),
                             [f"m{number}" for number in range(220, 0, -1)])

    async def test_gaps_that_arrive_meanwhile_hide_nothing(self):
        """Newer gaps are filled first, also where that brings only known messages."""
        server = Server([message(number, created_at=f"2024-05-01T09:{number // 60:02}:"
                                 f"{number % 60:02}", seq=number) for number in range(1, 301)])
        whole = [f"m{number}" for number in range(300, 0, -1)]
        counted = tideline.Profile(capabilities=tideline.Capabilities.SEQUENCE)
        found = []
        async with opened(server, self.time, profile=counted) as client:
            async for row in client.since("c", 0, page=50):
                found.append(row.id)
                if len(found) % 50 not in (10, 40):
                    continue
                # One push is lost, and sixty arrive.
                for lost in [True] + [False] * 60:
                    number = len(server.messages) + 1
                    server.messages.append(message(
                        number, created_at=f"2024-05-01T10:{number // 60:02}:{number % 60:02}",
                        seq=number))
                    if not lost:
                        server.transports[-1].hand(
                            {"type": "message_new", "message": server.messages[-1]})
                await self.time.until(client, lambda: server.transports[-1].frames.empty())
        self.assertEqual([id for id in found if id in whole], whole)

    async def test_a_reader_whose_row_goes_away_goes_on(self):
        whole = [f"m{number}" for number in range(200, 0, -1)]

        async def forget_the_last(client):
            await client.drop("c", found[-1])

        async def forget_some(client):
            for id in found[-5:]:
                await client.drop("c", id)

        async def forget_all(client):
            await client.drop("c")
        for lose in (forget_the_last, forget_some, forget_all):
            with self.subTest(lose.__name__):
                server, found = Server(minutes(200)), []
                async with opened(server, self.time) as client:
                    async for row in client.since("c", 0, page=20):
                        found.append(row.id)
                        if len(found) % 10 == 0:
                            await lose(client)
                self.assertEqual(found, whole)

    async def test_a_message_that_still_waits_is_not_passed_by_one_that_was_sent(self):
        server = Server(minutes(3))
        server.unanswered = "send_message"
        async with opened(server, self.time) as client:
            await client.sync("c")
            for number in range(2):
                await client.send("c", {"text": "later"}, client_id=f"own-{number}")
            found = []
            async for row in client.since("c", 0, page=1):
                found.append(row.id)
                if len(found) == 1:
                    server.transports[-1].hand({"type": "message_new", "message": message(
                        4, created_at="2024-05-01T11:00:00", sender_id="me", client_id="own-1")})
                    seen = client.turns
                    while (await client.messages("c")).messages[-2].id != "m4":
                        await client.news(seen)
                        seen = client.turns
            self.assertEqual(found, ["own-1", "own-0", "m3", "m2", "m1"])

    async def test_a_gap_that_only_brings_what_is_known_is_given_up(self):
        server = Server(minutes(120))
        async with opened(server, self.time) as client:
            status, asked = await client.sync("c"), []

            async def sync(conversation, kind=tideline.SyncKind.LATEST, **more):
                asked.append(kind)
                return dataclasses.replace(status, received=50, inserted=0)
            client.sync = sync
            self.assertEqual(len(await self.collected(client.since("c", 0))), 50)
            # The second of both gaps is asked for once.
            self.assertEqual(asked.count(tideline.SyncKind.OLDER), 64 + 1)

    async def test_a_first_sync_that_fails_for_now_is_asked_again(self):
        server = Server(minutes(20))
        async with opened(server, self.time) as client:
            await client.sync("c")
            server.messages = minutes(30)
            true, results = client.sync, [tideline.Status.UNAVAILABLE, tideline.Status.TIMEOUT]

            async def sync(*asked, **more):
                if results:
                    return tideline.SyncStatus(
                        tideline.SyncPhase.ENDED, results.pop(), 0, 0, 0, 0)
                return await true(*asked, **more)
            client.sync = sync
            self.assertEqual(len(await self.collected(client.since("c", 0))), 30)

    async def collected(self, iterator):
        return [row.id async for row in iterator]

    async def test_each_connection_is_told(self):
        server = Server([message(1)])
        async with opened(server, self.time) as client:
            seen = []
            async for number in client.connections():
                seen.append(number)
                if number == 3:
                    break
                server.transports[-1].hand(None)
            self.assertEqual(seen, [1, 2, 3])

    async def test_connections_that_nobody_looked_at_are_told_as_one(self):
        server = Server([message(1)])
        async with opened(server, self.time) as client:
            await client.sync("c")
            numbers = client.connections()
            # It was made before anybody asked.
            self.assertEqual(await anext(numbers), 1)
            for made in (2, 3):
                server.transports[-1].hand(None)
                await self.time.until(client, lambda: client.connection.made == made)
            self.assertEqual(await anext(numbers), 3)

    async def test_a_cancelled_sync_is_dropped(self):
        server = Server()
        server.is_silent = True
        async with opened(server, self.time) as client:
            sync = asyncio.ensure_future(client.sync("c"))
            await self.time.until(client, lambda: server.requests)
            self.assertEqual((await client.state()).syncs_left, 1)
            sync.cancel()
            await asyncio.wait({sync})
            self.assertEqual((await client.state()).syncs_left, 0)

    async def test_what_arrives_while_a_frame_goes_out_is_told(self):
        server, stalls, go_on = Server([message(1)]), asyncio.Event(), asyncio.Event()
        async with opened(server, self.time) as client:
            await client.sync("c")

            async def send(frame):
                stalls.set()
                await go_on.wait()
            server.transports[0].send = send
            await client.send("c", {"text": "long"})
            await stalls.wait()
            true, waits, found = client.news, asyncio.Event(), []

            async def news(seen):
                waits.set()
                await true(seen)
            client.news = news

            async def follow():
                async for change in client.changes():
                    found.append((change.kind, change.origin))
            follows = asyncio.ensure_future(follow())
            await waits.wait()
            server.push("two")
            try:
                await self.time.until(client, lambda: (
                    tideline.ChangeKind.INSERTED, tideline.Origin.PUSHED) in found)
            finally:
                follows.cancel()
                go_on.set()

    async def test_a_dial_that_hangs_is_given_up_for_another_network(self):
        server, dials = Server(), []
        true = server.connect

        async def connect():
            dials.append(asyncio.current_task())
            if len(dials) == 1:
                await asyncio.Event().wait()
            return await true()
        server.connect = connect
        async with opened(server, self.time) as client:
            await self.time.until(client, lambda: dials)
            client.reconnect()
            await self.time.until(client, lambda: client.is_connected)
            self.assertTrue(dials[0].cancelled())
            self.assertEqual((len(dials), self.time.pauses), (2, []))

    async def test_a_transport_of_the_former_network_is_closed(self):
        server = Server()
        true = server.connect

        async def connect():
            made = await true()
            if len(server.transports) == 1:
                # In the same turn of the loop in which the dial ends.
                client.reconnect()
            return made
        server.connect = connect
        async with opened(server, self.time) as client:
            await self.time.until(client, lambda: client.is_connected)
            self.assertEqual([one.closed for one in server.transports], [True, False])

    async def test_a_sync_that_is_cancelled_as_it_begins_is_dropped(self):
        async with opened(Server(), self.time) as client:
            true, loop = client.plain.sync, asyncio.get_running_loop()
            begun, go_on = asyncio.Event(), threading.Event()

            def sync(*asked):
                number = true(*asked)
                loop.call_soon_threadsafe(begun.set)
                go_on.wait()
                return number
            client.plain.sync = sync
            task = asyncio.ensure_future(client.sync("c"))
            await begun.wait()
            task.cancel()
            go_on.set()
            await asyncio.wait({task})
            self.assertTrue(task.cancelled())
            self.assertEqual((await client.state()).syncs_left, 0)

    async def test_a_sync_that_is_cancelled_after_its_client_was_closed(self):
        server = Server()
        server.is_silent = True
        async with opened(server, self.time) as client:
            waits = asyncio.Event()

            async def news(seen):
                waits.set()
                await asyncio.Event().wait()
            client.news = news
            task = asyncio.ensure_future(client.sync("c"))
            await waits.wait()
        task.cancel()
        await asyncio.wait({task})
        self.assertTrue(task.cancelled())

    async def test_a_file_is_free_once_leaving_was_cancelled(self):
        server, leaves, go_on = Server(), asyncio.Event(), asyncio.Event()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = os.path.join(folder.name, "eva")

        async def close():
            leaves.set()
            await go_on.wait()

        async def program():
            async with opened(server, self.time, path=path, key=KEY) as client:
                await client.sync("c")
                server.transports[0].close = close
        task = asyncio.ensure_future(program())
        await leaves.wait()
        task.cancel()
        await asyncio.sleep(0)
        go_on.set()
        await asyncio.wait({task})
        self.assertTrue(task.cancelled())
        tideline.Client(path, KEY, user_id="me").close()

    def test_what_a_plain_object_does_is_awaited(self):
        """All but what connection, iterators and `async with` do; long work is by `call`."""
        turn = {"connected", "disconnected", "connection_dead", "receive", "next_frame", "frames",
                "frame_sent", "advance", "fileno", "sync_status", "cancel"}
        work = {"backup", "check", "export", "import_messages", "import_bad", "imported", "purge",
                "rekey", "search_build", "search_check", "search_switch", "unsearched"}
        for awaited, plain, others in (
                (tideline.aio.Client, tideline.Client, turn | work),
                (tideline.aio.Window, tideline.Window, {"rows"}),
                (tideline.aio.ConversationList, tideline.ConversationList, {"rows"}),
                (tideline.aio.Items, tideline.Items,
                 {"bits", "find_key", "page", "range", "update"})):
            names = {name for name in dir(plain) if not name.startswith("_")}
            self.assertEqual(names - set(dir(awaited)), others | {"close"}, awaited)

    async def test_an_iterator_ends_with_its_client(self):
        async with opened(Server(), self.time) as client:
            changes = client.changes(0)
            async with client.window("c") as window:
                pass
        with self.assertRaises(tideline.ClosedError):
            await changes.__anext__()
        with self.assertRaises(tideline.ClosedError):
            await window.poll()


class Streams(unittest.IsolatedAsyncioTestCase):
    """Over real sockets of this machine."""

    async def served(self, first):
        """A server that answers the greeting by `first`, and then every request."""
        async def serve(reader, writer):
            await reader.readline()
            if first is not None:
                writer.write(first)
            server = Server([message(1)])
            while line := await reader.readline():
                request = json.loads(line)
                writer.write(json.dumps({
                    "type": request["type"], "request_id": request["request_id"], "status": "ok",
                    "data": server.answer(request)}).encode() + b"\n")
            writer.close()
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        self.addAsyncCleanup(self.close, server)
        return server.sockets[0].getsockname()[1]

    async def close(self, server):
        server.close()

    async def test_a_stream(self):
        port = await self.served(b'{"type":"hello","status":"ok"}\n')
        connect = tideline.aio.stream("127.0.0.1", port, hello={"type": "hello", "user": "me"})
        async with tideline.aio.open(user_id="me", connect=connect) as client:
            self.assertEqual((await client.sync("c")).inserted, 1)

    async def test_greetings_that_are_refused(self):
        for first in (b'{"status":"error"}\n', b"no JSON\n", b"cut off"):
            port = await self.served(first)
            if first == b"cut off":
                continue
            with self.subTest(first), self.assertRaises(ConnectionError):
                await tideline.aio.stream("127.0.0.1", port, hello={})()

    async def test_a_server_that_does_not_greet(self):
        port = await self.served(None)
        with self.assertRaises(asyncio.TimeoutError):
            await tideline.aio.stream("127.0.0.1", port, hello={}, timeout_s=0.01)()


class Backoffs(unittest.TestCase):
    def test_pauses_are_drawn_and_bounded(self):
        for drawn, share in ((0.0, 0.5), (1.0, 1.0)):
            backoff = tideline.aio.Backoff(1, 10, random=lambda drawn=drawn: drawn)
            self.assertEqual([backoff.next_s() for _ in range(6)],
                             [share * pause for pause in (1, 2, 4, 8, 10, 10)])
            backoff.failures = 100_000
            self.assertEqual(backoff.next_s(), share * 10)
            backoff.reset()
            self.assertEqual(backoff.next_s(), share)
