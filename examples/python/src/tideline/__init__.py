"""Tideline: an embeddable, encrypted, offline-first message cache and sync engine.

>>> with Client(user_id="me") as client:          # in memory; give a path and a key for a file
...     client.sync("general")
...     client.connected()
...     for frame in client.frames():
...         send(frame.bytes); client.frame_sent(frame.id)
...     client.receive(answer)
...     page = client.messages("general")
"""

from .client import (
    KEY_BYTES, Client, frame_account, merge_deltas, merge_messages, version)
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
    SealedMessage, State, Stats, Stop, SyncKind, SyncPhase, SyncStatus, Ties, Truncates, Unsealed)
from .views import (
    At, Conversation, ConversationFlags, Diff, Fold, Item, ItemFlags, ItemsState, ListState,
    LoadKind, Op, OpKind, Waiting, WindowState)
from .viewport import Edge, Layout, Placed, Viewport, ViewportState
from .window import Rows, Window, apply, checksum

__all__ = [
    "KEY_BYTES", "Client", "frame_account", "merge_deltas", "merge_messages", "version",
    "ClosedError", "DamagedError", "FrameError", "FullError", "InternalError", "InvalidError",
    "LockedError", "MismatchError", "NotFoundError", "NotOursError", "OfflineError", "RefusedError",
    "Status", "StorageError", "TidelineError", "TooLargeError", "TooNewError", "UnsupportedError",
    "WrongKeyError", "Action", "At", "Capabilities", "Change", "ChangeKind", "Changes",
    "Conversation", "ConversationFlags", "Coverage", "Diff", "Entity", "EntityKind", "Event",
    "EventKind", "Events", "Fold", "Frame", "From", "Gap", "Item", "ItemFlags", "ItemsState",
    "ListState", "LoadKind", "Message", "MessageFlags", "MessageState", "Op", "Operation",
    "OperationState", "OperationWait", "OpKind", "Origin", "Page", "Performed", "Phase", "Plain",
    "Policy", "Profile", "Quarantined", "SealedMessage", "State", "Stats", "Stop", "SyncKind",
    "SyncPhase", "SyncStatus", "Ties", "Truncates", "Typing", "Unsealed", "Waiting", "WindowState",
    "ConversationList", "Items", "Rows", "Window", "apply", "checksum", "last_error", "Edge",
    "Layout", "Placed", "Viewport", "ViewportState", "Asked", "Counted", "Found", "Hit", "Mark",
    "Order", "Progress", "Work", "LeaseLost", "NoRoom", "Object", "Storage", "Budget", "Room",
    "Basis", "IdempotencyScope", "Imported", "PolicyChoice", "PolicyQuestion", "Unsearched",
    "IncompleteError", "ResyncError",
]
