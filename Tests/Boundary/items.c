/* Items from C: a host's function over rows, groups that open and close, keys that stay,
   what is refused, handles of the wrong kind, and freeing in any order. */
#include "screen.h"

enum { COUNT = 30 };
static char bodies[COUNT][256], stamp_texts[COUNT][64];
static const char *messages[COUNT], *stamps[COUNT];

/* Messages a minute apart; those from 10 to 14 are of a robot. */
static void make_messages(void) {
  for (int i = 0; i < COUNT; i++) {
    snprintf(stamp_texts[i], sizeof *stamp_texts, "\"2024-05-01T23:%02d:00\"", i + 30);
    snprintf(bodies[i], sizeof *bodies,
             "{\"message_id\":\"m%d\",\"conversation_id\":\"c\",\"sender_id\":\"%s\","
             "\"created_at\":%.63s,\"payload\":\"p%d\"}",
             i, i >= 10 && i < 15 ? "robot" : "you", stamp_texts[i], i);
    messages[i] = bodies[i];
    stamps[i] = stamp_texts[i];
  }
}

typedef struct rule {
  tl_items *items;
  unsigned asked, dropped;
} rule;

/* The robot's messages fold. */
static void fold(void *context, const tl_message *message, tl_fold *answer) {
  rule *rule = context;
  rule->asked++;
  CHECK(answer->fold == 0 && answer->bits == 0 && answer->zone_offset_min == 60);
  if (is(message->sender, "robot")) answer->fold = 9;
  answer->bits = message->number * 3;
  /* header: "must not poll the window or the" items. */
  tl_diff *diff = NULL;
  if (rule->items) EXPECT(tl_items_poll(rule->items, &diff), TL_E_INVALID);
}

static void dropped(void *context) { ((rule *)context)->dropped++; }

static tl_items_config items_config(rule *rule) {
  tl_items_config config;
  memset(&config, 0, sizeof config);
  config.struct_size = sizeof config;
  config.zone_offset_min = 60;
  config.gap_min = 5;
  config.fold = rule ? fold : NULL;
  config.fold_context = rule;
  config.fold_drop = rule ? dropped : NULL;
  return config;
}

static tl_window *open_window(tl_client *client) {
  tl_window_config config;
  memset(&config, 0, sizeof config);
  config.struct_size = sizeof config;
  config.conversation = view("c");
  config.count = 100;
  tl_window *window = NULL;
  EXPECT(tl_window_open(client, &config, &window), TL_OK);
  return window;
}

/* Polls and serves until nothing moves; the screen has keys for numbers. */
static void settle(tl_client *client, tl_items *items, screen *screen) {
  for (int turn = 0, still = 0; turn < 50 && still < 4; turn++) {
    tl_diff *diff = NULL;
    serve(client, messages, stamps, COUNT, NULL);
    tl_status status = tl_items_poll(items, &diff);
    still = status == TL_OK ? 0 : still + 1;
    if (status != TL_OK) {
      CHECK(status == TL_NONE);
      continue;
    }
    screen_apply(screen, diff);
    tl_batch *batch = NULL;
    size_t count = 0;
    (void)!tl_items_read(items, 0, 1000, &batch);
    const tl_item *rows = tl_batch_items(batch, &count);
    CHECK(count == screen->count);
    for (size_t i = 0; i < count && i < screen->count; i++) {
      /* header: "A key stays with its item through every step." */
      CHECK(screen->numbers[i] == 0 || screen->numbers[i] == rows[i].key);
      screen->numbers[i] = rows[i].key;
    }
    CHECK(tl_checksum(screen->numbers, screen->count) == diff->checksum);
    tl_batch_free(batch);
    tl_diff_free(diff);
  }
}

static tl_item item_at(tl_items *items, uint32_t index) {
  tl_batch *batch = NULL;
  size_t count = 0;
  tl_item item;
  memset(&item, 0, sizeof item);
  EXPECT(tl_items_read(items, index, 1, &batch), TL_OK);
  const tl_item *rows = tl_batch_items(batch, &count);
  CHECK(count == 1);
  if (count == 1) item = rows[0];
  tl_batch_free(batch);
  return item;
}

static void groups(void) {
  screen shown = {0};
  rule rule = {0};
  tl_client *client = open_memory();
  EXPECT(tl_client_connected(client), TL_OK);
  tl_window *window = open_window(client);
  tl_items_config config = items_config(&rule);
  tl_items *items = NULL;
  EXPECT(tl_items_open(window, &config, &items), TL_OK);
  rule.items = items;
  settle(client, items, &shown);
  CHECK(shown.count == COUNT - 4);
  CHECK(rule.asked >= COUNT);
  tl_item group = item_at(items, 10);
  CHECK(group.flags & TL_ITEM_GROUP);
  CHECK(group.row == 10 && group.row_count == 5 && group.group_count == 5);
  CHECK(group.range == TL_ITEM_NONE && group.bits == group.number * 3);
  /* Half past eleven in UTC is of the next day an hour further east. */
  CHECK(item_at(items, 0).day == 19845 && (item_at(items, 0).flags & TL_ITEM_NEW_DAY));
  uint32_t item = 99, place = 99, count = 99;
  EXPECT(tl_items_find(items, view("m12"), &item, &place), TL_OK);
  CHECK(item == 10 && place == 2);
  EXPECT(tl_items_find(items, view("m777"), &item, NULL), TL_NONE);
  CHECK(item == 0);
  EXPECT(tl_items_find_key(items, group.key, &item), TL_OK);
  CHECK(item == 10);
  EXPECT(tl_items_find_key(items, 1 << 30, &item), TL_NONE);
  uint64_t bits = 1;
  EXPECT(tl_items_bits(items, 10, 4, &bits), TL_OK);
  CHECK(bits % 3 == 0 && bits > group.bits);
  EXPECT(tl_items_bits(items, 10, 5, &bits), TL_NONE);
  EXPECT(tl_items_range(items, 0, &item, &count), TL_NONE);
  CHECK(item == 0 && count == 0);
  tl_batch *batch = NULL;
  size_t rows = 0;
  EXPECT(tl_items_messages(items, 10, 1, 0, &batch), TL_OK);
  const tl_message *found = tl_batch_rows(batch, &rows);
  CHECK(rows == 4 && is(found[0].id, "m11"));
  CHECK(tl_batch_items(batch, &rows) == NULL && rows == 0);
  tl_batch_free(batch);
  EXPECT(tl_items_messages(items, 99, 0, 0, &batch), TL_NONE);
  CHECK(batch == NULL);

  EXPECT(tl_items_set_open(items, 10, 1), TL_OK);
  EXPECT(tl_items_set_open(items, 10, 1), TL_NONE);
  EXPECT(tl_items_set_open(items, 0, 1), TL_NONE);
  EXPECT(tl_items_set_open(items, 10, 2), TL_E_INVALID);
  shown.inserted = 0;
  settle(client, items, &shown);
  CHECK(shown.count == COUNT && shown.inserted == 4);
  tl_item one = item_at(items, 12);
  CHECK(one.place == 2 && one.group_count == 5 && (one.flags & TL_ITEM_OPENED));
  CHECK(item_at(items, 10).key == group.key);
  EXPECT(tl_items_set_open(items, 12, 0), TL_OK);
  settle(client, items, &shown);
  CHECK(shown.count == COUNT - 4);

  EXPECT(tl_items_unread(items, one.number), TL_OK);
  settle(client, items, &shown);
  CHECK(shown.count == COUNT - 3);
  CHECK(item_at(items, 11).flags & TL_ITEM_UNREAD_BEFORE);
  EXPECT(tl_items_unread(items, 0), TL_OK);
  EXPECT(tl_items_unread(items, 1 << 30), TL_E_NOT_FOUND);
  settle(client, items, &shown);
  EXPECT(tl_items_show(items, 0, 12), TL_OK);
  EXPECT(tl_items_show(items, 99, 1), TL_E_INVALID);
  tl_items_status status;
  memset(&status, 0, sizeof status);
  status.struct_size = sizeof status;
  EXPECT(tl_items_state(items, &status), TL_OK);
  CHECK(status.flags == 0 && status.item_count == COUNT - 4 && status.row_count == COUNT);
  CHECK(status.range_count == 0 && status.unread_item == TL_ITEM_NONE);
  CHECK(status.checksum == tl_checksum(shown.numbers, shown.count));
  CHECK(status.version == shown.version);

  /* The client and the window go first: the items keep what they need. */
  tl_client_free(client);
  tl_window_free(window);
  tl_diff *diff = (tl_diff *)&item;
  EXPECT(tl_items_poll(items, &diff), TL_E_CLOSED);
  CHECK(diff == NULL);
  tl_items_close(items);
  tl_items_close(items);
  tl_items_close(NULL);
  CHECK(rule.dropped == 0);
  tl_items_free(items);
  tl_items_free(NULL);
  CHECK(rule.dropped == 1);
}

static void newest_first(void) {
  screen shown = {0};
  tl_client *client = open_memory();
  EXPECT(tl_client_connected(client), TL_OK);
  tl_window *window = open_window(client);
  rule rule = {0};
  tl_items_config config = items_config(&rule);
  config.flags = TL_ITEMS_REVERSED;
  tl_items *items = NULL;
  EXPECT(tl_items_open(window, &config, &items), TL_OK);
  settle(client, items, &shown);
  uint32_t item = 0, place = 0;
  EXPECT(tl_items_find(items, view("m29"), &item, &place), TL_OK);
  CHECK(item == 0 && place == 0);
  EXPECT(tl_items_find(items, view("m10"), &item, &place), TL_OK);
  CHECK(item == 15 && place == 4);
  tl_batch *batch = NULL;
  size_t rows = 0;
  EXPECT(tl_items_messages(items, 15, 0, 2, &batch), TL_OK);
  const tl_message *found = tl_batch_rows(batch, &rows);
  CHECK(rows == 2 && is(found[0].id, "m14") && is(found[1].id, "m13"));
  tl_batch_free(batch);
  /* Who polls the window as well polls the items last. */
  tl_diff *diff = NULL;
  EXPECT(tl_items_set_open(items, 15, 1), TL_OK);
  EXPECT(tl_window_poll(window, &diff), TL_NONE);
  EXPECT(tl_items_poll(items, &diff), TL_OK);
  tl_diff_free(diff);
  tl_items_free(items);
  tl_window_free(window);
  tl_client_free(client);
}

#define OPENED(change, expected)                                               \
  do {                                                                         \
    rule rule = {0};                                                           \
    tl_items_config config = items_config(&rule);                              \
    tl_items *items = NULL;                                                    \
    change;                                                                    \
    EXPECT(tl_items_open(window, &config, &items), expected);                  \
    CHECK((items != NULL) == ((expected) == TL_OK));                           \
    tl_items_free(items);                                                      \
    CHECK(rule.dropped == 1);                                                  \
  } while (0)

static void refusals(void) {
  tl_client *client = open_memory();
  tl_window *window = open_window(client);
  OPENED((void)0, TL_OK);
  OPENED(config.flags = 1u << 20, TL_E_INVALID);
  OPENED(config.gap_min = 527041, TL_E_INVALID);
  OPENED(config.zone_offset_min = 1440, TL_E_INVALID);
  OPENED(config.zone_offset_min = INT32_MIN, TL_E_INVALID);
  tl_items_config config = items_config(NULL);
  tl_items *items = NULL;
  EXPECT(tl_items_open(window, &config, NULL), TL_E_INVALID);
  EXPECT(tl_items_open(window, NULL, &items), TL_E_INVALID);
  EXPECT(tl_items_open((tl_window *)client, &config, &items), TL_E_INVALID);
  EXPECT(tl_items_open(NULL, &config, &items), TL_E_INVALID);
  tl_diff *diff = NULL;
  EXPECT(tl_items_poll((tl_items *)window, &diff), TL_E_INVALID);
  EXPECT(tl_items_poll(NULL, &diff), TL_E_INVALID);
  EXPECT(tl_items_open(window, &config, &items), TL_OK);
  uint32_t item = 0;
  tl_batch *batch = NULL;
  EXPECT(tl_items_poll(items, NULL), TL_E_INVALID);
  EXPECT(tl_items_poll(items, &diff), TL_NONE);
  EXPECT(tl_items_read(items, 0, 10, NULL), TL_E_INVALID);
  EXPECT(tl_items_read(items, 0, 10001, &batch), TL_E_INVALID);
  EXPECT(tl_items_read(items, UINT32_MAX, 10000, &batch), TL_NONE);
  EXPECT(tl_items_messages(items, 0, 0, 10001, &batch), TL_E_INVALID);
  EXPECT(tl_items_messages(items, UINT32_MAX, UINT32_MAX, 1, &batch), TL_NONE);
  EXPECT(tl_items_find(items, view(""), &item, NULL), TL_E_INVALID);
  EXPECT(tl_items_find(items, view("m1"), NULL, NULL), TL_E_INVALID);
  EXPECT(tl_items_show(items, 0, UINT32_MAX), TL_OK);
  EXPECT(tl_items_state(items, NULL), TL_E_INVALID);
  CHECK(tl_batch_items(NULL, NULL) == NULL);
  tl_window_close(window);
  EXPECT(tl_items_poll(items, &diff), TL_E_CLOSED);
  tl_window_free(window);
  tl_items_free(items);
  tl_client_free(client);
}

int main(void) {
  make_messages();
  RUN(groups);
  RUN(newest_first);
  RUN(refusals);
  return report("items");
}
