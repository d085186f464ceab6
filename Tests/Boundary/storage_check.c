/* The conformance source finds nothing wrong with a storage that keeps the contract, and each of
   many that break one promise, by the name of that promise. */
#define STORAGE_CHECK_LIBRARY
#include "../../examples/storage/check.c"

#include "check.h"
#include "memory_storage.h"

static const struct {
  mem_fault fault;
  const char *promise;
} broken_storages[] = {
    {MEM_LOST_SYNC, "sync-size"},
    {MEM_LATE_LOG_SYNC, "order"},
    {MEM_TORN_NEIGHBOUR, "torn-neighbour"},
    {MEM_STALE_READ, "read"},
    {MEM_LATE_WRITE, "lost-write"},
    {MEM_LATE_READ, "lost-read"},
    {MEM_LATE_SYNC, "lost-sync"},
    {MEM_LATE_TRUNCATE, "lost-truncate"},
    {MEM_LATE_REMOVE, "lost-remove"},
    {MEM_CHECK_THEN_WRITE, "late-write"},
    {MEM_LATE_RELEASE, "late-release"},
    {MEM_NO_ZEROS, "zeros"},
    {MEM_SHORT_READ, "short-read"},
    {MEM_TRUNCATE_BACK, "truncate"},
    {MEM_LOST_TRUNCATE, "sync-truncate"},
    {MEM_REMOVE_BACK, "sync-remove"},
    {MEM_WHOLE_BLOCKS, "neighbour"},
    {MEM_SIZE_IN_BLOCKS, "size"},
    {MEM_SIZE_NOT_SYNCED, "sync-size"},
    {MEM_SAME_NUMBER, "fence"},
    {MEM_NUMBER_LOST, "fence-crash"},
    {MEM_NAMES_MIXED, "names"},
    {MEM_OBJECTS_MIXED, "objects"},
    {MEM_LARGE_CUT, "read"},
    {MEM_ONE_BUFFER, "threads"},
    {MEM_OTHER_STATUS, "lost-write"},
    {MEM_HALF_FAILED, "errors"},
};

static int checked(mem_fault fault, unsigned seed, char *why, size_t room) {
  mem_storage *memory = mem_new(fault);
  tl_storage table = mem_table(memory);
  storage_check check = {&table, NULL, mem_crash, mem_fail, seed, 0};
  int failed = storage_check_run(&check, why, room);
  mem_free(memory);
  return failed;
}

static void a_good_storage_passes(void) {
  char why[400];
  for (unsigned seed = 0; seed < 8; seed++) {
    CHECK(checked(MEM_GOOD, seed, why, sizeof why) == 0);
    CHECK(strcmp(why, "pass") == 0);
    if (broken) {
      puts(why);
      return;
    }
  }
}

static void each_broken_storage_is_found_by_name(void) {
  char why[400];
  for (size_t i = 0; i < sizeof broken_storages / sizeof broken_storages[0]; i++) {
    const char *promise = broken_storages[i].promise;
    size_t length = strlen(promise);
    CHECK(checked(broken_storages[i].fault, 1, why, sizeof why) == 1);
    if (strncmp(why, promise, length) != 0 || why[length] != ':') {
      broken = 1;
      printf("fault %d: wanted %s, and it said: %s\n", broken_storages[i].fault, promise, why);
    }
  }
}

int main(void) {
  RUN(a_good_storage_passes);
  RUN(each_broken_storage_is_found_by_name);
  return report("storage_check");
}
