/**
 * @file tideline.h
 * @brief Embeddable, encrypted, offline-first message cache and sync engine.
 *
 * This file is the whole contract: what is not declared here is not public.
 *
 * A host opens a client on an encrypted file, tells it what happened
 * (connected, a frame arrived, a deadline passed), sends the frames it is
 * handed, and reads pages of messages together with a statement of how
 * complete they are. The library opens no socket and starts no thread.
 *
 * The sections: library, open, turn, read, act, keep.
 *
 * @par Threads
 * Any function may be called from any thread; calls on one client serialize
 * inside the library, except reads, which run beside the writer. The library
 * starts no thread and installs no signal handler. Use a client in the
 * process that opened it, not after `fork`.
 *
 * @par Memory
 * Inputs are borrowed for the call. What the library gives out is released by
 * the `_free` function of its type, never by `free`. Every `_free` takes NULL.
 * Running out of memory ends the process; every allocation that depends on
 * outside bytes is bounded first.
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
 *
 * @par Text
 * Text is UTF-8 without a terminator. Ids are opaque UTF-8, 1 to 512 bytes;
 * one that is longer is #TL_E_TOO_LARGE where a function lists it, otherwise
 * #TL_E_INVALID.
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
  TL_E_LOCKED = -7,       /**< The file is open elsewhere. */
  TL_E_NOT_OURS = -8,     /**< The file is not a Tideline file. */
  TL_E_FRAME = -9,        /**< The frame is not a valid frame; nothing changed. */
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
 * @brief Describes the last failure on the calling thread.
 * @return UTF-8 with a terminator, never NULL, valid until the next failing
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

/** How the server orders messages with the same printed time. */
typedef int32_t tl_ties;
enum {
  TL_TIES_UNKNOWN = 0, /**< Not known. */
  TL_TIES_ID = 1,      /**< By the bytes of the id. */
  TL_TIES_ARRIVAL = 2  /**< By arrival. */
};

/** Flags of #tl_profile. */
enum {
  TL_PROFILE_AFTER_IS_INCLUSIVE = 1u << 0,   /**< `after_ts` means `>=`. */
  TL_PROFILE_PAGE_SIZE_VARIES = 1u << 1,     /**< A short page proves nothing. */
  TL_PROFILE_ABSENCE_IS_DELETION = 1u << 2   /**< A complete answer without a known id proves its deletion. */
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
  uint32_t capabilities;       /**< Must be zero in this version, or #TL_E_UNSUPPORTED. */
  int64_t time_resolution_us;  /**< Resolution of `created_at`, at most a day; 0 reads it off the strings. */
  uint32_t overlap_ms;         /**< Asked again behind a watermark; 0 is 5,000. */
  uint32_t deletion_horizon_s; /**< How long deletions are remembered; 0 is for ever. */
  int32_t zone_offset_min;     /**< Zone of times without one, minutes east of UTC, less than a day. */
  uint32_t reserved;           /**< Must be zero. */
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
} tl_opened;

/**
 * Opens one payload. Runs inside #tl_client_receive, before any lock of the
 * library is held, on the caller's thread. It must not call the library.
 * Return #TL_OK with `out` filled, or #TL_NONE when the key has not come yet
 * (the message keeps its place, sealed), or any failure (the same, counted).
 */
typedef tl_status (*tl_open_hook)(void *context, const tl_sealed *in, tl_opened *out);

/** Importance of a log line. */
typedef int32_t tl_log_level;
enum {
  TL_LOG_ERROR = 1, /**< Something failed. */
  TL_LOG_WARN = 2,  /**< Something was set aside or repaired. */
  TL_LOG_INFO = 3,  /**< A normal event worth a line. */
  TL_LOG_DEBUG = 4  /**< Detail. */
};

/**
 * Takes one log line, UTF-8. Runs inside a call of the host, with no lock of
 * the library held. Lines hold no key, path, id or message text.
 */
typedef void (*tl_log_hook)(void *context, tl_log_level level, tl_view text);

/** Gives a monotonic time in milliseconds; for tests and replay. */
typedef int64_t (*tl_clock_hook)(void *context);

/**
 * Releases a hook's context. Runs exactly once, when the client is freed or its opening failed.
 * Only a configuration that cannot be read at all (NULL, a wrong `struct_size`) is not dropped.
 */
typedef void (*tl_drop_hook)(void *context);

/** Flags of #tl_client_config. */
enum {
  TL_OPEN_MEMORY = 1u << 0,         /**< Keep everything in memory; `path` must be empty. */
  TL_OPEN_EXISTING = 1u << 1,       /**< Fail with #TL_E_NOT_FOUND instead of creating the file. */
  TL_OPEN_STRICT = 1u << 2,         /**< Refuse a file whose log has a rejected tail (#TL_E_DAMAGED). */
  TL_OPEN_AUTO_MARK_READ = 1u << 3  /**< Fetched messages of others are marked read. */
};

/** How to open a client. Zero it, set `struct_size`, then what you need. */
typedef struct tl_client_config {
  uint32_t struct_size;       /**< `sizeof(tl_client_config)` of the caller. */
  uint32_t flags;             /**< `TL_OPEN_` flags. */
  tl_view path;               /**< UTF-8 path of the file; at most 1,024 bytes. */
  tl_view key;                /**< Exactly #TL_KEY_BYTES random bytes; empty in memory. Copied, wiped on close. */
  tl_view account;            /**< Name of the account, at most 512 bytes, or empty; bound to the file. */
  tl_view user_id;            /**< The user's id on the server; bound to the file. */
  const tl_profile *profile;  /**< The server, or NULL for the default one. */
  uint64_t cache_bytes;       /**< Memory for decrypted pages; 0 is 16 MiB, at most 1 TiB. */
  uint32_t request_timeout_ms; /**< How long an answer may take; 0 is 30,000. */
  uint32_t requests_max;      /**< Requests in flight; 0 is 4, at most 64. */
  tl_open_hook open;          /**< Payload hook, or NULL to take payloads as they are. */
  void *open_context;         /**< Handed to `open`. */
  tl_drop_hook open_drop;     /**< Releases `open_context`, or NULL. */
  tl_log_hook log;            /**< Log hook, or NULL. */
  void *log_context;          /**< Handed to `log`. */
  tl_drop_hook log_drop;      /**< Releases `log_context`, or NULL. */
  tl_clock_hook clock;        /**< Clock hook, or NULL for the system's monotonic clock. */
  void *clock_context;        /**< Handed to `clock`. */
} tl_client_config;

/**
 * @brief Opens or creates a client's file.
 *
 * A failed opening changes nothing in an existing file.
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
 * deletion leaves behind cannot be read with any key; then the files go.
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
 * frames not yet taken are dropped.
 * @param client The client.
 * @return #TL_OK, or #TL_E_INVALID, #TL_E_CLOSED, #TL_E_STORAGE.
 */
TL_API TL_CHECK tl_status tl_client_disconnected(tl_client *client);

/**
 * @brief Hands in one frame from the server, whole.
 *
 * Everything the frame changes is committed when the call returns. A bad item
 * in a page is set aside and the rest is kept.
 * @param client The client.
 * @param frame One JSON object, at most 16 MiB.
 * @return #TL_OK; #TL_IGNORED for a type, or an answer, that is of no use here;
 *         #TL_QUARANTINED; or #TL_E_FRAME (not JSON, not UTF-8, not a frame),
 *         #TL_E_TOO_LARGE, #TL_E_OFFLINE (not connected), #TL_E_MISMATCH (the
 *         frame names another account), #TL_E_INVALID,
 *         #TL_E_CLOSED, #TL_E_STORAGE, #TL_E_FULL. After a failure nothing but
 *         a counter has changed.
 */
TL_API TL_CHECK tl_status tl_client_receive(tl_client *client, tl_view frame);

/** One frame to send, whole, as one message of the transport. */
typedef struct tl_frame {
  uint64_t id;   /**< Number to give to #tl_client_frame_sent. */
  tl_view bytes; /**< One JSON object without a line break. */
} tl_frame;

/**
 * @brief Takes the next frame to send.
 * @param client The client.
 * @param out The frame on #TL_OK, NULL otherwise. Free it with #tl_frame_free.
 * @return #TL_OK, #TL_NONE when there is nothing to send (the event descriptor
 *         is then cleared), or #TL_E_INVALID, #TL_E_CLOSED.
 */
TL_API TL_CHECK tl_status
tl_client_next_frame(tl_client *client, tl_frame **out);

/**
 * @brief Says that a frame has been written to the transport.
 *
 * The time-out of its request runs from here, or from the taking of the frame
 * where this is never called.
 * @param client The client.
 * @param id The frame's number. An unknown one is #TL_NONE.
 * @return #TL_OK, #TL_NONE, or #TL_E_INVALID, #TL_E_CLOSED.
 */
TL_API TL_CHECK tl_status tl_client_frame_sent(tl_client *client, uint64_t id);

/** @brief Releases a frame. @param frame The frame, or NULL. */
TL_API void tl_frame_free(tl_frame *frame);

/**
 * @brief Lets time act: time-outs and retries that are due.
 * @param client The client.
 * @param wait_ms Milliseconds until this should be called again, -1 when no
 *        deadline is set. May be handed to `poll`. NULL is allowed.
 * @return #TL_OK, or #TL_E_INVALID, #TL_E_CLOSED, #TL_E_STORAGE.
 */
TL_API TL_CHECK tl_status tl_client_advance(tl_client *client, int64_t *wait_ms);

/**
 * @brief Gives the descriptor that is readable when there is news.
 *
 * News are frames to send, changes to pull, ends of syncs. It is an eventfd
 * owned by the library: poll it, never read or close it. It is cleared by
 * #tl_client_next_frame when that returns #TL_NONE, so: drain the frames
 * first, then pull the changes. Valid until the client is freed.
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
  TL_PHASE_UP_TO_DATE = 2   /**< Connected, nothing under way. */
};

/** The client's overall state. Set `struct_size` before the call. */
typedef struct tl_state {
  uint32_t struct_size;        /**< `sizeof(tl_state)` of the caller. */
  tl_phase phase;              /**< What it is doing. */
  uint32_t syncs_left;         /**< Syncs queued or running. */
  uint32_t requests_in_flight; /**< Requests without an answer. */
  uint32_t frames_waiting;     /**< Frames to take. */
  uint32_t reconnect_wanted;   /**< 1: this connection is void; please reconnect. */
  uint32_t reads_pending;      /**< Read marks the server has not confirmed. */
  uint32_t reserved;           /**< Zero. */
  uint64_t change_seq;         /**< Number of the newest change. */
  int64_t as_of_us;            /**< Greatest server time seen, 0 for none. */
} tl_state;

/**
 * @brief Reads the client's overall state.
 * @param client The client.
 * @param out Filled on success.
 * @return #TL_OK, or #TL_E_INVALID, #TL_E_CLOSED, #TL_E_TOO_NEW.
 */
TL_API TL_CHECK tl_status tl_client_state(tl_client *client, tl_state *out);

/**
 * @brief Tells which account a frame is for, without a client.
 * @param frame One JSON object, at most 16 MiB.
 * @param out A view into `frame` of the raw JSON string contents, empty when
 *        the frame names no account.
 * @return #TL_OK, #TL_NONE when it names none, or #TL_E_INVALID, #TL_E_FRAME,
 *         #TL_E_TOO_LARGE.
 */
TL_API TL_CHECK tl_status tl_frame_account(tl_view frame, tl_view *out);

/** What a sync is to bring. */
typedef int32_t tl_sync_kind;
enum {
  TL_SYNC_LATEST = 0, /**< Catch up: everything newer than what is known, and deletions. */
  TL_SYNC_OLDER = 1   /**< Older messages below the newest known range, filling gaps. */
};

/** Where a sync may look. */
typedef int32_t tl_policy;
enum {
  TL_POLICY_CACHE_THEN_NETWORK = 0, /**< The cache answers now, the network when it can. */
  TL_POLICY_CACHE_ONLY = 1          /**< The cache only: ends at once, asks nothing. */
};

/** One request to sync a conversation. */
typedef struct tl_sync_request {
  uint32_t struct_size;  /**< `sizeof(tl_sync_request)` of the caller. */
  uint32_t flags;        /**< Must be zero. */
  tl_view conversation;  /**< Which conversation; at most 512 bytes. */
  tl_sync_kind kind;     /**< What to bring. */
  tl_policy policy;      /**< Where to look. */
  uint32_t want;         /**< For #TL_SYNC_OLDER: how many more messages; 0 is one page. */
  uint32_t pages_max;    /**< Give up after so many pages; 0 is no bound. */
} tl_sync_request;

/**
 * @brief Asks for a conversation to be synced.
 *
 * Returns at once. While offline the sync waits for a connection. An identical
 * sync that is already waiting or running is joined: its number is returned.
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
  TL_MESSAGE_CONFIRMED = 0 /**< The server has it. */
};

/** Flags of #tl_message. */
enum {
  TL_MESSAGE_MINE = 1u << 0,      /**< Sent by this user. */
  TL_MESSAGE_UNREAD = 1u << 1,    /**< Of another, not known to be read, and not marked read here. */
  TL_MESSAGE_EDITED = 1u << 2,    /**< Edited since it was sent. */
  TL_MESSAGE_DELETED = 1u << 3,   /**< The server shows it as deleted. */
  TL_MESSAGE_PINNED = 1u << 4,    /**< Pinned. */
  TL_MESSAGE_EVENT = 1u << 5,     /**< An event rather than a message. */
  TL_MESSAGE_SEALED = 1u << 6,    /**< The payload could not be opened yet; it is as it came. */
  TL_MESSAGE_UNVERIFIED = 1u << 7 /**< Lies outside every trusted range. */
};

/**
 * One message. Plain data; the views point into the batch it came in and are
 * valid until that batch is freed.
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
  tl_view rest;           /**< JSON object of all members not named above, verbatim, or empty. */
} tl_message;

/** Rows with the bytes behind them, in one allocation. Opaque. */
typedef struct tl_batch tl_batch;

/** Why a read gave fewer messages than were asked, or stopped. */
typedef int32_t tl_stop;
enum {
  TL_STOP_LIMIT = 0, /**< The limit was reached. */
  TL_STOP_START = 1, /**< The start of the conversation: nothing older exists. */
  TL_STOP_GAP = 2,   /**< Beyond lies a gap that only the network can fill. */
  TL_STOP_PRESENT = 3 /**< The newest message known; the server may have newer. */
};

/** A place where messages may be missing. */
typedef struct tl_gap {
  uint32_t before_row; /**< The gap lies before this row; the row count means behind the last one. */
  uint32_t poisoned;   /**< 1 when it hides an item that could not be read. */
  int64_t low_us;      /**< Server time at its older end, INT64_MIN for the start. */
  int64_t high_us;     /**< Server time at its newer end. */
} tl_gap;

/** How complete a page of messages is. */
typedef struct tl_coverage {
  uint32_t struct_size;      /**< `sizeof(tl_coverage)` of the caller. */
  uint32_t whole;            /**< 1: between the first and the last row nothing is missing. */
  tl_stop stop;              /**< Why it ends where it ends. */
  uint32_t gap_count;        /**< How many gaps touch the page. */
  const tl_gap *gaps;        /**< The gaps, oldest first; valid until the batch is freed. */
  int64_t deletions_as_of_us; /**< Server time up to which deletions are known, 0 for none. */
  int64_t content_as_of_us;  /**< Server time up to which the newest range was fetched, 0 for none. */
  int64_t total_count;       /**< The server's last count of the conversation, -1 for none. */
  uint64_t known_count;      /**< Messages of the conversation stored here, hidden ones included. */
} tl_coverage;

/** Where a read begins. */
typedef int32_t tl_from;
enum {
  TL_FROM_LATEST = 0, /**< The newest message, going older. */
  TL_FROM_OLDEST = 1, /**< The oldest message stored, going newer. */
  TL_FROM_BEFORE = 2, /**< Messages older than `number`. */
  TL_FROM_AFTER = 3,  /**< Messages newer than `number`. */
  TL_FROM_TIME = 4    /**< Messages at or after `time_us`, going newer. */
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
  uint32_t flags;       /**< Must be zero. */
  tl_view conversation; /**< Which conversation. */
  tl_from from;         /**< Where to begin. */
  tl_order order;       /**< Order of the rows. */
  uint64_t number;      /**< For #TL_FROM_BEFORE and #TL_FROM_AFTER: a message's number. */
  int64_t time_us;      /**< For #TL_FROM_TIME. */
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

/** What a change was. */
typedef int32_t tl_change_kind;
enum {
  TL_CHANGE_INSERTED = 1, /**< Messages appeared. */
  TL_CHANGE_UPDATED = 2,  /**< Messages changed. */
  TL_CHANGE_REMOVED = 3,  /**< Messages went. */
  TL_CHANGE_COVERAGE = 4  /**< What is trusted changed; no numbers. */
};

/** One entry of the change feed: messages of one conversation, one commit. */
typedef struct tl_change {
  uint64_t seq;         /**< Number of the entry; grows, survives restarts. */
  tl_change_kind kind;  /**< What happened. */
  uint32_t reserved;    /**< Zero. */
  uint64_t first;       /**< First message number concerned, 0 for none. */
  uint64_t last;        /**< Last message number concerned; numbers between may belong elsewhere. */
  tl_view conversation; /**< Conversation id. */
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

/* ------------------------------------------------------------------------ */
/* Act                                                                        */
/* ------------------------------------------------------------------------ */

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
/* Keep                                                                       */
/* ------------------------------------------------------------------------ */

/** Counters. Those of frames and requests count since the opening. */
typedef struct tl_stats {
  uint32_t struct_size;        /**< `sizeof(tl_stats)` of the caller. */
  uint32_t wal_frames_rejected; /**< Log frames rejected at the opening: a lost tail. */
  uint64_t conversations;      /**< Conversations known. */
  uint64_t messages;           /**< Messages stored, hidden ones included. */
  uint64_t tombstones;         /**< Deleted ids remembered. */
  uint64_t quarantined;        /**< Items set aside, in the file. */
  uint64_t frames_in;          /**< Frames received. */
  uint64_t frames_bad;         /**< Frames refused as #TL_E_FRAME or #TL_E_TOO_LARGE. */
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
} tl_stats;

/**
 * @brief Reads counters.
 * @param client The client.
 * @param out Filled on success. Set `struct_size` before the call.
 * @return #TL_OK, or #TL_E_INVALID, #TL_E_CLOSED, #TL_E_TOO_NEW, #TL_E_STORAGE.
 */
TL_API TL_CHECK tl_status tl_client_stats(tl_client *client, tl_stats *out);

#ifdef __cplusplus
}
#endif
#endif
