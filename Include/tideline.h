/**
 * @file tideline.h
 * @brief Embeddable, encrypted, offline-first message cache and sync engine.
 *
 * This file is the whole contract: what is not declared here is not public.
 *
 * A host opens a client on an encrypted file, tells it what happened
 * (connected, a frame arrived, a deadline passed), sends the frames it is
 * handed, and reads pages of messages together with a statement of how
 * complete they are, or watches a window of a conversation and applies the
 * differences. The library opens no socket and starts no thread.
 *
 * The sections: library, open, turn, read, watch, act, find, keep, viewport.
 *
 * @par Threads
 * Any function may be called from any thread; calls on one client serialize
 * inside the library, except reads, which run beside the writer. The library
 * starts no thread and installs no signal handler.
 *
 * @par Fork
 * A client belongs to the process that opened it. In a forked child each call on
 * a handle of the parent is #TL_E_INVALID and changes nothing. `_close` and
 * `_free` of such a handle do nothing there, and no `drop` runs. What the child
 * has of a batch, a frame, a difference or a layout is its own copy. The child may
 * open clients of its own. A file that the parent had open at the fork stays
 * #TL_E_LOCKED for the child, until it calls `exec`.
 *
 * @par Memory
 * Inputs are borrowed for the call. What the library gives out is released by
 * the `_free` function of its type, never by `free`. Every `_free` takes NULL.
 * Running out of memory ends the process; every allocation that depends on
 * outside bytes is bounded first.
 *
 * @par Statuses
 * A function says which it gives. Where #TL_E_STORAGE is listed, #TL_E_DAMAGED
 * may come as well: stored bytes were changed or lost. Any may end with
 * #TL_E_INTERNAL. On a #tl_storage any call on a client may end with
 * #TL_E_LOCKED: another holder has taken the name over. The client then hands out no frame,
 * has dropped what it knew, and answers so until it is closed.
 *
 * @par Structs
 * A struct that begins with `struct_size` is filled by the caller: zero it,
 * then set `struct_size` to its `sizeof`. Zero in any field means "default".
 * Fields are only ever appended. A shorter struct of an older caller is
 * accepted; a longer one whose unknown tail is not zero is #TL_E_TOO_NEW. A
 * size that no version can have (under 8, over 4,096, or not a multiple of the
 * struct's alignment), an unknown flag and an unknown value of an enumeration
 * are #TL_E_INVALID. On failure every output is NULL or zero, but for
 * `struct_size`.
 * A record of a batch ends in 64 zero bytes, `reserved_words`: later members are
 * taken out of these, so its size stays.
 *
 * @par Text
 * Text is UTF-8 without a terminator. Ids are opaque UTF-8, 1 to 512 bytes;
 * one that is longer is #TL_E_TOO_LARGE where a function lists it, otherwise
 * #TL_E_INVALID. A #tl_view goes by value only where all of it is in registers,
 * so what calls with a view as two arguments, its pointer and its size, is right
 * on x86-64 and on 64-bit ARM.
 *
 * @par Times
 * Server times are microseconds since 1970-01-01 UTC and end in `_us`;
 * durations are milliseconds and end in `_ms`.
 */
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

/* ------------------------------------------------------------------------ */
/* Library                                                                    */
/* ------------------------------------------------------------------------ */

/** ABI generation. It changes only when a shipped binary could break. */
#define TL_ABI 1

/** Semantic version of this header. */
#define TL_VERSION_MAJOR 0
#define TL_VERSION_MINOR 1
#define TL_VERSION_PATCH 0

/** Length in bytes of the key of #tl_client_config. */
#define TL_KEY_BYTES 32

/**
 * Result of a fallible call. Zero is success, positive values are "fine, but",
 * negative values are failures. Codes are never reused or renumbered.
 */
typedef int32_t tl_status;
enum {
  TL_OK = 0,              /**< The call did what it says. */
  TL_NONE = 1,            /**< Fine: there is nothing to report. */
  TL_IGNORED = 2,         /**< Fine: the frame is of no use here; counted. */
  TL_RESYNC = 3,          /**< Fine: changes that old are gone; read anew. */
  TL_QUARANTINED = 4,     /**< Fine: applied, but unreadable items were set aside. */
  TL_E_INVALID = -1,      /**< An argument breaks the documented contract. */
  TL_E_CLOSED = -2,       /**< The client was closed. */
  TL_E_STORAGE = -3,      /**< SQLite or the file system refused. */
  TL_E_KEY = -4,          /**< No key slot opens with this key. */
  TL_E_TOO_NEW = -5,      /**< The file or struct is from a later version. */
  TL_E_DAMAGED = -6,      /**< Stored bytes were changed or lost. */
  TL_E_LOCKED = -7,       /**< The file is open elsewhere, or another holder has the name. */
  TL_E_NOT_OURS = -8,     /**< The file is not a Tideline file. */
  TL_E_FRAME = -9,        /**< The frame is not a valid frame; nothing stored changed. */
  TL_E_TOO_LARGE = -10,   /**< Over a documented limit; nothing changed. */
  TL_E_NOT_FOUND = -11,   /**< No such message, conversation or sync. */
  TL_E_MISMATCH = -12,    /**< The file belongs to another account or user. */
  TL_E_UNSUPPORTED = -13, /**< Not in this version, or not by this server. */
  TL_E_OFFLINE = -14,     /**< Not connected; the cache has what there is. */
  TL_E_TIMEOUT = -15,     /**< The server did not answer in time. */
  TL_E_REFUSED = -16,     /**< The server refused for good. */
  TL_E_UNAVAILABLE = -17, /**< The server refused for now. */
  TL_E_CANCELLED = -18,   /**< Cancelled by the host. */
  TL_E_INCOMPLETE = -19,  /**< Ended with a recorded gap; ask again later. */
  TL_E_FULL = -20,        /**< The disk is full; nothing changed. */
  TL_E_INTERNAL = -99     /**< A broken invariant. The client is now closed. */
};

/** Borrowed bytes. No terminator is needed. */
typedef struct tl_view {
  const uint8_t *data; /**< First byte. May be NULL only when `size` is 0. */
  size_t size;         /**< Length in bytes. */
} tl_view;

/** @brief Identifies the loaded library. @return Its #TL_ABI. */
TL_API uint32_t tl_abi(void);

/**
 * @brief Gives the semantic version of the loaded library.
 * @return `major << 16 | minor << 8 | patch`.
 */
TL_API uint32_t tl_version(void);

/** @brief Gives the key length. @return #TL_KEY_BYTES. */
TL_API size_t tl_key_bytes(void);

/**
 * @brief Describes the last failure on the calling thread, or why its last #TL_IGNORED or
 *        #TL_QUARANTINED came.
 *
 * It names the member of a frame, of a request or of an item that was wrong, as in
 * "created_at is not a time". Of several items it is about the first.
 * @return UTF-8 with a terminator, never NULL, valid until the next such
 *         call on this thread. It holds no key, path, id or message text.
 */
TL_API const char *tl_last_error(void);

/**
 * @brief Names a status.
 * @param status Any value.
 * @return The name of the constant, such as "TL_E_KEY", or "TL_E_UNKNOWN".
 *         Valid for ever.
 */
TL_API const char *tl_status_name(tl_status status);

/**
 * @brief Tells whether the same call may succeed later without a change.
 * @param status Any value.
 * @return 1 for #TL_E_LOCKED, #TL_E_OFFLINE, #TL_E_TIMEOUT,
 *         #TL_E_UNAVAILABLE, #TL_E_INCOMPLETE and #TL_E_FULL, otherwise 0.
 */
TL_API int32_t tl_status_is_transient(tl_status status);

/* ------------------------------------------------------------------------ */
/* Open                                                                       */
/* ------------------------------------------------------------------------ */

/** One account's encrypted copy and its sync state. Opaque. */
typedef struct tl_client tl_client;

/** Which end of a full answer to `after_ts` the server keeps. */
typedef int32_t tl_truncates;
enum {
  TL_TRUNCATES_UNKNOWN = 0, /**< Not known. Nothing is assumed. */
  TL_TRUNCATES_OLDEST = 1,  /**< The oldest rows are kept, newer ones cut. */
  TL_TRUNCATES_NEWEST = 2   /**< The newest rows are kept, older ones cut. */
};

/**
 * How the server orders messages with the same printed time.
 *
 * Rows stand by the server's time. Among those of one time its pages decide: rows
 * take the order in which the pages list them. What no page has shown yet stands
 * behind what was known of its time, in the order of coming, and a page may move it.
 * A page tells its order once one of its kind has shown two times: that says which way
 * it is listed. Until then what was pushed stands as it came.
 * With #TL_TIES_ID the bytes of the id decide instead, and pages may be cut anywhere
 * inside one time. With #TL_SERVER_SEQUENCE the server's numbers order all rows,
 * with #TL_SERVER_LOG its log does.
 */
typedef int32_t tl_ties;
enum {
  TL_TIES_UNKNOWN = 0, /**< Not known: as pages list them. */
  TL_TIES_ID = 1,      /**< By the bytes of the id. */
  TL_TIES_ARRIVAL = 2  /**< As pages list them. */
};

/** Flags of #tl_profile. */
enum {
  TL_PROFILE_PAGE_SIZE_VARIES = 1u << 1,     /**< A short page proves nothing. */
  TL_PROFILE_ABSENCE_IS_DELETION = 1u << 2,  /**< A complete answer without a known id proves its deletion. */
  TL_PROFILE_PUSH_LOSSLESS = 1u << 3,        /**< While connected, no push is dropped or reordered. */
  TL_PROFILE_COUNTS_HIDDEN = 1u << 4,        /**< `total_count` also counts what is never shown, and proves nothing. */
  TL_PROFILE_UNKNOWN_FRAMES = 1u << 5,       /**< Frames of a type unknown to the protocol, and objects without a type, become events. */
  TL_PROFILE_DELETIONS_LATER = 1u << 6,      /**< Pages and counts go on showing what was deleted; only `get_deleted_since` tells. Goes with #TL_PROFILE_COUNTS_HIDDEN. */
  TL_PROFILE_ORDER_NOT_TIME = 1u << 7,       /**< Pages are not in the order of `created_at`: places by time are refused with #TL_E_UNSUPPORTED. */
  TL_PROFILE_OTHERS_EDIT = 1u << 8           /**< Users, such as moderators, may edit messages of others. Without it the library ignores an edit whose sender is not the message's. */
};

/**
 * What the server can do beyond paging by offset: bits of `capabilities`. For
 * each one that is missing the library has a lossless way round, or says
 * #TL_E_UNSUPPORTED.
 *
 * Messages stand by the server's times, by its numbers (#TL_SERVER_SEQUENCE) or in the order of its
 * log (#TL_SERVER_LOG); a file keeps one kind for ever. Of a log only `get_entries` is asked, so what
 * speaks of the pages, counts and order of the other kinds contradicts it, and the opening says
 * #TL_E_INVALID: #TL_SERVER_BEFORE, #TL_SERVER_AROUND, #TL_SERVER_CHANGED_SINCE, #TL_SERVER_SEQUENCE,
 * `truncates`, `ties`, #TL_PROFILE_ABSENCE_IS_DELETION, #TL_PROFILE_COUNTS_HIDDEN and
 * #TL_PROFILE_DELETIONS_LATER. With #TL_SERVER_ENVELOPE it says #TL_E_UNSUPPORTED. Of the other
 * members those about times mean nothing to it. A log has one order: a server that lists history
 * otherwise than it arrived has none.
 */
enum {
  TL_SERVER_BEFORE = 1u << 0,          /**< `get_messages` takes `before_ts` and `before_id`. */
  TL_SERVER_AROUND = 1u << 1,          /**< `get_messages` takes `around_id` and `around_ts`. */
  TL_SERVER_CHANGED_SINCE = 1u << 2,   /**< There is `get_changed_since`. */
  TL_SERVER_IDEMPOTENT_SEND = 1u << 3, /**< A send or create that is repeated under its `client_id` is done once: `idempotency_scope` and `idempotency_s` say for whom and how long. */
  TL_SERVER_SEQUENCE = 1u << 4,        /**< Messages carry `seq`, which is their position. Bound to the file. */
  TL_SERVER_ENVELOPE = 1u << 5,        /**< Frames travel in envelopes, and updates are replied to. */
  TL_SERVER_LOG = 1u << 6,             /**< A conversation is a log: `get_entries`, and pushes of entries. Bound to the file. */
  TL_SERVER_LOG_REFUSES = 1u << 7,     /**< It refuses tokens that it does not know, and never takes one for another place. */
  TL_SERVER_LOG_EPOCH = 1u << 8        /**< It names an epoch, another one whenever its history was replaced. */
};

/**
 * Whose repeated sends the server knows, of #TL_SERVER_IDEMPOTENT_SEND. A Matrix server knows those of
 * one device, so after a new login it does them once more.
 */
typedef int32_t tl_idempotency_scope;
enum {
  TL_IDEMPOTENCY_ACCOUNT = 0,   /**< The account's, from any device. */
  TL_IDEMPOTENCY_DEVICE = 1,    /**< Those of one login: `device` of #tl_client_config names it. */
  TL_IDEMPOTENCY_CONNECTION = 2 /**< Those of one connection. */
};

/**
 * What the host knows of its server. All zero is the server of the protocol's
 * first form: whole pages of 50, `after_ts` exclusive, unknown cut.
 */
typedef struct tl_profile {
  uint32_t struct_size;        /**< `sizeof(tl_profile)` of the caller. */
  uint32_t flags;              /**< `TL_PROFILE_` flags. */
  uint32_t page_limit;         /**< What `limit` to ask; 0 is 50, at most 1,000. */
  tl_truncates truncates;      /**< The end a full `after_ts` page keeps. */
  tl_ties ties;                /**< Order within one printed time. */
  uint32_t capabilities;       /**< `TL_SERVER_` bits. */
  int64_t time_resolution_us;  /**< Resolution of `created_at`, at most a day; 0 reads it off the strings. */
  uint32_t overlap_ms;         /**< Asked again behind a watermark; 0 is 5,000. */
  uint32_t deletion_horizon_s; /**< How long deletions are remembered; 0 is for ever. Needs a server that tells its time, or a wall clock. */
  int32_t zone_offset_min;     /**< Zone of times without one, minutes east of UTC, less than a day. */
  uint32_t ref_days;           /**< How long refs of updates are remembered; 0 is 30 days, at most 3,650. */
  uint32_t refs_max;           /**< How many refs are remembered; 0 is 100,000, at most 10,000,000. */
  uint32_t pages_max;          /**< Pages of one sync where the server tells no count; 0 is 1,000, at most 1,000,000. */
  tl_view search_members;      /**< Members of a payload whose texts are searched, with spaces between them, at most 1,024 bytes; empty is `text body caption file_name`. Other names than before build the index anew. */
  tl_idempotency_scope idempotency_scope; /**< Who may repeat a send. Beyond that, and beyond `idempotency_s`, the library looks for the message by its client id and sends again what is not there. Needs #TL_SERVER_IDEMPOTENT_SEND. */
  uint32_t idempotency_s;      /**< For how long after the first send; 0 is as long as the message exists. Less a request's time-out, by the clock that says more; one that was set back says nothing, nor does #tl_clock_hook for an earlier process. Needs #TL_SERVER_IDEMPOTENT_SEND. */
} tl_profile;

/** What a payload is, as told by the `open` hook. */
enum {
  TL_PAYLOAD_CONTROL = 1u << 0, /**< Stored, never shown. */
  TL_PAYLOAD_EVENT = 1u << 1    /**< Shown as an event (joined, renamed). */
};

/** A message as it came, offered to the `open` hook. */
typedef struct tl_sealed {
  tl_view conversation; /**< Conversation id. */
  tl_view id;           /**< Message id. */
  tl_view sender;       /**< Sender id. */
  tl_view payload;      /**< The JSON value of `payload`, verbatim. */
  tl_view message;      /**< The whole JSON object of the message, verbatim. */
} tl_sealed;

/** The answer of the `open` hook. Zeroed before the hook runs. */
typedef struct tl_opened {
  tl_view payload;   /**< Plaintext to keep, valid until the call that ran the hook returns. */
  uint32_t flags;    /**< `TL_PAYLOAD_` flags. */
  uint32_t reserved; /**< Must be zero. */
  tl_view searchable; /**< Text to be searched in place of the payload, or empty; as long valid. Empty where a payload is sealed. */
} tl_opened;

/**
 * Opens one payload. Runs inside #tl_client_receive, before any lock of the
 * library is held, on the caller's thread. It must not call the library.
 * Return #TL_OK with `out` filled, or #TL_NONE when the key has not come yet
 * (the message keeps its place, sealed; see #tl_client_reopen_payloads), or any
 * failure (the same, counted). A message that was opened stays open when the same
 * content comes again and cannot be opened; an edit that cannot be is sealed. What
 * this user sent or edited here then shows as it was written.
 */
typedef tl_status (*tl_open_hook)(void *context, const tl_sealed *in, tl_opened *out);

/** A payload of this user, offered to the `seal` hook. */
typedef struct tl_unsealed {
  tl_view conversation; /**< Conversation id; of one not yet created, its client id. */
  tl_view client_id;    /**< The client id of a message to send; empty for an edit. */
  tl_view message;      /**< The id of the message to edit; empty for one to send. */
  tl_view payload;      /**< The JSON value of `payload` as the host gave it. */
} tl_unsealed;

/**
 * Seals one payload: `out->payload` is the JSON value that goes to the server,
 * its flags must be zero. It is kept with the operation and used again for each
 * try. Runs inside #tl_client_perform, #tl_client_send, #tl_operation_edit and
 * #tl_client_reopen_payloads, and inside #tl_client_receive for an edit that
 * follows by itself (a message was rewritten, and the server turns out to have it
 * as it was before), with no lock of the library held. It must not call
 * the library. Return #TL_OK, or #TL_NONE when the key has not come yet: the
 * operation waits (#TL_WAIT_SEAL) until #tl_client_reopen_payloads. Any failure
 * ends the call with #TL_E_REFUSED and nothing is kept.
 */
typedef tl_status (*tl_seal_hook)(void *context, const tl_unsealed *in, tl_opened *out);

/** Importance of a log line. */
typedef int32_t tl_log_level;
enum {
  TL_LOG_ERROR = 1, /**< Something failed. */
  TL_LOG_WARN = 2,  /**< Something was set aside or repaired. */
  TL_LOG_INFO = 3,  /**< A normal event worth a line. */
  TL_LOG_DEBUG = 4  /**< Detail. */
};

/**
 * Takes one log line, UTF-8; `text` is never NULL and is valid until the hook returns.
 * Runs inside a call of the host, with no lock of the library held. Lines hold no key,
 * path, id or message text: constants, and a number at most. Of one kind of line 10 are
 * written in a minute; the next one says how many were left out.
 */
typedef void (*tl_log_hook)(void *context, tl_log_level level, const tl_view *text);

/**
 * Gives a monotonic time in milliseconds; for tests and replay. Like each hook it runs with no
 * lock of the library held.
 */
typedef int64_t (*tl_clock_hook)(void *context);

/** Flags of #tl_policy_question. */
enum {
  TL_POLICY_WINDOW = 1u << 0 /**< A window asks, which is opened or polled; `kind` is #TL_SYNC_LIVE. Or a list does: #TL_SYNC_CONVERSATIONS. */
};

/** For what a policy is to be chosen. Borrowed for the call. */
typedef struct tl_policy_question {
  tl_view conversation; /**< Which conversation; empty for the list, and for all of them. */
  int32_t kind;         /**< What is asked for: a `TL_SYNC_` kind. */
  uint32_t flags;       /**< `TL_POLICY_WINDOW`, or 0. */
} tl_policy_question;

/** What was chosen. */
typedef struct tl_policy_choice {
  int32_t policy;    /**< A `TL_POLICY_` other than #TL_POLICY_HOST. */
  uint32_t limit_ms; /**< As that of #tl_sync_request; a longer one counts as the longest. */
  int64_t age_us;    /**< As that of #tl_sync_request; one below 0 counts as 0. */
} tl_policy_choice;

/**
 * Chooses where an answer may come from, where a request leaves that to the host: on a metered
 * network, in the background. Called by the thread of the request or the poll, while nothing is
 * locked; it may call the client, but not poll a window. What is no policy is taken as
 * #TL_POLICY_CACHE_THEN_NETWORK, which `out` holds when it is called.
 */
typedef void (*tl_policy_hook)(void *context, const tl_policy_question *question,
                               tl_policy_choice *out);

/**
 * Releases a hook's context. Runs exactly once, when the client is freed or its opening failed.
 * Only a configuration that cannot be read at all (NULL, a wrong `struct_size`) is not dropped.
 */
typedef void (*tl_drop_hook)(void *context);

/* Storage of the host's own. docs/howto/storage.md says how one is written and checked. */

/** A byte object of a name that a #tl_storage keeps. */
typedef int32_t tl_object;
enum {
  TL_OBJECT_MAIN = 0, /**< The sealed pages. */
  TL_OBJECT_LOG = 1,  /**< What was committed and is not in the pages yet. */
  TL_OBJECT_OWN = 2   /**< Kept for the user's own work; of no use in this version. */
};

/** What a call on a #tl_storage is about, and who makes it. */
typedef struct tl_stored {
  tl_view name;      /**< The name: `path` of #tl_client_config, 1 to 1,024 bytes without a NUL. */
  uint64_t fence;    /**< The caller's number, as `acquire` gave it. */
  tl_object object;  /**< Which of the name's objects; 0 where a call is about the name. */
  uint32_t reserved; /**< Zero. */
} tl_stored;

/** Flags of #tl_storage. */
enum {
  TL_STORAGE_BUFFERS = 1u << 0 /**< Unsynced writes die with the process: `kill -9` is a loss of power. */
};

/**
 * A storage of the host's own, in the place of the file: where sealed bytes live. It sees
 * nothing but ciphertext, and everything above it stays as it is.
 *
 * It keeps byte objects by name. Each function but `drop` returns #TL_OK, or #TL_E_LOCKED
 * (the caller's number is not the newest any more), #TL_E_FULL, #TL_E_STORAGE; any other
 * value counts as #TL_E_STORAGE. A call that fails with #TL_E_LOCKED has changed nothing.
 *
 * @par Owner
 * Once another holder has acquired a name, each call with an older number fails with
 * #TL_E_LOCKED and changes nothing, also one that was begun before. The number is checked
 * in the same atomic step as the call's effect.
 *
 * @par Bytes
 * An object that was never written, or was removed, has size 0. A write changes the bytes
 * of its range and no others, at any moment and after any crash. What lies below the size and
 * was never written reads as zeros.
 *
 * @par Sync
 * When `sync` of an object returns #TL_OK, its size, its bytes and every earlier remove of it
 * survive the death of process, machine and database, and no later call takes that back. Of
 * what came after the last sync a crash may keep any part, in any order. After a sync
 * that failed, the client calls nothing but `release` and answers #TL_E_STORAGE until it is
 * opened again.
 *
 * @par Calls
 * They come from several threads, reads beside one call that changes something, and under
 * locks of the client: a call returns within a time limit of its own, calls nothing of the
 * client, and keeps no pointer that it was given.
 */
typedef struct tl_storage {
  uint32_t struct_size; /**< `sizeof(tl_storage)` of the caller. */
  uint32_t flags;       /**< `TL_STORAGE_` flags. */
  void *context;        /**< Handed to each function. */
  tl_drop_hook drop;    /**< Releases `context`, or NULL; runs as that of a hook. */
  /** Makes the caller the holder; `fence` is greater than each number before it for the name. */
  tl_status (*acquire)(void *context, const tl_view *name, uint64_t *fence);
  /** Ends being the holder. A failure is ignored. */
  tl_status (*release)(void *context, const tl_stored *at);
  /** Reads `size` bytes; fewer only where the object ends: `got` says how many. */
  tl_status (*read)(void *context, const tl_stored *at, uint64_t offset, uint8_t *out, size_t size,
                    size_t *got);
  /** Writes bytes; the object grows where they end behind it. */
  tl_status (*write)(void *context, const tl_stored *at, uint64_t offset, const tl_view *bytes);
  /** Makes the object `size` bytes long. What is cut off is gone; what is added is zeros. */
  tl_status (*truncate)(void *context, const tl_stored *at, uint64_t size);
  /** Gives the object's size. */
  tl_status (*size)(void *context, const tl_stored *at, uint64_t *size);
  /** Makes the object durable. */
  tl_status (*sync)(void *context, const tl_stored *at);
  /** Makes the object as if it had never been written. */
  tl_status (*remove)(void *context, const tl_stored *at);
} tl_storage;

/** Flags of #tl_client_config. */
enum {
  TL_OPEN_MEMORY = 1u << 0,         /**< Keep everything in memory; `path` must be empty. */
  TL_OPEN_EXISTING = 1u << 1,       /**< Fail with #TL_E_NOT_FOUND instead of creating the file. */
  TL_OPEN_STRICT = 1u << 2,         /**< Refuse a file whose log has a rejected tail (#TL_E_DAMAGED). */
  TL_OPEN_AUTO_MARK_READ = 1u << 3, /**< Messages of others that were on a screen for `seen_ms` are marked read: see #tl_window_show. */
  TL_OPEN_AUTO_MARK_DELIVERED = 1u << 4, /**< Messages of others that arrive are marked delivered. */
  TL_OPEN_CATCH_UP_ALL = 1u << 5    /**< Each connection catches up with all conversations that are known here, as #TL_SYNC_ALL does; a new file knows none. */
};

/** How to open a client. Zero it, set `struct_size`, then what you need. */
typedef struct tl_client_config {
  uint32_t struct_size;       /**< `sizeof(tl_client_config)` of the caller. */
  uint32_t flags;             /**< `TL_OPEN_` flags. */
  tl_view path;               /**< UTF-8 path of the file, or the name in `storage`; at most 1,024 bytes. */
  tl_view key;                /**< Exactly #TL_KEY_BYTES random bytes; empty in memory. Copied, wiped when the opening ends. */
  tl_view account;            /**< Name of the account, at most 512 bytes, or empty; bound to the file. A frame that names another one is refused, so greet the server with this one. */
  tl_view user_id;            /**< The user's id on the server; bound to the file. */
  const tl_profile *profile;  /**< The server, or NULL for the default one. */
  uint64_t cache_bytes;       /**< Memory for decrypted pages; 0 is 16 MiB, at most 1 TiB. */
  uint32_t request_timeout_ms; /**< How long an answer may take at first; 0 is 30,000. It follows the network. */
  uint32_t requests_max;      /**< Requests in flight; 0 is 4, at most 64. */
  tl_open_hook open;          /**< Payload hook, or NULL to take payloads as they are. */
  void *open_context;         /**< Handed to `open`. */
  tl_drop_hook open_drop;     /**< Releases `open_context`, or NULL. */
  tl_log_hook log;            /**< Log hook, or NULL. */
  void *log_context;          /**< Handed to `log`. */
  tl_drop_hook log_drop;      /**< Releases `log_context`, or NULL. */
  tl_clock_hook clock;        /**< Clock hook, or NULL for the system's monotonic clock. */
  void *clock_context;        /**< Handed to `clock`. */
  tl_seal_hook seal;          /**< Seals what this user writes, or NULL to send payloads as they are. */
  void *seal_context;         /**< Handed to `seal`. */
  tl_drop_hook seal_drop;     /**< Releases `seal_context`, or NULL. */
  uint32_t seen_ms;           /**< For #TL_OPEN_AUTO_MARK_READ: how long a row is on screen until it is read; 0 is 1,000, at most 3,600,000. */
  uint32_t reserved;          /**< Must be zero. */
  const tl_storage *storage;  /**< Keeps the bytes under the name that `path` is, or NULL for a file. Copied. */
  tl_policy_hook choose;      /**< Chooses for #TL_POLICY_HOST, or NULL. */
  void *choose_context;       /**< Handed to `choose`. */
  tl_drop_hook choose_drop;   /**< Releases `choose_context`, or NULL. */
  tl_view device;             /**< The server's name of this login, such as a device id, at most 512 bytes. Needed with #TL_IDEMPOTENCY_DEVICE, else of no use. Another one after each new login. */
} tl_client_config;

/**
 * @brief Opens or creates a client's file.
 *
 * A failed opening changes nothing in an existing file. A file that more than one
 * name leads to (hard links) is refused with #TL_E_STORAGE. On a full disk a file
 * opens and can be read. Where the process has no descriptor left for the file or for
 * #tl_client_event_fd an opening is #TL_E_STORAGE. On a `storage` of the host's an opening takes the name over from
 * whoever holds it.
 * @param config How to open it. Borrowed for the call.
 * @param out The new client on success, NULL otherwise.
 * @return #TL_OK, or #TL_E_INVALID, #TL_E_KEY (wrong key), #TL_E_DAMAGED,
 *         #TL_E_NOT_OURS, #TL_E_TOO_NEW, #TL_E_LOCKED, #TL_E_MISMATCH
 *         (account, user or kind of position), #TL_E_NOT_FOUND,
 *         #TL_E_UNSUPPORTED, #TL_E_STORAGE, #TL_E_FULL.
 */
TL_API TL_CHECK tl_status
tl_client_open(const tl_client_config *config, tl_client **out);

/**
 * @brief Flushes a client, wipes its key and fails every later call on it.
 *
 * Idempotent. The event descriptor becomes readable so that a waiter wakes.
 * @param client The client, or NULL. Safe while other threads use it, and twice.
 */
TL_API void tl_client_close(tl_client *client);

/**
 * @brief Closes a client if it is open and releases its memory.
 * @param client The client, or NULL. No other thread may be using it.
 */
TL_API void tl_client_free(tl_client *client);

/**
 * @brief Destroys a client's data for good and closes it: for log-out.
 *
 * The key slots are overwritten and synced first, so what an interrupted
 * deletion leaves behind cannot be read with any key; then the files go. A
 * failure closes the client as well: open the file again to wipe what is left.
 * @param client The client.
 * @return #TL_OK, or #TL_E_INVALID, #TL_E_CLOSED, #TL_E_STORAGE.
 */
TL_API TL_CHECK tl_status tl_client_wipe(tl_client *client);

/* ------------------------------------------------------------------------ */
/* Turn: say what happened, take what is to be sent                           */
/* ------------------------------------------------------------------------ */

/**
 * @brief Says that a connection to the server stands and is authenticated.
 *
 * Work that waited for it (syncs, read marks) begins. Called while connected,
 * it means a new connection replaced the old one.
 * @param client The client.
 * @return #TL_OK, or #TL_E_INVALID, #TL_E_CLOSED, #TL_E_STORAGE.
 */
TL_API TL_CHECK tl_status tl_client_connected(tl_client *client);

/**
 * @brief Says that the connection is gone.
 *
 * Requests in flight are forgotten and asked again on the next connection;
 * frames not yet taken are dropped. A sync whose requests were lost so six times
 * in a row ends with #TL_E_TIMEOUT.
 *
 * Two connections in a row may end with a request that was taken and without any
 * answer. Then the next one sends no request for a second, and after each further
 * one twice as long, up to a minute, each a quarter more or less, counted from the end of the last connection.
 * #tl_client_advance has the pause among its deadlines. After six in a row every
 * sync ends with #TL_E_TIMEOUT, and #TL_SYNC_ALL with #TL_E_INCOMPLETE. Any answer
 * ends the pauses. Of connections that end with a request under way, answers or
 * not, there are at most twelve a minute: then requests wait.
 * @param client The client.
 * @return #TL_OK, or #TL_E_INVALID, #TL_E_CLOSED, #TL_E_STORAGE.
 */
TL_API TL_CHECK tl_status tl_client_disconnected(tl_client *client);

/**
 * @brief Says that nothing sent on an earlier connection reaches the server any more.
 *
 * A send that was never answered may still be on its way when its connection is
 * gone, so the library looks only after a time-out of the next connection whether
 * it has arrived, and holds back what is behind it. A host that knows better (the
 * transport said that the peer has closed) says so here: the look begins at once on
 * the present connection, or with the next one when there is none. Where the host
 * is wrong a message may be called not sent that arrives later.
 * @param client The client.
 * @return #TL_OK, or #TL_E_INVALID, #TL_E_CLOSED.
 */
TL_API TL_CHECK tl_status tl_client_connection_dead(tl_client *client);

/**
 * @brief Hands in one frame from the server, whole.
 *
 * Everything the frame changes is committed when the call returns. A bad item
 * in a page is set aside and the rest is kept.
 *
 * Also while not connected: the body of a push notification is taken as a push. Its
 * messages are stored and shown, behind a gap, and nothing more is trusted because of
 * them; the reply to an update goes out on the next connection.
 * @param client The client.
 * @param frame One JSON object, at most 16 MiB. Of a longer one no byte is read.
 * @return #TL_OK; #TL_IGNORED for a type, or an answer, that is of no use here;
 *         #TL_QUARANTINED; or #TL_E_FRAME (not JSON, not UTF-8, not a frame),
 *         #TL_E_TOO_LARGE, #TL_E_OFFLINE (a connection that is void: see
 *         `reconnect_wanted` of #tl_state), #TL_E_MISMATCH (the frame names another account, or something
 *         that is no string and not null), #TL_E_INVALID, #TL_E_CLOSED,
 *         #TL_E_STORAGE, #TL_E_FULL. After a failure nothing that is stored has
 *         changed. An answer of the wrong shape is #TL_E_FRAME as well: the request
 *         it answers counts as failed once and is made again.
 */
TL_API TL_CHECK tl_status tl_client_receive(tl_client *client, tl_view frame);

/** One frame to send, whole, as one message of the transport. */
typedef struct tl_frame {
  uint64_t id;   /**< Number to give to #tl_client_frame_sent. */
  tl_view bytes; /**< One JSON object without a line break. */
} tl_frame;

/**
 * @brief Takes the next frame to send.
 *
 * Requests come first, then replies to updates, which are made only when what
 * they acknowledge is on disk.
 * @param client The client.
 * @param out The frame on #TL_OK, NULL otherwise. Free it with #tl_frame_free.
 * @return #TL_OK, #TL_NONE when there is nothing to send (the event descriptor
 *         is then cleared), or #TL_E_INVALID, #TL_E_CLOSED, #TL_E_STORAGE and
 *         #TL_E_FULL (no reply leaves; the descriptor is cleared).
 */
TL_API TL_CHECK tl_status
tl_client_next_frame(tl_client *client, tl_frame **out);

/**
 * @brief Says that a frame has been written to the transport.
 *
 * The time-out of its request runs from here, or from the taking of the frame
 * where this is never called. A reply stays owed until it is reported here, and
 * is handed out again on the next connection.
 * @param client The client.
 * @param id The frame's number. An unknown one is #TL_NONE.
 * @return #TL_OK, #TL_NONE, or #TL_E_INVALID, #TL_E_CLOSED.
 */
TL_API TL_CHECK tl_status tl_client_frame_sent(tl_client *client, uint64_t id);

/** @brief Releases a frame. @param frame The frame, or NULL. */
TL_API void tl_frame_free(tl_frame *frame);

/**
 * @brief Lets time act: time-outs and retries that are due, splits that were held
 *        back for long enough, which make the event descriptor readable, and what
 *        was seen for long enough.
 *
 * Segments of the search index are merged here, where it is switched on: some 2 milliseconds at a
 * time with pauses, which the deadline tells, until there are few, and until words of messages that
 * are gone are in none. Messages whose texts are long are indexed and taken out here, at least one
 * at a time.
 * @param client The client.
 * @param wait_ms Milliseconds until this should be called again, -1 when no
 *        deadline is set. May be handed to `poll`. NULL is allowed.
 * @return #TL_OK, or #TL_E_INVALID, #TL_E_CLOSED, #TL_E_STORAGE.
 */
TL_API TL_CHECK tl_status tl_client_advance(tl_client *client, int64_t *wait_ms);

/**
 * @brief Gives the descriptor that is readable when there is news.
 *
 * News are frames to send, changes to pull, ends of syncs, splits to draw. It is an eventfd
 * owned by the library: poll it, never read or close it. It is cleared by
 * #tl_client_next_frame when that returns #TL_NONE, so: drain the frames
 * first, then pull the changes. While offline the second
 * #tl_client_advance without news between clears it, too. Valid until the client is freed.
 * @param client The client.
 * @param out The descriptor, or -1 on failure.
 * @return #TL_OK, or #TL_E_INVALID.
 */
TL_API TL_CHECK tl_status tl_client_event_fd(tl_client *client, int32_t *out);

/** What the client is doing as a whole. */
typedef int32_t tl_phase;
enum {
  TL_PHASE_OFFLINE = 0,     /**< Not connected. */
  TL_PHASE_CATCHING_UP = 1, /**< Connected, with syncs under way. */
  TL_PHASE_UP_TO_DATE = 2   /**< Connected, nothing under way but what waits for the user. */
};

/** The client's overall state. Set `struct_size` before the call. */
typedef struct tl_state {
  uint32_t struct_size;        /**< `sizeof(tl_state)` of the caller. */
  tl_phase phase;              /**< What it is doing. */
  uint32_t syncs_left;         /**< Syncs queued or running. */
  uint32_t requests_in_flight; /**< Requests without an answer. */
  uint32_t frames_waiting;     /**< Frames to take. */
  uint32_t reconnect_wanted;   /**< 1: this connection is void; please reconnect. */
  uint32_t reads_pending;      /**< Read and listened marks the server has not confirmed. */
  uint32_t replies_owed;       /**< Replies to updates not yet reported as sent. */
  uint64_t change_seq;         /**< Number of the newest change. */
  int64_t as_of_us;            /**< Greatest server time seen, 0 for none. */
  uint32_t operations_open;    /**< Operations queued or in flight, marks not counted. */
  uint32_t operations_stuck;   /**< Operations unknown or refused: for the user to decide. One with #TL_WAIT_CHECK is looked for first, and may go out by itself. */
} tl_state;

/**
 * @brief Reads the client's overall state.
 * @param client The client.
 * @param out Filled on success.
 * @return #TL_OK, or #TL_E_INVALID, #TL_E_CLOSED, #TL_E_TOO_NEW,
 *         #TL_E_STORAGE.
 */
TL_API TL_CHECK tl_status tl_client_state(tl_client *client, tl_state *out);

/**
 * @brief Tells which account a frame is for, without a client.
 * @param frame One JSON object, at most 16 MiB.
 * @param out A view into `frame` of the raw JSON string contents, empty when
 *        the frame names no account.
 * @return #TL_OK, #TL_NONE when it names none in a string (then null and no member are
 *         for every client, anything else is for none), or #TL_E_INVALID,
 *         #TL_E_FRAME, #TL_E_TOO_LARGE.
 */
TL_API TL_CHECK tl_status tl_frame_account(tl_view frame, tl_view *out);

/** What a sync is to bring. */
typedef int32_t tl_sync_kind;
enum {
  TL_SYNC_LATEST = 0, /**< Catch up: everything newer than what is known, and deletions. */
  TL_SYNC_OLDER = 1,  /**< Older messages below the newest known range, filling gaps. */
  TL_SYNC_LIVE = 2,   /**< Only the newest messages, mostly one page, and deletions: a gap may stay below, recorded. */
  TL_SYNC_CONVERSATIONS = 3, /**< The list of conversations with their last messages; `conversation` is empty. */
  TL_SYNC_ALL = 4 /**< Each conversation that is known here, as #TL_SYNC_LIVE; `conversation` is empty. */
};

/** Where a sync may look. */
typedef int32_t tl_policy;
enum {
  TL_POLICY_CACHE_THEN_NETWORK = 0, /**< The cache answers now, the network when it can. */
  TL_POLICY_CACHE_ONLY = 1,         /**< The cache only: ends at once, asks nothing. */
  TL_POLICY_NETWORK_FIRST = 2,      /**< The network; after `limit_ms`, or where it fails, the cache. What the network brings later is taken. */
  TL_POLICY_NETWORK_ONLY = 3,       /**< The network; fails where it does, after `limit_ms`, and without a connection at once. */
  TL_POLICY_MAX_AGE = 4,            /**< The cache where the server was asked for all that is new no longer than `age_us` ago, else as #TL_POLICY_CACHE_THEN_NETWORK. An age of 0 always asks. */
  TL_POLICY_HOST = 5                /**< What `choose` of #tl_client_config says. */
};

/** What an answer stands on. */
typedef int32_t tl_basis;
enum {
  TL_BASIS_CACHE = 0,  /**< What was here, as of `as_of_us`; also where nothing had to be asked. */
  TL_BASIS_NETWORK = 1 /**< The server was asked, to the end, or has pushed all that is new (#TL_PROFILE_PUSH_LOSSLESS). */
};

/** Flags of #tl_sync_request. */
enum {
  TL_SYNC_MARK_READ = 1u << 0 /**< Messages of others on the pages that it brings are marked read, whatever the configuration says. */
};

/** One request to sync a conversation. */
typedef struct tl_sync_request {
  uint32_t struct_size;  /**< `sizeof(tl_sync_request)` of the caller. */
  uint32_t flags;        /**< `TL_SYNC_` flags. */
  tl_view conversation;  /**< Which conversation; at most 512 bytes. */
  tl_sync_kind kind;     /**< What to bring. */
  tl_policy policy;      /**< Where to look. */
  uint32_t want;         /**< For #TL_SYNC_OLDER: how many more messages; 0 is one page. */
  uint32_t pages_max;    /**< Give up after so many pages; 0 is no bound. */
  uint32_t limit_ms;     /**< Of `policy`: how long the network is waited for; 0 for as long as it takes, at most 3,600,000. */
  uint32_t reserved;     /**< Must be zero. */
  int64_t age_us;        /**< Of #TL_POLICY_MAX_AGE. */
} tl_sync_request;

/**
 * @brief Asks for a conversation to be synced.
 *
 * Returns at once. While offline the sync waits for a connection. An identical
 * sync that is already waiting or running is joined: its number is returned.
 *
 * With #TL_POLICY_NETWORK_FIRST and #TL_POLICY_NETWORK_ONLY it has a number of its own; the
 * sync beneath may be one that others have asked for. #TL_POLICY_MAX_AGE is of what is new:
 * what #TL_SYNC_OLDER brings is not known by any age, and is asked for. How long ago the
 * server was asked is kept in the file once a policy of those three was used.
 *
 * A limit acts in #tl_client_advance, which counts it among its deadlines: where nobody calls
 * that, nothing ends. The network has failed where it refuses for good, where it does not answer
 * or refuses for now six times, and where the connection is lost; a server that says when to ask
 * again is waited for until then, as long as `limit_ms` allows.
 *
 * #TL_SYNC_ALL goes through the conversations of open windows first, then through the
 * others as a list has them, two at a time, and all that screens wait for goes before
 * it; `done` and `total` of #tl_sync_status say how far it is. Conversations that the
 * server refuses do not stop it. It ends with #TL_E_INCOMPLETE where any other did not
 * end well. On another connection it goes on with those that are left.
 *
 * A sync comes to an end whatever the server answers, with #TL_E_INCOMPLETE:
 * - after so many pages as the server's count of messages or conversations needs and 64 more, or
 *   four times as many as it needs where that is more;
 * - after `pages_max` pages of #tl_profile where nothing is counted;
 * - after 64 answers in a row that brought nothing new;
 * - of #TL_SYNC_CONVERSATIONS, whatever is counted, after `pages_max` answers that each brought
 *   less than a quarter of what was asked for, and after 200,000 conversations.
 *
 * What it brought stays, and the next one goes on from there.
 *
 * Under #TL_SERVER_LOG no entry tells of what the server purges below. #TL_SYNC_LATEST looks where
 * the log starts, once on each connection, and so does #TL_SYNC_OLDER where all is known;
 * #TL_SYNC_LIVE and windows do not.
 * @param client The client.
 * @param request What to sync. Borrowed for the call.
 * @param out The sync's number, 0 on failure. NULL is allowed.
 * @return #TL_OK, or #TL_E_INVALID, #TL_E_CLOSED, #TL_E_TOO_NEW,
 *         #TL_E_TOO_LARGE, #TL_E_FULL (too many syncs waiting), #TL_E_STORAGE.
 */
TL_API TL_CHECK tl_status
tl_client_sync(tl_client *client, const tl_sync_request *request, uint64_t *out);

/**
 * @brief Cancels a sync. What it brought so far stays.
 *
 * Others to whom the same was promised by a policy, under numbers of their own, get it all the
 * same.
 * @param client The client.
 * @param sync The sync's number.
 * @return #TL_OK, #TL_NONE when it had ended, or #TL_E_NOT_FOUND,
 *         #TL_E_INVALID, #TL_E_CLOSED.
 */
TL_API TL_CHECK tl_status tl_client_cancel(tl_client *client, uint64_t sync);

/** How far a sync is. */
typedef int32_t tl_sync_phase;
enum {
  TL_SYNC_WAITING = 0, /**< Waits for a connection, a place, or a retry. */
  TL_SYNC_RUNNING = 1, /**< A request is in flight. */
  TL_SYNC_ENDED = 2    /**< Ended; `result` says how. */
};

/** How a sync went. Set `struct_size` before the call. */
typedef struct tl_sync_status {
  uint32_t struct_size; /**< `sizeof(tl_sync_status)` of the caller. */
  tl_sync_phase phase;  /**< How far it is. */
  tl_status result;     /**< #TL_OK, or why it ended; while waiting, the last trouble. */
  uint32_t requests;    /**< Requests sent for it. */
  uint32_t received;    /**< Messages received for it, known ones included. */
  uint32_t inserted;    /**< Messages that were new. */
  uint32_t removed;     /**< Messages removed. */
  uint32_t reserved;    /**< Zero. */
  uint32_t done;        /**< Of #TL_SYNC_ALL: conversations that are done. */
  uint32_t total;       /**< Of #TL_SYNC_ALL: conversations there are, 0 before it began. */
  tl_basis basis;       /**< What the answer stands on. */
  tl_status reason;     /**< #TL_OK, or why the network did not answer, also where the cache then did and `result` is #TL_OK. */
  int64_t as_of_us;     /**< When the server was last asked for all that is new there: when the catch-up began that ended well, by the device's clock; 0 where that is not known. While this one is under way, as of before it. */
  int64_t step_back_us; /**< Of a log, microseconds: by how much times were seen to step back in its order, at most. A place that is found by time may be off by so much, and by more where no page showed it. 0 with other servers. */
} tl_sync_status;

/**
 * @brief Reads how a sync went. The last 1,024 ended syncs are remembered.
 * @param client The client.
 * @param sync The sync's number.
 * @param out Filled on success.
 * @return #TL_OK, or #TL_E_NOT_FOUND, #TL_E_INVALID, #TL_E_CLOSED, #TL_E_TOO_NEW.
 */
TL_API TL_CHECK tl_status
tl_client_sync_status(tl_client *client, uint64_t sync, tl_sync_status *out);

/* ------------------------------------------------------------------------ */
/* Read                                                                       */
/* ------------------------------------------------------------------------ */

/** State of a message. */
typedef int32_t tl_message_state;
enum {
  TL_MESSAGE_CONFIRMED = 0, /**< The server has it. */
  TL_MESSAGE_QUEUED = 1,    /**< Written here, not yet sent. */
  TL_MESSAGE_IN_FLIGHT = 2, /**< Sent, not yet answered. */
  TL_MESSAGE_UNKNOWN = 3,   /**< Sent, never answered: it may have arrived. The user decides. */
  TL_MESSAGE_REFUSED = 4    /**< The server refused it. The user decides. */
};

/** Flags of #tl_message. */
enum {
  TL_MESSAGE_MINE = 1u << 0,      /**< Sent by this user. */
  TL_MESSAGE_UNREAD = 1u << 1,    /**< Of another, not known to be read, and not marked read here; no event, and not deleted. */
  TL_MESSAGE_EDITED = 1u << 2,    /**< Edited since it was sent. */
  TL_MESSAGE_DELETED = 1u << 3,   /**< The server shows it as deleted. */
  TL_MESSAGE_PINNED = 1u << 4,    /**< Pinned. */
  TL_MESSAGE_EVENT = 1u << 5,     /**< An event rather than a message. */
  TL_MESSAGE_SEALED = 1u << 6,    /**< The payload could not be opened yet; it is as it came. */
  TL_MESSAGE_UNVERIFIED = 1u << 7, /**< Outside every trusted range, or its deletion may have been forgotten. */
  TL_MESSAGE_GAP_BEFORE = 1u << 8, /**< Rows of a window: a split lies before this row. */
  TL_MESSAGE_STALE = 1u << 9,      /**< Edits, reactions, pins and receipts are not verified on this connection. */
  TL_MESSAGE_LISTENED = 1u << 10,  /**< This user has listened to it, or marked it so here. */
  TL_MESSAGE_GONE = 1u << 11,      /**< Rows of a window: it went since the last poll; only `number` is set. */
  TL_MESSAGE_GAP_HEALING = 1u << 12, /**< Beside #TL_MESSAGE_GAP_BEFORE: a request that is due or under way will settle it. */
  TL_MESSAGE_MODERATED = 1u << 13, /**< A moderator has changed or hidden it, as the server says. */
  TL_MESSAGE_SILENT = 1u << 14   /**< An update of it asked not to notify the user. */
};

/**
 * One message. Plain data; the views point into the batch it came in and are
 * valid until that batch is freed.
 *
 * A message of this user that the server has not confirmed stands behind all
 * others, in the order of sending; `id` is its client id and `time_us` is 0. Once
 * confirmed it moves to its place and keeps its `number`. What the user changed
 * and the server has not confirmed (edits, reactions, pins, deletions) is shown
 * as done.
 */
typedef struct tl_message {
  uint64_t number;        /**< Local number: the identity on screen, never reused. */
  int64_t time_us;        /**< Server time. */
  tl_message_state state; /**< State. */
  uint32_t flags;         /**< `TL_MESSAGE_` flags. */
  tl_view id;             /**< Message id. */
  tl_view conversation;   /**< Conversation id. */
  tl_view sender;         /**< Sender id. */
  tl_view stamp;          /**< `created_at` as the server printed it. */
  tl_view payload;        /**< Payload as `open` gave it, or the JSON value as it came. */
  tl_view reply_to;       /**< Id of the message replied to, or empty. */
  tl_view reactions;      /**< JSON object of reactions as it came, or empty. */
  tl_view read_by;        /**< JSON array of user ids that have read it, or empty. */
  tl_view rest;           /**< JSON object of all members that this record has nowhere else, verbatim, or empty. */
  tl_view delivered_by;   /**< JSON array of user ids it was delivered to, or empty. */
  tl_view listened_by;    /**< JSON array of user ids that have listened to it, or empty. */
  uint64_t sequence;      /**< The server's number under #TL_SERVER_SEQUENCE, otherwise 0. */
  uint64_t operation;     /**< Operation that sends it, 0 once it is confirmed. */
  uint32_t upload_permille; /**< Of its attachment, as the host said; 1,000 where none is due. */
  uint32_t reserved;      /**< Zero. */
  int64_t edited_us;      /**< Server time of its last edit, 0 where none was told. */
  tl_view client_id;      /**< Of this user's messages: the client id it was sent under, or empty. */
  uint64_t reserved_words[8]; /**< Zero. Later members are taken out of these. */
} tl_message;

/** Rows with the bytes behind them, in one allocation. Opaque. */
typedef struct tl_batch tl_batch;

/** Why a read gave fewer messages than were asked, or stopped. */
typedef int32_t tl_stop;
enum {
  TL_STOP_LIMIT = 0, /**< The limit was reached, or 64 MiB. */
  TL_STOP_START = 1, /**< The start of the conversation: nothing older exists. */
  TL_STOP_GAP = 2,   /**< Beyond lies a gap that only the network can fill. */
  TL_STOP_PRESENT = 3, /**< The newest message known; the server may have newer. */
  TL_STOP_COUNT = 4  /**< All known ranges join, but the server counts other than what is here. */
};

/**
 * A place where messages may be missing. Under #TL_SERVER_SEQUENCE ranges are of numbers, and
 * under #TL_SERVER_LOG of places in the log, so its ends are told as the times of the nearest
 * messages that are stored on either side.
 */
typedef struct tl_gap {
  uint32_t before_row; /**< The gap lies before this row; the row count means behind the last one. */
  uint32_t poisoned;   /**< 1 when it hides an item that could not be read. */
  int64_t low_us;      /**< Server time at its older end, INT64_MIN for the start. */
  int64_t high_us;     /**< Server time at its newer end, INT64_MAX where nothing newer is known. */
  uint64_t reserved_words[8]; /**< Zero. Later members are taken out of these. */
} tl_gap;

/**
 * How complete a page of messages is. Of a conversation of which nothing was
 * fetched a page without rows is not whole and has one gap, for all of it.
 *
 * Under #TL_SERVER_LOG what is known is as of an entry of the log: where a page is whole, its
 * messages are as they are after all entries up to `as_of_entry`, the last one of the stretch that
 * they lie in, less what has since been deleted. The three times are that entry's then, 0 where it
 * has none or the page is not whole; times order nothing there. `total_count` is -1. Rows without
 * #TL_MESSAGE_STALE were shown by a page of this connection, or lie in the stretch that one of its
 * pages found to reach the present; whether the server has newer entries is told by a sync, as of
 * its end.
 */
typedef struct tl_coverage {
  uint32_t struct_size;      /**< `sizeof(tl_coverage)` of the caller. */
  uint32_t whole;            /**< 1: between the first and the last row nothing is missing; without rows, nothing where it looked. */
  tl_stop stop;              /**< Why it ends where it ends. */
  uint32_t gap_count;        /**< How many gaps touch the page. */
  const tl_gap *gaps;        /**< The gaps, oldest first; valid until the batch is freed. */
  int64_t deletions_as_of_us; /**< Server time up to which deletions are known, 0 for none. */
  int64_t content_as_of_us;  /**< Server time up to which the newest range was fetched, 0 for none. */
  int64_t total_count;       /**< The server's last count of the conversation, -1 for none. */
  uint64_t known_count;      /**< Messages of the conversation stored here, hidden ones included. */
  int64_t marks_as_of_us;    /**< Server time up to which edits and marks were fetched, 0 for none. */
  uint32_t stale_count;      /**< Rows with #TL_MESSAGE_STALE. */
  uint32_t reserved;         /**< Zero. */
  tl_view as_of_entry;       /**< Under #TL_SERVER_LOG: id of the entry as of which a page that is whole is so, or empty; valid until the batch is freed. */
} tl_coverage;

/** Where a read begins. */
typedef int32_t tl_from;
enum {
  TL_FROM_LATEST = 0, /**< The newest message, going older. */
  TL_FROM_OLDEST = 1, /**< The oldest message stored, going newer. */
  TL_FROM_BEFORE = 2, /**< Messages older than `number`. */
  TL_FROM_AFTER = 3,  /**< Messages newer than `number`. */
  TL_FROM_TIME = 4,   /**< Messages at or after `time_us`, going newer. */
  TL_FROM_BEFORE_TIME = 5 /**< Messages before `time_us`, going older. */
};

/** Flags of #tl_query. */
enum {
  TL_QUERY_PINNED = 1u << 0 /**< Pinned messages only. */
};

/** Order of the rows of a batch. */
typedef int32_t tl_order;
enum {
  TL_ORDER_ASCENDING = 0, /**< Oldest first. */
  TL_ORDER_DESCENDING = 1 /**< Newest first. */
};

/** Which messages to read. */
typedef struct tl_query {
  uint32_t struct_size; /**< `sizeof(tl_query)` of the caller. */
  uint32_t flags;       /**< `TL_QUERY_` flags. */
  tl_view conversation; /**< Which conversation. */
  tl_from from;         /**< Where to begin. */
  tl_order order;       /**< Order of the rows. */
  uint64_t number;      /**< For #TL_FROM_BEFORE and #TL_FROM_AFTER: a message's number. */
  int64_t time_us;      /**< For #TL_FROM_TIME and #TL_FROM_BEFORE_TIME. */
  uint32_t limit;       /**< How many visible messages; 0 is 50, at most 10,000. */
  uint32_t reserved;    /**< Must be zero. */
} tl_query;

/**
 * @brief Reads messages from the cache. Never waits for the network.
 *
 * The read runs beside the writer and sees one committed state. An unknown
 * conversation gives no rows and a gap.
 * @param client The client.
 * @param query Which messages. Borrowed for the call.
 * @param out The batch on success, NULL otherwise. Free it with #tl_batch_free.
 * @return #TL_OK, or #TL_E_NOT_FOUND (no message with `number`), #TL_E_INVALID,
 *         #TL_E_CLOSED, #TL_E_TOO_NEW, #TL_E_STORAGE, #TL_E_DAMAGED.
 */
TL_API TL_CHECK tl_status
tl_client_messages(tl_client *client, const tl_query *query, tl_batch **out);

/**
 * @brief Reads one message by id.
 * @param client The client.
 * @param conversation Conversation id.
 * @param id Message id.
 * @param out A batch of one row on success, NULL otherwise.
 * @return #TL_OK, or #TL_E_NOT_FOUND (unknown, deleted, hidden or forgotten),
 *         #TL_E_INVALID, #TL_E_CLOSED, #TL_E_STORAGE, #TL_E_DAMAGED.
 */
TL_API TL_CHECK tl_status
tl_client_message(tl_client *client, tl_view conversation, tl_view id, tl_batch **out);

/**
 * @brief Reads messages by their numbers, as an entry of the change feed names them.
 *
 * Those of the conversation with `first` <= #tl_message.number <= `last` that are visible now, in
 * the order of their numbers. Where the batch is full, or its rows would be too large, it ends
 * early: go on behind the number of its last row, up to `last`, until a batch is empty. The
 * coverage of the batch claims nothing, since the rows need not be neighbours.
 * @param client The client.
 * @param conversation Conversation id. An unknown one has no messages.
 * @param first The least number.
 * @param last The greatest number, at least `first`.
 * @param limit How many at most; 0 is 50, at most 10,000.
 * @param out The batch on success, NULL otherwise. Free it with #tl_batch_free.
 * @return #TL_OK, or #TL_E_INVALID, #TL_E_CLOSED, #TL_E_STORAGE, #TL_E_DAMAGED.
 */
TL_API TL_CHECK tl_status
tl_client_numbered(tl_client *client, tl_view conversation, uint64_t first, uint64_t last,
                   uint32_t limit, tl_batch **out);

/** What a change was. */
typedef int32_t tl_change_kind;
enum {
  TL_CHANGE_INSERTED = 1, /**< Messages appeared. */
  TL_CHANGE_UPDATED = 2,  /**< Messages changed. */
  TL_CHANGE_REMOVED = 3,  /**< Messages went. */
  TL_CHANGE_COVERAGE = 4, /**< What is trusted changed; no numbers. */
  TL_CHANGE_EVENTS = 5,   /**< Events came; the numbers are those of #tl_event. */
  TL_CHANGE_ENTITIES = 6, /**< Conversations, members or profiles changed; no numbers. */
  TL_CHANGE_OPERATIONS = 7, /**< Operations were made, changed or ended; the numbers are theirs. */
  TL_CHANGE_CONVERSATIONS = 8, /**< Unread count, marker, draft or list entry changed; no numbers. */
  TL_CHANGE_PURGED = 9 /**< Messages went from here to keep a #tl_budget; the server has them. */
};

/**
 * Flags of #tl_change and #tl_event.
 *
 * An entry with #TL_CHANGE_NOTIFY offers its messages for a notification: they are new, of
 * another user, unread, and neither deleted nor events. Each message is offered once, also
 * where it went from the cache and comes anew (the last 10,000 such are known): not when it is fetched after its push, edited, or when its
 * update comes twice; and not at all once an update of it was silent. A push offers a
 * message; under #TL_SERVER_ENVELOPE only a push does, since the update may still say that
 * it is silent. Elsewhere a message that came after the first fetch of its conversation is
 * offered by the first page that shows it, whichever request brought that page, also if a list
 * showed it first. A gap that is filled late offers old messages then: look at `time_us`.
 * What the first fetch of a conversation brings, and what was there before, is not offered. One
 * that is #TL_MESSAGE_SEALED is offered as it is. All messages of the conversation between
 * `first` and `last` are meant. Whoever reads an entry late looks at the rows: one that was read
 * meanwhile has no #TL_MESSAGE_UNREAD, one that an update has silenced has
 * #TL_MESSAGE_SILENT.
 */
enum {
  TL_CHANGE_SILENT = 1u << 0, /**< The server asks not to notify the user. */
  TL_CHANGE_NOTIFY = 1u << 1  /**< Entries of messages: offered for a notification. */
};

/** Where a change came from. */
typedef int32_t tl_origin;
enum {
  TL_ORIGIN_NONE = 0,    /**< Not known: written by an earlier version. */
  TL_ORIGIN_FETCHED = 1, /**< The library asked the server. */
  TL_ORIGIN_PUSHED = 2,  /**< The server told it unasked. */
  TL_ORIGIN_OWN = 3      /**< This user or host did it here, or it answers what they did. */
};

/** One entry of the change feed: messages of one conversation, one commit. */
typedef struct tl_change {
  uint64_t seq;         /**< Number of the entry; grows, survives restarts. */
  tl_change_kind kind;  /**< What happened. */
  uint32_t flags;       /**< `TL_CHANGE_` flags. */
  uint64_t first;       /**< First message number concerned, 0 for none. */
  uint64_t last;        /**< Last message number concerned; numbers between may belong elsewhere. */
  tl_view conversation; /**< Conversation id, empty for what belongs to none. */
  tl_origin origin;     /**< Where it came from. */
  uint32_t reserved;    /**< Zero. */
  uint64_t reserved_words[8]; /**< Zero. Later members are taken out of these. */
} tl_change;

/**
 * @brief Pulls committed changes.
 *
 * The feed survives restarts. A consumer keeps the last `seq` it has seen.
 * @param client The client.
 * @param after Give changes with a greater `seq`; 0 for all that are kept.
 * @param limit How many at most; 0 is 256, at most 10,000.
 * @param out The batch on #TL_OK, NULL otherwise.
 * @return #TL_OK, #TL_NONE when there is nothing newer, #TL_RESYNC when changes
 *         after `after` are no longer kept (read anew, go on from
 *         `change_seq` of #tl_state), or #TL_E_INVALID, #TL_E_CLOSED,
 *         #TL_E_STORAGE, #TL_E_DAMAGED.
 */
TL_API TL_CHECK tl_status
tl_client_changes(tl_client *client, uint64_t after, uint32_t limit, tl_batch **out);

/**
 * @brief Gives the messages of a batch.
 * @param batch The batch.
 * @param count How many; 0 when the batch holds changes. NULL is allowed.
 * @return The rows, or NULL when there are none. Valid until the batch is freed.
 */
TL_API const tl_message *tl_batch_rows(const tl_batch *batch, size_t *count);

/**
 * @brief Gives the changes of a batch.
 * @param batch The batch.
 * @param count How many; 0 when the batch holds messages. NULL is allowed.
 * @return The entries, or NULL when there are none. Valid until the batch is freed.
 */
TL_API const tl_change *tl_batch_changes(const tl_batch *batch, size_t *count);

/**
 * @brief Tells how complete the messages of a batch are.
 * @param batch A batch of messages.
 * @param out Filled on success. Set `struct_size` before the call.
 * @return #TL_OK, or #TL_E_INVALID, #TL_E_TOO_NEW.
 */
TL_API TL_CHECK tl_status
tl_batch_coverage(const tl_batch *batch, tl_coverage *out);

/**
 * @brief Gives the one block of memory that holds a batch: rows first, bytes behind.
 *
 * For bindings that copy once and slice: every view of the batch points into it.
 * @param batch The batch.
 * @param out The block, empty on failure. Valid until the batch is freed.
 * @return #TL_OK, or #TL_E_INVALID.
 */
TL_API TL_CHECK tl_status tl_batch_block(const tl_batch *batch, tl_view *out);

/** @brief Releases a batch and all its views. @param batch The batch, or NULL. */
TL_API void tl_batch_free(tl_batch *batch);

/** What an event is. */
typedef int32_t tl_event_kind;
enum {
  TL_EVENT_UNKNOWN = 1,      /**< An update that this version does not understand, as it came. */
  TL_EVENT_TYPING = 2,       /**< Somebody types, pauses, or has finished. */
  TL_EVENT_CONVERSATION = 3, /**< A conversation was created, changed or deleted. */
  TL_EVENT_POISON = 4,       /**< An update that could not be applied, as it came. */
  TL_EVENT_MEMBER = 5,       /**< A member of a conversation came, changed or left; `id` is the user. */
  TL_EVENT_PROFILE = 6,      /**< A user's profile was made, changed or deleted; `id` is the user. */
  TL_EVENT_FRAME = 7         /**< A frame of a type unknown to the protocol, whole (#TL_PROFILE_UNKNOWN_FRAMES). */
};

/** What an update did, as its sender says. */
typedef int32_t tl_action;
enum {
  TL_ACTION_NONE = 0,   /**< It did not say, or something unknown. */
  TL_ACTION_NEW = 1,    /**< Made. */
  TL_ACTION_UPDATE = 2, /**< Changed. */
  TL_ACTION_DELETE = 3  /**< Deleted. */
};

/** Something the server told that is not a message: for the host to use. */
typedef struct tl_event {
  uint64_t seq;         /**< Number of the event; grows, survives restarts. */
  tl_event_kind kind;   /**< What it is. */
  tl_action action;     /**< What was done. */
  uint32_t flags;       /**< `TL_CHANGE_` flags. */
  uint32_t reserved;    /**< Zero. */
  tl_view conversation; /**< Conversation id, or empty. */
  tl_view entity;       /**< Name of the entity, or the type of the frame. */
  tl_view body;         /**< JSON value, verbatim. */
  tl_view id;           /**< Id of the conversation, member or profile, or empty. */
  uint64_t reserved_words[8]; /**< Zero. Later members are taken out of these. */
} tl_event;

/**
 * @brief Pulls events.
 *
 * Events are durable: the last 10,000 are kept, also across restarts, and an
 * acknowledged update is replied to only when its event is on disk.
 * @param client The client.
 * @param after Give events with a greater `seq`; 0 for all that are kept.
 * @param limit How many at most; 0 is 256, at most 10,000.
 * @param out The batch on #TL_OK, NULL otherwise.
 * @return #TL_OK, #TL_NONE when there is nothing newer, #TL_RESYNC when events
 *         after `after` are no longer kept (go on from 0), or #TL_E_INVALID,
 *         #TL_E_CLOSED, #TL_E_STORAGE, #TL_E_DAMAGED.
 */
TL_API TL_CHECK tl_status
tl_client_events(tl_client *client, uint64_t after, uint32_t limit, tl_batch **out);

/**
 * @brief Gives the events of a batch.
 * @param batch The batch.
 * @param count How many; 0 when the batch holds something else. NULL is allowed.
 * @return The events, or NULL when there are none. Valid until the batch is freed.
 */
TL_API const tl_event *tl_batch_events(const tl_batch *batch, size_t *count);

/** Flags of #tl_quarantined. */
enum {
  TL_QUARANTINED_CUT = 1u << 0 /**< It came with more bytes than are kept; `item` is its beginning. */
};

/**
 * One item that could not be applied (#TL_QUARANTINED). It is kept until its place is shown
 * anew: an item that is fetched again has a new number, and one that hides two places may be
 * there twice.
 */
typedef struct tl_quarantined {
  uint64_t seq;         /**< Its number; grows, never reused. */
  uint32_t flags;       /**< `TL_QUARANTINED_` flags. */
  uint32_t reserved;    /**< Zero. */
  int64_t low_us;       /**< Server time at the older end of the place that it hides, INT64_MIN where not known. */
  int64_t high_us;      /**< Server time at its newer end, INT64_MAX where not known. */
  uint64_t size;        /**< Bytes that it came with. */
  tl_view conversation; /**< Conversation id, or empty. */
  tl_view reason;       /**< Why, as #tl_last_error said it, or empty where this version does not know. */
  tl_view item;         /**< The bytes as they came, at most 64 KiB; empty for a page of which nothing could be read. */
  uint64_t reserved_words[8]; /**< Zero. Later members are taken out of these. */
} tl_quarantined;

/**
 * @brief Reads items that could not be applied, oldest first.
 *
 * The last 10,000 are kept, also across restarts. #tl_client_clear takes them.
 * @param client The client.
 * @param conversation Whose, or empty for all and for those that name none.
 * @param after Give items with a greater `seq`; 0 for all.
 * @param limit How many at most; 0 is 256, at most 10,000. No more than 64 MiB come at once.
 * @param out The batch on #TL_OK, NULL otherwise; read it with #tl_batch_quarantined.
 * @return #TL_OK, #TL_NONE when there are none, or #TL_E_INVALID, #TL_E_CLOSED,
 *         #TL_E_STORAGE, #TL_E_DAMAGED.
 */
TL_API TL_CHECK tl_status
tl_client_quarantined(
    tl_client *client, tl_view conversation, uint64_t after, uint32_t limit, tl_batch **out);

/**
 * @brief Gives the quarantined items of a batch.
 * @param batch The batch.
 * @param count How many; 0 when the batch holds something else. NULL is allowed.
 * @return The items, or NULL when there are none. Valid until the batch is freed.
 */
TL_API const tl_quarantined *tl_batch_quarantined(const tl_batch *batch, size_t *count);

/** Small things that belong to messages: kept as they came, newest copy only. */
typedef int32_t tl_entity_kind;
enum {
  TL_ENTITY_CONVERSATION = 1, /**< A conversation; `conversation` and `id` are its id. */
  TL_ENTITY_MEMBER = 2,       /**< A member of a conversation; `id` is the user. */
  TL_ENTITY_PROFILE = 3       /**< A user's profile; `conversation` is empty. */
};

/** One entity. */
typedef struct tl_entity {
  tl_entity_kind kind;  /**< What it is. */
  uint32_t reserved;    /**< Zero. */
  tl_view conversation; /**< Conversation id, or empty. */
  tl_view id;           /**< Id. */
  tl_view body;         /**< JSON object, verbatim. */
  uint64_t reserved_words[8]; /**< Zero. Later members are taken out of these. */
} tl_entity;

/** Which entities to read. Zero it, set `struct_size`, then what you need. */
typedef struct tl_entity_query {
  uint32_t struct_size;       /**< `sizeof(tl_entity_query)` of the caller. */
  tl_entity_kind kind;        /**< Which kind. */
  tl_view conversation;       /**< For members: whose, or empty for those of all. */
  tl_view id;                 /**< Only the one with this id, or empty for all. */
  tl_view after_conversation; /**< For members of all conversations: `conversation` of the last one of the page before. */
  tl_view after_id;           /**< `id` of the last one of the page before, or empty for the first page. */
  uint32_t limit;             /**< How many at most; 0 is 256, at most 10,000. */
  uint32_t reserved;          /**< Must be zero. */
} tl_entity_query;

/**
 * @brief Reads entities of one kind from the cache, in pages.
 *
 * Profiles, and the members of one conversation, come by id, byte by byte.
 * Conversations, and the members of all of them, come by conversation, in the order in
 * which those became known. A member with `id` is asked for with its conversation.
 * @param client The client.
 * @param query Which ones. Borrowed for the call.
 * @param out The batch on #TL_OK, NULL otherwise.
 * @return #TL_OK, #TL_NONE when there are none, or #TL_E_INVALID,
 *         #TL_E_CLOSED, #TL_E_TOO_NEW, #TL_E_STORAGE, #TL_E_DAMAGED.
 */
TL_API TL_CHECK tl_status
tl_client_entities(tl_client *client, const tl_entity_query *query, tl_batch **out);

/**
 * @brief Gives the entities of a batch.
 * @param batch The batch.
 * @param count How many; 0 when the batch holds something else. NULL is allowed.
 * @return The entities, or NULL when there are none. Valid until the batch is freed.
 */
TL_API const tl_entity *tl_batch_entities(const tl_batch *batch, size_t *count);

/** Bytes that a function made. */
typedef struct tl_text {
  tl_view bytes; /**< UTF-8. */
} tl_text;

/**
 * @brief Merges two lists of messages without a client: a pure function.
 *
 * Rules as in a client: one message an id, in the order of time and id, the
 * newer side wins field by field (server version, then edit time, then the
 * second list), read states only grow. A message without `conversation_id` is
 * taken for one of the first conversation that either list names.
 * @param base JSON array of messages as the server sends them.
 * @param more The same; the later copies.
 * @param out A JSON array on success, NULL otherwise. Free it with #tl_text_free.
 * @return #TL_OK, #TL_QUARANTINED when unreadable items were left out, or
 *         #TL_E_INVALID, #TL_E_FRAME (not a JSON array), #TL_E_TOO_LARGE (over
 *         16 MiB).
 */
TL_API TL_CHECK tl_status tl_merge_messages(tl_view base, tl_view more, tl_text **out);

/**
 * @brief Merges changes into a list of messages without a client.
 * @param base JSON array of messages.
 * @param deltas JSON array of frames that tell a change, in order: `message_new`,
 *        `message_edited`, `message_deleted`, `messages_read`, `message_reacted`,
 *        `message_pinned`, `message_unpinned`, `conversation_deleted` (which takes
 *        its messages along), or an `update` envelope. At most 10,000 changes may
 *        come before their messages.
 * @param out A JSON array on success, NULL otherwise. Free it with #tl_text_free.
 * @return As #tl_merge_messages.
 */
TL_API TL_CHECK tl_status tl_merge_deltas(tl_view base, tl_view deltas, tl_text **out);

/** @brief Releases a text. @param text The text, or NULL. */
TL_API void tl_text_free(tl_text *text);

/* ------------------------------------------------------------------------ */
/* Watch: windows that are polled for differences                            */
/* ------------------------------------------------------------------------ */

/**
 * One screen's view of a conversation: loaded messages in order, each once,
 * with splits where messages may be missing or are not loaded. Opaque. Used by
 * one thread at a time; several windows may watch one conversation.
 */
typedef struct tl_window tl_window;

/** Where a window opens, and what a load is around. */
typedef int32_t tl_at;
enum {
  TL_AT_LATEST = 0,  /**< The newest messages; the window follows the present. */
  TL_AT_UNREAD = 1,  /**< The first message after all that this user has read or sent: where the server's marker says, or, where it tells none, of the newest page. */
  TL_AT_MESSAGE = 2, /**< A message by id: a search hit, a quoted message. */
  TL_AT_TIME = 3     /**< The first message at or after a time. */
};

/** Flags of #tl_window_config. */
enum {
  TL_WINDOW_CACHE_ONLY = 1u << 0, /**< Never ask the network for this window. */
  TL_WINDOW_NO_REFRESH = 1u << 1, /**< Do not refresh stale ranges that are shown. */
  TL_WINDOW_PRELOAD = 1u << 2     /**< Load the next page when the rows on screen come near an end: see #tl_window_show. */
};

/** How to open a window. Zero it, set `struct_size`, then what you need. */
typedef struct tl_window_config {
  uint32_t struct_size; /**< `sizeof(tl_window_config)` of the caller. */
  uint32_t flags;       /**< `TL_WINDOW_` flags. */
  tl_view conversation; /**< Which conversation. */
  tl_at at;             /**< Where to open. */
  uint32_t count;       /**< Messages to begin with; 0 is 50, at most 1,000. */
  tl_view id;           /**< For #TL_AT_MESSAGE. */
  int64_t time_us;      /**< For #TL_AT_TIME. */
  uint32_t rows_max;    /**< Messages in memory at most; 0 is 2,000, 100 to 200,000. */
  uint32_t hold_ms;     /**< How long a split that heals is not drawn; 0 is 1,000, at most 60,000, or #TL_HOLD_NONE. */
  tl_policy policy;     /**< Where what it shows may come from: see #tl_window_open. */
  uint32_t limit_ms;    /**< Of `policy`, as that of a sync, from the first poll on. */
  uint32_t reserved;    /**< Must be zero. */
  int64_t age_us;       /**< Of #TL_POLICY_MAX_AGE. */
} tl_window_config;

/** In `hold_ms`: every split is drawn at once. */
#define TL_HOLD_NONE 0xFFFFFFFFu

/**
 * @brief Opens a window on a conversation.
 *
 * It begins empty at version 0: the first #tl_window_poll brings what is
 * cached. While connected it asks for what is missing, before any other work.
 *
 * With #TL_POLICY_NETWORK_FIRST it stays empty until the conversation was caught up with on
 * this connection, or that has failed, or `limit_ms` is over; with #TL_POLICY_NETWORK_ONLY
 * until it was caught up with, and `trouble` says why it was not. What was shown stays. With
 * #TL_POLICY_MAX_AGE the newest messages are not asked for at a connection while they are young
 * enough; gaps are. With #TL_POLICY_HOST the host's function is asked here and by each poll: a
 * window that is empty because of what it said before shows what is here with the poll in which it
 * no longer says so, and a limit that it names counts from the first poll.
 * @param client The client. The window keeps it alive until it is freed.
 * @param config How to open it. Borrowed for the call.
 * @param out The window on success, NULL otherwise.
 * @return #TL_OK, or #TL_E_INVALID, #TL_E_CLOSED, #TL_E_TOO_NEW,
 *         #TL_E_TOO_LARGE, #TL_E_FULL (over 1,024 windows, or
 *         too many syncs wait), #TL_E_UNSUPPORTED
 *         (a message that is not stored, on a server that cannot look for it),
 *         #TL_E_STORAGE, #TL_E_DAMAGED.
 */
TL_API TL_CHECK tl_status
tl_window_open(tl_client *client, const tl_window_config *config, tl_window **out);

/** What to load. */
typedef int32_t tl_load_kind;
enum {
  TL_LOAD_INITIAL = 0, /**< Replace all by the newest messages. */
  TL_LOAD_BEFORE = 1,  /**< Older messages before a loaded one. */
  TL_LOAD_AFTER = 2,   /**< Newer messages behind a loaded one. */
  TL_LOAD_AROUND = 3,  /**< Messages around a place, beside what is loaded. */
  TL_LOAD_LAST = 4     /**< The newest messages, beside what is loaded. */
};

/** Flags of #tl_load. */
enum {
  TL_LOAD_PAST_GAPS = 1u << 0 /**< Go on beyond a gap at once, leaving a split. */
};

/** One load. Zero it, set `struct_size`, then what you need. */
typedef struct tl_load {
  uint32_t struct_size; /**< `sizeof(tl_load)` of the caller. */
  uint32_t flags;       /**< `TL_LOAD_` flags. */
  tl_load_kind kind;    /**< What to load. */
  uint32_t count;       /**< How many visible messages; 0 is 50, at most 1,000. */
  uint64_t number;      /**< Before or behind this message; 0 is the first or the last row. */
  tl_at at;             /**< For #TL_LOAD_AROUND: #TL_AT_UNREAD, #TL_AT_MESSAGE or #TL_AT_TIME. */
  uint32_t reserved;    /**< Must be zero. */
  tl_view id;           /**< For #TL_AT_MESSAGE. */
  int64_t time_us;      /**< For #TL_AT_TIME. */
} tl_load;

/**
 * @brief Loads more into a window; #tl_window_poll brings it.
 *
 * Where a gap lies in the way, it is asked for first and the window grows as
 * answers come; offline, or with #TL_LOAD_PAST_GAPS, it goes on beyond the gap.
 * Beyond `rows_max` the messages farthest from the load leave the window.
 * @param window The window.
 * @param load What to load. Borrowed for the call.
 * @return #TL_OK, #TL_NONE when nothing lies there, or #TL_E_NOT_FOUND (no row
 *         with `number`), #TL_E_UNSUPPORTED (as #tl_window_open),
 *         #TL_E_INVALID, #TL_E_TOO_NEW, #TL_E_TOO_LARGE, #TL_E_CLOSED,
 *         #TL_E_STORAGE, #TL_E_DAMAGED.
 */
TL_API TL_CHECK tl_status tl_window_load(tl_window *window, const tl_load *load);

/** One step of a difference. */
typedef int32_t tl_op_kind;
enum {
  TL_OP_INSERT = 1, /**< `count` new rows stand from `row` on. Read them when all steps are applied. */
  TL_OP_REMOVE = 2, /**< `count` rows from `row` on are gone. */
  TL_OP_UPDATE = 3, /**< `count` rows from `row` on changed: content, flags, or the split before. */
  TL_OP_MOVE = 4    /**< The row at `from` is taken out, then put in at `row`. */
};

/** One step. Rows are counted as their list has them, from 0: from the oldest row in a window, from the last active in a conversation list. */
typedef struct tl_op {
  tl_op_kind kind; /**< What to do. */
  uint32_t row;    /**< Where, as the list is after the steps before this one. */
  uint32_t from;   /**< For #TL_OP_MOVE. */
  uint32_t count;  /**< How many rows; 1 for #TL_OP_MOVE. */
} tl_op;

/** The difference between two versions of a window, in one allocation. */
typedef struct tl_diff {
  uint64_t from_version; /**< Version it applies to. */
  uint64_t to_version;   /**< Version it leads to. */
  uint64_t checksum;     /**< #tl_checksum of the row numbers after it. */
  uint32_t row_count;    /**< Rows after it. */
  uint32_t op_count;     /**< How many steps. */
  const tl_op *ops;      /**< The steps, to be applied in order. */
} tl_diff;

/**
 * @brief Moves a window to the newest committed state and tells what changed.
 *
 * A split that a catch-up due or under way will settle is held back for `hold_ms`: its row comes
 * without #TL_MESSAGE_GAP_BEFORE, and has an update if the split is still there then. Where
 * the catch-up waits for other pushes, `hold_ms` begins when it is asked for. Of
 * several in a row that one catch-up settles only the first is drawn, whatever its time. The
 * deadline of #tl_client_advance covers it; where that must be earlier than it last said,
 * the event descriptor is readable.
 * That all rows become #TL_MESSAGE_STALE when the connection is lost is no step; a row
 * that is verified again is one. A window whose rows are all deleted, and one that
 * follows the present and lost the newest, loads again by itself while there is more.
 * @param window The window.
 * @param out The difference on #TL_OK, NULL otherwise. Free it with #tl_diff_free.
 * @return #TL_OK, #TL_NONE when no row changed (what #tl_window_state tells may have),
 *         or #TL_E_INVALID, #TL_E_CLOSED, #TL_E_STORAGE, #TL_E_DAMAGED.
 */
TL_API TL_CHECK tl_status tl_window_poll(tl_window *window, tl_diff **out);

/** @brief Releases a difference. @param diff The difference, or NULL. */
TL_API void tl_diff_free(tl_diff *diff);

/**
 * @brief Computes the checksum of a list of rows.
 *
 * A host compares that of its own list with a difference's: where they are not
 * equal it has applied one wrongly and reads the window anew. The sum, modulo
 * 2^64, over each row of `mix(previous, number)`, where `previous` is 0 for the
 * first row and `mix(a, b)` is the finalizer of SplitMix64 applied to
 * `a * 0x9E3779B97F4A7C15 + b`.
 * @param numbers The `number` of each row, in order.
 * @param count How many.
 * @return The checksum; 0 for an empty list.
 */
TL_API uint64_t tl_checksum(const uint64_t *numbers, size_t count);

/**
 * @brief Reads rows of a window, as of its last poll.
 *
 * Content is that of the newest committed state: a row that changed since is
 * given as it is now, one that went has #TL_MESSAGE_GONE.
 * @param window The window.
 * @param first First row.
 * @param count How many, at most 10,000; fewer are given at the end.
 * @param out The batch on success, NULL otherwise. Free it with #tl_batch_free.
 * @return #TL_OK, #TL_NONE when no row is there, or #TL_E_INVALID,
 *         #TL_E_CLOSED, #TL_E_STORAGE, #TL_E_DAMAGED.
 */
TL_API TL_CHECK tl_status
tl_window_rows(tl_window *window, uint32_t first, uint32_t count, tl_batch **out);

/**
 * @brief Finds the row of a message by id, without a scan.
 * @param window The window.
 * @param id Message id.
 * @param out The row, 0 on failure.
 * @return #TL_OK, #TL_NONE when it is not loaded, or #TL_E_INVALID, #TL_E_CLOSED.
 */
TL_API TL_CHECK tl_status tl_window_find(tl_window *window, tl_view id, uint32_t *out);

/**
 * @brief Asks the network to fill the gap before a row.
 *
 * Where a row beside it is in doubt (#TL_MESSAGE_UNVERIFIED), that is read again.
 * @param window The window.
 * @param row The row below the gap; the row count means behind the last one.
 * @return #TL_OK, #TL_NONE when no gap is there, or #TL_E_OFFLINE,
 *         #TL_E_INVALID, #TL_E_CLOSED, #TL_E_STORAGE.
 */
TL_API TL_CHECK tl_status tl_window_fill(tl_window *window, uint32_t row);

/**
 * @brief Says which rows are on screen: what is stale there is refreshed, and
 *        where rows must leave, those farthest from here go first.
 *
 * With #TL_OPEN_AUTO_MARK_READ a message of another that is on screen for all of
 * `seen_ms` is marked read, as #tl_client_mark_read does, by #tl_client_advance,
 * whose deadline covers it. Each call tells all that is on screen: what it leaves
 * out, no rows, and the closing of the window end it. Nothing else is seen: no
 * push, no sync and no row that was only loaded.
 *
 * With #TL_WINDOW_PRELOAD a page of `count` is loaded, as by #tl_window_load, when
 * the rows are within half a page of an end of the window beyond which there is
 * more: of either end, once for each row that stood there on a connection, and not
 * while a load of that side is under way. Offline it comes from the cache.
 * @param window The window.
 * @param first First row on screen.
 * @param count How many; 0 when none is.
 * @return #TL_OK, or #TL_E_INVALID, #TL_E_CLOSED, #TL_E_STORAGE.
 */
TL_API TL_CHECK tl_status tl_window_show(tl_window *window, uint32_t first, uint32_t count);

/**
 * @brief Keeps some rows and lets all others leave the window at the next poll.
 *
 * They stay away until the host loads them. Of pending messages all stay where one does.
 * A load that leaves from a row that stays goes on, unless it would bring back
 * what leaves.
 * @param window The window.
 * @param first First row to keep.
 * @param count How many.
 * @return #TL_OK, or #TL_E_INVALID, #TL_E_CLOSED.
 */
TL_API TL_CHECK tl_status tl_window_trim(tl_window *window, uint32_t first, uint32_t count);

/** What a window waits for. */
typedef int32_t tl_waiting;
enum {
  TL_WAITING_NOTHING = 0,    /**< Nothing. */
  TL_WAITING_CONNECTION = 1, /**< A connection. */
  TL_WAITING_PRESENT = 2,    /**< The newest messages. */
  TL_WAITING_PLACE = 3,      /**< The place it was opened at, or a load around one. */
  TL_WAITING_OLDER = 4,      /**< Older messages, to fill a gap. */
  TL_WAITING_NEWER = 5,      /**< Newer messages, to fill a gap. */
  TL_WAITING_REFRESH = 6     /**< Stale rows on screen being verified. */
};

/** Flags of #tl_window_status. */
enum {
  TL_WINDOW_AT_START = 1u << 0,   /**< The first row is the conversation's first message. */
  TL_WINDOW_AT_END = 1u << 1,     /**< The window follows the present. */
  TL_WINDOW_GAP_BEFORE = 1u << 2, /**< A gap lies before the first row, or hides what an empty window lacks. */
  TL_WINDOW_GAP_AFTER = 1u << 3,  /**< A gap lies behind the last row. */
  TL_WINDOW_MARKER_UNKNOWN = 1u << 4 /**< #TL_AT_UNREAD was asked for and the server told no marker: the newest messages are shown, until the next load. */
};

/** How a window stands, as of its last poll. Set `struct_size` before the call. */
typedef struct tl_window_status {
  uint32_t struct_size; /**< `sizeof(tl_window_status)` of the caller. */
  uint32_t flags;       /**< `TL_WINDOW_` flags of the status. */
  uint64_t version;     /**< Version after the last poll. */
  uint64_t checksum;    /**< Checksum of its rows. */
  uint32_t row_count;   /**< Rows. */
  uint32_t split_count; /**< Splits between its rows, also those that are held back. */
  tl_waiting waiting;   /**< What it waits for. */
  tl_status trouble;    /**< #TL_OK, or why what it last asked for failed. */
  uint64_t anchor;      /**< Number of the message it was opened at or last loaded around, 0 for none. */
  tl_basis basis;       /**< #TL_BASIS_NETWORK where the conversation was caught up with on this connection. */
  uint32_t reserved;    /**< Zero. */
  int64_t as_of_us;     /**< As that of #tl_sync_status. */
} tl_window_status;

/**
 * @brief Reads how a window stands.
 * @param window The window.
 * @param out Filled on success.
 * @return #TL_OK, or #TL_E_INVALID, #TL_E_CLOSED, #TL_E_TOO_NEW.
 */
TL_API TL_CHECK tl_status tl_window_state(tl_window *window, tl_window_status *out);

/**
 * @brief Closes a window: later calls on it fail, what it asked for is dropped.
 * @param window The window, or NULL. Twice is allowed.
 */
TL_API void tl_window_close(tl_window *window);

/**
 * @brief Closes a window if it is open and releases its memory.
 * @param window The window, or NULL. No other thread may be using it.
 */
TL_API void tl_window_free(tl_window *window);

/** The list of conversations, polled for differences like a window. Opaque. */
typedef struct tl_list tl_list;

/** Flags of #tl_list_config. */
enum {
  TL_LIST_CACHE_ONLY = 1u << 0 /**< Never ask the network for this list. */
};

/** How to open a list. Zero it, set `struct_size`, then what you need. */
typedef struct tl_list_config {
  uint32_t struct_size; /**< `sizeof(tl_list_config)` of the caller. */
  uint32_t flags;       /**< `TL_LIST_` flags. */
  uint32_t rows_max;    /**< Conversations in memory at most; 0 is 10,000, 100 to 200,000. */
  tl_policy policy;     /**< Where what it shows may come from: see #tl_list_open. */
  uint32_t limit_ms;    /**< Of `policy`, as that of a sync, from the first poll on. */
  uint32_t reserved;    /**< Must be zero. */
  int64_t age_us;       /**< Of #TL_POLICY_MAX_AGE. */
} tl_list_config;

/**
 * Flags of #tl_conversation.
 *
 * `unread` is the server's number as it was told last, with what was seen since. It is
 * our own count where the server tells none, or where the number is of an earlier
 * connection, is not sure, and an answer shows that all is here.
 * #TL_CONVERSATION_UNREAD_EXACT: it was told on this connection (or on the last one,
 * until this one has told of the conversation), and everything since is accounted for.
 * It changes only with a told count, a message that came, one that was read or went, or
 * when the messages that it stands for have all arrived.
 */
enum {
  TL_CONVERSATION_PENDING = 1u << 0,      /**< Made here, not yet by the server; `id` is its client id. */
  TL_CONVERSATION_UNREAD_EXACT = 1u << 1, /**< `unread` is what the server counts; otherwise it may count another number. */
  TL_CONVERSATION_HAS_PENDING = 1u << 2,  /**< Messages of this user wait to be sent. */
  TL_CONVERSATION_HAS_STUCK = 1u << 3,    /**< A send is unknown or refused. */
  TL_CONVERSATION_GONE = 1u << 4          /**< Rows of a list: it went since the last poll; only `number` is set. */
};

/** One conversation of a batch. The views are valid until the batch is freed. */
typedef struct tl_conversation {
  uint64_t number;        /**< Local number: the identity on screen, never reused. */
  uint32_t flags;         /**< `TL_CONVERSATION_` flags. */
  uint32_t member_count;  /**< Participants, 0 where not known. */
  uint64_t unread;        /**< Messages of others above the read marker that this user has not read. */
  int64_t activity_us;    /**< Server time of the last message, or of the last change where there is none; 0 for none. */
  tl_view id;             /**< Conversation id. */
  tl_view title;          /**< Title, or empty. */
  tl_view body;           /**< The conversation's JSON object as it came, that of its request while it is pending, or empty. */
  tl_view last_read;      /**< Id of the last message read by this user's marker, or empty. */
  tl_view draft;          /**< The draft, or empty. */
  tl_view draft_reply_to; /**< Id of the message the draft answers, or empty. */
  tl_view typing;         /**< JSON array of the ids of users who are typing now, or empty. */
  const tl_message *last; /**< The last visible message stored, pending ones included, or NULL. */
  tl_view client_id;      /**< Client id under which it was made here, or empty. */
  uint64_t reserved_words[8]; /**< Zero. Later members are taken out of these. */
} tl_conversation;

/**
 * @brief Opens the list of conversations, the last active first.
 *
 * It begins empty at version 0. Conversations with a message that waits to be
 * sent stand first. While connected it asks for the list as
 * #TL_SYNC_CONVERSATIONS does, unless it is cache only.
 *
 * Policies are those of a window, with the server's list in the place of what is new: with
 * #TL_POLICY_NETWORK_FIRST it stays empty until the list was fetched whole on this connection, or
 * that has failed, or `limit_ms` is over; with #TL_POLICY_NETWORK_ONLY until it was fetched. With
 * #TL_POLICY_MAX_AGE a connection does not ask for one that is young enough, and its counts are
 * not asked for either. With #TL_POLICY_HOST each poll asks the host's function.
 * @param client The client. The list keeps it alive until it is freed.
 * @param config How to open it, or NULL for the defaults.
 * @param out The list on success, NULL otherwise.
 * @return #TL_OK, or #TL_E_INVALID, #TL_E_CLOSED, #TL_E_TOO_NEW, #TL_E_FULL,
 *         #TL_E_STORAGE, #TL_E_DAMAGED.
 */
TL_API TL_CHECK tl_status
tl_list_open(tl_client *client, const tl_list_config *config, tl_list **out);

/**
 * @brief Moves a list to the newest state and tells what changed. Row 0 is the
 *        conversation that was active last.
 * @param list The list.
 * @param out The difference on #TL_OK, NULL otherwise. Free it with #tl_diff_free.
 * @return As #tl_window_poll.
 */
TL_API TL_CHECK tl_status tl_list_poll(tl_list *list, tl_diff **out);

/**
 * @brief Reads rows of a list, as of its last poll, with content as it is now.
 * @param list The list.
 * @param first First row.
 * @param count How many, at most 10,000.
 * @param out The batch on success, NULL otherwise; read it with #tl_batch_conversations.
 * @return As #tl_window_rows.
 */
TL_API TL_CHECK tl_status
tl_list_rows(tl_list *list, uint32_t first, uint32_t count, tl_batch **out);

/**
 * @brief Finds the row of a conversation by id, without a scan.
 * @param list The list.
 * @param conversation Conversation id.
 * @param out The row, 0 on failure.
 * @return As #tl_window_find.
 */
TL_API TL_CHECK tl_status tl_list_find(tl_list *list, tl_view conversation, uint32_t *out);

/** Flags of #tl_list_status. */
enum {
  TL_LIST_TOTAL_EXACT = 1u << 0, /**< Each `unread` is exact, and the list is whole. */
  TL_LIST_WHOLE = 1u << 1,       /**< The server's list was fetched whole once. */
  TL_LIST_REFRESHING = 1u << 2   /**< The server is being asked for its list. */
};

/** How a list stands, as of its last poll. Set `struct_size` before the call. */
typedef struct tl_list_status {
  uint32_t struct_size; /**< `sizeof(tl_list_status)` of the caller. */
  uint32_t flags;       /**< `TL_LIST_` flags of the status. */
  uint64_t version;     /**< Version after the last poll. */
  uint64_t checksum;    /**< #tl_checksum of its rows' numbers. */
  uint64_t unread;      /**< Unread messages of all conversations. */
  uint32_t row_count;   /**< Rows. */
  uint32_t conversation_count; /**< All conversations known, those beyond `rows_max` included. */
  tl_status trouble;    /**< #TL_OK, or why the list could not be fetched. */
  tl_basis basis;       /**< #TL_BASIS_NETWORK where the server's list was fetched whole on this connection. */
  int64_t as_of_us;     /**< When the server was last asked for its list, as that of #tl_sync_status. */
} tl_list_status;

/**
 * @brief Reads how a list stands.
 * @param list The list.
 * @param out Filled on success.
 * @return #TL_OK, or #TL_E_INVALID, #TL_E_CLOSED, #TL_E_TOO_NEW.
 */
TL_API TL_CHECK tl_status tl_list_state(tl_list *list, tl_list_status *out);

/**
 * @brief Closes a list: later calls on it fail.
 * @param list The list, or NULL. Twice is allowed.
 */
TL_API void tl_list_close(tl_list *list);

/**
 * @brief Closes a list if it is open and releases its memory.
 * @param list The list, or NULL. No other thread may be using it.
 */
TL_API void tl_list_free(tl_list *list);

/**
 * @brief Reads conversations from the cache, the last active first.
 * @param client The client.
 * @param offset How many to pass over.
 * @param limit How many at most; 0 is 256, at most 10,000.
 * @param out The batch on #TL_OK, NULL otherwise; read it with #tl_batch_conversations.
 * @return #TL_OK, #TL_NONE when there are none, or #TL_E_INVALID, #TL_E_CLOSED,
 *         #TL_E_STORAGE, #TL_E_DAMAGED.
 */
TL_API TL_CHECK tl_status
tl_client_conversations(tl_client *client, uint32_t offset, uint32_t limit, tl_batch **out);

/**
 * @brief Reads one conversation from the cache.
 * @param client The client.
 * @param conversation Conversation id, or the client id of one made here.
 * @param out A batch of one conversation on #TL_OK, NULL otherwise.
 * @return #TL_OK, or #TL_E_NOT_FOUND, #TL_E_INVALID, #TL_E_CLOSED,
 *         #TL_E_STORAGE, #TL_E_DAMAGED.
 */
TL_API TL_CHECK tl_status
tl_client_conversation(tl_client *client, tl_view conversation, tl_batch **out);

/**
 * @brief Gives the conversations of a batch.
 * @param batch The batch.
 * @param count How many; 0 when the batch holds something else. NULL is allowed.
 * @return The rows, or NULL when there are none. Valid until the batch is freed.
 */
TL_API const tl_conversation *tl_batch_conversations(const tl_batch *batch, size_t *count);

/* ------------------------------------------------------------------------ */
/* Items: what a person sees of a window                                      */
/* ------------------------------------------------------------------------ */

/**
 * A list of items over one window. An item is one row on screen: a message, or a
 * group of neighbouring messages that fold together. Opaque. Used by the thread
 * that uses its window; at most 8 stand over one.
 *
 * Neighbours fold together where they have the same fold value and no drawn split,
 * no other day and not the unread line lies between them. Two or more are a group;
 * it is one item, or, once it was opened, each of its messages is one.
 *
 * Each item has a key, which no other item of the list ever has. An item keeps its
 * key while its group grows at either end, shrinks, or loses its first message; a
 * split makes one new key, and the older part keeps the old one. Where two items
 * become one, the older one's key stays. A group that is opened leaves its key to its
 * oldest message, and has that one's key when it is closed.
 */
typedef struct tl_items tl_items;

/** Flags of #tl_items_config. */
enum {
  TL_ITEMS_REVERSED = 1u << 0,       /**< The newest item is 0, the newest message of an item and the newest range are first. */
  TL_ITEMS_FOLD_DELETED = 1u << 1,   /**< Messages with #TL_MESSAGE_DELETED fold, with the value 1. */
  TL_ITEMS_FOLD_MODERATED = 1u << 2, /**< Others with #TL_MESSAGE_MODERATED fold, with the value 2. */
  TL_ITEMS_FOLD_EVENTS = 1u << 3,    /**< Others with #TL_MESSAGE_EVENT fold, with the value 3. */
  TL_ITEMS_FOLD_MIXED = 1u << 4,     /**< All of these fold with the value 1, so with one another. */
  TL_ITEMS_UNREAD_LINE = 1u << 5     /**< The unread line is put before the first unread message: see #tl_items_unread. */
};

/** What a host's function says of one message. What it holds when called would be said without it. */
typedef struct tl_fold {
  uint32_t fold;           /**< Neighbours with one value fold together; 0 folds with none. */
  int32_t zone_offset_min; /**< Minutes that the host's days are east of UTC at the message's time; cut to less than a day. */
  uint64_t bits;           /**< The host's own, given back by #tl_items_bits and in #tl_item. */
  uint64_t reserved_words[8]; /**< Zero. Later members are taken out of these. */
} tl_fold;

/**
 * A host's function over one message: whether it folds, and 64 bits of the host's. It
 * must answer by the message alone, and is called again when the message changes. It is
 * called by #tl_items_poll while nothing is locked, and must not poll the window or the
 * items.
 */
typedef void (*tl_fold_hook)(void *context, const tl_message *message, tl_fold *answer);

/** How to open a list of items. Zero it, set `struct_size`, then what you need. */
typedef struct tl_items_config {
  uint32_t struct_size;    /**< `sizeof(tl_items_config)` of the caller. */
  uint32_t flags;          /**< `TL_ITEMS_` flags. */
  uint32_t gap_min;        /**< More minutes than this between two messages are drawn; 0 is none, at most 527,040. */
  int32_t zone_offset_min; /**< Minutes that the host's days are east of UTC, less than a day. */
  tl_fold_hook fold;       /**< What folds, or NULL to go by the flags alone. */
  void *fold_context;      /**< Handed to `fold`. */
  tl_drop_hook fold_drop;  /**< Releases `fold_context`, or NULL: once, when the items are freed or their opening fails. */
} tl_items_config;

/**
 * @brief Opens a list of items over a window.
 *
 * It begins empty at version 0: the first #tl_items_poll brings what the window has.
 * @param window The window. The items keep it alive until they are freed.
 * @param config How to open it. Borrowed for the call.
 * @param out The items on success, NULL otherwise.
 * @return #TL_OK, or #TL_E_INVALID, #TL_E_CLOSED, #TL_E_TOO_NEW, #TL_E_FULL (over 8 on
 *         one window).
 */
TL_API TL_CHECK tl_status
tl_items_open(tl_window *window, const tl_items_config *config, tl_items **out);

/**
 * @brief Polls the window and tells what changed of the items.
 *
 * The difference is as that of #tl_window_poll, but its rows are items, and its checksum
 * is that of their keys. A key stays with its item through every step. An update says that
 * messages of the item came, went or changed, or that what #tl_item says of it changed,
 * but for rows, ranges, and places and counts in an open group: these are as of the read.
 * Poll the items and not the window; who polls both polls the items last.
 * @param items The items.
 * @param out The difference on #TL_OK, NULL otherwise. Free it with #tl_diff_free.
 * @return #TL_OK, #TL_NONE when no item changed, or #TL_E_INVALID (also: from inside of
 *         `fold`, or `fold` has polled the window), #TL_E_CLOSED, #TL_E_STORAGE,
 *         #TL_E_DAMAGED. After a failure the next call goes on.
 */
TL_API TL_CHECK tl_status tl_items_poll(tl_items *items, tl_diff **out);

/** What is drawn of an item. Before and first are older, also where the newest item is 0. */
enum {
  TL_ITEM_GROUP = 1u << 0,        /**< A group that is closed. */
  TL_ITEM_OPENED = 1u << 1,       /**< One message of a group that is open. */
  TL_ITEM_GROUP_FIRST = 1u << 2,  /**< The oldest message of an open group. */
  TL_ITEM_GROUP_LAST = 1u << 3,   /**< The newest message of an open group. */
  TL_ITEM_RUN_FIRST = 1u << 4,    /**< The item before is of another sender or kind, or something is drawn in between. */
  TL_ITEM_RUN_LAST = 1u << 5,     /**< The same of the item behind. */
  TL_ITEM_NEW_DAY = 1u << 6,      /**< The message before is of another day, or there is none. */
  TL_ITEM_TIME_GAP = 1u << 7,     /**< More than `gap_min` lies between it and the message before. */
  TL_ITEM_SPLIT_BEFORE = 1u << 8, /**< A split lies before it, as #TL_MESSAGE_GAP_BEFORE. */
  TL_ITEM_SPLIT_HEALING = 1u << 9, /**< Beside it: as #TL_MESSAGE_GAP_HEALING. */
  TL_ITEM_UNREAD_BEFORE = 1u << 10 /**< The unread line lies before it. */
};

/** No item, and no range. */
#define TL_ITEM_NONE 0xFFFFFFFFu

/** One item, as of the last poll. */
typedef struct tl_item {
  uint64_t key;         /**< Its key. */
  uint32_t flags;       /**< `TL_ITEM_` flags. */
  uint32_t row;         /**< Row of the window of its oldest message. */
  uint32_t row_count;   /**< Messages. */
  uint32_t range;       /**< The range of #tl_items_range in which it lies, or #TL_ITEM_NONE. */
  uint32_t place;       /**< Its place in its open group, in the order of the list. */
  uint32_t group_count; /**< Messages of its group, also where that is open; otherwise 1. */
  int64_t day;          /**< Days since 1970-01-01 where the host is; INT64_MIN where the server has given no time yet. */
  int64_t gap_us;       /**< For #TL_ITEM_TIME_GAP: the time since the message before, otherwise 0. */
  uint64_t number;      /**< Local number of its oldest message. */
  uint64_t bits;        /**< What `fold` gave for that message. */
  uint64_t reserved_words[8]; /**< Zero. Later members are taken out of these. */
} tl_item;

/**
 * @brief Reads items.
 * @param items The items.
 * @param first First item.
 * @param count How many, at most 10,000; fewer are given at the end.
 * @param out The batch on success, NULL otherwise: see #tl_batch_items. Free it with
 *            #tl_batch_free.
 * @return #TL_OK, #TL_NONE when no item is there, or #TL_E_INVALID (also: the window was
 *         polled since), #TL_E_CLOSED.
 */
TL_API TL_CHECK tl_status
tl_items_read(tl_items *items, uint32_t first, uint32_t count, tl_batch **out);

/**
 * @brief Items of a batch.
 * @param batch The batch, or NULL.
 * @param count How many; 0 where the batch holds none.
 * @return The items, or NULL. Valid until the batch is freed.
 */
TL_API const tl_item *tl_batch_items(const tl_batch *batch, size_t *count);

/**
 * @brief Reads messages of an item, in the order of the list, as #tl_window_rows does.
 * @param items The items.
 * @param item The item.
 * @param first First message of it.
 * @param count How many, at most 10,000; 0 is all, as many as one read gives.
 * @param out The batch on success, NULL otherwise. Free it with #tl_batch_free.
 * @return #TL_OK, #TL_NONE when no message is there, or #TL_E_INVALID (as
 *         #tl_items_read), #TL_E_CLOSED, #TL_E_STORAGE, #TL_E_DAMAGED.
 */
TL_API TL_CHECK tl_status
tl_items_messages(tl_items *items, uint32_t item, uint32_t first, uint32_t count,
                  tl_batch **out);

/**
 * @brief Finds the item of a message by id, without a scan.
 * @param items The items.
 * @param id Message id.
 * @param item The item, 0 on failure.
 * @param place The place of the message inside of it, 0 on failure. NULL is allowed.
 * @return #TL_OK, #TL_NONE when it is not loaded, or #TL_E_INVALID (as #tl_items_read),
 *         #TL_E_CLOSED, #TL_E_STORAGE, #TL_E_DAMAGED.
 */
TL_API TL_CHECK tl_status
tl_items_find(tl_items *items, tl_view id, uint32_t *item, uint32_t *place);

/**
 * @brief Finds an item by its key, without a scan.
 * @param items The items.
 * @param key The key.
 * @param item The item, 0 on failure.
 * @return #TL_OK, #TL_NONE when no item has it, or #TL_E_INVALID (as #tl_items_read),
 *         #TL_E_CLOSED.
 */
TL_API TL_CHECK tl_status tl_items_find_key(tl_items *items, uint64_t key, uint32_t *item);

/**
 * @brief Reads what `fold` gave for one message of an item.
 * @param items The items.
 * @param item The item.
 * @param place The message, as #tl_items_find gives it.
 * @param out The bits, 0 on failure.
 * @return #TL_OK, #TL_NONE when no message is there, or #TL_E_INVALID (as
 *         #tl_items_read), #TL_E_CLOSED.
 */
TL_API TL_CHECK tl_status
tl_items_bits(tl_items *items, uint32_t item, uint32_t place, uint64_t *out);

/**
 * @brief Reads one of the ranges of items that end at a split.
 *
 * The items behind the newest split are a range too, unless the window follows the
 * present: then they lie in none. An empty list has no range.
 * @param items The items.
 * @param range The range, from 0 on.
 * @param first Its first item, 0 on failure.
 * @param count How many items it has, 0 on failure.
 * @return #TL_OK, #TL_NONE when there is no such range, or #TL_E_INVALID (as
 *         #tl_items_read), #TL_E_CLOSED.
 */
TL_API TL_CHECK tl_status
tl_items_range(tl_items *items, uint32_t range, uint32_t *first, uint32_t *count);

/**
 * @brief Opens or closes the group of an item. The next #tl_items_poll shows it, and the
 *        event descriptor is readable.
 *
 * What comes to an open group is shown as its messages are. Where a group becomes part of
 * an open one it is open.
 * @param items The items.
 * @param item The item: the group, or any message of one that is open.
 * @param open 1 to open it, 0 to close it.
 * @return #TL_OK, #TL_NONE when it is no group or already is so, or #TL_E_INVALID (as
 *         #tl_items_read), #TL_E_CLOSED.
 */
TL_API TL_CHECK tl_status tl_items_set_open(tl_items *items, uint32_t item, int32_t open);

/**
 * @brief Puts the unread line before a message, or takes it away. The next
 *        #tl_items_poll shows it, and the event descriptor is readable.
 *
 * It stays at that place in the conversation, also when the message goes. With
 * #TL_ITEMS_UNREAD_LINE it is put there by itself, once: before the oldest message that
 * was unread when it was read, as soon as the window has what it asked for, where a
 * message that is read or the start of the conversation lies before it.
 * @param items The items.
 * @param number Local number of a message of the window, or 0 for no line.
 * @return #TL_OK, or #TL_E_NOT_FOUND (no row has it), #TL_E_INVALID, #TL_E_CLOSED.
 */
TL_API TL_CHECK tl_status tl_items_unread(tl_items *items, uint64_t number);

/**
 * @brief Says which items are on screen: #tl_window_show of all their messages.
 * @param items The items.
 * @param first First item on screen.
 * @param count How many; 0 when none is.
 * @return #TL_OK, or #TL_E_INVALID (as #tl_items_read), #TL_E_CLOSED, #TL_E_STORAGE.
 */
TL_API TL_CHECK tl_status tl_items_show(tl_items *items, uint32_t first, uint32_t count);

/** Flags of #tl_items_status. */
enum {
  TL_ITEMS_BEHIND = 1u << 0 /**< The window was polled since: poll the items. */
};

/** How a list of items stands, as of its last poll. Set `struct_size` before the call. */
typedef struct tl_items_status {
  uint32_t struct_size; /**< `sizeof(tl_items_status)` of the caller. */
  uint32_t flags;       /**< #TL_ITEMS_BEHIND or 0. */
  uint64_t version;     /**< Version after the last poll. */
  uint64_t checksum;    /**< #tl_checksum of the keys. */
  uint32_t item_count;  /**< Items. */
  uint32_t row_count;   /**< Rows of the window. */
  uint32_t range_count; /**< Ranges of #tl_items_range. */
  uint32_t unread_item; /**< The item with the unread line before it, or #TL_ITEM_NONE. */
} tl_items_status;

/**
 * @brief Reads how a list of items stands.
 * @param items The items.
 * @param out Filled on success.
 * @return #TL_OK, or #TL_E_INVALID, #TL_E_CLOSED, #TL_E_TOO_NEW.
 */
TL_API TL_CHECK tl_status tl_items_state(tl_items *items, tl_items_status *out);

/**
 * @brief Closes a list of items: later calls on it fail. The window stays open.
 * @param items The items, or NULL. Twice is allowed.
 */
TL_API void tl_items_close(tl_items *items);

/**
 * @brief Closes a list of items if it is open and releases its memory.
 * @param items The items, or NULL. No other thread may be using them.
 */
TL_API void tl_items_free(tl_items *items);

/* ------------------------------------------------------------------------ */
/* Act                                                                        */
/* ------------------------------------------------------------------------ */

/** Flags of #tl_client_perform and #tl_send. */
enum {
  TL_PERFORM_UPLOAD = 1u << 0 /**< The attachment is still to be uploaded: wait for #tl_operation_uploaded. Only `send_message` has one. */
};

/**
 * @brief Does one thing for the user: at once here, on the server when it can.
 *
 * The request is a frame of the protocol without `request_id`: `type` names the
 * verb, the other members are its parameters. Every verb of the protocol is taken
 * but `get_messages`, `get_deleted_since` and `get_changed_since`, which syncs ask.
 * It is durable (synced) when the call returns. What it changes of messages, read
 * markers and titles is shown at once, and a conversation that is left or deleted
 * is in no list; members and admins are shown as the server answers. It goes out
 * in order, one at a time in each conversation, until the server has
 * answered. A `message_id` or `conversation_id` may be the client id of what is
 * not confirmed yet: the operation waits for it. A `client_id` that was performed
 * before gives the same operation again; of another verb, conversation, message or
 * reaction it is #TL_E_INVALID. To delete or leave a conversation made here that the
 * server was never told of takes back its creation, and gives that, as the deletion
 * or the edit of such a message gives its send: no operation is added, so that the
 * `client_id` of such a call is not remembered. Fetches (`get_…`, `subscribe`, …) do
 * not survive the process; `typing` is sent or dropped, with operation 0. `mark_read`,
 * `mark_delivered` and `mark_listened` are as #tl_client_mark_read and its kin, also
 * with operation 0: ids of messages that are not stored are passed over.
 * @param client The client.
 * @param request One JSON object, at most 1 MiB. Borrowed for the call.
 * @param flags `TL_PERFORM_` flags.
 * @param operation The operation, 0 on failure. NULL is allowed.
 * @param number The local number of a message to send, otherwise 0. NULL is allowed.
 * @return #TL_OK, or #TL_E_INVALID (not an object, an unknown verb, a member that
 *         is missing, wrong or there twice, a `client_id` of something else),
 *         #TL_E_UNSUPPORTED (a verb that is not performed),
 *         #TL_E_REFUSED (by the `seal` hook), #TL_E_TOO_LARGE, #TL_E_CLOSED,
 *         #TL_E_STORAGE (where only the sync failed the operation may be kept all
 *         the same: give a `client_id`, open the file again, and perform it
 *         again), #TL_E_FULL
 *         (also: 100,000 operations wait).
 */
TL_API TL_CHECK tl_status
tl_client_perform(tl_client *client, tl_view request, uint32_t flags,
                  uint64_t *operation, uint64_t *number);

/** One message to send. Zero it, set `struct_size`, then what you need. */
typedef struct tl_send {
  uint32_t struct_size; /**< `sizeof(tl_send)` of the caller. */
  uint32_t flags;       /**< `TL_PERFORM_` flags. */
  tl_view conversation; /**< Conversation id, or the client id of one made here. */
  tl_view payload;      /**< JSON value. */
  tl_view reply_to;     /**< Id of the message it answers, or empty. */
  tl_view attachment;   /**< JSON object, or empty. */
  tl_view metadata;     /**< JSON object, or empty. */
  tl_view client_id;    /**< At most 128 bytes, or empty for one made here. */
} tl_send;

/**
 * @brief Sends a message: #tl_client_perform of `send_message`, typed.
 *
 * A window that follows the present shows it at once; one that was opened elsewhere does
 * after a load of #TL_LOAD_LAST.
 * @param client The client.
 * @param send The message. Borrowed for the call.
 * @param operation The operation, 0 on failure. NULL is allowed.
 * @param number The message's local number, 0 on failure. NULL is allowed.
 * @return As #tl_client_perform, or #TL_E_TOO_NEW.
 */
TL_API TL_CHECK tl_status
tl_client_send(tl_client *client, const tl_send *send, uint64_t *operation, uint64_t *number);

/** How far an operation is. */
typedef int32_t tl_operation_state;
enum {
  TL_OPERATION_QUEUED = 1,    /**< Waits; `waiting` says for what. */
  TL_OPERATION_IN_FLIGHT = 2, /**< Sent, not yet answered. */
  TL_OPERATION_UNKNOWN = 3,   /**< Sent and never answered, on a server that does not know a repeated one (any more), see #TL_SERVER_IDEMPOTENT_SEND: it may have arrived. A send is looked for, a conversation is not. */
  TL_OPERATION_REFUSED = 4,   /**< Refused for good; `error_code` says why. */
  TL_OPERATION_SENT = 5       /**< Done; `result` is the answer. The last 1,000 are remembered. */
};

/** What an operation waits for. */
typedef int32_t tl_operation_wait;
enum {
  TL_WAIT_NOTHING = 0,    /**< Nothing. */
  TL_WAIT_CONNECTION = 1, /**< A connection. */
  TL_WAIT_TURN = 2,       /**< Those before it, or what it is about. */
  TL_WAIT_RETRY = 3,      /**< The time of the next try. */
  TL_WAIT_UPLOAD = 4,     /**< #tl_operation_uploaded. */
  TL_WAIT_SEAL = 5,       /**< A key: #tl_client_reopen_payloads. */
  TL_WAIT_CHECK = 6       /**< Unknown: a look whether it has arrived. */
};

/** One operation of a batch. The views are valid until the batch is freed. */
typedef struct tl_operation {
  uint64_t id;              /**< The operation; grows, never reused. */
  uint64_t number;          /**< Local number of the message it sends, otherwise 0. */
  tl_operation_state state; /**< How far it is. */
  tl_operation_wait waiting; /**< What it waits for. */
  uint32_t attempts;        /**< How often it was sent. */
  uint32_t upload_permille; /**< Of its attachment; 1,000 where none is due. */
  int64_t retry_ms;         /**< Milliseconds to the next try, -1 where none is planned. */
  tl_view verb;             /**< `type` of its request. */
  tl_view conversation;     /**< Conversation id, or empty. */
  tl_view message;          /**< Id of the message it is about, or empty. */
  tl_view client_id;        /**< Client id, or empty. */
  tl_view request;          /**< JSON object: its other parameters, the payload as given. */
  tl_view result;           /**< JSON value: `data` of the answer, or empty. */
  tl_view error_code;       /**< `code` of the server's last error, or `upload_failed`, `seal_failed`, `not_sent`; or empty. */
  tl_view error_text;       /**< `message` of the server's last error, or empty. */
  uint64_t reserved_words[8]; /**< Zero. Later members are taken out of these. */
} tl_operation;

/** Flags of #tl_operation_query. */
enum {
  TL_OPERATIONS_OPEN = 1u << 0 /**< Only those that are not sent. */
};

/** Which operations to read. */
typedef struct tl_operation_query {
  uint32_t struct_size; /**< `sizeof(tl_operation_query)` of the caller. */
  uint32_t flags;       /**< `TL_OPERATIONS_` flags. */
  tl_view conversation; /**< Whose, or empty for all. */
  uint64_t after;       /**< Those with a greater id. */
  uint32_t limit;       /**< How many at most; 0 is 256, at most 10,000. */
  uint32_t reserved;    /**< Must be zero. */
} tl_operation_query;

/**
 * @brief Reads operations, oldest first. Marks are not among them.
 * @param client The client.
 * @param query Which ones, or NULL for all.
 * @param out The batch on #TL_OK, NULL otherwise; read it with #tl_batch_operations.
 * @return #TL_OK, #TL_NONE when there are none, or #TL_E_INVALID, #TL_E_CLOSED,
 *         #TL_E_TOO_NEW, #TL_E_STORAGE, #TL_E_DAMAGED.
 */
TL_API TL_CHECK tl_status
tl_client_operations(tl_client *client, const tl_operation_query *query, tl_batch **out);

/**
 * @brief Reads one operation.
 * @param client The client.
 * @param operation The operation.
 * @param out A batch of one operation on #TL_OK, NULL otherwise.
 * @return #TL_OK, or #TL_E_NOT_FOUND, #TL_E_INVALID, #TL_E_CLOSED,
 *         #TL_E_STORAGE, #TL_E_DAMAGED.
 */
TL_API TL_CHECK tl_status
tl_client_operation(tl_client *client, uint64_t operation, tl_batch **out);

/**
 * @brief Gives the operations of a batch.
 * @param batch The batch.
 * @param count How many; 0 when the batch holds something else. NULL is allowed.
 * @return The operations, or NULL when there are none. Valid until the batch is freed.
 */
TL_API const tl_operation *tl_batch_operations(const tl_batch *batch, size_t *count);

/**
 * @brief Tries a refused or unknown operation again, or a queued one at once.
 *
 * An answer that was refused with the code `not_sent`, because the message it
 * answers was not sent, goes out without `reply_to`; where that message is sent
 * after all, or is to be sent again, it stays an answer and goes out after it.
 * An unknown send that had arrived after all stands there twice then, unless the
 * server knows it by its client id: that is the user's to decide.
 * @param client The client.
 * @param operation The operation.
 * @return #TL_OK, #TL_NONE when it is under way or sent, or #TL_E_NOT_FOUND,
 *         #TL_E_INVALID, #TL_E_CLOSED, #TL_E_STORAGE, #TL_E_FULL.
 */
TL_API TL_CHECK tl_status tl_operation_retry(tl_client *client, uint64_t operation);

/**
 * @brief Drops an operation that is not in flight, with all that is about it.
 *
 * Answers to a message to send stay: they are refused with the code `not_sent`.
 * What it showed is as the server has it again. One that is unknown may still
 * turn up, as a message from elsewhere. The draft of a conversation that is not
 * made after all can still be read by its client id; a window on that conversation
 * has no rows then and says #TL_E_NOT_FOUND as its trouble, until it is made once
 * more under its client id.
 * @param client The client.
 * @param operation The operation.
 * @return #TL_OK, #TL_NONE when it is in flight or sent, or as #tl_operation_retry.
 */
TL_API TL_CHECK tl_status tl_operation_cancel(tl_client *client, uint64_t operation);

/**
 * @brief Changes parameters of an operation that is queued or refused.
 *
 * A refused one is queued again in its old place. What it waits for is seen anew.
 * @param client The client.
 * @param operation The operation.
 * @param request JSON object: members to put in the place of the old ones, such as
 *        `payload`; `type`, ids and `client_id` may not change.
 * @return As #tl_operation_cancel, or #TL_E_REFUSED (by the `seal` hook),
 *         #TL_E_TOO_LARGE.
 */
TL_API TL_CHECK tl_status
tl_operation_edit(tl_client *client, uint64_t operation, tl_view request);

/**
 * @brief Says how far the upload of an attachment is, for the screen. Not durable.
 * @param client The client.
 * @param operation An operation with #TL_WAIT_UPLOAD.
 * @param permille 0 to 1,000.
 * @return #TL_OK, #TL_NONE when it waits for no upload, or as #tl_operation_retry.
 */
TL_API TL_CHECK tl_status
tl_operation_progress(tl_client *client, uint64_t operation, uint32_t permille);

/**
 * @brief Says that an attachment is uploaded: the operation takes its turn.
 * @param client The client.
 * @param operation An operation with #TL_WAIT_UPLOAD.
 * @param attachment JSON object that takes the place of `attachment`, or empty.
 * @return #TL_OK, #TL_NONE when it waits for no upload, or as #tl_operation_retry.
 */
TL_API TL_CHECK tl_status
tl_operation_uploaded(tl_client *client, uint64_t operation, tl_view attachment);

/**
 * @brief Says that an upload failed for good: the operation counts as refused.
 *
 * #tl_operation_retry lets it wait for an upload again.
 * @param client The client.
 * @param operation An operation with #TL_WAIT_UPLOAD.
 * @param reason UTF-8 for `error_text`, at most 1,024 bytes, or empty.
 * @return #TL_OK, #TL_NONE when it waits for no upload, or as #tl_operation_retry.
 */
TL_API TL_CHECK tl_status
tl_operation_upload_failed(tl_client *client, uint64_t operation, tl_view reason);

/**
 * @brief Offers payloads that no key was there for to the hooks again.
 *
 * Sealed messages go to `open`, unsealed operations to `seal`. Rows that opened
 * are told by the change feed.
 * @param client The client.
 * @param conversation Conversation id, or empty for all.
 * @param count How many opened or were sealed, 0 on failure. NULL is allowed.
 * @return #TL_OK, #TL_NONE when none did, or #TL_E_INVALID, #TL_E_CLOSED,
 *         #TL_E_STORAGE, #TL_E_FULL.
 */
TL_API TL_CHECK tl_status
tl_client_reopen_payloads(tl_client *client, tl_view conversation, uint64_t *count);

/** What the user does at the keyboard. */
typedef int32_t tl_typing;
enum {
  TL_TYPING_BEGIN = 1,   /**< Types. Repeat it every few seconds while it goes on. */
  TL_TYPING_PAUSE = 2,   /**< Has stopped for now. */
  TL_TYPING_FINISHED = 3 /**< Is done. */
};

/**
 * @brief Tells the others that this user types. Sent if connected, never kept.
 * @param client The client.
 * @param conversation Conversation id.
 * @param event What happens.
 * @return #TL_OK, #TL_NONE when not connected, or #TL_E_INVALID, #TL_E_CLOSED.
 */
TL_API TL_CHECK tl_status
tl_client_typing(tl_client *client, tl_view conversation, tl_typing event);

/** What a user has written and not sent. Zero it, set `struct_size`, then what you need. */
typedef struct tl_draft {
  uint32_t struct_size; /**< `sizeof(tl_draft)` of the caller. */
  uint32_t reserved;    /**< Must be zero. */
  tl_view conversation; /**< Conversation id, or the client id of one made here. */
  tl_view text;         /**< Any bytes, at most 64 KiB; empty removes the draft. */
  tl_view reply_to;     /**< Id of the message it answers, or empty. The client id of a send becomes the id of its message when the server has named it. */
} tl_draft;

/**
 * @brief Keeps what the user has written and not sent, one a conversation.
 *
 * It is the user's own work: no purge and no #tl_client_clear takes it. Where a
 * conversation made here turns out to be another one and both have a draft, the
 * one that was written last stays. It is on disk after a crash of the process; a
 * loss of power may take the last seconds.
 * @param client The client.
 * @param draft The draft. Borrowed for the call.
 * @return #TL_OK, or #TL_E_INVALID, #TL_E_CLOSED, #TL_E_TOO_NEW, #TL_E_TOO_LARGE,
 *         #TL_E_STORAGE, #TL_E_FULL.
 */
TL_API TL_CHECK tl_status tl_client_draft(tl_client *client, const tl_draft *draft);

/**
 * @brief Marks messages as delivered to this device.
 *
 * As #tl_client_mark_read: durable when the call returns, sent until confirmed.
 * @param client The client.
 * @param conversation Conversation id.
 * @param ids Message ids.
 * @param count How many, at most 10,000.
 * @return As #tl_client_mark_read.
 */
TL_API TL_CHECK tl_status
tl_client_mark_delivered(tl_client *client, tl_view conversation, const tl_view *ids, size_t count);

/**
 * @brief Marks messages as read by this user.
 *
 * Ids that are this user's own, already read, or unknown are passed over. The
 * rest is durable (synced) when the call returns, goes out when connected, and
 * each id is sent until the server confirms it and never after.
 * @param client The client.
 * @param conversation Conversation id.
 * @param ids Message ids.
 * @param count How many, at most 10,000.
 * @return #TL_OK, or #TL_E_INVALID, #TL_E_CLOSED, #TL_E_TOO_LARGE,
 *         #TL_E_STORAGE, #TL_E_FULL.
 */
TL_API TL_CHECK tl_status
tl_client_mark_read(tl_client *client, tl_view conversation, const tl_view *ids, size_t count);

/**
 * @brief Marks messages, such as voice messages, as listened to by this user.
 *
 * As #tl_client_mark_read: durable when the call returns, sent until confirmed.
 * @param client The client.
 * @param conversation Conversation id.
 * @param ids Message ids.
 * @param count How many, at most 10,000.
 * @return As #tl_client_mark_read.
 */
TL_API TL_CHECK tl_status
tl_client_mark_listened(tl_client *client, tl_view conversation, const tl_view *ids, size_t count);

/**
 * @brief Removes one message from this device only.
 *
 * Its content is erased here and it is never shown again, also when the server
 * sends it again. The server is told nothing.
 * @param client The client.
 * @param conversation Conversation id.
 * @param id Message id.
 * @return #TL_OK, or #TL_E_NOT_FOUND, #TL_E_INVALID, #TL_E_CLOSED,
 *         #TL_E_STORAGE, #TL_E_FULL.
 */
TL_API TL_CHECK tl_status
tl_client_forget(tl_client *client, tl_view conversation, tl_view id);

/* ------------------------------------------------------------------------ */
/* Find: messages by their words                                              */
/* ------------------------------------------------------------------------ */

/**
 * Work that takes long, in steps. Opaque. What is done is in the file: after any end, of the
 * process too, another one goes on where it was. Freeing it ends it.
 */
typedef struct tl_work tl_work;

/** How far work is. Set `struct_size` before the call. */
typedef struct tl_progress {
  uint32_t struct_size; /**< `sizeof(tl_progress)` of the caller. */
  uint32_t is_done;     /**< 1: nothing is left to do. */
  uint64_t done;        /**< Of `total`; it may be reached while something is left to do. */
  uint64_t total;       /**< In a unit that the work has chosen. */
} tl_progress;

/**
 * @brief Works for a while, on the caller's thread.
 *
 * Other calls may come in between. At least a little is done.
 * @param work The work.
 * @param ms About how many milliseconds, at most 60,000; 0 is as little as possible.
 * @param out Filled on success.
 * @return #TL_OK, #TL_NONE when nothing is left to do, or #TL_E_INVALID, #TL_E_CLOSED,
 *         #TL_E_TOO_NEW, #TL_E_NOT_FOUND (search was switched off), #TL_E_DAMAGED (of
 *         #tl_search_check: the index was wrong), #TL_E_INCOMPLETE (of #tl_client_import: an
 *         array has no end yet), #TL_E_STORAGE, #TL_E_FULL.
 */
TL_API TL_CHECK tl_status tl_work_step(tl_work *work, uint32_t ms, tl_progress *out);

/** @brief Releases work, done or not. @param work The work, or NULL. */
TL_API void tl_work_free(tl_work *work);

/**
 * @brief Switches search on or off.
 *
 * It is off in a new file, and then costs nothing. Switched on, each message is found from the
 * commit on that brings it; what was stored before is found once it is built (#tl_search_build).
 * Where more than 1 MiB of payloads waits to be indexed the rest of it is found once
 * #tl_client_advance has come to it, which `unbuilt` of #tl_searched tells. Of the texts of a
 * message the first 64 KiB are searched. Switched off, the index goes out of the file.
 * @param client The client.
 * @param on 1 or 0.
 * @return #TL_OK, #TL_NONE when it was so, or #TL_E_INVALID, #TL_E_CLOSED, #TL_E_STORAGE,
 *         #TL_E_FULL.
 */
TL_API TL_CHECK tl_status tl_search_switch(tl_client *client, int32_t on);

/**
 * @brief Gives the work that builds what of an older file is not in the index, newest first, and
 *        then merges the index to one segment.
 *
 * When it is done, no word of a message that is gone is in the index. Where messages go later there
 * is work again, which #tl_client_advance does, too, but begins every ten minutes at most.
 * @param client The client.
 * @param out The work on success, NULL otherwise. Free it with #tl_work_free.
 * @return #TL_OK, also where nothing is left to do, or #TL_E_NOT_FOUND (search is off),
 *         #TL_E_INVALID, #TL_E_CLOSED, #TL_E_STORAGE.
 */
TL_API TL_CHECK tl_status tl_search_build(tl_client *client, tl_work **out);

/**
 * @brief Gives the work that looks whether the index has what the messages say, word by word.
 *
 * The step that finds that it has not gives #TL_E_DAMAGED, and has thrown the index away:
 * #tl_search_build makes it anew. To build one anew in any case, switch search off and on. Where
 * the index changes between steps the look begins again; after three times the rest is one step.
 * @param client The client.
 * @param out The work on success, NULL otherwise. Free it with #tl_work_free.
 * @return #TL_OK, or #TL_E_NOT_FOUND (search is off), #TL_E_INVALID, #TL_E_CLOSED, #TL_E_STORAGE.
 */
TL_API TL_CHECK tl_status tl_search_check(tl_client *client, tl_work **out);

/** Flags of #tl_search. */
enum {
  TL_SEARCH_MINE = 1u << 0,      /**< Only messages of this user. */
  TL_SEARCH_ATTACHMENT = 1u << 1, /**< Only messages with a member `attachment`. */
  TL_SEARCH_NO_MARKS = 1u << 2   /**< Nothing is marked in what is found: about a third of a query is saved. */
};

/** In which order hits come. */
typedef int32_t tl_hit_order;
enum {
  TL_BY_TIME = 0,     /**< Newest first. */
  TL_BY_RELEVANCE = 1 /**< Best first, of the newest 10,000 hits; among equals the newest. */
};

/**
 * What is searched for: docs/reference/search.md has the language of `text`, in which no bytes are a
 * mistake. Zero it, set `struct_size`, then what you need.
 */
typedef struct tl_search {
  uint32_t struct_size;  /**< `sizeof(tl_search)` of the caller. */
  uint32_t flags;        /**< `TL_SEARCH_` flags. */
  tl_view text;          /**< What a person typed: any bytes, at most 4 MiB. */
  tl_view conversation;  /**< Only in this conversation, or empty for all. */
  tl_view sender;        /**< Only of this sender, or empty for all. */
  int64_t from_us;       /**< Only at or after this server time; 0 is no bound. */
  int64_t before_us;     /**< Only before this server time; 0 is no bound. */
  int64_t after_time_us; /**< For the next page: `time_us` of the last hit. */
  uint64_t after_number; /**< For the next page: `number` of the last hit; 0 for the first one. */
  uint32_t limit;        /**< How many hits at most; 0 is 50, at most 1,000. A page with 64 MiB of texts ends before it has so many, and `has_more` is 1. */
  tl_hit_order order;    /**< In which order. */
  const tl_batch *behind; /**< For the next page by relevance: the page before, which has their order; NULL for the first one. */
} tl_search;

/** What is to be marked in a text. Both ranges are of the string that the member holds, unescaped. */
typedef struct tl_mark {
  tl_view member;        /**< Member of the payload, or empty where the payload is the text. */
  uint32_t utf8_first;   /**< First byte, in UTF-8. */
  uint32_t utf8_count;   /**< How many. */
  uint32_t utf16_first;  /**< First code unit, in UTF-16; half a surrogate counts as U+FFFD. */
  uint32_t utf16_count;  /**< How many. */
} tl_mark;

/** One hit. */
typedef struct tl_hit {
  tl_message message;    /**< The message. */
  const tl_mark *marks;  /**< What is to be marked, by member and place, the first 256; NULL for none. */
  uint32_t mark_count;   /**< How many. */
  uint32_t reserved;     /**< Zero. */
  tl_view searchable;    /**< What the `open` hook gave to be searched, which the marks are of then; or empty. */
  uint64_t reserved_words[6]; /**< Zero. Later members are taken out of these. */
} tl_hit;

/** Why nothing was asked. */
typedef int32_t tl_asked;
enum {
  TL_ASKED = 0,                /**< It was asked. */
  TL_ASKED_NO_WORD = 1,        /**< The text has no letter, number or emoji. */
  TL_ASKED_ONLY_EXCLUSIONS = 2 /**< It only says what is not to be found. */
};

/** Whether hits were counted. */
typedef int32_t tl_counted;
enum {
  TL_NOT_COUNTED = 0,     /**< It would cost more than the page. */
  TL_COUNTED = 1,         /**< So many there are. */
  TL_COUNTED_AT_LEAST = 2 /**< So many were ranked, and there are older ones. */
};

/** What a search has looked at, and what not. Set `struct_size` before the call. */
typedef struct tl_searched {
  uint32_t struct_size;  /**< `sizeof(tl_searched)` of the caller. */
  tl_asked asked;        /**< Whether anything was asked. */
  uint32_t has_more;     /**< 1: there are more hits, behind the last one. */
  uint32_t is_cut;       /**< 1: the text is longer than what is asked; the rest was left out. */
  uint32_t sealed;       /**< Messages, of the conversation where one was named, that are not opened yet; counted up to 10,000. */
  uint32_t partial;      /**< Conversations of which something is not here: gaps, or older messages. Of a named one, 1 or 0. */
  uint64_t unbuilt;      /**< Of `total`: local numbers of messages that #tl_search_build has not come to, and up to 10,000 messages that wait to be indexed and were not looked through. */
  uint64_t total;        /**< Local numbers of messages there were when the build began, and those messages. */
  uint64_t count;        /**< How many hits there are in all, as `counted` says. */
  tl_counted counted;    /**< Newest first it is known of a first page that has all of them, by relevance always. */
  uint32_t reserved;     /**< Zero. */
} tl_searched;

/**
 * @brief Finds messages that are stored, newest first or by relevance.
 *
 * The read runs beside the writer and sees one committed state. Pages neither repeat nor skip a
 * message that was there all along and did not move. What this user sends or edits is found at
 * once, by the text that a screen shows: what is to be sent before all others. Of each kind the
 * newest 1,000 are looked at, with 1 MiB of payloads at most. Hidden, deleted and sealed messages
 * are not found. A window opens at a hit with #tl_window_load.
 *
 * By relevance the first page fixes the order, which its batch keeps; a later page leaves out what
 * is gone since, and shows what changed as it is now.
 * @param client The client.
 * @param search What is searched for. Borrowed for the call.
 * @param out The batch on success, also without hits, NULL otherwise: see #tl_batch_hits and
 *        #tl_batch_searched. Free it with #tl_batch_free.
 * @return #TL_OK, or #TL_E_NOT_FOUND (search is off), #TL_E_TOO_LARGE (a text over 4 MiB),
 *         #TL_E_INVALID (also where `behind` has no hits by relevance, or those of another query or client), #TL_E_CLOSED, #TL_E_TOO_NEW, #TL_E_STORAGE.
 */
TL_API TL_CHECK tl_status
tl_client_search(tl_client *client, const tl_search *search, tl_batch **out);

/**
 * @brief Gives the hits of a batch.
 * @param batch The batch.
 * @param count How many; 0 when the batch holds something else. NULL is allowed.
 * @return The hits, or NULL when there are none. Valid until the batch is freed.
 */
TL_API const tl_hit *tl_batch_hits(const tl_batch *batch, size_t *count);

/**
 * @brief Tells what a search has looked at.
 * @param batch A batch of hits.
 * @param out Filled on success.
 * @return #TL_OK, or #TL_E_INVALID, #TL_E_TOO_NEW.
 */
TL_API TL_CHECK tl_status tl_batch_searched(const tl_batch *batch, tl_searched *out);

/** Flags of #tl_unsearched. */
enum {
  TL_UNSEARCHED_PARTIAL = 1u << 0, /**< Something of it is not here: gaps, or older messages. */
  TL_UNSEARCHED_SEALED = 1u << 1   /**< Messages of it are not opened yet. */
};

/** A conversation of which a search does not see all. */
typedef struct tl_unsearched {
  uint64_t number;       /**< The conversation's local number. */
  tl_view conversation;  /**< Its id. */
  int64_t whole_from_us; /**< Server time from which on nothing is missing, up to what the last catch-up brought: 0 for its beginning, INT64_MAX where nothing is known to be whole. */
  uint32_t flags;        /**< `TL_UNSEARCHED_` flags. */
  uint32_t sealed;       /**< Messages that are not opened yet, counted up to 10,000. */
  uint64_t reserved_words[8]; /**< Zero. Later members are taken out of these. */
} tl_unsearched;

/**
 * @brief Names the conversations that `partial` and `sealed` of #tl_searched count, by their local
 *        numbers.
 *
 * Where ranges of times lie between gaps, #tl_client_messages names these.
 * @param client The client.
 * @param conversation Only this one, or empty for all.
 * @param after Only those with a greater local number; 0 for the first page.
 * @param limit How many at most; 0 is 100, at most 10,000.
 * @param out The batch on success, NULL otherwise: see #tl_batch_unsearched. Free it with
 *        #tl_batch_free.
 * @return #TL_OK, #TL_NONE when there are none, or #TL_E_NOT_FOUND (search is off, or no such
 *         conversation), #TL_E_INVALID, #TL_E_CLOSED, #TL_E_STORAGE.
 */
TL_API TL_CHECK tl_status tl_search_unsearched(tl_client *client, tl_view conversation,
                                               uint64_t after, uint32_t limit, tl_batch **out);

/**
 * @brief Gives the conversations of which a search does not see all.
 * @param batch The batch.
 * @param count How many; 0 when the batch holds something else. NULL is allowed.
 * @return The conversations, or NULL when there are none. Valid until the batch is freed.
 */
TL_API const tl_unsearched *tl_batch_unsearched(const tl_batch *batch, size_t *count);

/* ------------------------------------------------------------------------ */
/* Keep                                                                       */
/* ------------------------------------------------------------------------ */

/**
 * @brief Empties the cache: all that the server can give again.
 *
 * Operations, drafts, read markers, refs of updates, what was forgotten here, and
 * which of the newest 10,000 messages were marked stay. Payloads have to be opened
 * again. Syncs under way begin again; windows are told by their next poll.
 * @param client The client.
 * @return #TL_OK, or #TL_E_INVALID, #TL_E_CLOSED, #TL_E_STORAGE, #TL_E_FULL.
 */
TL_API TL_CHECK tl_status tl_client_clear(tl_client *client);

/**
 * @brief Takes a message, or all of a conversation, out of the cache, so that it may
 *        come anew.
 *
 * For a message a gap opens at its place: a window that comes there, or
 * #TL_SYNC_OLDER, asks for it again. For a conversation its messages and what is
 * known of their completeness go, as with #tl_client_clear: operations, drafts, read
 * markers, marks, and what was forgotten here stay. Nothing is remembered as deleted,
 * and the server is told nothing. Windows are told by their next poll. Unlike
 * #tl_client_forget it does not keep the message away.
 * @param client The client.
 * @param conversation Conversation id.
 * @param id Message id; empty for all of the conversation.
 * @return #TL_OK, or #TL_E_NOT_FOUND (no such message or conversation here, or the
 *         conversation is yet to be made), #TL_E_INVALID, #TL_E_CLOSED, #TL_E_STORAGE, #TL_E_FULL.
 */
TL_API TL_CHECK tl_status
tl_client_drop(tl_client *client, tl_view conversation, tl_view id);

/** Flags of #tl_budget. */
enum {
  /** What #tl_client_changes has not told yet stays: see #tl_client_retain. */
  TL_RETAIN_UNTOLD = 1u << 0
};

/**
 * How much is kept. Set `struct_size` and zero the rest; 0 is no bound.
 *
 * Bytes are those of contents, ids and lists, and 192 for each message; a file takes somewhat
 * more. Ages are those of the server's times, as of the newest server time that is known.
 */
typedef struct tl_budget {
  uint32_t struct_size;    /**< `sizeof(tl_budget)` of the caller. */
  uint32_t flags;          /**< `TL_RETAIN_` flags. */
  uint64_t messages;       /**< Messages in all. */
  uint64_t bytes;          /**< Bytes in all. */
  uint64_t messages_each;  /**< Messages of each conversation. */
  uint64_t bytes_each;     /**< Bytes of each conversation. */
  int64_t age_us;          /**< Messages that are older go, by the newest server time that is known. Under #TL_SERVER_LOG only `server_time` tells that: without it none go. */
  int64_t young_us;        /**< Messages that are younger stay, whatever the bounds say. */
} tl_budget;

/**
 * @brief Sets how much is kept, until the client is closed.
 *
 * What is beyond goes in slices: one in a call of #tl_client_advance, which asks to be called
 * again soon, or by #tl_client_purge. Rows go from the far end of a conversation on; where there
 * is too much in all, from that one first that was looked at least recently (opened, shown,
 * loaded or read). Once there is too much it is brought a sixteenth below the bound.
 *
 * These stay: what open windows have loaded, with 200 messages on each side; pinned messages;
 * what open operations and the draft are about or answer; the last message that was read and the
 * one behind it; the newest message of a conversation; what is younger than `young_us`.
 *
 * A purge is not a deletion: where rows went a gap lies, which is filled as any other is; no
 * tombstone is made, unread counts and the list stay as they were, search finds what is here and
 * says what is not. The feed tells it as #TL_CHANGE_PURGED. With #TL_RETAIN_UNTOLD a message
 * stays until who follows the feed has asked for what comes behind the entry that tells of it,
 * so that the subscriber can read it once; until it has asked for the first time all stays.
 *
 * The first budget makes tables in the file that count what is stored, and each commit keeps them
 * up; without bounds they go again.
 * @param client The client.
 * @param budget The budget, or NULL for none.
 * @return #TL_OK, or #TL_E_INVALID, #TL_E_CLOSED, #TL_E_TOO_NEW, #TL_E_STORAGE, #TL_E_FULL.
 */
TL_API TL_CHECK tl_status tl_client_retain(tl_client *client, const tl_budget *budget);

/**
 * @brief Gives the work that counts what is stored, purges what is beyond the budget, and gives
 *        the file's free pages back.
 *
 * A step looks at 256 messages at most, or counts 1,024, or gives 64 pages back.
 * @param client The client.
 * @param out The work on success, NULL otherwise. Free it with #tl_work_free.
 * @return #TL_OK, also where nothing is left to do, or #TL_E_INVALID (no budget is set),
 *         #TL_E_CLOSED.
 */
TL_API TL_CHECK tl_status tl_client_purge(tl_client *client, tl_work **out);

/** Flags of #tl_room. */
enum {
  TL_ROOM_COUNTED = 1u << 0, /**< All that is stored is counted. */
  /** As of the last purge: what has to stay takes more messages or bytes than the budget. */
  TL_ROOM_OVER = 1u << 1
};

/** What is stored, and what was purged since the first budget. */
typedef struct tl_room {
  uint32_t struct_size;     /**< `sizeof(tl_room)` of the caller. */
  uint32_t flags;           /**< `TL_ROOM_` flags. */
  uint64_t messages;        /**< Messages, hidden ones included. */
  uint64_t bytes;           /**< Bytes, as #tl_budget counts them. */
  uint64_t purged_messages; /**< Messages that went. */
  uint64_t purged_bytes;    /**< Bytes that went. */
  uint64_t free_bytes;      /**< Of the file: bytes that hold nothing. */
} tl_room;

/**
 * @brief Reads how much is stored; without a budget nothing is counted.
 *
 * Until #TL_ROOM_COUNTED is set `messages` and `bytes` are what was counted so far, and nothing is
 * purged. What was purged is counted from the first budget on, and forgotten when there is none.
 * @param client The client.
 * @param conversation Conversation id; empty for all of them.
 * @param out Filled on success. Set `struct_size` before the call.
 * @return #TL_OK, or #TL_E_NOT_FOUND (no such conversation), #TL_E_INVALID, #TL_E_CLOSED,
 *         #TL_E_TOO_NEW, #TL_E_STORAGE.
 */
TL_API TL_CHECK tl_status tl_client_room(tl_client *client, tl_view conversation, tl_room *out);

/**
 * Gives bytes of a source from `offset` on, at most `size`; `*got` 0 says that it is over for now.
 * Runs in #tl_work_step with no lock of the library held. Anything but #TL_OK fails that step with
 * #TL_E_STORAGE and "the host's function that reads the source failed", and the next one asks for
 * the same again.
 */
typedef tl_status (*tl_import_read)(void *context, uint64_t offset, uint8_t *bytes, size_t size,
                                    size_t *got);

/** Flags of #tl_import. */
enum {
  TL_IMPORT_ARRAY = 1u << 0, /**< The source is one JSON array of messages; else each line is a message. */
  TL_IMPORT_READ = 1u << 1,  /**< What others wrote is taken as read, for good: an old cache often does not say. */
  TL_IMPORT_AGAIN = 1u << 2  /**< From its beginning, however far an import of this name is. */
};

/** Where messages of an older cache come from. Set `struct_size` and zero the rest. */
typedef struct tl_import {
  uint32_t struct_size;  /**< `sizeof(tl_import)` of the caller. */
  uint32_t flags;        /**< `TL_IMPORT_` flags. */
  tl_view name;          /**< By which an import is known after a restart, 1 to 512 bytes of UTF-8. */
  tl_view conversation;  /**< Of messages that name none; empty where each has to name its own. */
  uint64_t size;         /**< Bytes of the source, for the progress; 0 where that is not known. */
  tl_import_read read;   /**< Gives the source. */
  void *context;         /**< Handed to `read`. */
  tl_drop_hook drop;     /**< Releases `context`, or NULL: when the work is freed, or the call failed. */
} tl_import;

/**
 * @brief Gives the work that takes in messages of an older cache, which the host has decrypted.
 *
 * Messages are objects of the protocol, as pages have them; the `open` hook is not called. They
 * claim nothing: each is #TL_MESSAGE_UNVERIFIED, with gaps around it, until the server shows it.
 * One that an answer shows to be absent goes. What the server has told, and what it has deleted,
 * stays as it is. Nothing is offered for a notification, and no mark is sent.
 *
 * A step reads at most 1 MiB of the source and 64 KiB beyond, whatever that holds, and takes at
 * most 256 lines or elements. What it takes is one transaction, and in it stands how far the import
 * is: after any end another work of the same name goes on behind that, and takes nothing twice. A
 * line or element that is of no use is left out and named by its number, the rest is kept: see
 * #tl_client_import_bad; one of more than 4 MiB is of no use. #tl_client_clear forgets imports.
 *
 * A source of lines may grow: another work takes what was added. A last line without its end is
 * taken where it is whole; where it is not it is named, and read again once there is more. A source
 * with #TL_IMPORT_ARRAY is one array with space around it. Where it is over before the array ends
 * the step that comes there gives #TL_E_INCOMPLETE, and goes on as soon as there is more; where it
 * is no array, or something stands behind its end, #TL_E_INVALID. What was read before stays, and
 * #TL_IMPORTED_DONE is not set.
 * @param client The client.
 * @param config The source. Borrowed for the call.
 * @param out The work on success, NULL otherwise; its progress is in bytes. Free it with
 *        #tl_work_free.
 * @return #TL_OK, also where nothing is left to do, or #TL_E_INVALID (also where an import of the
 *         name has the other form), #TL_E_CLOSED, #TL_E_TOO_NEW, #TL_E_STORAGE, #TL_E_FULL.
 */
TL_API TL_CHECK tl_status
tl_client_import(tl_client *client, const tl_import *config, tl_work **out);

/** Flags of #tl_imported. */
enum {
  TL_IMPORTED_DONE = 1u << 0 /**< The source was read to its end. */
};

/** How far an import is. Set `struct_size` before the call. */
typedef struct tl_imported {
  uint32_t struct_size; /**< `sizeof(tl_imported)` of the caller. */
  uint32_t flags;       /**< `TL_IMPORTED_` flags. */
  uint64_t lines;       /**< Lines, or elements of the array, that were passed; a last line that is of no use and has no end is not. */
  uint64_t inserted;    /**< Messages that were new. */
  uint64_t known;       /**< Messages that were here, or were deleted. */
  uint64_t bad;         /**< Lines of no use. */
  uint64_t offset;      /**< Where the source goes on. */
} tl_imported;

/**
 * @brief Reads how far an import is.
 * @param client The client.
 * @param name Its name.
 * @param out Filled on success.
 * @return #TL_OK, or #TL_E_NOT_FOUND, #TL_E_INVALID, #TL_E_CLOSED, #TL_E_TOO_NEW, #TL_E_STORAGE.
 */
TL_API TL_CHECK tl_status tl_client_imported(tl_client *client, tl_view name, tl_imported *out);

/** A line of an import that is of no use. */
typedef struct tl_bad_line {
  uint64_t number; /**< Of the line, or of the element of the array, from 1 on. */
  tl_view reason;  /**< Why, in words that name the member and never what it held. */
} tl_bad_line;

/**
 * @brief Reads which lines of an import are of no use, in their order; the first 10,000 are kept.
 * @param client The client.
 * @param name Name of the import.
 * @param after Only those behind this number.
 * @param limit How many at most; 0 is 100, at most 10,000.
 * @param out The batch on success, NULL otherwise: see #tl_batch_bad_lines. Free it with
 *        #tl_batch_free.
 * @return #TL_OK, #TL_NONE when there are none, or #TL_E_INVALID, #TL_E_CLOSED, #TL_E_STORAGE.
 */
TL_API TL_CHECK tl_status tl_client_import_bad(tl_client *client, tl_view name, uint64_t after,
                                               uint32_t limit, tl_batch **out);

/**
 * @brief Gives the bad lines of a batch.
 * @param batch The batch.
 * @param count How many; 0 when the batch holds something else. NULL is allowed.
 * @return The lines, or NULL when there are none. Valid until the batch is freed.
 */
TL_API const tl_bad_line *tl_batch_bad_lines(const tl_batch *batch, size_t *count);

/**
 * Takes whole lines, each with its end. Anything but #TL_OK fails the step with #TL_E_STORAGE and
 * "the host's function that writes the lines failed", and they come again.
 */
typedef tl_status (*tl_export_write)(void *context, tl_view lines);

/** What is exported, and where it goes. Set `struct_size` and zero the rest. */
typedef struct tl_export {
  uint32_t struct_size;  /**< `sizeof(tl_export)` of the caller. */
  uint32_t flags;        /**< Zero. */
  tl_view conversation;  /**< Which conversation. */
  tl_export_write write; /**< Takes the lines; runs in #tl_work_step with no lock held. */
  void *context;         /**< Handed to `write`. */
  tl_drop_hook drop;     /**< Releases `context`, or NULL: when the work is freed, or the call failed. */
} tl_export;

/**
 * @brief Gives the work that writes the stored messages of a conversation as JSON lines.
 *
 * Each line is an object of the protocol, as #tl_client_import takes it, with the payload as it was
 * opened; one that could not be opened is as it came. What waits to be sent is left out. Each
 * message is written once, oldest first, whatever happens between two steps; one that comes behind
 * the place where the work is may be missing. Another work begins anew.
 * @param client The client.
 * @param config What and where to. Borrowed for the call.
 * @param out The work on success, NULL otherwise; its progress is in messages. Free it with
 *        #tl_work_free.
 * @return #TL_OK, or #TL_E_NOT_FOUND (no such conversation), #TL_E_INVALID, #TL_E_CLOSED,
 *         #TL_E_TOO_NEW, #TL_E_STORAGE.
 */
TL_API TL_CHECK tl_status
tl_client_export(tl_client *client, const tl_export *config, tl_work **out);

/** Counters. Those of frames and requests count since the opening. */
typedef struct tl_stats {
  uint32_t struct_size;        /**< `sizeof(tl_stats)` of the caller. */
  uint32_t wal_frames_rejected; /**< Log frames rejected at the opening: a lost tail. */
  uint64_t conversations;      /**< Conversations known. */
  uint64_t messages;           /**< Messages stored, hidden ones included. */
  uint64_t tombstones;         /**< Deleted ids remembered. */
  uint64_t quarantined;        /**< Items set aside, in the file. */
  uint64_t frames_in;          /**< Frames received. */
  uint64_t frames_bad;         /**< Frames refused: #TL_E_FRAME, #TL_E_TOO_LARGE, #TL_E_MISMATCH. */
  uint64_t frames_ignored;     /**< Frames of unknown types. */
  uint64_t answers_unmatched;  /**< Answers to no open request. */
  uint64_t frames_out;         /**< Frames handed out. */
  uint64_t bytes_in;           /**< Bytes received. */
  uint64_t bytes_out;          /**< Bytes handed out. */
  uint64_t requests;           /**< Requests made. */
  uint64_t timeouts;           /**< Requests that timed out. */
  uint64_t retries;            /**< Requests made again after trouble. */
  uint64_t duplicates;         /**< Messages received that were known. */
  uint64_t open_failures;      /**< Failures of the `open` hook. */
  uint64_t walks_incomplete;   /**< Syncs that ended with a recorded gap. */
  uint64_t restores;           /**< Times a conversation's server copy was found older than ours. */
  uint64_t audit_mismatches;   /**< Times the server's total differed from ours. */
  uint64_t commits;            /**< Transactions committed. */
  uint64_t file_bytes;         /**< Size of the file and its log. */
  int64_t overlap_us;          /**< The overlap in use now. */
  uint64_t updates;            /**< Acknowledged updates applied. */
  uint64_t updates_repeated;   /**< Those whose ref had been seen: replied to again. */
  uint64_t replies;            /**< Replies handed out. */
  uint64_t waiting;            /**< Marks kept for messages not yet known, in the file. */
  uint64_t waiting_dropped;    /**< Those let go because there were too many. */
  uint32_t page_limit;         /**< Messages asked in a page now. */
  uint32_t request_timeout_ms; /**< How long an answer may take now. */
} tl_stats;

/**
 * @brief Reads counters.
 * @param client The client.
 * @param out Filled on success. Set `struct_size` before the call.
 * @return #TL_OK, or #TL_E_INVALID, #TL_E_CLOSED, #TL_E_TOO_NEW, #TL_E_STORAGE.
 */
TL_API TL_CHECK tl_status tl_client_stats(tl_client *client, tl_stats *out);

/* ------------------------------------------------------------------------ */
/* Viewport: where the rows of a list stand                                   */
/* ------------------------------------------------------------------------ */

/**
 * The arithmetic of an endless list on a screen: which rows to place where, for rows
 * of different heights of which few are measured, while rows come and go. It needs no
 * client, draws nothing and reads no clock. Opaque.
 *
 * A host tells the steps of its list (#tl_viewport_update), scrolls
 * (#tl_viewport_scroll, #tl_viewport_scroll_to, #tl_viewport_animate_to), and after
 * each of these asks for a layout (#tl_viewport_layout).
 *
 * The *anchor* is the first visible row: the highest, or in a bottom-up list the
 * lowest. It stays where it is whatever comes, goes or changes its height, and every
 * other row stands where the heights in between put it. So what comes above or below
 * the view moves nothing in it, and what comes between visible rows pushes those below
 * it down, in a bottom-up list those above it up. A list that is held to an end which
 * is in view has that end for an anchor. An anchor that is removed or moved leaves its
 * place to the nearest visible row that was neither, first away from it in the
 * direction of the list. Nothing shows what lies beyond an end, so near one rows move.
 *
 * @par Lengths
 * Every length and place is a whole number of a unit that the host chooses: a cell of
 * a terminal, a pixel, a 64th of one. They are exact, with no rounding anywhere but in
 * estimates, frames of an animation and what is pulled beyond an end. Places count
 * from the top of the view down. A length of the host's is 0 to 2^40; a negative one is
 * #TL_E_INVALID, a longer one #TL_E_TOO_LARGE.
 *
 * @par Keys
 * A row has a key of the host's, 64 bits that no other row of the list has: the
 * `number` of a message, or what #tl_checksum takes.
 *
 * @par Threads
 * Calls on one viewport take turns inside the library, from whichever threads.
 */
typedef struct tl_viewport tl_viewport;

/** Flags of #tl_viewport_config. */
enum {
  TL_VIEWPORT_BOTTOM_UP = 1u << 0,  /**< The anchor is the lowest visible row, and a short list hangs at the bottom. */
  TL_VIEWPORT_REVERSED = 1u << 1,   /**< Row 0 is the lowest: the newest message has index 0. */
  TL_VIEWPORT_HOLD_TOP = 1u << 2,   /**< The top end, once in view, stays in view when rows come there. */
  TL_VIEWPORT_HOLD_BOTTOM = 1u << 3 /**< The bottom end, once in view, stays in view when rows come there. */
};

/** How to make a viewport. Zero it, set `struct_size`, then what you need. */
typedef struct tl_viewport_config {
  uint32_t struct_size;   /**< `sizeof(tl_viewport_config)` of the caller. */
  uint32_t flags;         /**< `TL_VIEWPORT_` flags. */
  int64_t extent;         /**< Height of the view; 0 until #tl_viewport_resize shows nothing. */
  int64_t margin;         /**< Rows so far outside the view are placed as well. */
  int64_t estimate;       /**< Height of a row until one of its class is measured; 0 is 64. */
  int64_t height_min;     /**< No row that is shown is less high; 0 is a quarter of `estimate`, at least 1. */
  int64_t overscroll_max; /**< Rows are pulled less far than this beyond an end, at most 2^30; 0 is not at all. */
  int64_t near;           /**< What counts as near an end; 0 is `extent` as it is then. */
  int64_t speed;          /**< Units a second of an animation; 0 is 4,096. */
  uint32_t animation_ms;  /**< The longest animation; 0 is 600, at most 60,000. */
  uint32_t reserved;      /**< Must be zero. */
} tl_viewport_config;

/**
 * @brief Makes a viewport of an empty list.
 * @param config How. Borrowed for the call.
 * @param out The viewport on success, NULL otherwise. Free it with #tl_viewport_free.
 * @return #TL_OK, or #TL_E_INVALID, #TL_E_TOO_NEW, #TL_E_TOO_LARGE (a length).
 */
TL_API TL_CHECK tl_status
tl_viewport_new(const tl_viewport_config *config, tl_viewport **out);

/**
 * @brief Releases a viewport. Nobody may be using it.
 * @param viewport The viewport, or NULL.
 */
TL_API void tl_viewport_free(tl_viewport *viewport);

/**
 * @brief Takes the steps from the list to the next one.
 *
 * The steps of a #tl_diff go straight in, with the keys of which its checksum is. A row
 * that is updated has to be measured again when it is shown. What was scrolled to, or is
 * being scrolled to in frames, is followed; where that row is removed, the row that
 * stands at its place is.
 * A step costs O(log n) and the rows that it touches. Where something is refused
 * nothing changes.
 * @param viewport The viewport.
 * @param steps The steps, to be applied in order. Borrowed for the call.
 * @param step_count How many, at most 1,048,576.
 * @param keys The key of each row after the steps, in order. Only those of new rows are
 *        read. Where no row is new it may be NULL, with a `row_count` of 0.
 * @param classes The class of each row after the steps, 0 to 7, by which heights are
 *        estimated; or NULL for 0 of each.
 * @param row_count Rows after the steps, at most 1,048,576.
 * @return #TL_OK, or #TL_E_INVALID (a step that such a list has not, two rows of one
 *         key, a class over 7), #TL_E_TOO_LARGE.
 */
TL_API TL_CHECK tl_status
tl_viewport_update(tl_viewport *viewport, const tl_op *steps, size_t step_count,
                   const uint64_t *keys, const uint32_t *classes, size_t row_count);

/**
 * @brief Takes measured heights, of rows that a layout asks for or of others.
 *
 * A row of height 0 is hidden: it is placed nowhere, and measured again only once it
 * is updated.
 * @param viewport The viewport.
 * @param keys Which rows. Those that are not in the list are left out.
 * @param heights The height of each.
 * @param count How many, at most 1,048,576.
 * @return #TL_OK, #TL_NONE when no row is in the list, or #TL_E_INVALID, #TL_E_TOO_LARGE.
 */
TL_API TL_CHECK tl_status
tl_viewport_measure(tl_viewport *viewport, const uint64_t *keys, const int64_t *heights,
                    size_t count);

/** Flags of #tl_viewport_resize. */
enum {
  TL_RESIZE_MEASURE = 1u << 0 /**< All rows are to be measured again: the width is another one. */
};

/**
 * @brief The view has another height from now on.
 *
 * A top-down list stays at the view's top, a bottom-up list at its bottom.
 * @param viewport The viewport.
 * @param extent The height of the view.
 * @param flags `TL_RESIZE_` flags.
 * @return #TL_OK, or #TL_E_INVALID, #TL_E_TOO_LARGE.
 */
TL_API TL_CHECK tl_status
tl_viewport_resize(tl_viewport *viewport, int64_t extent, uint32_t flags);

/** Flags of #tl_placed. */
enum {
  TL_PLACED_VISIBLE = 1u << 0,  /**< It is in the view, at least in part. */
  TL_PLACED_MEASURED = 1u << 1  /**< Its height is measured, otherwise estimated or old. */
};

/** One row of a layout. */
typedef struct tl_placed {
  uint64_t key;    /**< Its key. */
  uint32_t row;    /**< Its index in the list. */
  uint32_t flags;  /**< `TL_PLACED_` flags. */
  int64_t top;     /**< Its top, below the view's top; with what is pulled beyond an end. */
  int64_t height;  /**< Its height. */
  uint64_t reserved_words[8]; /**< Zero. Later members are taken out of these. */
} tl_placed;

/** One round between host and viewport, in one allocation. */
typedef struct tl_layout {
  uint64_t layouts;         /**< Complete layouts so far, with this one. */
  uint32_t row_count;       /**< Rows to place. */
  uint32_t missing_count;   /**< Rows to measure first; 0 when the layout is complete. */
  const tl_placed *rows;    /**< The rows in the view and its margins, from top to bottom. */
  const tl_placed *missing; /**< The rows to measure, from top to bottom. */
} tl_layout;

/**
 * @brief Says which rows stand where, and which have to be measured for that.
 *
 * Where rows are missing the host measures them, tells by #tl_viewport_measure, and
 * calls again; it draws what a complete layout has. Two rounds are enough where no row
 * is less high than `height_min`: the first asks for all rows that may turn out to be in
 * the view. After 16 rounds a layout is complete with what is known. At most 4,096 rows
 * are placed.
 * It costs O(log n) and the rows that it gives.
 * @param viewport The viewport.
 * @param out The layout on success, NULL otherwise. Free it with #tl_layout_free.
 * @return #TL_OK, or #TL_E_INVALID.
 */
TL_API TL_CHECK tl_status tl_viewport_layout(tl_viewport *viewport, tl_layout **out);

/** @brief Releases a layout. @param layout The layout, or NULL. */
TL_API void tl_layout_free(tl_layout *layout);

/** Flags of #tl_viewport_scroll. */
enum {
  TL_SCROLL_FINGER = 1u << 0 /**< A finger holds the list: it may be pulled beyond an end. */
};

/**
 * @brief Scrolls by a length. Ends an animation, and a spring back if a finger does it.
 * @param viewport The viewport.
 * @param delta How far the view goes down the list, up for less than 0; any number.
 * @param flags `TL_SCROLL_` flags.
 * @return #TL_OK, or #TL_E_INVALID.
 */
TL_API TL_CHECK tl_status
tl_viewport_scroll(tl_viewport *viewport, int64_t delta, uint32_t flags);

/** What a target is about. */
typedef int32_t tl_edge;
enum {
  TL_EDGE_TOP = 0,        /**< The row's top comes `inset` below the view's top. */
  TL_EDGE_BOTTOM = 1,     /**< The row's bottom comes `inset` above the view's bottom. */
  TL_EDGE_TOP_END = 2,    /**< The top end of the list, whichever row is there then. */
  TL_EDGE_BOTTOM_END = 3  /**< The bottom end of the list. */
};

/** Where to scroll. Zero it, set `struct_size`, then what you need. */
typedef struct tl_target {
  uint32_t struct_size; /**< `sizeof(tl_target)` of the caller. */
  tl_edge edge;         /**< What comes where. */
  uint64_t key;         /**< The row; 0 for an end. */
  int64_t inset;        /**< How far inside the view, outside for less than 0; 0 for an end. */
} tl_target;

/**
 * @brief Scrolls to a row or an end at once.
 *
 * The next complete layout has it there exactly, whatever heights turn out to be, unless
 * the list ends before.
 * @param viewport The viewport.
 * @param target Where. Borrowed for the call.
 * @return #TL_OK, #TL_NONE when no row has the key and nothing changed, or
 *         #TL_E_INVALID, #TL_E_TOO_NEW, #TL_E_TOO_LARGE.
 */
TL_API TL_CHECK tl_status
tl_viewport_scroll_to(tl_viewport *viewport, const tl_target *target);

/**
 * @brief Scrolls to a row or an end in frames, which #tl_viewport_tick makes.
 *
 * It starts and ends slowly, is as fast up as down, and ends where #tl_viewport_scroll_to
 * would, also where the list changes meanwhile. A scroll and another target end it.
 * @param viewport The viewport.
 * @param target Where. Borrowed for the call.
 * @param speed Units a second; 0 is that of the configuration. It takes no longer than
 *        `animation_ms`, however far it is.
 * @param time_ms A monotonic time; any number.
 * @return As #tl_viewport_scroll_to.
 */
TL_API TL_CHECK tl_status
tl_viewport_animate_to(tl_viewport *viewport, const tl_target *target, int64_t speed,
                       int64_t time_ms);

/**
 * @brief Goes to the frame of a time, of an animation and of a spring back.
 * @param viewport The viewport.
 * @param time_ms The time, as given when it began. One that goes back stands still.
 * @return #TL_OK when there are more frames, #TL_NONE when nothing moves any more, or
 *         #TL_E_INVALID.
 */
TL_API TL_CHECK tl_status tl_viewport_tick(tl_viewport *viewport, int64_t time_ms);

/**
 * @brief The finger has left: what is pulled beyond an end springs back, in frames.
 * @param viewport The viewport.
 * @param time_ms A monotonic time.
 * @return #TL_OK, #TL_NONE when nothing is pulled, or #TL_E_INVALID.
 */
TL_API TL_CHECK tl_status tl_viewport_release(tl_viewport *viewport, int64_t time_ms);

/**
 * @brief Ends an animation where it is.
 * @param viewport The viewport.
 * @return #TL_OK, #TL_NONE when there is none, or #TL_E_INVALID.
 */
TL_API TL_CHECK tl_status tl_viewport_stop(tl_viewport *viewport);

/**
 * @brief Finds a row by its key, in the view or not.
 * @param viewport The viewport.
 * @param key The key.
 * @param out Filled on success, zero otherwise.
 * @return #TL_OK, #TL_NONE when it is not in the list, or #TL_E_INVALID.
 */
TL_API TL_CHECK tl_status
tl_viewport_find(tl_viewport *viewport, uint64_t key, tl_placed *out);

/**
 * @brief Finds the row that is drawn at a place of the view.
 * @param viewport The viewport.
 * @param place Below the view's top; any number.
 * @param out Filled on success, zero otherwise.
 * @return #TL_OK, #TL_NONE when no row is there, or #TL_E_INVALID.
 */
TL_API TL_CHECK tl_status
tl_viewport_at(tl_viewport *viewport, int64_t place, tl_placed *out);

/** Flags of #tl_viewport_status. */
enum {
  TL_VIEWPORT_NEAR_TOP = 1u << 0,       /**< The view is near the top end: load more. */
  TL_VIEWPORT_NEAR_BOTTOM = 1u << 1,    /**< The view is near the bottom end. */
  TL_VIEWPORT_HELD_TOP = 1u << 2,       /**< The list is held to its top end. */
  TL_VIEWPORT_HELD_BOTTOM = 1u << 3,    /**< The list is held to its bottom end. */
  TL_VIEWPORT_MOVING = 1u << 4          /**< #tl_viewport_tick has frames. */
};

/** The length of the track of a scroll bar. */
#define TL_BAR_TRACK 1000000

/**
 * How a viewport stands. Set `struct_size` before the call.
 *
 * Of the last complete layout are `layouts`, `visible_` and `placed_`, with indices of
 * the list as it was then; all else is of now. The bar's thumb never goes back while
 * one scrolls one way, though heights become known and rows are loaded; it stands at
 * an end of its track where the list was scrolled to its end.
 */
typedef struct tl_viewport_status {
  uint32_t struct_size;   /**< `sizeof(tl_viewport_status)` of the caller. */
  uint32_t flags;         /**< `TL_VIEWPORT_` flags of the status. */
  uint32_t row_count;     /**< Rows of the list. */
  uint32_t visible_first; /**< The least index of a visible row. */
  uint32_t visible_count; /**< Visible rows. */
  uint32_t placed_first;  /**< The least index of a placed row. */
  uint32_t placed_count;  /**< Placed rows, with hidden ones between them. */
  uint32_t anchor_row;    /**< Index of the anchor; 0 in an empty list. */
  uint64_t anchor_key;    /**< Its key. */
  int64_t anchor_top;     /**< Its top, below the view's top. */
  uint64_t checksum;      /**< #tl_checksum of the keys. */
  uint64_t layouts;       /**< Complete layouts so far: it counts up after every one. */
  int64_t total;          /**< Height of all rows, as far as it is known. */
  int64_t above;          /**< How far one can scroll up. */
  int64_t below;          /**< How far one can scroll down. */
  int64_t overscroll;     /**< How far rows are pulled down beyond the top end, or, below 0, up beyond the bottom end. */
  uint32_t bar_start;     /**< Where the thumb begins, of #TL_BAR_TRACK. */
  uint32_t bar_size;      /**< How long it is; all of the track where there is nothing to scroll. */
} tl_viewport_status;

/**
 * @brief Reads how a viewport stands.
 * @param viewport The viewport.
 * @param out Filled on success.
 * @return #TL_OK, or #TL_E_INVALID, #TL_E_TOO_NEW.
 */
TL_API TL_CHECK tl_status tl_viewport_state(tl_viewport *viewport, tl_viewport_status *out);

#ifdef __cplusplus
}
#endif
#endif
