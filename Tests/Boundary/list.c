/* The list of conversations from C: what it shows of sends, drafts, typing and
   conversations that were made here, and what is refused. */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "turn.h"

static tl_client *open_with_clock(const char *path) {
  static tl_profile profile;
  profile = idempotent_profile();
  tl_client_config config = path == NULL ? memory_config() : file_config(path);
  config.profile = &profile;
  config.clock = now;
  tl_client *client = NULL;
  EXPECT(tl_client_open(&config, &client), TL_OK);
  return client;
}

static void server_rooms(void) {
  server_reset();
  for (unsigned i = 0; i < 3; i++) {
    static const char *const names[] = {"a", "b", "c"};
    snprintf(server.rooms[i], sizeof *server.rooms,
             "{\"conversation_id\":\"%s\",\"title\":\"Room %s\",\"participant_ids\":[\"me\","
             "\"you\"],\"created_at\":\"2024-05-01T09:00:0%u\",\"unread_count\":0,"
             "\"last_message\":{\"message_id\":\"%s1\",\"conversation_id\":\"%s\","
             "\"sender_id\":\"you\",\"created_at\":\"2024-05-01T10:00:0%u\",\"payload\":\"hi\"}}",
             names[i], names[i], i, names[i], names[i], i);
  }
  server.room_count = 3;
}

static tl_list *open_list(tl_client *client) {
  tl_list *list = NULL;
  EXPECT(tl_list_open(client, NULL, &list), TL_OK);
  return list;
}

/* Polls until the list stands still, and checks the numbers against it. */
static void list_poll(screen *screen, tl_list *list) {
  tl_diff *diff = NULL;
  screen->inserted = screen->removed = screen->updated = screen->moved = 0;
  while (tl_list_poll(list, &diff) == TL_OK) {
    screen_apply(screen, diff);
    SCREEN_CHECK(screen, diff, tl_list_rows(list, 0, 1000, &batch), tl_conversation,
                 tl_batch_conversations);
    tl_diff_free(diff);
  }
}

/* One row, in a batch that the caller frees. */
static const tl_conversation *row_of(tl_list *list, uint32_t row, tl_batch **batch) {
  static const tl_conversation none;
  size_t count = 0;
  *batch = NULL;
  EXPECT(tl_list_rows(list, row, 1, batch), TL_OK);
  const tl_conversation *found = tl_batch_conversations(*batch, &count);
  CHECK(count == 1);
  return count == 1 ? found : &none;
}

static tl_list_status status_of(tl_list *list) {
  tl_list_status status;
  memset(&status, 0, sizeof status);
  status.struct_size = sizeof status;
  EXPECT(tl_list_state(list, &status), TL_OK);
  return status;
}

static void what_it_shows(void) {
  server_rooms();
  now_ms = 1000;
  tl_client *client = open_with_clock(NULL);
  tl_list *list = open_list(client);
  EXPECT(tl_client_connected(client), TL_OK);
  turn(client);
  screen screen = {.count = 0};
  list_poll(&screen, list);
  CHECK(screen.count == 3);
  tl_batch *batch = NULL;
  const tl_conversation *row = row_of(list, 0, &batch);
  CHECK(is(row->id, "c") && is(row->title, "Room c") && row->member_count == 2);
  CHECK(row->body.size > 0 && row->draft.size == 0 && row->typing.size == 0);
  /* The last message stands in the same block as the row. */
  tl_view block;
  EXPECT(tl_batch_block(batch, &block), TL_OK);
  CHECK(row->last != NULL);
  if (row->last != NULL) {
    CHECK(is(row->last->id, "c1") && is(row->last->conversation, "c"));
    CHECK((const uint8_t *)row->last >= block.data);
    CHECK((const uint8_t *)(row->last + 1) <= block.data + block.size);
    CHECK(row->activity_us == row->last->time_us);
  }
  tl_batch_free(batch);
  uint32_t at = 9;
  EXPECT(tl_list_find(list, view("a"), &at), TL_OK);
  CHECK(at == 2);
  EXPECT(tl_list_find(list, view("z"), &at), TL_NONE);
  CHECK(at == 0);
  CHECK(status_of(list).row_count == 3 && status_of(list).conversation_count == 3);
  CHECK(status_of(list).flags & TL_LIST_WHOLE && status_of(list).trouble == TL_OK);
  CHECK(status_of(list).checksum == tl_checksum(screen.numbers, screen.count));

  /* A new message moves its conversation up. */
  uint64_t number_of_a = screen.numbers[2];
  EXPECT(receive(client, "{\"type\":\"message_new\",\"conversation_id\":\"a\",\"message\":{"
                         "\"message_id\":\"a2\",\"sender_id\":\"you\",\"created_at\":"
                         "\"2024-05-01T10:30:00\",\"payload\":\"news\"}}"), TL_OK);
  turn(client);
  list_poll(&screen, list);
  CHECK(screen.count == 3 && screen.numbers[0] == number_of_a && screen.moved == 1);
  row = row_of(list, 0, &batch);
  CHECK(is(row->id, "a") && row->unread >= 1 && row->last != NULL && is(row->last->id, "a2"));
  tl_batch_free(batch);
  CHECK(status_of(list).unread >= 1);

  /* header: "JSON array of ids of users who are typing now" */
  EXPECT(receive(client, "{\"type\":\"typing\",\"conversation_id\":\"b\",\"user_id\":\"you\","
                         "\"event\":\"begin\",\"at\":\"2024-05-01T10:31:00\"}"), TL_OK);
  list_poll(&screen, list);
  CHECK(screen.updated >= 1 && screen.moved == 0);
  EXPECT(tl_list_find(list, view("b"), &at), TL_OK);
  row = row_of(list, at, &batch);
  CHECK(is(row->typing, "[\"you\"]"));
  tl_batch_free(batch);
  now_ms += 60000;
  EXPECT(tl_client_advance(client, NULL), TL_OK);
  turn(client);
  list_poll(&screen, list);
  row = row_of(list, at, &batch);
  CHECK(row->typing.size == 0);
  tl_batch_free(batch);

  EXPECT(set_draft(client, view("b"), view("to be"), view("b1")), TL_OK);
  list_poll(&screen, list);
  row = row_of(list, at, &batch);
  CHECK(is(row->draft, "to be") && is(row->draft_reply_to, "b1"));
  tl_batch_free(batch);
  EXPECT(set_draft(client, view("b"), view(""), view("")), TL_OK);
  list_poll(&screen, list);
  row = row_of(list, at, &batch);
  CHECK(row->draft.size == 0 && row->draft_reply_to.size == 0);
  tl_batch_free(batch);

  /* header: "Conversations with a message that waits to be sent are first." */
  EXPECT(tl_client_disconnected(client), TL_OK);
  send_text(client, "\"mine\"", NULL);
  list_poll(&screen, list);
  row = row_of(list, 0, &batch);
  CHECK(is(row->id, "c") && row->flags & TL_CONVERSATION_HAS_PENDING);
  CHECK(row->last != NULL && row->last->state == TL_MESSAGE_QUEUED);
  tl_batch_free(batch);
  EXPECT(tl_client_connected(client), TL_OK);
  turn(client);
  list_poll(&screen, list);
  row = row_of(list, 0, &batch);
  CHECK(is(row->id, "c") && !(row->flags & TL_CONVERSATION_HAS_PENDING));
  CHECK(row->last != NULL && row->last->state == TL_MESSAGE_CONFIRMED);
  tl_batch_free(batch);
  tl_list_free(list);
  tl_client_free(client);
}

/* A conversation made offline, with a message in it: one row, one number. */
static void made_here(void) {
  server_rooms();
  tl_client *client = open_with_clock(NULL);
  tl_list *list = open_list(client);
  screen screen = {.count = 0};
  uint64_t made = perform(client, "{\"type\":\"create_conversation\",\"client_id\":\"new-1\","
                                  "\"participant_ids\":[\"you\"],\"title\":\"Picnic\"}");
  uint64_t sent = perform(client, "{\"type\":\"send_message\",\"conversation_id\":\"new-1\","
                                  "\"payload\":\"who comes?\"}");
  list_poll(&screen, list);
  CHECK(screen.count == 1);
  uint64_t number = screen.numbers[0];
  tl_batch *batch = NULL;
  const tl_conversation *row = row_of(list, 0, &batch);
  CHECK(is(row->id, "new-1") && is(row->title, "Picnic"));
  CHECK(row->flags & TL_CONVERSATION_PENDING && row->flags & TL_CONVERSATION_HAS_PENDING);
  tl_batch_free(batch);
  CHECK(wait_of(client, sent) == TL_WAIT_TURN);
  EXPECT(tl_client_connected(client), TL_OK);
  turn(client);
  CHECK(state_of(client, made) == TL_OPERATION_SENT);
  CHECK(state_of(client, sent) == TL_OPERATION_SENT);
  CHECK(server.sends == 1 && server.room_count == 4);
  list_poll(&screen, list);
  uint32_t at = 9;
  EXPECT(tl_list_find(list, view("k3"), &at), TL_OK);
  CHECK(screen.count == 4 && at < 4 && screen.numbers[at] == number);
  /* header: "or the client id of one made here" */
  size_t count = 0;
  EXPECT(tl_client_conversation(client, view("new-1"), &batch), TL_OK);
  row = tl_batch_conversations(batch, &count);
  CHECK(count == 1 && is(row->id, "k3") && row->number == number);
  CHECK(!(row->flags & TL_CONVERSATION_PENDING));
  tl_batch_free(batch);
  tl_list_free(list);
  tl_client_free(client);
}

/* The user's own work outlives the cache and the process. */
static void drafts_stay(void) {
  static uint8_t longest[(64 << 10) + 1];
  char folder[] = "/tmp/tideline-list-XXXXXX", path[300];
  CHECK(mkdtemp(folder) != NULL);
  snprintf(path, sizeof path, "%s/a.tideline", folder);
  server_rooms();
  tl_client *client = open_with_clock(path);
  tl_view at_limit = {longest, 64 << 10}, over = {longest, (64 << 10) + 1}, null = {NULL, 1};
  EXPECT(set_draft(client, view("b"), over, view("")), TL_E_TOO_LARGE);
  EXPECT(set_draft(client, view("b"), null, view("")), TL_E_INVALID);
  EXPECT(set_draft(client, view(""), view("x"), view("")), TL_E_INVALID);
  EXPECT(set_draft(client, view("b"), view("x"), view("\xff")), TL_E_INVALID);
  EXPECT(set_draft(client, view("b"), at_limit, view("")), TL_OK);
  tl_draft wrong = {.struct_size = sizeof wrong, .conversation = view("b"), .reserved = 1};
  EXPECT(tl_client_draft(client, &wrong), TL_E_INVALID);
  EXPECT(tl_client_draft(client, NULL), TL_E_INVALID);
  EXPECT(set_draft(client, view("a"), view("kept"), view("a1")), TL_OK);
  uint64_t number = 0, operation = send_text(client, "\"waits\"", &number);
  EXPECT(tl_client_connected(client), TL_OK);
  server.is_mute = 1;
  EXPECT(push_message(client, server_message("m1", "you", 1, "\"one\"", "")), TL_OK);
  turn(client);
  CHECK(row_count(client) == 2);
  EXPECT(tl_client_disconnected(client), TL_OK);
  /* header: "operations, drafts, read markers, refs of updates, what was forgotten" */
  EXPECT(tl_client_clear(client), TL_OK);
  CHECK(row_count(client) == 1);
  tl_client_free(client);
  client = open_with_clock(path);
  size_t count = 0;
  tl_batch *batch = NULL;
  EXPECT(tl_client_conversation(client, view("a"), &batch), TL_OK);
  const tl_conversation *row = tl_batch_conversations(batch, &count);
  CHECK(count == 1 && is(row->draft, "kept") && is(row->draft_reply_to, "a1"));
  tl_batch_free(batch);
  EXPECT(tl_client_conversation(client, view("b"), &batch), TL_OK);
  row = tl_batch_conversations(batch, &count);
  CHECK(count == 1 && row->draft.size == 64 << 10);
  tl_batch_free(batch);
  CHECK(state_of(client, operation) == TL_OPERATION_QUEUED);
  server.is_mute = 0;
  EXPECT(tl_client_connected(client), TL_OK);
  turn(client);
  CHECK(state_of(client, operation) == TL_OPERATION_SENT);
  EXPECT(read_page(client, &batch), TL_OK);
  const tl_message *rows = tl_batch_rows(batch, &count);
  CHECK(count >= 1 && rows[count - 1].number == number);
  tl_batch_free(batch);
  EXPECT(tl_client_wipe(client), TL_OK);
  tl_client_free(client);
  CHECK(rmdir(folder) == 0);
}

#define LISTED(change, expected)                                               \
  do {                                                                         \
    tl_list_config config;                                                     \
    memset(&config, 0, sizeof config);                                         \
    config.struct_size = sizeof config;                                        \
    tl_list *list = (tl_list *)(uintptr_t)rubbish;                             \
    change;                                                                    \
    EXPECT(tl_list_open(client, &config, &list), expected);                    \
    CHECK((list != NULL) == ((expected) == TL_OK));                            \
    tl_list_free(list);                                                        \
  } while (0)

static const uint64_t rubbish[8] = {1, 2, 3, 4, 5, 6, 7, 8};

/* Every function of a list on a handle that is none, or closed. */
static void nowhere(tl_list *list, tl_status expected) {
  tl_diff *diff = (tl_diff *)(uintptr_t)rubbish;
  tl_batch *batch = (tl_batch *)(uintptr_t)rubbish;
  uint32_t row = 9;
  tl_list_status status;
  memset(&status, 0x55, sizeof status);
  status.struct_size = sizeof status;
  EXPECT(tl_list_poll(list, &diff), expected);
  CHECK(diff == NULL);
  EXPECT(tl_list_rows(list, 0, 1, &batch), expected);
  CHECK(batch == NULL);
  EXPECT(tl_list_find(list, view("c"), &row), expected);
  CHECK(row == 0);
  memset((char *)&status + sizeof status.struct_size, 0,
         sizeof status - sizeof status.struct_size);
  EXPECT(tl_list_state(list, &status), expected);
}

static void misuse(void) {
  server_reset();
  tl_client *client = open_with_clock(NULL);
  LISTED((void)0, TL_OK);
  LISTED(config.struct_size = 4, TL_E_INVALID);
  LISTED(config.struct_size = 8, TL_OK);
  LISTED(config.struct_size = 4100, TL_E_INVALID);
  LISTED(config.flags = TL_LIST_CACHE_ONLY, TL_OK);
  LISTED(config.flags = 2, TL_E_INVALID);
  LISTED(config.rows_max = 99, TL_E_INVALID);
  LISTED(config.rows_max = 100, TL_OK);
  LISTED(config.rows_max = 200000, TL_OK);
  LISTED(config.rows_max = 200001, TL_E_INVALID);
  LISTED(config.reserved = 1, TL_E_INVALID);
  LISTED(config.policy = TL_POLICY_MAX_AGE, TL_OK);
  LISTED(config.policy = TL_POLICY_NETWORK_ONLY, TL_OK);
  LISTED(config.policy = TL_POLICY_HOST, TL_E_INVALID);
  LISTED(config.policy = 6, TL_E_INVALID);
  LISTED(config.limit_ms = 3600001, TL_E_INVALID);
  LISTED(config.age_us = -1, TL_E_INVALID);
  /* One of an older caller, which had no policy. */
  LISTED(config.struct_size = 16, TL_OK);
  tl_list *list = NULL;
  EXPECT(tl_list_open(client, NULL, NULL), TL_E_INVALID);
  EXPECT(tl_list_open(NULL, NULL, &list), TL_E_INVALID);
  CHECK(list == NULL);
  list = open_list(client);
  tl_window *window = open_screen(client);
  tl_batch *batch = NULL;
  uint32_t row = 0;
  EXPECT(tl_list_rows(list, 0, 10001, &batch), TL_E_INVALID);
  EXPECT(tl_list_rows(list, 0, 0, &batch), TL_NONE);
  EXPECT(tl_list_rows(list, UINT32_MAX, 10000, &batch), TL_NONE);
  EXPECT(tl_list_rows(list, 0, 1, NULL), TL_E_INVALID);
  EXPECT(tl_list_poll(list, NULL), TL_E_INVALID);
  EXPECT(tl_list_state(list, NULL), TL_E_INVALID);
  EXPECT(tl_list_find(list, view(""), &row), TL_E_INVALID);
  EXPECT(tl_list_find(list, view("\xff"), &row), TL_E_INVALID);
  EXPECT(tl_list_find(list, view("c"), NULL), TL_E_INVALID);
  EXPECT(tl_client_conversations(client, 0, 10001, &batch), TL_E_INVALID);
  EXPECT(tl_client_conversations(client, 0, 0, NULL), TL_E_INVALID);
  EXPECT(tl_client_conversations(client, UINT32_MAX, 1, &batch), TL_NONE);
  CHECK(batch == NULL);
  EXPECT(tl_client_conversation(client, view("nobody"), &batch), TL_E_NOT_FOUND);
  EXPECT(tl_client_conversation(client, view(""), &batch), TL_E_INVALID);
  EXPECT(tl_client_conversation(client, view("c"), NULL), TL_E_INVALID);
  /* header: "A size that no version can have" */
  tl_list_status status;
  memset(&status, 0, sizeof status);
  status.struct_size = 6;
  EXPECT(tl_list_state(list, &status), TL_E_INVALID);

  /* Handles of another kind: a list is no window, and neither is a client. */
  tl_diff *diff = NULL;
  nowhere(NULL, TL_E_INVALID);
  nowhere((tl_list *)(uintptr_t)rubbish, TL_E_INVALID);
  nowhere((tl_list *)window, TL_E_INVALID);
  nowhere((tl_list *)client, TL_E_INVALID);
  EXPECT(tl_window_poll((tl_window *)list, &diff), TL_E_INVALID);
  EXPECT(tl_window_rows((tl_window *)list, 0, 1, &batch), TL_E_INVALID);
  EXPECT(tl_client_connected((tl_client *)list), TL_E_INVALID);
  tl_window_close((tl_window *)list);
  tl_window_free((tl_window *)list);
  tl_client_free((tl_client *)list);
  tl_batch_free((tl_batch *)list);
  tl_list_close((tl_list *)window);
  tl_list_free((tl_list *)window);
  tl_list_free((tl_list *)client);
  tl_list_close(NULL);
  tl_list_free(NULL);
  EXPECT(tl_client_connected(client), TL_OK);
  (void)!tl_list_poll(list, &diff);
  tl_diff_free(diff);
  tl_list_close(list);
  tl_list_close(list);
  nowhere(list, TL_E_CLOSED);
  tl_list_free(list);

  /* The client goes first. */
  list = open_list(client);
  EXPECT(push_message(client, server_message("m1", "you", 1, "\"one\"", "")), TL_OK);
  EXPECT(set_draft(client, view("c"), view("x"), view("")), TL_OK);
  EXPECT(tl_client_conversations(client, 0, 0, &batch), TL_OK);
  tl_client_close(client);
  nowhere(list, TL_E_CLOSED);
  tl_batch *none = NULL;
  EXPECT(tl_client_conversations(client, 0, 0, &none), TL_E_CLOSED);
  EXPECT(tl_client_conversation(client, view("c"), &none), TL_E_CLOSED);
  tl_list *other = (tl_list *)(uintptr_t)rubbish;
  EXPECT(tl_list_open(client, NULL, &other), TL_E_CLOSED);
  CHECK(other == NULL && none == NULL);
  tl_list_free(list);
  tl_client_free(client);
  tl_window_free(window);
  /* A batch of conversations is none of anything else, and outlives its client. */
  size_t count = 9;
  tl_coverage coverage;
  memset(&coverage, 0, sizeof coverage);
  coverage.struct_size = sizeof coverage;
  CHECK(tl_batch_rows(batch, &count) == NULL && count == 0);
  CHECK(tl_batch_operations(batch, NULL) == NULL && tl_batch_entities(batch, NULL) == NULL);
  EXPECT(tl_batch_coverage(batch, &coverage), TL_E_INVALID);
  const tl_conversation *rows = tl_batch_conversations(batch, &count);
  CHECK(count == 1 && is(rows[0].draft, "x") && rows[0].last != NULL);
  if (count == 1 && rows[0].last != NULL) CHECK(is(rows[0].last->payload, "\"one\""));
  CHECK(tl_batch_conversations(NULL, &count) == NULL && count == 0);
  CHECK(tl_batch_conversations((tl_batch *)(uintptr_t)rubbish, NULL) == NULL);
  tl_batch_free(batch);
}

static void freed_in_any_order(void) {
  server_rooms();
  tl_client *client = open_with_clock(NULL);
  tl_list *lists[3] = {open_list(client), open_list(client), open_list(client)};
  EXPECT(tl_client_connected(client), TL_OK);
  turn(client);
  tl_list_free(lists[1]);
  tl_diff *diff = NULL;
  EXPECT(tl_list_poll(lists[0], &diff), TL_OK);
  tl_client_free(client);
  nowhere(lists[0], TL_E_CLOSED);
  nowhere(lists[2], TL_E_CLOSED);
  tl_list_free(lists[2]);
  tl_list_free(lists[0]);
  /* A difference is independent of its list. */
  CHECK(diff->row_count == 3 && diff->op_count >= 1);
  tl_diff_free(diff);
}

static tl_client *shared;
static atomic_int stop, wrong;

static void *act(void *unused) {
  (void)unused;
  char text[512];
  for (int i = 0; i < 200; i++) {
    uint64_t made = 0;
    tl_batch *batch = NULL;
    snprintf(text, sizeof text, "{\"type\":\"send_message\",\"conversation_id\":\"r%d\","
             "\"payload\":%d}", i % 20, i);
    if (tl_client_perform(shared, view(text), 0, &made, NULL) != TL_OK)
      atomic_fetch_add(&wrong, 1);
    snprintf(text, sizeof text, "r%d", i % 20);
    if (set_draft(shared, view(text), view("x"), view("")) != TL_OK)
      atomic_fetch_add(&wrong, 1);
    if (i % 2 && tl_operation_cancel(shared, made) != TL_OK) atomic_fetch_add(&wrong, 1);
    if (tl_client_operations(shared, NULL, &batch) < 0) atomic_fetch_add(&wrong, 1);
    tl_batch_free(batch);
  }
  atomic_fetch_add(&stop, 1);
  return NULL;
}

static void *look(void *unused) {
  (void)unused;
  do {
    tl_list *list = NULL;
    tl_diff *diff = NULL;
    tl_batch *batch = NULL;
    if (tl_list_open(shared, NULL, &list) != TL_OK) atomic_fetch_add(&wrong, 1);
    for (int i = 0; i < 20; i++) {
      if (tl_list_poll(list, &diff) < 0) atomic_fetch_add(&wrong, 1);
      tl_diff_free(diff);
      if (tl_list_rows(list, 0, 100, &batch) < 0) atomic_fetch_add(&wrong, 1);
      size_t count = 0;
      const tl_conversation *rows = tl_batch_conversations(batch, &count);
      for (size_t k = 0; k < count; k++)
        if (rows[k].number == 0) atomic_fetch_add(&wrong, 1);
      tl_batch_free(batch);
    }
    tl_list_free(list);
  } while (atomic_load(&stop) < 2);
  return NULL;
}

static void threads(void) {
  pthread_t actors[2], lookers[2];
  shared = open_with_clock(NULL);
  for (int i = 0; i < 2; i++) pthread_create(&actors[i], NULL, act, NULL);
  for (int i = 0; i < 2; i++) pthread_create(&lookers[i], NULL, look, NULL);
  for (int i = 0; i < 2; i++) pthread_join(actors[i], NULL);
  for (int i = 0; i < 2; i++) pthread_join(lookers[i], NULL);
  CHECK(atomic_load(&wrong) == 0);
  tl_state state;
  memset(&state, 0, sizeof state);
  state.struct_size = sizeof state;
  EXPECT(tl_client_state(shared, &state), TL_OK);
  CHECK(state.operations_open == 200);
  tl_client_free(shared);
}

int main(void) {
  RUN(what_it_shows);
  RUN(made_here);
  RUN(drafts_stay);
  RUN(misuse);
  RUN(freed_in_any_order);
  RUN(threads);
  return report("list");
}
