#!/bin/sh
# Telethon 1.45.0 (PyPI). The script answers in the place of Telegram, and calls the client's loop.
#
# Guess: after a gap in a channel the handlers get all that `updates.getChannelDifference` gives:
# new messages, and the edits and deletions among its other updates.
# Guess: where the gap is too long to be filled (`channelDifferenceTooLong`) an event says so, or
# the newest messages, which that answer holds, are handed out.
# Seen: new messages are handed out. Edits and deletions with the numbers (`pts`) that they had are
# not: the number behind the whole answer is set first, so they count as known.
# Seen: of a gap that is too long nothing is handed out, not even the message that came by itself
# and showed the gap, and nothing reports it: the next message looks like the neighbour of the last
# one. A mirror compares message ids, and reads what lies between with `iter_messages`.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install telethon==1.45.0 2>pip.log
cat >try.py <<'PY'
import asyncio
import datetime

from telethon import TelegramClient, events
from telethon.sessions import MemorySession
from telethon.tl import functions, types

AT = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)
PEER = types.PeerChannel(77)
JAN = types.User(id=9, access_hash=6, first_name="jan")
ROOM = types.Channel(id=77, title="harbour", photo=types.ChatPhotoEmpty(), date=AT, access_hash=5,
                     megagroup=True)
WITH = {"users": [JAN], "chats": [ROOM]}


def message(number, text=""):
    return types.Message(id=number, peer_id=PEER, from_id=types.PeerUser(9), date=AT,
                         message=text or f"m{number}")


def pushed(number):
    """What Telegram sends by itself: a message with the number of its change."""
    return types.Updates(updates=[types.UpdateNewChannelMessage(
        message=message(number), pts=number, pts_count=1)], date=AT, seq=0, **WITH)


SHORT = types.updates.ChannelDifference(
    pts=15, new_messages=[message(12), message(15)], final=True, **WITH, other_updates=[
        types.UpdateEditChannelMessage(message=message(10, "m10 edited"), pts=13, pts_count=1),
        types.UpdateDeleteChannelMessages(channel_id=77, messages=[11], pts=14, pts_count=1)])
LONG = types.updates.ChannelDifferenceTooLong(
    final=True, messages=[message(number) for number in (55, 56, 57, 58)], **WITH,
    dialog=types.Dialog(
        peer=PEER, top_message=58, read_inbox_max_id=0, read_outbox_max_id=0, unread_count=50,
        unread_mentions_count=0, unread_reactions_count=0, unread_poll_votes_count=0,
        notify_settings=types.PeerNotifySettings(), pts=58))


class Client(TelegramClient):
    answer, log = None, None

    def is_connected(self):
        return True

    async def __call__(self, request, *rest, **more):
        if not isinstance(request, functions.updates.GetChannelDifferenceRequest):
            raise ValueError(request)
        if request.pts < self.answer_pts:
            self.log.append(f"asks from {request.pts},")
            return self.answer
        return types.updates.ChannelDifferenceEmpty(pts=request.pts, final=True)


async def case(name, answer, pts, *numbers):
    client = Client(MemorySession(), 1, "of no use here")
    client.answer, client.answer_pts, client.log = answer, pts, []
    client._mb_entity_cache.set_self_user(1, False, 1)
    client._mb_entity_cache.extend([JAN], [ROOM])
    client.add_event_handler(
        lambda event: note(client, event.message.message), events.NewMessage())
    client.add_event_handler(
        lambda event: note(client, event.message.message), events.MessageEdited())
    client.add_event_handler(
        lambda event: note(client, f"deleted {event.deleted_ids}"), events.MessageDeleted())
    loop = asyncio.create_task(client._update_loop())
    for number in numbers:
        client._updates_queue.put_nowait(pushed(number))
        await asyncio.sleep(2)
    loop.cancel()
    print(f"{name}:", *client.log)


async def note(client, text):
    client.log.append(text)


async def main():
    await case("no gap", None, 0, 10, 11, 12)
    await case("a gap", SHORT, 15, 10, 11, 15, 16)
    await case("a long gap", LONG, 58, 10, 11, 58, 59)

asyncio.run(main())
PY
timeout 90 venv/bin/python try.py 2>try.log | tee seen
cat >expected <<'EOF'
no gap: m10 m11 m12
a gap: m10 m11 asks from 11, m12 m15 m16
a long gap: m10 m11 asks from 11, m59
EOF
cmp seen expected
