"""Tideline: an embeddable, encrypted, offline-first message cache and sync engine.

>>> with Client(user_id="me") as client:          # in memory; give a path and a key for a file
...     client.sync("general")
...     client.connected()
...     for frame in client.frames():
...         send(frame.bytes); client.frame_sent(frame.id)
...     client.receive(answer)
...     page = client.messages("general")
"""

import logging

from .client import (
    HOLD_NONE, KEY_BYTES, Client, frame_account, merge_deltas, merge_messages, version)
from .conversations import ConversationList
from .errors import (
    ClosedError, DamagedError, FrameError, FullError, IncompleteError, InternalError, InvalidError,
    LockedError, MismatchError, NotFoundError, NotOursError, OfflineError, RefusedError,
    ResyncError, Status, StorageError, TidelineError, TooLargeError, TooNewError, UnsupportedError,
    WrongKeyError, last_error)
from .find import Asked, Counted, Found, Hit, Mark, Order, Progress, Unsearched, Work
from .items import Items
from .keep import Budget, Imported, Room
from .operations import Operation, OperationState, OperationWait, Performed, Typing
from .storage import LeaseLost, NoRoom, Object, Storage
from .values import (
    Action, Basis, Capabilities, Change, ChangeKind, Changes, Coverage, Entity, EntityKind, Event,
    EventKind, Events, Frame, From, Gap, IdempotencyScope, Message, MessageFlags, MessageState,
    Origin, Page, Phase, Plain, Policy, PolicyChoice, PolicyQuestion, Profile, Quarantined,
    Reaction, Reader, SealedMessage, State, Stats, Stop, SyncKind, SyncPhase, SyncStatus, Ties,
    Truncates, Unsealed)
from .views import (
    At, Conversation, ConversationFlags, Diff, Fold, Item, ItemFlags, ItemsState, ListState,
    LoadKind, Op, OpKind, Waiting, WindowState)
from .viewport import Edge, Layout, Placed, Viewport, ViewportState
from .window import Rows, Window, apply, checksum

__all__ = [
    "Action", "Asked", "At", "Basis", "Budget", "Capabilities", "Change", "ChangeKind", "Changes",
    "Client", "ClosedError", "Conversation", "ConversationFlags", "ConversationList", "Counted",
    "Coverage", "DamagedError", "Diff", "Edge", "Entity", "EntityKind", "Event", "EventKind",
    "Events", "Fold", "Found", "Frame", "FrameError", "From", "FullError", "Gap", "HOLD_NONE",
    "Hit", "IdempotencyScope", "Imported", "IncompleteError", "InternalError", "InvalidError",
    "Item", "ItemFlags", "Items", "ItemsState", "KEY_BYTES", "Layout", "LeaseLost", "ListState",
    "LoadKind", "LockedError", "Mark", "Message", "MessageFlags", "MessageState", "MismatchError",
    "NoRoom", "NotFoundError", "NotOursError", "Object", "OfflineError", "Op", "OpKind",
    "Operation", "OperationState", "OperationWait", "Order", "Origin", "Page", "Performed", "Phase",
    "Placed", "Plain", "Policy", "PolicyChoice", "PolicyQuestion", "Profile", "Progress",
    "Quarantined", "Reaction", "Reader", "RefusedError", "ResyncError", "Room", "Rows",
    "SealedMessage", "State", "Stats", "Status", "Stop", "Storage", "StorageError", "SyncKind",
    "SyncPhase", "SyncStatus", "TidelineError", "Ties", "TooLargeError", "TooNewError", "Truncates",
    "Typing", "Unsealed", "Unsearched", "UnsupportedError", "Viewport", "ViewportState", "Waiting",
    "Window", "WindowState", "Work", "WrongKeyError", "apply", "checksum", "frame_account",
    "last_error", "merge_deltas", "merge_messages", "version",
]

# What the library says is for whoever asks for it. Without this a program that sets up no logging
# would see each error twice: as the exception, and as a line on its standard error.
logging.getLogger("tideline").addHandler(logging.NullHandler())
