/* What a server may send: good pages, poison in a page, and frames that are no
   frames. Each documented status, and nothing else changed. */
#include <sys/mman.h>

#include "check.h"

#define MESSAGE(id, second)                                                    \
  "{\"message_id\":\"" id "\",\"conversation_id\":\"c\",\"sender_id\":\"you\"," \
  "\"created_at\":\"2024-05-01T10:00:" second "\",\"payload\":\"text of " id    \
  "\",\"read_by\":[],\"host\":{\"x\": 1}}"

static const char *const stamps[] = {
    "\"2024-05-01T10:00:01\"", "\"2024-05-01T10:00:02\"", "\"2024-05-01T10:00:03\"",
    "\"2024-05-01T10:00:04\"", "\"2024-05-01T10:00:05\""};
static const char *const good[] = {MESSAGE("a", "01"), MESSAGE("b", "02"), MESSAGE("č", "03"),
                                   MESSAGE("d", "04"), MESSAGE("e", "05")};
/* The third has a time that is none. */
static const char *const poisoned[] = {
    MESSAGE("a", "01"), MESSAGE("b", "02"),
    "{\"message_id\":\"c\",\"conversation_id\":\"c\",\"sender_id\":\"you\","
    "\"created_at\":\"yesterday\",\"payload\":\"x\"}",
    MESSAGE("d", "04"), MESSAGE("e", "05")};

static tl_stats stats_of(tl_client *client) {
  tl_stats stats;
  memset(&stats, 0, sizeof stats);
  stats.struct_size = sizeof stats;
  EXPECT(tl_client_stats(client, &stats), TL_OK);
  return stats;
}

static void synced_page(void) {
  tl_client *client = open_memory();
  uint64_t sync = 0;
  EXPECT(sync_latest(client, &sync), TL_OK);
  CHECK(sync != 0);
  tl_frame *frame = NULL;
  EXPECT(tl_client_next_frame(client, &frame), TL_NONE);
  CHECK(frame == NULL);
  EXPECT(tl_client_connected(client), TL_OK);
  EXPECT(serve(client, good, stamps, 5, NULL), TL_OK);

  tl_sync_status status;
  memset(&status, 0, sizeof status);
  status.struct_size = sizeof status;
  EXPECT(tl_client_sync_status(client, sync, &status), TL_OK);
  CHECK(status.phase == TL_SYNC_ENDED);
  CHECK(status.result == TL_OK);
  CHECK(status.inserted == 5);
  CHECK(status.struct_size == sizeof status);
  /* A first page that may be cut claims no part of its last tick; the second
     look shows that nothing lies beyond. */
  EXPECT(sync_latest(client, &sync), TL_OK);
  EXPECT(serve(client, good, stamps, 5, NULL), TL_OK);

  tl_batch *batch = NULL;
  EXPECT(read_page(client, &batch), TL_OK);
  size_t count = 0;
  const tl_message *rows = tl_batch_rows(batch, &count);
  CHECK(count == 5);
  if (count == 5) {
    CHECK(is(rows[0].id, "a"));
    CHECK(is(rows[2].id, "č"));
    CHECK(is(rows[2].payload, "\"text of č\""));
    CHECK(is(rows[0].conversation, "c"));
    CHECK(is(rows[0].sender, "you"));
    CHECK(is(rows[0].stamp, "2024-05-01T10:00:01"));
    CHECK(rows[0].time_us == 1714557601000000);
    CHECK(rows[0].flags & TL_MESSAGE_UNREAD);
    CHECK(!(rows[0].flags & TL_MESSAGE_MINE));
    CHECK(rows[0].number != rows[4].number);
  }
  /* header: "every view of the batch points into it" */
  tl_view block;
  EXPECT(tl_batch_block(batch, &block), TL_OK);
  CHECK(block.data == (const uint8_t *)rows);
  for (size_t i = 0; i < count; i++) {
    const tl_view views[] = {rows[i].id, rows[i].conversation, rows[i].sender, rows[i].stamp,
                             rows[i].payload, rows[i].reply_to, rows[i].reactions, rows[i].read_by,
                             rows[i].rest};
    for (size_t k = 0; k < sizeof views / sizeof *views; k++) {
      CHECK((views[k].size == 0 && views[k].data == NULL) ||
            (views[k].data >= block.data &&
             views[k].data + views[k].size <= block.data + block.size));
    }
  }
  tl_coverage coverage;
  memset(&coverage, 0, sizeof coverage);
  coverage.struct_size = sizeof coverage;
  EXPECT(tl_batch_coverage(batch, &coverage), TL_OK);
  CHECK(coverage.whole == 1);
  CHECK(coverage.known_count == 5);
  CHECK(coverage.total_count == 5);
  tl_client_free(client);
  CHECK(is(rows[0].id, "a")); /* The batch outlives its client. */
  tl_batch_free(batch);
}

static void poison_keeps_four(void) {
  tl_client *client = open_memory();
  uint64_t sync = 0;
  EXPECT(sync_latest(client, &sync), TL_OK);
  EXPECT(tl_client_connected(client), TL_OK);
  /* header: "A bad item in a page is set aside and the rest is kept." */
  EXPECT(serve(client, poisoned, stamps, 5, NULL), TL_QUARANTINED);
  CHECK(row_count(client) == 4);
  CHECK(stats_of(client).quarantined == 1);
  tl_client_free(client);
}

/* Everything a host can see of a client, for comparing before and after. */
static void fingerprint(tl_client *client, char *out, size_t room) {
  tl_stats stats = stats_of(client);
  tl_state state;
  memset(&state, 0, sizeof state);
  state.struct_size = sizeof state;
  EXPECT(tl_client_state(client, &state), TL_OK);
  snprintf(out, room, "%llu %llu %llu %llu %u %u %u %llu %zu",
           (unsigned long long)stats.messages, (unsigned long long)stats.conversations,
           (unsigned long long)stats.quarantined, (unsigned long long)stats.tombstones,
           state.syncs_left, state.requests_in_flight, state.frames_waiting,
           (unsigned long long)state.change_seq, row_count(client));
}

static void refused(tl_client *client, tl_view frame, tl_status expected) {
  char before[256], after[256];
  uint64_t bad = stats_of(client).frames_bad;
  fingerprint(client, before, sizeof before);
  EXPECT(tl_client_receive(client, frame), expected);
  fingerprint(client, after, sizeof after);
  CHECK(strcmp(before, after) == 0);
  CHECK(stats_of(client).frames_bad == bad + (expected < 0));
}

/* A push notification is taken; its reply waits for a connection. */
static void offline(tl_client *client) {
  tl_state state = {.struct_size = sizeof state};
  tl_frame *frame;
  EXPECT(receive(client, "{\"type\":\"get_messages\",\"status\":\"ok\",\"request_id\":\"x-1\","
                         "\"data\":{\"messages\":[],\"total_count\":0}}"),
         TL_IGNORED);
  CHECK(row_count(client) == 6);
  EXPECT(receive(client, "{\"type\":\"update\",\"payload\":{\"ref\":\"night\",\"action\":\"new\","
                         "\"payload\":{\"entity\":\"message\",\"items\":[{\"message_id\":\"n1\","
                         "\"conversation_id\":\"c\",\"sender_id\":\"jan\","
                         "\"created_at\":\"2026-03-01T00:00:00\",\"payload\":{}}]}}}"),
         TL_OK);
  CHECK(row_count(client) == 7);
  EXPECT(tl_client_next_frame(client, &frame), TL_NONE);
  EXPECT(tl_client_state(client, &state), TL_OK);
  CHECK(state.phase == TL_PHASE_OFFLINE && state.replies_owed == 1);
  EXPECT(tl_client_connected(client), TL_OK);
  int replies = 0;
  while (tl_client_next_frame(client, &frame) == TL_OK) {
    /* The bytes have no terminator. */
    const char *bytes = (const char *)frame->bytes.data;
    for (size_t at = 0; at + 7 <= frame->bytes.size; at++) {
      if (memcmp(bytes + at, "\"night\"", 7) == 0) replies++;
    }
    tl_frame_free(frame);
  }
  CHECK(replies == 1);
}

/* header: "Of a longer one no byte is read." Its memory need not even be readable. */
static void unread_frames(tl_client *client) {
  size_t size = ((size_t)16 << 20) + 1;
  uint8_t *bytes = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(bytes != MAP_FAILED);
  if (bytes == MAP_FAILED) return;
  uint64_t received = stats_of(client).bytes_in;
  refused(client, (tl_view){bytes, size}, TL_E_TOO_LARGE);
  CHECK(stats_of(client).bytes_in == received + size);
  refused(client, (tl_view){bytes, SIZE_MAX}, TL_E_TOO_LARGE);
  munmap(bytes, size);
}

/* header: "After a failure nothing that is stored has changed." */
static void bad_frames(void) {
  tl_client *client = open_memory();
  EXPECT(tl_client_connected(client), TL_OK);
  EXPECT(sync_latest(client, NULL), TL_OK);
  EXPECT(serve(client, good, stamps, 5, NULL), TL_OK);
  CHECK(row_count(client) == 5);

  const char *whole = "{\"type\":\"message_new\",\"conversation_id\":\"c\",\"message\":"
                      MESSAGE("f", "06") "}";
  size_t length = strlen(whole);
  for (size_t cut = 0; cut < length; cut++) {
    /* An exact copy, so that reading on is seen by the address sanitizer. */
    uint8_t *copy = malloc(cut ? cut : 1);
    memcpy(copy, whole, cut);
    tl_view part = {copy, cut};
    refused(client, part, TL_E_FRAME);
    free(copy);
  }
  refused(client, view("[]"), TL_E_FRAME);
  refused(client, view("{\"type\":\"x\"} x"), TL_E_FRAME);
  refused(client, view("{\"type\":\"\xff\"}"), TL_E_FRAME);
  refused(client, view("{\"type\":\"\xc0\xaf\"}"), TL_E_FRAME);
  refused(client, view("{\"type\":\"\xed\xa0\x80\"}"), TL_E_FRAME);
  refused(client, view("{\"type\":\"party_invitation\",\"n\":1}"), TL_IGNORED);

  tl_view big = {NULL, (size_t)64 << 20};
  uint8_t *bytes = malloc(big.size);
  memset(bytes, ' ', big.size);
  bytes[0] = '{';
  bytes[big.size - 1] = '}';
  big.data = bytes;
  refused(client, big, TL_E_TOO_LARGE);
  big.size = ((size_t)16 << 20) + 1;
  refused(client, big, TL_E_TOO_LARGE);
  free(bytes);
  unread_frames(client);

  char *deep = malloc(400001);
  memset(deep, '[', 200000);
  memset(deep + 200000, ']', 200000);
  deep[400000] = 0;
  refused(client, view(deep), TL_E_FRAME);
  free(deep);

  EXPECT(receive(client, whole), TL_OK);
  CHECK(row_count(client) == 6);
  EXPECT(tl_client_disconnected(client), TL_OK);
  offline(client);
  tl_client_free(client);
}

static void accounts(void) {
  const char *frame = "{\"account\":\"personal\",\"type\":\"update\"}";
  tl_view out;
  EXPECT(tl_frame_account(view(frame), &out), TL_OK);
  CHECK(is(out, "personal"));
  CHECK(out.data > (const uint8_t *)frame && out.data < (const uint8_t *)frame + strlen(frame));
  EXPECT(tl_frame_account(view("{\"type\":\"x\"}"), &out), TL_NONE);
  CHECK(out.size == 0 && out.data == NULL);
  EXPECT(tl_frame_account(view("{"), &out), TL_E_FRAME);
  CHECK(out.size == 0);
}

/* The host's payloads. The answer of each test is in `hooked`. */
static struct {
  tl_status status;
  tl_opened opened;
  int calls, dropped;
  uint8_t seen[64];
  size_t seen_size;
} hooked;

static tl_status open_payload(void *context, const tl_sealed *in, tl_opened *out) {
  hooked.calls++;
  CHECK(context == &hooked);
  CHECK(is(in->conversation, "c"));
  CHECK(is(in->sender, "you"));
  CHECK(out->payload.size == 0 && out->flags == 0 && out->reserved == 0);
  CHECK(in->message.size > in->payload.size);
  hooked.seen_size = in->payload.size < 64 ? in->payload.size : 64;
  memcpy(hooked.seen, in->payload.data, hooked.seen_size);
  *out = hooked.opened;
  return hooked.status;
}

static void drop_hook(void *context) {
  CHECK(context == &hooked);
  hooked.dropped++;
}

/* Opens one message under a hook that answers so; gives its flags and payload. */
static uint32_t open_with(tl_status status, tl_opened opened, char *payload, size_t room,
                          size_t *count) {
  memset(&hooked, 0, sizeof hooked);
  hooked.status = status;
  hooked.opened = opened;
  tl_client_config config = memory_config();
  config.open = open_payload;
  config.open_context = &hooked;
  config.open_drop = drop_hook;
  tl_client *client = NULL;
  EXPECT(tl_client_open(&config, &client), TL_OK);
  EXPECT(tl_client_connected(client), TL_OK);
  EXPECT(sync_latest(client, NULL), TL_OK);
  EXPECT(serve(client, good, stamps, 1, NULL), TL_OK);
  CHECK(hooked.calls >= 1);
  CHECK(hooked.seen_size == strlen("\"text of a\"") &&
        memcmp(hooked.seen, "\"text of a\"", hooked.seen_size) == 0);
  tl_batch *batch = NULL;
  EXPECT(read_page(client, &batch), TL_OK);
  const tl_message *rows = tl_batch_rows(batch, count);
  uint32_t flags = 0;
  payload[0] = 0;
  if (*count == 1) {
    flags = rows[0].flags;
    CHECK(rows[0].payload.size < room);
    memcpy(payload, rows[0].payload.data, rows[0].payload.size);
    payload[rows[0].payload.size] = 0;
  }
  tl_batch_free(batch);
  CHECK(hooked.dropped == 0);
  tl_client_free(client);
  /* header: "Runs exactly once, when the client is freed or its opening failed" */
  CHECK(hooked.dropped == 1);
  return flags;
}

static void payload_hook(void) {
  char text[256];
  size_t count;
  tl_opened opened;
  memset(&opened, 0, sizeof opened);
  opened.payload = view("plain");
  uint32_t flags = open_with(TL_OK, opened, text, sizeof text, &count);
  CHECK(count == 1 && strcmp(text, "plain") == 0 && !(flags & TL_MESSAGE_SEALED));

  opened.flags = TL_PAYLOAD_EVENT;
  flags = open_with(TL_OK, opened, text, sizeof text, &count);
  CHECK(count == 1 && (flags & TL_MESSAGE_EVENT));

  opened.flags = TL_PAYLOAD_CONTROL;
  open_with(TL_OK, opened, text, sizeof text, &count);
  CHECK(count == 0);

  opened.flags = 0;
  flags = open_with(TL_NONE, opened, text, sizeof text, &count);
  CHECK(count == 1 && (flags & TL_MESSAGE_SEALED) && strcmp(text, "\"text of a\"") == 0);
  flags = open_with(TL_E_KEY, opened, text, sizeof text, &count);
  CHECK(count == 1 && (flags & TL_MESSAGE_SEALED));

  /* What a hook may not say counts as its failure. */
  opened.flags = 1u << 31;
  flags = open_with(TL_OK, opened, text, sizeof text, &count);
  CHECK(count == 1 && (flags & TL_MESSAGE_SEALED));
  opened.flags = 0;
  opened.payload.data = NULL;
  flags = open_with(TL_OK, opened, text, sizeof text, &count);
  CHECK(count == 1 && (flags & TL_MESSAGE_SEALED));
  opened.payload = view("plain");
  opened.payload.size = SIZE_MAX;
  flags = open_with(TL_OK, opened, text, sizeof text, &count);
  CHECK(count == 1 && (flags & TL_MESSAGE_SEALED));
}

static void changes(void) {
  tl_client *client = open_memory();
  tl_batch *batch = NULL;
  EXPECT(tl_client_changes(client, 0, 0, &batch), TL_NONE);
  CHECK(batch == NULL);
  EXPECT(tl_client_connected(client), TL_OK);
  EXPECT(sync_latest(client, NULL), TL_OK);
  EXPECT(serve(client, good, stamps, 5, NULL), TL_OK);
  EXPECT(tl_client_changes(client, 0, 0, &batch), TL_OK);
  size_t count = 0;
  const tl_change *entries = tl_batch_changes(batch, &count);
  CHECK(count > 0 && entries != NULL);
  uint64_t last = 0;
  for (size_t i = 0; i < count; i++) {
    CHECK(entries[i].seq > last);
    CHECK(is(entries[i].conversation, "c"));
    CHECK(entries[i].flags == 0);
    last = entries[i].seq;
  }
  size_t rows = 1;
  CHECK(tl_batch_rows(batch, &rows) == NULL && rows == 0);
  tl_coverage coverage;
  memset(&coverage, 0, sizeof coverage);
  coverage.struct_size = sizeof coverage;
  EXPECT(tl_batch_coverage(batch, &coverage), TL_E_INVALID);
  tl_batch_free(batch);
  EXPECT(tl_client_changes(client, last, 0, &batch), TL_NONE);
  tl_client_free(client);
}

static void marks_and_forgets(void) {
  tl_client *client = open_memory();
  EXPECT(tl_client_connected(client), TL_OK);
  EXPECT(sync_latest(client, NULL), TL_OK);
  EXPECT(serve(client, good, stamps, 5, NULL), TL_OK);
  tl_view ids[] = {view("a"), view("b"), view("unknown")};
  EXPECT(tl_client_mark_read(client, view("c"), ids, 3), TL_OK);
  unsigned requests = 0;
  EXPECT(serve(client, good, stamps, 5, &requests), TL_OK);
  CHECK(requests == 1);
  /* header: "each id is sent until the server confirms it and never after" */
  EXPECT(tl_client_mark_read(client, view("c"), ids, 3), TL_OK);
  requests = 0;
  EXPECT(serve(client, good, stamps, 5, &requests), TL_OK);
  CHECK(requests == 0);

  tl_batch *batch = NULL;
  EXPECT(tl_client_message(client, view("c"), view("a"), &batch), TL_OK);
  size_t count = 0;
  const tl_message *row = tl_batch_rows(batch, &count);
  CHECK(count == 1 && is(row->id, "a") && !(row->flags & TL_MESSAGE_UNREAD));
  tl_batch_free(batch);
  EXPECT(tl_client_forget(client, view("c"), view("a")), TL_OK);
  EXPECT(tl_client_forget(client, view("c"), view("nobody")), TL_E_NOT_FOUND);
  EXPECT(tl_client_drop(client, view("c"), view("nobody")), TL_E_NOT_FOUND);
  EXPECT(tl_client_drop(client, view("nowhere"), view("")), TL_E_NOT_FOUND);
  EXPECT(tl_client_message(client, view("c"), view("a"), &batch), TL_E_NOT_FOUND);
  CHECK(batch == NULL);
  CHECK(row_count(client) == 4);
  tl_client_free(client);
}

int main(void) {
  RUN(synced_page);
  RUN(poison_keeps_four);
  RUN(bad_frames);
  RUN(accounts);
  RUN(payload_hook);
  RUN(changes);
  RUN(marks_and_forgets);
  return report("frames");
}
