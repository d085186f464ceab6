#define _GNU_SOURCE
#include "support.h"

#include <fcntl.h>
#include <unistd.h>

int tideline_db_config_flag(sqlite3 *db, int option, int on) {
  return sqlite3_db_config(db, option, on, (int *)0);
}

int tideline_config_flag(int option, int on) {
  return sqlite3_config(option, on);
}

sqlite3_destructor_type tideline_transient(void) {
  return SQLITE_TRANSIENT;
}

#ifdef __linux__
int tideline_open_hint(const char *path) {
  return open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
}

void tideline_start_write(int descriptor, int64_t at, int64_t count) {
  (void)sync_file_range(descriptor, at, count, SYNC_FILE_RANGE_WRITE);
}
#else
int tideline_open_hint(const char *path) {
  (void)path;
  return -1;
}

void tideline_start_write(int descriptor, int64_t at, int64_t count) {
  (void)descriptor, (void)at, (void)count;
}
#endif

void tideline_close_hint(int descriptor) {
  (void)close(descriptor);
}
