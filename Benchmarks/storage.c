/* The storage part alone, over any build of SQLite: what Tideline's store keeps, as ready rows, in
   the same tables with the same indexes, in the same batches with the same durability. It is a
   loadable extension, so that one program runs over every library that can load one. */
#ifdef BENCH_COUNT
#include <sqlite3.h>
#else
#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT1
#endif

#include <dlfcn.h>

#include "bench.h"
#include "data.h"

#define EXPORT __attribute__((visibility("default")))

#ifndef BENCH_COUNT
EXPORT int sqlite3_storage_init(sqlite3 *db, char **error, const sqlite3_api_routines *api) {
  (void)db;
  (void)error;
  SQLITE_EXTENSION_INIT2(api);
  return SQLITE_OK;
}
#endif

static sqlite3 *db;
static data_message made;

static void must(int code, const char *what) {
  if (code == SQLITE_OK || code == SQLITE_DONE || code == SQLITE_ROW) return;
  fail(what, db != NULL ? sqlite3_errmsg(db) : "no database");
}

static void run(const char *sql) { must(sqlite3_exec(db, sql, NULL, NULL, NULL), sql); }

static sqlite3_stmt *prepared(const char *sql) {
  sqlite3_stmt *statement = NULL;
  must(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), sql);
  return statement;
}

/* The vault alone: a library that opens a sealed file over the SQLite of this process. */
static struct {
  sqlite3 *(*open)(const char *path, const uint8_t *key);
  void (*close)(void);
} vault;

/* A prelude that names the vault's library is no SQL. */
static const char *loaded(const char *prelude) {
  if (strncmp(prelude, "vault:", 6) != 0) return prelude;
  void *library = dlopen(prelude + 6, RTLD_NOW | RTLD_GLOBAL);
  if (library == NULL) fail("vault", dlerror());
  *(void **)&vault.open = dlsym(library, "vault_open");
  *(void **)&vault.close = dlsym(library, "vault_close");
  if (vault.open == NULL || vault.close == NULL) fail("vault", dlerror());
  return "";
}

/* `prelude` gives the key; `schema` makes the tables, or is empty. */
static void open_file(const char *path, const char *prelude, const char *schema, long cache_kib) {
  static const uint8_t key[32] = {7};
  if (vault.open != NULL) {
    db = vault.open(path, key);
    if (db == NULL) fail("vault", "no file");
  } else {
    must(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
                         SQLITE_OPEN_NOMUTEX, NULL), "open");
  }
  if (prelude[0]) run(prelude);
  if (schema[0]) run("PRAGMA page_size=4096");
  char cache[64];
  snprintf(cache, sizeof cache, "PRAGMA cache_size=-%ld", cache_kib);
  run(cache);
  run("PRAGMA journal_mode=WAL;PRAGMA synchronous=NORMAL;PRAGMA temp_store=MEMORY;"
      "PRAGMA cache_spill=OFF;PRAGMA wal_autocheckpoint=2000");
  if (schema[0]) run(schema);
}

static void shut(void) {
  must(sqlite3_close(db), "close");
  db = NULL;
  if (vault.close != NULL) vault.close();
}

static const char insert_sql[] =
    "INSERT INTO message (cid, time, key, number, flags, lsn, issued, marked, version, edited_us,"
    " sender, stamp, reply_to, reactions, read_by, payload, rest, raw, sent_us, pin_issued,"
    " reactions_version, delivered_by, listened_by)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

static void bind(sqlite3_stmt *s, int at, const data_message *m, size_t from, size_t size) {
  if (size == 0) sqlite3_bind_null(s, at);
  else sqlite3_bind_blob(s, at, m->json + from, (int)size, SQLITE_STATIC);
}

static void insert(sqlite3_stmt *s, uint32_t conversation, const data_message *m, int64_t number) {
  sqlite3_bind_int64(s, 1, conversation + 1);
  sqlite3_bind_int64(s, 2, m->time_us);
  bind(s, 3, m, m->id_at, m->id_size);
  sqlite3_bind_int64(s, 4, number);
  sqlite3_bind_int64(s, 5, 0);
  for (int i = 6; i <= 8; i++) sqlite3_bind_int64(s, i, number);
  bind(s, 11, m, m->sender_at, m->sender_size);
  bind(s, 12, m, m->stamp_at, m->stamp_size);
  bind(s, 13, m, m->reply_at, m->reply_size);
  bind(s, 14, m, m->reactions_at, m->reactions_size);
  bind(s, 15, m, m->read_at, m->read_size);
  bind(s, 16, m, m->payload_at, m->payload_size);
  sqlite3_bind_blob(s, 17, "", 0, SQLITE_STATIC);
  must(sqlite3_step(s), "insert");
  must(sqlite3_reset(s), "insert");
}

/* Pages from the newest back, as a client that fetches a history gets them. */
static void ingest(uint64_t total, uint32_t conversations, uint32_t page) {
  data_message *batch = malloc(page * sizeof *batch);
  if (batch == NULL) fail("ingest", "no memory");
  sqlite3_stmt *s = prepared(insert_sql);
  sqlite3_stmt *room = prepared("INSERT INTO conversation (cid, id) VALUES (?, ?)");
  stopwatch watch = {0};
  int64_t number = 0;
  for (uint32_t c = 0; c < conversations; c++) {
    char name[32];
    int size = snprintf(name, sizeof name, "room-%05u", c);
    sqlite3_bind_int64(room, 1, c + 1);
    sqlite3_bind_blob(room, 2, name, size, SQLITE_STATIC);
    start(&watch);
    must(sqlite3_step(room), "room");
    must(sqlite3_reset(room), "room");
    stop(&watch);
    uint64_t left = data_length(total, conversations, c);
    while (left > 0) {
      uint32_t count = left < page ? (uint32_t)left : page;
      for (uint32_t i = 0; i < count; i++) data_make(c, left - count + i, &batch[i]);
      start(&watch);
      run("BEGIN IMMEDIATE");
      for (uint32_t i = 0; i < count; i++) insert(s, c, &batch[i], ++number);
      run("COMMIT");
      stop(&watch);
      left -= count;
    }
  }
  sqlite3_finalize(s);
  sqlite3_finalize(room);
  start(&watch);
  shut();
  stop(&watch);
  told("ingest", total, watch.total);
  free(batch);
}

/* One message a commit, at the end of one conversation. */
static void live(uint64_t from, uint32_t count, const char *mode) {
  char pragma[64];
  snprintf(pragma, sizeof pragma, "PRAGMA synchronous=%s", mode);
  run(pragma);
  sqlite3_stmt *s = prepared(insert_sql);
  stopwatch watch = {0};
  for (uint32_t i = 0; i < count; i++) {
    data_make(0, from + i, &made);
    start(&watch);
    insert(s, 0, &made, (int64_t)(1u << 30) + (int64_t)from + i);
    stop(&watch);
  }
  sqlite3_finalize(s);
  told(strcmp(mode, "FULL") == 0 ? "live_full" : "live_normal", count, watch.total);
}

/* The same with what an update means beside its row, in one transaction as Tideline's store writes
   it: the end of the range that it proves, counts and watermark with the conversation, its ref, the
   change that is told. What it is checked against is left out. */
static void facts(uint64_t from, uint32_t count) {
  static const char room_sql[] =
      "UPDATE conversation SET fetch_us = ?, fetch_text = ?, message_count = message_count + 1,"
      " top_time = ?, top_id = ?, unread_count = unread_count + 1, unread_more = ? WHERE cid = 1";
  static const char meta_sql[] =
      "UPDATE meta SET lsn = ?, last_number = ?, last_change = ?, server_time = ?,"
      " recent_changes = ?, recent_refs = ? WHERE one = 1";
  static const uint8_t recent[2048];
  run("INSERT OR IGNORE INTO meta (one, account, user, position_kind, cache_form)"
      " VALUES (1, x'', x'', 0, 1)");
  sqlite3_stmt *begin = prepared("BEGIN IMMEDIATE"), *commit = prepared("COMMIT");
  sqlite3_stmt *s = prepared(insert_sql), *room = prepared(room_sql), *meta = prepared(meta_sql);
  stopwatch watch = {0};
  for (uint32_t i = 0; i < count; i++) {
    int64_t number = (int64_t)(1u << 30) + (int64_t)from + i;
    data_make(0, from + i, &made);
    start(&watch);
    must(sqlite3_step(begin), "begin");
    sqlite3_reset(begin);
    insert(s, 0, &made, number);
    sqlite3_bind_int64(room, 1, made.time_us);
    bind(room, 2, &made, made.stamp_at, made.stamp_size);
    sqlite3_bind_int64(room, 3, made.time_us);
    bind(room, 4, &made, made.id_at, made.id_size);
    sqlite3_bind_int64(room, 5, number);
    must(sqlite3_step(room), "conversation");
    sqlite3_reset(room);
    for (int at = 1; at <= 3; at++) sqlite3_bind_int64(meta, at, number);
    sqlite3_bind_int64(meta, 4, made.time_us);
    /* The newest 64 changes of 32 bytes and the newest refs: half full on the average. */
    sqlite3_bind_blob(meta, 5, recent, 32 + (int)(i % 64) * 32, SQLITE_STATIC);
    sqlite3_bind_blob(meta, 6, recent, 20 + (int)(i % 50) * 20, SQLITE_STATIC);
    must(sqlite3_step(meta), "meta");
    sqlite3_reset(meta);
    must(sqlite3_step(commit), "commit");
    sqlite3_reset(commit);
    stop(&watch);
  }
  sqlite3_stmt *all[] = {begin, commit, s, room, meta};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) sqlite3_finalize(all[i]);
  told("live_facts", count, watch.total);
}

static const char older_sql[] =
    "SELECT number, time, flags, lsn, key, sender, stamp, payload, reply_to, reactions, read_by,"
    " rest, sent_us, delivered_by, listened_by FROM message"
    " WHERE cid = ? AND (time, key) < (?, ?) AND flags & 1408 = 0"
    " ORDER BY time DESC, key DESC LIMIT ?";

typedef struct column {
  const uint8_t *data;
  size_t size;
} column;

typedef struct row {
  int64_t number, time, flags, lsn;
  column texts[11];
} row;

/* Copies one page of rows to memory of its own; gives the oldest row's key. */
static uint32_t page(sqlite3_stmt *s, uint32_t conversation, int64_t *time, column *id,
                     uint32_t limit, row *rows, uint8_t *bytes, size_t room) {
  uint32_t count = 0;
  size_t used = 0;
  sqlite3_bind_int64(s, 1, conversation + 1);
  sqlite3_bind_int64(s, 2, *time);
  sqlite3_bind_blob(s, 3, id->size ? (const void *)id->data : "", (int)id->size,
                    SQLITE_TRANSIENT);
  sqlite3_bind_int64(s, 4, limit);
  int code;
  while ((code = sqlite3_step(s)) == SQLITE_ROW) {
    row *r = &rows[count++];
    r->number = sqlite3_column_int64(s, 0);
    r->time = sqlite3_column_int64(s, 1);
    r->flags = sqlite3_column_int64(s, 2);
    r->lsn = sqlite3_column_int64(s, 3);
    for (int i = 4; i < 15; i++) {
      const void *data = sqlite3_column_blob(s, i);
      size_t size = (size_t)sqlite3_column_bytes(s, i);
      if (used + size > room) fail("page", "too small");
      if (size > 0) memcpy(bytes + used, data, size);
      r->texts[i - 4] = (column){bytes + used, size};
      used += size;
    }
  }
  must(code, "page");
  must(sqlite3_reset(s), "page");
  if (count > 0) {
    *time = rows[count - 1].time;
    *id = rows[count - 1].texts[0];
  }
  return count;
}

enum { ROWS = 50, ROOM = 1 << 20 };
static row rows[ROWS];
static uint8_t bytes[2][ROOM];

/* What a window says beside its rows, read as Tideline's store reads it: what is known of the
   server and counted, what waits to be sent, the conversation with its watermarks and counts, its
   ranges and doubts, what could not be read, the keys of the screen. */
static void facts_of_screen(void) {
  static const char *const texts[] = {
      "SELECT server_time, largest_page, overlap_us, epoch, restored_lsn, clock_ahead, account,"
      " user, position_kind, cache_form, lsn, last_number, last_change, trimmed_change,"
      " last_operation, recent_changes, recent_refs FROM meta WHERE one = 1",
      "SELECT seq, verb, cid, state, depends, waits, attempts FROM operation"
      " INDEXED BY operation_open WHERE verb >= 10 AND state != 4 AND seq > 0 ORDER BY seq",
      "SELECT cid, id, fetch_us, fetch_text, deletions_us, deletions_text, lowest_since_us,"
      " total_count, restored_lsn, audited_total, audited_count, marks_us, marks_text, is_pending,"
      " deleted_lsn, top_time, top_id FROM conversation WHERE id = CAST('room-00000' AS BLOB)",
      "SELECT low_time, low_id, high_time, high_id FROM span WHERE cid = 1 AND kind = 0"
      " ORDER BY low_time, low_id",
      "SELECT low_time, low_id, high_time, high_id FROM span WHERE cid = 1 AND kind = 1"
      " ORDER BY low_time, low_id",
      "SELECT 1 FROM quarantine WHERE cid = 1 LIMIT 1",
      "SELECT number, time, key, lsn, flags FROM message WHERE cid = 1"
      " ORDER BY time DESC, key DESC LIMIT 50",
      "SELECT read_time, read_id, read_named, unread_count, server_unread, counted_time,"
      " counted_id, unread_fewer, unread_more, counted_lsn,"
      " message_count FROM conversation WHERE cid = 1",
  };
  run("BEGIN");
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    sqlite3_stmt *s = prepared(texts[i]);
    int code;
    while ((code = sqlite3_step(s)) == SQLITE_ROW) {}
    must(code, texts[i]);
    sqlite3_finalize(s);
  }
}

/* One screen of 50 at a place of a conversation; gives how many rows it had. */
static uint32_t screen(sqlite3_stmt *s, uint32_t conversation, int64_t time) {
  column id = {NULL, 0};
  return page(s, conversation, &time, &id, ROWS, rows, bytes[0], ROOM);
}

static void windows(uint32_t conversations, uint32_t count, const char *figure) {
  sqlite3_stmt *s = prepared(older_sql);
  stopwatch watch = {0};
  for (uint32_t i = 0; i < count; i++) {
    start(&watch);
    if (screen(s, i % conversations, INT64_MAX) == 0) fail(figure, "an empty screen");
    stop(&watch);
  }
  sqlite3_finalize(s);
  told(figure, count, watch.total);
}

static void scroll(uint32_t count) {
  sqlite3_stmt *s = prepared(older_sql);
  stopwatch watch = {0};
  int64_t time = INT64_MAX;
  column id = {NULL, 0};
  uint32_t seen = 0;
  start(&watch);
  for (int turn = 0; seen < count; turn ^= 1) {
    uint32_t found = page(s, 0, &time, &id, ROWS, rows, bytes[turn], ROOM);
    if (found == 0) break;
    seen += found;
  }
  stop(&watch);
  sqlite3_finalize(s);
  told("scroll", seen, watch.total);
}

static void jumps(uint64_t total, uint32_t conversations, uint32_t count) {
  sqlite3_stmt *s = prepared(older_sql);
  stopwatch watch = {0};
  for (uint32_t i = 0; i < count; i++) {
    uint32_t c = i % conversations;
    int64_t middle = data_time(c, data_length(total, conversations, c) / 2);
    start(&watch);
    (void)screen(s, c, middle);
    stop(&watch);
  }
  sqlite3_finalize(s);
  told("jump", count, watch.total);
}

/* The list: for each conversation its newest message, ordered by when that was. */
static void list(uint32_t count) {
  sqlite3_stmt *s = prepared(
      "SELECT c.cid, c.id, c.unread_count, m.time, m.key, m.sender, m.payload, m.flags"
      " FROM conversation c JOIN message m ON (m.cid, m.time, m.key) = (SELECT cid, time, key"
      " FROM message WHERE cid = c.cid ORDER BY time DESC, key DESC LIMIT 1)"
      " ORDER BY m.time DESC");
  stopwatch watch = {0};
  uint64_t seen = 0;
  for (uint32_t i = 0; i < count; i++) {
    size_t used = 0;
    start(&watch);
    while (sqlite3_step(s) == SQLITE_ROW) {
      for (int column = 0; column < 8; column++) {
        size_t size = (size_t)sqlite3_column_bytes(s, column);
        const void *data = sqlite3_column_blob(s, column);
        if (used + size > ROOM) fail("list", "too small");
        if (size > 0) memcpy(bytes[0] + used, data, size);
        used += size;
      }
      seen++;
    }
    must(sqlite3_reset(s), "list");
    stop(&watch);
  }
  sqlite3_finalize(s);
  told("list", count, watch.total);
  if (seen == 0) fail("list", "empty");
}

static void deletes(uint64_t length, uint32_t count) {
  if (count > length / 2) count = (uint32_t)(length / 2);
  sqlite3_stmt *find = prepared("SELECT time FROM message WHERE cid = 1 AND id = ?");
  sqlite3_stmt *gone = prepared("DELETE FROM message WHERE cid = 1 AND time = ? AND key = ?");
  sqlite3_stmt *mark = prepared("INSERT INTO tombstone (cid, id, lsn) VALUES (1, ?, 1)");
  stopwatch watch = {0};
  char (*ids)[36] = malloc(count * sizeof *ids);
  if (ids == NULL) fail("deletes", "no memory");
  for (uint32_t i = 0; i < count; i++) data_id(0, length - 1 - 2 * (uint64_t)i, ids[i]);
  start(&watch);
  run("BEGIN IMMEDIATE");
  for (uint32_t i = 0; i < count; i++) {
    sqlite3_bind_blob(find, 1, ids[i], 36, SQLITE_STATIC);
    if (sqlite3_step(find) != SQLITE_ROW) fail("deletes", "not there");
    sqlite3_bind_int64(gone, 1, sqlite3_column_int64(find, 0));
    sqlite3_bind_blob(gone, 2, ids[i], 36, SQLITE_STATIC);
    must(sqlite3_step(gone), "delete");
    sqlite3_bind_blob(mark, 1, ids[i], 36, SQLITE_STATIC);
    must(sqlite3_step(mark), "tombstone");
    sqlite3_reset(find);
    sqlite3_reset(gone);
    sqlite3_reset(mark);
  }
  run("COMMIT");
  stop(&watch);
  sqlite3_finalize(find);
  sqlite3_finalize(gone);
  sqlite3_finalize(mark);
  free(ids);
  told("deletes", count, watch.total);
}

static char *whole(const char *path) {
  static char text[1 << 16];
  FILE *file = fopen(path, "r");
  if (file == NULL) fail(path, "cannot be read");
  text[fread(text, 1, sizeof text - 1, file)] = 0;
  fclose(file);
  return text;
}

/* One reading figure, so often; false for a name of none. */
static int counted(const char *figure, uint64_t total, uint32_t conversations, uint32_t count) {
  if (strcmp(figure, "warm") == 0) windows(1, count, figure);
  else if (strcmp(figure, "spread") == 0) windows(conversations, count, figure);
  else if (strcmp(figure, "jump") == 0) jumps(total, conversations, count);
  else if (strcmp(figure, "scroll") == 0) scroll(20 * count);
  else if (strcmp(figure, "list") == 0) list(count);
  else return 0;
  return 1;
}

/* argv: path, prelude, file of the schema, total, conversations, cache in KiB, command, and with
   `count` the figure. */
EXPORT int bench_run(int argc, const char *const *argv) {
  if (argc < 7) return 2;
  const char *path = argv[0], *prelude = loaded(argv[1]), *command = argv[6];
  uint64_t total = strtoull(argv[3], NULL, 10);
  uint32_t conversations = (uint32_t)strtoul(argv[4], NULL, 10);
  long cache = atol(argv[5]);
  uint64_t length = data_length(total, conversations, 0);
  if (strcmp(command, "ingest") == 0) {
    open_file(path, prelude, whole(argv[2]), cache);
    ingest(total, conversations, 100);
    return 0;
  }
  if (strcmp(command, "cold") == 0 || strcmp(command, "cold_facts") == 0) {
    int is_bare = strcmp(command, "cold") == 0;
    forget_file(path);
    stopwatch watch = {0};
    start(&watch);
    open_file(path, prelude, "", cache);
    stop(&watch);
    if (is_bare) told("open", 1, watch.total);
    start(&watch);
    if (!is_bare) facts_of_screen();
    sqlite3_stmt *s = prepared(older_sql);
    if (screen(s, 0, INT64_MAX) == 0) fail(command, "an empty screen");
    if (!is_bare) run("COMMIT");
    stop(&watch);
    sqlite3_finalize(s);
    told(command, 1, watch.total);
    shut();
    return 0;
  }
  open_file(path, prelude, "", cache);
  if (strcmp(command, "count") == 0 && argc > 7) {
    if (!counted(argv[7], total, conversations, conversations)) return 2;
    CALLGRIND_ZERO_STATS;
    counted(argv[7], total, conversations, 50);
  } else if (strcmp(command, "live_normal") == 0) live(length, LIVE, "NORMAL");
  else if (strcmp(command, "live_full") == 0) live(length + 10000, 500, "FULL");
  else if (strcmp(command, "live_facts") == 0) facts(length + 20000, LIVE);
  else if (strcmp(command, "read") == 0) {
    windows(1, 1, "first");
    windows(1, 5000, "warm");
    windows(conversations, 5000, "spread");
    scroll(2000);
    jumps(total, conversations, 1000);
    list(20);
    said("memory_kib", (double)memory_kib("VmRSS"));
  } else if (strcmp(command, "deletes") == 0) deletes(length, DELETES);
  else return 2;
  shut();
  return 0;
}
