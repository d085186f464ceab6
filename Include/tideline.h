/** @file tideline.h

    Embeddable, encrypted, offline-first message cache and sync engine.

    This file is the whole contract: what it does not declare is not public.

    A host opens a client on an encrypted file, reports what happened (connected, a frame arrived,
    time passed) and sends the frames that the library hands out. It reads pages of messages with a
    statement of how complete they are, or polls a window of a conversation for differences. The
    library opens no socket and starts no thread.

    Terms:
    - *position*: where a message is in the order of its conversation.
    - *verified range*: neighbouring messages, with proof by the server that none is missing
      between. A *gap* is where some may be; a *detached* range does not join the newest one.
    - *local id* (`number`): given by the library; *server sequence* (`sequence`): by the server.
    - *catch-up*: a sync of everything newer than the newest verified range.
    - *pending*: written by this user, not confirmed by the server.

    Threads: any function may be called from any thread. Calls on one client serialize inside the
    library, except reads, which run beside the writer. The library installs no signal handler.
    Hooks run inside calls of the host, on its thread, with no lock of the library held.

    Fork: in a forked child a call on the parent's handle is #TL_E_INVALID and changes nothing,
    `_close` and `_free` do nothing, and no `drop` runs. Copies of batches, frames, differences and
    layouts stay usable. The child may open clients of its own; a file that the parent had open is
    #TL_E_LOCKED until it calls `exec`.

    Memory: inputs are borrowed for the call. Release what the library returns by the `_free`
    function of its type, never by `free`, when no other thread uses it. Every `_free` takes NULL.
    Every `_close` may be called twice; later calls on the object fail. Running out of memory ends
    the process; every allocation that depends on outside bytes is bounded first.

    Statuses: a function may return #TL_OK, #TL_E_INVALID (as for NULL or a foreign handle), and
    what it lists. In addition:
    - on a client, window, list, items or work #TL_E_CLOSED, and #TL_E_RELEASED after
      #tl_client_release, but for #tl_client_event_fd;
    - #TL_E_TOO_NEW where it takes a struct with `struct_size`;
    - #TL_E_DAMAGED where #TL_E_STORAGE is listed;
    - #TL_E_INTERNAL;
    - on a client with a #tl_storage #TL_E_LOCKED: another holder acquired the name. The client then
      hands out no frame, has dropped what it knew, and returns this until it is closed.

    On failure every output is NULL or zero, but for `struct_size`. Without #TL_OK there is no
    batch, frame or difference.

    Structs: zero a struct that begins with `struct_size`, then set that member to its `sizeof`,
    also if a call fills it. Zero in any field means the default that the field names, otherwise
    plainly zero (UTC, no margin, the enumeration's 0); an empty view means none. `reserved` must be
    zero. `flags` are those declared above the struct. Fields are only ever appended. A shorter
    struct of an older caller is accepted; a longer one whose unknown tail is not zero is
    #TL_E_TOO_NEW. A size that no version can have (under 8, over 4,096, or not a multiple of the
    struct's alignment), an unknown flag and an unknown value of an enumeration are #TL_E_INVALID.

    In what the library fills, anything unknown or without meaning is 0, empty or NULL, unless said
    otherwise. `reserved_words` are zero, for later members: the size of a record stays.

    Text is UTF-8 without a terminator. Ids are opaque UTF-8, 1 to 512 bytes; a longer one is
    #TL_E_TOO_LARGE where listed, otherwise #TL_E_INVALID. A #tl_view is passed by value only where
    all of it is in registers, so an FFI may pass pointer and size instead (x86-64, 64-bit ARM).

    Numbers: server times are microseconds since 1970-01-01 UTC and end in `_us`; durations are
    milliseconds and end in `_ms`. "0: 50; max 1,000" means that 0 stands for 50. `limit` and
    `count` say how many records to give, max 10,000; a `limit` of 0 is 256. `after` gives only
    greater numbers; 0: all. */
#ifndef TIDELINE_H
#define TIDELINE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef TL_API
# define TL_API __attribute__((visibility("default")))
#endif
#ifndef TL_CHECK
# define TL_CHECK __attribute__((warn_unused_result))
#endif

/* Library -------------------------------------------------------------------------------------- */

/// ABI generation. It changes only when a shipped binary could break.
#define TL_ABI 1

/// Semantic version of this header.
#define TL_VERSION_MAJOR 0
#define TL_VERSION_MINOR 2
#define TL_VERSION_PATCH 0

/// Length in bytes of the key of #tl_client_config.
#define TL_KEY_BYTES 32

/** Result of a fallible call: zero is success, positive values are "fine, but", negative values are
    failures. Codes are never reused or renumbered. */
typedef int32_t tl_status;
enum {
  TL_OK = 0,
  TL_NONE = 1,            ///< Fine: nothing to report.
  TL_IGNORED = 2,         ///< Fine: the frame is of no use here; counted.
  TL_RESYNC = 3,          ///< Fine: changes that old are gone; read again.
  TL_QUARANTINED = 4,     ///< Fine: applied, but unreadable items were set aside.
  TL_E_INVALID = -1,      ///< An argument breaks the contract.
  TL_E_CLOSED = -2,
  TL_E_STORAGE = -3,      ///< SQLite or the file system failed.
  TL_E_KEY = -4,          ///< This key does not open the file.
  TL_E_TOO_NEW = -5,      ///< The file or struct is from a later version.
  TL_E_DAMAGED = -6,      ///< Stored bytes were changed or lost.
  TL_E_LOCKED = -7,       ///< Open elsewhere, or another holder has the name.
  TL_E_NOT_OURS = -8,     ///< The file is not a Tideline file.
  TL_E_FRAME = -9,        ///< No valid frame; nothing stored changed.
  TL_E_TOO_LARGE = -10,   ///< Over a documented limit; nothing changed.
  TL_E_NOT_FOUND = -11,   ///< No such message, conversation, operation, sync, key or file.
  TL_E_MISMATCH = -12,    ///< The file belongs to another account or user.
  TL_E_UNSUPPORTED = -13, ///< Not in this version, or not by this server.
  TL_E_OFFLINE = -14,     ///< Not connected.
  TL_E_TIMEOUT = -15,     ///< The server did not answer in time.
  TL_E_REFUSED = -16,     ///< The server, or `seal`, refused for good.
  TL_E_UNAVAILABLE = -17, ///< The server refused for now.
  TL_E_CANCELLED = -18,
  TL_E_INCOMPLETE = -19,  ///< Ended with a recorded gap; ask again later.
  TL_E_FULL = -20,        ///< The disk, or a bounded list, is full.
  TL_E_NO_SLOT = -21,     ///< The file has no key of this kind.
  TL_E_CODE = -22,        ///< A recovery code with a typing error.
  TL_E_RELEASED = -23,    ///< The file was given up: call #tl_client_reacquire first.
  TL_E_INTERNAL = -99     ///< A broken invariant. The client is now closed.
};

/// Borrowed bytes.
typedef struct tl_view {
  const uint8_t *data; ///< May be NULL only when `size` is 0.
  size_t size;
} tl_view;

/// Returns the #TL_ABI of the loaded library.
TL_API uint32_t tl_abi(void);

/// Returns the version of the loaded library, `major << 16 | minor << 8 | patch`.
TL_API uint32_t tl_version(void);

/// Returns #TL_KEY_BYTES.
TL_API size_t tl_key_bytes(void);

/** Describes the last failure on the calling thread, or why its last #TL_IGNORED or #TL_QUARANTINED
    came. It names the member of a frame, of a request or of an item that was wrong, as in
    "created_at is not a time"; of several items, of the first. It holds no key, path, id or message
    text.
    @return UTF-8 with a terminator, never NULL, valid until the next such call on this thread. */
TL_API const char *tl_last_error(void);

/// Returns the name of a status, such as "TL_E_KEY", or "TL_E_UNKNOWN". Valid for ever.
TL_API const char *tl_status_name(tl_status status);

/** Returns 1 if the same call may succeed later without a change: #TL_E_LOCKED, #TL_E_OFFLINE,
    #TL_E_TIMEOUT, #TL_E_UNAVAILABLE, #TL_E_INCOMPLETE, #TL_E_FULL. Otherwise 0. */
TL_API int32_t tl_status_is_transient(tl_status status);

/* Open ----------------------------------------------------------------------------------------- */

/// One account's encrypted cache and its sync state.
typedef struct tl_client tl_client;

/// Which end of a full answer to `after_ts` the server keeps.
typedef int32_t tl_truncates;
enum {
  TL_TRUNCATES_UNKNOWN = 0,
  TL_TRUNCATES_OLDEST = 1,  ///< Newer rows are cut.
  TL_TRUNCATES_NEWEST = 2   ///< Older rows are cut.
};

/** Order of messages with equal `created_at`: by default, as server pages list them.

    Until a page covers such messages they are in arrival order, after those known before, and may
    move once. The first page with two times shows which way its kind is listed; before that, pushed
    messages stay in arrival order. With #TL_SERVER_SEQUENCE the server sequence orders all
    messages, with #TL_SERVER_LOG the log.

    With #TL_TIES_UNKNOWN a count is not #TL_CONVERSATION_UNREAD_EXACT while the read marker stands
    among pushed messages of one time whose order no page has shown. */
typedef int32_t tl_ties;
enum {
  TL_TIES_UNKNOWN = 0, ///< Not known; shown as #TL_TIES_ARRIVAL.
  TL_TIES_ID = 1,      ///< By the bytes of the id. Pages may be cut anywhere inside one time.
  TL_TIES_ARRIVAL = 2
};

enum {
  TL_PROFILE_PAGE_SIZE_VARIES = 1u << 1,     ///< Takes a short page as no proof of an end.
  /// Deletes a stored message that a complete answer omits.
  TL_PROFILE_ABSENCE_IS_DELETION = 1u << 2,
  /// Trusts that no push is dropped or reordered while connected.
  TL_PROFILE_PUSH_LOSSLESS = 1u << 3,
  /// Takes `total_count` as no proof, as it counts what is never shown.
  TL_PROFILE_COUNTS_HIDDEN = 1u << 4,
  /// Stores frames of unknown types, and untyped objects, as events.
  TL_PROFILE_UNKNOWN_FRAMES = 1u << 5,
  TL_PROFILE_DELETIONS_LATER = 1u << 6, ///< Learns deletions from `get_deleted_since` only: pages
                                        ///< and counts still show them. Implies
                                        ///< #TL_PROFILE_COUNTS_HIDDEN.
  TL_PROFILE_ORDER_NOT_TIME = 1u << 7, ///< Pages are not in `created_at` order: without
                                       ///< #TL_SERVER_SEQUENCE or #TL_SERVER_LOG opening is
                                       ///< #TL_E_UNSUPPORTED.
  /// Accepts edits of others' messages, as by moderators; otherwise ignores them.
  TL_PROFILE_OTHERS_EDIT = 1u << 8
};

/** Bits of `capabilities`: what the server can do beyond paging by offset. If one is missing, the
    library works around it without loss, or returns #TL_E_UNSUPPORTED.

    Messages are ordered by server time, by #TL_SERVER_SEQUENCE or by #TL_SERVER_LOG; a file keeps
    one kind for ever. A server that lists history otherwise than it arrived has no log.

    With #TL_SERVER_LOG only `get_entries` is requested. These must be 0, else opening is
    #TL_E_INVALID:
    - #TL_SERVER_BEFORE, #TL_SERVER_AROUND, #TL_SERVER_CHANGED_SINCE, #TL_SERVER_SEQUENCE;
    - `truncates`, `ties`;
    - #TL_PROFILE_ABSENCE_IS_DELETION, #TL_PROFILE_COUNTS_HIDDEN, #TL_PROFILE_DELETIONS_LATER.

    #TL_SERVER_ENVELOPE is #TL_E_UNSUPPORTED there. */
enum {
  TL_SERVER_BEFORE = 1u << 0,          ///< `get_messages` takes `before_ts`, `before_id`.
  TL_SERVER_AROUND = 1u << 1,          ///< `get_messages` takes `around_id`, `around_ts`.
  TL_SERVER_CHANGED_SINCE = 1u << 2,   ///< `get_changed_since`.
  TL_SERVER_IDEMPOTENT_SEND = 1u << 3, ///< Deduplicates sends and creates by `client_id`: after a
                                       ///< lost answer the library retries instead of reporting
                                       ///< #TL_OPERATION_UNKNOWN.
  TL_SERVER_SEQUENCE = 1u << 4,        ///< Messages carry `seq`, their position. Bound to the file.
  TL_SERVER_ENVELOPE = 1u << 5,        ///< Frames come in envelopes, and updates are replied to.
  TL_SERVER_LOG = 1u << 6,             ///< `get_entries`, and pushes of entries. Bound to the file.
  TL_SERVER_LOG_REFUSES = 1u << 7, ///< Rejects unknown cursors with `unknown_cursor`, never takes
                                   ///< one for another position. Needs #TL_SERVER_LOG.
  /// Names an epoch, another one whenever its history was replaced. Needs #TL_SERVER_LOG.
  TL_SERVER_LOG_EPOCH = 1u << 8
};

/// Whose repeated sends the server recognizes.
typedef int32_t tl_idempotency_scope;
enum {
  TL_IDEMPOTENCY_ACCOUNT = 0,   ///< The account's, from any device.
  TL_IDEMPOTENCY_DEVICE = 1,    ///< Those of one login: `device` of #tl_client_config.
  TL_IDEMPOTENCY_CONNECTION = 2
};

/** What the host knows of its server. All zero: full pages of 50; `after_ts` excludes the given
    time; unknown which end is cut. */
typedef struct tl_profile {
  uint32_t struct_size;
  uint32_t flags;              ///< `TL_PROFILE_` flags.
  uint32_t page_limit;         ///< `limit` of requests; 0: 50; max 1,000.
  tl_truncates truncates;
  tl_ties ties;
  uint32_t capabilities;       ///< `TL_SERVER_` bits.
  int64_t time_resolution_us;  ///< Of `created_at`, max a day; 0: read from the strings.
  /// Each catch-up re-requests this much before the last known message, for late commits; 0: 5,000.
  uint32_t overlap_ms;
  uint32_t deletion_horizon_s; ///< How long the server reports a deletion; 0: for ever. Needs a
                               ///< server that tells its time, or a wall clock.
  int32_t zone_offset_min;     ///< Zone of times without one, minutes east of UTC, less than a day.
  uint32_t ref_days;           ///< Days to keep refs of updates; 0: 30; max 3,650.
  uint32_t refs_max;           ///< How many to keep; 0: 100,000; max 10,000,000.
  uint32_t pages_max; ///< Pages of one sync if the server sends no count; 0: 1,000; max 1,000,000.
  tl_view search_members; ///< Members of a payload to search, with spaces between, max 1,024 bytes;
                          ///< empty: `text body caption file_name`. A change rebuilds the index.
  /** Outside of this scope, and after `idempotency_s`, the library first looks for a message by its
      client id, and sends again if it is not there. Needs #TL_SERVER_IDEMPOTENT_SEND. */
  tl_idempotency_scope idempotency_scope;
  /** Seconds after a send in which its repeat is recognized; 0: as long as the message exists. The
      library leaves the margin of a time-out and believes the clock that shows the greater age. A
      clock that was set back proves nothing, nor does #tl_clock_hook for an earlier process. Needs
      #TL_SERVER_IDEMPOTENT_SEND. */
  uint32_t idempotency_s;
} tl_profile;

/// What a payload is, by the `open` hook.
enum {
  TL_PAYLOAD_CONTROL = 1u << 0, ///< Stored, never shown.
  TL_PAYLOAD_EVENT = 1u << 1    ///< Shown as an event (joined, renamed).
};

/// A received message, passed to the `open` hook.
typedef struct tl_sealed {
  tl_view conversation;
  tl_view id;
  tl_view sender;
  tl_view payload;      ///< The JSON value of `payload`, verbatim.
  tl_view message;      ///< The whole JSON object, verbatim.
} tl_sealed;

/// What a payload hook returns. Zeroed before the hook runs.
typedef struct tl_opened {
  tl_view payload;   ///< What to keep or send; valid until the call that ran the hook returns.
  uint32_t flags;    ///< `TL_PAYLOAD_` flags.
  uint32_t reserved;
  /// From `open`: text to search instead of the payload; valid as `payload`.
  tl_view searchable;
} tl_opened;

/** Decrypts one payload, inside #tl_client_receive or #tl_client_reopen_payloads. It must not call
    the library. Return #TL_OK with `out` filled, #TL_NONE when the key has not come yet (the
    message keeps its position, sealed), or any failure (the same, and it is counted).

    A message stays open if the same content comes again and cannot be opened; an edit that cannot
    be is sealed. What this user sent or edited here then shows as written. */
typedef tl_status (*tl_open_hook)(void *context, const tl_sealed *in, tl_opened *out);

/// A payload of this user, passed to the `seal` hook.
typedef struct tl_unsealed {
  tl_view conversation; ///< Conversation id, or client id if not created yet.
  tl_view client_id;    ///< Of a message to send; empty for an edit.
  tl_view message;      ///< Id of the message to edit, or empty.
  tl_view payload;      ///< As the host passed it.
} tl_unsealed;

/** Encrypts one payload: `out->payload` is the JSON value for the server; other members stay zero.
    It is kept with the operation and used again for each try. It must not call the library.

    Runs inside #tl_client_perform, #tl_client_send, #tl_operation_edit, #tl_client_reopen_payloads;
    also inside #tl_client_receive for a follow-up edit (a message was rewritten, and the frame
    shows that the server has the former text). Return #TL_OK, or #TL_NONE when the key has not come
    yet: the operation waits (#TL_WAIT_SEAL) until #tl_client_reopen_payloads. Any failure ends the
    call with #TL_E_REFUSED and nothing is kept. */
typedef tl_status (*tl_seal_hook)(void *context, const tl_unsealed *in, tl_opened *out);

typedef int32_t tl_log_level;
enum {
  TL_LOG_ERROR = 1,
  TL_LOG_WARN = 2,
  TL_LOG_INFO = 3,
  TL_LOG_DEBUG = 4
};

/** Receives one log line, UTF-8. `text` is never NULL and is valid until the hook returns. A line
    is a constant, with a number at most: no key, path, id or message text. Of one kind 10 are
    written in a minute; the next one says how many were left out. */
typedef void (*tl_log_hook)(void *context, tl_log_level level, const tl_view *text);

/// Returns a monotonic time in milliseconds; for tests and replay.
typedef int64_t (*tl_clock_hook)(void *context);

enum {
  TL_POLICY_WINDOW = 1u << 0 ///< A window (`kind` is #TL_SYNC_LIVE) or a list
                             ///< (#TL_SYNC_CONVERSATIONS) asks, when opened or polled.
};

/// What a policy is chosen for. Borrowed for the call.
typedef struct tl_policy_question {
  tl_view conversation; ///< Empty for the list, and for all conversations.
  int32_t kind;         ///< A `TL_SYNC_` kind.
  uint32_t flags;
} tl_policy_question;

typedef struct tl_policy_choice {
  int32_t policy;    ///< Any but #TL_POLICY_HOST.
  uint32_t limit_ms; ///< As in #tl_sync_request; cut to the longest.
  int64_t age_us;    ///< As in #tl_sync_request; below 0 is 0.
} tl_policy_choice;

/** Chooses the policy of a request with #TL_POLICY_HOST, as on a metered network. It may call the
    client, but not poll a window. `out` begins as #TL_POLICY_CACHE_THEN_NETWORK; an invalid policy
    is treated as that. */
typedef void (*tl_policy_hook)(void *context, const tl_policy_question *question,
                               tl_policy_choice *out);

/** Releases a hook's context. Runs exactly once, when the client is freed or its opening failed;
    not for a configuration that is NULL or has a wrong `struct_size`. */
typedef void (*tl_drop_hook)(void *context);

/// A byte object of a #tl_storage.
typedef int32_t tl_object;
enum {
  TL_OBJECT_MAIN = 0, ///< The encrypted pages, unless #TL_OBJECT_NEXT has them.
  TL_OBJECT_LOG = 1,  ///< Commits that are not in the pages yet.
  TL_OBJECT_OWN = 2,  ///< Operations and drafts once more.
  TL_OBJECT_NEXT = 3  ///< A #tl_client_rekey moves the pages between this and #TL_OBJECT_MAIN.
};

/// What a call on a #tl_storage is about.
typedef struct tl_stored {
  tl_view name;      ///< `path` of #tl_client_config, 1 to 1,024 bytes without a NUL.
  uint64_t fence;    ///< The caller's number, from `acquire`.
  tl_object object;  ///< 0 if the call is about the name.
  uint32_t reserved;
} tl_stored;

enum {
  TL_STORAGE_BUFFERS = 1u << 0 ///< Unsynced writes are lost when the process is killed.
};

/** A byte store of the host's, instead of a file (docs/howto/storage.md). It sees nothing but
    ciphertext; the library works as on a file. It keeps byte objects by name. Each function but
    `drop` returns #TL_OK, #TL_E_LOCKED (the caller's number is not the newest), #TL_E_FULL or
    #TL_E_STORAGE, as which any other value counts.

    - *Owner*: once another holder has acquired a name, each call with an older number fails with
      #TL_E_LOCKED and changes nothing, even one begun before. The number is checked in the same
      atomic step as the call's effect.
    - *Bytes*: an object that was never written, or was removed, has size 0. A write changes the
      bytes of its range and no others, at any moment and after any crash. Unwritten bytes below the
      size are zeros.
    - *Sync*: when `sync` returns #TL_OK, the object's size, bytes and earlier removes are durable:
      they survive the death of process, machine and database, whatever is called later. Of later
      changes a crash may keep any part, in any order. After a sync that failed, the client calls
      nothing but `release` and answers #TL_E_STORAGE until it is opened again.
    - *Calls* come from several threads, reads beside one call that changes something, and under
      locks of the client. A call has a time limit of its own, calls nothing of the client, and
      keeps no pointer. */
typedef struct tl_storage {
  uint32_t struct_size;
  uint32_t flags;
  void *context;        ///< Passed to each function.
  tl_drop_hook drop;    ///< Releases `context`, or NULL; as that of a hook.
  /// Makes the caller the holder; `fence` is greater than each number before it for the name.
  tl_status (*acquire)(void *context, const tl_view *name, uint64_t *fence);
  /// Ends being the holder. A failure is ignored.
  tl_status (*release)(void *context, const tl_stored *at);
  /// Reads `size` bytes, fewer only where the object ends; `got` says how many.
  tl_status (*read)(void *context, const tl_stored *at, uint64_t offset, uint8_t *out, size_t size,
                    size_t *got);
  /// Writes bytes; the object grows where they end beyond it.
  tl_status (*write)(void *context, const tl_stored *at, uint64_t offset, const tl_view *bytes);
  /// Sets the object's size; added bytes are zeros.
  tl_status (*truncate)(void *context, const tl_stored *at, uint64_t size);
  tl_status (*size)(void *context, const tl_stored *at, uint64_t *size);
  /// Makes the object durable.
  tl_status (*sync)(void *context, const tl_stored *at);
  /// Makes the object as if it had never been written.
  tl_status (*remove)(void *context, const tl_stored *at);
} tl_storage;

typedef int32_t tl_key_kind;
enum {
  TL_KEY_RAW = 0,        ///< Exactly #TL_KEY_BYTES random bytes.
  TL_KEY_PASSPHRASE = 1, ///< 1 to 1,024 bytes, made slow to guess by Argon2id.
  TL_KEY_CODE = 2        ///< A code of #tl_key_code, as typed.
};

enum {
  TL_OPEN_MEMORY = 1u << 0,         ///< Keeps everything in memory; no `path`, `key` or `storage`.
  TL_OPEN_EXISTING = 1u << 1,       ///< Fails with #TL_E_NOT_FOUND instead of creating the file.
  TL_OPEN_STRICT = 1u << 2, ///< Refuses a file whose log has a rejected tail (#TL_E_DAMAGED).
  /// Marks messages of others read after `seen_ms` on screen: see #tl_window_show.
  TL_OPEN_AUTO_MARK_READ = 1u << 3,
  TL_OPEN_AUTO_MARK_DELIVERED = 1u << 4, ///< Marks messages of others delivered on arrival.
  TL_OPEN_CATCH_UP_ALL = 1u << 5,   ///< Starts #TL_SYNC_ALL on each connection.
  TL_OPEN_FRESH = 1u << 6, ///< Refuses a file that lacks commits (#TL_E_DAMAGED).
  /// Keeps in the file what changed messages, for #tl_client_explain. An opening without it drops
  /// that, with its first commit.
  TL_OPEN_TRACE = 1u << 7
};

/// How to open a client. Each hook may be NULL; its `_drop` releases its `_context`.
typedef struct tl_client_config {
  uint32_t struct_size;
  uint32_t flags;
  tl_view path;               ///< UTF-8 path of the file, not ending in `-new`, `-own`, `-wal`; or
                              ///< name in `storage`; max 1,024 bytes.
  tl_view key; ///< As `key_kind` says. Copied, wiped when the opening ends.
  tl_view account; ///< Max 512 bytes; bound to the file. A frame that names another
                   ///< account is refused, so greet the server with this one.
  tl_view user_id;            ///< The user's id on the server; bound to the file.
  const tl_profile *profile;  ///< The server, or NULL for the default.
  uint64_t cache_bytes;       ///< Memory for decrypted pages; 0: 16 MiB; max 1 TiB.
  uint32_t request_timeout_ms; ///< First time-out of a request; 0: 30,000. Adapts to the network.
  uint32_t requests_max;      ///< Requests in flight; 0: 4; max 64.
  tl_open_hook open;          ///< NULL: payloads stay as received.
  void *open_context;
  tl_drop_hook open_drop;
  tl_log_hook log;
  void *log_context;
  tl_drop_hook log_drop;
  tl_clock_hook clock;        ///< NULL: the system's monotonic clock.
  void *clock_context;
  tl_seal_hook seal;          ///< NULL: payloads are sent as they are.
  void *seal_context;
  tl_drop_hook seal_drop;
  /// Time on screen until a row is read, for #TL_OPEN_AUTO_MARK_READ; 0: 1,000; max 3,600,000.
  uint32_t seen_ms;
  tl_key_kind key_kind; ///< What `key` is.
  const tl_storage *storage;  ///< Keeps the bytes under the name `path`; NULL: a file. Copied.
  tl_policy_hook choose;      ///< For #TL_POLICY_HOST.
  void *choose_context;
  tl_drop_hook choose_drop;
  tl_view device; ///< The server's name of this login, max 512 bytes, new after each login. Needed
                  ///< with #TL_IDEMPOTENCY_DEVICE.
  uint64_t commit_seq; ///< The greatest of #tl_state that the host has kept; 0: none.
  uint32_t trace_max;  ///< Changes that #TL_OPEN_TRACE keeps; 0: 10,000; max 1,000,000.
  uint32_t reserved;
} tl_client_config;

/** Opens or creates a client's file.

    A failed opening changes nothing in an existing file. On a full disk a file opens and can be
    read. #TL_E_STORAGE also means that more than one name leads to the file (hard links), or that
    no descriptor is free. On a `storage` it acquires the name from whoever holds it.

        tl_client_config config = {.struct_size = sizeof config};
        config.path = text("eva.tideline");  // text() makes a tl_view of a string
        config.key = key;                    // 32 random bytes that the host keeps
        config.user_id = text("eva");
        if (tl_client_open(&config, &client) < 0) puts(tl_last_error());
    @return #TL_E_KEY, #TL_E_NO_SLOT, #TL_E_CODE, #TL_E_DAMAGED, #TL_E_NOT_OURS, #TL_E_TOO_NEW,
        #TL_E_LOCKED, #TL_E_MISMATCH (account, user or kind of position), #TL_E_NOT_FOUND,
        #TL_E_UNSUPPORTED, #TL_E_STORAGE, #TL_E_FULL. */
TL_API TL_CHECK tl_status
tl_client_open(const tl_client_config *config, tl_client **out);

/** Flushes a client, wipes its key and fails every later call on it. Other threads may be using it.
    The event descriptor becomes readable so that a waiter wakes. NULL is allowed. */
TL_API void tl_client_close(tl_client *client);

/// Closes a client and releases its memory.
TL_API void tl_client_free(tl_client *client);

/** Destroys a client's data for good and closes it: for log-out.

    The key slots are overwritten and synced first, then the files are deleted. No key reads what a
    kill between leaves, and the next opening deletes it. A failure closes the client too: open the
    file again to wipe the rest.
    @return #TL_E_STORAGE. */
TL_API TL_CHECK tl_status tl_client_wipe(tl_client *client);

/** Gives the file up for another process. When it returns, this process holds no lock and no
    descriptor of the file and its log.

    It waits for calls that have begun; one whose hook runs ends with #TL_E_RELEASED. The connection
    ends, as by #tl_client_disconnected. The event descriptor becomes readable once, for the next
    #tl_client_advance, which then waits for nothing. Until #tl_client_reacquire
    - every call that needs the file returns #TL_E_RELEASED, on each thread, and changes nothing;
    - windows, lists, items and work stay open, but a #tl_client_backup or #tl_client_rekey
      under way fails;
    - the data key stays in locked memory.
    @return #TL_NONE (given up before), #TL_E_UNSUPPORTED (a client in memory). */
TL_API TL_CHECK tl_status tl_client_release(tl_client *client);

/** Opens the file again, as it is now, without a key; a failure leaves the client as it was.

    It never waits: #TL_E_LOCKED costs some system calls. Numbers of syncs, rows and changes go on.
    The change feed and the next poll of each window, list and items have what others changed.
    Report the next connection by #tl_client_connected. An older copy with as many commits is not
    noticed.
    @return #TL_NONE (not given up), #TL_E_LOCKED, #TL_E_MISMATCH (another file, or an older copy),
        #TL_E_NOT_FOUND, #TL_E_NOT_OURS, #TL_E_TOO_NEW, #TL_E_STORAGE. */
TL_API TL_CHECK tl_status tl_client_reacquire(tl_client *client);

/** Closes the files of a client, but for their lock (of a storage: its lease), until a call needs
    them.

    All commits are synced and copied into the main file first. The connection, timers, windows and
    lists stay. #tl_client_advance opens nothing if nothing is due: call this when its `wait_ms` is
    -1. If the file was removed, replaced or changed meanwhile, calls that need it return
    #TL_E_STORAGE until it is back.
    @return #TL_NONE (at rest before, in memory, or a read, #tl_client_backup or #tl_client_rekey is
        under way), #TL_E_STORAGE and #TL_E_FULL (the client stays as it was). */
TL_API TL_CHECK tl_status tl_client_rest(tl_client *client);

/** Gives a descriptor that becomes readable when a process lets go of the file, also by being
    killed. The host closes it.

    Get it, then try to open. On #TL_E_LOCKED poll it, read and ignore up to 4,096 bytes, and try
    again. Also try each second: a network's file system may not tell. Any program that closes the
    file wakes it.
    @return #TL_E_NOT_FOUND, #TL_E_STORAGE (no descriptor is left). */
TL_API TL_CHECK tl_status tl_file_watch(tl_view path, int32_t *out);

/* Turn ----------------------------------------------------------------------------------------- */

/** Reports that a connection to the server is up and authenticated. Waiting work (syncs, read
    marks) begins. Called while connected, it replaces the old connection.

    The loop of a host with one window:

        for (int64_t wait_ms = 0;; tl_client_advance(client, &wait_ms)) {
          poll(fds, 2, (int)wait_ms);  // fds[0]: tl_client_event_fd; fds[1]: the socket
          if (fds[1].revents) tl_client_receive(client, read_frame());
          while (tl_client_next_frame(client, &frame) == TL_OK) {
            if (write_frame(frame->bytes)) tl_client_frame_sent(client, frame->id);
            tl_frame_free(frame);
          }
          if (tl_window_poll(window, &diff) == TL_OK) { apply(diff); tl_diff_free(diff); }
        }
    @return #TL_E_STORAGE. */
TL_API TL_CHECK tl_status tl_client_connected(tl_client *client);

/** Reports that the connection is gone.

    Frames not yet taken are dropped. Requests in flight are sent again on the next connection; a
    sync that loses its requests six times in a row ends with #TL_E_TIMEOUT. Requests pause, by a
    deadline of #tl_client_advance,
    - after two connections in a row that ended with a request taken and no answer: for a second
      from the end of the last one, doubled for each further one up to a minute, plus or minus a
      quarter. After six, every sync ends with #TL_E_TIMEOUT, and #TL_SYNC_ALL with
      #TL_E_INCOMPLETE. Any answer ends the pauses;
    - after twelve connections a minute that ended with a request under way.
    @return #TL_E_STORAGE. */
TL_API TL_CHECK tl_status tl_client_disconnected(tl_client *client);

/** Reports that nothing sent on an earlier connection can arrive any more, as when the peer closed
    it.

    Sends without an answer are then looked for at once, on this connection or the next; otherwise
    after a time-out of the next connection, and what follows them waits. If the host is wrong, a
    message that arrives later may be called not sent. */
TL_API TL_CHECK tl_status tl_client_connection_dead(tl_client *client);

/** Processes one frame from the server, whole.

    Everything the frame changes is committed when the call returns. A bad item in a page is set
    aside and the rest is kept. After a failure nothing that is stored has changed.

    While not connected, the body of a push notification may be passed. Its messages are stored and
    shown after a gap, and verify nothing; the reply to an update is sent on the next connection.
    @param frame One JSON object, max 16 MiB. Of a longer one no byte is read.
    @return
    - #TL_QUARANTINED; #TL_IGNORED: a type, or an answer, of no use here;
    - #TL_E_FRAME: not JSON, not UTF-8, not a frame, or an answer of the wrong shape, whose request
      counts as failed once and is sent again;
    - #TL_E_OFFLINE: the connection is unusable: `reconnect_wanted` of #tl_state;
    - #TL_E_MISMATCH: another account, or one that is neither a string nor null;
    - #TL_E_TOO_LARGE, #TL_E_STORAGE, #TL_E_FULL. */
TL_API TL_CHECK tl_status tl_client_receive(tl_client *client, tl_view frame);

/// One message of the transport.
typedef struct tl_frame {
  uint64_t id;   ///< For #tl_client_frame_sent.
  tl_view bytes; ///< One JSON object without a line break.
} tl_frame;

/** Takes the next frame to send: first requests, then replies to updates, which are made only when
    what they acknowledge is on disk.
    @return #TL_NONE when there is nothing to send, #TL_E_STORAGE and #TL_E_FULL (no reply leaves).
        All three clear the event descriptor. */
TL_API TL_CHECK tl_status
tl_client_next_frame(tl_client *client, tl_frame **out);

/** Reports that a frame was written to the transport.

    The time-out of its request runs from here, or from the taking if this is never called. A reply
    is handed out again on the next connection until it is reported here.
    @return #TL_NONE for an unknown id. */
TL_API TL_CHECK tl_status tl_client_frame_sent(tl_client *client, uint64_t id);

TL_API void tl_frame_free(tl_frame *frame);

/** Runs timers that are due: time-outs, retries, gaps held back for `hold_ms` (the event descriptor
    becomes readable), rows seen for `seen_ms`. With search on it also indexes and removes long
    messages, at least one a call, and merges index segments, some 2 milliseconds at a time with
    pauses, until few are left and none has words of removed messages.
    @param wait_ms Time until the next deadline, -1 for none; fits `poll`. NULL is allowed.
    @return #TL_E_STORAGE. */
TL_API TL_CHECK tl_status tl_client_advance(tl_client *client, int64_t *wait_ms);

/** Gives an eventfd that is readable when there are frames to send, changes to pull, ended syncs or
    gaps to draw.

    Poll it; never read or close it. #tl_client_next_frame clears it with #TL_NONE, so take the
    frames before the changes. Offline, #tl_client_advance clears it too, if nothing was signalled
    since the call before. Valid until the client is freed.
    @param out The descriptor, or -1 on failure.
    @return #TL_E_STORAGE (no descriptor is left). */
TL_API TL_CHECK tl_status tl_client_event_fd(tl_client *client, int32_t *out);

typedef int32_t tl_phase;
enum {
  TL_PHASE_OFFLINE = 0,
  TL_PHASE_CATCHING_UP = 1, ///< Syncs are under way.
  TL_PHASE_UP_TO_DATE = 2   ///< Nothing is under way but what waits for the user.
};

/// What the opened file lacked, as of its opening; #TL_OPEN_FRESH refuses such a file instead.
enum {
  TL_STATE_LOG_LOST = 1u << 0, ///< The log was removed, cut or replaced.
  TL_STATE_OLDER = 1u << 1     ///< The file was older than `commit_seq` of #tl_client_config.
};

typedef struct tl_state {
  uint32_t struct_size;
  tl_phase phase;
  uint32_t syncs_left;         ///< Queued or running.
  uint32_t requests_in_flight;
  uint32_t frames_waiting;
  uint32_t reconnect_wanted;   ///< 1: this connection is unusable; reconnect.
  uint32_t reads_pending;      ///< Read and listened marks that the server has not confirmed.
  uint32_t replies_owed;       ///< Replies to updates not yet reported as sent.
  uint64_t change_seq;         ///< Feed sequence of the newest change.
  int64_t as_of_us;            ///< Greatest server time seen.
  uint32_t operations_open;    ///< Operations queued or in flight, without marks.
  uint32_t operations_stuck; ///< Unknown or refused: the user decides. One with #TL_WAIT_CHECK is
                             ///< looked for first and may be sent by itself.
  uint64_t commit_seq;         ///< Newest commit known to survive a power cut, or 0.
  uint32_t flags;
  uint32_t reserved;
} tl_state;

/** Reads the client's overall state.
    @return #TL_E_STORAGE. */
TL_API TL_CHECK tl_status tl_client_state(tl_client *client, tl_state *out);

/** Tells which account a frame is for, without a client.
    @param frame One JSON object, max 16 MiB.
    @param out The raw JSON string contents, a view into `frame`.
    @return #TL_NONE when it names none in a string (null or no member: for every client; anything
        else: for none), #TL_E_FRAME, #TL_E_TOO_LARGE. */
TL_API TL_CHECK tl_status tl_frame_account(tl_view frame, tl_view *out);

typedef int32_t tl_sync_kind;
enum {
  TL_SYNC_LATEST = 0, ///< Everything newer than what is known, and deletions.
  TL_SYNC_OLDER = 1,  ///< Messages below the newest verified range, filling gaps.
  /// The newest messages, mostly one page, and deletions. A recorded gap may stay below.
  TL_SYNC_LIVE = 2,
  TL_SYNC_CONVERSATIONS = 3, ///< The list of conversations with last messages; no `conversation`.
  TL_SYNC_ALL = 4 ///< #TL_SYNC_LIVE of each conversation known here; no `conversation`.
};

/// Where an answer may come from.
typedef int32_t tl_policy;
enum {
  TL_POLICY_CACHE_THEN_NETWORK = 0, ///< The cache now, the network when it can.
  TL_POLICY_CACHE_ONLY = 1,         ///< The cache: ends at once, requests nothing.
  /// The network; the cache after `limit_ms` or a failure. Later answers are stored.
  TL_POLICY_NETWORK_FIRST = 2,
  /// The network, or failure: at once without a connection, or after `limit_ms`.
  TL_POLICY_NETWORK_ONLY = 3,
  TL_POLICY_MAX_AGE = 4, ///< The cache if the last successful catch-up began at most `age_us` ago,
                         ///< else #TL_POLICY_CACHE_THEN_NETWORK. Age 0 always requests.
  TL_POLICY_HOST = 5                ///< As `choose` of #tl_client_config says.
};

typedef int32_t tl_basis;
enum {
  TL_BASIS_CACHE = 0,  ///< What was stored, as of `as_of_us`; also if nothing had to be requested.
  /// Complete answers, or pushes of all that is new (#TL_PROFILE_PUSH_LOSSLESS).
  TL_BASIS_NETWORK = 1
};

enum {
  /// Marks messages of others on fetched pages read, in any configuration.
  TL_SYNC_MARK_READ = 1u << 0
};

typedef struct tl_sync_request {
  uint32_t struct_size;
  uint32_t flags;
  tl_view conversation;
  tl_sync_kind kind;
  tl_policy policy;
  uint32_t want;         ///< For #TL_SYNC_OLDER: how many more messages; 0: one page.
  uint32_t pages_max;    ///< Give up after so many pages; 0: no bound.
  uint32_t limit_ms; ///< Of `policy`: how long to wait for the network; 0: no bound; max 3,600,000.
  uint32_t reserved;
  int64_t age_us;        ///< For #TL_POLICY_MAX_AGE.
} tl_sync_request;

/** Starts a sync and returns at once. Offline it waits for a connection. An identical one that
    waits or runs is joined, and its id returned.

    With #TL_POLICY_NETWORK_FIRST and #TL_POLICY_NETWORK_ONLY the id is the caller's own, though the
    requests may be shared. #TL_POLICY_MAX_AGE is about new messages: #TL_SYNC_OLDER always
    requests. Once one of the three was used, the file keeps the time of the last successful
    catch-up.

    A `limit_ms` expires in #tl_client_advance, which has its deadline. The network has failed when
    it refuses for good, when six times it refuses for now or does not answer, or when the
    connection is lost. A time to retry that the server names is waited for, within `limit_ms`.

    #TL_SYNC_ALL visits conversations of open windows first, then the others in list order, two at a
    time; requests of screens go first. It skips conversations that the server refuses; if another
    one failed it ends with #TL_E_INCOMPLETE. A new connection continues with those left.

    Every sync ends, if need be with #TL_E_INCOMPLETE; what it fetched stays, and the next one
    continues from there:
    - after max(needed + 64, 4 * needed) pages, where `needed` is the server's count divided by the
      mean page size;
    - without a count, after `pages_max` pages of #tl_profile;
    - after 64 answers in a row with nothing new;
    - #TL_SYNC_CONVERSATIONS also after `pages_max` answers with less than a quarter of what was
      requested, and after 200,000 conversations.

    With #TL_SERVER_LOG, whose purges are not announced, #TL_SYNC_LATEST re-checks the start once
    per connection, as does #TL_SYNC_OLDER when all is known; #TL_SYNC_LIVE and windows do not.
    @param out The sync's id. NULL is allowed.
    @return #TL_E_TOO_LARGE, #TL_E_FULL (too many syncs waiting), #TL_E_STORAGE. */
TL_API TL_CHECK tl_status
tl_client_sync(tl_client *client, const tl_sync_request *request, uint64_t *out);

/** Cancels a sync. What it fetched stays. Requests with policies that share it are still answered.
    @return #TL_NONE when it had ended, #TL_E_NOT_FOUND. */
TL_API TL_CHECK tl_status tl_client_cancel(tl_client *client, uint64_t sync);

typedef int32_t tl_sync_phase;
enum {
  TL_SYNC_WAITING = 0, ///< For a connection, a turn, or a retry.
  TL_SYNC_RUNNING = 1,
  TL_SYNC_ENDED = 2
};

typedef struct tl_sync_status {
  uint32_t struct_size;
  tl_sync_phase phase;
  tl_status result;     ///< #TL_OK, or why it ended; while waiting, the last trouble.
  uint32_t requests;
  uint32_t received;    ///< Messages, known ones included.
  uint32_t inserted;
  uint32_t removed;
  uint32_t reserved;
  uint32_t done;        ///< #TL_SYNC_ALL: conversations done.
  uint32_t total;       ///< #TL_SYNC_ALL: all conversations, 0 before it began.
  tl_basis basis;
  /// #TL_OK, or why the network did not answer, even if `result` is #TL_OK by the cache.
  tl_status reason;
  /// Start (device clock) of the last successful catch-up; while this one runs, of the one before.
  int64_t as_of_us;
  int64_t step_back_us; ///< #TL_SERVER_LOG: the largest backward step of `created_at` seen. A seek
                        ///< by time may be off by so much, and by more where no page was read.
} tl_sync_status;

/** Reads how a sync went. The last 1,024 ended syncs are remembered.
    @return #TL_E_NOT_FOUND. */
TL_API TL_CHECK tl_status
tl_client_sync_status(tl_client *client, uint64_t sync, tl_sync_status *out);

/* Read ----------------------------------------------------------------------------------------- */

typedef int32_t tl_message_state;
enum {
  TL_MESSAGE_CONFIRMED = 0, ///< The server has it.
  TL_MESSAGE_QUEUED = 1,    ///< Written here, not yet sent.
  TL_MESSAGE_IN_FLIGHT = 2,
  TL_MESSAGE_UNKNOWN = 3,   ///< Sent, never answered: it may have arrived. The user decides.
  TL_MESSAGE_REFUSED = 4    ///< The server refused it. The user decides.
};

enum {
  TL_MESSAGE_MINE = 1u << 0,
  /// Of another user, not known to be read nor marked read here; no event, not deleted.
  TL_MESSAGE_UNREAD = 1u << 1,
  TL_MESSAGE_EDITED = 1u << 2,
  TL_MESSAGE_DELETED = 1u << 3,   ///< The server shows it as deleted.
  TL_MESSAGE_PINNED = 1u << 4,
  TL_MESSAGE_EVENT = 1u << 5,
  TL_MESSAGE_SEALED = 1u << 6,    ///< The payload is as received: it could not be opened yet.
  /// Not in a verified range: may be edited or deleted on the server.
  TL_MESSAGE_UNVERIFIED = 1u << 7,
  TL_MESSAGE_GAP_BEFORE = 1u << 8, ///< In a window: a gap lies before this row.
  /// Edits, reactions, pins and receipts are not verified on this connection.
  TL_MESSAGE_STALE = 1u << 9,
  TL_MESSAGE_LISTENED = 1u << 10,  ///< This user has listened to it, or marked it so here.
  TL_MESSAGE_GONE = 1u << 11, ///< In a window: removed since the last poll; only `number` is set.
  /// The gap before will be filled by a request, due or under way.
  TL_MESSAGE_GAP_HEALING = 1u << 12,
  TL_MESSAGE_MODERATED = 1u << 13, ///< The server says that a moderator changed or hid it.
  TL_MESSAGE_SILENT = 1u << 14   ///< An update of it asked not to notify the user.
};

/** One message.

    A pending message is after all others, in the order of sending; `id` is its client id and
    `time_us` is 0. Once confirmed it moves to its position and keeps its `number`. Unconfirmed
    changes of the user (edits, reactions, pins, deletions) are shown as done. */
typedef struct tl_message {
  uint64_t number;        ///< Local id: the identity on screen, never reused.
  int64_t time_us;
  tl_message_state state;
  uint32_t flags;
  tl_view id;
  tl_view conversation;
  tl_view sender;
  tl_view stamp;          ///< `created_at` as the server printed it.
  tl_view payload;        ///< From `open`, or as received.
  tl_view reply_to;
  tl_view reactions;      ///< JSON object as received.
  tl_view read_by;        ///< JSON array of ids of users who have read it.
  tl_view rest;           ///< JSON object of all other members, verbatim.
  tl_view delivered_by;   ///< As `read_by`, of delivery.
  tl_view listened_by;    ///< As `read_by`, of listening.
  uint64_t sequence;      ///< Server sequence with #TL_SERVER_SEQUENCE.
  uint64_t operation;
  uint32_t upload_permille; ///< Of its attachment, as the host reported; 1,000 if none is due.
  uint32_t reserved;
  int64_t edited_us;
  tl_view client_id;      ///< Of this user's messages: the client id it was sent under.
  uint64_t reserved_words[8];
} tl_message;

/** Records and their bytes, in one allocation. Each kind has a function such as #tl_batch_rows,
    which returns the records, valid with their views until the batch is freed; or NULL and a
    `*count` of 0 if the batch holds none of that kind. `count` may be NULL. */
typedef struct tl_batch tl_batch;

typedef int32_t tl_stop;
enum {
  TL_STOP_LIMIT = 0, ///< The limit was reached, or 64 MiB.
  TL_STOP_START = 1, ///< The start of the conversation.
  TL_STOP_GAP = 2,   ///< Beyond is a gap that only the network can fill.
  TL_STOP_PRESENT = 3, ///< The newest message known; the server may have newer.
  TL_STOP_COUNT = 4  ///< All ranges join, but the server counts other than what is stored.
};

/** Where messages may be missing, or in a window are not loaded. With #TL_SERVER_SEQUENCE or
    #TL_SERVER_LOG its ends are the times of the nearest stored messages. */
typedef struct tl_gap {
  uint32_t before_row; ///< The gap is before this row; the row count: after the last one.
  uint32_t poisoned;   ///< 1 if it hides an unreadable item.
  int64_t low_us;      ///< Its older end; INT64_MIN: the start.
  int64_t high_us;     ///< Its newer end; INT64_MAX: nothing newer is known.
  uint64_t reserved_words[8];
} tl_gap;

/** How complete a page of messages is. A page without rows, of a conversation that was never
    fetched, is not whole and has one gap.

    With #TL_SERVER_LOG the messages of a whole page are as they are after all entries up to
    `as_of_entry`, the last one of their verified range, less later deletions. The three times are
    that entry's, 0 if it has none or the page is not whole; they order nothing. `total_count` is
    -1. Rows without #TL_MESSAGE_STALE were in a page of this connection, or in the range that one
    of its pages connected to the present. Only a sync tells whether newer entries exist, as of its
    end. */
typedef struct tl_coverage {
  uint32_t struct_size;
  /// 1: nothing is missing from the first row to the last; without rows, where it looked.
  uint32_t whole;
  tl_stop stop;
  uint32_t gap_count;        ///< Those that touch the page.
  const tl_gap *gaps;        ///< Oldest first; valid until the batch is freed.
  int64_t deletions_as_of_us; ///< Server time up to which deletions are known.
  int64_t content_as_of_us;  ///< The same for the newest range.
  int64_t total_count;       ///< The server's last count, -1 for none.
  uint64_t known_count;      ///< Stored messages, hidden ones included.
  int64_t marks_as_of_us;    ///< Edits and marks are known up to this server time.
  uint32_t stale_count;
  uint32_t reserved;
  tl_view as_of_entry;       ///< Valid until the batch is freed.
} tl_coverage;

typedef int32_t tl_from;
enum {
  TL_FROM_LATEST = 0, ///< The newest message, going older.
  TL_FROM_OLDEST = 1, ///< The oldest stored message, going newer.
  TL_FROM_BEFORE = 2, ///< Messages older than `number`.
  TL_FROM_AFTER = 3,  ///< Messages newer than `number`.
  TL_FROM_TIME = 4,   ///< At or after `time_us`, going newer.
  TL_FROM_BEFORE_TIME = 5 ///< Before `time_us`, going older.
};

enum {
  TL_QUERY_PINNED = 1u << 0
};

typedef int32_t tl_order;
enum {
  TL_ORDER_ASCENDING = 0,
  TL_ORDER_DESCENDING = 1 ///< Newest first.
};

typedef struct tl_query {
  uint32_t struct_size;
  uint32_t flags;
  tl_view conversation;
  tl_from from;
  tl_order order;
  uint64_t number;      ///< A message's local id.
  int64_t time_us;
  uint32_t limit;       ///< Visible messages; 0: 50.
  uint32_t reserved;
} tl_query;

/** Reads messages from the cache, as one committed state; never waits for the network.
    @return #TL_E_NOT_FOUND (no message with `number`), #TL_E_STORAGE. */
TL_API TL_CHECK tl_status
tl_client_messages(tl_client *client, const tl_query *query, tl_batch **out);

/** Reads one message by id.
    @return #TL_E_NOT_FOUND (unknown, deleted, hidden or forgotten), #TL_E_STORAGE. */
TL_API TL_CHECK tl_status
tl_client_message(tl_client *client, tl_view conversation, tl_view id, tl_batch **out);

/** Reads the visible messages of a conversation with `first` <= local id <= `last`, in that order:
    those of an entry of the change feed.

    A full or large batch ends early: continue after the local id of its last row until a batch is
    empty. The coverage verifies nothing. An unknown conversation has no messages.
    @param limit 0: 50.
    @return #TL_E_STORAGE. */
TL_API TL_CHECK tl_status
tl_client_numbered(tl_client *client, tl_view conversation, uint64_t first, uint64_t last,
                   uint32_t limit, tl_batch **out);

typedef int32_t tl_change_kind;
enum {
  TL_CHANGE_INSERTED = 1,
  TL_CHANGE_UPDATED = 2,
  TL_CHANGE_REMOVED = 3,
  TL_CHANGE_COVERAGE = 4, ///< What is verified changed; no numbers.
  TL_CHANGE_EVENTS = 5,   ///< Events arrived; the numbers are those of #tl_event.
  TL_CHANGE_ENTITIES = 6, ///< Conversations, members or profiles changed; no numbers.
  TL_CHANGE_OPERATIONS = 7, ///< Operations were made, changed or ended; the numbers are their ids.
  TL_CHANGE_CONVERSATIONS = 8, ///< Unread count, marker, draft or list entry changed; no numbers.
  TL_CHANGE_PURGED = 9 ///< Messages were removed to keep a #tl_budget; the server has them.
};

/** #TL_CHANGE_NOTIFY offers all messages of the conversation between `first` and `last` for a
    notification: new, of another user, unread, neither deleted nor events. Each is offered once,
    even if it was removed and arrives again (the last 10,000 are remembered).

    Offered:
    - by a push; with #TL_SERVER_ENVELOPE by nothing else;
    - without an envelope also by the first page that shows a message newer than the first fetch of
      its conversation, whichever request fetched it, also after a list showed it. A gap filled late
      offers old messages: check `time_us`;
    - one with #TL_MESSAGE_SEALED, as it is.

    Not offered:
    - what the first fetch of a conversation brings, and what was there before;
    - a fetch after its push, an edit, a repeated update;
    - a message of which an update was silent.

    Check the rows of an entry read late: one read meanwhile has no #TL_MESSAGE_UNREAD, a silenced
    one has #TL_MESSAGE_SILENT. */
enum {
  TL_CHANGE_SILENT = 1u << 0, ///< The server asks not to notify the user.
  TL_CHANGE_NOTIFY = 1u << 1
};

/// Where a change came from.
typedef int32_t tl_origin;
enum {
  TL_ORIGIN_NONE = 0,    ///< Unknown: written by an earlier version.
  TL_ORIGIN_FETCHED = 1, ///< The library asked the server.
  TL_ORIGIN_PUSHED = 2,
  TL_ORIGIN_OWN = 3      ///< This user or host did it here, or it answers that.
};

/// One entry of the change feed: messages of one conversation, one commit.
typedef struct tl_change {
  uint64_t seq;         ///< Feed sequence: grows, survives restarts.
  tl_change_kind kind;
  uint32_t flags;       ///< `TL_CHANGE_` flags.
  uint64_t first;       ///< First local id concerned.
  uint64_t last;        ///< Last one; those between may belong elsewhere.
  tl_view conversation;
  tl_origin origin;
  uint32_t reserved;
  uint64_t reserved_words[8];
} tl_change;

/** Reads committed changes. The feed survives restarts: keep the last `seq` seen.
    @return #TL_NONE when there is nothing newer, #TL_RESYNC when changes after `after` are no
        longer kept (read all again, continue from `change_seq` of #tl_state), #TL_E_STORAGE. */
TL_API TL_CHECK tl_status
tl_client_changes(tl_client *client, uint64_t after, uint32_t limit, tl_batch **out);

TL_API const tl_message *tl_batch_rows(const tl_batch *batch, size_t *count);

TL_API const tl_change *tl_batch_changes(const tl_batch *batch, size_t *count);

/// Tells how complete the messages of a batch are.
TL_API TL_CHECK tl_status
tl_batch_coverage(const tl_batch *batch, tl_coverage *out);

/** Gives the one block of memory that holds a batch: records first, bytes behind. For bindings that
    copy once: every view of the batch points into it. */
TL_API TL_CHECK tl_status tl_batch_block(const tl_batch *batch, tl_view *out);

TL_API void tl_batch_free(tl_batch *batch);

typedef int32_t tl_event_kind;
enum {
  TL_EVENT_UNKNOWN = 1,      ///< An update unknown to this version, verbatim.
  TL_EVENT_TYPING = 2,
  TL_EVENT_CONVERSATION = 3,
  TL_EVENT_POISON = 4,       ///< An update that could not be applied, verbatim.
  TL_EVENT_MEMBER = 5,       ///< Joined, changed or left.
  TL_EVENT_PROFILE = 6,
  TL_EVENT_FRAME = 7         ///< A whole frame of an unknown type (#TL_PROFILE_UNKNOWN_FRAMES).
};

/// What an update did, as its sender says.
typedef int32_t tl_action;
enum {
  TL_ACTION_NONE = 0,   ///< Not said, or unknown.
  TL_ACTION_NEW = 1,
  TL_ACTION_UPDATE = 2,
  TL_ACTION_DELETE = 3
};

/// What the server reported that is not a message.
typedef struct tl_event {
  uint64_t seq;         ///< Grows, survives restarts.
  tl_event_kind kind;
  tl_action action;
  uint32_t flags;       ///< `TL_CHANGE_` flags.
  uint32_t reserved;
  tl_view conversation;
  tl_view entity;       ///< Name of the entity, or type of the frame.
  tl_view body;         ///< JSON value, verbatim.
  tl_view id;           ///< Of the conversation or user.
  uint64_t reserved_words[8];
} tl_event;

/** Reads events. The last 10,000 are kept, also across restarts. An update is replied to only once
    its event is on disk.
    @return #TL_NONE when there is nothing newer, #TL_RESYNC when events after `after` are no longer
        kept (continue from 0), #TL_E_STORAGE. */
TL_API TL_CHECK tl_status
tl_client_events(tl_client *client, uint64_t after, uint32_t limit, tl_batch **out);

TL_API const tl_event *tl_batch_events(const tl_batch *batch, size_t *count);

enum {
  TL_QUARANTINED_CUT = 1u << 0 ///< `item` is only its beginning.
};

/** One item that could not be applied, kept until its position is shown again. An item that is
    fetched again has a new number; one that hides two positions may be listed twice. */
typedef struct tl_quarantined {
  uint64_t seq;         ///< Its number; grows, never reused.
  uint32_t flags;
  uint32_t reserved;
  int64_t low_us;       ///< Server time at the older end of what it hides, or INT64_MIN.
  int64_t high_us;      ///< At the newer end, or INT64_MAX.
  uint64_t size;
  tl_view conversation;
  tl_view reason;       ///< As #tl_last_error said it.
  tl_view item; ///< What was received, max 64 KiB; empty for a page of which nothing could be read.
  uint64_t reserved_words[8];
} tl_quarantined;

/** Reads items that could not be applied, oldest first, max 64 MiB. The last 10,000 are kept, also
    across restarts; #tl_client_clear removes them.
    @param conversation Empty for all, and for items that name none.
    @return #TL_NONE if there are none, #TL_E_STORAGE. */
TL_API TL_CHECK tl_status
tl_client_quarantined(
    tl_client *client, tl_view conversation, uint64_t after, uint32_t limit, tl_batch **out);

TL_API const tl_quarantined *tl_batch_quarantined(const tl_batch *batch, size_t *count);

/// Objects beside messages; the newest copy of each is kept.
typedef int32_t tl_entity_kind;
enum {
  TL_ENTITY_CONVERSATION = 1, ///< `conversation` and `id` are its id.
  TL_ENTITY_MEMBER = 2,       ///< Of a conversation; `id` is the user.
  TL_ENTITY_PROFILE = 3       ///< Of a user; `conversation` is empty.
};

typedef struct tl_entity {
  tl_entity_kind kind;
  uint32_t reserved;
  tl_view conversation;
  tl_view id;
  tl_view body;         ///< JSON object, verbatim.
  uint64_t reserved_words[8];
} tl_entity;

typedef struct tl_entity_query {
  uint32_t struct_size;
  tl_entity_kind kind;
  tl_view conversation;       ///< For members: whose, or empty for all.
  tl_view id;                 ///< Only this one, or empty for all.
  /// With members of all: `conversation` of the last one of the page before.
  tl_view after_conversation;
  tl_view after_id;           ///< `id` of the last one of the page before, or empty.
  uint32_t limit;
  uint32_t reserved;
} tl_entity_query;

/** Reads entities of one kind from the cache, in pages.

    Profiles, and members of one conversation, are ordered by the bytes of the id; conversations,
    and members of all, by conversation, as those became known. A member by `id` needs its
    conversation.
    @return #TL_NONE if there are none, #TL_E_STORAGE. */
TL_API TL_CHECK tl_status
tl_client_entities(tl_client *client, const tl_entity_query *query, tl_batch **out);

TL_API const tl_entity *tl_batch_entities(const tl_batch *batch, size_t *count);

typedef struct tl_text {
  tl_view bytes;
} tl_text;

/** Merges two lists of messages, each a JSON array as the server sends them, without a client.

    Rules as in a client: one message an id, ordered by time and id. The newer side wins field by
    field (server version, then edit time, then `more`); read states only grow. A message without
    `conversation_id` belongs to the first conversation that either list names.
    @param out A JSON array, also with #TL_QUARANTINED.
    @return #TL_QUARANTINED when unreadable items were left out, #TL_E_FRAME (not a JSON array),
        #TL_E_TOO_LARGE (over 16 MiB). */
TL_API TL_CHECK tl_status tl_merge_messages(tl_view base, tl_view more, tl_text **out);

/** Merges changes into a list of messages without a client.
    @param deltas JSON array of frames, in order: `message_new`, `message_edited`,
        `message_deleted`, `messages_read`, `message_reacted`, `message_pinned`, `message_unpinned`,
        `conversation_deleted` (deletes its messages too), or an `update` envelope. Max 10,000
        changes may precede their messages.
    @return As #tl_merge_messages. */
TL_API TL_CHECK tl_status tl_merge_deltas(tl_view base, tl_view deltas, tl_text **out);

TL_API void tl_text_free(tl_text *text);

/** Explains why a message is shown or is not (docs/howto/explain.md).

    `reason` says what holds now, `next` what would change it, `gaps` where the message may be. With
    #TL_OPEN_TRACE `trace` lists what changed it, newest first. No text of a message is in it. An
    unknown message is a reason, and no failure.
    @param id Of the message, or the client id of a send.
    @param limit Of `trace`.
    @param out One JSON object.
    @return #TL_E_STORAGE. */
TL_API TL_CHECK tl_status tl_client_explain(
    tl_client *client, tl_view conversation, tl_view id, uint32_t limit, tl_text **out);

/* Watch ---------------------------------------------------------------------------------------- */

/** One screen's view of a conversation: loaded messages in order, each once, with gaps where
    messages may be missing or are not loaded. Used by one thread at a time; several windows may
    watch one conversation. */
typedef struct tl_window tl_window;

/// Where a window opens, and what a load is around.
typedef int32_t tl_at;
enum {
  TL_AT_LATEST = 0,  ///< The newest messages; new ones are added.
  TL_AT_UNREAD = 1, ///< The first message after all that this user read or sent: by the server's
                    ///< read marker, or else in the newest page.
  TL_AT_MESSAGE = 2, ///< A message by id, as a search hit or a quoted message.
  TL_AT_TIME = 3     ///< The first message at or after a time.
};

enum {
  TL_WINDOW_CACHE_ONLY = 1u << 0, ///< Requests nothing.
  TL_WINDOW_NO_REFRESH = 1u << 1, ///< Does not refresh stale rows on screen.
  TL_WINDOW_PRELOAD = 1u << 2     ///< Loads the next page near an end: see #tl_window_show.
};

typedef struct tl_window_config {
  uint32_t struct_size;
  uint32_t flags;
  tl_view conversation;
  tl_at at;
  uint32_t count;       ///< Messages to begin with; 0: 50; max 1,000.
  tl_view id;
  int64_t time_us;
  uint32_t rows_max;    ///< Messages in memory; 0: 2,000; 100 to 200,000.
  /// How long a gap that heals is not drawn; 0: 1,000; max 60,000, or #TL_WINDOW_HOLD_NONE.
  uint32_t hold_ms;
  tl_policy policy;
  uint32_t limit_ms;    ///< Of `policy`, as that of a sync, from the first poll on.
  uint32_t reserved;
  int64_t age_us;
} tl_window_config;

/// For `hold_ms`: every gap is drawn at once.
#define TL_WINDOW_HOLD_NONE 0xFFFFFFFFu

/** Opens a window on a conversation, and keeps the client alive until the window is freed.

    It begins empty at version 0; the first #tl_window_poll brings what is cached. While connected
    it requests what is missing, before any other work. What was shown stays. Policies:
    - #TL_POLICY_NETWORK_FIRST: empty until a catch-up on this connection ended, well or not, or
      `limit_ms` is over.
    - #TL_POLICY_NETWORK_ONLY: empty until one ended well; `trouble` says why it did not.
    - #TL_POLICY_MAX_AGE: a connection requests gaps, but not the newest messages if they are young
      enough.
    - #TL_POLICY_HOST: asks the host's function here and at each poll. Rows that one answer held
      back are shown by the first poll whose answer does not.

        tl_window_config config = {.struct_size = sizeof config, .conversation = text("general")};
        tl_window_open(client, &config, &window);
        if (tl_window_poll(window, &diff) == TL_OK) {
          for (uint32_t i = 0; i < diff->op_count; i++) apply(&diff->ops[i]);
          tl_diff_free(diff);
          tl_window_rows(window, first, count, &batch);
        }
    @return #TL_E_TOO_LARGE, #TL_E_FULL (over 1,024 windows, or too many syncs wait),
        #TL_E_UNSUPPORTED (a message that is not stored, and the server cannot look for it),
        #TL_E_STORAGE. */
TL_API TL_CHECK tl_status
tl_window_open(tl_client *client, const tl_window_config *config, tl_window **out);

typedef int32_t tl_load_kind;
enum {
  TL_LOAD_INITIAL = 0, ///< The newest messages, instead of all loaded ones.
  TL_LOAD_BEFORE = 1,
  TL_LOAD_AFTER = 2,
  TL_LOAD_AROUND = 3,  ///< Messages around a position, beside those loaded.
  TL_LOAD_LAST = 4     ///< The newest messages, beside those loaded.
};

enum {
  TL_LOAD_PAST_GAPS = 1u << 0 ///< Continues beyond a gap at once and leaves it.
};

typedef struct tl_load {
  uint32_t struct_size;
  uint32_t flags;
  tl_load_kind kind;
  uint32_t count;       ///< Visible messages; 0: 50; max 1,000.
  uint64_t number;      ///< Before or after this message; 0: the first or last row.
  tl_at at;             ///< For #TL_LOAD_AROUND: any but #TL_AT_LATEST.
  uint32_t reserved;
  tl_view id;
  int64_t time_us;
} tl_load;

/** Loads more into a window; #tl_window_poll brings it.

    A gap in the way is requested first, and the window grows as answers arrive; offline, or with
    #TL_LOAD_PAST_GAPS, it continues beyond the gap. Above `rows_max` the messages farthest from the
    load leave the window.
    @return #TL_NONE when nothing is there, #TL_E_NOT_FOUND (no row with `number`),
        #TL_E_UNSUPPORTED (as #tl_window_open), #TL_E_TOO_LARGE, #TL_E_STORAGE. */
TL_API TL_CHECK tl_status tl_window_load(tl_window *window, const tl_load *load);

typedef int32_t tl_op_kind;
enum {
  TL_OP_INSERT = 1, ///< `count` new rows from `row` on. Read them after the last step.
  TL_OP_REMOVE = 2, ///< `count` rows from `row` on are removed.
  TL_OP_UPDATE = 3, ///< `count` rows from `row` on changed: content, flags, or the gap before.
  TL_OP_MOVE = 4    ///< The row at `from` is taken out, then put in at `row`.
};

/** One step. Rows count from 0: from the oldest row in a window, from the last active in a
    conversation list. */
typedef struct tl_op {
  tl_op_kind kind;
  uint32_t row;    ///< In the list as it is after the steps before.
  uint32_t from;
  uint32_t count;  ///< 1 for #TL_OP_MOVE.
} tl_op;

/// The steps between two versions of a list, to be applied in order.
typedef struct tl_diff {
  uint64_t from_version;
  uint64_t to_version;
  uint64_t checksum;     ///< #tl_checksum of the numbers of the rows after it.
  uint32_t row_count;
  uint32_t op_count;
  const tl_op *ops;
} tl_diff;

/** Moves a window to the newest committed state and gives the steps.

    - A gap that a catch-up, due or under way, will fill is held back for `hold_ms`: the row comes
      without #TL_MESSAGE_GAP_BEFORE, and is updated if the gap is still there then. If the catch-up
      waits for other pushes, the time counts from its request. #tl_client_advance has the deadline;
      if that is earlier than it last said, the event descriptor is readable.
    - Of adjacent gaps that the same catch-up will fill, only the first is reported.
    - A lost connection makes all rows #TL_MESSAGE_STALE without a step; a row that is verified
      again has one.
    - A window whose rows are all deleted, or that showed the newest messages and lost them, loads
      again while there is more.
    @return #TL_NONE when no row changed (#tl_window_state may have), #TL_E_STORAGE. */
TL_API TL_CHECK tl_status tl_window_poll(tl_window *window, tl_diff **out);

TL_API void tl_diff_free(tl_diff *diff);

/** Computes the checksum of a list of rows, 0 if empty. If a difference has another one, the host
    applied a step wrongly and reads the window again.

    The sum, modulo 2^64, over each row of `mix(previous, number)`, where `previous` is 0 for the
    first row and `mix(a, b)` is the finalizer of SplitMix64 applied to `a * 0x9E3779B97F4A7C15 +
    b`. */
TL_API uint64_t tl_checksum(const uint64_t *numbers, size_t count);

/** Reads rows of a window, as of its last poll. Content is of the newest committed state; a row
    removed since has #TL_MESSAGE_GONE.
    @return #TL_NONE when no row is there, #TL_E_STORAGE. */
TL_API TL_CHECK tl_status
tl_window_rows(tl_window *window, uint32_t first, uint32_t count, tl_batch **out);

/** Finds the row of a message by id, without a scan.
    @return #TL_NONE when it is not loaded. */
TL_API TL_CHECK tl_status tl_window_find(tl_window *window, tl_view id, uint32_t *out);

/** Loads the messages of the gap before a row: from the cache where it has them all, otherwise
    requested, with neighbours that are #TL_MESSAGE_UNVERIFIED.
    @param row The row after the gap; the row count: after the last one.
    @return #TL_NONE when no gap is there, #TL_E_OFFLINE (some are not stored, and there is no
        connection or the window is cache only), #TL_E_STORAGE. */
TL_API TL_CHECK tl_status tl_window_fill(tl_window *window, uint32_t row);

/** Reports all rows on screen (`count` 0: none): stale ones are refreshed, and rows farthest from
    them leave first.

    With #TL_OPEN_AUTO_MARK_READ a message of another user that is on screen for all of `seen_ms` is
    marked read, as by #tl_client_mark_read, in #tl_client_advance, which has the deadline. A call
    that leaves the row out, one without rows, and closing the window end its time.

    With #TL_WINDOW_PRELOAD, when the rows are within half a page of an end, a page (`count` of
    #tl_window_config) is loaded there, as by #tl_window_load: if there is more, once per connection
    while the same row is at that end, not during a load of that side. Offline it comes from the
    cache.
    @return #TL_E_STORAGE. */
TL_API TL_CHECK tl_status tl_window_show(tl_window *window, uint32_t first, uint32_t count);

/** Keeps some rows; all others leave the window at the next poll, until the host loads them.
    Pending messages stay if one of them does. A load from a row that stays continues, unless it
    would bring back what leaves. */
TL_API TL_CHECK tl_status tl_window_trim(tl_window *window, uint32_t first, uint32_t count);

/// What a window waits for. #tl_operation_wait is another list: only 0 and 1 mean the same.
typedef int32_t tl_waiting;
enum {
  TL_WAITING_NOTHING = 0,
  TL_WAITING_CONNECTION = 1,
  TL_WAITING_PRESENT = 2,    ///< The newest messages.
  TL_WAITING_PLACE = 3,      ///< The position it was opened at, or a load around one.
  TL_WAITING_OLDER = 4,
  TL_WAITING_NEWER = 5,
  TL_WAITING_REFRESH = 6     ///< Stale rows on screen being verified.
};

enum {
  TL_WINDOW_AT_START = 1u << 0,   ///< The first row is the conversation's first message.
  TL_WINDOW_AT_END = 1u << 1,     ///< New messages are added at the end.
  /// A gap is before the first row, or hides what an empty window lacks.
  TL_WINDOW_GAP_BEFORE = 1u << 2,
  TL_WINDOW_GAP_AFTER = 1u << 3,
  /// #TL_AT_UNREAD found no marker: the newest messages are shown, until the next load.
  TL_WINDOW_MARKER_UNKNOWN = 1u << 4
};

/// As of the last poll.
typedef struct tl_window_status {
  uint32_t struct_size;
  uint32_t flags;
  uint64_t version;
  uint64_t checksum;    ///< #tl_checksum of its rows.
  uint32_t row_count;
  uint32_t split_count; ///< Gaps between its rows, held back ones included.
  tl_waiting waiting;
  tl_status trouble;    ///< #TL_OK, or why its last request failed.
  uint64_t anchor;      ///< Local id of the message that it opened at or last loaded around.
  tl_basis basis;       ///< #TL_BASIS_NETWORK if a catch-up ended well on this connection.
  uint32_t reserved;
  int64_t as_of_us;     ///< As that of #tl_sync_status.
} tl_window_status;

/// Reads the state of a window.
TL_API TL_CHECK tl_status tl_window_state(tl_window *window, tl_window_status *out);

/// Closes a window and drops its requests.
TL_API void tl_window_close(tl_window *window);

TL_API void tl_window_free(tl_window *window);

/// The list of conversations, polled like a window.
typedef struct tl_list tl_list;

enum {
  TL_LIST_CACHE_ONLY = 1u << 0 ///< Requests nothing.
};

typedef struct tl_list_config {
  uint32_t struct_size;
  uint32_t flags;
  uint32_t rows_max;    ///< Conversations in memory; 0: 10,000; 100 to 200,000.
  tl_policy policy;
  uint32_t limit_ms;    ///< As that of a window.
  uint32_t reserved;
  int64_t age_us;
} tl_list_config;

/** `unread` is the server's last count, moved by what was seen since. It is the library's own count
    if the server sends none; or if an answer shows that all is stored, and the server's count is
    inexact and of an earlier connection. It changes only with a new count, a message that arrived,
    was read or removed, or when all counted messages have arrived.

    It is exact (#TL_CONVERSATION_UNREAD_EXACT) if it was counted on this connection (or on the last
    one, until this one has told of the conversation), and everything since is accounted for. So it
    stays exact offline. Exceptions:
    - After the server refused a read mark, `unread` and the rows' #TL_MESSAGE_UNREAD can differ.
    - A count from a read marker below the one here is ignored and requested again. A count without
      a marker is believed: it can be too high and say exact. */
enum {
  TL_CONVERSATION_PENDING = 1u << 0, ///< Made here, not yet by the server; `id` is its client id.
  TL_CONVERSATION_UNREAD_EXACT = 1u << 1, ///< `unread` is exact: see above.
  TL_CONVERSATION_HAS_PENDING = 1u << 2,  ///< Messages of this user wait to be sent.
  TL_CONVERSATION_HAS_STUCK = 1u << 3,    ///< A send is unknown or refused.
  TL_CONVERSATION_GONE = 1u << 4 ///< In a list: removed since the last poll; only `number` is set.
};

typedef struct tl_conversation {
  uint64_t number;        ///< Local id, never reused.
  uint32_t flags;
  uint32_t member_count;
  uint64_t unread;        ///< Of others, above the read marker, not read by this user.
  int64_t activity_us;    ///< Server time of the last message, else of the last change.
  tl_view id;
  tl_view title;
  tl_view body;           ///< JSON object as received, that of its request while pending.
  tl_view last_read;      ///< Id of the message at this user's read marker.
  tl_view draft;
  tl_view draft_reply_to;
  tl_view typing;         ///< JSON array of ids of users who are typing now.
  const tl_message *last; ///< Last visible message stored, pending ones included.
  tl_view client_id;      ///< Client id that it was created under here.
  uint64_t reserved_words[8];
} tl_conversation;

/** Opens the list of conversations, the last active first, and keeps the client alive until the
    list is freed. It begins empty at version 0. Conversations with a message that waits to be sent
    are first. While connected it requests the list like #TL_SYNC_CONVERSATIONS.

    Policies work as for a window; a fetch of the complete list takes the place of the catch-up.
    With #TL_POLICY_MAX_AGE a connection requests neither a list that is young enough nor its
    counts.
    @param config NULL for the defaults.
    @return #TL_E_FULL, #TL_E_STORAGE. */
TL_API TL_CHECK tl_status
tl_list_open(tl_client *client, const tl_list_config *config, tl_list **out);

/** Moves a list to the newest state and gives the steps.
    @return As #tl_window_poll. */
TL_API TL_CHECK tl_status tl_list_poll(tl_list *list, tl_diff **out);

/** Reads rows of a list, as of its last poll, with content as it is now.
    @return As #tl_window_rows. */
TL_API TL_CHECK tl_status
tl_list_rows(tl_list *list, uint32_t first, uint32_t count, tl_batch **out);

/** Finds the row of a conversation by id, without a scan.
    @return As #tl_window_find. */
TL_API TL_CHECK tl_status tl_list_find(tl_list *list, tl_view conversation, uint32_t *out);

enum {
  TL_LIST_TOTAL_EXACT = 1u << 0, ///< Each `unread` is exact, and the list is complete.
  TL_LIST_WHOLE = 1u << 1,       ///< The complete list was fetched once.
  TL_LIST_REFRESHING = 1u << 2
};

/// As of the last poll.
typedef struct tl_list_status {
  uint32_t struct_size;
  uint32_t flags;
  uint64_t version;
  uint64_t checksum;
  uint64_t unread;      ///< Of all conversations.
  uint32_t row_count;
  uint32_t conversation_count; ///< All that are known, also beyond `rows_max`.
  tl_status trouble;    ///< #TL_OK, or why the list could not be fetched.
  tl_basis basis;       ///< #TL_BASIS_NETWORK if the complete list was fetched on this connection.
  int64_t as_of_us;     ///< As that of #tl_sync_status, of the list.
} tl_list_status;

/// Reads the state of a list.
TL_API TL_CHECK tl_status tl_list_state(tl_list *list, tl_list_status *out);

TL_API void tl_list_close(tl_list *list);

TL_API void tl_list_free(tl_list *list);

/** Reads conversations from the cache, the last active first, after `offset` others.
    @return #TL_NONE if there are none, #TL_E_STORAGE. */
TL_API TL_CHECK tl_status
tl_client_conversations(tl_client *client, uint32_t offset, uint32_t limit, tl_batch **out);

/** Reads one conversation from the cache, by its id or the client id of one made here.
    @return #TL_E_NOT_FOUND, #TL_E_STORAGE. */
TL_API TL_CHECK tl_status
tl_client_conversation(tl_client *client, tl_view conversation, tl_batch **out);

TL_API const tl_conversation *tl_batch_conversations(const tl_batch *batch, size_t *count);

/* Items ---------------------------------------------------------------------------------------- */

/** A list of items over one window, for the thread that uses it; at most 8 a window. An item is one
    row on screen: a message, or a group of neighbouring messages.

    Neighbours fold together if they have the same fold value and no drawn gap, change of day or
    unread line between. Two or more are a group: one item, or one for each message while it is
    open.

    Each item has a key, which no other item of the list ever has:
    - It stays while the group grows at either end, shrinks, or loses its first message.
    - When an item splits, the older part keeps it; when two join, the older one's stays.
    - When a group opens, its oldest message gets the key; when it closes, it has the key of that
      message. */
typedef struct tl_items tl_items;

enum {
  TL_ITEMS_REVERSED = 1u << 0,       ///< The newest item, message of an item and range are first.
  TL_ITEMS_FOLD_DELETED = 1u << 1,   ///< #TL_MESSAGE_DELETED gives fold value 1.
  TL_ITEMS_FOLD_MODERATED = 1u << 2, ///< Else #TL_MESSAGE_MODERATED gives 2.
  TL_ITEMS_FOLD_EVENTS = 1u << 3,    ///< Else #TL_MESSAGE_EVENT gives 3.
  TL_ITEMS_FOLD_MIXED = 1u << 4,     ///< All of these give 1, so they fold together.
  TL_ITEMS_UNREAD_LINE = 1u << 5     ///< Puts the unread line once: see #tl_items_unread.
};

/// Answer of `fold` for one message. It begins with what holds without the function.
typedef struct tl_fold {
  uint32_t fold;           ///< Neighbours with one value fold together; 0 folds with none.
  int32_t zone_offset_min; ///< Of the host's days at the message's time; cut to less than a day.
  uint64_t bits;           ///< For the host, returned by #tl_items_bits and in #tl_item.
  uint64_t reserved_words[8];
} tl_fold;

/** Decides whether a message folds, and gives it 64 bits, by the message alone; it is called again
    when that changes. Runs in #tl_items_poll, and must not poll the window or the items. */
typedef void (*tl_fold_hook)(void *context, const tl_message *message, tl_fold *answer);

typedef struct tl_items_config {
  uint32_t struct_size;
  uint32_t flags;
  uint32_t gap_min; ///< Reports more minutes than this between two messages; 0: never; max 527,040.
  int32_t zone_offset_min; ///< Host's days, minutes east of UTC, less than a day.
  tl_fold_hook fold;       ///< Or NULL to use the flags alone.
  void *fold_context;
  tl_drop_hook fold_drop; ///< Or NULL. Runs once, when the items are freed or their opening failed.
} tl_items_config;

/** Opens a list of items over a window, and keeps the window alive until the items are freed. It
    begins empty at version 0.
    @return #TL_E_FULL (over 8 on one window). */
TL_API TL_CHECK tl_status
tl_items_open(tl_window *window, const tl_items_config *config, tl_items **out);

/** Polls the window and gives the steps, as #tl_window_poll, with items for rows and keys for the
    checksum. Poll the items instead of the window; if both, the items last.

    A key stays with its item through every step. An update means that messages of the item arrived,
    left or changed, or that a member of #tl_item did; but `row`, `range`, and in an open group
    `place` and `group_count`, change without a step. After a failure the next call continues.
    @return #TL_NONE when no item changed, #TL_E_INVALID (also from inside of `fold`, or if that
        polled the window), #TL_E_STORAGE. */
TL_API TL_CHECK tl_status tl_items_poll(tl_items *items, tl_diff **out);

/// Before and first mean older, also with #TL_ITEMS_REVERSED.
enum {
  TL_ITEM_GROUP = 1u << 0,        ///< A closed group.
  TL_ITEM_OPENED = 1u << 1,       ///< One message of an open group.
  TL_ITEM_GROUP_FIRST = 1u << 2,  ///< The oldest of an open group.
  TL_ITEM_GROUP_LAST = 1u << 3,   ///< The newest.
  /// The item before has another sender or kind, or something is drawn between.
  TL_ITEM_RUN_FIRST = 1u << 4,
  TL_ITEM_RUN_LAST = 1u << 5,     ///< The same of the item after.
  TL_ITEM_NEW_DAY = 1u << 6,      ///< The message before is of another day, or there is none.
  TL_ITEM_TIME_GAP = 1u << 7,     ///< More than `gap_min` since the message before.
  TL_ITEM_SPLIT_BEFORE = 1u << 8, ///< As #TL_MESSAGE_GAP_BEFORE.
  TL_ITEM_SPLIT_HEALING = 1u << 9, ///< As #TL_MESSAGE_GAP_HEALING.
  TL_ITEM_UNREAD_BEFORE = 1u << 10
};

/// No item, no range.
#define TL_ITEM_NONE 0xFFFFFFFFu

/// As of the last poll.
typedef struct tl_item {
  uint64_t key;
  uint32_t flags;
  uint32_t row;         ///< Window row of its oldest message.
  uint32_t row_count;
  uint32_t range;       ///< Its #tl_items_range, or #TL_ITEM_NONE.
  uint32_t place;       ///< Index in its open group, in list order.
  uint32_t group_count; ///< Messages of its group, open or not; otherwise 1.
  int64_t day; ///< Days since 1970-01-01 where the host is; INT64_MIN without a server time.
  int64_t gap_us;       ///< #TL_ITEM_TIME_GAP: time since the message before.
  uint64_t number;      ///< Local id of its oldest message.
  uint64_t bits;        ///< From `fold` for that message.
  uint64_t reserved_words[8];
} tl_item;

/** Reads items.
    @return #TL_NONE when no item is there, #TL_E_INVALID (also if the window was polled since). */
TL_API TL_CHECK tl_status
tl_items_read(tl_items *items, uint32_t first, uint32_t count, tl_batch **out);

TL_API const tl_item *tl_batch_items(const tl_batch *batch, size_t *count);

/** Reads messages of an item, in list order, as #tl_window_rows does; a `count` of 0 is as many as
    one read gives.
    @return #TL_NONE when no message is there, #TL_E_INVALID (as #tl_items_read), #TL_E_STORAGE. */
TL_API TL_CHECK tl_status
tl_items_messages(tl_items *items, uint32_t item, uint32_t first, uint32_t count,
                  tl_batch **out);

/** Finds the item of a message by id, without a scan.
    @param place Index of the message in the item. NULL is allowed.
    @return #TL_NONE when it is not loaded, #TL_E_INVALID (as #tl_items_read), #TL_E_STORAGE. */
TL_API TL_CHECK tl_status
tl_items_find(tl_items *items, tl_view id, uint32_t *item, uint32_t *place);

/** Finds an item by its key, without a scan.
    @return #TL_NONE when no item has it, #TL_E_INVALID (as #tl_items_read). */
TL_API TL_CHECK tl_status tl_items_find_key(tl_items *items, uint64_t key, uint32_t *item);

/** Reads what `fold` gave for one message of an item.
    @return #TL_NONE when no message is there, #TL_E_INVALID (as #tl_items_read). */
TL_API TL_CHECK tl_status
tl_items_bits(tl_items *items, uint32_t item, uint32_t place, uint64_t *out);

/** Reads a range of items, which ends at a gap. Items after the newest gap are a range only if the
    window does not show the newest messages.
    @return #TL_NONE when there is no such range, #TL_E_INVALID (as #tl_items_read). */
TL_API TL_CHECK tl_status
tl_items_range(tl_items *items, uint32_t range, uint32_t *first, uint32_t *count);

/** Opens (1) or closes (0) the group of an item. The next #tl_items_poll shows it; the event
    descriptor is readable.

    Messages that arrive in an open group are shown singly; a group that joins it opens.
    @param item The group, or any message of an open one.
    @return #TL_NONE when it is no group or already so, #TL_E_INVALID (as #tl_items_read). */
TL_API TL_CHECK tl_status tl_items_set_open(tl_items *items, uint32_t item, int32_t open);

/** Puts the unread line before a message. The next #tl_items_poll shows it; the event descriptor is
    readable. It stays at that position, even if the message is removed.

    #TL_ITEMS_UNREAD_LINE puts it once, before the oldest message that was unread when loaded. It
    waits until the window has what it requested, with a read message or the start before that
    message.
    @param number Local id of a message of the window; 0: no line.
    @return #TL_E_NOT_FOUND (no row has it). */
TL_API TL_CHECK tl_status tl_items_unread(tl_items *items, uint64_t number);

/** Reports which items are on screen: #tl_window_show of all their messages.
    @return #TL_E_INVALID (as #tl_items_read), #TL_E_STORAGE. */
TL_API TL_CHECK tl_status tl_items_show(tl_items *items, uint32_t first, uint32_t count);

enum {
  TL_ITEMS_BEHIND = 1u << 0 ///< The window was polled since: poll the items.
};

/// As of the last poll.
typedef struct tl_items_status {
  uint32_t struct_size;
  uint32_t flags;
  uint64_t version;
  uint64_t checksum;    ///< #tl_checksum of the keys.
  uint32_t item_count;
  uint32_t row_count;   ///< Of the window.
  uint32_t range_count;
  uint32_t unread_item; ///< The item after the unread line, or #TL_ITEM_NONE.
} tl_items_status;

/// Reads the state of a list of items.
TL_API TL_CHECK tl_status tl_items_state(tl_items *items, tl_items_status *out);

/// Closes a list of items. The window stays open.
TL_API void tl_items_close(tl_items *items);

TL_API void tl_items_free(tl_items *items);

/* Act ------------------------------------------------------------------------------------------ */

/// Flags of #tl_client_perform and #tl_send.
enum {
  /// Waits for #tl_operation_uploaded of the attachment; `send_message` only.
  TL_PERFORM_UPLOAD = 1u << 0
};

/** Does one thing for the user: at once on screen, on the server when it can.

    `request` is a frame of the protocol without `request_id`, max 1 MiB: `type` is the verb, the
    other members are its parameters. Every verb is accepted but `get_messages`, `get_deleted_since`
    and `get_changed_since`. `operation` is its id, `number` the local id of a message to send; both
    may be NULL.
    - It is durable (synced) when the call returns; but fetches (`get_...`, `subscribe`, ...) do not
      survive the process, and `typing` is sent or dropped.
    - Changes of messages, read markers and titles are shown at once, and a conversation that is
      left or deleted is in no list. Members and admins change with the answer.
    - Operations are sent in order, one at a time in each conversation, until answered.
    - `message_id` and `conversation_id` may be the client id of something unconfirmed, which is
      waited for; those behind go on meanwhile.
    - A known `client_id` gives the same operation again; of another verb, conversation, message or
      reaction it is #TL_E_INVALID.
    - Deleting or leaving a conversation that was made here and never sent takes back its creation
      and gives that operation. Deleting or editing a message that was never sent gives its send.
      The `client_id` of such calls is not remembered.
    - `typing`, `mark_read`, `mark_delivered`, `mark_listened` give operation 0. Marks are
      as #tl_client_mark_read.
    @return
    - #TL_E_INVALID: not an object, an unknown verb, a member that is missing, wrong or there twice,
      a `client_id` of something else;
    - #TL_E_UNSUPPORTED: a verb that is not performed;
    - #TL_E_REFUSED: by the `seal` hook;
    - #TL_E_STORAGE: if only the sync failed, the operation may be kept: open the file and perform
      it again, with its `client_id`;
    - #TL_E_FULL: the disk, or 100,000 operations wait; #TL_E_TOO_LARGE. */
TL_API TL_CHECK tl_status
tl_client_perform(tl_client *client, tl_view request, uint32_t flags,
                  uint64_t *operation, uint64_t *number);

typedef struct tl_send {
  uint32_t struct_size;
  uint32_t flags;       ///< `TL_PERFORM_` flags.
  tl_view conversation; ///< Id, or the client id of one made here.
  tl_view payload;      ///< JSON value.
  tl_view reply_to;
  tl_view attachment;   ///< JSON object.
  tl_view metadata;     ///< JSON object.
  tl_view client_id;    ///< Max 128 bytes; empty: made by the library.
} tl_send;

/** Sends a message: #tl_client_perform of `send_message`, typed. A window that shows the newest
    messages shows it at once; another one after #TL_LOAD_LAST.

        tl_send send = {.struct_size = sizeof send, .conversation = text("general")};
        send.payload = text("{\"text\":\"hi\"}");
        send.client_id = text("note-17");  // the same id again sends nothing twice
        tl_client_send(client, &send, &operation, &number);
    @return As #tl_client_perform. */
TL_API TL_CHECK tl_status
tl_client_send(tl_client *client, const tl_send *send, uint64_t *operation, uint64_t *number);

typedef int32_t tl_operation_state;
enum {
  TL_OPERATION_QUEUED = 1,    ///< `waiting` says for what.
  TL_OPERATION_IN_FLIGHT = 2,
  TL_OPERATION_UNKNOWN = 3, ///< Sent and never answered, and a repeat might be done twice: it may
                            ///< have arrived. The library looks for a send, not for a conversation.
  TL_OPERATION_REFUSED = 4,   ///< Refused for good; `error_code` says why.
  TL_OPERATION_SENT = 5       ///< Done; `result` is the answer. The last 1,000 are remembered.
};

/// What a queued or unknown operation waits for: not #tl_waiting.
typedef int32_t tl_operation_wait;
enum {
  TL_WAIT_NOTHING = 0,
  TL_WAIT_CONNECTION = 1,
  TL_WAIT_TURN = 2,       ///< Operations before it, or what it is about.
  TL_WAIT_RETRY = 3,
  TL_WAIT_UPLOAD = 4,     ///< #tl_operation_uploaded.
  TL_WAIT_SEAL = 5,       ///< A key: #tl_client_reopen_payloads.
  TL_WAIT_CHECK = 6       ///< Unknown: the library looks whether it arrived.
};

typedef struct tl_operation {
  uint64_t id;              ///< Grows, never reused.
  uint64_t number;          ///< Local id of the message it sends.
  tl_operation_state state;
  tl_operation_wait waiting;
  uint32_t attempts;
  uint32_t upload_permille; ///< Of its attachment; 1,000 if none is due.
  int64_t retry_ms;         ///< Time to the next try, -1 for none.
  tl_view verb;             ///< `type` of its request.
  tl_view conversation;
  tl_view message;          ///< Id of the message it is about.
  tl_view client_id;
  tl_view request;          ///< JSON object: its other parameters, the payload as passed.
  tl_view result;           ///< JSON value: `data` of the answer.
  /// `code` of the server's last error; or `upload_failed`, `seal_failed`, `not_sent`.
  tl_view error_code;
  tl_view error_text;       ///< `message` of that error.
  uint64_t reserved_words[8];
} tl_operation;

enum {
  TL_OPERATIONS_OPEN = 1u << 0 ///< Only those not sent.
};

typedef struct tl_operation_query {
  uint32_t struct_size;
  uint32_t flags;
  tl_view conversation; ///< Empty for all.
  uint64_t after;
  uint32_t limit;
  uint32_t reserved;
} tl_operation_query;

/** Reads operations, oldest first, without marks; all if `query` is NULL.
    @return #TL_NONE if there are none, #TL_E_STORAGE. */
TL_API TL_CHECK tl_status
tl_client_operations(tl_client *client, const tl_operation_query *query, tl_batch **out);

/** Reads one operation.
    @return #TL_E_NOT_FOUND, #TL_E_STORAGE. */
TL_API TL_CHECK tl_status
tl_client_operation(tl_client *client, uint64_t operation, tl_batch **out);

TL_API const tl_operation *tl_batch_operations(const tl_batch *batch, size_t *count);

/** Tries a refused or unknown operation again, or a queued one at once.

    A reply refused with `not_sent`, because the message it answers was not sent, is sent without
    `reply_to`; if that message is sent after all, or again, it stays a reply and follows it. An
    unknown send that had arrived is then there twice, unless the server recognizes its client id.
    @return #TL_NONE when it is under way or sent, #TL_E_NOT_FOUND, #TL_E_STORAGE, #TL_E_FULL. */
TL_API TL_CHECK tl_status tl_operation_retry(tl_client *client, uint64_t operation);

/** Drops an operation that is not in flight, with all that is about it. The screen shows the
    server's state again.

    - Replies to a cancelled message stay, refused with `not_sent`.
    - An unknown send may still turn up, as a message from elsewhere.
    - The draft of a conversation that is not created can still be read by its client id. A window
      on it has no rows then and says #TL_E_NOT_FOUND as its trouble, until it is created under that
      client id.
    @return #TL_NONE when it is in flight or sent, or as #tl_operation_retry. */
TL_API TL_CHECK tl_status tl_operation_cancel(tl_client *client, uint64_t operation);

/** Changes parameters of a queued or refused operation. A refused one is queued again in its old
    place. What it waits for is determined again.
    @param request JSON object of members to replace, as `payload`; not `type`, ids or `client_id`.
    @return As #tl_operation_cancel, or #TL_E_REFUSED (by the `seal` hook), #TL_E_TOO_LARGE. */
TL_API TL_CHECK tl_status
tl_operation_edit(tl_client *client, uint64_t operation, tl_view request);

/** Reports how far the upload of an operation with #TL_WAIT_UPLOAD is, 0 to 1,000, for the screen.
    Not durable.
    @return #TL_NONE when it waits for no upload, or as #tl_operation_retry. */
TL_API TL_CHECK tl_status
tl_operation_progress(tl_client *client, uint64_t operation, uint32_t permille);

/** Reports that an attachment is uploaded: the operation takes its turn.
    @param attachment JSON object that replaces `attachment`, or empty.
    @return As #tl_operation_progress. */
TL_API TL_CHECK tl_status
tl_operation_uploaded(tl_client *client, uint64_t operation, tl_view attachment);

/** Reports that an upload failed for good: the operation is refused. #tl_operation_retry lets it
    wait for an upload again.
    @param reason For `error_text`, max 1,024 bytes, or empty.
    @return As #tl_operation_progress. */
TL_API TL_CHECK tl_status
tl_operation_upload_failed(tl_client *client, uint64_t operation, tl_view reason);

/** Passes sealed messages (of all conversations if `conversation` is empty) to `open` again, and
    waiting operations to `seal`. The change feed names the rows that opened.
    @param count How many succeeded. NULL is allowed.
    @return #TL_NONE when none did, #TL_E_STORAGE, #TL_E_FULL. */
TL_API TL_CHECK tl_status
tl_client_reopen_payloads(tl_client *client, tl_view conversation, uint64_t *count);

typedef int32_t tl_typing;
enum {
  TL_TYPING_BEGIN = 1,   ///< Repeat it every few seconds while it goes on.
  TL_TYPING_PAUSE = 2,
  TL_TYPING_FINISHED = 3
};

/** Tells the others that this user types. Never kept.
    @return #TL_NONE when not connected. */
TL_API TL_CHECK tl_status
tl_client_typing(tl_client *client, tl_view conversation, tl_typing event);

typedef struct tl_draft {
  uint32_t struct_size;
  uint32_t reserved;
  tl_view conversation; ///< Id, or the client id of one made here.
  tl_view text;         ///< Any bytes, max 64 KiB; empty removes the draft.
  /// A send's client id becomes the message's id once the server gives it.
  tl_view reply_to;
} tl_draft;

/** Keeps one draft a conversation.

    No purge and no #tl_client_clear removes it. If a conversation made here proves to be an
    existing one and both have a draft, the later one stays. It is on disk after a crash of the
    process; a loss of power may take the last seconds.
    @return #TL_E_TOO_LARGE, #TL_E_STORAGE, #TL_E_FULL. */
TL_API TL_CHECK tl_status tl_client_draft(tl_client *client, const tl_draft *draft);

/** Marks messages as delivered to this device, like #tl_client_mark_read.
    @return As #tl_client_mark_read. */
TL_API TL_CHECK tl_status
tl_client_mark_delivered(tl_client *client, tl_view conversation, const tl_view *ids, size_t count);

/** Marks messages as read by this user.

    Ids that are this user's own, already read, or unknown are skipped. The rest is durable (synced)
    when the call returns, and is sent when connected: each id is sent until the server confirms it
    and never after.
    @return #TL_E_TOO_LARGE, #TL_E_STORAGE, #TL_E_FULL. */
TL_API TL_CHECK tl_status
tl_client_mark_read(tl_client *client, tl_view conversation, const tl_view *ids, size_t count);

/** Marks messages as listened to by this user, like #tl_client_mark_read.
    @return As #tl_client_mark_read. */
TL_API TL_CHECK tl_status
tl_client_mark_listened(tl_client *client, tl_view conversation, const tl_view *ids, size_t count);

/** Removes one message from this device only. Its content is erased, also from operations on it
    once they are done, and it is never shown again, whatever the server sends.
    @return #TL_E_NOT_FOUND, #TL_E_STORAGE, #TL_E_FULL. */
TL_API TL_CHECK tl_status
tl_client_forget(tl_client *client, tl_view conversation, tl_view id);

/* Find ----------------------------------------------------------------------------------------- */

/** Long work, in steps, maybe none. The file records what is done: after any end, also of the
    process, another work continues there. Freeing it ends it. */
typedef struct tl_work tl_work;

typedef struct tl_progress {
  uint32_t struct_size;
  uint32_t is_done;
  uint64_t done;        ///< Of `total`; may reach it while something is left to do.
  uint64_t total;       ///< In a unit of the work.
} tl_progress;

/** Works for a while, at least a little, on the caller's thread. Other calls may come in between.
    @param ms About how many milliseconds, max 60,000; 0: as little as possible.
    @return #TL_NONE when nothing is left to do, #TL_E_NOT_FOUND (search was switched off),
        #TL_E_DAMAGED (#tl_search_check: the index was wrong; #tl_client_backup, #tl_client_rekey: a
        page cannot be decrypted), #TL_E_INVALID (#tl_client_backup: a file is at `path` now), #TL_E_MISMATCH
        (#tl_salvage: another account, user or kind of position), #TL_E_LOCKED (#tl_client_rekey:
        another one is under way), #TL_E_INCOMPLETE (#tl_client_import: an array has no end yet),
        #TL_E_STORAGE, #TL_E_FULL. */
TL_API TL_CHECK tl_status tl_work_step(tl_work *work, uint32_t ms, tl_progress *out);

TL_API void tl_work_free(tl_work *work);

/** Switches search on (1) or off (0, the default, which costs nothing).

    Once on, a message is found from the commit that brings it; if more than 1 MiB of payloads
    waits, the rest is found after #tl_client_advance has indexed it, and is counted in `unbuilt` of
    #tl_searched. What was stored before needs #tl_search_build. The first 64 KiB of a message's
    texts are searched. Switching off removes the index from the file.
    @return #TL_NONE when it was so, #TL_E_STORAGE, #TL_E_FULL. */
TL_API TL_CHECK tl_status tl_search_switch(tl_client *client, int32_t on);

/** Gives the work that indexes messages stored before search was on, newest first, and then merges
    the index to one segment. When it is done, no word of a removed message is in the index.
    #tl_client_advance does the work of later removals too, every ten minutes at most.
    @return #TL_E_NOT_FOUND (search is off), #TL_E_STORAGE. */
TL_API TL_CHECK tl_status tl_search_build(tl_client *client, tl_work **out);

/** Gives the work that compares the index with the messages.

    A step that finds a difference returns #TL_E_DAMAGED and has deleted the index: run
    #tl_search_build. If the index changes between steps the check starts again; after three times
    the rest is one step.
    @return #TL_E_NOT_FOUND (search is off), #TL_E_STORAGE. */
TL_API TL_CHECK tl_status tl_search_check(tl_client *client, tl_work **out);

enum {
  TL_SEARCH_MINE = 1u << 0,
  TL_SEARCH_ATTACHMENT = 1u << 1, ///< Only messages with a member `attachment`.
  TL_SEARCH_NO_MARKS = 1u << 2   ///< Marks nothing in hits, which saves about a third of a query.
};

typedef int32_t tl_hit_order;
enum {
  TL_HIT_ORDER_TIME = 0,     ///< Newest first.
  TL_HIT_ORDER_RELEVANCE = 1 ///< Best first, of the newest 10,000 hits; among equals the newest.
};

/** What to search for. docs/reference/search.md has the language of `text`, in which no bytes are
    an error. */
typedef struct tl_search {
  uint32_t struct_size;
  uint32_t flags;
  tl_view text;          ///< Any bytes, max 4 MiB.
  tl_view conversation;  ///< Empty for all.
  tl_view sender;        ///< Empty for all.
  int64_t from_us;       ///< Inclusive; 0: no bound.
  int64_t before_us;     ///< Exclusive; 0: no bound.
  int64_t after_time_us; ///< Next page: `time_us` of the last hit.
  uint64_t after_number; ///< Next page: `number` of the last hit; 0: first page.
  uint32_t limit;        ///< 0: 50; max 1,000, and 64 MiB of texts (then `has_more` is 1).
  tl_hit_order order;
  const tl_batch *behind; ///< Next page by relevance: the page before, which keeps the order.
} tl_search;

/// What to mark in a text. Both ranges are of the string that the member holds, unescaped.
typedef struct tl_mark {
  tl_view member;        ///< Of the payload; empty if the payload is the text.
  uint32_t utf8_first;
  uint32_t utf8_count;
  uint32_t utf16_first;  ///< First code unit, in UTF-16; half a surrogate is U+FFFD.
  uint32_t utf16_count;
} tl_mark;

typedef struct tl_hit {
  tl_message message;
  const tl_mark *marks;  ///< By member and position, the first 256; NULL for none.
  uint32_t mark_count;
  uint32_t reserved;
  tl_view searchable;    ///< From the `open` hook, which the marks refer to then.
  uint64_t reserved_words[6];
} tl_hit;

typedef int32_t tl_asked;
enum {
  TL_ASKED_YES = 0,
  TL_ASKED_NO_WORD = 1,        ///< The text has no letter, number or emoji.
  TL_ASKED_ONLY_EXCLUSIONS = 2 ///< It only says what is not to be found.
};

typedef int32_t tl_counted;
enum {
  TL_COUNTED_NOT = 0,     ///< It would cost more than the page.
  TL_COUNTED_ALL = 1,
  TL_COUNTED_AT_LEAST = 2 ///< So many were ranked, and there are older ones.
};

typedef struct tl_searched {
  uint32_t struct_size;
  tl_asked asked;
  uint32_t has_more;
  uint32_t is_cut;       ///< 1: only the beginning of a long text was searched for.
  uint32_t sealed; ///< Sealed messages (of the named conversation, if any), counted up to 10,000.
  /// Conversations with gaps or older messages that are not here; of a named one 1 or 0.
  uint32_t partial;
  uint64_t unbuilt; ///< Of `total`: not reached by #tl_search_build, and up to 10,000 messages that
                    ///< wait to be indexed and were not searched.
  uint64_t total;        ///< Local ids in use when the build began, and those waiting messages.
  uint64_t count;        ///< As `counted` says.
  tl_counted counted;    ///< By time: known if the first page has all hits; by relevance: always.
  uint32_t reserved;
} tl_searched;

/** Finds stored messages, as one committed state.

    Pages neither repeat nor skip a message that stayed where it was. What this user sends or edits
    is found at once, by the text on screen, pending sends first: of sends and of edits the newest
    1,000, with 1 MiB of payloads at most. Hidden, deleted and sealed messages are not found.

    By relevance the first page fixes the order, which its batch keeps; a later page leaves out
    removed messages and shows changed ones as they are now.

        tl_search search = {.struct_size = sizeof search, .text = text("prilis")};
        tl_searched covered = {.struct_size = sizeof covered};
        if (tl_client_search(client, &search, &batch) == TL_OK) {
          const tl_hit *hits = tl_batch_hits(batch, &count);
          tl_batch_searched(batch, &covered);  // what was not searched
        }
    @return #TL_E_NOT_FOUND (search is off), #TL_E_TOO_LARGE (a text over 4 MiB), #TL_E_INVALID
        (also if `behind` has no hits by relevance, or those of another query or client),
        #TL_E_STORAGE. */
TL_API TL_CHECK tl_status
tl_client_search(tl_client *client, const tl_search *search, tl_batch **out);

TL_API const tl_hit *tl_batch_hits(const tl_batch *batch, size_t *count);

/// Tells what a search has covered.
TL_API TL_CHECK tl_status tl_batch_searched(const tl_batch *batch, tl_searched *out);

enum {
  TL_UNSEARCHED_PARTIAL = 1u << 0, ///< It is not complete here: gaps, or older messages.
  TL_UNSEARCHED_SEALED = 1u << 1
};

typedef struct tl_unsearched {
  uint64_t number;
  tl_view conversation;
  /// Complete from this server time up to the last catch-up; 0: its start, INT64_MAX: none of it.
  int64_t whole_from_us;
  uint32_t flags;
  uint32_t sealed;       ///< Sealed messages, counted up to 10,000.
  uint64_t reserved_words[8];
} tl_unsearched;

/** Names the conversations that `partial` and `sealed` of #tl_searched count, by their local ids.
    @param conversation Empty for all.
    @param limit 0: 100.
    @return #TL_NONE if there are none, #TL_E_NOT_FOUND (search is off, or no such conversation),
        #TL_E_STORAGE. */
TL_API TL_CHECK tl_status tl_search_unsearched(tl_client *client, tl_view conversation,
                                               uint64_t after, uint32_t limit, tl_batch **out);

TL_API const tl_unsearched *tl_batch_unsearched(const tl_batch *batch, size_t *count);

/* Keep ----------------------------------------------------------------------------------------- */

/** Removes everything from the cache that the server can send again.

    Kept are operations, drafts, read markers, refs of updates, what was forgotten here, and which
    of the newest 10,000 messages were marked. Payloads have to be opened again. Syncs under way
    begin again.

    Five ways to delete here; the server is told nothing (for that: #tl_client_perform):

        call               removes                                comes back
        tl_client_drop     a message or conversation from cache   when fetched
        tl_client_forget   a message from this device             never
        tl_client_clear    the whole cache                        when fetched
        tl_client_purge    messages beyond the budget             when their gap is filled
        tl_client_wipe     the file, with the user's own work     what the server has
    @return #TL_E_STORAGE, #TL_E_FULL. */
TL_API TL_CHECK tl_status tl_client_clear(tl_client *client);

/** Removes a message, or all of a conversation (`id` empty), from the cache, to be fetched again.

    A message leaves a gap, which a window there or #TL_SYNC_OLDER fills. A conversation loses its
    messages and verified ranges, and keeps operations, drafts, read markers, marks and what was
    forgotten here. Nothing is remembered as deleted.
    @return #TL_E_NOT_FOUND (not here, or not created yet), #TL_E_STORAGE, #TL_E_FULL. */
TL_API TL_CHECK tl_status
tl_client_drop(tl_client *client, tl_view conversation, tl_view id);

enum {
  /// Keeps what #tl_client_changes has not returned: see #tl_client_retain.
  TL_RETAIN_UNTOLD = 1u << 0
};

/** How much to keep; 0 is no bound. Bytes are those of contents, ids and lists, and 192 a message;
    a file takes more. Ages are by server times, as of the newest one known. */
typedef struct tl_budget {
  uint32_t struct_size;
  uint32_t flags;
  uint64_t messages;
  uint64_t bytes;
  uint64_t messages_each;  ///< In each conversation.
  uint64_t bytes_each;
  /// Older messages go. With #TL_SERVER_LOG only `server_time` tells the age: without it none go.
  int64_t age_us;
  int64_t young_us;        ///< Younger messages stay, whatever the bounds say.
} tl_budget;

/** Sets the budget of the cache until the client is closed; NULL: none.

    Messages beyond the budget go in slices, one in a call of #tl_client_advance, which then has an
    early deadline, or by #tl_client_purge. The oldest of a conversation go first; for a total,
    those of the conversation used (opened, shown, loaded, read) least recently. Beyond a bound
    messages go to a sixteenth below it.

    These stay:
    - what open windows have loaded, with 200 messages on each side;
    - pinned messages; what open operations and the draft are about or answer;
    - the last message read and the one after it; the newest of a conversation; what is younger than
      `young_us`;
    - with #TL_RETAIN_UNTOLD: a message until the reader of #tl_client_changes has asked for what
      follows the entry that names it. Before the first such call all stay.

    A purge is no deletion: it leaves a gap like any other. Unread counts and the list stay. With
    bounds each commit also counts what is stored.
    @return #TL_E_STORAGE, #TL_E_FULL. */
TL_API TL_CHECK tl_status tl_client_retain(tl_client *client, const tl_budget *budget);

/** Gives the work that counts what is stored, purges what is beyond the budget, and shrinks the
    file by its free pages. A step looks at 256 messages at most, or counts 1,024, or frees 64
    pages.
    @return #TL_E_INVALID (no budget is set). */
TL_API TL_CHECK tl_status tl_client_purge(tl_client *client, tl_work **out);

enum {
  TL_ROOM_COUNTED = 1u << 0, ///< All that is stored is counted.
  /// At the last purge, what has to stay exceeded the budget.
  TL_ROOM_OVER = 1u << 1
};

/// Storage in use, and what was purged since the first budget, until there is none.
typedef struct tl_room {
  uint32_t struct_size;
  uint32_t flags;
  uint64_t messages;        ///< Hidden ones included.
  uint64_t bytes;           ///< As #tl_budget counts them.
  uint64_t purged_messages;
  uint64_t purged_bytes;
  uint64_t free_bytes;      ///< Unused bytes of the file.
} tl_room;

/** Reads how much storage is in use, by all conversations if `conversation` is empty.

    Without a budget nothing is counted. Until #TL_ROOM_COUNTED is set, `messages` and `bytes` are
    what was counted so far, and nothing is purged.
    @return #TL_E_NOT_FOUND, #TL_E_STORAGE. */
TL_API TL_CHECK tl_status tl_client_room(tl_client *client, tl_view conversation, tl_room *out);

/** Gives at most `size` bytes of a source from `offset` on; `*got` 0: no more for now. Runs in
    #tl_work_step, as a hook. Anything but #TL_OK fails that step with #TL_E_STORAGE and "the host's
    function that reads the source failed"; the next step asks for the same bytes. */
typedef tl_status (*tl_import_read)(void *context, uint64_t offset, uint8_t *bytes, size_t size,
                                    size_t *got);

enum {
  TL_IMPORT_ARRAY = 1u << 0, ///< Reads one JSON array of messages, else one message a line.
  TL_IMPORT_READ = 1u << 1,  ///< Takes what others wrote as read, for good.
  TL_IMPORT_AGAIN = 1u << 2  ///< Starts from the beginning.
};

typedef struct tl_import {
  uint32_t struct_size;
  uint32_t flags;
  tl_view name;          ///< Names the import after a restart, 1 to 512 bytes of UTF-8.
  tl_view conversation;  ///< Of messages that name none; empty if each names its own.
  uint64_t size;         ///< Bytes of the source, for the progress; 0: unknown.
  tl_import_read read;
  void *context;
  /// Releases `context`, or NULL; once, when the work is freed or the call failed.
  tl_drop_hook drop;
} tl_import;

/** Gives the work that imports messages of an older cache, decrypted by the host. They are protocol
    objects; the `open` hook is not called. Progress is in bytes.
    - Each is #TL_MESSAGE_UNVERIFIED, with gaps around it, until the server returns it; an answer
      that proves it absent removes it.
    - What the server has sent or deleted stays as it is. Nothing is offered for a notification; no
      mark is sent.
    - A step reads at most 1 MiB of the source and 64 KiB beyond, and at most 256 lines or elements.
      It is one transaction, so another work of the same name takes nothing twice.
    - An unusable line or element, as one of over 4 MiB, is skipped and named by its number: see
      #tl_client_import_bad.
    - #tl_client_clear forgets imports.
    - Another work takes lines appended since. A last line without its end is taken if complete;
      otherwise it is named, and read again once there is more.
    - With #TL_IMPORT_ARRAY, if the source ends before the array does, the step that comes there
      gives #TL_E_INCOMPLETE, and continues as soon as there is more. If it is no array, or more
      than space follows its end, it gives #TL_E_INVALID. What was read before stays, and
      #TL_IMPORTED_DONE is not set.
    @return #TL_E_INVALID (also if the import of this name has the other form), #TL_E_STORAGE,
        #TL_E_FULL. */
TL_API TL_CHECK tl_status
tl_client_import(tl_client *client, const tl_import *config, tl_work **out);

enum {
  TL_IMPORTED_DONE = 1u << 0 ///< The source was read to its end.
};

typedef struct tl_imported {
  uint32_t struct_size;
  uint32_t flags;
  uint64_t lines; ///< Lines or elements passed, without an unusable last line that has no end.
  uint64_t inserted;
  uint64_t known;       ///< Messages that were here, or were deleted.
  uint64_t bad;
  uint64_t offset;      ///< Where the source continues.
} tl_imported;

/** Reads how far an import is.
    @return #TL_E_NOT_FOUND, #TL_E_STORAGE. */
TL_API TL_CHECK tl_status tl_client_imported(tl_client *client, tl_view name, tl_imported *out);

typedef struct tl_bad_line {
  uint64_t number; ///< Of the line or element, from 1 on.
  tl_view reason;  ///< Names the member, never what it held.
} tl_bad_line;

/** Reads the unusable lines of an import, in order: the first 10,000.
    @param limit 0: 100.
    @return #TL_NONE if there are none, #TL_E_STORAGE. */
TL_API TL_CHECK tl_status tl_client_import_bad(tl_client *client, tl_view name, uint64_t after,
                                               uint32_t limit, tl_batch **out);

TL_API const tl_bad_line *tl_batch_bad_lines(const tl_batch *batch, size_t *count);

/** Receives whole lines, with their ends. Anything but #TL_OK fails the step with #TL_E_STORAGE and
    "the host's function that writes the lines failed"; the lines come again. */
typedef tl_status (*tl_export_write)(void *context, tl_view lines);

typedef struct tl_export {
  uint32_t struct_size;
  uint32_t flags;        ///< Zero.
  tl_view conversation;
  tl_export_write write; ///< Receives the lines in #tl_work_step, as a hook.
  void *context;
  tl_drop_hook drop;     ///< As that of #tl_import.
} tl_export;

/** Gives the work that writes the stored messages of a conversation as JSON lines. Progress is in
    messages.

    Each line is a protocol object, as #tl_client_import takes it, with the opened payload, or as
    received if not opened. Pending messages are left out. Each message is written once, oldest
    first; one that arrives between steps at a position already passed may be missing. Another work
    starts again.
    @return #TL_E_NOT_FOUND, #TL_E_STORAGE. */
TL_API TL_CHECK tl_status
tl_client_export(tl_client *client, const tl_export *config, tl_work **out);

/** Gives the work that copies the file, as it is now, into a new file at `path`, which the same keys
    open (docs/howto/backup.md). Progress is in bytes.
    - A step copies 256 KiB at most, and may sync. Other calls go on meanwhile. The log grows
      until the work ends, so step it to its end, or free it.
    - The last step gives the copy its name. Before, and after a kill, there is `path-new`, which
      the next backup to `path` replaces.
    - A failed step, #tl_work_free and #tl_client_close remove what is not complete. Another work
      starts again.
    - A storage is copied into a file too.
    @return #TL_E_INVALID (a file is at `path`, `path-wal`, `path-own`), #TL_E_LOCKED (another backup to `path`
        is under way), #TL_E_UNSUPPORTED (a client in memory), #TL_E_STORAGE. */
TL_API TL_CHECK tl_status tl_client_backup(tl_client *client, tl_view path, tl_work **out);

/** Erases a conversation, and gives the work that seals the file anew under a new data key; the same
    keys open it (docs/howto/keys.md). When it is done no key opens what was erased, from file, log
    or unused blocks of the disk, and a removed key opens nothing.
    - Erased are messages, operations (also unsent ones), draft, events, members, read marker and
      what was forgotten. The id stays. The server may send the conversation again.
    - A step copies 256 KiB at most, and may sync. The last is as long as closing and opening the
      file, and ends a #tl_client_backup under way.
    - After a kill the file has one of the two keys, and the next opening removes `NAME-new`, on a
      storage the other of the two objects. What was erased stays away: then call this with nothing
      to erase.
    - A storage may keep earlier versions of its blocks (docs/reference/storage.md).
    - Where an error leaves it open which of the two is the file, the step fails with #TL_E_STORAGE,
      and later calls answer #TL_E_CLOSED: open it again.
    - A failed step, #tl_work_free and #tl_client_close leave the old key. A client that has released
      the file gets #TL_E_MISMATCH by #tl_client_reacquire.
    @param erase Empty: nothing.
    @return #TL_E_NOT_FOUND (no such conversation, or not created yet), #TL_E_INVALID (another file
        is `NAME-new`), #TL_E_UNSUPPORTED (in memory, or a key of an earlier version:
        #tl_key_change it), #TL_E_STORAGE, #TL_E_FULL. */
TL_API TL_CHECK tl_status tl_client_rekey(tl_client *client, tl_view erase, tl_work **out);

/// What #tl_client_rekey has done.
typedef struct tl_receipt {
  uint32_t struct_size;
  uint32_t files;          ///< Sealed anew.
  uint64_t conversations;  ///< Erased: 0 or 1. The next four are of it.
  uint64_t messages;
  uint64_t operations;
  uint64_t items;          ///< Unreadable items, events, entities, a draft.
  uint64_t bytes;          ///< Of contents of messages.
  uint64_t file_bytes;     ///< Of the file.
} tl_receipt;

/** Says what a #tl_client_rekey has done.
    @return #TL_NONE (not done yet, or other work). */
TL_API TL_CHECK tl_status tl_work_receipt(tl_work *work, tl_receipt *out);

/** Gives the work that reads what it can of a file, which need not open, into a new one at `path`,
    which the same keys open (docs/howto/backup.md). The file is only read; no client may have it.
    What was lost is a gap. Progress is in pages, each counted twice.
    @param config As for #tl_client_open. Hooks are not called, and dropped before this returns.
    @return #TL_E_KEY, #TL_E_NO_SLOT, #TL_E_CODE, #TL_E_DAMAGED (all copies of the header, or
        no page is left), #TL_E_NOT_OURS, #TL_E_TOO_NEW, #TL_E_LOCKED, #TL_E_NOT_FOUND,
        #TL_E_INVALID (a file is at `path`, `path-wal`, `path-own`), #TL_E_UNSUPPORTED (in memory,
        or on a storage), #TL_E_STORAGE. */
TL_API TL_CHECK tl_status
tl_salvage(const tl_client_config *config, tl_view path, tl_work **out);

/** Gives the work that decrypts each page, then looks whether rows and indexes agree, and so finds
    most damage before a screen does (docs/howto/backup.md). Progress is in pages. A step reads a
    MiB at most, the last one of the pages the log, too, or a thousand rows; other calls go on. Not
    found is an old page that contradicts nothing.
    @param heal Not 0: where anything is found, or a call has answered #TL_E_DAMAGED, the last step
        writes what it can read over the file, in one long call. Ranges of conversations that may
        have lost something are unverified then. 0: nothing changes.
    @return #TL_E_UNSUPPORTED (in memory; `heal` on a storage), #TL_E_STORAGE. */
TL_API TL_CHECK tl_status tl_client_check(tl_client *client, int32_t heal, tl_work **out);

/// What #tl_client_check has found.
typedef struct tl_checked {
  uint32_t struct_size;
  uint32_t is_healed;
  uint64_t pages;          ///< Of the database, 4,096 bytes each.
  uint64_t damaged;        ///< Pages, or pages of the log, that are missing or not decrypted.
  uint64_t messages;       ///< Kept, once healed; else 0, as the next.
  uint64_t operations;
  uint64_t contradictions; ///< Rows, tables and operations that decrypt and contradict others.
} tl_checked;

/** Says what a #tl_client_check has found.
    @return #TL_NONE (not done yet, or other work). */
TL_API TL_CHECK tl_status tl_work_checked(tl_work *work, tl_checked *out);

/// Counters, and limits in use now. Those of frames and requests count since the opening.
typedef struct tl_stats {
  uint32_t struct_size;
  uint32_t wal_frames_rejected; ///< Log frames rejected at the opening: a lost tail.
  uint64_t conversations;
  uint64_t messages;           ///< Hidden ones included.
  uint64_t tombstones;         ///< Deleted ids remembered.
  uint64_t quarantined;        ///< Items set aside, in the file.
  uint64_t frames_in;
  uint64_t frames_bad;         ///< Frames refused: #TL_E_FRAME, #TL_E_TOO_LARGE, #TL_E_MISMATCH.
  uint64_t frames_ignored;     ///< Frames of unknown types.
  uint64_t answers_unmatched;  ///< Without an open request.
  uint64_t frames_out;
  uint64_t bytes_in;
  uint64_t bytes_out;
  uint64_t requests;
  uint64_t timeouts;
  uint64_t retries;
  uint64_t duplicates;         ///< Known messages received.
  uint64_t open_failures;      ///< Of the `open` hook.
  uint64_t walks_incomplete;   ///< Syncs that ended with a recorded gap.
  uint64_t restores; ///< Times that the server's copy of a conversation was older than ours.
  uint64_t audit_mismatches;   ///< Times that the server's total differed from ours.
  uint64_t commits;
  uint64_t file_bytes;         ///< With its log and own work.
  int64_t overlap_us;
  uint64_t updates;            ///< Acknowledged updates applied.
  uint64_t updates_repeated;   ///< Those with a known ref: replied to again.
  uint64_t replies;            ///< Handed out.
  uint64_t waiting;            ///< Marks kept for messages not yet known, in the file.
  uint64_t waiting_dropped;    ///< Those dropped because there were too many.
  uint32_t page_limit;
  uint32_t request_timeout_ms;
} tl_stats;

/** Reads counters.
    @return #TL_E_STORAGE. */
TL_API TL_CHECK tl_status tl_client_stats(tl_client *client, tl_stats *out);

/* Keys ----------------------------------------------------------------------------------------- */

/// A key to add. A file has up to eight; any one opens it (docs/howto/keys.md).
typedef struct tl_key {
  uint32_t struct_size;
  tl_key_kind kind;
  tl_view key;           ///< As in #tl_client_config. Copied, wiped when the call ends.
  tl_view label;         ///< Max 48 bytes without NUL; anybody with the file can read it.
  uint64_t memory_bytes; ///< Of Argon2id, for a passphrase; 0: 64 MiB; 1 MiB to 256 MiB.
  uint32_t operations;   ///< Likewise; 0: 3; max 16.
  uint32_t reserved;
} tl_key;

/** Adds a key. It costs the same on a file of any size; other calls do not wait while a passphrase
    is made slow to guess. After #TL_E_STORAGE or #TL_E_FULL of this or the next two calls
    #tl_client_keys says what holds; a loss of power may leave the other, so keep both keys.
    @param slot Receives its number, 0 to 7; may be NULL.
    @return #TL_E_TOO_LARGE (all eight are used), #TL_E_CODE, #TL_E_UNSUPPORTED, #TL_E_STORAGE,
        #TL_E_FULL. */
TL_API TL_CHECK tl_status tl_key_add(tl_client *client, const tl_key *key, uint32_t *slot);

/** Replaces a key by another in one step.
    @return #TL_E_NOT_FOUND, #TL_E_CODE, #TL_E_UNSUPPORTED, #TL_E_STORAGE, #TL_E_FULL. */
TL_API TL_CHECK tl_status tl_key_change(tl_client *client, uint32_t slot, const tl_key *key);

/** Removes a key, but not the last one (#TL_E_INVALID).
    @return #TL_E_NOT_FOUND, #TL_E_UNSUPPORTED, #TL_E_STORAGE, #TL_E_FULL. */
TL_API TL_CHECK tl_status tl_key_remove(tl_client *client, uint32_t slot);

typedef struct tl_key_slot {
  uint32_t slot;
  tl_key_kind kind;      ///< A greater one is of a later version.
  tl_view label;
  uint64_t memory_bytes;
  uint32_t operations;
  uint32_t reserved;
  uint64_t reserved_words[8];
} tl_key_slot;

/** Lists the keys of a file, open or not, without opening it. Only an opening proves the list.
    @return #TL_NONE (a wiped file), #TL_E_NOT_FOUND, #TL_E_NOT_OURS, #TL_E_TOO_NEW,
        #TL_E_STORAGE. */
TL_API TL_CHECK tl_status tl_keys_read(tl_view path, tl_batch **out);

/** Lists the keys of an open client.
    @return #TL_E_UNSUPPORTED. */
TL_API TL_CHECK tl_status tl_client_keys(tl_client *client, tl_batch **out);

TL_API const tl_key_slot *tl_batch_key_slots(const tl_batch *batch, size_t *count);

/// Length of a recovery code.
#define TL_KEY_CODE_BYTES 35

/** Makes a recovery code to print, of 130 random bits. It opens nothing before #tl_key_add.
    @param out Room for #TL_KEY_CODE_BYTES bytes. */
TL_API TL_CHECK tl_status tl_key_code(uint8_t *out, size_t size);

/* Viewport ------------------------------------------------------------------------------------- */

/** Arithmetic of an endless list on a screen: where rows of different heights, few of them
    measured, are placed while others come and go. It needs no client, draws nothing and reads no
    clock. Calls on one viewport take turns inside the library. An update or layout costs O(log n)
    and the rows it touches or gives.

    After each change and scroll of its list a host asks for a layout:

        tl_viewport_update(viewport, diff->ops, diff->op_count, keys, NULL, diff->row_count);
        while (tl_viewport_layout(viewport, &layout) == TL_OK && layout->missing_count > 0) {
          measure(layout->missing, layout->missing_count, keys, heights);
          tl_viewport_measure(viewport, keys, heights, layout->missing_count);
          tl_layout_free(layout);
        }
        draw(layout->rows, layout->row_count);

    The *anchor* is the first visible row: the highest, or in a bottom-up list the lowest. It stays
    where it is whatever is added, removed or changes its height; the heights in between place all
    other rows. So no change outside the view moves a row in it.
    - A list held to an end that is in view has that end for an anchor.
    - If the anchor is removed or moved, the nearest visible row that was neither takes its
      position: first of those below it, in a bottom-up list above it.
    - The view shows nothing beyond an end, so rows near one may move.

    Lengths are whole numbers of a unit that the host chooses (a cell, a pixel, a 64th of one),
    exact but for estimates, frames of an animation and overscroll. Positions count from the top of
    the view down. A length of the host's is 0 to 2^40; a negative one is #TL_E_INVALID, a longer
    one #TL_E_TOO_LARGE. A row has a key, 64 bits that no other row of the list has: the `number` of
    a message, or what #tl_checksum takes. */
typedef struct tl_viewport tl_viewport;

enum {
  /// Anchors the lowest visible row; a short list is at the bottom.
  TL_VIEWPORT_BOTTOM_UP = 1u << 0,
  TL_VIEWPORT_REVERSED = 1u << 1,   ///< Row 0 is the lowest: the newest message.
  TL_VIEWPORT_HOLD_TOP = 1u << 2,   ///< Keeps the top end in view, once there, when rows are added.
  TL_VIEWPORT_HOLD_BOTTOM = 1u << 3 ///< The same of the bottom end.
};

typedef struct tl_viewport_config {
  uint32_t struct_size;
  uint32_t flags;
  int64_t extent;         ///< Height of the view; 0 shows nothing until #tl_viewport_resize.
  int64_t margin;         ///< Places rows so far outside the view too.
  int64_t estimate;       ///< Height of a row until one of its class is measured; 0: 64.
  int64_t height_min;     ///< Least height of a shown row; 0: a quarter of `estimate`, at least 1.
  int64_t overscroll_max; ///< Rows are pulled less than this beyond an end, max 2^30; 0: never.
  int64_t near;           ///< Distance that counts as near an end; 0: the current `extent`.
  int64_t speed;          ///< Of an animation, units a second; 0: 4,096.
  uint32_t animation_ms;  ///< Longest animation; 0: 600; max 60,000.
  uint32_t reserved;
} tl_viewport_config;

/** Makes a viewport of an empty list.
    @return #TL_E_TOO_LARGE (a length). */
TL_API TL_CHECK tl_status
tl_viewport_new(const tl_viewport_config *config, tl_viewport **out);

TL_API void tl_viewport_free(tl_viewport *viewport);

/** Applies the steps from the list to the next one, as those of a #tl_diff with the keys of its
    checksum; max 1,048,576 of each. If anything is refused nothing changes.

    An updated row is measured again when shown. A target of a scroll or animation is tracked; if
    its row is removed, the row at its position replaces it.
    @param keys Of each row after the steps, in order; only those of new rows are read. May be NULL
        with `row_count` 0 if no row is new.
    @param classes Of each row after the steps, 0 to 7: heights are estimated by class. NULL: all 0.
    @return #TL_E_INVALID (a step that does not fit the list, two rows of one key, a class over 7),
        #TL_E_TOO_LARGE. */
TL_API TL_CHECK tl_status
tl_viewport_update(tl_viewport *viewport, const tl_op *steps, size_t step_count,
                   const uint64_t *keys, const uint32_t *classes, size_t row_count);

/** Takes measured heights, of rows that a layout asks for or of others; unknown keys are skipped,
    max 1,048,576. A row of height 0 is hidden: it is not placed, and measured again only once it is
    updated.
    @return #TL_NONE when no row is in the list, #TL_E_TOO_LARGE. */
TL_API TL_CHECK tl_status
tl_viewport_measure(tl_viewport *viewport, const uint64_t *keys, const int64_t *heights,
                    size_t count);

/// Flags of #tl_viewport_resize.
enum {
  TL_RESIZE_MEASURE = 1u << 0 ///< Measures all rows again, because the width changed.
};

/** Sets the height of the view. A top-down list keeps its position at the view's top, a bottom-up
    one at its bottom.
    @return #TL_E_TOO_LARGE. */
TL_API TL_CHECK tl_status
tl_viewport_resize(tl_viewport *viewport, int64_t extent, uint32_t flags);

enum {
  TL_PLACED_VISIBLE = 1u << 0,  ///< In the view, at least in part.
  TL_PLACED_MEASURED = 1u << 1  ///< Its height is neither estimated nor old.
};

typedef struct tl_placed {
  uint64_t key;
  uint32_t row;
  uint32_t flags;
  int64_t top;     ///< Below the view's top, overscroll included.
  int64_t height;
  uint64_t reserved_words[8];
} tl_placed;

/// One round between host and viewport.
typedef struct tl_layout {
  uint64_t layouts;         ///< Complete layouts so far, with this one.
  uint32_t row_count;
  uint32_t missing_count;   ///< 0: the layout is complete.
  const tl_placed *rows;    ///< In the view and its margins, from top to bottom.
  const tl_placed *missing; ///< To measure first, from top to bottom.
} tl_layout;

/** Tells where rows are placed, and which have to be measured for that. Draw only a complete
    layout.

    Two rounds are enough where no row is less high than `height_min`: the first asks for all rows
    that may turn out to be in the view. After 16 rounds a layout is complete with what is known. At
    most 4,096 rows are placed. */
TL_API TL_CHECK tl_status tl_viewport_layout(tl_viewport *viewport, tl_layout **out);

TL_API void tl_layout_free(tl_layout *layout);

/// Flags of #tl_viewport_scroll.
enum {
  TL_SCROLL_FINGER = 1u << 0 ///< Lets a finger pull the list beyond an end.
};

/** Scrolls by a length. Ends an animation, and with #TL_SCROLL_FINGER a spring back.
    @param delta How far the view moves down the list; up if negative; any number. */
TL_API TL_CHECK tl_status
tl_viewport_scroll(tl_viewport *viewport, int64_t delta, uint32_t flags);

typedef int32_t tl_edge;
enum {
  TL_EDGE_TOP = 0,        ///< Moves the row's top `inset` below the view's top.
  TL_EDGE_BOTTOM = 1,     ///< Moves the row's bottom `inset` above the view's bottom.
  TL_EDGE_TOP_END = 2,    ///< The top end of the list, whichever row is there then.
  TL_EDGE_BOTTOM_END = 3
};

typedef struct tl_target {
  uint32_t struct_size;
  tl_edge edge;
  uint64_t key;         ///< The row; 0 for an end.
  int64_t inset;        ///< How far inside the view, outside if negative; 0 for an end.
} tl_target;

/** Scrolls to a row or an end at once. The next complete layout has it there exactly, unless the
    list ends before.
    @return #TL_NONE when no row has the key and nothing changed, #TL_E_TOO_LARGE. */
TL_API TL_CHECK tl_status
tl_viewport_scroll_to(tl_viewport *viewport, const tl_target *target);

/** Scrolls to a row or an end in frames, which #tl_viewport_tick makes.

    It starts and ends slowly, is as fast up as down, and ends where #tl_viewport_scroll_to would,
    even if the list changes meanwhile. A scroll and another target end it.
    @param speed Units a second; 0: that of the configuration. `animation_ms` bounds the duration.
    @param time_ms A monotonic time; any number.
    @return As #tl_viewport_scroll_to. */
TL_API TL_CHECK tl_status
tl_viewport_animate_to(tl_viewport *viewport, const tl_target *target, int64_t speed,
                       int64_t time_ms);

/** Moves to the frame of a time, of an animation or a spring back. A time that goes back moves
    nothing.
    @return #TL_OK when there are more frames, #TL_NONE when nothing moves any more. */
TL_API TL_CHECK tl_status tl_viewport_tick(tl_viewport *viewport, int64_t time_ms);

/** Reports at a monotonic time that the finger has left: overscroll springs back, in frames.
    @return #TL_NONE when nothing is pulled. */
TL_API TL_CHECK tl_status tl_viewport_release(tl_viewport *viewport, int64_t time_ms);

/** Ends an animation where it is.
    @return #TL_NONE when there is none. */
TL_API TL_CHECK tl_status tl_viewport_stop(tl_viewport *viewport);

/** Finds a row by its key, in the view or not.
    @return #TL_NONE when it is not in the list. */
TL_API TL_CHECK tl_status
tl_viewport_find(tl_viewport *viewport, uint64_t key, tl_placed *out);

/** Finds the row that is drawn at a position of the view.
    @param place Below the view's top; any number.
    @return #TL_NONE when no row is there. */
TL_API TL_CHECK tl_status
tl_viewport_at(tl_viewport *viewport, int64_t place, tl_placed *out);

enum {
  TL_VIEWPORT_NEAR_TOP = 1u << 0,       ///< Near the top end: load more.
  TL_VIEWPORT_NEAR_BOTTOM = 1u << 1,
  TL_VIEWPORT_HELD_TOP = 1u << 2,
  TL_VIEWPORT_HELD_BOTTOM = 1u << 3,
  TL_VIEWPORT_MOVING = 1u << 4          ///< #tl_viewport_tick has frames.
};

/// Length of the track of a scroll bar.
#define TL_VIEWPORT_BAR_TRACK 1000000

/** State of a viewport. `layouts`, `visible_` and `placed_` are of the last complete layout, with
    indices of the list as it was then; all else is of now.

    The bar's thumb never goes back while one scrolls one way, though heights become known and rows
    are loaded; it is at an end of its track when the list was scrolled to its end. */
typedef struct tl_viewport_status {
  uint32_t struct_size;
  uint32_t flags;
  uint32_t row_count;
  uint32_t visible_first; ///< Least index of a visible row.
  uint32_t visible_count;
  uint32_t placed_first;  ///< Least index of a placed row.
  uint32_t placed_count;  ///< With hidden ones between them.
  uint32_t anchor_row;    ///< 0 in an empty list.
  uint64_t anchor_key;
  int64_t anchor_top;     ///< Below the view's top.
  uint64_t checksum;      ///< #tl_checksum of the keys.
  uint64_t layouts;
  int64_t total;          ///< Height of all rows, as far as known.
  int64_t above;          ///< How far one can scroll up; `below`: down.
  int64_t below;
  /// How far rows are pulled beyond the top end, or, if negative, beyond the bottom end.
  int64_t overscroll;
  uint32_t bar_start;     ///< Where the thumb begins, of #TL_VIEWPORT_BAR_TRACK.
  uint32_t bar_size;      ///< Its length; the whole track if there is nothing to scroll.
} tl_viewport_status;

/// Reads the state of a viewport.
TL_API TL_CHECK tl_status tl_viewport_state(tl_viewport *viewport, tl_viewport_status *out);

#ifdef __cplusplus
}
#endif
#endif
