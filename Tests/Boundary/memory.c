/* Guarded memory that the system does not give while a file is opened: the host is told that, and
   never that its key is wrong. */
#include <dlfcn.h>
#include <unistd.h>

#include "check.h"

static char folder[] = "/tmp/tideline-memory-XXXXXX";
static char path[300];
static int left = -1; /* How many are given until one is not; -1: all. */

/* What the library calls in the place of libsodium's. */
void *sodium_malloc(size_t size);
void *sodium_malloc(size_t size) {
  void *(*next)(size_t) = NULL;
  *(void **)&next = dlsym(RTLD_NEXT, "sodium_malloc");
  if (left >= 0 && left-- == 0) return NULL;
  return next(size);
}

static tl_status opened(void) {
  tl_client_config config = file_config(path);
  tl_client *client = NULL;
  tl_status status = tl_client_open(&config, &client);
  tl_client_free(client);
  return status;
}

static void no_memory_is_no_wrong_key(void) {
  EXPECT(opened(), TL_OK);
  int failed = 0;
  for (int given = 0; given < 20; given++) {
    left = given;
    tl_status status = opened();
    int is_used = left < 0;
    left = -1;
    CHECK(status == (is_used ? TL_E_STORAGE : TL_OK));
    failed += is_used;
  }
  /* The host's key, that of the slot, and those of the file. */
  CHECK(failed >= 3 && failed < 20);
  EXPECT(opened(), TL_OK);
}

int main(void) {
  if (!mkdtemp(folder)) return 1;
  snprintf(path, sizeof path, "%s/a.tideline", folder);
  RUN(no_memory_is_no_wrong_key);
  unlink(path);
  rmdir(folder);
  return report("memory");
}
