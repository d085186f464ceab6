/* Windows, events, entities and merging from C: what they give, what is refused,
   handles of the wrong kind, freeing in any order, and windows beside other threads. */
#include <pthread.h>
#include <stdatomic.h>

#include "screen.h"

enum { COUNT = 120 };
static char bodies[COUNT][256], stamp_texts[COUNT][64];
static const char *messages[COUNT], *stamps[COUNT];

static void make_messages(void) {
  for (int i = 0; i < COUNT; i++) {
    snprintf(stamp_texts[i], sizeof *stamp_texts, "\"2024-05-01T10:%02d:%02d\"", i / 60, i % 60);
    snprintf(bodies[i], sizeof *bodies,
             "{\"message_id\":\"m%d\",\"conversation_id\":\"c\",\"sender_id\":\"you\","
             "\"created_at\":%.63s,\"payload\":\"p%d\"}", i, stamp_texts[i], i);
    messages[i] = bodies[i];
    stamps[i] = stamp_texts[i];
  }
}

static tl_window_config window_config(void) {
  tl_window_config config;
  memset(&config, 0, sizeof config);
  config.struct_size = sizeof config;
  config.conversation = view("c");
  config.count = 20;
  return config;
}

static tl_window *open_window(tl_client *client) {
  tl_window_config config = window_config();
  tl_window *window = NULL;
  EXPECT(tl_window_open(client, &config, &window), TL_OK);
  return window;
}

/* Polls and serves until nothing moves. */
static void settle(tl_client *client, tl_window *window, screen *screen) {
  for (int turn = 0; turn < 50; turn++) {
    uint64_t version = screen->version;
    serve(client, messages, stamps, COUNT, NULL);
    screen_poll(screen, window);
    if (screen->version == version && turn > 3) return;
  }
  CHECK(!"a window comes to rest");
}

static void scrolling(void) {
  screen shown = {0};
  tl_client *client = open_memory();
  EXPECT(tl_client_connected(client), TL_OK);
  tl_window *window = open_window(client);
  settle(client, window, &shown);
  CHECK(shown.count >= 20);
  tl_load load;
  memset(&load, 0, sizeof load);
  load.struct_size = sizeof load;
  load.kind = TL_LOAD_BEFORE;
  for (int turn = 0; turn < 20 && tl_window_load(window, &load) == TL_OK; turn++)
    settle(client, window, &shown);
  CHECK(shown.count == COUNT);
  tl_window_status status;
  memset(&status, 0, sizeof status);
  status.struct_size = sizeof status;
  EXPECT(tl_window_state(window, &status), TL_OK);
  CHECK(status.flags == (TL_WINDOW_AT_START | TL_WINDOW_AT_END));
  CHECK(status.row_count == COUNT && status.split_count == 0);
  CHECK(status.waiting == TL_WAITING_NOTHING && status.trouble == TL_OK);
  CHECK(status.checksum == tl_checksum(shown.numbers, shown.count));
  uint32_t row = 99;
  EXPECT(tl_window_find(window, view("m7"), &row), TL_OK);
  CHECK(row == 7);
  EXPECT(tl_window_find(window, view("m777"), &row), TL_NONE);
  CHECK(row == 0);
  EXPECT(tl_window_show(window, 0, 10), TL_OK);
  EXPECT(tl_window_fill(window, 5), TL_NONE);
  EXPECT(tl_window_trim(window, 10, 20), TL_OK);
  settle(client, window, &shown);
  CHECK(shown.count == 20);
  /* header: "keeps the client alive until the window is freed." The client goes first. */
  tl_client_free(client);
  tl_diff *diff = (tl_diff *)&row;
  EXPECT(tl_window_poll(window, &diff), TL_E_CLOSED);
  CHECK(diff == NULL);
  tl_window_close(window);
  tl_window_close(window);
  tl_window_free(window);
  tl_window_free(NULL);
}

#define OPENED(change, expected)                                               \
  do {                                                                         \
    tl_window_config config = window_config();                                 \
    tl_window *window = NULL;                                                  \
    change;                                                                    \
    EXPECT(tl_window_open(client, &config, &window), expected);                \
    CHECK((window != NULL) == ((expected) == TL_OK));                          \
    tl_window_free(window);                                                    \
  } while (0)

#define LOADED(change, expected)                                               \
  do {                                                                         \
    tl_load load;                                                              \
    memset(&load, 0, sizeof load);                                             \
    load.struct_size = sizeof load;                                            \
    change;                                                                    \
    EXPECT(tl_window_load(window, &load), expected);                           \
  } while (0)

static void misuse(void) {
  static const uint64_t rubbish[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  tl_client *client = open_memory();
  OPENED((void)0, TL_OK);
  OPENED(config.struct_size = 4, TL_E_INVALID);
  OPENED(config.flags = 8, TL_E_INVALID);
  OPENED(config.flags = TL_WINDOW_PRELOAD, TL_OK);
  OPENED(config.flags = 3, TL_OK);
  OPENED(config.conversation.size = 0, TL_E_INVALID);
  OPENED(config.at = 4, TL_E_INVALID);
  OPENED(config.at = -1, TL_E_INVALID);
  OPENED(config.at = TL_AT_MESSAGE, TL_E_INVALID);
  OPENED((config.at = TL_AT_MESSAGE, config.id = view("nobody")), TL_E_UNSUPPORTED);
  OPENED((config.at = TL_AT_TIME, config.time_us = INT64_MIN), TL_OK);
  OPENED((config.at = TL_AT_TIME, config.time_us = INT64_MAX), TL_OK);
  OPENED(config.count = 1000, TL_OK);
  OPENED(config.count = 1001, TL_E_INVALID);
  OPENED(config.rows_max = 99, TL_E_INVALID);
  OPENED(config.rows_max = 100, TL_OK);
  OPENED(config.rows_max = 200001, TL_E_INVALID);
  OPENED(config.hold_ms = 60000, TL_OK);
  OPENED(config.hold_ms = 60001, TL_E_INVALID);
  OPENED(config.hold_ms = TL_WINDOW_HOLD_NONE, TL_OK);
  tl_window_config good = window_config();
  tl_window *window = NULL;
  EXPECT(tl_window_open(client, &good, NULL), TL_E_INVALID);
  EXPECT(tl_window_open(client, NULL, &window), TL_E_INVALID);
  EXPECT(tl_window_open(NULL, &good, &window), TL_E_INVALID);
  window = open_window(client);
  LOADED((void)0, TL_OK);
  LOADED(load.kind = 5, TL_E_INVALID);
  LOADED(load.flags = 2, TL_E_INVALID);
  LOADED(load.count = 1001, TL_E_INVALID);
  LOADED((load.kind = TL_LOAD_BEFORE, load.number = 5), TL_E_NOT_FOUND);
  LOADED((load.kind = TL_LOAD_AROUND, load.at = TL_AT_LATEST), TL_E_INVALID);
  LOADED((load.kind = TL_LOAD_AROUND, load.at = TL_AT_MESSAGE, load.id = view("x")),
         TL_E_UNSUPPORTED);
  LOADED(load.reserved = 1, TL_E_INVALID);
  tl_batch *batch = NULL;
  EXPECT(tl_window_rows(window, 0, 10001, &batch), TL_E_INVALID);
  EXPECT(tl_window_rows(window, UINT32_MAX, 10000, &batch), TL_NONE);
  EXPECT(tl_window_rows(window, 0, 0, &batch), TL_NONE);
  EXPECT(tl_window_rows(window, 0, 1, NULL), TL_E_INVALID);
  EXPECT(tl_window_fill(window, UINT32_MAX), TL_E_INVALID);
  EXPECT(tl_window_show(window, UINT32_MAX, UINT32_MAX), TL_E_INVALID);
  EXPECT(tl_window_trim(window, UINT32_MAX, 1), TL_E_INVALID);
  EXPECT(tl_window_trim(window, 0, UINT32_MAX), TL_OK);
  EXPECT(tl_window_poll(window, NULL), TL_E_INVALID);
  EXPECT(tl_window_state(window, NULL), TL_E_INVALID);
  EXPECT(tl_window_find(window, view(""), NULL), TL_E_INVALID);
  /* Handles of another kind, and memory that is none. */
  tl_diff *diff = NULL;
  EXPECT(tl_window_poll((tl_window *)client, &diff), TL_E_INVALID);
  EXPECT(tl_window_poll((tl_window *)(uintptr_t)rubbish, &diff), TL_E_INVALID);
  EXPECT(tl_window_poll(NULL, &diff), TL_E_INVALID);
  EXPECT(tl_client_connected((tl_client *)window), TL_E_INVALID);
  tl_window_close((tl_window *)client);
  tl_window_free((tl_window *)client);
  tl_client_free((tl_client *)window);
  tl_diff_free((tl_diff *)(uintptr_t)rubbish);
  tl_diff_free(NULL);
  tl_text_free((tl_text *)(uintptr_t)rubbish);
  tl_text_free(NULL);
  EXPECT(tl_client_connected(client), TL_OK);
  tl_window_close(window);
  EXPECT(tl_window_poll(window, &diff), TL_E_CLOSED);
  tl_window_free(window);
  tl_client_free(client);
}

static void checksums(void) {
  uint64_t numbers[2] = {3, 9};
  uint64_t z[2] = {3, 3 * 0x9E3779B97F4A7C15ull + 9};
  uint64_t sum = 0;
  for (int i = 0; i < 2; i++) {
    z[i] = (z[i] ^ (z[i] >> 30)) * 0xBF58476D1CE4E5B9ull;
    z[i] = (z[i] ^ (z[i] >> 27)) * 0x94D049BB133111EBull;
    sum += z[i] ^ (z[i] >> 31);
  }
  CHECK(tl_checksum(numbers, 2) == sum);
  CHECK(tl_checksum(numbers, 0) == 0);
  CHECK(tl_checksum(NULL, 2) == 0);
}

static void events_and_entities(void) {
  tl_client *client = open_memory();
  EXPECT(tl_client_connected(client), TL_OK);
  EXPECT(receive(client, "{\"type\":\"update\",\"payload\":{\"ref\":\"r1\",\"silent\":true,"
                         "\"action\":\"new\",\"payload\":{\"entity\":\"sticker\","
                         "\"items\":[{\"n\":1}]}}}"), TL_OK);
  EXPECT(receive(client, "{\"type\":\"update\",\"payload\":{\"ref\":\"r2\","
                         "\"action\":\"new\",\"payload\":{\"entity\":\"profile\","
                         "\"items\":[{\"user_id\":\"u\",\"name\":\"U\"}]}}}"), TL_OK);
  tl_batch *batch = NULL;
  size_t count = 0;
  EXPECT(tl_client_events(client, 0, 0, &batch), TL_OK);
  const tl_event *events = tl_batch_events(batch, &count);
  CHECK(count == 2);
  if (count == 2) {
    CHECK(events[1].kind == TL_EVENT_PROFILE && events[1].action == TL_ACTION_NEW);
    CHECK(is(events[1].id, "u") && events[0].id.size == 0);
    CHECK(events[0].kind == TL_EVENT_UNKNOWN && is(events[0].entity, "sticker"));
    CHECK(events[0].flags == TL_CHANGE_SILENT && events[0].body.size > 0);
  }
  CHECK(tl_batch_rows(batch, NULL) == NULL && tl_batch_entities(batch, NULL) == NULL);
  tl_batch_free(batch);
  EXPECT(tl_client_events(client, 99, 0, &batch), TL_RESYNC);
  EXPECT(tl_client_events(client, 0, 10001, &batch), TL_E_INVALID);
  tl_entity_query which = {0};
  which.struct_size = sizeof which;
  which.kind = TL_ENTITY_PROFILE;
  EXPECT(tl_client_entities(client, &which, &batch), TL_OK);
  const tl_entity *entities = tl_batch_entities(batch, &count);
  CHECK(count == 1 && is(entities[0].id, "u"));
  tl_batch_free(batch);
  which.after_id = view("u");
  EXPECT(tl_client_entities(client, &which, &batch), TL_NONE);
  which.after_id = view("");
  which.id = view("u");
  EXPECT(tl_client_entities(client, &which, &batch), TL_OK);
  entities = tl_batch_entities(batch, &count);
  CHECK(count == 1 && is(entities[0].id, "u"));
  tl_batch_free(batch);
  // A member belongs to a conversation.
  which.kind = TL_ENTITY_MEMBER;
  EXPECT(tl_client_entities(client, &which, &batch), TL_E_INVALID);
  which.conversation = view("c");
  EXPECT(tl_client_entities(client, &which, &batch), TL_NONE);
  which.kind = 9;
  EXPECT(tl_client_entities(client, &which, &batch), TL_E_INVALID);
  which.kind = TL_ENTITY_PROFILE;
  which.reserved = 1;
  EXPECT(tl_client_entities(client, &which, &batch), TL_E_INVALID);
  EXPECT(tl_client_entities(client, NULL, &batch), TL_E_INVALID);
  EXPECT(tl_client_quarantined(client, view(""), 0, 0, &batch), TL_NONE);
  CHECK(batch == NULL);
  EXPECT(receive(client, "{\"type\":\"message_new\",\"conversation_id\":\"c\",\"message\":"
                         "{\"message_id\":\"m\",\"sender_id\":\"u\"}}"), TL_QUARANTINED);
  EXPECT(tl_client_quarantined(client, view("c"), 0, 0, &batch), TL_OK);
  const tl_quarantined *items = tl_batch_quarantined(batch, &count);
  CHECK(count == 1);
  if (count == 1) {
    static const uint64_t none[8] = {0};
    CHECK(is(items[0].item, "{\"message_id\":\"m\",\"sender_id\":\"u\"}"));
    CHECK(is(items[0].reason, "created_at is missing") && is(items[0].conversation, "c"));
    CHECK(items[0].size == items[0].item.size && items[0].flags == 0 && items[0].seq > 0);
    CHECK(items[0].low_us == INT64_MIN && items[0].high_us == INT64_MAX);
    /* header: "Its number; grows, never reused." */
    CHECK(items[0].reserved == 0 && memcmp(items[0].reserved_words, none, sizeof none) == 0);
    /* header: "`after` gives only greater numbers; 0: all." */
    tl_batch *rest = NULL;
    EXPECT(tl_client_quarantined(client, view("c"), items[0].seq, 0, &rest), TL_NONE);
  }
  CHECK(tl_batch_entities(batch, NULL) == NULL);
  tl_batch_free(batch);
  EXPECT(tl_client_quarantined(client, view("d"), 0, 0, &batch), TL_NONE);
  EXPECT(tl_client_quarantined(client, view(""), 0, 10001, &batch), TL_E_INVALID);
  tl_view id = view("m1");
  EXPECT(tl_client_mark_listened(client, view("c"), &id, 1), TL_OK);
  EXPECT(tl_client_mark_listened(client, view("c"), NULL, 1), TL_E_INVALID);
  tl_client_free(client);
}

static void merging(void) {
  make_messages();
  static char base[1024], more[1024];
  tl_text *text = NULL;
  snprintf(base, sizeof base, "[%s,%s]", bodies[1], bodies[3]);
  snprintf(more, sizeof more, "[%s,%s,7]", bodies[2], bodies[1]);
  EXPECT(tl_merge_messages(view(base), view(more), &text), TL_QUARANTINED);
  if (text != NULL) {
    char *copy = calloc(1, text->bytes.size + 1);
    memcpy(copy, text->bytes.data, text->bytes.size);
    const char *one = strstr(copy, "\"m1\""), *two = strstr(copy, "\"m2\"");
    const char *three = strstr(copy, "\"m3\"");
    CHECK(one && two && three && one < two && two < three);
    CHECK(one && strstr(one + 1, "\"m1\"") == NULL);
    free(copy);
  }
  tl_text_free(text);
  EXPECT(tl_merge_messages(view("[]"), view("[]"), &text), TL_OK);
  CHECK(text != NULL && is(text->bytes, "[]"));
  tl_text_free(text);
  EXPECT(tl_merge_messages(view("{}"), view("[]"), &text), TL_E_FRAME);
  CHECK(text == NULL);
  EXPECT(tl_merge_messages(view("["), view("[]"), &text), TL_E_FRAME);
  EXPECT(tl_merge_messages(view("[]"), view("[]"), NULL), TL_E_INVALID);
  tl_view huge = {(const uint8_t *)base, (size_t)1 << 40};
  EXPECT(tl_merge_messages(huge, view("[]"), &text), TL_E_TOO_LARGE);
  EXPECT(tl_merge_deltas(view(base), view("[{\"type\":\"message_deleted\",\"conversation_id\":"
                         "\"c\",\"message_ids\":[\"m1\",\"m3\"]}]"), &text), TL_OK);
  CHECK(text != NULL && is(text->bytes, "[]"));
  tl_text_free(text);
}

static tl_client *shared;
static atomic_int stop, wrong;

static void *push(void *unused) {
  (void)unused;
  char text[512];
  for (int i = 0; i < 400; i++) {
    snprintf(text, sizeof text, "{\"type\":\"message_new\",\"conversation_id\":\"c\","
             "\"message\":%s}", messages[i % COUNT]);
    if (receive(shared, text) < 0) atomic_fetch_add(&wrong, 1);
  }
  atomic_store(&stop, 1);
  return NULL;
}

static void *scroll(void *unused) {
  (void)unused;
  tl_window_config config = window_config();
  do {
    tl_window *window = NULL;
    tl_diff *diff = NULL;
    tl_batch *batch = NULL;
    if (tl_window_open(shared, &config, &window) != TL_OK) atomic_fetch_add(&wrong, 1);
    for (int i = 0; i < 20; i++) {
      if (tl_window_poll(window, &diff) < 0) atomic_fetch_add(&wrong, 1);
      tl_diff_free(diff);
      if (tl_window_rows(window, 0, 100, &batch) < 0) atomic_fetch_add(&wrong, 1);
      tl_batch_free(batch);
      if (tl_window_show(window, 0, 10) < 0) atomic_fetch_add(&wrong, 1);
    }
    tl_window_free(window);
  } while (!atomic_load(&stop));
  return NULL;
}

static void threads(void) {
  pthread_t pusher, screens[4];
  shared = open_memory();
  EXPECT(tl_client_connected(shared), TL_OK);
  pthread_create(&pusher, NULL, push, NULL);
  for (int i = 0; i < 4; i++) pthread_create(&screens[i], NULL, scroll, NULL);
  pthread_join(pusher, NULL);
  for (int i = 0; i < 4; i++) pthread_join(screens[i], NULL);
  CHECK(atomic_load(&wrong) == 0);
  tl_client_free(shared);
}

int main(void) {
  make_messages();
  RUN(scrolling);
  RUN(misuse);
  RUN(checksums);
  RUN(events_and_entities);
  RUN(merging);
  RUN(threads);
  return report("window");
}
