/* Memory of a process that has a file open, without Python in it: after the opening, after a screen
   of each conversation, with a window of 10,000 rows, and after that is gone. With IDLE_PLAIN it is
   plain SQLite that copies as many rows.

     idle FILE CONVERSATIONS CACHE-KIB */
#ifdef IDLE_PLAIN
#include <sqlite3.h>
#else
#include <tideline.h>
#endif

#include "bench.h"

enum { SCREEN = 50, LONG = 10000 };

#ifdef IDLE_PLAIN

static sqlite3 *db;

static void open_store(const char *path, long cache_kib) {
  char pragma[64];
  if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK) fail(path, "open");
  snprintf(pragma, sizeof pragma, "PRAGMA cache_size=-%ld", cache_kib);
  if (sqlite3_exec(db, pragma, NULL, NULL, NULL) != SQLITE_OK) fail(pragma, "refused");
}

/* Copies rows to memory of its own, as a window keeps them; gives how many. */
static uint32_t show(uint32_t conversation, uint32_t count, int holds) {
  sqlite3_stmt *s = NULL;
  if (sqlite3_prepare_v2(db, "SELECT number, time, flags, lsn, id FROM message WHERE cid = ?"
                         " ORDER BY time DESC, id DESC LIMIT ?", -1, &s, NULL) != SQLITE_OK) {
    fail("show", sqlite3_errmsg(db));
  }
  sqlite3_bind_int64(s, 1, conversation + 1);
  sqlite3_bind_int64(s, 2, count);
  uint8_t (*rows)[72] = malloc((size_t)count * sizeof *rows);
  uint32_t found = 0;
  if (rows == NULL) fail("show", "no memory");
  while (sqlite3_step(s) == SQLITE_ROW) {
    for (int i = 0; i < 4; i++) {
      sqlite3_int64 value = sqlite3_column_int64(s, i);
      memcpy(rows[found] + 8 * i, &value, sizeof value);
    }
    int size = sqlite3_column_bytes(s, 4);
    memcpy(rows[found] + 32, sqlite3_column_blob(s, 4), size < 40 ? (size_t)size : 40);
    found++;
  }
  sqlite3_finalize(s);
  if (holds) said("long_kib", (double)memory_kib("VmRSS"));
  free(rows);
  return found;
}

static void shut(void) { sqlite3_close(db); }

#else

static tl_client *client;

static tl_view text(const char *s) { return (tl_view){(const uint8_t *)s, strlen(s)}; }

static void must(tl_status status, const char *what) {
  if (status < TL_OK) fail(what, tl_last_error());
}

static void open_store(const char *path, long cache_kib) {
  static const uint8_t key[TL_KEY_BYTES] = {7};
  static tl_profile profile;
  profile.struct_size = sizeof profile;
  profile.flags = TL_PROFILE_PUSH_LOSSLESS;
  profile.page_limit = 100;
  profile.truncates = TL_TRUNCATES_NEWEST;
  profile.capabilities = TL_SERVER_BEFORE | TL_SERVER_ENVELOPE;
  profile.time_resolution_us = 1000;
  tl_client_config config;
  memset(&config, 0, sizeof config);
  config.struct_size = sizeof config;
  config.path = text(path);
  config.key = (tl_view){key, sizeof key};
  config.account = text("bench");
  config.user_id = text("me");
  config.profile = &profile;
  config.cache_bytes = (uint64_t)cache_kib * 1024;
  must(tl_client_open(&config, &client), "open");
}

static uint32_t poll(tl_window *window) {
  tl_diff *diff = NULL;
  tl_status status = tl_window_poll(window, &diff);
  must(status, "poll");
  uint32_t rows = status == TL_OK ? diff->row_count : 0;
  tl_diff_free(diff);
  return rows;
}

/* A window that grows to so many rows; gives how many it has. */
static uint32_t show(uint32_t conversation, uint32_t count, int holds) {
  char name[32];
  snprintf(name, sizeof name, "room-%05u", conversation);
  tl_window_config config;
  memset(&config, 0, sizeof config);
  config.struct_size = sizeof config;
  config.conversation = text(name);
  config.at = TL_AT_LATEST;
  config.rows_max = LONG;
  tl_window *window = NULL;
  must(tl_window_open(client, &config, &window), "window");
  uint32_t rows = poll(window), now = rows;
  tl_load load;
  memset(&load, 0, sizeof load);
  load.struct_size = sizeof load;
  load.kind = TL_LOAD_BEFORE;
  do {
    rows = now;
    load.count = count - rows < 500 ? count - rows : 500;
    if (load.count == 0) break;
    must(tl_window_load(window, &load), "load");
    now = poll(window);
  } while (now > rows);
  tl_batch *batch = NULL;
  must(tl_window_rows(window, 0, SCREEN, &batch), "rows");
  tl_batch_free(batch);
  if (holds) said("long_kib", (double)memory_kib("VmRSS"));
  tl_window_free(window);
  return rows;
}

static void shut(void) { tl_client_free(client); }

#endif

int main(int argc, char **argv) {
  if (argc != 4) return 2;
  said("start_kib", (double)memory_kib("VmRSS"));
  open_store(argv[1], atol(argv[3]));
  said("open_kib", (double)memory_kib("VmRSS"));
  uint32_t conversations = (uint32_t)strtoul(argv[2], NULL, 10);
  for (uint32_t c = 0; c < conversations; c++) {
    if (show(c, SCREEN, 0) == 0) fail("screen", "it is empty");
  }
  said("screens_kib", (double)memory_kib("VmRSS"));
  said("long_rows", (double)show(0, LONG, 1));
  said("after_kib", (double)memory_kib("VmRSS"));
  said("peak_kib", (double)memory_kib("VmHWM"));
  shut();
  return 0;
}
