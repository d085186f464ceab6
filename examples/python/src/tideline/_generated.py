"""Structs, constants and functions of ``tideline.h``.

Written by ``Scripts/bindings.py`` from the header; ``make abi-accept`` writes it anew.
"""

from __future__ import annotations

import ctypes
from ctypes import (
    POINTER,
    c_char_p,
    c_int32,
    c_int64,
    c_size_t,
    c_uint32,
    c_uint64,
    c_void_p,
)
from typing import Any

TL_ABI = 1

TL_KEY_BYTES = 32

TL_OK = 0

TL_NONE = 1

TL_IGNORED = 2

TL_RESYNC = 3

TL_QUARANTINED = 4

TL_E_INVALID = -1
TL_E_CLOSED = -2
TL_E_STORAGE = -3
TL_E_KEY = -4
TL_E_TOO_NEW = -5
TL_E_DAMAGED = -6
TL_E_LOCKED = -7
TL_E_NOT_OURS = -8
TL_E_FRAME = -9
TL_E_TOO_LARGE = -10
TL_E_NOT_FOUND = -11
TL_E_MISMATCH = -12
TL_E_UNSUPPORTED = -13
TL_E_OFFLINE = -14
TL_E_TIMEOUT = -15
TL_E_REFUSED = -16
TL_E_UNAVAILABLE = -17
TL_E_CANCELLED = -18
TL_E_INCOMPLETE = -19
TL_E_FULL = -20
TL_E_NO_SLOT = -21
TL_E_CODE = -22
TL_E_RELEASED = -23
TL_E_INTERNAL = -99

TL_TRUNCATES_UNKNOWN = 0
TL_TRUNCATES_OLDEST = 1
TL_TRUNCATES_NEWEST = 2

TL_TIES_UNKNOWN = 0
TL_TIES_ID = 1
TL_TIES_ARRIVAL = 2

TL_PROFILE_PAGE_SIZE_VARIES = 2
TL_PROFILE_ABSENCE_IS_DELETION = 4
TL_PROFILE_PUSH_LOSSLESS = 8
TL_PROFILE_COUNTS_HIDDEN = 16
TL_PROFILE_UNKNOWN_FRAMES = 32
TL_PROFILE_DELETIONS_LATER = 64
TL_PROFILE_ORDER_NOT_TIME = 128
TL_PROFILE_OTHERS_EDIT = 256

TL_SERVER_BEFORE = 1
TL_SERVER_AROUND = 2
TL_SERVER_CHANGED_SINCE = 4
TL_SERVER_IDEMPOTENT_SEND = 8
TL_SERVER_SEQUENCE = 16
TL_SERVER_ENVELOPE = 32
TL_SERVER_LOG = 64
TL_SERVER_LOG_REFUSES = 128
TL_SERVER_LOG_EPOCH = 256

TL_IDEMPOTENCY_ACCOUNT = 0
TL_IDEMPOTENCY_DEVICE = 1
TL_IDEMPOTENCY_CONNECTION = 2

TL_PAYLOAD_CONTROL = 1
TL_PAYLOAD_EVENT = 2

TL_LOG_ERROR = 1
TL_LOG_WARN = 2
TL_LOG_INFO = 3
TL_LOG_DEBUG = 4

TL_POLICY_WINDOW = 1

TL_OBJECT_MAIN = 0
TL_OBJECT_LOG = 1
TL_OBJECT_OWN = 2
TL_OBJECT_NEXT = 3

TL_STORAGE_BUFFERS = 1

TL_KEY_RAW = 0
TL_KEY_PASSPHRASE = 1
TL_KEY_CODE = 2

TL_OPEN_MEMORY = 1
TL_OPEN_EXISTING = 2
TL_OPEN_STRICT = 4
TL_OPEN_AUTO_MARK_READ = 8
TL_OPEN_AUTO_MARK_DELIVERED = 16
TL_OPEN_CATCH_UP_ALL = 32
TL_OPEN_FRESH = 64
TL_OPEN_TRACE = 128

TL_PHASE_OFFLINE = 0
TL_PHASE_CATCHING_UP = 1
TL_PHASE_UP_TO_DATE = 2

TL_STATE_LOG_LOST = 1
TL_STATE_OLDER = 2

TL_SYNC_LATEST = 0
TL_SYNC_OLDER = 1
TL_SYNC_LIVE = 2
TL_SYNC_CONVERSATIONS = 3
TL_SYNC_ALL = 4

TL_POLICY_CACHE_THEN_NETWORK = 0
TL_POLICY_CACHE_ONLY = 1
TL_POLICY_NETWORK_FIRST = 2
TL_POLICY_NETWORK_ONLY = 3
TL_POLICY_MAX_AGE = 4
TL_POLICY_HOST = 5

TL_BASIS_CACHE = 0
TL_BASIS_NETWORK = 1

TL_SYNC_MARK_READ = 1
TL_SYNC_WAITING = 0
TL_SYNC_RUNNING = 1
TL_SYNC_ENDED = 2

TL_MESSAGE_CONFIRMED = 0
TL_MESSAGE_QUEUED = 1
TL_MESSAGE_IN_FLIGHT = 2
TL_MESSAGE_UNKNOWN = 3
TL_MESSAGE_REFUSED = 4
TL_MESSAGE_MINE = 1
TL_MESSAGE_UNREAD = 2
TL_MESSAGE_EDITED = 4
TL_MESSAGE_DELETED = 8
TL_MESSAGE_PINNED = 16
TL_MESSAGE_EVENT = 32
TL_MESSAGE_SEALED = 64
TL_MESSAGE_UNVERIFIED = 128
TL_MESSAGE_GAP_BEFORE = 256
TL_MESSAGE_STALE = 512
TL_MESSAGE_LISTENED = 1024
TL_MESSAGE_GONE = 2048
TL_MESSAGE_GAP_HEALING = 4096
TL_MESSAGE_MODERATED = 8192
TL_MESSAGE_SILENT = 16384

TL_STOP_LIMIT = 0
TL_STOP_START = 1
TL_STOP_GAP = 2
TL_STOP_PRESENT = 3
TL_STOP_COUNT = 4

TL_FROM_LATEST = 0
TL_FROM_OLDEST = 1
TL_FROM_BEFORE = 2
TL_FROM_AFTER = 3
TL_FROM_TIME = 4
TL_FROM_BEFORE_TIME = 5

TL_QUERY_PINNED = 1

TL_ORDER_ASCENDING = 0
TL_ORDER_DESCENDING = 1

TL_CHANGE_INSERTED = 1
TL_CHANGE_UPDATED = 2
TL_CHANGE_REMOVED = 3
TL_CHANGE_COVERAGE = 4
TL_CHANGE_EVENTS = 5
TL_CHANGE_ENTITIES = 6
TL_CHANGE_OPERATIONS = 7
TL_CHANGE_CONVERSATIONS = 8
TL_CHANGE_PURGED = 9
TL_CHANGE_SILENT = 1
TL_CHANGE_NOTIFY = 2

TL_ORIGIN_NONE = 0
TL_ORIGIN_FETCHED = 1
TL_ORIGIN_PUSHED = 2
TL_ORIGIN_OWN = 3

TL_EVENT_UNKNOWN = 1
TL_EVENT_TYPING = 2
TL_EVENT_CONVERSATION = 3
TL_EVENT_POISON = 4
TL_EVENT_MEMBER = 5
TL_EVENT_PROFILE = 6
TL_EVENT_FRAME = 7

TL_ACTION_NONE = 0
TL_ACTION_NEW = 1
TL_ACTION_UPDATE = 2
TL_ACTION_DELETE = 3

TL_QUARANTINED_CUT = 1

TL_ENTITY_CONVERSATION = 1
TL_ENTITY_MEMBER = 2
TL_ENTITY_PROFILE = 3

TL_AT_LATEST = 0
TL_AT_UNREAD = 1
TL_AT_MESSAGE = 2
TL_AT_TIME = 3

TL_WINDOW_CACHE_ONLY = 1
TL_WINDOW_NO_REFRESH = 2
TL_WINDOW_PRELOAD = 4

TL_LOAD_INITIAL = 0
TL_LOAD_BEFORE = 1
TL_LOAD_AFTER = 2
TL_LOAD_AROUND = 3
TL_LOAD_LAST = 4
TL_LOAD_PAST_GAPS = 1

TL_OP_INSERT = 1
TL_OP_REMOVE = 2
TL_OP_UPDATE = 3
TL_OP_MOVE = 4

TL_WAITING_NOTHING = 0
TL_WAITING_CONNECTION = 1
TL_WAITING_PRESENT = 2
TL_WAITING_PLACE = 3
TL_WAITING_OLDER = 4
TL_WAITING_NEWER = 5
TL_WAITING_REFRESH = 6

TL_WINDOW_AT_START = 1
TL_WINDOW_AT_END = 2
TL_WINDOW_GAP_BEFORE = 4
TL_WINDOW_GAP_AFTER = 8
TL_WINDOW_MARKER_UNKNOWN = 16

TL_LIST_CACHE_ONLY = 1

TL_CONVERSATION_PENDING = 1
TL_CONVERSATION_UNREAD_EXACT = 2
TL_CONVERSATION_HAS_PENDING = 4
TL_CONVERSATION_HAS_STUCK = 8
TL_CONVERSATION_GONE = 16

TL_LIST_TOTAL_EXACT = 1
TL_LIST_WHOLE = 2
TL_LIST_REFRESHING = 4

TL_ITEMS_REVERSED = 1
TL_ITEMS_FOLD_DELETED = 2
TL_ITEMS_FOLD_MODERATED = 4
TL_ITEMS_FOLD_EVENTS = 8
TL_ITEMS_FOLD_MIXED = 16
TL_ITEMS_UNREAD_LINE = 32

TL_ITEM_GROUP = 1
TL_ITEM_OPENED = 2
TL_ITEM_GROUP_FIRST = 4
TL_ITEM_GROUP_LAST = 8
TL_ITEM_RUN_FIRST = 16
TL_ITEM_RUN_LAST = 32
TL_ITEM_NEW_DAY = 64
TL_ITEM_TIME_GAP = 128
TL_ITEM_SPLIT_BEFORE = 256
TL_ITEM_SPLIT_HEALING = 512
TL_ITEM_UNREAD_BEFORE = 1024

TL_ITEMS_BEHIND = 1

TL_PERFORM_UPLOAD = 1

TL_OPERATION_QUEUED = 1
TL_OPERATION_IN_FLIGHT = 2
TL_OPERATION_UNKNOWN = 3
TL_OPERATION_REFUSED = 4
TL_OPERATION_SENT = 5

TL_WAIT_NOTHING = 0
TL_WAIT_CONNECTION = 1
TL_WAIT_TURN = 2
TL_WAIT_RETRY = 3
TL_WAIT_UPLOAD = 4
TL_WAIT_SEAL = 5
TL_WAIT_CHECK = 6

TL_OPERATIONS_OPEN = 1

TL_TYPING_BEGIN = 1
TL_TYPING_PAUSE = 2
TL_TYPING_FINISHED = 3

TL_SEARCH_MINE = 1
TL_SEARCH_ATTACHMENT = 2
TL_SEARCH_NO_MARKS = 4

TL_HIT_ORDER_TIME = 0
TL_HIT_ORDER_RELEVANCE = 1

TL_ASKED_YES = 0
TL_ASKED_NO_WORD = 1
TL_ASKED_ONLY_EXCLUSIONS = 2

TL_COUNTED_NOT = 0
TL_COUNTED_ALL = 1
TL_COUNTED_AT_LEAST = 2

TL_UNSEARCHED_PARTIAL = 1
TL_UNSEARCHED_SEALED = 2

TL_RETAIN_UNTOLD = 1

TL_ROOM_COUNTED = 1
TL_ROOM_OVER = 2

TL_IMPORT_ARRAY = 1
TL_IMPORT_READ = 2
TL_IMPORT_AGAIN = 4

TL_IMPORTED_DONE = 1

TL_VIEWPORT_BOTTOM_UP = 1
TL_VIEWPORT_REVERSED = 2
TL_VIEWPORT_HOLD_TOP = 4
TL_VIEWPORT_HOLD_BOTTOM = 8

TL_RESIZE_MEASURE = 1

TL_PLACED_VISIBLE = 1
TL_PLACED_MEASURED = 2

TL_SCROLL_FINGER = 1

TL_EDGE_TOP = 0
TL_EDGE_BOTTOM = 1
TL_EDGE_TOP_END = 2
TL_EDGE_BOTTOM_END = 3

TL_VIEWPORT_NEAR_TOP = 1
TL_VIEWPORT_NEAR_BOTTOM = 2
TL_VIEWPORT_HELD_TOP = 4
TL_VIEWPORT_HELD_BOTTOM = 8
TL_VIEWPORT_MOVING = 16


class View(ctypes.Structure):
    """``tl_view``."""

    _fields_ = [
        ("data", c_void_p),
        ("size", c_size_t),
    ]


class Profile(ctypes.Structure):
    """``tl_profile``."""

    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("page_limit", c_uint32),
        ("truncates", c_int32),
        ("ties", c_int32),
        ("capabilities", c_uint32),
        ("time_resolution_us", c_int64),
        ("overlap_ms", c_uint32),
        ("deletion_horizon_s", c_uint32),
        ("zone_offset_min", c_int32),
        ("ref_days", c_uint32),
        ("refs_max", c_uint32),
        ("pages_max", c_uint32),
        ("search_members", View),
        ("idempotency_scope", c_int32),
        ("idempotency_s", c_uint32),
    ]


class Sealed(ctypes.Structure):
    """``tl_sealed``."""

    _fields_ = [
        ("conversation", View),
        ("id", View),
        ("sender", View),
        ("payload", View),
        ("message", View),
    ]


class Opened(ctypes.Structure):
    """``tl_opened``."""

    _fields_ = [
        ("payload", View),
        ("flags", c_uint32),
        ("reserved", c_uint32),
        ("searchable", View),
    ]


class Unsealed(ctypes.Structure):
    """``tl_unsealed``."""

    _fields_ = [
        ("conversation", View),
        ("client_id", View),
        ("message", View),
        ("payload", View),
    ]


class PolicyQuestion(ctypes.Structure):
    """``tl_policy_question``."""

    _fields_ = [
        ("conversation", View),
        ("kind", c_int32),
        ("flags", c_uint32),
    ]


class PolicyChoice(ctypes.Structure):
    """``tl_policy_choice``."""

    _fields_ = [
        ("policy", c_int32),
        ("limit_ms", c_uint32),
        ("age_us", c_int64),
    ]


class Stored(ctypes.Structure):
    """``tl_stored``."""

    _fields_ = [
        ("name", View),
        ("fence", c_uint64),
        ("object", c_int32),
        ("reserved", c_uint32),
    ]


DropHook = ctypes.CFUNCTYPE(None, c_void_p)
StorageAcquire = ctypes.CFUNCTYPE(c_int32, c_void_p, POINTER(View), POINTER(c_uint64))
StorageRelease = ctypes.CFUNCTYPE(c_int32, c_void_p, POINTER(Stored))
StorageRead = ctypes.CFUNCTYPE(
    c_int32, c_void_p, POINTER(Stored), c_uint64, c_void_p, c_size_t, POINTER(c_size_t))
StorageWrite = ctypes.CFUNCTYPE(c_int32, c_void_p, POINTER(Stored), c_uint64, POINTER(View))
StorageTruncate = ctypes.CFUNCTYPE(c_int32, c_void_p, POINTER(Stored), c_uint64)
StorageSize = ctypes.CFUNCTYPE(c_int32, c_void_p, POINTER(Stored), POINTER(c_uint64))
StorageSync = ctypes.CFUNCTYPE(c_int32, c_void_p, POINTER(Stored))
StorageRemove = ctypes.CFUNCTYPE(c_int32, c_void_p, POINTER(Stored))


class Storage(ctypes.Structure):
    """``tl_storage``."""

    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("context", c_void_p),
        ("drop", DropHook),
        ("acquire", StorageAcquire),
        ("release", StorageRelease),
        ("read", StorageRead),
        ("write", StorageWrite),
        ("truncate", StorageTruncate),
        ("size", StorageSize),
        ("sync", StorageSync),
        ("remove", StorageRemove),
    ]


OpenHook = ctypes.CFUNCTYPE(c_int32, c_void_p, POINTER(Sealed), POINTER(Opened))
LogHook = ctypes.CFUNCTYPE(None, c_void_p, c_int32, POINTER(View))
ClockHook = ctypes.CFUNCTYPE(c_int64, c_void_p)
SealHook = ctypes.CFUNCTYPE(c_int32, c_void_p, POINTER(Unsealed), POINTER(Opened))
PolicyHook = ctypes.CFUNCTYPE(None, c_void_p, POINTER(PolicyQuestion), POINTER(PolicyChoice))


class ClientConfig(ctypes.Structure):
    """``tl_client_config``."""

    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("path", View),
        ("key", View),
        ("account", View),
        ("user_id", View),
        ("profile", POINTER(Profile)),
        ("cache_bytes", c_uint64),
        ("request_timeout_ms", c_uint32),
        ("requests_max", c_uint32),
        ("open", OpenHook),
        ("open_context", c_void_p),
        ("open_drop", DropHook),
        ("log", LogHook),
        ("log_context", c_void_p),
        ("log_drop", DropHook),
        ("clock", ClockHook),
        ("clock_context", c_void_p),
        ("seal", SealHook),
        ("seal_context", c_void_p),
        ("seal_drop", DropHook),
        ("seen_ms", c_uint32),
        ("key_kind", c_int32),
        ("storage", POINTER(Storage)),
        ("choose", PolicyHook),
        ("choose_context", c_void_p),
        ("choose_drop", DropHook),
        ("device", View),
        ("commit_seq", c_uint64),
        ("trace_max", c_uint32),
        ("reserved", c_uint32),
    ]


class Frame(ctypes.Structure):
    """``tl_frame``."""

    _fields_ = [
        ("id", c_uint64),
        ("bytes", View),
    ]


class State(ctypes.Structure):
    """``tl_state``."""

    _fields_ = [
        ("struct_size", c_uint32),
        ("phase", c_int32),
        ("syncs_left", c_uint32),
        ("requests_in_flight", c_uint32),
        ("frames_waiting", c_uint32),
        ("reconnect_wanted", c_uint32),
        ("reads_pending", c_uint32),
        ("replies_owed", c_uint32),
        ("change_seq", c_uint64),
        ("as_of_us", c_int64),
        ("operations_open", c_uint32),
        ("operations_stuck", c_uint32),
        ("commit_seq", c_uint64),
        ("flags", c_uint32),
        ("reserved", c_uint32),
    ]


class SyncRequest(ctypes.Structure):
    """``tl_sync_request``."""

    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("conversation", View),
        ("kind", c_int32),
        ("policy", c_int32),
        ("want", c_uint32),
        ("pages_max", c_uint32),
        ("limit_ms", c_uint32),
        ("reserved", c_uint32),
        ("age_us", c_int64),
    ]


class SyncStatus(ctypes.Structure):
    """``tl_sync_status``."""

    _fields_ = [
        ("struct_size", c_uint32),
        ("phase", c_int32),
        ("result", c_int32),
        ("requests", c_uint32),
        ("received", c_uint32),
        ("inserted", c_uint32),
        ("removed", c_uint32),
        ("reserved", c_uint32),
        ("done", c_uint32),
        ("total", c_uint32),
        ("basis", c_int32),
        ("reason", c_int32),
        ("as_of_us", c_int64),
        ("step_back_us", c_int64),
    ]


class Message(ctypes.Structure):
    """``tl_message``."""

    _fields_ = [
        ("number", c_uint64),
        ("time_us", c_int64),
        ("state", c_int32),
        ("flags", c_uint32),
        ("id", View),
        ("conversation", View),
        ("sender", View),
        ("stamp", View),
        ("payload", View),
        ("reply_to", View),
        ("reactions", View),
        ("read_by", View),
        ("rest", View),
        ("delivered_by", View),
        ("listened_by", View),
        ("sequence", c_uint64),
        ("operation", c_uint64),
        ("upload_permille", c_uint32),
        ("reserved", c_uint32),
        ("edited_us", c_int64),
        ("client_id", View),
        ("reserved_words", c_uint64 * 8),
    ]


class Gap(ctypes.Structure):
    """``tl_gap``."""

    _fields_ = [
        ("before_row", c_uint32),
        ("poisoned", c_uint32),
        ("low_us", c_int64),
        ("high_us", c_int64),
        ("reserved_words", c_uint64 * 8),
    ]


class Coverage(ctypes.Structure):
    """``tl_coverage``."""

    _fields_ = [
        ("struct_size", c_uint32),
        ("whole", c_uint32),
        ("stop", c_int32),
        ("gap_count", c_uint32),
        ("gaps", POINTER(Gap)),
        ("deletions_as_of_us", c_int64),
        ("content_as_of_us", c_int64),
        ("total_count", c_int64),
        ("known_count", c_uint64),
        ("marks_as_of_us", c_int64),
        ("stale_count", c_uint32),
        ("reserved", c_uint32),
        ("as_of_entry", View),
    ]


class Query(ctypes.Structure):
    """``tl_query``."""

    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("conversation", View),
        ("from_", c_int32),
        ("order", c_int32),
        ("number", c_uint64),
        ("time_us", c_int64),
        ("limit", c_uint32),
        ("reserved", c_uint32),
    ]


class Change(ctypes.Structure):
    """``tl_change``."""

    _fields_ = [
        ("seq", c_uint64),
        ("kind", c_int32),
        ("flags", c_uint32),
        ("first", c_uint64),
        ("last", c_uint64),
        ("conversation", View),
        ("origin", c_int32),
        ("reserved", c_uint32),
        ("reserved_words", c_uint64 * 8),
    ]


class Event(ctypes.Structure):
    """``tl_event``."""

    _fields_ = [
        ("seq", c_uint64),
        ("kind", c_int32),
        ("action", c_int32),
        ("flags", c_uint32),
        ("reserved", c_uint32),
        ("conversation", View),
        ("entity", View),
        ("body", View),
        ("id", View),
        ("reserved_words", c_uint64 * 8),
    ]


class Quarantined(ctypes.Structure):
    """``tl_quarantined``."""

    _fields_ = [
        ("seq", c_uint64),
        ("flags", c_uint32),
        ("reserved", c_uint32),
        ("low_us", c_int64),
        ("high_us", c_int64),
        ("size", c_uint64),
        ("conversation", View),
        ("reason", View),
        ("item", View),
        ("reserved_words", c_uint64 * 8),
    ]


class Entity(ctypes.Structure):
    """``tl_entity``."""

    _fields_ = [
        ("kind", c_int32),
        ("reserved", c_uint32),
        ("conversation", View),
        ("id", View),
        ("body", View),
        ("reserved_words", c_uint64 * 8),
    ]


class EntityQuery(ctypes.Structure):
    """``tl_entity_query``."""

    _fields_ = [
        ("struct_size", c_uint32),
        ("kind", c_int32),
        ("conversation", View),
        ("id", View),
        ("after_conversation", View),
        ("after_id", View),
        ("limit", c_uint32),
        ("reserved", c_uint32),
    ]


class Text(ctypes.Structure):
    """``tl_text``."""

    _fields_ = [
        ("bytes", View),
    ]


class WindowConfig(ctypes.Structure):
    """``tl_window_config``."""

    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("conversation", View),
        ("at", c_int32),
        ("count", c_uint32),
        ("id", View),
        ("time_us", c_int64),
        ("rows_max", c_uint32),
        ("hold_ms", c_uint32),
        ("policy", c_int32),
        ("limit_ms", c_uint32),
        ("reserved", c_uint32),
        ("age_us", c_int64),
    ]


class Load(ctypes.Structure):
    """``tl_load``."""

    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("kind", c_int32),
        ("count", c_uint32),
        ("number", c_uint64),
        ("at", c_int32),
        ("reserved", c_uint32),
        ("id", View),
        ("time_us", c_int64),
    ]


class Op(ctypes.Structure):
    """``tl_op``."""

    _fields_ = [
        ("kind", c_int32),
        ("row", c_uint32),
        ("from_", c_uint32),
        ("count", c_uint32),
    ]


class Diff(ctypes.Structure):
    """``tl_diff``."""

    _fields_ = [
        ("from_version", c_uint64),
        ("to_version", c_uint64),
        ("checksum", c_uint64),
        ("row_count", c_uint32),
        ("op_count", c_uint32),
        ("ops", POINTER(Op)),
    ]


class WindowStatus(ctypes.Structure):
    """``tl_window_status``."""

    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("version", c_uint64),
        ("checksum", c_uint64),
        ("row_count", c_uint32),
        ("split_count", c_uint32),
        ("waiting", c_int32),
        ("trouble", c_int32),
        ("anchor", c_uint64),
        ("basis", c_int32),
        ("reserved", c_uint32),
        ("as_of_us", c_int64),
    ]


class ListConfig(ctypes.Structure):
    """``tl_list_config``."""

    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("rows_max", c_uint32),
        ("policy", c_int32),
        ("limit_ms", c_uint32),
        ("reserved", c_uint32),
        ("age_us", c_int64),
    ]


class Conversation(ctypes.Structure):
    """``tl_conversation``."""

    _fields_ = [
        ("number", c_uint64),
        ("flags", c_uint32),
        ("member_count", c_uint32),
        ("unread", c_uint64),
        ("activity_us", c_int64),
        ("id", View),
        ("title", View),
        ("body", View),
        ("last_read", View),
        ("draft", View),
        ("draft_reply_to", View),
        ("typing", View),
        ("last", POINTER(Message)),
        ("client_id", View),
        ("reserved_words", c_uint64 * 8),
    ]


class ListStatus(ctypes.Structure):
    """``tl_list_status``."""

    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("version", c_uint64),
        ("checksum", c_uint64),
        ("unread", c_uint64),
        ("row_count", c_uint32),
        ("conversation_count", c_uint32),
        ("trouble", c_int32),
        ("basis", c_int32),
        ("as_of_us", c_int64),
    ]


class Fold(ctypes.Structure):
    """``tl_fold``."""

    _fields_ = [
        ("fold", c_uint32),
        ("zone_offset_min", c_int32),
        ("bits", c_uint64),
        ("reserved_words", c_uint64 * 8),
    ]


FoldHook = ctypes.CFUNCTYPE(None, c_void_p, POINTER(Message), POINTER(Fold))


class ItemsConfig(ctypes.Structure):
    """``tl_items_config``."""

    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("gap_min", c_uint32),
        ("zone_offset_min", c_int32),
        ("fold", FoldHook),
        ("fold_context", c_void_p),
        ("fold_drop", DropHook),
    ]


class Item(ctypes.Structure):
    """``tl_item``."""

    _fields_ = [
        ("key", c_uint64),
        ("flags", c_uint32),
        ("row", c_uint32),
        ("row_count", c_uint32),
        ("range", c_uint32),
        ("place", c_uint32),
        ("group_count", c_uint32),
        ("day", c_int64),
        ("gap_us", c_int64),
        ("number", c_uint64),
        ("bits", c_uint64),
        ("reserved_words", c_uint64 * 8),
    ]


class ItemsStatus(ctypes.Structure):
    """``tl_items_status``."""

    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("version", c_uint64),
        ("checksum", c_uint64),
        ("item_count", c_uint32),
        ("row_count", c_uint32),
        ("range_count", c_uint32),
        ("unread_item", c_uint32),
    ]


class Send(ctypes.Structure):
    """``tl_send``."""

    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("conversation", View),
        ("payload", View),
        ("reply_to", View),
        ("attachment", View),
        ("metadata", View),
        ("client_id", View),
    ]


class Operation(ctypes.Structure):
    """``tl_operation``."""

    _fields_ = [
        ("id", c_uint64),
        ("number", c_uint64),
        ("state", c_int32),
        ("waiting", c_int32),
        ("attempts", c_uint32),
        ("upload_permille", c_uint32),
        ("retry_ms", c_int64),
        ("verb", View),
        ("conversation", View),
        ("message", View),
        ("client_id", View),
        ("request", View),
        ("result", View),
        ("error_code", View),
        ("error_text", View),
        ("reserved_words", c_uint64 * 8),
    ]


class OperationQuery(ctypes.Structure):
    """``tl_operation_query``."""

    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("conversation", View),
        ("after", c_uint64),
        ("limit", c_uint32),
        ("reserved", c_uint32),
    ]


class Draft(ctypes.Structure):
    """``tl_draft``."""

    _fields_ = [
        ("struct_size", c_uint32),
        ("reserved", c_uint32),
        ("conversation", View),
        ("text", View),
        ("reply_to", View),
    ]


class Progress(ctypes.Structure):
    """``tl_progress``."""

    _fields_ = [
        ("struct_size", c_uint32),
        ("is_done", c_uint32),
        ("done", c_uint64),
        ("total", c_uint64),
    ]


class Search(ctypes.Structure):
    """``tl_search``."""

    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("text", View),
        ("conversation", View),
        ("sender", View),
        ("from_us", c_int64),
        ("before_us", c_int64),
        ("after_time_us", c_int64),
        ("after_number", c_uint64),
        ("limit", c_uint32),
        ("order", c_int32),
        ("behind", c_void_p),
    ]


class Mark(ctypes.Structure):
    """``tl_mark``."""

    _fields_ = [
        ("member", View),
        ("utf8_first", c_uint32),
        ("utf8_count", c_uint32),
        ("utf16_first", c_uint32),
        ("utf16_count", c_uint32),
    ]


class Hit(ctypes.Structure):
    """``tl_hit``."""

    _fields_ = [
        ("message", Message),
        ("marks", POINTER(Mark)),
        ("mark_count", c_uint32),
        ("reserved", c_uint32),
        ("searchable", View),
        ("reserved_words", c_uint64 * 6),
    ]


class Searched(ctypes.Structure):
    """``tl_searched``."""

    _fields_ = [
        ("struct_size", c_uint32),
        ("asked", c_int32),
        ("has_more", c_uint32),
        ("is_cut", c_uint32),
        ("sealed", c_uint32),
        ("partial", c_uint32),
        ("unbuilt", c_uint64),
        ("total", c_uint64),
        ("count", c_uint64),
        ("counted", c_int32),
        ("reserved", c_uint32),
    ]


class Unsearched(ctypes.Structure):
    """``tl_unsearched``."""

    _fields_ = [
        ("number", c_uint64),
        ("conversation", View),
        ("whole_from_us", c_int64),
        ("flags", c_uint32),
        ("sealed", c_uint32),
        ("reserved_words", c_uint64 * 8),
    ]


class Budget(ctypes.Structure):
    """``tl_budget``."""

    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("messages", c_uint64),
        ("bytes", c_uint64),
        ("messages_each", c_uint64),
        ("bytes_each", c_uint64),
        ("age_us", c_int64),
        ("young_us", c_int64),
    ]


class Room(ctypes.Structure):
    """``tl_room``."""

    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("messages", c_uint64),
        ("bytes", c_uint64),
        ("purged_messages", c_uint64),
        ("purged_bytes", c_uint64),
        ("free_bytes", c_uint64),
    ]


ImportRead = ctypes.CFUNCTYPE(c_int32, c_void_p, c_uint64, c_void_p, c_size_t, POINTER(c_size_t))


class Import(ctypes.Structure):
    """``tl_import``."""

    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("name", View),
        ("conversation", View),
        ("size", c_uint64),
        ("read", ImportRead),
        ("context", c_void_p),
        ("drop", DropHook),
    ]


class Imported(ctypes.Structure):
    """``tl_imported``."""

    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("lines", c_uint64),
        ("inserted", c_uint64),
        ("known", c_uint64),
        ("bad", c_uint64),
        ("offset", c_uint64),
    ]


class BadLine(ctypes.Structure):
    """``tl_bad_line``."""

    _fields_ = [
        ("number", c_uint64),
        ("reason", View),
    ]


ExportWrite = ctypes.CFUNCTYPE(c_int32, c_void_p, View)


class Export(ctypes.Structure):
    """``tl_export``."""

    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("conversation", View),
        ("write", ExportWrite),
        ("context", c_void_p),
        ("drop", DropHook),
    ]


class Receipt(ctypes.Structure):
    """``tl_receipt``."""

    _fields_ = [
        ("struct_size", c_uint32),
        ("files", c_uint32),
        ("conversations", c_uint64),
        ("messages", c_uint64),
        ("operations", c_uint64),
        ("items", c_uint64),
        ("bytes", c_uint64),
        ("file_bytes", c_uint64),
    ]


class Checked(ctypes.Structure):
    """``tl_checked``."""

    _fields_ = [
        ("struct_size", c_uint32),
        ("is_healed", c_uint32),
        ("pages", c_uint64),
        ("damaged", c_uint64),
        ("messages", c_uint64),
        ("operations", c_uint64),
        ("contradictions", c_uint64),
    ]


class Stats(ctypes.Structure):
    """``tl_stats``."""

    _fields_ = [
        ("struct_size", c_uint32),
        ("wal_frames_rejected", c_uint32),
        ("conversations", c_uint64),
        ("messages", c_uint64),
        ("tombstones", c_uint64),
        ("quarantined", c_uint64),
        ("frames_in", c_uint64),
        ("frames_bad", c_uint64),
        ("frames_ignored", c_uint64),
        ("answers_unmatched", c_uint64),
        ("frames_out", c_uint64),
        ("bytes_in", c_uint64),
        ("bytes_out", c_uint64),
        ("requests", c_uint64),
        ("timeouts", c_uint64),
        ("retries", c_uint64),
        ("duplicates", c_uint64),
        ("open_failures", c_uint64),
        ("walks_incomplete", c_uint64),
        ("restores", c_uint64),
        ("audit_mismatches", c_uint64),
        ("commits", c_uint64),
        ("file_bytes", c_uint64),
        ("overlap_us", c_int64),
        ("updates", c_uint64),
        ("updates_repeated", c_uint64),
        ("replies", c_uint64),
        ("waiting", c_uint64),
        ("waiting_dropped", c_uint64),
        ("page_limit", c_uint32),
        ("request_timeout_ms", c_uint32),
    ]


class Key(ctypes.Structure):
    """``tl_key``."""

    _fields_ = [
        ("struct_size", c_uint32),
        ("kind", c_int32),
        ("key", View),
        ("label", View),
        ("memory_bytes", c_uint64),
        ("operations", c_uint32),
        ("reserved", c_uint32),
    ]


class KeySlot(ctypes.Structure):
    """``tl_key_slot``."""

    _fields_ = [
        ("slot", c_uint32),
        ("kind", c_int32),
        ("label", View),
        ("memory_bytes", c_uint64),
        ("operations", c_uint32),
        ("reserved", c_uint32),
        ("reserved_words", c_uint64 * 8),
    ]


class ViewportConfig(ctypes.Structure):
    """``tl_viewport_config``."""

    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("extent", c_int64),
        ("margin", c_int64),
        ("estimate", c_int64),
        ("height_min", c_int64),
        ("overscroll_max", c_int64),
        ("near", c_int64),
        ("speed", c_int64),
        ("animation_ms", c_uint32),
        ("reserved", c_uint32),
    ]


class Placed(ctypes.Structure):
    """``tl_placed``."""

    _fields_ = [
        ("key", c_uint64),
        ("row", c_uint32),
        ("flags", c_uint32),
        ("top", c_int64),
        ("height", c_int64),
        ("reserved_words", c_uint64 * 8),
    ]


class Layout(ctypes.Structure):
    """``tl_layout``."""

    _fields_ = [
        ("layouts", c_uint64),
        ("row_count", c_uint32),
        ("missing_count", c_uint32),
        ("rows", POINTER(Placed)),
        ("missing", POINTER(Placed)),
    ]


class Target(ctypes.Structure):
    """``tl_target``."""

    _fields_ = [
        ("struct_size", c_uint32),
        ("edge", c_int32),
        ("key", c_uint64),
        ("inset", c_int64),
    ]


class ViewportStatus(ctypes.Structure):
    """``tl_viewport_status``."""

    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("row_count", c_uint32),
        ("visible_first", c_uint32),
        ("visible_count", c_uint32),
        ("placed_first", c_uint32),
        ("placed_count", c_uint32),
        ("anchor_row", c_uint32),
        ("anchor_key", c_uint64),
        ("anchor_top", c_int64),
        ("checksum", c_uint64),
        ("layouts", c_uint64),
        ("total", c_int64),
        ("above", c_int64),
        ("below", c_int64),
        ("overscroll", c_int64),
        ("bar_start", c_uint32),
        ("bar_size", c_uint32),
    ]


#: Of each record of a batch, how `struct` reads it.
RECORDS = {
    "tl_message": "=QqiI24Q2Iq2Q64x",
    "tl_gap": "=2I2q64x",
    "tl_change": "=QiI4QiI64x",
    "tl_event": "=Q2i2I8Q64x",
    "tl_quarantined": "=Q2I2q7Q64x",
    "tl_entity": "=iI6Q64x",
    "tl_conversation": "=Q2IQq17Q64x",
    "tl_fold": "=IiQ64x",
    "tl_item": "=Q6I2q2Q64x",
    "tl_operation": "=2Q2i2Iq16Q64x",
    "tl_hit": "=QqiI24Q2Iq2Q64xQ2I2Q48x",
    "tl_unsearched": "=3Qq2I64x",
    "tl_key_slot": "=Ii3Q2I64x",
    "tl_placed": "=Q2I2q64x",
}

#: Of each function, its result and its arguments.
FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "tl_last_error": (c_char_p, []),
    "tl_status_name": (c_char_p, [c_int32]),
    "tl_batch_bad_lines": (c_void_p, [c_void_p, POINTER(c_size_t)]),
    "tl_batch_changes": (c_void_p, [c_void_p, POINTER(c_size_t)]),
    "tl_batch_conversations": (c_void_p, [c_void_p, POINTER(c_size_t)]),
    "tl_batch_entities": (c_void_p, [c_void_p, POINTER(c_size_t)]),
    "tl_batch_events": (c_void_p, [c_void_p, POINTER(c_size_t)]),
    "tl_batch_hits": (c_void_p, [c_void_p, POINTER(c_size_t)]),
    "tl_batch_items": (c_void_p, [c_void_p, POINTER(c_size_t)]),
    "tl_batch_key_slots": (c_void_p, [c_void_p, POINTER(c_size_t)]),
    "tl_batch_rows": (c_void_p, [c_void_p, POINTER(c_size_t)]),
    "tl_batch_operations": (c_void_p, [c_void_p, POINTER(c_size_t)]),
    "tl_batch_quarantined": (c_void_p, [c_void_p, POINTER(c_size_t)]),
    "tl_batch_unsearched": (c_void_p, [c_void_p, POINTER(c_size_t)]),
    "tl_status_is_transient": (c_int32, [c_int32]),
    "tl_key_bytes": (c_size_t, []),
    "tl_batch_block": (c_int32, [c_void_p, POINTER(View)]),
    "tl_batch_coverage": (c_int32, [c_void_p, POINTER(Coverage)]),
    "tl_batch_searched": (c_int32, [c_void_p, POINTER(Searched)]),
    "tl_client_advance": (c_int32, [c_void_p, POINTER(c_int64)]),
    "tl_client_backup": (c_int32, [c_void_p, View, POINTER(c_void_p)]),
    "tl_client_cancel": (c_int32, [c_void_p, c_uint64]),
    "tl_client_changes": (c_int32, [c_void_p, c_uint64, c_uint32, POINTER(c_void_p)]),
    "tl_client_check": (c_int32, [c_void_p, c_int32, POINTER(c_void_p)]),
    "tl_client_clear": (c_int32, [c_void_p]),
    "tl_client_connected": (c_int32, [c_void_p]),
    "tl_client_connection_dead": (c_int32, [c_void_p]),
    "tl_client_conversation": (c_int32, [c_void_p, View, POINTER(c_void_p)]),
    "tl_client_conversations": (c_int32, [c_void_p, c_uint32, c_uint32, POINTER(c_void_p)]),
    "tl_client_disconnected": (c_int32, [c_void_p]),
    "tl_client_draft": (c_int32, [c_void_p, POINTER(Draft)]),
    "tl_client_drop": (c_int32, [c_void_p, View, View]),
    "tl_client_entities": (c_int32, [c_void_p, POINTER(EntityQuery), POINTER(c_void_p)]),
    "tl_client_event_fd": (c_int32, [c_void_p, POINTER(c_int32)]),
    "tl_client_events": (c_int32, [c_void_p, c_uint64, c_uint32, POINTER(c_void_p)]),
    "tl_client_explain": (c_int32, [c_void_p, View, View, c_uint32, POINTER(POINTER(Text))]),
    "tl_client_export": (c_int32, [c_void_p, POINTER(Export), POINTER(c_void_p)]),
    "tl_client_forget": (c_int32, [c_void_p, View, View]),
    "tl_client_frame_sent": (c_int32, [c_void_p, c_uint64]),
    "tl_client_import": (c_int32, [c_void_p, POINTER(Import), POINTER(c_void_p)]),
    "tl_client_import_bad": (c_int32, [c_void_p, View, c_uint64, c_uint32, POINTER(c_void_p)]),
    "tl_client_imported": (c_int32, [c_void_p, View, POINTER(Imported)]),
    "tl_client_keys": (c_int32, [c_void_p, POINTER(c_void_p)]),
    "tl_client_mark_delivered": (c_int32, [c_void_p, View, POINTER(View), c_size_t]),
    "tl_client_mark_listened": (c_int32, [c_void_p, View, POINTER(View), c_size_t]),
    "tl_client_mark_read": (c_int32, [c_void_p, View, POINTER(View), c_size_t]),
    "tl_client_message": (c_int32, [c_void_p, View, View, POINTER(c_void_p)]),
    "tl_client_messages": (c_int32, [c_void_p, POINTER(Query), POINTER(c_void_p)]),
    "tl_client_next_frame": (c_int32, [c_void_p, POINTER(POINTER(Frame))]),
    "tl_client_numbered": (c_int32, [
        c_void_p, View, c_uint64, c_uint64, c_uint32, POINTER(c_void_p)]),
    "tl_client_open": (c_int32, [POINTER(ClientConfig), POINTER(c_void_p)]),
    "tl_client_operation": (c_int32, [c_void_p, c_uint64, POINTER(c_void_p)]),
    "tl_client_operations": (c_int32, [c_void_p, POINTER(OperationQuery), POINTER(c_void_p)]),
    "tl_client_perform": (c_int32, [
        c_void_p, View, c_uint32, POINTER(c_uint64), POINTER(c_uint64)]),
    "tl_client_purge": (c_int32, [c_void_p, POINTER(c_void_p)]),
    "tl_client_quarantined": (c_int32, [c_void_p, View, c_uint64, c_uint32, POINTER(c_void_p)]),
    "tl_client_reacquire": (c_int32, [c_void_p]),
    "tl_client_receive": (c_int32, [c_void_p, View]),
    "tl_client_rekey": (c_int32, [c_void_p, View, POINTER(c_void_p)]),
    "tl_client_release": (c_int32, [c_void_p]),
    "tl_client_reopen_payloads": (c_int32, [c_void_p, View, POINTER(c_uint64)]),
    "tl_client_rest": (c_int32, [c_void_p]),
    "tl_client_retain": (c_int32, [c_void_p, POINTER(Budget)]),
    "tl_client_room": (c_int32, [c_void_p, View, POINTER(Room)]),
    "tl_client_search": (c_int32, [c_void_p, POINTER(Search), POINTER(c_void_p)]),
    "tl_client_send": (c_int32, [c_void_p, POINTER(Send), POINTER(c_uint64), POINTER(c_uint64)]),
    "tl_client_state": (c_int32, [c_void_p, POINTER(State)]),
    "tl_client_stats": (c_int32, [c_void_p, POINTER(Stats)]),
    "tl_client_sync": (c_int32, [c_void_p, POINTER(SyncRequest), POINTER(c_uint64)]),
    "tl_client_sync_status": (c_int32, [c_void_p, c_uint64, POINTER(SyncStatus)]),
    "tl_client_typing": (c_int32, [c_void_p, View, c_int32]),
    "tl_client_wipe": (c_int32, [c_void_p]),
    "tl_file_watch": (c_int32, [View, POINTER(c_int32)]),
    "tl_frame_account": (c_int32, [View, POINTER(View)]),
    "tl_items_bits": (c_int32, [c_void_p, c_uint32, c_uint32, POINTER(c_uint64)]),
    "tl_items_find": (c_int32, [c_void_p, View, POINTER(c_uint32), POINTER(c_uint32)]),
    "tl_items_find_key": (c_int32, [c_void_p, c_uint64, POINTER(c_uint32)]),
    "tl_items_messages": (c_int32, [c_void_p, c_uint32, c_uint32, c_uint32, POINTER(c_void_p)]),
    "tl_items_open": (c_int32, [c_void_p, POINTER(ItemsConfig), POINTER(c_void_p)]),
    "tl_items_poll": (c_int32, [c_void_p, POINTER(POINTER(Diff))]),
    "tl_items_range": (c_int32, [c_void_p, c_uint32, POINTER(c_uint32), POINTER(c_uint32)]),
    "tl_items_read": (c_int32, [c_void_p, c_uint32, c_uint32, POINTER(c_void_p)]),
    "tl_items_set_open": (c_int32, [c_void_p, c_uint32, c_int32]),
    "tl_items_show": (c_int32, [c_void_p, c_uint32, c_uint32]),
    "tl_items_state": (c_int32, [c_void_p, POINTER(ItemsStatus)]),
    "tl_items_unread": (c_int32, [c_void_p, c_uint64]),
    "tl_key_add": (c_int32, [c_void_p, POINTER(Key), POINTER(c_uint32)]),
    "tl_key_change": (c_int32, [c_void_p, c_uint32, POINTER(Key)]),
    "tl_key_code": (c_int32, [c_void_p, c_size_t]),
    "tl_key_remove": (c_int32, [c_void_p, c_uint32]),
    "tl_keys_read": (c_int32, [View, POINTER(c_void_p)]),
    "tl_list_find": (c_int32, [c_void_p, View, POINTER(c_uint32)]),
    "tl_list_open": (c_int32, [c_void_p, POINTER(ListConfig), POINTER(c_void_p)]),
    "tl_list_poll": (c_int32, [c_void_p, POINTER(POINTER(Diff))]),
    "tl_list_rows": (c_int32, [c_void_p, c_uint32, c_uint32, POINTER(c_void_p)]),
    "tl_list_state": (c_int32, [c_void_p, POINTER(ListStatus)]),
    "tl_merge_deltas": (c_int32, [View, View, POINTER(POINTER(Text))]),
    "tl_merge_messages": (c_int32, [View, View, POINTER(POINTER(Text))]),
    "tl_operation_cancel": (c_int32, [c_void_p, c_uint64]),
    "tl_operation_edit": (c_int32, [c_void_p, c_uint64, View]),
    "tl_operation_progress": (c_int32, [c_void_p, c_uint64, c_uint32]),
    "tl_operation_retry": (c_int32, [c_void_p, c_uint64]),
    "tl_operation_upload_failed": (c_int32, [c_void_p, c_uint64, View]),
    "tl_operation_uploaded": (c_int32, [c_void_p, c_uint64, View]),
    "tl_salvage": (c_int32, [POINTER(ClientConfig), View, POINTER(c_void_p)]),
    "tl_search_build": (c_int32, [c_void_p, POINTER(c_void_p)]),
    "tl_search_check": (c_int32, [c_void_p, POINTER(c_void_p)]),
    "tl_search_switch": (c_int32, [c_void_p, c_int32]),
    "tl_search_unsearched": (c_int32, [c_void_p, View, c_uint64, c_uint32, POINTER(c_void_p)]),
    "tl_viewport_animate_to": (c_int32, [c_void_p, POINTER(Target), c_int64, c_int64]),
    "tl_viewport_at": (c_int32, [c_void_p, c_int64, POINTER(Placed)]),
    "tl_viewport_find": (c_int32, [c_void_p, c_uint64, POINTER(Placed)]),
    "tl_viewport_layout": (c_int32, [c_void_p, POINTER(POINTER(Layout))]),
    "tl_viewport_measure": (c_int32, [c_void_p, POINTER(c_uint64), POINTER(c_int64), c_size_t]),
    "tl_viewport_new": (c_int32, [POINTER(ViewportConfig), POINTER(c_void_p)]),
    "tl_viewport_release": (c_int32, [c_void_p, c_int64]),
    "tl_viewport_resize": (c_int32, [c_void_p, c_int64, c_uint32]),
    "tl_viewport_scroll": (c_int32, [c_void_p, c_int64, c_uint32]),
    "tl_viewport_scroll_to": (c_int32, [c_void_p, POINTER(Target)]),
    "tl_viewport_state": (c_int32, [c_void_p, POINTER(ViewportStatus)]),
    "tl_viewport_stop": (c_int32, [c_void_p]),
    "tl_viewport_tick": (c_int32, [c_void_p, c_int64]),
    "tl_viewport_update": (c_int32, [
        c_void_p, POINTER(Op), c_size_t, POINTER(c_uint64), POINTER(c_uint32), c_size_t]),
    "tl_window_fill": (c_int32, [c_void_p, c_uint32]),
    "tl_window_find": (c_int32, [c_void_p, View, POINTER(c_uint32)]),
    "tl_window_load": (c_int32, [c_void_p, POINTER(Load)]),
    "tl_window_open": (c_int32, [c_void_p, POINTER(WindowConfig), POINTER(c_void_p)]),
    "tl_window_poll": (c_int32, [c_void_p, POINTER(POINTER(Diff))]),
    "tl_window_rows": (c_int32, [c_void_p, c_uint32, c_uint32, POINTER(c_void_p)]),
    "tl_window_show": (c_int32, [c_void_p, c_uint32, c_uint32]),
    "tl_window_state": (c_int32, [c_void_p, POINTER(WindowStatus)]),
    "tl_window_trim": (c_int32, [c_void_p, c_uint32, c_uint32]),
    "tl_work_checked": (c_int32, [c_void_p, POINTER(Checked)]),
    "tl_work_receipt": (c_int32, [c_void_p, POINTER(Receipt)]),
    "tl_work_step": (c_int32, [c_void_p, c_uint32, POINTER(Progress)]),
    "tl_abi": (c_uint32, []),
    "tl_version": (c_uint32, []),
    "tl_checksum": (c_uint64, [POINTER(c_uint64), c_size_t]),
    "tl_batch_free": (None, [c_void_p]),
    "tl_client_close": (None, [c_void_p]),
    "tl_client_free": (None, [c_void_p]),
    "tl_diff_free": (None, [POINTER(Diff)]),
    "tl_frame_free": (None, [POINTER(Frame)]),
    "tl_items_close": (None, [c_void_p]),
    "tl_items_free": (None, [c_void_p]),
    "tl_layout_free": (None, [POINTER(Layout)]),
    "tl_list_close": (None, [c_void_p]),
    "tl_list_free": (None, [c_void_p]),
    "tl_text_free": (None, [POINTER(Text)]),
    "tl_viewport_free": (None, [c_void_p]),
    "tl_window_close": (None, [c_void_p]),
    "tl_window_free": (None, [c_void_p]),
    "tl_work_free": (None, [c_void_p]),
}
