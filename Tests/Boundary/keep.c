/* Budgets from C: set, kept, asked, and what is refused. */
#include "check.h"

enum { COUNT = 40 };
static char bodies[COUNT][256], stamp_texts[COUNT][64];
static const char *messages[COUNT], *stamps[COUNT];

/* Messages a minute apart. */
static void make_messages(void) {
  for (int i = 0; i < COUNT; i++) {
    snprintf(stamp_texts[i], sizeof *stamp_texts, "\"2024-05-01T23:%02d:00\"", i);
    snprintf(bodies[i], sizeof *bodies,
             "{\"message_id\":\"m%02d\",\"conversation_id\":\"c\",\"sender_id\":\"you\","
             "\"created_at\":%.63s,\"payload\":{\"text\":\"%d\"}}",
             i, stamp_texts[i], i);
    messages[i] = bodies[i];
    stamps[i] = stamp_texts[i];
  }
}

static tl_client *caught_up(void) {
  tl_client *client = open_memory();
  EXPECT(tl_client_connected(client), TL_OK);
  EXPECT(sync_latest(client, NULL), TL_OK);
  serve(client, messages, stamps, COUNT, NULL);
  return client;
}

static tl_room room(tl_client *client, const char *conversation) {
  tl_room out;
  memset(&out, 0, sizeof out);
  out.struct_size = sizeof out;
  EXPECT(tl_client_room(client, view(conversation), &out), TL_OK);
  return out;
}

static void purge(tl_client *client) {
  tl_work *work = NULL;
  tl_progress progress = {.struct_size = sizeof progress};
  tl_status status = TL_OK;
  EXPECT(tl_client_purge(client, &work), TL_OK);
  while ((status = tl_work_step(work, 0, &progress)) == TL_OK) continue;
  CHECK(status == TL_NONE && progress.is_done == 1 && progress.done == progress.total);
  tl_work_free(work);
}

static void kept(void) {
  tl_client *client = caught_up();
  CHECK(room(client, "").flags == 0 && room(client, "").messages == 0);
  tl_budget budget = {.struct_size = sizeof budget, .messages = 16};
  EXPECT(tl_client_retain(client, &budget), TL_OK);
  purge(client);
  tl_room all = room(client, ""), one = room(client, "c");
  CHECK(all.messages == 15 && one.messages == 15 && one.purged_messages == COUNT - 15);
  CHECK(all.flags == TL_ROOM_COUNTED && all.bytes == one.bytes && one.purged_bytes > 0);
  tl_batch *batch = NULL;
  tl_query query = {.struct_size = sizeof query, .conversation = view("c"), .limit = 100};
  EXPECT(tl_client_messages(client, &query, &batch), TL_OK);
  size_t count = 0;
  const tl_message *rows = tl_batch_rows(batch, &count);
  CHECK(count == 15 && rows[0].id.size == 3 && memcmp(rows[0].id.data, "m25", 3) == 0);
  tl_batch_free(batch);
  size_t purged = 0;
  EXPECT(tl_client_changes(client, 0, 0, &batch), TL_OK);
  const tl_change *changes = tl_batch_changes(batch, &count);
  for (size_t i = 0; i < count; i++) {
    CHECK(changes[i].kind != TL_CHANGE_REMOVED);
    if (changes[i].kind == TL_CHANGE_PURGED) purged += changes[i].last - changes[i].first + 1;
  }
  CHECK(purged == COUNT - 15);
  tl_batch_free(batch);
  /* What is younger stays, and it says that it is too much. */
  budget.messages = 2;
  budget.young_us = 600000000;
  EXPECT(tl_client_retain(client, &budget), TL_OK);
  purge(client);
  CHECK(room(client, "").messages > 8 && (room(client, "").flags & TL_ROOM_OVER) != 0);
  EXPECT(tl_client_retain(client, NULL), TL_OK);
  CHECK(room(client, "").flags == 0);
  tl_client_free(client);
}

static void misuse(void) {
  tl_client *client = caught_up();
  tl_work *work = (tl_work *)client;
  tl_budget budget = {.struct_size = sizeof budget, .flags = 2};
  tl_room out = {.struct_size = sizeof out};
  EXPECT(tl_client_retain(client, &budget), TL_E_INVALID);
  budget.flags = 0;
  budget.age_us = -1;
  EXPECT(tl_client_retain(client, &budget), TL_E_INVALID);
  EXPECT(tl_client_purge(client, &work), TL_E_INVALID);
  CHECK(work == NULL);
  EXPECT(tl_client_purge(client, NULL), TL_E_INVALID);
  EXPECT(tl_client_room(client, view("nowhere"), &out), TL_E_NOT_FOUND);
  EXPECT(tl_client_room(client, view(""), NULL), TL_E_INVALID);
  tl_client_free(client);
}

int main(void) {
  make_messages();
  RUN(kept);
  RUN(misuse);
  return report("keep");
}
