/* Full-text search of SQLite (FTS5) as it is, given the tokens that Tideline makes, over any build
   of SQLite that has it: a loadable extension, as storage.c is. */
#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT1

#include <dlfcn.h>

#include "bench.h"
#include "search_text.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT int sqlite3_storage_init(sqlite3 *db, char **error, const sqlite3_api_routines *api) {
  (void)db;
  (void)error;
  SQLITE_EXTENSION_INIT2(api);
  return SQLITE_OK;
}

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

/* Tokens that stand between spaces. */
static int make(void *context, const char **arguments, int count, Fts5Tokenizer **out) {
  (void)context, (void)arguments, (void)count;
  *out = (Fts5Tokenizer *)&made;
  return SQLITE_OK;
}

static void unmake(Fts5Tokenizer *tokenizer) { (void)tokenizer; }

static int cut(Fts5Tokenizer *tokenizer, void *context, int flags, const char *text, int size,
               int (*taken)(void *, int, const char *, int, int, int)) {
  (void)tokenizer;
  if (flags & FTS5_TOKENIZE_QUERY) return taken(context, 0, text, size, 0, size);
  for (int at = 0; at < size;) {
    const char *space = memchr(text + at, ' ', (size_t)(size - at));
    int end = space != NULL ? (int)(space - text) : size;
    int is_beside = text[at] == '|';
    int code = taken(context, is_beside ? FTS5_TOKEN_COLOCATED : 0, text + at + is_beside,
                     end - at - is_beside, at, end);
    if (code != SQLITE_OK) return code;
    at = end + 1;
  }
  return SQLITE_OK;
}

static void add_tokenizer(void) {
  fts5_api *api = NULL;
  fts5_tokenizer methods = {make, unmake, cut};
  sqlite3_stmt *statement = prepared("SELECT fts5(?1)");
  sqlite3_bind_pointer(statement, 1, &api, "fts5_api_ptr", NULL);
  sqlite3_step(statement);
  sqlite3_finalize(statement);
  if (api == NULL) fail("fts5", "it is not there");
  must(api->xCreateTokenizer(api, "made", NULL, &methods, NULL), "tokenizer");
}

static void open_file(const char *path, const char *prelude, long cache_kib) {
  static const uint8_t key[32] = {7};
  if (strncmp(prelude, "vault:", 6) == 0) {
    void *library = dlopen(prelude + 6, RTLD_NOW | RTLD_GLOBAL);
    if (library == NULL) fail("vault", dlerror());
    sqlite3 *(*open)(const char *, const uint8_t *);
    *(void **)&open = dlsym(library, "vault_open");
    if (open == NULL || (db = open(path, key)) == NULL) fail("vault", "no file");
  } else {
    must(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
                         SQLITE_OPEN_NOMUTEX, NULL), "open");
    if (prelude[0]) run(prelude);
  }
  char cache[64];
  snprintf(cache, sizeof cache, "PRAGMA cache_size=-%ld", cache_kib);
  run(cache);
  run("PRAGMA journal_mode=WAL;PRAGMA synchronous=NORMAL;PRAGMA temp_store=MEMORY;"
      "PRAGMA cache_spill=OFF;PRAGMA wal_autocheckpoint=2000");
  add_tokenizer();
}

/* The place of a message: its time, told apart by its conversation. */
static int64_t place(uint32_t conversation, uint64_t index) {
  return data_time(conversation, index) / 1000 * 1000 + conversation % 1000;
}

/* Newest first, 100 in a transaction, as a history is fetched. What makes the tokens is aside. */
static void each(uint64_t total, uint32_t conversations, sqlite3_stmt *insert, int is_index,
                 const char *figure) {
  static char tokens[1 << 16];
  stopwatch watch = {0};
  uint64_t text = 0, count = 0;
  for (uint32_t c = 0; c < conversations; c++) {
    for (uint64_t i = data_length(total, conversations, c); i > 0;) {
      uint64_t low = i > 100 ? i - 100 : 0;
      start(&watch);
      run("BEGIN");
      stop(&watch);
      for (; i > low; i--, count++) {
        data_make(c, i - 1, &made);
        const char *bytes = is_index ? tokens : made.json + made.payload_at;
        size_t size = is_index ? search_tokens(c, i - 1, &made, tokens, sizeof tokens)
                               : made.payload_size;
        text += search_text_size(c, i - 1);
        sqlite3_bind_int64(insert, 1, place(c, i - 1));
        start(&watch);
        sqlite3_bind_text(insert, 2, bytes, (int)size, SQLITE_STATIC);
        must(sqlite3_step(insert), figure);
        sqlite3_reset(insert);
        stop(&watch);
      }
      start(&watch);
      run("COMMIT");
      stop(&watch);
    }
  }
  sqlite3_finalize(insert);
  told(figure, count, watch.total);
  said("text_bytes", (double)text);
}

/* What is asked, so often: ids, then the text of each. */
static void ask(const char *figure, const char *sql, const char *asked, uint32_t times) {
  stopwatch watch = {0};
  static char copied[1 << 16];
  size_t rows = 0;
  sqlite3_stmt *find = prepared(sql), *read = prepared("SELECT text FROM m WHERE id=?");
  for (uint32_t i = 0; i <= times; i++) {
    if (i == 1) watch.total = 0;
    rows = 0;
    start(&watch);
    sqlite3_bind_text(find, 1, asked, -1, SQLITE_STATIC);
    while (sqlite3_step(find) == SQLITE_ROW) {
      sqlite3_bind_int64(read, 1, sqlite3_column_int64(find, 0));
      if (sqlite3_step(read) == SQLITE_ROW)
        memcpy(copied, sqlite3_column_blob(read, 0), (size_t)sqlite3_column_bytes(read, 0));
      sqlite3_reset(read);
      rows++;
    }
    sqlite3_reset(find);
    stop(&watch);
  }
  sqlite3_finalize(find);
  sqlite3_finalize(read);
  told(figure, times, watch.total);
  printf("{\"figure\":\"%s_rows\",\"value\":%zu}\n", figure, rows);
}

static void likes(void) {
  static const char like[] =
      "SELECT id FROM m WHERE text LIKE ? ORDER BY id DESC LIMIT 50";
  ask("like_common", like, "%hojn%", 3);
  ask("like_rare", like, "%vzácn%", 1);
}

static void queries(uint32_t conversations) {
  static const char sql[] = "SELECT rowid FROM s WHERE s MATCH ? ORDER BY rowid DESC LIMIT 50";
  static const char best[] = "SELECT rowid FROM s WHERE s MATCH ? ORDER BY rank LIMIT 50";
  char filtered[64], beginning[1024] = "(";
  snprintf(filtered, sizeof filtered, "\"hojny\" AND \"\3c%u\"", conversations / 2 + 1);
  for (char letter = 'a'; letter <= 'z'; letter++) {
    char one[32];
    snprintf(one, sizeof one, "%s\"hojnosti%c\"", letter > 'a' ? " OR " : "", letter);
    strcat(beginning, one);
  }
  strcat(beginning, ")");
  ask("common", sql, "\"hojny\"", 200);
  ask("unmarked", sql, "\"hojny\"", 200);
  ask("rare", sql, "\"vzacny\"", 200);
  ask("pair", sql, "\"" SEARCH_PAIR "\"", 200);
  ask("prefix2", sql, "\"\1ho\"", 200);
  ask("prefix3", sql, "\"\1hoj\"", 200);
  ask("prefix4", sql, "\"\1hojn\"", 200);
  ask("prefix8", sql, beginning, 200);
  ask("filtered", sql, filtered, 200);
  ask("prefix1", sql, "\"h\" *", 3);
  ask("ranked", best, "\"hojny\"", 5);
}

/* argv: path, prelude, total, conversations, cache in KiB, command. */
EXPORT int bench_run(int argc, const char *const *argv) {
  if (argc < 6) return 2;
  uint64_t total = strtoull(argv[2], NULL, 10);
  uint32_t conversations = (uint32_t)strtoul(argv[3], NULL, 10);
  open_file(argv[0], argv[1], atol(argv[4]));
  if (strcmp(argv[5], "ingest") == 0) {
    run("CREATE VIRTUAL TABLE s USING fts5(x, content='', columnsize=0, tokenize='made')");
    each(total, conversations, prepared("INSERT INTO s (rowid, x) VALUES (?, ?)"), 1, "fts5");
  } else if (strcmp(argv[5], "optimize") == 0) {
    stopwatch watch = {0};
    start(&watch);
    run("INSERT INTO s (s) VALUES ('optimize')");
    stop(&watch);
    told("optimize", 1, watch.total);
    sqlite3_stmt *size = prepared("SELECT sum(length(block) + 8) FROM s_data");
    must(sqlite3_step(size), "size");
    said("index_bytes", (double)sqlite3_column_int64(size, 0));
    sqlite3_finalize(size);
  } else if (strcmp(argv[5], "table") == 0) {
    run("CREATE TABLE m (id INTEGER PRIMARY KEY, text BLOB)");
    each(total, conversations, prepared("INSERT OR IGNORE INTO m VALUES (?, ?)"), 0, "table");
  } else if (strcmp(argv[5], "queries") == 0) queries(conversations);
  else if (strcmp(argv[5], "likes") == 0) likes();
  else return 2;
  sqlite3_close_v2(db);
  return 0;
}
