#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "support.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
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
  struct stat found;
  if (lstat(path, &found) != 0 || !S_ISREG(found.st_mode) || found.st_nlink != 1) return -1;
  return open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
}

int tideline_start_write(int descriptor, int64_t at, int64_t count) {
  if (sync_file_range(descriptor, at, count, SYNC_FILE_RANGE_WRITE) == 0) return 0;
  return errno == EIO || errno == ENOSPC || errno == EDQUOT || errno == EROFS ||
         errno == EUCLEAN;
}
#else
int tideline_open_hint(const char *path) {
  (void)path;
  return -1;
}

int tideline_start_write(int descriptor, int64_t at, int64_t count) {
  (void)descriptor, (void)at, (void)count;
  return 0;
}
#endif

void tideline_close_hint(int descriptor) {
  (void)close(descriptor);
}
