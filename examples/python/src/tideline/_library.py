"""The shared library: where it is found, its structs and its functions.

The structs mirror ``tideline.h`` field by field; a test compares their sizes and offsets with those
that a C compiler gives.
"""

from __future__ import annotations

import ctypes
import os
import pathlib
from ctypes import POINTER, c_char_p, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p

ABI = 1
HOLD_NONE = 0xFFFFFFFF
ITEM_NONE = 0xFFFFFFFF
NO_DAY = -(1 << 63)


class View(ctypes.Structure):
    """``tl_view``: borrowed bytes."""

    _fields_ = [("data", c_void_p), ("size", c_size_t)]


def view(data: bytes) -> View:
    """A view of bytes that the caller keeps alive for the call."""
    return View(c_void_p.from_buffer(c_char_p(data)).value if data else None, len(data))


class Profile(ctypes.Structure):
    """``tl_profile``."""

    _fields_ = [
        ("struct_size", c_uint32), ("flags", c_uint32), ("page_limit", c_uint32),
        ("truncates", c_int32), ("ties", c_int32), ("capabilities", c_uint32),
        ("time_resolution_us", c_int64), ("overlap_ms", c_uint32),
        ("deletion_horizon_s", c_uint32), ("zone_offset_min", c_int32), ("ref_days", c_uint32),
        ("refs_max", c_uint32), ("pages_max", c_uint32), ("search_members", View),
        ("idempotency_scope", c_int32), ("idempotency_s", c_uint32),
    ]


class Sealed(ctypes.Structure):
    """``tl_sealed``."""

    _fields_ = [
        ("conversation", View), ("id", View), ("sender", View), ("payload", View),
        ("message", View),
    ]


class Opened(ctypes.Structure):
    """``tl_opened``."""

    _fields_ = [("payload", View), ("flags", c_uint32), ("reserved", c_uint32),
                ("searchable", View)]


class Unsealed(ctypes.Structure):
    """``tl_unsealed``."""

    _fields_ = [
        ("conversation", View), ("client_id", View), ("message", View), ("payload", View),
    ]


OpenHook = ctypes.CFUNCTYPE(c_int32, c_void_p, POINTER(Sealed), POINTER(Opened))
SealHook = ctypes.CFUNCTYPE(c_int32, c_void_p, POINTER(Unsealed), POINTER(Opened))
LogHook = ctypes.CFUNCTYPE(None, c_void_p, c_int32, POINTER(View))
ClockHook = ctypes.CFUNCTYPE(c_int64, c_void_p)


class PolicyQuestion(ctypes.Structure):
    """``tl_policy_question``."""

    _fields_ = [("conversation", View), ("kind", c_int32), ("flags", c_uint32)]


class PolicyChoice(ctypes.Structure):
    """``tl_policy_choice``."""

    _fields_ = [("policy", c_int32), ("limit_ms", c_uint32), ("age_us", c_int64)]


PolicyHook = ctypes.CFUNCTYPE(
    None, c_void_p, POINTER(PolicyQuestion), POINTER(PolicyChoice))
DropHook = ctypes.CFUNCTYPE(None, c_void_p)


class Stored(ctypes.Structure):
    """``tl_stored``."""

    _fields_ = [("name", View), ("fence", c_uint64), ("object", c_int32), ("reserved", c_uint32)]


StorageAcquire = ctypes.CFUNCTYPE(c_int32, c_void_p, POINTER(View), POINTER(c_uint64))
StorageAt = ctypes.CFUNCTYPE(c_int32, c_void_p, POINTER(Stored))
StorageRead = ctypes.CFUNCTYPE(
    c_int32, c_void_p, POINTER(Stored), c_uint64, c_void_p, c_size_t, POINTER(c_size_t))
StorageWrite = ctypes.CFUNCTYPE(c_int32, c_void_p, POINTER(Stored), c_uint64, POINTER(View))
StorageTruncate = ctypes.CFUNCTYPE(c_int32, c_void_p, POINTER(Stored), c_uint64)
StorageSize = ctypes.CFUNCTYPE(c_int32, c_void_p, POINTER(Stored), POINTER(c_uint64))


class Storage(ctypes.Structure):
    """``tl_storage``."""

    _fields_ = [
        ("struct_size", c_uint32), ("flags", c_uint32), ("context", c_void_p),
        ("drop", DropHook), ("acquire", StorageAcquire), ("release", StorageAt),
        ("read", StorageRead), ("write", StorageWrite), ("truncate", StorageTruncate),
        ("size", StorageSize), ("sync", StorageAt), ("remove", StorageAt),
    ]


class ClientConfig(ctypes.Structure):
    """``tl_client_config``."""

    _fields_ = [
        ("struct_size", c_uint32), ("flags", c_uint32), ("path", View), ("key", View),
        ("account", View), ("user_id", View), ("profile", POINTER(Profile)),
        ("cache_bytes", c_uint64), ("request_timeout_ms", c_uint32), ("requests_max", c_uint32),
        ("open", OpenHook), ("open_context", c_void_p), ("open_drop", DropHook),
        ("log", LogHook), ("log_context", c_void_p), ("log_drop", DropHook),
        ("clock", ClockHook), ("clock_context", c_void_p),
        ("seal", SealHook), ("seal_context", c_void_p), ("seal_drop", DropHook),
        ("seen_ms", c_uint32), ("reserved", c_uint32), ("storage", POINTER(Storage)),
        ("choose", PolicyHook), ("choose_context", c_void_p), ("choose_drop", DropHook),
        ("device", View),
    ]


class Frame(ctypes.Structure):
    """``tl_frame``."""

    _fields_ = [("id", c_uint64), ("bytes", View)]


class State(ctypes.Structure):
    """``tl_state``."""

    _fields_ = [
        ("struct_size", c_uint32), ("phase", c_int32), ("syncs_left", c_uint32),
        ("requests_in_flight", c_uint32), ("frames_waiting", c_uint32),
        ("reconnect_wanted", c_uint32), ("reads_pending", c_uint32), ("replies_owed", c_uint32),
        ("change_seq", c_uint64), ("as_of_us", c_int64), ("operations_open", c_uint32),
        ("operations_stuck", c_uint32),
    ]


class SyncRequest(ctypes.Structure):
    """``tl_sync_request``."""

    _fields_ = [
        ("struct_size", c_uint32), ("flags", c_uint32), ("conversation", View),
        ("kind", c_int32), ("policy", c_int32), ("want", c_uint32), ("pages_max", c_uint32),
        ("limit_ms", c_uint32), ("reserved", c_uint32), ("age_us", c_int64),
    ]


class SyncStatus(ctypes.Structure):
    """``tl_sync_status``."""

    _fields_ = [
        ("struct_size", c_uint32), ("phase", c_int32), ("result", c_int32),
        ("requests", c_uint32), ("received", c_uint32), ("inserted", c_uint32),
        ("removed", c_uint32), ("reserved", c_uint32), ("done", c_uint32), ("total", c_uint32),
        ("basis", c_int32), ("reason", c_int32), ("as_of_us", c_int64),
        ("step_back_us", c_int64),
    ]


class Message(ctypes.Structure):
    """``tl_message``."""

    _fields_ = [
        ("number", c_uint64), ("time_us", c_int64), ("state", c_int32), ("flags", c_uint32),
        ("id", View), ("conversation", View), ("sender", View), ("stamp", View),
        ("payload", View), ("reply_to", View), ("reactions", View), ("read_by", View),
        ("rest", View), ("delivered_by", View), ("listened_by", View), ("sequence", c_uint64),
        ("operation", c_uint64), ("upload_permille", c_uint32), ("reserved", c_uint32),
        ("edited_us", c_int64), ("client_id", View), ("reserved_words", c_uint64 * 8),
    ]


class Gap(ctypes.Structure):
    """``tl_gap``."""

    _fields_ = [
        ("before_row", c_uint32), ("poisoned", c_uint32), ("low_us", c_int64),
        ("high_us", c_int64), ("reserved_words", c_uint64 * 8),
    ]


class Coverage(ctypes.Structure):
    """``tl_coverage``."""

    _fields_ = [
        ("struct_size", c_uint32), ("whole", c_uint32), ("stop", c_int32),
        ("gap_count", c_uint32), ("gaps", POINTER(Gap)), ("deletions_as_of_us", c_int64),
        ("content_as_of_us", c_int64), ("total_count", c_int64), ("known_count", c_uint64),
        ("marks_as_of_us", c_int64), ("stale_count", c_uint32), ("reserved", c_uint32),
        ("as_of_entry", View),
    ]


class Query(ctypes.Structure):
    """``tl_query``."""

    _fields_ = [
        ("struct_size", c_uint32), ("flags", c_uint32), ("conversation", View),
        ("from_", c_int32), ("order", c_int32), ("number", c_uint64), ("time_us", c_int64),
        ("limit", c_uint32), ("reserved", c_uint32),
    ]


class Change(ctypes.Structure):
    """``tl_change``."""

    _fields_ = [
        ("seq", c_uint64), ("kind", c_int32), ("flags", c_uint32), ("first", c_uint64),
        ("last", c_uint64), ("conversation", View), ("origin", c_int32), ("reserved", c_uint32),
        ("reserved_words", c_uint64 * 8),
    ]


class Event(ctypes.Structure):
    """``tl_event``."""

    _fields_ = [
        ("seq", c_uint64), ("kind", c_int32), ("action", c_int32), ("flags", c_uint32),
        ("reserved", c_uint32), ("conversation", View), ("entity", View), ("body", View),
        ("id", View), ("reserved_words", c_uint64 * 8),
    ]


class Quarantined(ctypes.Structure):
    """``tl_quarantined``."""

    _fields_ = [
        ("seq", c_uint64), ("flags", c_uint32), ("reserved", c_uint32), ("low_us", c_int64),
        ("high_us", c_int64), ("size", c_uint64), ("conversation", View), ("reason", View),
        ("item", View), ("reserved_words", c_uint64 * 8),
    ]


class Progress(ctypes.Structure):
    """``tl_progress``."""

    _fields_ = [
        ("struct_size", c_uint32), ("is_done", c_uint32), ("done", c_uint64), ("total", c_uint64),
    ]


class Budget(ctypes.Structure):
    """``tl_budget``."""

    _fields_ = [
        ("struct_size", c_uint32), ("flags", c_uint32), ("messages", c_uint64),
        ("bytes", c_uint64), ("messages_each", c_uint64), ("bytes_each", c_uint64),
        ("age_us", c_int64), ("young_us", c_int64),
    ]


ImportRead = ctypes.CFUNCTYPE(c_int32, c_void_p, c_uint64, c_void_p, c_size_t, POINTER(c_size_t))
ExportWrite = ctypes.CFUNCTYPE(c_int32, c_void_p, View)


class Import(ctypes.Structure):
    """``tl_import``."""

    _fields_ = [
        ("struct_size", c_uint32), ("flags", c_uint32), ("name", View), ("conversation", View),
        ("size", c_uint64), ("read", ImportRead), ("context", c_void_p), ("drop", DropHook),
    ]


class Imported(ctypes.Structure):
    """``tl_imported``."""

    _fields_ = [
        ("struct_size", c_uint32), ("flags", c_uint32), ("lines", c_uint64),
        ("inserted", c_uint64), ("known", c_uint64), ("bad", c_uint64), ("offset", c_uint64),
    ]


class BadLine(ctypes.Structure):
    """``tl_bad_line``."""

    _fields_ = [("number", c_uint64), ("reason", View)]


class Export(ctypes.Structure):
    """``tl_export``."""

    _fields_ = [
        ("struct_size", c_uint32), ("flags", c_uint32), ("conversation", View),
        ("write", ExportWrite), ("context", c_void_p), ("drop", DropHook),
    ]


class Room(ctypes.Structure):
    """``tl_room``."""

    _fields_ = [
        ("struct_size", c_uint32), ("flags", c_uint32), ("messages", c_uint64),
        ("bytes", c_uint64), ("purged_messages", c_uint64), ("purged_bytes", c_uint64),
        ("free_bytes", c_uint64),
    ]


class Search(ctypes.Structure):
    """``tl_search``."""

    _fields_ = [
        ("struct_size", c_uint32), ("flags", c_uint32), ("text", View), ("conversation", View),
        ("sender", View), ("from_us", c_int64), ("before_us", c_int64),
        ("after_time_us", c_int64), ("after_number", c_uint64), ("limit", c_uint32),
        ("order", c_int32), ("behind", c_void_p),
    ]


class Mark(ctypes.Structure):
    """``tl_mark``."""

    _fields_ = [
        ("member", View), ("utf8_first", c_uint32), ("utf8_count", c_uint32),
        ("utf16_first", c_uint32), ("utf16_count", c_uint32),
    ]


class Hit(ctypes.Structure):
    """``tl_hit``."""

    _fields_ = [
        ("message", Message), ("marks", POINTER(Mark)), ("mark_count", c_uint32),
        ("reserved", c_uint32), ("searchable", View), ("reserved_words", c_uint64 * 6),
    ]


class Searched(ctypes.Structure):
    """``tl_searched``."""

    _fields_ = [
        ("struct_size", c_uint32), ("asked", c_int32), ("has_more", c_uint32),
        ("is_cut", c_uint32), ("sealed", c_uint32), ("partial", c_uint32),
        ("unbuilt", c_uint64), ("total", c_uint64), ("count", c_uint64), ("counted", c_int32),
        ("reserved", c_uint32),
    ]


class Unsearched(ctypes.Structure):
    """``tl_unsearched``."""

    _fields_ = [
        ("number", c_uint64), ("conversation", View), ("whole_from_us", c_int64),
        ("flags", c_uint32), ("sealed", c_uint32), ("reserved_words", c_uint64 * 8),
    ]


class Entity(ctypes.Structure):
    """``tl_entity``."""

    _fields_ = [
        ("kind", c_int32), ("reserved", c_uint32), ("conversation", View), ("id", View),
        ("body", View), ("reserved_words", c_uint64 * 8),
    ]


class EntityQuery(ctypes.Structure):
    """``tl_entity_query``."""

    _fields_ = [
        ("struct_size", c_uint32), ("kind", c_int32), ("conversation", View), ("id", View),
        ("after_conversation", View), ("after_id", View), ("limit", c_uint32),
        ("reserved", c_uint32),
    ]


class Text(ctypes.Structure):
    """``tl_text``."""

    _fields_ = [("bytes", View)]


class WindowConfig(ctypes.Structure):
    """``tl_window_config``."""

    _fields_ = [
        ("struct_size", c_uint32), ("flags", c_uint32), ("conversation", View), ("at", c_int32),
        ("count", c_uint32), ("id", View), ("time_us", c_int64), ("rows_max", c_uint32),
        ("hold_ms", c_uint32), ("policy", c_int32), ("limit_ms", c_uint32),
        ("reserved", c_uint32), ("age_us", c_int64),
    ]


class Load(ctypes.Structure):
    """``tl_load``."""

    _fields_ = [
        ("struct_size", c_uint32), ("flags", c_uint32), ("kind", c_int32), ("count", c_uint32),
        ("number", c_uint64), ("at", c_int32), ("reserved", c_uint32), ("id", View),
        ("time_us", c_int64),
    ]


class Op(ctypes.Structure):
    """``tl_op``."""

    _fields_ = [
        ("kind", c_int32), ("row", c_uint32), ("from_", c_uint32), ("count", c_uint32),
    ]


class Diff(ctypes.Structure):
    """``tl_diff``."""

    _fields_ = [
        ("from_version", c_uint64), ("to_version", c_uint64), ("checksum", c_uint64),
        ("row_count", c_uint32), ("op_count", c_uint32), ("ops", POINTER(Op)),
    ]


class WindowStatus(ctypes.Structure):
    """``tl_window_status``."""

    _fields_ = [
        ("struct_size", c_uint32), ("flags", c_uint32), ("version", c_uint64),
        ("checksum", c_uint64), ("row_count", c_uint32), ("split_count", c_uint32),
        ("waiting", c_int32), ("trouble", c_int32), ("anchor", c_uint64),
        ("basis", c_int32), ("reserved", c_uint32), ("as_of_us", c_int64),
    ]


class Fold(ctypes.Structure):
    """``tl_fold``."""

    _fields_ = [
        ("fold", c_uint32), ("zone_offset_min", c_int32), ("bits", c_uint64),
        ("reserved_words", c_uint64 * 8),
    ]


FoldHook = ctypes.CFUNCTYPE(None, c_void_p, c_void_p, POINTER(Fold))


class ItemsConfig(ctypes.Structure):
    """``tl_items_config``."""

    _fields_ = [
        ("struct_size", c_uint32), ("flags", c_uint32), ("gap_min", c_uint32),
        ("zone_offset_min", c_int32), ("fold", FoldHook), ("fold_context", c_void_p),
        ("fold_drop", DropHook),
    ]


class Item(ctypes.Structure):
    """``tl_item``."""

    _fields_ = [
        ("key", c_uint64), ("flags", c_uint32), ("row", c_uint32), ("row_count", c_uint32),
        ("range", c_uint32), ("place", c_uint32), ("group_count", c_uint32), ("day", c_int64),
        ("gap_us", c_int64), ("number", c_uint64), ("bits", c_uint64),
        ("reserved_words", c_uint64 * 8),
    ]


class ItemsStatus(ctypes.Structure):
    """``tl_items_status``."""

    _fields_ = [
        ("struct_size", c_uint32), ("flags", c_uint32), ("version", c_uint64),
        ("checksum", c_uint64), ("item_count", c_uint32), ("row_count", c_uint32),
        ("range_count", c_uint32), ("unread_item", c_uint32),
    ]


class ListConfig(ctypes.Structure):
    """``tl_list_config``."""

    _fields_ = [
        ("struct_size", c_uint32), ("flags", c_uint32), ("rows_max", c_uint32),
        ("policy", c_int32), ("limit_ms", c_uint32), ("reserved", c_uint32), ("age_us", c_int64),
    ]


class Conversation(ctypes.Structure):
    """``tl_conversation``."""

    _fields_ = [
        ("number", c_uint64), ("flags", c_uint32), ("member_count", c_uint32),
        ("unread", c_uint64), ("activity_us", c_int64), ("id", View), ("title", View),
        ("body", View), ("last_read", View), ("draft", View), ("draft_reply_to", View),
        ("typing", View), ("last", POINTER(Message)), ("client_id", View),
        ("reserved_words", c_uint64 * 8),
    ]


class ListStatus(ctypes.Structure):
    """``tl_list_status``."""

    _fields_ = [
        ("struct_size", c_uint32), ("flags", c_uint32), ("version", c_uint64),
        ("checksum", c_uint64), ("unread", c_uint64), ("row_count", c_uint32),
        ("conversation_count", c_uint32), ("trouble", c_int32), ("basis", c_int32),
        ("as_of_us", c_int64),
    ]


class Send(ctypes.Structure):
    """``tl_send``."""

    _fields_ = [
        ("struct_size", c_uint32), ("flags", c_uint32), ("conversation", View),
        ("payload", View), ("reply_to", View), ("attachment", View), ("metadata", View),
        ("client_id", View),
    ]


class Draft(ctypes.Structure):
    """``tl_draft``."""

    _fields_ = [
        ("struct_size", c_uint32), ("reserved", c_uint32), ("conversation", View),
        ("text", View), ("reply_to", View),
    ]


class ViewportConfig(ctypes.Structure):
    """``tl_viewport_config``."""

    _fields_ = [
        ("struct_size", c_uint32), ("flags", c_uint32), ("extent", c_int64), ("margin", c_int64),
        ("estimate", c_int64), ("height_min", c_int64), ("overscroll_max", c_int64),
        ("near", c_int64), ("speed", c_int64), ("animation_ms", c_uint32), ("reserved", c_uint32),
    ]


class Placed(ctypes.Structure):
    """``tl_placed``."""

    _fields_ = [
        ("key", c_uint64), ("row", c_uint32), ("flags", c_uint32), ("top", c_int64),
        ("height", c_int64), ("reserved_words", c_uint64 * 8),
    ]


class ViewportLayout(ctypes.Structure):
    """``tl_layout``."""

    _fields_ = [
        ("layouts", c_uint64), ("row_count", c_uint32), ("missing_count", c_uint32),
        ("rows", POINTER(Placed)), ("missing", POINTER(Placed)),
    ]


class Target(ctypes.Structure):
    """``tl_target``."""

    _fields_ = [
        ("struct_size", c_uint32), ("edge", c_int32), ("key", c_uint64), ("inset", c_int64),
    ]


class ViewportStatus(ctypes.Structure):
    """``tl_viewport_status``."""

    _fields_ = [
        ("struct_size", c_uint32), ("flags", c_uint32), ("row_count", c_uint32),
        ("visible_first", c_uint32), ("visible_count", c_uint32), ("placed_first", c_uint32),
        ("placed_count", c_uint32), ("anchor_row", c_uint32), ("anchor_key", c_uint64),
        ("anchor_top", c_int64), ("checksum", c_uint64), ("layouts", c_uint64),
        ("total", c_int64), ("above", c_int64), ("below", c_int64), ("overscroll", c_int64),
        ("bar_start", c_uint32), ("bar_size", c_uint32),
    ]


class Operation(ctypes.Structure):
    """``tl_operation``."""

    _fields_ = [
        ("id", c_uint64), ("number", c_uint64), ("state", c_int32), ("waiting", c_int32),
        ("attempts", c_uint32), ("upload_permille", c_uint32), ("retry_ms", c_int64),
        ("verb", View), ("conversation", View), ("message", View), ("client_id", View),
        ("request", View), ("result", View), ("error_code", View), ("error_text", View),
        ("reserved_words", c_uint64 * 8),
    ]


class OperationQuery(ctypes.Structure):
    """``tl_operation_query``."""

    _fields_ = [
        ("struct_size", c_uint32), ("flags", c_uint32), ("conversation", View),
        ("after", c_uint64), ("limit", c_uint32), ("reserved", c_uint32),
    ]


class Stats(ctypes.Structure):
    """``tl_stats``."""

    _fields_ = [("struct_size", c_uint32), ("wal_frames_rejected", c_uint32)] + [
        (name, c_uint64) for name in (
            "conversations", "messages", "tombstones", "quarantined", "frames_in", "frames_bad",
            "frames_ignored", "answers_unmatched", "frames_out", "bytes_in", "bytes_out",
            "requests", "timeouts", "retries", "duplicates", "open_failures", "walks_incomplete",
            "restores", "audit_mismatches", "commits", "file_bytes")
    ] + [("overlap_us", c_int64)] + [
        (name, c_uint64) for name in (
            "updates", "updates_repeated", "replies", "waiting", "waiting_dropped")
    ] + [("page_limit", c_uint32), ("request_timeout_ms", c_uint32)]


_client, _batch, _window, _list = c_void_p, c_void_p, c_void_p, c_void_p
_work = c_void_p
_viewport = c_void_p
_items = c_void_p
_FUNCTIONS = {
    "tl_abi": (c_uint32, []),
    "tl_version": (c_uint32, []),
    "tl_key_bytes": (c_size_t, []),
    "tl_last_error": (c_char_p, []),
    "tl_status_name": (c_char_p, [c_int32]),
    "tl_status_is_transient": (c_int32, [c_int32]),
    "tl_client_open": (c_int32, [POINTER(ClientConfig), POINTER(_client)]),
    "tl_client_close": (None, [_client]),
    "tl_client_free": (None, [_client]),
    "tl_client_wipe": (c_int32, [_client]),
    "tl_client_connected": (c_int32, [_client]),
    "tl_client_disconnected": (c_int32, [_client]),
    "tl_client_connection_dead": (c_int32, [_client]),
    "tl_client_receive": (c_int32, [_client, View]),
    "tl_client_next_frame": (c_int32, [_client, POINTER(POINTER(Frame))]),
    "tl_client_frame_sent": (c_int32, [_client, c_uint64]),
    "tl_frame_free": (None, [POINTER(Frame)]),
    "tl_client_advance": (c_int32, [_client, POINTER(c_int64)]),
    "tl_client_event_fd": (c_int32, [_client, POINTER(c_int32)]),
    "tl_client_state": (c_int32, [_client, POINTER(State)]),
    "tl_frame_account": (c_int32, [View, POINTER(View)]),
    "tl_client_sync": (c_int32, [_client, POINTER(SyncRequest), POINTER(c_uint64)]),
    "tl_client_cancel": (c_int32, [_client, c_uint64]),
    "tl_client_sync_status": (c_int32, [_client, c_uint64, POINTER(SyncStatus)]),
    "tl_client_messages": (c_int32, [_client, POINTER(Query), POINTER(_batch)]),
    "tl_client_message": (c_int32, [_client, View, View, POINTER(_batch)]),
    "tl_client_numbered": (
        c_int32, [_client, View, c_uint64, c_uint64, c_uint32, POINTER(_batch)]),
    "tl_client_changes": (c_int32, [_client, c_uint64, c_uint32, POINTER(_batch)]),
    "tl_client_events": (c_int32, [_client, c_uint64, c_uint32, POINTER(_batch)]),
    "tl_client_quarantined": (
        c_int32, [_client, View, c_uint64, c_uint32, POINTER(_batch)]),
    "tl_client_entities": (c_int32, [_client, POINTER(EntityQuery), POINTER(_batch)]),
    "tl_batch_rows": (c_void_p, [_batch, POINTER(c_size_t)]),
    "tl_batch_changes": (c_void_p, [_batch, POINTER(c_size_t)]),
    "tl_batch_events": (c_void_p, [_batch, POINTER(c_size_t)]),
    "tl_batch_quarantined": (c_void_p, [_batch, POINTER(c_size_t)]),
    "tl_batch_entities": (c_void_p, [_batch, POINTER(c_size_t)]),
    "tl_batch_operations": (c_void_p, [_batch, POINTER(c_size_t)]),
    "tl_batch_conversations": (c_void_p, [_batch, POINTER(c_size_t)]),
    "tl_batch_coverage": (c_int32, [_batch, POINTER(Coverage)]),
    "tl_batch_block": (c_int32, [_batch, POINTER(View)]),
    "tl_batch_free": (None, [_batch]),
    "tl_client_drop": (c_int32, [_client, View, View]),
    "tl_client_mark_read": (c_int32, [_client, View, POINTER(View), c_size_t]),
    "tl_client_mark_listened": (c_int32, [_client, View, POINTER(View), c_size_t]),
    "tl_client_mark_delivered": (c_int32, [_client, View, POINTER(View), c_size_t]),
    "tl_client_forget": (c_int32, [_client, View, View]),
    "tl_client_perform": (
        c_int32, [_client, View, c_uint32, POINTER(c_uint64), POINTER(c_uint64)]),
    "tl_client_send": (c_int32, [_client, POINTER(Send), POINTER(c_uint64), POINTER(c_uint64)]),
    "tl_client_operations": (c_int32, [_client, POINTER(OperationQuery), POINTER(_batch)]),
    "tl_client_operation": (c_int32, [_client, c_uint64, POINTER(_batch)]),
    "tl_operation_retry": (c_int32, [_client, c_uint64]),
    "tl_operation_cancel": (c_int32, [_client, c_uint64]),
    "tl_operation_edit": (c_int32, [_client, c_uint64, View]),
    "tl_operation_progress": (c_int32, [_client, c_uint64, c_uint32]),
    "tl_operation_uploaded": (c_int32, [_client, c_uint64, View]),
    "tl_operation_upload_failed": (c_int32, [_client, c_uint64, View]),
    "tl_client_reopen_payloads": (c_int32, [_client, View, POINTER(c_uint64)]),
    "tl_client_typing": (c_int32, [_client, View, c_int32]),
    "tl_client_draft": (c_int32, [_client, POINTER(Draft)]),
    "tl_client_clear": (c_int32, [_client]),
    "tl_client_retain": (c_int32, [_client, POINTER(Budget)]),
    "tl_client_purge": (c_int32, [_client, POINTER(_work)]),
    "tl_client_room": (c_int32, [_client, View, POINTER(Room)]),
    "tl_client_import": (c_int32, [_client, POINTER(Import), POINTER(_work)]),
    "tl_client_imported": (c_int32, [_client, View, POINTER(Imported)]),
    "tl_client_import_bad": (c_int32, [_client, View, c_uint64, c_uint32, POINTER(_batch)]),
    "tl_batch_bad_lines": (c_void_p, [_batch, POINTER(c_size_t)]),
    "tl_client_export": (c_int32, [_client, POINTER(Export), POINTER(_work)]),
    "tl_client_stats": (c_int32, [_client, POINTER(Stats)]),
    "tl_merge_messages": (c_int32, [View, View, POINTER(POINTER(Text))]),
    "tl_merge_deltas": (c_int32, [View, View, POINTER(POINTER(Text))]),
    "tl_text_free": (None, [POINTER(Text)]),
    "tl_window_open": (c_int32, [_client, POINTER(WindowConfig), POINTER(_window)]),
    "tl_window_load": (c_int32, [_window, POINTER(Load)]),
    "tl_window_poll": (c_int32, [_window, POINTER(POINTER(Diff))]),
    "tl_diff_free": (None, [POINTER(Diff)]),
    "tl_checksum": (c_uint64, [POINTER(c_uint64), c_size_t]),
    "tl_window_rows": (c_int32, [_window, c_uint32, c_uint32, POINTER(_batch)]),
    "tl_window_find": (c_int32, [_window, View, POINTER(c_uint32)]),
    "tl_window_fill": (c_int32, [_window, c_uint32]),
    "tl_window_show": (c_int32, [_window, c_uint32, c_uint32]),
    "tl_window_trim": (c_int32, [_window, c_uint32, c_uint32]),
    "tl_window_state": (c_int32, [_window, POINTER(WindowStatus)]),
    "tl_window_close": (None, [_window]),
    "tl_window_free": (None, [_window]),
    "tl_items_open": (c_int32, [_window, POINTER(ItemsConfig), POINTER(_items)]),
    "tl_items_poll": (c_int32, [_items, POINTER(POINTER(Diff))]),
    "tl_items_read": (c_int32, [_items, c_uint32, c_uint32, POINTER(_batch)]),
    "tl_batch_items": (c_void_p, [_batch, POINTER(c_size_t)]),
    "tl_items_messages": (c_int32, [_items, c_uint32, c_uint32, c_uint32, POINTER(_batch)]),
    "tl_items_find": (c_int32, [_items, View, POINTER(c_uint32), POINTER(c_uint32)]),
    "tl_items_find_key": (c_int32, [_items, c_uint64, POINTER(c_uint32)]),
    "tl_items_bits": (c_int32, [_items, c_uint32, c_uint32, POINTER(c_uint64)]),
    "tl_items_range": (c_int32, [_items, c_uint32, POINTER(c_uint32), POINTER(c_uint32)]),
    "tl_items_set_open": (c_int32, [_items, c_uint32, c_int32]),
    "tl_items_unread": (c_int32, [_items, c_uint64]),
    "tl_items_show": (c_int32, [_items, c_uint32, c_uint32]),
    "tl_items_state": (c_int32, [_items, POINTER(ItemsStatus)]),
    "tl_items_close": (None, [_items]),
    "tl_items_free": (None, [_items]),
    "tl_list_open": (c_int32, [_client, POINTER(ListConfig), POINTER(_list)]),
    "tl_list_poll": (c_int32, [_list, POINTER(POINTER(Diff))]),
    "tl_list_rows": (c_int32, [_list, c_uint32, c_uint32, POINTER(_batch)]),
    "tl_list_find": (c_int32, [_list, View, POINTER(c_uint32)]),
    "tl_list_state": (c_int32, [_list, POINTER(ListStatus)]),
    "tl_list_close": (None, [_list]),
    "tl_list_free": (None, [_list]),
    "tl_viewport_new": (c_int32, [POINTER(ViewportConfig), POINTER(_viewport)]),
    "tl_viewport_free": (None, [_viewport]),
    "tl_viewport_update": (c_int32, [
        _viewport, POINTER(Op), c_size_t, POINTER(c_uint64), POINTER(c_uint32), c_size_t]),
    "tl_viewport_measure": (
        c_int32, [_viewport, POINTER(c_uint64), POINTER(c_int64), c_size_t]),
    "tl_viewport_resize": (c_int32, [_viewport, c_int64, c_uint32]),
    "tl_viewport_layout": (c_int32, [_viewport, POINTER(POINTER(ViewportLayout))]),
    "tl_layout_free": (None, [POINTER(ViewportLayout)]),
    "tl_viewport_scroll": (c_int32, [_viewport, c_int64, c_uint32]),
    "tl_viewport_scroll_to": (c_int32, [_viewport, POINTER(Target)]),
    "tl_viewport_animate_to": (c_int32, [_viewport, POINTER(Target), c_int64, c_int64]),
    "tl_viewport_tick": (c_int32, [_viewport, c_int64]),
    "tl_viewport_release": (c_int32, [_viewport, c_int64]),
    "tl_viewport_stop": (c_int32, [_viewport]),
    "tl_viewport_find": (c_int32, [_viewport, c_uint64, POINTER(Placed)]),
    "tl_viewport_at": (c_int32, [_viewport, c_int64, POINTER(Placed)]),
    "tl_viewport_state": (c_int32, [_viewport, POINTER(ViewportStatus)]),
    "tl_client_conversations": (c_int32, [_client, c_uint32, c_uint32, POINTER(_batch)]),
    "tl_client_conversation": (c_int32, [_client, View, POINTER(_batch)]),
    "tl_work_step": (c_int32, [_work, c_uint32, POINTER(Progress)]),
    "tl_work_free": (None, [_work]),
    "tl_search_switch": (c_int32, [_client, c_int32]),
    "tl_search_build": (c_int32, [_client, POINTER(_work)]),
    "tl_search_check": (c_int32, [_client, POINTER(_work)]),
    "tl_client_search": (c_int32, [_client, POINTER(Search), POINTER(_batch)]),
    "tl_batch_hits": (c_void_p, [_batch, POINTER(c_size_t)]),
    "tl_batch_searched": (c_int32, [_batch, POINTER(Searched)]),
    "tl_search_unsearched": (
        c_int32, [_client, View, c_uint64, c_uint32, POINTER(_batch)]),
    "tl_batch_unsearched": (c_void_p, [_batch, POINTER(c_size_t)]),
}


def _candidates() -> list[str]:
    named = os.environ.get("TIDELINE_LIBRARY")
    if named:
        return [named]
    beside = pathlib.Path(__file__).parent / "libtideline.so.1"
    return [str(beside)] * beside.exists() + ["libtideline.so.1"]


def load() -> ctypes.CDLL:
    """Loads the library: what ``TIDELINE_LIBRARY`` names, else the one beside this package, else
    the system's.

    Raises:
        ImportError: when there is none, or it is of another generation.
    """
    names = _candidates()
    trouble: list[str] = []
    for name in names:
        try:
            library = ctypes.CDLL(name)
        except OSError as error:
            trouble.append(str(error))
            continue
        for function, (result, arguments) in _FUNCTIONS.items():
            entry = getattr(library, function)
            entry.restype = result
            entry.argtypes = arguments
        if library.tl_abi() != ABI:
            raise ImportError(f"{name} is of generation {library.tl_abi()}, {ABI} is wanted")
        return library
    raise ImportError(
        "libtideline.so.1 was not found; name it in TIDELINE_LIBRARY (" + "; ".join(trouble) + ")")


library = load()
