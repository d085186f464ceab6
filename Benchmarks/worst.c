/* The calls that hold the writer longest for their size, each beside a page of as many bytes.

       worst KIND [BYTES]

   Makes one frame of that kind, of BYTES (16 MiB) or as many as a frame of it may have, and hands
   it to a client in memory. Prints one line of JSON: its bytes, what the call gave, and the time of
   the processor. `page` is the answer to `get_messages` that the others are held against; worst.py
   asks for one of as many bytes. Kinds that begin with `search_` have search switched on, and are
   held against `search_page`. Of calls that are handed no frame the bytes are those of what they
   give or take. */
#include "bench.h"

#include <stdarg.h>

#include "tideline.h"

enum { MOST = 10000, PAYLOAD = 4000000 };

typedef struct text {
  char *bytes;
  size_t size, room;
} text;

static size_t wanted = (16 << 20) - 64;
static tl_client *client;

static void add(text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(text *t, const char *format, ...) {
  va_list given;
  if (t->room - t->size < 1024) {
    t->room = t->room * 2 + 4096;
    t->bytes = realloc(t->bytes, t->room);
    if (t->bytes == NULL) fail("memory", "none");
  }
  va_start(given, format);
  t->size += (size_t)vsnprintf(t->bytes + t->size, t->room - t->size, format, given);
  va_end(given);
}

static void fill(text *t, const char *piece, size_t size) {
  for (size_t done = 0, step = strlen(piece); done + step <= size; done += step) {
    add(t, "%s", piece);
  }
}

/* The head of a message in room c; its payload and the end are the caller's. */
static void message(text *t, const char *room, long number) {
  add(t,
      "{\"message_id\":\"m%ld\",\"conversation_id\":\"%s\",\"sender_id\":\"you\","
      "\"created_at\":\"2026-02-15T%02ld:%02ld:%02ld.%06ld\"",
      number, room, number / 3600 % 24, number / 60 % 60, number % 60, number % 1000000);
}

/* What is measured is one call. */
static tl_status timed(stopwatch *w, tl_status (*call)(const void *), const void *given) {
  struct timespec from, to;
  start(w);
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
  tl_status status = call(given);
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
  stop(w);
  w->total = (to.tv_sec - from.tv_sec) * 1000000000 + to.tv_nsec - from.tv_nsec;
  return status;
}

static tl_status hand_in(const void *given) {
  const text *t = given;
  tl_view frame = {(const uint8_t *)t->bytes, t->size};
  return tl_client_receive(client, frame);
}

static tl_status receive(const text *t, stopwatch *w) { return timed(w, hand_in, t); }

/* What is there before the frame: not counted. */
static void prepare(const text *t) {
  stopwatch aside = {.is_aside = 1};
  if (receive(t, &aside) < 0) fail("prepare", tl_last_error());
}

static void update(text *t, const char *ref, const char *action, const char *entity) {
  add(t,
      "{\"type\":\"update\",\"payload\":{\"ref\":\"%s\",\"action\":\"%s\",\"payload\":{"
      "\"entity\":\"%s\",\"items\":[",
      ref, action, entity);
}

/* One message whose payload is nearly as long as it may be. */
static void prepare_large(void) {
  text t = {0};
  update(&t, "large", "new", "message");
  message(&t, "c", 1);
  add(&t, ",\"payload\":\"");
  fill(&t, "xxxxxxxxxxxxxxxx", PAYLOAD);
  add(&t, "\"}]}}}");
  prepare(&t);
  free(t.bytes);
}

/* The head of the answer to a request that is under way. */
static void answer(text *t) {
  tl_sync_request request = {.struct_size = sizeof request};
  tl_frame *frame = NULL;
  request.conversation = (tl_view){(const uint8_t *)"c", 1};
  if (tl_client_sync(client, &request, NULL) != TL_OK) fail("sync", tl_last_error());
  if (tl_client_next_frame(client, &frame) != TL_OK) fail("request", tl_last_error());
  const char *id = strstr((const char *)frame->bytes.data, "\"request_id\":\"");
  if (id == NULL) fail("request", "it has no id");
  id += strlen("\"request_id\":\"");
  add(t, "{\"type\":\"get_messages\",\"request_id\":\"%.*s\",\"status\":\"ok\",\"data\":{"
      "\"messages\":[", (int)strcspn(id, "\""), id);
  tl_frame_free(frame);
}

/* A conversation that is known whole, over a day and more. */
static void prepare_whole(void) {
  text t = {0};
  answer(&t);
  add(&t, "{\"message_id\":\"old\",\"conversation_id\":\"c\",\"sender_id\":\"you\","
          "\"created_at\":\"2026-02-14T00:00:00.000000\",\"payload\":0},"
          "{\"message_id\":\"new\",\"conversation_id\":\"c\",\"sender_id\":\"you\","
          "\"created_at\":\"2026-02-16T00:00:00.000000\",\"payload\":0}],\"total_count\":2}}");
  prepare(&t);
  free(t.bytes);
}

static void page(text *t, const char *piece) {
  answer(t);
  size_t each = wanted / MOST;
  size_t head = 140;
  long count = each < head + 16 ? (long)(wanted / (head + 16)) : MOST;
  for (long i = 0; i < count; i++) {
    if (i > 0) add(t, ",");
    message(t, "c", i);
    add(t, ",\"payload\":\"");
    fill(t, piece, each > head + 16 ? each - head : 16);
    add(t, "\"}");
  }
  add(t, "]}}");
}

/* As many items as fit, each made by `one`. */
static void items(text *t, const char *action, const char *entity, long most,
                  void (*one)(text *, long)) {
  update(t, "r", action, entity);
  for (long i = 0; i < most && t->size + 600 < wanted; i++) {
    if (i > 0) add(t, ",");
    one(t, i);
  }
  add(t, "]}}}");
}

static void deletion(text *t, long i) {
  add(t, "{\"conversation_id\":\"c\",\"message_id\":\"m%ld\"}", i);
}
static void room_deletion(text *t, long i) {
  add(t, "{\"conversation_id\":\"c%ld\",\"message_id\":\"m\"}", i % MOST);
}
static void tiny(text *t, long i) {
  message(t, "c", i);
  add(t, ",\"payload\":0}");
}
static void edit(text *t, long i) {
  message(t, "c", i);
  add(t, ",\"payload\":\"another word\",\"version\":2}");
}
static void room_message(text *t, long i) {
  char room[24];
  snprintf(room, sizeof room, "c%ld", i);
  message(t, room, i);
  add(t, ",\"payload\":0}");
}
static void two_rooms(text *t, long i) {
  message(t, i % 2 == 0 ? "c" : "d", i);
  add(t, ",\"payload\":0}");
}
static void copy(text *t, long i) {
  message(t, "c", 1);
  add(t, ",\"payload\":0,\"version\":-1,\"read_by\":[\"r%ld\"]}", i);
}
static void one_receipt(text *t, long i) {
  add(t,
      "{\"conversation_id\":\"c\",\"message_id\":\"m1\",\"user_id\":\"r%ld\",\"read_at\":1,"
      "\"delivered_at\":1,\"listened_at\":1}",
      i);
}
static void receipt(text *t, long i) {
  add(t, "{\"conversation_id\":\"c\",\"message_id\":\"x%ld\",\"user_id\":\"r%ld\"}", i, i);
}
static void reaction(text *t, long i) {
  add(t, "{\"conversation_id\":\"c\",\"message_id\":\"m1\",\"reactions\":{\"+\":[\"r%ld\"]}", i);
  if (i % 2 == 0) add(t, ",\"version\":%ld", i);
  add(t, "}");
}
static void pin(text *t, long i) {
  add(t, "{\"conversation_id\":\"c\",\"message_id\":\"m1\",\"pinned\":%s}",
      i % 2 == 0 ? "true" : "false");
}
static void typing(text *t, long i) {
  add(t, "{\"conversation_id\":\"c%ld\",\"user_id\":\"you\"}", i);
}
static void conversation(text *t, long i) {
  char room[24];
  snprintf(room, sizeof room, "c%ld", i);
  add(t, "{\"conversation_id\":\"%s\",\"participant_ids\":[\"a\",\"b\"],\"unread_count\":3,"
      "\"last_read_message_id\":\"m\",\"last_message\":", room);
  message(t, room, i);
  add(t, ",\"payload\":0}}");
}
static void nothing(text *t, long i) {
  add(t, "%ld", i % 10);
}
static void readers(text *t, long i) {
  message(t, "c", i);
  add(t, ",\"payload\":0,\"read_by\":[");
  for (long user = 0; user < MOST; user++) add(t, "%s\"r%ld\"", user > 0 ? "," : "", user);
  add(t, "]}");
}
static void reactions(text *t, long i) {
  message(t, "c", i);
  add(t, ",\"payload\":0,\"reactions\":{");
  for (long user = 0; user < MOST; user++) add(t, "%s\"%ld\":[]", user > 0 ? "," : "", user);
  add(t, "}}");
}
static void members(text *t, long i) {
  message(t, "c", i);
  add(t, ",\"payload\":0");
  fill(t, ",\"\\u0061\":0", PAYLOAD);
  add(t, "}");
}
static void nested(text *t, long i) {
  message(t, "c", i);
  add(t, ",\"payload\":[0");
  for (int times = 0; times < PAYLOAD / 240; times++) {
    add(t, ",");
    fill(t, "[", 110);
    fill(t, "]", 110);
  }
  add(t, "]}");
}

/* The head of a push of entries, and of the answer to a request for them. */
static void push(text *t) {
  add(t, "{\"type\":\"entries_new\",\"conversation_id\":\"c\",\"entries\":[");
}
static void log_answer(text *t) {
  answer(t);
  char *type = strstr(t->bytes, "get_messages");
  char *list = strstr(t->bytes, "\"messages\"");
  memcpy(type, "get_entries\"", strlen("get_messages"));
  /* One byte less each: a space is in its place. */
  memcpy(type + strlen("get_messages"), " ", 1);
  memcpy(list, "\"entries\" ", strlen("\"messages\""));
}
static void log_change(text *t, const char *change, long number) {
  add(t,
      "{\"entry_id\":\"%s%ld\",\"change\":\"%s\",\"target_id\":\"m0\",\"sender_id\":\"r%ld\"%s}",
      change, number, change, number, strcmp(change, "react") == 0 ? ",\"reaction\":\"+\"" : "");
}
static void log_message(text *t, long number) {
  message(t, "c", number);
  add(t, ",\"payload\":0}");
}

/* A room of one message, which is known up to the present. */
static void prepare_log(long number) {
  text t = {0};
  log_answer(&t);
  log_message(&t, number);
  add(&t, "],\"after\":\"t\",\"present\":true}}");
  prepare(&t);
  free(t.bytes);
}

/* So many reactions of one message, each behind the one before, the first behind another one. */
static void prepare_reactions(long count, long behind) {
  for (long done = 0; done < count; done += MOST) {
    text t = {0};
    push(&t);
    for (long i = 0; i < MOST; i++) {
      if (i > 0) add(&t, ",");
      log_change(&t, "react", done + i);
    }
    add(&t, "]");
    if (done > 0) add(&t, ",\"prev\":\"react%ld\"}", done - 1);
    if (done == 0) add(&t, ",\"prev\":\"m%ld\"}", behind);
    prepare(&t);
    free(t.bytes);
  }
}

/* Messages with as much text as each may have, in frames of their own. */
static void prepare_texts(int count, size_t size) {
  for (int i = 0; i < count; i++) {
    text t = {0};
    char ref[16];
    snprintf(ref, sizeof ref, "text%d", i);
    update(&t, ref, "new", "message");
    message(&t, "c", i);
    add(&t, ",\"payload\":\"");
    fill(&t, "word and so on ", size);
    add(&t, "\"}]}}}");
    prepare(&t);
    free(t.bytes);
  }
}

static int make_log(text *t, const char *kind) {
  long most = (long)(wanted / 100) < MOST ? (long)(wanted / 100) : MOST;
  if (strcmp(kind, "log_page") == 0 || strcmp(kind, "log_holes") == 0) {
    log_answer(t);
    for (long i = 0; i < most; i++) {
      if (i > 0) add(t, ",");
      if (kind[4] == 'h' && i % 2 == 0) {
        add(t, "0");
      } else {
        log_message(t, i);
      }
    }
    add(t, "],\"before\":\"s\",\"after\":\"t\",\"present\":true}}");
  } else if (strcmp(kind, "log_push_holes") == 0) {
    push(t);
    for (long i = 0; i < most; i++) {
      if (i > 0) add(t, ",");
      if (i % 2 == 0) {
        add(t, "0");
      } else {
        log_message(t, i);
      }
    }
    add(t, "]}");
  } else if (strcmp(kind, "log_reactions") == 0 || strcmp(kind, "log_reads") == 0) {
    prepare_log(0);
    push(t);
    for (long i = 0; i < most; i++) {
      if (i > 0) add(t, ",");
      log_change(t, strcmp(kind, "log_reads") == 0 ? "read" : "react", i);
    }
    add(t, "],\"prev\":\"m0\"}");
  } else if (strcmp(kind, "log_reaction") == 0) {
    prepare_log(0);
    prepare_reactions(5 * MOST, 0);
    push(t);
    log_change(t, "react", 5 * MOST);
    add(t, "],\"prev\":\"react%ld\"}", (long)(5 * MOST - 1));
  } else if (strcmp(kind, "log_late") == 0) {
    prepare_log(1);
    prepare_reactions(5 * MOST, 1);
    push(t);
    log_message(t, 0);
    add(t, "],\"prev\":\"react%ld\"}", (long)(5 * MOST - 1));
  } else if (strcmp(kind, "log_island") == 0) {
    prepare_log(0);
    for (long i = 1; i <= 4600; i++) {
      text one = {0};
      push(&one);
      log_message(&one, i);
      add(&one, "]}");
      prepare(&one);
      free(one.bytes);
    }
    push(t);
    log_message(t, 4601);
    add(t, "]}");
  } else {
    return 0;
  }
  return 1;
}

static void build_index(void) {
  tl_work *work = NULL;
  tl_progress progress = {.struct_size = sizeof progress};
  if (tl_search_build(client, &work) != TL_OK) fail("build", tl_last_error());
  while (tl_work_step(work, 0, &progress) == TL_OK) {}
  tl_work_free(work);
}

static tl_status act(const void *given) {
  (void)given;
  return tl_client_advance(client, NULL);
}

static tl_batch *found;
static tl_status ask(const void *given) {
  (void)given;
  tl_search asked = {.struct_size = sizeof asked, .text = {(const uint8_t *)"word", 4}};
  return tl_client_search(client, &asked, &found);
}

static tl_status give_lines(void *context, uint64_t offset, uint8_t *bytes, size_t room,
                            size_t *count) {
  (void)context, (void)offset;
  memset(bytes, '\n', room);
  *count = room;
  return TL_OK;
}
static tl_status step(const void *given) {
  tl_progress progress = {.struct_size = sizeof progress};
  return tl_work_step((tl_work *)(uintptr_t)given, 0, &progress);
}

/* Calls that are handed no frame; 0 where `kind` is none of these. */
static size_t measure_call(const char *kind, stopwatch *w, tl_status *status) {
  if (strcmp(kind, "search_advance") == 0) {
    prepare_texts(4, PAYLOAD);
    *status = timed(w, act, NULL);
    return 65536;
  }
  if (strcmp(kind, "search_waiting") == 0 || strcmp(kind, "search_hits") == 0) {
    size_t size = 0, count = 0;
    prepare_texts(4, PAYLOAD);
    if (strcmp(kind, "search_hits") == 0) build_index();
    *status = timed(w, ask, NULL);
    const tl_hit *hits = tl_batch_hits(found, &count);
    for (size_t i = 0; i < count; i++) size += hits[i].message.payload.size;
    tl_batch_free(found);
    return size;
  }
  if (strcmp(kind, "import_lines") == 0) {
    tl_import source = {.struct_size = sizeof source, .read = give_lines};
    tl_work *work = NULL;
    source.name = (tl_view){(const uint8_t *)"lines", 5};
    if (tl_client_import(client, &source, &work) != TL_OK) fail("import", tl_last_error());
    *status = timed(w, step, work);
    tl_work_free(work);
    return 1 << 20;
  }
  return 0;
}

static void make(text *t, const char *kind) {
  if (strncmp(kind, "log_", 4) == 0 && make_log(t, kind)) return;
  static const struct {
    const char *kind, *action, *entity;
    long most;
    void (*one)(text *, long);
  } all[] = {
      {"deletions", "delete", "message", MOST, deletion},
      {"long_deletions", "delete", "message", 1 << 30, deletion},
      {"long_rooms", "delete", "message", 1 << 30, room_deletion},
      {"long_nothing", "new", "message", 1 << 30, nothing},
      {"tiny", "new", "message", MOST, tiny},
      {"back_dated", "new", "message", MOST, tiny},
      {"rooms", "new", "message", MOST, room_message},
      {"two_rooms", "new", "message", MOST, two_rooms},
      {"copies", "update", "message", MOST, copy},
      {"one_receipt", "new", "receipt", MOST, one_receipt},
      {"receipts", "new", "receipt", MOST, receipt},
      {"reactions", "update", "reaction", MOST, reaction},
      {"pins", "new", "pin", MOST, pin},
      {"typing", "new", "typing", MOST, typing},
      {"conversations", "new", "conversation", MOST, conversation},
      {"readers", "new", "message", 110, readers},
      {"sets", "new", "message", 120, reactions},
      {"members", "new", "message", 4, members},
      {"nested", "new", "message", 4, nested},
  };
  if (strcmp(kind, "page") == 0) return page(t, "YWJjZGVmZ2hpamts");
  if (strcmp(kind, "search_page") == 0) return page(t, "word and so on. ");
  if (strcmp(kind, "too_large") == 0) return fill(t, "                ", wanted + 128);
  if (strcmp(kind, "search_deletion") == 0 || strcmp(kind, "search_deletions") == 0) {
    int count = strcmp(kind, "search_deletion") == 0 ? 1 : 100;
    prepare_texts(count, count == 1 ? PAYLOAD : 65536);
    build_index();
    return items(t, "delete", "message", count, deletion);
  }
  if (strcmp(kind, "search_edits") == 0) {
    prepare_texts(100, 65536);
    build_index();
    return items(t, "update", "message", 100, edit);
  }
  if (strcmp(kind, "escapes") == 0) return page(t, "\\u0061\\u00e4\\n");
  if (strcmp(kind, "ids") == 0 || strcmp(kind, "long_ids") == 0) {
    add(t, "{\"type\":\"message_deleted\",\"conversation_id\":\"c\",\"message_ids\":[\"0\"");
    for (long i = 1; (i < MOST || kind[0] == 'l') && t->size + 64 < wanted; i++) {
      add(t, ",\"m%ld\"", i);
    }
    return add(t, "]}");
  }
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    if (strcmp(kind, all[i].kind) != 0) continue;
    if (strstr("copies one_receipt reactions pins", kind) != NULL) prepare_large();
    if (strcmp(kind, "back_dated") == 0) prepare_whole();
    if (strcmp(kind, "long_rooms") == 0) {
      text rooms = {0};
      update(&rooms, "rooms", "new", "typing");
      for (long room = 0; room < MOST; room++) {
        if (room > 0) add(&rooms, ",");
        typing(&rooms, room);
      }
      add(&rooms, "]}}}");
      prepare(&rooms);
      free(rooms.bytes);
    }
    return items(t, all[i].action, all[i].entity, all[i].most, all[i].one);
  }
  fail(kind, "no such kind");
}

int bench_run(int count, const char *const *given);
int bench_run(int count, const char *const *given) {
  if (count < 1) fail("worst", "which kind?");
  if (count > 1) wanted = (size_t)atol(given[1]);
  tl_profile profile = {.struct_size = sizeof profile, .capabilities = TL_SERVER_ENVELOPE};
  tl_client_config config = {.struct_size = sizeof config, .flags = TL_OPEN_MEMORY};
  config.user_id = (tl_view){(const uint8_t *)"me", 2};
  config.profile = &profile;
  if (strncmp(given[0], "log_", 4) == 0) profile.capabilities = TL_SERVER_LOG;
  if (tl_client_open(&config, &client) != TL_OK) fail("open", tl_last_error());
  if (tl_client_connected(client) != TL_OK) fail("connect", tl_last_error());
  if (strncmp(given[0], "search_", 7) == 0 && tl_search_switch(client, 1) != TL_OK) {
    fail("search", tl_last_error());
  }
  text frame = {0};
  stopwatch watch = {0};
  tl_status status = TL_OK;
  size_t size = measure_call(given[0], &watch, &status);
  if (size == 0) {
    make(&frame, given[0]);
    size = frame.size;
    status = receive(&frame, &watch);
  }
  printf("{\"kind\":\"%s\",\"bytes\":%zu,\"status\":\"%s\",\"ms\":%.1f}\n", given[0], size,
         tl_status_name(status), (double)watch.total / 1e6);
  free(frame.bytes);
  tl_client_free(client);
  return 0;
}

#ifndef BENCH_COUNT
int main(int count, char **given) { return bench_run(count - 1, (const char *const *)given + 1); }
#endif
