/* Does the storage in LMDB keep the contract? check_lmdb FILE */
#include <sys/wait.h>
#include <unistd.h>

#include "check.c"
#include "lmdb_storage.h"

enum { SMALL = 1 << 20, LARGE = 64 << 20, FILLED = 8 << 20 };

/* Writes into an object; 1 where it is on the disk. */
static int fill(lmdb_storage *storage, const char *name, size_t bytes) {
  tl_storage table = lmdb_storage_table(storage);
  tl_stored at = {{(const uint8_t *)name, strlen(name)}, 0, 0, 0};
  uint8_t *data = calloc(1, bytes);
  tl_view view = {data, bytes};
  int done = data && table.acquire(table.context, &at.name, &at.fence) == TL_OK &&
             table.write(table.context, &at, 0, &view) == TL_OK &&
             table.sync(table.context, &at) == TL_OK;
  free(data);
  return done;
}

/* A process with a large map fills the file; one that has opened it with a small one goes on. */
static int takes_up_growth(const char *file) {
  char path[4096];
  snprintf(path, sizeof path, "%s.grown", file);
  pid_t child = fork();
  if (child == 0) {
    /* It waits until the other has opened the file. */
    while (access(path, F_OK) != 0) usleep(1000);
    usleep(200000);
    lmdb_storage *large = lmdb_storage_new(path, LARGE);
    _exit(large && fill(large, "large", FILLED) ? 0 : 1);
  }
  lmdb_storage *small = lmdb_storage_new(path, SMALL);
  int status = 1;
  waitpid(child, &status, 0);
  int done = small && status == 0 && fill(small, "small", 100);
  lmdb_storage_free(small);
  printf("a map that another process has grown is taken up: %s\n", done ? "right" : "WRONG");
  return done;
}

storage_check storage_under_test(int count, char **arguments) {
  static tl_storage table;
  storage_check check = {0};
  if (count != 2 || !takes_up_growth(arguments[1])) return check;
  lmdb_storage *storage = lmdb_storage_new(arguments[1], (size_t)1 << 30);
  if (!storage) return check;
  table = lmdb_storage_table(storage);
  check.storage = &table;
  check.crash = lmdb_storage_crash;
  return check;
}
