/** What only C can say: variadic functions of SQLite, and a call that one system alone has. */
#ifndef TIDELINE_SUPPORT_H
#define TIDELINE_SUPPORT_H

#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

/** `sqlite3_db_config` with an on/off option. Returns its result code. */
int tideline_db_config_flag(sqlite3 *db, int option, int on);

/** `sqlite3_config` with an on/off option. Returns its result code. */
int tideline_config_flag(int option, int on);

/** `SQLITE_TRANSIENT`, which Swift cannot import. */
sqlite3_destructor_type tideline_transient(void);

/**
 * Opens the file at `path` and locks it for this descriptor: another one is refused, also one of
 * this process that a second copy of the library has opened. The lock lies on one byte that SQLite
 * locks for nobody. Closing other descriptors of the file does not end it, unlike the lock of
 * SQLite. A child that is forked closes its copy, so the lock ends with this process.
 *
 * Returns a descriptor of 3 or more; -1 where the file cannot be opened; -2 where it is locked, or
 * somebody has put another file than that of `device` and `inode` in its place; -3 where the lock
 * failed; -4 where no descriptor is left. On a system without such locks there is none.
 */
int tideline_lock_file(const char *path, uint64_t device, uint64_t inode, int reads_only);

/**
 * Reads the beginning of a file by a descriptor that this process has open for reading already; its
 * position stays. Opening the file anew and closing that would drop all POSIX locks that the
 * process has on it. Returns how many bytes were read, or -1 where there is no such descriptor, or
 * the system does not say which there are.
 */
int64_t tideline_read_held(uint64_t device, uint64_t inode, uint8_t *out, size_t size);

/**
 * Reads the beginning of the file at `path`, which this process has not open, where it is that of
 * `device` and `inode`. Returns how many bytes were read, or -1.
 */
int64_t tideline_read_start(
    const char *path, uint64_t device, uint64_t inode, uint8_t *out, size_t size);

/** 0 where no file can be opened, since the process or the system has no descriptor left. */
int tideline_has_descriptor(void);

/** 1 where somebody has locked the file at `path` so. It is opened for reading only. */
int tideline_is_locked(const char *path);

/**
 * Returns a descriptor that can be read once somebody who could write to the file at `path` has
 * closed it, or its name was taken away; -1 where the system has none left, -2 where there is no
 * such file, -3 where the path leads to none.
 */
int tideline_watch_file(const char *path);

/** Ends the lock and closes what `tideline_lock_file` gave. */
void tideline_unlock_file(int descriptor);

/**
 * Gives the file at `path` the name of that at `other`, in one step, and makes that durable.
 * Returns 0 where they have changed names; 1 where the file system cannot do that, and the one at
 * `other` has no name any more; -1 where nothing has changed, -2 likewise for want of room, -3
 * where it is not known what survives a loss of power.
 */
int tideline_exchange_files(const char *path, const char *other);

/**
 * Gives the file at `path` the name of that at `other`, which is gone then, and makes that durable.
 * Returns 0; -1 where nothing has changed, -2 likewise for want of room, -3 where it is not known
 * what survives a loss of power.
 */
int tideline_replace_file(const char *path, const char *other);

/**
 * Opens `path` to be named in `tideline_start_write` alone: nothing is made, read or
 * waited for. Returns a descriptor, or -1: also where the system has no such call, and
 * where another name leads to the file, for closing it would drop the locks on that.
 */
int tideline_open_hint(const char *path);

/** Closes what `tideline_open_hint` gave. */
void tideline_close_hint(int descriptor);

/**
 * Starts to bring a range of a file to its disk, and does not wait for that. Returns 1 where
 * the file system said that it could not, else 0, which says nothing.
 */
int tideline_start_write(int descriptor, int64_t at, int64_t count);

/**
 * An open file of a vault. SQLite sees its first member only, which is why the
 * layout is fixed in C. The file underneath lies right behind it in memory.
 */
typedef struct tideline_file {
  sqlite3_file head;      /**< What SQLite knows. */
  sqlite3_file *base;     /**< The file underneath. */
  void *vault;            /**< The vault, retained while the file is open. */
  const uint8_t *page_key; /**< Key of pages, in the main file and in frames. */
  const uint8_t *log_key; /**< Key of the log's header and of its frames' headers. */
  uint8_t *unit;          /**< Room for one unit. */
  uint8_t *bound;         /**< Associated data of the unit at hand. */
  uint8_t *pending;       /**< Frame header that waits for its page. */
  int64_t pending_frame;  /**< Frame that header belongs to, or 0. */
  int64_t whole_frame;    /**< Frame that was just read whole, or 0. */
  uint8_t *batch;         /**< Frames of one commit that wait to be written at once, or NULL. */
  int64_t batch_first;    /**< Number of the first of them. */
  int64_t batch_count;    /**< How many they are. */
  int64_t page_count;     /**< Pages known to be on disk. */
  int64_t least_pages;    /**< Pages that page 1 names, as it was last read. */
  const char *name;       /**< Where the file is; SQLite's, and there while the file is open. */
  int32_t synced_steps;   /**< Writes of the log in a row, each on disk before the next. */
  int32_t hint;           /**< 1 more than a descriptor that starts writes; 0 none, -1 never. */
  int32_t writer;         /**< 1 for files of the writing connection. */
  int32_t flags;          /**< Header flags of the file. */
  int32_t scrubs;         /**< 1 where unused bytes of pages are overwritten. */
} tideline_file;

/** An open file on a storage of the host's, with the locks that it holds. */
typedef struct tideline_stored_file {
  sqlite3_file head; /**< What SQLite knows. */
  void *session;     /**< The session, retained while the file is open. */
  int32_t object;    /**< Which object of the name. */
  int32_t level;     /**< Lock on the main file. */
  uint32_t shared;   /**< Slots of the index that it holds with others, as bits. */
  uint32_t alone;    /**< Slots that it holds alone. */
  int32_t mapped;    /**< 1 once it uses the index. */
} tideline_stored_file;

#endif
