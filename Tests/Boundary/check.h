/* A small harness for the tests of the boundary: checks, views, and a server of
   one conversation that answers from an array. */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tideline.h"

#ifdef __cplusplus
#define _Thread_local thread_local
#endif

static int passed, failed, broken;

#define CHECK(condition)                                                       \
  do {                                                                         \
    if (!(condition)) {                                                        \
      broken = 1;                                                              \
      printf("%s:%d: %s\n", __FILE__, __LINE__, #condition);                   \
    }                                                                          \
  } while (0)

/* A status that is not the expected one is printed by name. */
#define EXPECT(call, expected)                                                 \
  do {                                                                         \
    tl_status status_ = (call);                                                \
    if (status_ != (expected)) {                                               \
      broken = 1;                                                              \
      printf("%s:%d: %s gave %s, not %s (%s)\n", __FILE__, __LINE__, #call,    \
             tl_status_name(status_), #expected, tl_last_error());             \
    }                                                                          \
  } while (0)

#define RUN(test)                                                              \
  do {                                                                         \
    broken = 0;                                                                \
    test();                                                                    \
    if (broken) {                                                              \
      failed++;                                                                \
      printf("failed: %s\n", #test);                                           \
    } else {                                                                   \
      passed++;                                                                \
    }                                                                          \
    fflush(stdout);                                                            \
  } while (0)

static inline int report(const char *name) {
  printf("%s: %d passed, %d failed\n", name, passed, failed);
  return failed != 0;
}

static inline tl_view view(const char *text) {
  tl_view result = {(const uint8_t *)text, strlen(text)};
  return result;
}

static inline int is(tl_view got, const char *text) {
  return got.size == strlen(text) &&
         (got.size == 0 || memcmp(got.data, text, got.size) == 0);
}

static const uint8_t test_key[TL_KEY_BYTES] = {7, 1, 2, 3, 4, 5, 6, 7, 8, 9};

static inline tl_client_config memory_config(void) {
  tl_client_config config;
  memset(&config, 0, sizeof config);
  config.struct_size = sizeof config;
  config.flags = TL_OPEN_MEMORY;
  config.account = view("personal");
  config.user_id = view("me");
  return config;
}

static inline tl_client_config file_config(const char *path) {
  tl_client_config config = memory_config();
  config.flags = 0;
  config.path = view(path);
  config.key.data = test_key;
  config.key.size = sizeof test_key;
  return config;
}

static inline tl_client *open_memory(void) {
  tl_client_config config = memory_config();
  tl_client *client = NULL;
  EXPECT(tl_client_open(&config, &client), TL_OK);
  return client;
}

static inline tl_status set_draft(tl_client *client, tl_view conversation, tl_view text,
                                  tl_view reply_to) {
  tl_draft draft;
  memset(&draft, 0, sizeof draft);
  draft.struct_size = sizeof draft;
  draft.conversation = conversation;
  draft.text = text;
  draft.reply_to = reply_to;
  return tl_client_draft(client, &draft);
}

static inline tl_status sync_latest(tl_client *client, uint64_t *number) {
  tl_sync_request request;
  memset(&request, 0, sizeof request);
  request.struct_size = sizeof request;
  request.conversation = view("c");
  return tl_client_sync(client, &request, number);
}

static inline tl_status read_page(tl_client *client, tl_batch **out) {
  tl_query query;
  memset(&query, 0, sizeof query);
  query.struct_size = sizeof query;
  query.conversation = view("c");
  query.limit = 1000;
  return tl_client_messages(client, &query, out);
}

static inline size_t row_count(tl_client *client) {
  tl_batch *batch = NULL;
  size_t count = 0;
  if (read_page(client, &batch) == TL_OK) tl_batch_rows(batch, &count);
  tl_batch_free(batch);
  return count;
}

/* The raw JSON value of a member of a flat frame, or an empty text. */
static inline void member(tl_view frame, const char *name, char *out, size_t room) {
  char key[64];
  size_t length = (size_t)snprintf(key, sizeof key, "\"%s\":", name);
  out[0] = 0;
  for (size_t i = 0; i + length < frame.size; i++) {
    if (memcmp(frame.data + i, key, length) != 0) continue;
    size_t n = 0, j = i + length;
    int quoted = frame.data[j] == '"';
    while (j < frame.size && n + 1 < room) {
      char c = (char)frame.data[j++];
      if (!quoted && (c == ',' || c == '}')) break;
      out[n++] = c;
      if (quoted && c == '"' && n > 1) break;
    }
    out[n] = 0;
    return;
  }
}

/* Hands in a text as a frame. */
static inline tl_status receive(tl_client *client, const char *text) {
  return tl_client_receive(client, view(text));
}

/* Writes the answer to a request: messages newer than its `after_ts`, from its
   `offset` on; nothing was ever deleted. `stamps` are quoted. */
static inline void answer(tl_view frame, const char *const *messages, const char *const *stamps,
                          size_t count, char *out, size_t room) {
  char type[64], id[256], after[64], offset[32];
  member(frame, "type", type, sizeof type);
  member(frame, "request_id", id, sizeof id);
  member(frame, "after_ts", after, sizeof after);
  member(frame, "offset", offset, sizeof offset);
  int n = snprintf(out, room, "{\"type\":%s,\"request_id\":%s,\"status\":\"ok\",\"data\":{",
                   type, id);
  size_t used = (size_t)n;
  if (strcmp(type, "\"get_messages\"") == 0) {
    size_t skip = (size_t)strtoul(offset, NULL, 10), end = count > skip ? count - skip : 0;
    used += (size_t)snprintf(out + used, room - used, "\"total_count\":%zu,\"messages\":[", count);
    int first = 1;
    for (size_t i = 0; i < end; i++) {
      if (after[0] && strcmp(stamps[i], after) <= 0) continue;
      used += (size_t)snprintf(out + used, room - used, "%s%s", first ? "" : ",", messages[i]);
      first = 0;
    }
    used += (size_t)snprintf(out + used, room - used, "]");
  } else if (strcmp(type, "\"get_deleted_since\"") == 0) {
    used += (size_t)snprintf(out + used, room - used, "\"message_ids\":[]");
  }
  snprintf(out + used, room - used, "}}");
}

/* Answers requests until there are none; gives the last status that was not
   TL_OK, and counts the requests. */
static inline tl_status serve(tl_client *client, const char *const *messages,
                              const char *const *stamps, size_t count, unsigned *requests) {
  static _Thread_local char text[1 << 16];
  tl_status odd = TL_OK;
  for (unsigned turns = 0; turns < 100; turns++) {
    tl_frame *frame = NULL;
    tl_status status = tl_client_next_frame(client, &frame);
    if (status != TL_OK) return status == TL_NONE ? odd : status;
    if (requests) ++*requests;
    answer(frame->bytes, messages, stamps, count, text, sizeof text);
    status = tl_client_frame_sent(client, frame->id);
    tl_frame_free(frame);
    if (status == TL_OK) status = receive(client, text);
    if (status != TL_OK) odd = status;
  }
  return TL_E_TIMEOUT;
}

#endif
