/* A client on a storage of the host's: what it keeps, what a taken name does, what is refused. */
#include <unistd.h>

#include "check.h"
#include "memory_storage.h"

static tl_client_config config_on(const tl_storage *storage, const char *name) {
  tl_client_config config = file_config(name);
  config.storage = storage;
  return config;
}

static tl_client *open_on(const tl_storage *storage, const char *name) {
  tl_client_config config = config_on(storage, name);
  tl_client *client = NULL;
  EXPECT(tl_client_open(&config, &client), TL_OK);
  return client;
}

static tl_status say(tl_client *client, const char *payload) {
  tl_send send;
  memset(&send, 0, sizeof send);
  send.struct_size = sizeof send;
  send.conversation = view("c");
  send.payload = view(payload);
  return tl_client_send(client, &send, NULL, NULL);
}

static tl_status next(tl_client *client) {
  tl_frame *frame = NULL;
  tl_status status = tl_client_next_frame(client, &frame);
  CHECK((frame != NULL) == (status == TL_OK));
  tl_frame_free(frame);
  return status;
}

/* header: "It sees nothing but ciphertext; the library works as on a file." */
static void it_keeps_what_a_file_keeps(void) {
  mem_storage *memory = mem_new(MEM_GOOD);
  tl_storage table = mem_table(memory);
  tl_client *client = open_on(&table, "eva");
  for (int i = 0; i < 40; i++) EXPECT(say(client, "\"canary-of-the-storage\""), TL_OK);
  CHECK(row_count(client) == 40);
  tl_client_free(client);
  CHECK(memory->drops == 1 && memory->held == 0);
  client = open_on(&table, "eva");
  CHECK(row_count(client) == 40);
  mem_name *eva = &memory->names[0];
  for (int i = 0; i < MEM_OBJECTS; i++) {
    mem_object *o = &eva->objects[i];
    CHECK(memmem(o->bytes, o->size, "canary-of", 9) == NULL);
    CHECK(i != TL_OBJECT_OWN || o->size > 40 * strlen("canary-of-the-storage"));
  }
  EXPECT(tl_client_wipe(client), TL_OK);
  for (int i = 0; i < MEM_OBJECTS; i++) CHECK(eva->objects[i].size == 0);
  tl_client_free(client);
  CHECK(memory->drops == 2 && memory->held == 0);
  tl_client_config config = config_on(&table, "eva");
  config.flags = TL_OPEN_EXISTING;
  EXPECT(tl_client_open(&config, &client), TL_E_NOT_FOUND);
  CHECK(memory->drops == 3 && memory->held == 0);
  mem_free(memory);
}

/* header: "The client then hands out no frame, has dropped what it knew, and answers so until it
   is closed." */
static void a_name_that_is_taken_over_ends_its_client(void) {
  mem_storage *memory = mem_new(MEM_GOOD);
  tl_storage table = mem_table(memory);
  tl_client *old = open_on(&table, "eva");
  EXPECT(say(old, "\"one\""), TL_OK);
  EXPECT(tl_client_connected(old), TL_OK);
  tl_client *new = open_on(&table, "eva");
  EXPECT(say(old, "\"two\""), TL_E_LOCKED);
  int calls = memory->calls;
  EXPECT(next(old), TL_E_LOCKED);
  tl_batch *batch = NULL;
  EXPECT(read_page(old, &batch), TL_E_LOCKED);
  CHECK(batch == NULL);
  int64_t wait = 0;
  EXPECT(tl_client_advance(old, &wait), TL_E_LOCKED);
  EXPECT(tl_client_wipe(old), TL_E_LOCKED);
  tl_client_close(old);
  EXPECT(next(old), TL_E_CLOSED);
  tl_client_free(old);
  CHECK(memory->calls == calls);
  CHECK(row_count(new) == 1);
  EXPECT(say(new, "\"three\""), TL_OK);
  tl_client_free(new);
  CHECK(memory->drops == 2);
  mem_free(memory);
}

/* header: "After a sync that failed, the client calls nothing but `release` and answers
   #TL_E_STORAGE until it is opened again." */
static void a_failed_sync_ends_it_until_it_is_opened_again(void) {
  mem_storage *memory = mem_new(MEM_GOOD);
  tl_storage table = mem_table(memory);
  for (int call = 0;; call++) {
    char name[32];
    snprintf(name, sizeof name, "eva-%d", call);
    tl_client *client = open_on(&table, name);
    EXPECT(say(client, "\"one\""), TL_OK);
    mem_fail(memory, call);
    tl_status status = say(client, "\"two\"");
    CHECK(status == TL_OK || status == TL_E_STORAGE);
    mem_fail(memory, -1);
    int calls = memory->calls;
    tl_status after = say(client, "\"three\"");
    int ended = memory->calls == calls;
    CHECK(after == (ended ? TL_E_STORAGE : TL_OK));
    tl_client_free(client);
    CHECK(!ended || memory->calls == calls);
    client = open_on(&table, name);
    CHECK(row_count(client) >= 1);
    tl_client_free(client);
    CHECK(memory->held == 0);
    if (status == TL_OK || broken) break;
  }
  mem_free(memory);
}

static void a_full_storage_is_a_full_disk(void) {
  mem_storage *memory = mem_new(MEM_GOOD);
  tl_storage table = mem_table(memory);
  tl_client *client = open_on(&table, "eva");
  memory->fail_with = TL_E_FULL;
  mem_fail(memory, 0);
  EXPECT(say(client, "\"one\""), TL_E_FULL);
  EXPECT(say(client, "\"two\""), TL_OK);
  /* What no storage may give counts as an error. */
  memory->fail_with = TL_E_KEY;
  mem_fail(memory, 0);
  EXPECT(say(client, "\"three\""), TL_E_STORAGE);
  tl_client_free(client);
  memory->fail_with = TL_E_FULL;
  mem_fail(memory, 0);
  tl_client_config config = config_on(&table, "eva");
  EXPECT(tl_client_open(&config, &client), TL_E_FULL);
  memory->fail_with = TL_E_LOCKED;
  mem_fail(memory, 0);
  EXPECT(tl_client_open(&config, &client), TL_E_LOCKED);
  mem_free(memory);
}

static void what_cannot_be_called_is_refused(void) {
  mem_storage *memory = mem_new(MEM_GOOD);
  tl_client *client = NULL;
  for (int i = 0; i < 8; i++) {
    tl_storage table = mem_table(memory);
    if (i == 0) table.acquire = NULL;
    if (i == 1) table.release = NULL;
    if (i == 2) table.read = NULL;
    if (i == 3) table.write = NULL;
    if (i == 4) table.truncate = NULL;
    if (i == 5) table.size = NULL;
    if (i == 6) table.sync = NULL;
    if (i == 7) table.remove = NULL;
    tl_client_config config = config_on(&table, "eva");
    EXPECT(tl_client_open(&config, &client), TL_E_INVALID);
    CHECK(client == NULL && memory->drops == i + 1);
  }
  tl_storage table = mem_table(memory);
  tl_client_config config = config_on(&table, "eva");
  table.flags = TL_STORAGE_BUFFERS << 1;
  EXPECT(tl_client_open(&config, &client), TL_E_INVALID);
  table.flags = TL_STORAGE_BUFFERS;
  config.path = view("");
  EXPECT(tl_client_open(&config, &client), TL_E_INVALID);
  config = config_on(&table, "eva");
  config.flags = TL_OPEN_MEMORY;
  config.path = config.key = view("");
  EXPECT(tl_client_open(&config, &client), TL_E_INVALID);
  CHECK(memory->drops == 11);
  /* One that cannot be read is not dropped. */
  config = config_on(&table, "eva");
  table.struct_size = 6;
  EXPECT(tl_client_open(&config, &client), TL_E_INVALID);
  CHECK(memory->drops == 11);
  table.struct_size = sizeof table;
  EXPECT(tl_client_open(&config, &client), TL_OK);
  tl_client_free(client);
  CHECK(memory->drops == 12 && memory->count == 1);
  mem_free(memory);
}

/* Power that is lost at any time keeps what was reported durable. */
static void lost_power_keeps_what_was_durable(void) {
  for (unsigned round = 0; round < 30; round++) {
    mem_storage *memory = mem_new(MEM_GOOD);
    tl_storage table = mem_table(memory);
    memory->chance = round;
    size_t said = 0;
    for (int life = 0; life < 3; life++) {
      tl_client *client = open_on(&table, "eva");
      CHECK(row_count(client) == said);
      for (unsigned i = 0; i < 1 + round % 5; i++, said++) EXPECT(say(client, "\"x\""), TL_OK);
      mem_crash(memory);
      /* The old process is gone: the name is another's. */
      tl_client *after = open_on(&table, "eva");
      CHECK(row_count(after) == said);
      tl_client_free(after);
      tl_client_free(client);
      if (broken) {
        printf("round %u, life %d\n", round, life);
        return;
      }
    }
    mem_free(memory);
  }
}

int main(void) {
  RUN(it_keeps_what_a_file_keeps);
  RUN(a_name_that_is_taken_over_ends_its_client);
  RUN(a_failed_sync_ends_it_until_it_is_opened_again);
  RUN(a_full_storage_is_a_full_disk);
  RUN(what_cannot_be_called_is_refused);
  RUN(lost_power_keeps_what_was_durable);
  return report("storage");
}
