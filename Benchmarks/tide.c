/* The same work through Tideline's C interface: pages of JSON as they come from a server, to
   encrypted, ranges proven, changes told. The server is played here; making its answers is not
   counted, every call of the library is. */
#include <tideline.h>

#include "bench.h"
#include "data.h"

#define EXPORT __attribute__((visibility("default")))

enum { PAGE = 100, ANSWER = 4 << 20, BURST = 64 };

static struct {
  uint64_t total;
  uint32_t conversations;
  uint64_t more;     /* Messages of conversation 0 that came after the data set. */
  uint64_t next_ref;
  uint64_t deleted;  /* How many of conversation 0 the next answer names as deleted. */
  char answer[ANSWER];
  size_t size;
} server;

static data_message made;

static void must(tl_status status, const char *what) {
  if (status < TL_OK) fail(what, tl_last_error());
}

static tl_view text(const char *s) { return (tl_view){(const uint8_t *)s, strlen(s)}; }

static uint64_t length(uint32_t conversation) {
  return data_length(server.total, server.conversations, conversation) +
         (conversation == 0 ? server.more : 0);
}

static void put(const char *bytes, size_t size) {
  if (size > ANSWER - server.size) fail("server", "the answer is too long");
  memcpy(server.answer + server.size, bytes, size);
  server.size += size;
}

static void say(const char *s) { put(s, strlen(s)); }

/* A string member of a request; its size is 0 where there is none. */
static size_t member(const char *frame, const char *name, char *out, size_t room) {
  char key[64];
  snprintf(key, sizeof key, "\"%s\":\"", name);
  const char *at = strstr(frame, key);
  if (at == NULL) return 0;
  at += strlen(key);
  size_t size = strcspn(at, "\"");
  if (size >= room) fail("server", "a member is too long");
  memcpy(out, at, size);
  out[size] = 0;
  return size;
}

/* Answers one request, outside the clock. */
static void respond(tl_view frame) {
  static char request[1 << 16];
  char type[64], id[128], room[64], stamp[64];
  if (frame.size >= sizeof request) fail("server", "the request is too long");
  memcpy(request, frame.data, frame.size);
  request[frame.size] = 0;
  const char *inner = strstr(request, "\"payload\":");
  member(inner != NULL ? inner : request, "type", type, sizeof type);
  member(request, "request_id", id, sizeof id);
  uint32_t conversation = 0;
  if (member(request, "conversation_id", room, sizeof room) > 5) {
    conversation = (uint32_t)strtoul(room + 5, NULL, 10);
  }
  server.size = 0;
  say("{\"account\":\"bench\",\"type\":\"reply\",\"payload\":{\"type\":\"");
  say(type);
  say("\",\"request_id\":\"");
  say(id);
  say("\",\"status\":\"ok\",\"data\":{");
  if (strcmp(type, "get_messages") == 0) {
    uint64_t high = length(conversation), low = 0;
    size_t size = member(request, "before_ts", stamp, sizeof stamp);
    if (size > 0) high = data_index(conversation, data_stamp_us(stamp, size));
    size = member(request, "after_ts", stamp, sizeof stamp);
    if (size > 0) low = data_index(conversation, data_stamp_us(stamp, size) + 1);
    if (high > length(conversation)) high = length(conversation);
    uint64_t first = high - low > PAGE ? high - PAGE : low;
    say("\"messages\":[");
    for (uint64_t i = first; i < high; i++) {
      data_make(conversation, i, &made);
      if (i > first) say(",");
      put(made.json, made.size);
    }
    say(first > low ? "],\"has_more\":true" : "],\"has_more\":false");
  } else if (strcmp(type, "get_deleted_since") == 0) {
    say("\"message_ids\":[");
    for (uint64_t i = 0; i < server.deleted; i++) {
      char name[40];
      data_id(0, length(0) - 1 - 2 * i, name + 1);
      name[0] = name[37] = '"';
      if (i > 0) say(",");
      put(name, 38);
    }
    say("]");
  }
  say("}}}");
}

static tl_client *client;
static tl_profile profile;

static void open_client(const char *path, long cache_kib) {
  static const uint8_t key[TL_KEY_BYTES] = {7};
  memset(&profile, 0, sizeof profile);
  profile.struct_size = sizeof profile;
  profile.flags = TL_PROFILE_PUSH_LOSSLESS;
  profile.page_limit = PAGE;
  profile.truncates = TL_TRUNCATES_NEWEST;
  profile.capabilities = TL_SERVER_BEFORE | TL_SERVER_ENVELOPE;
  profile.time_resolution_us = 1000;
  tl_client_config config;
  memset(&config, 0, sizeof config);
  config.struct_size = sizeof config;
  config.path = text(path);
  config.key = (tl_view){key, sizeof key};
  config.account = text("bench");
  config.user_id = text("me");
  config.profile = &profile;
  config.cache_bytes = (uint64_t)cache_kib * 1024;
  must(tl_client_open(&config, &client), "open");
}

/* Serves until nothing is asked any more. The server's own time is not counted; where `deletions`
   is given, what takes in an answer that names deletions is counted there alone. */
static void serve(stopwatch *watch, stopwatch *deletions) {
  for (;;) {
    tl_frame *frame = NULL;
    start(watch);
    tl_status status = tl_client_next_frame(client, &frame);
    must(status, "next_frame");
    if (status == TL_OK) must(tl_client_frame_sent(client, frame->id), "frame_sent");
    stop(watch);
    if (status == TL_NONE) return;
    int is_reply = memmem(frame->bytes.data, frame->bytes.size, "\"type\":\"reply\"", 14) != NULL;
    if (!is_reply) {
      respond(frame->bytes);
      stopwatch *mine = memmem(frame->bytes.data, frame->bytes.size, "get_deleted_since", 17) &&
          deletions != NULL ? deletions : watch;
      start(mine);
      must(tl_client_receive(client, (tl_view){(uint8_t *)server.answer, server.size}), "receive");
      stop(mine);
    }
    tl_frame_free(frame);
  }
}

static void sync_room(uint32_t conversation, tl_sync_kind kind, stopwatch *watch,
                      stopwatch *deletions) {
  char name[32];
  snprintf(name, sizeof name, "room-%05u", conversation);
  tl_sync_request request;
  memset(&request, 0, sizeof request);
  request.struct_size = sizeof request;
  request.conversation = text(name);
  request.kind = kind;
  request.want = UINT32_MAX;
  start(watch);
  must(tl_client_sync(client, &request, NULL), "sync");
  stop(watch);
  serve(watch, deletions);
}

static void ingest(void) {
  stopwatch watch = {0};
  must(tl_client_connected(client), "connected");
  for (uint32_t c = 0; c < server.conversations; c++) sync_room(c, TL_SYNC_OLDER, &watch, NULL);
  tl_stats stats;
  memset(&stats, 0, sizeof stats);
  stats.struct_size = sizeof stats;
  must(tl_client_stats(client, &stats), "stats");
  if (stats.messages != server.total) fail("ingest", "messages are missing");
  start(&watch);
  tl_client_close(client);
  stop(&watch);
  told("ingest", server.total, watch.total);
}

static tl_window *open_window(uint32_t conversation, tl_at at, int64_t time_us) {
  char name[32];
  snprintf(name, sizeof name, "room-%05u", conversation);
  tl_window_config config;
  memset(&config, 0, sizeof config);
  config.struct_size = sizeof config;
  config.conversation = text(name);
  config.at = at;
  config.time_us = time_us;
  tl_window *window = NULL;
  must(tl_window_open(client, &config, &window), "window");
  return window;
}

static uint32_t poll_window(tl_window *window) {
  tl_diff *diff = NULL;
  tl_status status = tl_window_poll(window, &diff);
  must(status, "poll");
  uint32_t rows = status == TL_OK ? diff->row_count : 0;
  tl_diff_free(diff);
  return rows;
}

static size_t read_rows(tl_window *window, uint32_t first, uint32_t count) {
  tl_batch *batch = NULL;
  size_t found = 0;
  must(tl_window_rows(window, first, count, &batch), "rows");
  if (batch != NULL) (void)tl_batch_rows(batch, &found);
  tl_batch_free(batch);
  return found;
}

/* Items over a window and where they stand, with the list of keys that a host has. */
typedef struct {
  tl_items *items;
  tl_viewport *viewport;
  uint64_t keys[4096];
  size_t count;
} screen;

static void open_screen(tl_window *window, screen *made) {
  tl_items_config items = {.struct_size = sizeof items,
                           .flags = TL_ITEMS_FOLD_DELETED | TL_ITEMS_FOLD_EVENTS, .gap_min = 5};
  tl_viewport_config viewport = {.struct_size = sizeof viewport, .extent = 1000, .estimate = 40,
                                 .flags = TL_VIEWPORT_BOTTOM_UP | TL_VIEWPORT_HOLD_BOTTOM};
  memset(made, 0, sizeof *made);
  must(tl_items_open(window, &items, &made->items), "items");
  must(tl_viewport_new(&viewport, &made->viewport), "viewport");
}

/* A host's list of keys goes along with the steps. */
static void follow(screen *screen, const tl_diff *diff) {
  uint64_t *keys = screen->keys;
  for (size_t i = 0; i < diff->op_count; i++) {
    tl_op op = diff->ops[i];
    size_t behind = screen->count - op.row;
    if (op.kind == TL_OP_INSERT) {
      memmove(keys + op.row + op.count, keys + op.row, behind * sizeof *keys);
      memset(keys + op.row, 0, op.count * sizeof *keys);
      screen->count += op.count;
    } else if (op.kind == TL_OP_REMOVE) {
      memmove(keys + op.row, keys + op.row + op.count, (behind - op.count) * sizeof *keys);
      screen->count -= op.count;
    } else if (op.kind == TL_OP_MOVE) fail("screen", "a move");
  }
  for (size_t row = 0; row < screen->count; row++) {
    tl_batch *batch = NULL;
    size_t end = row;
    while (end < screen->count && keys[end] == 0) end++;
    if (end == row) continue;
    must(tl_items_read(screen->items, (uint32_t)row, (uint32_t)(end - row), &batch), "items");
    for (size_t at = row; at < end; at++) keys[at] = tl_batch_items(batch, NULL)[at - row].key;
    tl_batch_free(batch);
  }
}

/* Polls items and lays them out; gives how many there are, 0 where nothing is new. */
static uint32_t poll_screen(screen *screen) {
  tl_diff *diff = NULL;
  tl_layout *layout = NULL;
  int64_t heights[512];
  uint64_t missing[512];
  must(tl_items_poll(screen->items, &diff), "poll");
  if (diff == NULL) return 0;
  follow(screen, diff);
  must(tl_viewport_update(screen->viewport, diff->ops, diff->op_count, screen->keys, NULL,
                          screen->count), "update");
  for (;;) {
    must(tl_viewport_layout(screen->viewport, &layout), "layout");
    if (layout->missing_count == 0) break;
    for (size_t i = 0; i < layout->missing_count; i++) {
      missing[i] = layout->missing[i].key;
      heights[i] = 30 + (int64_t)(missing[i] % 40);
    }
    must(tl_viewport_measure(screen->viewport, missing, heights, layout->missing_count), "measure");
    tl_layout_free(layout);
  }
  if (layout->row_count == 0) fail("screen", "an empty screen");
  tl_layout_free(layout);
  tl_diff_free(diff);
  return (uint32_t)screen->count;
}

/* Pushes one message after the other into an open window. */
static void live(const char *figure, uint32_t count) {
  static screen screen;
  int is_full = strcmp(figure, "live_full") == 0;
  int is_screen = strcmp(figure, "live_screen") == 0;
  stopwatch watch = {0}, aside = {.is_aside = 1};
  must(tl_client_connected(client), "connected");
  sync_room(0, TL_SYNC_LATEST, &aside, NULL);
  tl_window *window = open_window(0, TL_AT_LATEST, 0);
  serve(&aside, NULL);
  poll_window(window);
  serve(&aside, NULL);
  poll_window(window);
  if (is_screen) open_screen(window, &screen);
  if (is_screen) poll_screen(&screen);
  mark();
  for (uint32_t i = 0; i < count; i++) {
    char head[256];
    data_make(0, length(0), &made);
    server.more++;
    server.size = 0;
    int size = snprintf(head, sizeof head,
                        "{\"account\":\"bench\",\"type\":\"update\",\"payload\":{\"ref\":\"%llu\","
                        "\"silent\":false,\"action\":\"new\",\"payload\":{\"entity\":\"message\","
                        "\"items\":[",
                        (unsigned long long)(server.next_ref++));
    put(head, (size_t)size);
    put(made.json, made.size);
    say("]}}}");
    start(&watch);
    must(tl_client_receive(client, (tl_view){(uint8_t *)server.answer, server.size}), "push");
    uint32_t shown = is_screen ? poll_screen(&screen) : poll_window(window);
    if (shown == 0) fail("live", "the window shows nothing new");
    stop(&watch);
    /* Its reply is made only when it is on disk. Without `full` replies gather, as those of a
       burst do: a sync after each commit would leave the next one a cold cache. */
    if (is_full || i % BURST == BURST - 1) serve(is_full ? &watch : &aside, NULL);
  }
  serve(&aside, NULL);
  tl_items_free(screen.items);
  tl_viewport_free(screen.viewport);
  tl_window_free(window);
  told(figure, count, watch.total);
}

static void windows(uint32_t conversations, uint32_t count, const char *figure) {
  stopwatch watch = {0};
  for (uint32_t i = 0; i < count; i++) {
    char name[32];
    snprintf(name, sizeof name, "room-%05u", i % conversations);
    tl_query query;
    memset(&query, 0, sizeof query);
    query.struct_size = sizeof query;
    query.conversation = text(name);
    query.limit = 50;
    tl_batch *batch = NULL;
    size_t found = 0;
    start(&watch);
    must(tl_client_messages(client, &query, &batch), "messages");
    (void)tl_batch_rows(batch, &found);
    tl_batch_free(batch);
    stop(&watch);
    if (found == 0) fail(figure, "an empty screen");
  }
  told(figure, count, watch.total);
}

static void open_windows(uint32_t count) {
  stopwatch watch = {0};
  for (uint32_t i = 0; i < count; i++) {
    start(&watch);
    tl_window *window = open_window(0, TL_AT_LATEST, 0);
    uint32_t rows = poll_window(window);
    size_t found = read_rows(window, 0, rows);
    tl_window_free(window);
    stop(&watch);
    if (found < 50) fail("window", "an empty screen");
  }
  told("window", count, watch.total);
}

static void scroll(uint32_t count) {
  stopwatch watch = {0};
  tl_window *window = open_window(0, TL_AT_LATEST, 0);
  uint32_t rows = poll_window(window);
  tl_load load;
  memset(&load, 0, sizeof load);
  load.struct_size = sizeof load;
  load.kind = TL_LOAD_BEFORE;
  load.count = 50;
  start(&watch);
  uint32_t seen = (uint32_t)read_rows(window, 0, rows);
  while (seen < count) {
    must(tl_window_load(window, &load), "load");
    uint32_t now = poll_window(window);
    if (now <= rows) break;
    seen += (uint32_t)read_rows(window, 0, now - rows);
    rows = now;
  }
  stop(&watch);
  tl_window_free(window);
  told("scroll", seen, watch.total);
}

static void jumps(uint32_t count) {
  stopwatch watch = {0};
  for (uint32_t i = 0; i < count; i++) {
    uint32_t c = i % server.conversations;
    int64_t middle = data_time(c, length(c) / 2);
    start(&watch);
    tl_window *window = open_window(c, TL_AT_TIME, middle);
    read_rows(window, 0, poll_window(window));
    tl_window_free(window);
    stop(&watch);
  }
  told("jump", count, watch.total);
}

static void list(uint32_t count) {
  stopwatch watch = {0};
  for (uint32_t i = 0; i < count; i++) {
    tl_list *opened = NULL;
    tl_diff *diff = NULL;
    tl_batch *batch = NULL;
    start(&watch);
    must(tl_list_open(client, NULL, &opened), "list");
    must(tl_list_poll(opened, &diff), "list");
    must(tl_list_rows(opened, 0, 10000, &batch), "list");
    tl_batch_free(batch);
    tl_diff_free(diff);
    tl_list_free(opened);
    stop(&watch);
  }
  told("list", count, watch.total);
}

static void deletes(uint32_t count) {
  if (count > length(0) / 2) count = (uint32_t)(length(0) / 2);
  stopwatch watch = {0}, aside = {.is_aside = 1};
  must(tl_client_connected(client), "connected");
  server.deleted = count;
  sync_room(0, TL_SYNC_LATEST, &aside, &watch);
  server.deleted = 0;
  told("deletes", count, watch.total);
}

/* One reading figure, so often; false for a name of none. */
static int counted(const char *figure, uint32_t count) {
  if (strcmp(figure, "warm") == 0) windows(1, count, figure);
  else if (strcmp(figure, "spread") == 0) windows(server.conversations, count, figure);
  else if (strcmp(figure, "window") == 0) open_windows(count);
  else if (strcmp(figure, "jump") == 0) jumps(count);
  else if (strcmp(figure, "scroll") == 0) scroll(20 * count);
  else if (strcmp(figure, "list") == 0) list(count);
  else return 0;
  return 1;
}

/* argv: path, total, conversations, cache in KiB, command, and with `count` the figure. */
EXPORT int bench_run(int argc, const char *const *argv) {
  if (argc < 5) return 2;
  const char *path = argv[0], *command = argv[4];
  server.total = strtoull(argv[1], NULL, 10);
  server.conversations = (uint32_t)strtoul(argv[2], NULL, 10);
  long cache = atol(argv[3]);
  if (strcmp(command, "cold") == 0 || strcmp(command, "cold_facts") == 0) {
    forget_file(path);
    stopwatch watch = {0};
    start(&watch);
    open_client(path, cache);
    stop(&watch);
    if (strcmp(command, "cold") == 0) told("open", 1, watch.total);
    start(&watch);
    tl_window *window = open_window(0, TL_AT_LATEST, 0);
    if (read_rows(window, 0, poll_window(window)) < 50) fail(command, "an empty screen");
    stop(&watch);
    tl_window_free(window);
    told(command, 1, watch.total);
    tl_client_free(client);
    return 0;
  }
  open_client(path, cache);
  if (strcmp(command, "count") == 0 && argc > 5) {
    /* What is done once is left out. */
    if (!counted(argv[5], server.conversations)) return 2;
    CALLGRIND_ZERO_STATS;
    counted(argv[5], 50);
  } else if (strcmp(command, "ingest") == 0) ingest();
  else if (strcmp(command, "live_normal") == 0 || strcmp(command, "live_full") == 0 ||
           strcmp(command, "live_facts") == 0 || strcmp(command, "live_screen") == 0) {
    int is_full = strcmp(command, "live_full") == 0;
    server.more = is_full ? 10000 : strcmp(command, "live_facts") == 0 ? 20000 : 0;
    server.next_ref = server.total + 1000 * server.more;
    live(command, is_full ? 500 : LIVE);
  } else if (strcmp(command, "read") == 0) {
    windows(1, 1, "first");
    windows(1, 5000, "warm");
    windows(server.conversations, 5000, "spread");
    open_windows(2000);
    scroll(2000);
    jumps(1000);
    list(20);
    said("memory_kib", (double)memory_kib("VmRSS"));
  } else if (strcmp(command, "deletes") == 0) deletes(DELETES);
  else return 2;
  tl_client_free(client);
  return 0;
}
