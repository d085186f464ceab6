"""Calls that give each status of each function: what docs/reference/statuses.md is made of.

A case is a function, a status, the words that the page has for the call, and a way to set a world
up that gives the arguments. A fault of the disk may be planted for the call. `UNREACHED` has what
cannot be had from outside, with the reason.
"""

import collections
import json

import tideline
from tideline import _library as c

from support import take
from status_world import FIRST, LONG, MARK, ROOM, ROWS, message, push, server

Case = collections.namedtuple("Case", "function status words setup fault")
CASES = []
UNREACHED = {
    ("tl_client_connected", "TL_E_STORAGE"): "it changes what is in memory; the file is written by "
                                             "the calls that follow",
    ("tl_client_disconnected", "TL_E_STORAGE"): "as `tl_client_connected`",
    ("tl_client_advance", "TL_E_STORAGE"): "as `tl_client_connected`",
    ("tl_client_send", "TL_E_UNSUPPORTED"): "`send_message` is performed by every version",
    ("tl_operation_progress", "TL_E_FULL"): "it writes nothing",
    ("tl_window_fill", "TL_E_STORAGE"): "it notes what the next poll asks for",
    ("tl_items_show", "TL_E_STORAGE"): "what its request needs to know is in memory by then",
    ("tl_client_reacquire", "TL_E_TOO_NEW"): "another process of a later version has written the "
                                             "file since",
    ("tl_file_watch", "TL_E_STORAGE"): "the system has no descriptor left",
    ("tl_client_event_fd", "TL_E_STORAGE"): "as `tl_file_watch`",
}
FRAME, DIFF, TEXT = c.POINTER(c.Frame), c.POINTER(c.Diff), c.POINTER(c.Text)
NOBODY, NEVER = f"{MARK}-nobody", 1 << 40
EDIT = {"type": "edit_message", "conversation_id": ROOM, "message_id": FIRST, "payload": MARK}
OTHERS = f'{{"type":"weather","account":"{MARK}-other"}}'


def gives(function, status, words, setup, fault=None):
    CASES.append(Case(function, status, words, setup, fault))


def taken(client):
    client.sync(ROOM)
    return client.next_frame().id


# What stands behind the handle in an ordinary call, in a world where everything is known.
ORDINARY = {
    "tl_client_wipe": lambda w, h: (),
    "tl_client_connected": lambda w, h: (),
    "tl_client_disconnected": lambda w, h: (),
    "tl_client_connection_dead": lambda w, h: (),
    "tl_client_receive": lambda w, h: (w.view(push()),),
    "tl_client_next_frame": lambda w, h: (w.out(FRAME),),
    "tl_client_frame_sent": lambda w, h: (taken(h),),
    "tl_client_advance": lambda w, h: (w.out(c.c_int64),),
    "tl_client_event_fd": lambda w, h: (w.out(c.c_int32),),
    "tl_client_state": lambda w, h: (w.struct(c.State),),
    "tl_client_sync": lambda w, h: (w.struct(c.SyncRequest, conversation=ROOM), None),
    "tl_client_cancel": lambda w, h: (h.sync(NOBODY),),
    "tl_client_sync_status": lambda w, h: (h.sync(ROOM), w.struct(c.SyncStatus)),
    "tl_client_messages": lambda w, h: (w.struct(c.Query, conversation=ROOM), w.out()),
    "tl_client_message": lambda w, h: (w.view(ROOM), w.view(FIRST), w.out()),
    "tl_client_explain": lambda w, h: (w.view(ROOM), w.view(FIRST), 0, w.out(TEXT)),
    "tl_client_numbered": lambda w, h: (w.view(ROOM), 0, NEVER, 0, w.out()),
    "tl_client_changes": lambda w, h: (0, 0, w.out()),
    "tl_client_events": lambda w, h: (0, 0, w.out()),
    "tl_client_entities": lambda w, h: (
        w.struct(c.EntityQuery, kind=2, conversation=ROOM), w.out()),
    "tl_client_quarantined": lambda w, h: (w.view(ROOM), 0, 0, w.out()),
    "tl_client_conversations": lambda w, h: (0, 0, w.out()),
    "tl_client_conversation": lambda w, h: (w.view(ROOM), w.out()),
    "tl_client_mark_delivered": lambda w, h: (w.view(ROOM), w.views(FIRST), 1),
    "tl_client_mark_read": lambda w, h: (w.view(ROOM), w.views(FIRST), 1),
    "tl_client_mark_listened": lambda w, h: (w.view(ROOM), w.views(FIRST), 1),
    "tl_client_forget": lambda w, h: (w.view(ROOM), w.view(FIRST)),
    "tl_client_drop": lambda w, h: (w.view(ROOM), w.view(FIRST)),
    "tl_client_typing": lambda w, h: (w.view(ROOM), 1),
    "tl_client_draft": lambda w, h: (w.struct(c.Draft, conversation=ROOM, text=MARK),),
    "tl_client_clear": lambda w, h: (),
    "tl_client_stats": lambda w, h: (w.struct(c.Stats),),
    "tl_client_perform": lambda w, h: (w.view(json.dumps(EDIT)), 0, None, None),
    "tl_client_send": lambda w, h: (
        w.struct(c.Send, conversation=ROOM, payload="1"), None, None),
    "tl_client_operations": lambda w, h: (w.struct(c.OperationQuery), w.out()),
    "tl_client_operation": lambda w, h: (h.upload, w.out()),
    "tl_operation_retry": lambda w, h: (h.failed,),
    "tl_operation_cancel": lambda w, h: (h.upload,),
    "tl_operation_edit": lambda w, h: (h.upload, w.view('{"payload":2}')),
    "tl_operation_progress": lambda w, h: (h.upload, 500),
    "tl_operation_uploaded": lambda w, h: (h.upload, w.view('{"n":1}')),
    "tl_operation_upload_failed": lambda w, h: (h.upload, w.view(MARK)),
    "tl_client_reopen_payloads": lambda w, h: (w.view(), None),
    "tl_window_open": lambda w, h: (w.struct(c.WindowConfig, conversation=ROOM), w.out()),
    "tl_window_load": lambda w, h: (w.struct(c.Load, kind=3, at=2, id=FIRST),),
    "tl_window_poll": lambda w, h: (w.out(DIFF),),
    "tl_window_rows": lambda w, h: (0, 20, w.out()),
    "tl_window_find": lambda w, h: (w.view(f"{MARK}-{ROWS - 1}"), w.out(c.c_uint32)),
    "tl_window_fill": lambda w, h: (gap(h),),
    "tl_window_show": lambda w, h: (0, 10),
    "tl_window_trim": lambda w, h: (0, 10),
    "tl_window_state": lambda w, h: (w.struct(c.WindowStatus),),
    "tl_items_open": lambda w, h: (w.struct(c.ItemsConfig), w.out()),
    "tl_items_poll": lambda w, h: (w.out(DIFF),),
    "tl_items_read": lambda w, h: (0, 20, w.out()),
    "tl_items_messages": lambda w, h: (0, 0, 0, w.out()),
    "tl_items_find": lambda w, h: (
        w.view(f"{MARK}-{ROWS - 1}"), w.out(c.c_uint32), w.out(c.c_uint32)),
    "tl_items_find_key": lambda w, h: (h.read()[0].key, w.out(c.c_uint32)),
    "tl_items_bits": lambda w, h: (0, 0, w.out(c.c_uint64)),
    "tl_items_range": lambda w, h: (0, w.out(c.c_uint32), w.out(c.c_uint32)),
    "tl_items_set_open": lambda w, h: (0, 1),
    "tl_items_unread": lambda w, h: (h.read()[0].number,),
    "tl_items_show": lambda w, h: (0, 1),
    "tl_items_state": lambda w, h: (w.struct(c.ItemsStatus),),
    "tl_list_open": lambda w, h: (w.struct(c.ListConfig), w.out()),
    "tl_list_poll": lambda w, h: (w.out(DIFF),),
    "tl_list_rows": lambda w, h: (0, 10, w.out()),
    "tl_list_find": lambda w, h: (w.view(ROOM), w.out(c.c_uint32)),
    "tl_list_state": lambda w, h: (w.struct(c.ListStatus),),
}


def gap(window):
    """The row below the first split, or the first row."""
    rows = window.rows(0, window.state().row_count)
    flag = tideline.MessageFlags.GAP_BEFORE
    return next((at for at, row in enumerate(rows) if flag in row.flags), 0)


def owner(function):
    """Whose function it is, by the type of its first argument."""
    if function.startswith("tl_items_"):
        return "window" if function == "tl_items_open" else "items"
    if function.endswith("_open"):
        return "client"
    return {"tl_window": "window", "tl_list": "list"}.get(function.rsplit("_", 1)[0], "client")


def handle(w, client, function):
    """What the call is made on."""
    kind = owner(function)
    if kind == "client":
        return client
    if function in ("tl_window_fill", "tl_items_range"):
        client.receive(push(ROWS + 100))
    if kind == "items":
        # All that the window shows is one group, but where a split lies in it.
        window = w.keep(client.window(ROOM, count=20, hold_ms=tideline.HOLD_NONE))
        items = w.keep(tideline.Items(window, fold=lambda message: tideline.Fold(1)))
        if not function.endswith("_poll"):
            items.poll()
        if function == "tl_items_messages":
            # The poll has read them: other pages take their place in memory.
            client.messages(ROOM, limit=ROWS)
        return items
    if function == "tl_window_show":
        screen = w.keep(client.window(ROOM, count=200))
        screen.poll()
        take(client, server())
        screen.poll()
        return screen
    screen = (client.window(ROOM, count=20, hold_ms=tideline.HOLD_NONE) if kind == "window"
              else client.conversation_list())
    if not function.endswith("_poll"):
        screen.poll()
    return w.keep(screen)


def call(function, make, arguments=None):
    """Sets up a client by `make`, and gives the arguments of the call."""
    def setup(w):
        target = handle(w, make(w), function)
        return target._handle, *(arguments or ORDINARY[function])(w, target)
    return setup


def connected(w, **more):
    """A file that was just opened, with a connection."""
    client = w.refilled(cache_bytes=1, **more)
    client.connected()
    return client


def offline(w, **more):
    return w.refilled(cache_bytes=1, **more)


def elsewhere(w):
    """One whose memory for pages was just used for messages."""
    client = connected(w)
    client.messages(ROOM, limit=ROWS)
    return client


def sealed(w, answers):
    """A client that seals and opens with what it finds in `answers`: without, keys are missing."""
    return offline(w, seal=lambda _: answers[0], open=lambda _: None)


def waiting_for_a_key(w):
    """One that has an operation to seal, and the key since."""
    answers = [None]
    client = sealed(w, answers)
    client.send(ROOM, MARK)
    answers[0] = b'"sealed"'
    return client


def sending(w):
    """One whose next frame is a message: that it may have arrived is written down first."""
    client = connected(w)
    while client.next_frame() is not None:
        pass
    client.send(ROOM, MARK)
    client.messages(ROOM, limit=ROWS)
    return client


# Where an ordinary call needs another world than a connected client.
MAKE = {"tl_client_state": elsewhere, "tl_client_reopen_payloads": waiting_for_a_key,
        "tl_client_next_frame": sending}
# What has nothing to read or to write at another time than offline.
OFFLINE = {"tl_client_changes", "tl_client_operations", "tl_client_operation",
           "tl_operation_progress"}
READS = [name for name in ORDINARY if name not in {
    "tl_client_connected", "tl_client_disconnected", "tl_client_connection_dead",
    "tl_client_frame_sent", "tl_client_advance",
    "tl_client_event_fd", "tl_client_cancel", "tl_client_sync_status", "tl_client_typing",
    "tl_client_wipe", "tl_window_find", "tl_window_fill", "tl_window_show", "tl_window_trim",
    "tl_window_state", "tl_list_find", "tl_list_state", "tl_items_open", "tl_items_read",
    "tl_items_find", "tl_items_find_key", "tl_items_bits", "tl_items_range", "tl_items_set_open",
    "tl_items_unread", "tl_items_show", "tl_items_state",
    # The opening reads their pages, since it compares own work with what is kept twice.
    "tl_client_changes", "tl_client_operations", "tl_client_operation", "tl_operation_progress"}]
WRITES = ["tl_client_receive", "tl_client_next_frame", "tl_client_mark_delivered",
          "tl_client_mark_read", "tl_client_mark_listened", "tl_client_forget", "tl_client_drop",
          "tl_client_draft", "tl_client_clear",
          "tl_client_perform", "tl_client_send", "tl_operation_retry", "tl_operation_cancel",
          "tl_operation_edit", "tl_operation_uploaded", "tl_operation_upload_failed",
          "tl_client_reopen_payloads"]

gives("tl_client_wipe", "TL_E_STORAGE", "the disk cannot be written",
      call("tl_client_wipe", connected), "the disk cannot be written")
gives("tl_client_wipe", "TL_E_STORAGE", "the disk is full",
      call("tl_client_wipe", connected), "the disk is full")
for name in ORDINARY:
    kind = owner(name)
    gives(name, "TL_OK", "an ordinary call", call(name, MAKE.get(name, connected)))
    gives(name, "TL_E_INVALID", f"NULL for the {kind}", lambda w, name=name: (
        None, *call(name, MAKE.get(name, connected))(w)[1:]))
    broken = MAKE.get(name, offline if name in OFFLINE else connected)
    if name in READS:
        gives(name, "TL_E_STORAGE", "the disk cannot be read", call(name, broken),
              "the disk cannot be read")
        gives(name, "TL_E_DAMAGED", "the disk gives other bytes", call(name, broken),
              "the disk gives other bytes")
    if name in WRITES:
        gives(name, "TL_E_FULL", "the disk is full", call(name, broken), "the disk is full")
for words in ("a quota is used up", "the file may not grow"):
    gives("tl_client_send", "TL_E_FULL", words, call("tl_client_send", connected), words)


def closed(function):
    """The arguments of a call on what was closed after they were made."""
    def setup(w):
        client = MAKE.get(function, connected)(w)
        target = handle(w, client, function)
        arguments = ORDINARY[function](w, target)
        target.close()
        return target._handle, *arguments
    return setup


for name in ORDINARY:
    if name != "tl_client_event_fd":
        gives(name, "TL_E_CLOSED", f"after `tl_{owner(name)}_close`", closed(name))

# A struct of a later caller.
LATER = {
    "tl_client_state": lambda w, h: (w.longer(c.State),),
    "tl_client_sync": lambda w, h: (w.longer(c.SyncRequest, conversation=ROOM), None),
    "tl_client_sync_status": lambda w, h: (h.sync(ROOM), w.longer(c.SyncStatus)),
    "tl_client_messages": lambda w, h: (w.longer(c.Query, conversation=ROOM), w.out()),
    "tl_client_entities": lambda w, h: (w.longer(c.EntityQuery, kind=2), w.out()),
    "tl_client_stats": lambda w, h: (w.longer(c.Stats),),
    "tl_client_send": lambda w, h: (
        w.longer(c.Send, conversation=ROOM, payload="1"), None, None),
    "tl_client_draft": lambda w, h: (w.longer(c.Draft, conversation=ROOM),),
    "tl_client_operations": lambda w, h: (w.longer(c.OperationQuery), w.out()),
    "tl_window_open": lambda w, h: (w.longer(c.WindowConfig, conversation=ROOM), w.out()),
    "tl_window_load": lambda w, h: (w.longer(c.Load, kind=1),),
    "tl_window_state": lambda w, h: (w.longer(c.WindowStatus),),
    "tl_items_open": lambda w, h: (w.longer(c.ItemsConfig), w.out()),
    "tl_items_state": lambda w, h: (w.longer(c.ItemsStatus),),
    "tl_list_open": lambda w, h: (w.longer(c.ListConfig), w.out()),
    "tl_list_state": lambda w, h: (w.longer(c.ListStatus),),
}
for name, arguments in LATER.items():
    gives(name, "TL_E_TOO_NEW", "a longer struct whose tail is not zero",
          call(name, connected, arguments))


def on(function, status, words, arguments, make=connected):
    """A case of a function that has a handle."""
    gives(function, status, words, call(function, make, arguments))


def empty(w):
    return w.memory()


def void(w):
    """A client whose server names no request ids and has not answered in time."""
    now = [0]
    client = w.memory(clock=lambda: now[0])
    client.connected()
    client.sync(ROOM)
    for _ in client.frames():
        now[0] += 100_000
    client.advance()
    return client


on("tl_client_receive", "TL_IGNORED", "a frame of an unknown type",
   lambda w, h: (w.view('{"type":"weather"}'),))
on("tl_client_receive", "TL_QUARANTINED", "a message without a time",
   lambda w, h: (w.view(json.dumps({
       "type": "message_new", "conversation_id": ROOM,
       "message": {**message(1), "message_id": NOBODY, "created_at": MARK}})),))
on("tl_client_receive", "TL_E_FRAME", "half a frame", lambda w, h: (w.view("{"),))
on("tl_client_receive", "TL_E_FRAME", "bytes that are not UTF-8", lambda w, h: (w.view(b"\xff"),))
on("tl_client_receive", "TL_IGNORED", "a push without its list",
   lambda w, h: (w.view(json.dumps({"type": "message_deleted", "conversation_id": ROOM})),))
on("tl_client_receive", "TL_IGNORED", "an answer to nothing",
   lambda w, h: (w.view(json.dumps({
       "type": "get_messages", "request_id": MARK, "status": "ok", "data": {"messages": []}})),))
on("tl_client_receive", "TL_QUARANTINED", "an update whose item is no object",
   lambda w, h: (w.view(json.dumps({"type": "update", "payload": {
       "ref": MARK, "action": "new", "payload": {"entity": "message", "items": [7]}}})),))
on("tl_client_receive", "TL_E_TOO_LARGE", "a frame over 16 MiB",
   lambda w, h: (w.view(b" " * ((16 << 20) + 1)),))
on("tl_client_receive", "TL_OK", "a push, not connected", ORDINARY["tl_client_receive"], offline)
on("tl_client_receive", "TL_E_OFFLINE", "a connection that is void",
   ORDINARY["tl_client_receive"], void)
on("tl_client_receive", "TL_E_MISMATCH", "a frame for another account",
   lambda w, h: (w.view(OTHERS),))
on("tl_client_next_frame", "TL_NONE", "not connected", ORDINARY["tl_client_next_frame"], offline)
on("tl_client_frame_sent", "TL_NONE", "a number that no frame has", lambda w, h: (NEVER,))
on("tl_client_sync", "TL_E_TOO_LARGE", "a conversation id over 512 bytes",
   lambda w, h: (w.struct(c.SyncRequest, conversation=LONG), None))
on("tl_client_sync", "TL_E_FULL", "4,096 syncs wait",
   lambda w, h: ([h.sync(f"{MARK}{n}") for n in range(4096)] and
                 w.struct(c.SyncRequest, conversation=ROOM), None), empty)
on("tl_client_cancel", "TL_NONE", "a sync that has ended",
   lambda w, h: (h.sync(ROOM, policy=tideline.Policy.CACHE_ONLY),))
on("tl_client_cancel", "TL_E_NOT_FOUND", "a number that no sync has", lambda w, h: (NEVER,))
on("tl_client_sync_status", "TL_E_NOT_FOUND", "a number that no sync has",
   lambda w, h: (NEVER, w.struct(c.SyncStatus)))
on("tl_client_messages", "TL_E_NOT_FOUND", "before a number that no message has",
   lambda w, h: (w.struct(c.Query, conversation=ROOM, from_=2, number=NEVER), w.out()))
on("tl_client_message", "TL_E_NOT_FOUND", "an id that is not known",
   lambda w, h: (w.view(ROOM), w.view(NOBODY), w.out()))
on("tl_client_quarantined", "TL_NONE", "nothing was set aside",
   lambda w, h: (w.view(), 0, 0, w.out()), empty)
for name, last in (("tl_client_changes", lambda h: h.changes(limit=10_000).entries[-1].seq),
                   ("tl_client_events", lambda h: h.events().entries[-1].seq)):
    on(name, "TL_NONE", "after the newest",
       lambda w, h, last=last: (last(h), 0, w.out()), offline)
    on(name, "TL_RESYNC", "after a number that is still to come",
       lambda w, h: (NEVER, 0, w.out()))
on("tl_client_entities", "TL_NONE", "a kind of which nothing is known",
   lambda w, h: (w.struct(c.EntityQuery, kind=3), w.out()))
on("tl_client_conversations", "TL_NONE", "an empty cache",
   ORDINARY["tl_client_conversations"], empty)
on("tl_client_conversation", "TL_E_NOT_FOUND", "an id that is not known",
   lambda w, h: (w.view(NOBODY), w.out()))
for name in ("tl_client_mark_delivered", "tl_client_mark_read", "tl_client_mark_listened"):
    on(name, "TL_E_TOO_LARGE", "10,001 ids",
       lambda w, h: (w.view(ROOM), w.views(*[FIRST] * 10_001), 10_001))
on("tl_client_drop", "TL_OK", "all of a conversation", lambda w, h: (w.view(ROOM), w.view()))
on("tl_client_drop", "TL_E_NOT_FOUND", "an id that is not known",
   lambda w, h: (w.view(ROOM), w.view(NOBODY)))
on("tl_client_drop", "TL_E_NOT_FOUND", "a conversation that is not known",
   lambda w, h: (w.view(NOBODY), w.view()))
on("tl_client_forget", "TL_E_NOT_FOUND", "an id that is not known",
   lambda w, h: (w.view(ROOM), w.view(NOBODY)))
on("tl_client_typing", "TL_NONE", "not connected", ORDINARY["tl_client_typing"], offline)
on("tl_client_draft", "TL_E_TOO_LARGE", "a draft over 64 KiB",
   lambda w, h: (w.struct(c.Draft, conversation=ROOM, text="x" * 65_537),))

# What the user does.
MIB = " " * (1 << 20)
FAILING = [b"no JSON"]


def failing(w):
    """A client whose `seal` hook gives what is no JSON."""
    return sealed(w, FAILING)


for words, request in (
        ("a request without its conversation", {"type": "get_conversation"}),
        ("a time of typing that is none",
         {"type": "typing", "conversation_id": ROOM, "event": MARK}),
        ("a verb that is none", {"type": MARK})):
    on("tl_client_perform", "TL_E_INVALID", words,
       lambda w, h, request=request: (w.view(json.dumps(request)), 0, None, None))
on("tl_client_send", "TL_E_INVALID", "an attachment that is no object",
   lambda w, h: (w.struct(c.Send, conversation=ROOM, payload="1", attachment="7"), None, None))
on("tl_client_sync", "TL_E_INVALID", "an empty conversation",
   lambda w, h: (w.struct(c.SyncRequest), None))
on("tl_client_perform", "TL_E_UNSUPPORTED", "`get_messages`",
   lambda w, h: (w.view(json.dumps({"type": "get_messages", "conversation_id": ROOM})), 0, None,
                 None))
on("tl_client_perform", "TL_E_TOO_LARGE", "a request over 1 MiB",
   lambda w, h: (w.view(json.dumps(EDIT) + MIB), 0, None, None))
on("tl_client_send", "TL_E_TOO_LARGE", "a payload over 1 MiB",
   lambda w, h: (w.struct(c.Send, conversation=ROOM, payload=MIB + "1"), None, None))
on("tl_client_send", "TL_E_TOO_LARGE", "a client id over 128 bytes",
   lambda w, h: (w.struct(c.Send, conversation=ROOM, payload="1", client_id=LONG[:129]), None,
                 None))
for name in ("tl_client_perform", "tl_client_send"):
    on(name, "TL_E_REFUSED", "the `seal` hook fails", ORDINARY[name], failing)
on("tl_client_operations", "TL_NONE", "there are none", ORDINARY["tl_client_operations"], empty)
on("tl_client_operation", "TL_E_NOT_FOUND", "a number that no operation has",
   lambda w, h: (NEVER, w.out()))
for name in ("tl_operation_retry", "tl_operation_cancel", "tl_operation_edit",
             "tl_operation_progress", "tl_operation_uploaded", "tl_operation_upload_failed"):
    def other(w, h, number, name=name):
        return number, *ORDINARY[name](w, h)[1:]
    on(name, "TL_NONE", "an operation that is sent",
       lambda w, h, other=other: other(w, h, h.sent))
    on(name, "TL_E_NOT_FOUND", "a number that no operation has",
       lambda w, h, other=other: other(w, h, NEVER))
on("tl_operation_edit", "TL_E_TOO_LARGE", "members over 1 MiB",
   lambda w, h: (h.upload, w.view('{"payload":2}' + MIB)))
on("tl_operation_edit", "TL_E_REFUSED", "the `seal` hook fails",
   ORDINARY["tl_operation_edit"], failing)
on("tl_client_reopen_payloads", "TL_NONE", "nothing waits for a key",
   ORDINARY["tl_client_reopen_payloads"])

# Windows and lists.
on("tl_window_open", "TL_E_INVALID", "a place that is none",
   lambda w, h: (w.struct(c.WindowConfig, conversation=ROOM, at=9), w.out()))
on("tl_window_open", "TL_E_TOO_LARGE", "a conversation id over 512 bytes",
   lambda w, h: (w.struct(c.WindowConfig, conversation=LONG), w.out()))
on("tl_window_open", "TL_E_UNSUPPORTED", "at a message that is not stored",
   lambda w, h: (w.struct(c.WindowConfig, conversation=ROOM, at=2, id=NOBODY), w.out()))


def crowded(w):
    """A client with as many windows as there may be."""
    client = w.memory()
    for _ in range(1024):
        w.keep(client.window(ROOM, cache_only=True))
    return client


for name in ("tl_window_open", "tl_list_open"):
    on(name, "TL_E_FULL", "over 1,024 windows and lists", ORDINARY[name], crowded)
on("tl_window_load", "TL_NONE", "newer messages where there are none",
   lambda w, h: (w.struct(c.Load, kind=2),), offline)
on("tl_window_load", "TL_E_NOT_FOUND", "before a number that no row has",
   lambda w, h: (w.struct(c.Load, kind=1, number=NEVER),))
on("tl_window_load", "TL_E_UNSUPPORTED", "around a message that is not stored",
   lambda w, h: (w.struct(c.Load, kind=3, at=2, id=NOBODY),))
on("tl_window_load", "TL_E_TOO_LARGE", "around an id over 512 bytes",
   lambda w, h: (w.struct(c.Load, kind=3, at=2, id=LONG),))
on("tl_window_fill", "TL_NONE", "no gap is there", lambda w, h: (2,))


def lost(w, h):
    """The row below a gap, once the connection is gone."""
    row = gap(h)
    h._client.disconnected()
    return (row,)


on("tl_window_fill", "TL_E_OFFLINE", "not connected", lost)
for name in ("tl_window_poll", "tl_list_poll", "tl_items_poll"):
    on(name, "TL_NONE", "nothing has changed", lambda w, h: (h.poll() and None, w.out(DIFF))[1:],
       offline)
for name in ("tl_window_rows", "tl_list_rows", "tl_items_read"):
    on(name, "TL_NONE", "behind the last row", lambda w, h: (5_000, 10, w.out()))
for name in ("tl_window_find", "tl_list_find"):
    on(name, "TL_NONE", "an id that is in no row",
       lambda w, h: (w.view(NOBODY), w.out(c.c_uint32)))

# Items.
def eight(w, h):
    """The arguments, with as many lists of items over the window as there may be."""
    for _ in range(8):
        w.keep(tideline.Items(h))
    return ORDINARY["tl_items_open"](w, h)


def nowhere(w, h):
    return w.view(NOBODY), w.out(c.c_uint32), None


on("tl_items_open", "TL_E_FULL", "over 8 on one window", eight)
on("tl_items_find", "TL_NONE", "an id that is in no row", nowhere)
for fault in ("the disk cannot be read", "the disk gives other bytes"):
    status = "TL_E_STORAGE" if "read" in fault else "TL_E_DAMAGED"
    gives("tl_items_find", status, f"an id that is in no row, and {fault}",
          call("tl_items_find", connected, nowhere), fault)
on("tl_items_find_key", "TL_NONE", "a key that no item has",
   lambda w, h: (NEVER, w.out(c.c_uint32)))
on("tl_items_messages", "TL_NONE", "behind the last message",
   lambda w, h: (0, 5_000, 10, w.out()))
on("tl_items_bits", "TL_NONE", "behind the last message",
   lambda w, h: (0, 5_000, w.out(c.c_uint64)))
on("tl_items_range", "TL_NONE", "no such range",
   lambda w, h: (9, w.out(c.c_uint32), w.out(c.c_uint32)))
on("tl_items_set_open", "TL_NONE", "it is closed already", lambda w, h: (0, 0))
on("tl_items_unread", "TL_E_NOT_FOUND", "a number that no row has", lambda w, h: (NEVER,))
