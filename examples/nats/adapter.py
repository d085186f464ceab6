"""An adapter: frames of Tideline on one side, streams of NATS JetStream on the other.

A room is a stream, and a stream is a log. What is said and each change is a message of its own,
under `room.NAME.CHANGE.USER`: the server lets a user publish under that user's name alone. An id is
`NUMBER-NANOSECONDS-USER` of the stream's message, and a token is an id: `<id` stands before that
entry, `>id` behind it, `>` at the start. So an id tells where its entry is and proves that it is
that one, also after a restore has given the number again. A connection is one object, used by one
thread.
"""
import asyncio
import json
import re
from contextlib import suppress
from urllib.parse import quote

import nats
from carrier import Carrier, Unsupported, stamp
from nats.errors import ConnectionClosedError, MaxPayloadError
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy
from nats.js.errors import APIError, NoStreamResponseError, NotFoundError

MARKS = {"mark_read": "read", "mark_delivered": "delivered", "mark_listened": "listened"}
CHANGES = MARKS | {"edit_message": "edit", "delete_message": "delete", "pin_message": "pin",
                   "unpin_message": "unpin", "react_message": "react", "unreact_message": "unreact"}
NEWS = 500
NOT_SAID = {"type", "request_id", "conversation_id", "message_id", "message_ids"}


def number(key):
    made = int(key.partition("-")[0])
    if not 0 < made < 1 << 63:
        raise ValueError(key)
    return made


def author(key):
    return key.split("-", 2)[2]


def name_of(entry):
    return entry.get("message_id") or entry["entry_id"]


def entry(subject, count, ns, data):
    """A message of a stream as an entry of its log."""
    change, user = subject.split(".")[2:4]
    key, said = f"{count}-{ns}-{user}", {}
    with suppress(ValueError):
        said = json.loads(data)
    if not isinstance(said, dict):
        said = {}
    told = {"sender_id": user, "created_at": stamp(ns // 1_000)}
    if change == "say" and "payload" in said:
        return {**{name: said[name] for name in said if name != "change"}, **told,
                "message_id": key}
    # A deletion of another's message is none: its target, which is an id, says whose that is.
    if change not in CHANGES.values() or change == "delete" and not str(
            said.get("target_id")).endswith(f"-{user}"):
        change = "none"
    return {**said, **told, "entry_id": key, "change": change}


class Adapter(Carrier):
    def __init__(self, url, user, password):
        super().__init__()
        self.user, self.loop, self.bell = user, asyncio.new_event_loop(), asyncio.Event()
        self.rung, self.last, self.by_token, self.work = set(), {}, False, None
        self.ended, self.inbox = self.loop.create_future(), f"_INBOX.{user}".encode()
        try:
            self.link = self.loop.run_until_complete(nats.connect(
                url, user=user, password=password, inbox_prefix=self.inbox,
                allow_reconnect=False, closed_cb=self.close_heard, error_cb=self.error_heard))
        except nats.errors.Error as error:
            self.loop.close()
            raise ConnectionError("the server is away") from error
        self.jet = self.link.jetstream(timeout=30)

    def close(self):
        if not self.loop.is_closed():
            self.loop.run_until_complete(self.link.close())
            for task in asyncio.all_tasks(self.loop):  # nats-py leaves some behind.
                task.cancel()
            self.loop.run_until_complete(asyncio.sleep(0))
            self.loop.close()

    async def close_heard(self):
        if not self.ended.done():
            self.ended.set_result(None)

    async def error_heard(self, error):
        """What a user has no right to is told beside the request, which is never answered."""
        if "permissions violation" in str(error).lower() and self.work is not None:
            self.work.cancel()

    def wait(self, work):
        self.work = self.loop.create_task(work)
        self.loop.run_until_complete(asyncio.wait(
            {self.work, self.ended}, return_when=asyncio.FIRST_COMPLETED))
        if not self.work.done():
            self.work.cancel()
            raise ConnectionError("the connection has ended")
        try:
            return self.work.result()
        except asyncio.CancelledError as error:
            raise PermissionError("the user may not") from error
        except (ConnectionClosedError, TimeoutError) as error:
            raise ConnectionError("no answer has come") from error

    # What comes unasked

    def listen(self, timeout_s):
        self.wait(self.ring(timeout_s))
        for name in list(self.rung):
            self.wait(self.news(name))

    async def ring(self, seconds):
        with suppress(TimeoutError):
            await asyncio.wait_for(self.bell.wait(), seconds)
        self.bell.clear()

    async def enter(self, name):
        """From now on a room's subjects ring the bell. What it has last is where news begin."""
        if not re.fullmatch("[A-Za-z0-9_-]+", name):
            raise LookupError(name)
        if name in self.last:
            return
        await self.jet.stream_info(name)

        async def rung(_):
            self.rung.add(name)
            self.bell.set()

        await self.link.subscribe(f"room.{name}.*.*", cb=rung)
        found, *_ = await self.below(name, None, 1)
        self.last[name] = name_of(found[-1]) if found else None

    async def news(self, name):
        """Pushes what came since. Where the entry before is gone none is named."""
        self.rung.discard(name)
        rest = 1
        while rest:
            last = self.last[name]
            found, rest = await self.read(name, number(last) if last else 1, NEWS + 1)
            if last and found and name_of(found[0]) == last:
                found, prev = found[1:], {"prev": last}
            elif last:
                (found, rest, _), prev = await self.below(name, None, NEWS), {}
            else:
                prev = {"before": ">"}
            if not found:
                return
            self.put({"type": "entries_new", "conversation_id": name, "entries": found, **prev})
            self.last[name] = name_of(found[-1])

    # What is asked

    async def read(self, name, first, most=None):
        """The entries from a number on, and how many more there are."""
        made = await self.jet.add_consumer(name, ConsumerConfig(
            deliver_policy=DeliverPolicy.BY_START_SEQUENCE, opt_start_seq=max(1, first),
            ack_policy=AckPolicy.NONE, inactive_threshold=60))
        count = made.num_pending if most is None else min(most, made.num_pending)
        found = []
        if count:
            pull = await self.jet.pull_subscribe_bind(
                consumer=made.name, stream=name, inbox_prefix=self.inbox + b".")
            while len(found) < count:
                for each in await pull.fetch(count - len(found), timeout=30):
                    # A `datetime` of nats-py is a rounded float, so the time is taken from here.
                    at = each.reply.split(".")
                    found.append(entry(each.subject, int(at[-4]), int(at[-2]), each.data))
            await pull.unsubscribe()
        await self.jet.delete_consumer(name, made.name)
        return found, made.num_pending - count

    async def below(self, name, key, most):
        """The entries up to one, or up to the newest: more than so many, or all that there are. How
        many more came, and whether these are all. Where numbers lack it reads further down."""
        state, span = (await self.jet.stream_info(name)).state, most
        last = number(key) if key else state.last_seq
        while True:
            first = max(state.first_seq, last - span, 1)
            found, rest = await self.read(name, first, last - first + 1 if key else None)
            if key:
                end = [name_of(each) for each in found].index(key) + 1
                found, rest = found[:end], rest + len(found) - end
            is_all = first <= max(1, state.first_seq)
            if is_all or len(found) > most:
                return found, rest, is_all
            span *= 4

    async def entries(self, name, want):
        most, token, starts, rest = want["limit"], want.get("before", want.get("after")), False, 1
        key = want.get("around_id") or (token or "")[1:]
        if token not in (None, ">") and not re.match("[<>].", token):
            raise LookupError(token)
        if "around_id" in want:
            found, rest, starts = await self.below(name, key, most // 2)
            starts, found = starts and len(found) <= most // 2 + 1, found[-(most // 2 + 1):]
            if len(found) < most:
                over, rest = await self.read(name, number(key) + 1, most - len(found))
                found += over
        elif "after" in want:
            is_behind = token > ">"
            found, rest = await self.read(name, number(key) if key else 1, most + is_behind)
            if key and not (found and name_of(found[0]) == key):
                raise LookupError("the entry is gone")
            found, starts = found[is_behind:], not key or not is_behind and (
                await self.jet.stream_info(name)).state.first_seq == number(key)
        else:
            is_before = (token or "").startswith("<")
            if token == ">":
                found, starts = [], True
            else:
                found, rest, starts = await self.below(name, key, most + is_before)
                found = found[:-1] if is_before else found
            starts, found = starts and len(found) <= most, found[-most:]
        made = {"entries": found, "present": rest == 0 and "before" not in want,
                "after": f">{name_of(found[-1])}" if found else token or ">"}
        return made if starts else {**made, "before": f"<{name_of(found[0])}" if found else token}

    async def known(self, name, key):
        """An entry by its id."""
        found, _ = await self.read(name, number(key), 1)
        if not found or name_of(found[0]) != key:
            raise LookupError(key)
        return found[0]

    async def say(self, name, change, said, key=None):
        """Puts an entry, and gives it as the stream has it. The server knows a key again."""
        data, once = json.dumps(said).encode(), f"{self.user}/{quote(key or '', safe='')}"
        # With its headers a message may not be longer, or the server ends the connection.
        if len(data) + len(name) + len(once) + 128 > self.link.max_payload:
            raise MaxPayloadError
        made = await self.jet.publish(f"room.{name}.{change}.{self.user}", data, stream=name,
                                      headers={"Nats-Msg-Id": once} if key else None)
        found, _ = await self.read(name, made.seq, 1)
        if not found or number(name_of(found[0])) != made.seq or key and (
                self.user, key) != (found[0]["sender_id"], found[0].get("client_id")):
            raise FileExistsError("it was said, and is purged")
        return found[0]

    async def mark(self, name, change):
        """The message up to which this user's mark of a kind stands."""
        with suppress(NotFoundError):
            made = await self.jet.get_last_msg(name, f"room.{name}.{change}.{self.user}")
            return json.loads(made.data)["target_id"]

    async def rooms(self):
        found = []
        while more := await self.jet.streams_info(offset=len(found)):
            found += more
        return [each.config for each in found if each.config.subjects[0].startswith("room.")]

    def do(self, verb, want, name):
        return self.wait(self.act(verb, want, name))

    def error(self, error):
        if isinstance(error, (LookupError, ValueError, NotFoundError, NoStreamResponseError)):
            return {"code": "unknown_cursor" if self.by_token else "not_found"}
        return {"code": "forbidden" if isinstance(error, PermissionError) else
                "too_large" if isinstance(error, MaxPayloadError) else
                "conflict" if isinstance(error, FileExistsError) else "unavailable"}

    async def act(self, verb, want, name):
        self.by_token = False
        if verb == "get_conversations":
            return self.listed(want, {
                each.name: {"title": each.description or each.name,
                            "last_read_message_id": await self.mark(each.name, "read")}
                for each in await self.rooms()})
        if verb not in {"get_entries", "subscribe", "send_message", *CHANGES}:
            raise Unsupported(verb)
        await self.enter(name)
        if verb == "subscribe":
            return {}
        if verb == "get_entries":
            self.by_token = not {"before", "after"}.isdisjoint(want)
            return await self.entries(name, want)
        said = {each: want[each] for each in want if each not in NOT_SAID}
        if verb == "send_message":
            return {"message": await self.say(name, "say", said, want["client_id"])}
        target = max(want.get("message_ids") or [want["message_id"]], key=number)
        await self.known(name, target)
        if verb in ("edit_message", "delete_message") and author(target) != self.user:
            raise PermissionError(target)
        if verb in MARKS:
            before = await self.mark(name, MARKS[verb])
            if before and number(before) >= number(target):
                return {}
        made = await self.say(name, CHANGES[verb], {**said, "target_id": target})
        return {"entry_id": made["entry_id"]}
