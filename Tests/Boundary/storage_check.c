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
    {MEM_NEXT_MIXED, "objects"},
    {MEM_LARGE_CUT, "read"},
    {MEM_ONE_BUFFER, "threads"},
    {MEM_OTHER_STATUS, "lost-write"},
    {MEM_HALF_FAILED, "errors"},
    {MEM_LAST_WRITES, "sync"},
    {MEM_STALE_IN_SYNC, "stale"},
    {MEM_LONG_NAMES, "names"},
    {MEM_SPACES, "names"},
    {MEM_CASE, "names"},
    {MEM_DOTS, "names"},
    {MEM_HIDDEN, "names"},
    {MEM_ONE_DIRTY_FLAG, "sync"},
    {MEM_DIRTY_BY_OBJECT, "crash"},
    {MEM_OLD_TAIL, "sync-truncate"},
    {MEM_GROWN_LOST, "sync-truncate"},
    {MEM_SIZE_CACHED, "crash"},
    {MEM_CUT_SHOWS, "threads"},
    {MEM_BLOCK_CACHE, "names"},
};

static int checked_to(mem_fault fault, size_t wrap, uint64_t reach, unsigned seed, char *why,
                      size_t room) {
  mem_storage *memory = mem_new(fault);
  tl_storage table = mem_table(memory);
  memory->wrap = wrap;
  storage_check check = {.storage = &table, .crash = mem_crash, .fail = mem_fail, .seed = seed,
                         .reach = reach};
  int failed = storage_check_run(&check, why, room);
  mem_free(memory);
  return failed;
}

static int checked(mem_fault fault, unsigned seed, char *why, size_t room) {
  return checked_to(fault, 0, 0, seed, why, room);
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

static void offsets_that_wrap_are_found_as_far_as_is_asked(void) {
  char why[400];
  for (int power = 20; power <= 26; power++) {
    CHECK(checked_to(MEM_WRAP, (size_t)1 << power, 0, 1, why, sizeof why) == 1);
    CHECK(strncmp(why, "far:", 4) == 0);
  }
  CHECK(checked_to(MEM_WRAP, 1 << 20, 1 << 20, 1, why, sizeof why) == 1);
  CHECK(checked_to(MEM_WRAP, 1 << 21, 1 << 20, 1, why, sizeof why) == 0);
}

int main(void) {
  RUN(a_good_storage_passes);
  RUN(each_broken_storage_is_found_by_name);
  RUN(offsets_that_wrap_are_found_as_far_as_is_asked);
  return report("storage_check");
}
