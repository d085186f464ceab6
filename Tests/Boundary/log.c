/* A conversation that a server keeps as a log, from C: what is declared, what contradicts it, what
   is read of it, as of when that is whole, and what is not there. */
#include <unistd.h>

#include "check.h"

enum { COUNT = 130, PAGE = 50 };
static int present = COUNT; /* How many entries the log has by now. */

/* Entry 60 edits message 10, entry 61 takes message 11 away; all others are messages. */
static int write_entry(int at, char *out, size_t room) {
  if (at == 60)
    return snprintf(out, room,
                    "{\"entry_id\":\"x60\",\"change\":\"edit\",\"target_id\":\"m10\","
                    "\"sender_id\":\"you\",\"created_at\":\"2024-05-01T10:00:00\","
                    "\"payload\":\"new\"}");
  if (at == 61)
    return snprintf(out, room,
                    "{\"entry_id\":\"x61\",\"change\":\"delete\",\"target_id\":\"m11\","
                    "\"sender_id\":\"you\"}");
  /* Times go back by a minute with each message: they order nothing. */
  return snprintf(out, room,
                  "{\"message_id\":\"m%d\",\"sender_id\":\"you\",\"payload\":\"%d\","
                  "\"created_at\":\"2024-05-01T%02d:%02d:00\"}",
                  at, at, 20 - at / 60, 59 - at % 60);
}

/* Answers `get_entries`: the entries from `low` up to `high`, and tokens that are numbers. */
static void page(tl_view frame, char *out, size_t room) {
  char id[256], before[64], after[64], type[64];
  member(frame, "type", type, sizeof type);
  member(frame, "request_id", id, sizeof id);
  member(frame, "before", before, sizeof before);
  member(frame, "after", after, sizeof after);
  CHECK(strcmp(type, "\"get_entries\"") == 0);
  int low = present - PAGE, high = present;
  if (before[0]) {
    high = atoi(before + 1);
    low = high - PAGE;
  } else if (after[0]) {
    low = atoi(after + 1);
    high = low + PAGE;
  }
  if (low < 0) low = 0;
  if (high > present) high = present;
  size_t used = (size_t)snprintf(
      out, room, "{\"type\":%s,\"request_id\":%s,\"status\":\"ok\",\"data\":{\"entries\":[", type,
      id);
  for (int at = low; at < high; at++) {
    if (at > low) out[used++] = ',';
    used += (size_t)write_entry(at, out + used, room - used);
  }
  used += (size_t)snprintf(out + used, room - used, "],\"after\":\"%d\"", high);
  if (low > 0) used += (size_t)snprintf(out + used, room - used, ",\"before\":\"%d\"", low);
  snprintf(out + used, room - used, "%s}}", high == present ? ",\"present\":true" : "");
}

static unsigned carry(tl_client *client) {
  static char text[1 << 16];
  unsigned requests = 0;
  tl_frame *frame = NULL;
  while (requests < 100 && tl_client_next_frame(client, &frame) == TL_OK) {
    requests++;
    page(frame->bytes, text, sizeof text);
    EXPECT(tl_client_frame_sent(client, frame->id), TL_OK);
    tl_frame_free(frame);
    EXPECT(receive(client, text), TL_OK);
  }
  return requests;
}

static tl_profile log_profile(void) {
  tl_profile profile;
  memset(&profile, 0, sizeof profile);
  profile.struct_size = sizeof profile;
  profile.capabilities = TL_SERVER_LOG | TL_SERVER_LOG_REFUSES | TL_SERVER_LOG_EPOCH;
  return profile;
}

static tl_client *open_log(const char *path) {
  tl_client_config config = path ? file_config(path) : memory_config();
  tl_profile profile = log_profile();
  tl_client *client = NULL;
  config.profile = &profile;
  EXPECT(tl_client_open(&config, &client), TL_OK);
  return client;
}

static void sync_kind(tl_client *client, tl_sync_kind kind, uint32_t want) {
  tl_sync_request request = {.struct_size = sizeof request, .conversation = view("c"),
                             .kind = kind, .want = want};
  tl_sync_status status = {.struct_size = sizeof status};
  uint64_t number = 0;
  EXPECT(tl_client_sync(client, &request, &number), TL_OK);
  CHECK(carry(client) > 0);
  EXPECT(tl_client_sync_status(client, number, &status), TL_OK);
  EXPECT(status.result, TL_OK);
}

static tl_coverage told(tl_batch *batch) {
  tl_coverage out;
  memset(&out, 0, sizeof out);
  out.struct_size = sizeof out;
  EXPECT(tl_batch_coverage(batch, &out), TL_OK);
  return out;
}

static void push(tl_client *client, const char *previous) {
  char text[1024], entry[512];
  write_entry(present++, entry, sizeof entry);
  snprintf(text, sizeof text,
           "{\"type\":\"entries_new\",\"conversation_id\":\"c\",\"prev\":\"%s\",\"after\":\"%d\","
           "\"entries\":[%s]}", previous, present, entry);
  EXPECT(receive(client, text), TL_OK);
}

/* header: "as they are after all entries up to `as_of_entry`, the last one of" */
static void whole_as_of_an_entry(void) {
  present = COUNT;
  tl_client *client = open_log(NULL);
  tl_batch *batch = NULL;
  EXPECT(tl_client_connected(client), TL_OK);
  EXPECT(read_page(client, &batch), TL_OK);
  CHECK(!told(batch).whole && told(batch).as_of_entry.size == 0);
  tl_batch_free(batch);
  sync_kind(client, TL_SYNC_LATEST, 0);
  EXPECT(read_page(client, &batch), TL_OK);
  CHECK(told(batch).whole && told(batch).stop == TL_STOP_GAP);
  CHECK(is(told(batch).as_of_entry, "m129"));
  tl_batch_free(batch);
  sync_kind(client, TL_SYNC_OLDER, 100);
  EXPECT(read_page(client, &batch), TL_OK);
  size_t count = 0;
  const tl_message *rows = tl_batch_rows(batch, &count);
  tl_coverage all = told(batch);
  CHECK(count == COUNT - 2 && all.whole == 1 && all.stop == TL_STOP_START && all.gap_count == 0);
  CHECK(is(all.as_of_entry, "m129") && all.stale_count == 0 && all.total_count == -1);
  CHECK(all.content_as_of_us == rows[count - 1].time_us);
  CHECK(all.deletions_as_of_us == all.content_as_of_us &&
        all.marks_as_of_us == all.content_as_of_us);
  CHECK(is(rows[0].id, "m0") && is(rows[10].payload, "\"new\"") && rows[10].time_us > 0);
  CHECK((rows[11].flags & TL_MESSAGE_DELETED) != 0 && rows[0].time_us > rows[1].time_us);
  CHECK(rows[0].sequence == 0);
  /* It lies in the batch, which a binding copies as one block. */
  tl_view block;
  EXPECT(tl_batch_block(batch, &block), TL_OK);
  CHECK(all.as_of_entry.data >= block.data &&
        all.as_of_entry.data + all.as_of_entry.size <= block.data + block.size);
  tl_batch_free(batch);
  /* `prev` proves that nothing lies between: what is pushed is whole, without a request. */
  push(client, "m129");
  EXPECT(read_page(client, &batch), TL_OK);
  CHECK(told(batch).whole && is(told(batch).as_of_entry, "m130"));
  tl_batch_free(batch);
  CHECK(carry(client) == 0);
  /* Where it names another entry, it is asked what lies between. */
  present += 3;
  push(client, "m133");
  EXPECT(read_page(client, &batch), TL_OK);
  tl_batch_rows(batch, &count);
  CHECK(!told(batch).whole && count == COUNT);
  tl_batch_free(batch);
  CHECK(carry(client) > 0);
  EXPECT(read_page(client, &batch), TL_OK);
  tl_batch_rows(batch, &count);
  CHECK(told(batch).whole && count == COUNT + 3 && is(told(batch).as_of_entry, "m134"));
  tl_batch_free(batch);
  tl_client_free(client);
}

/* An older caller's struct ends before the entry. */
static void older_callers(void) {
  present = COUNT;
  tl_client *client = open_log(NULL);
  tl_batch *batch = NULL;
  EXPECT(tl_client_connected(client), TL_OK);
  sync_kind(client, TL_SYNC_LATEST, 0);
  sync_kind(client, TL_SYNC_OLDER, 100);
  EXPECT(read_page(client, &batch), TL_OK);
  struct {
    tl_coverage coverage;
    uint8_t beyond[8];
  } out;
  memset(&out, 0xa5, sizeof out);
  out.coverage.struct_size = offsetof(tl_coverage, as_of_entry);
  EXPECT(tl_batch_coverage(batch, &out.coverage), TL_OK);
  CHECK(out.coverage.whole == 1 && out.coverage.reserved == 0);
  const uint8_t *bytes = (const uint8_t *)&out;
  for (size_t i = offsetof(tl_coverage, as_of_entry); i < sizeof out; i++) CHECK(bytes[i] == 0xa5);
  tl_batch_free(batch);
  tl_client_free(client);
}

/* A window scrolls down to the start and stands in the log's order. */
static void a_window(void) {
  present = COUNT;
  tl_client *client = open_log(NULL);
  EXPECT(tl_client_connected(client), TL_OK);
  tl_window_config config = {.struct_size = sizeof config, .conversation = view("c")};
  tl_window *window = NULL;
  EXPECT(tl_window_open(client, &config, &window), TL_OK);
  tl_window_status status = {.struct_size = sizeof status};
  tl_diff *diff = NULL;
  for (int turn = 0; turn < 20; turn++) {
    carry(client);
    if (tl_window_poll(window, &diff) == TL_OK) tl_diff_free(diff);
    EXPECT(tl_window_state(window, &status), TL_OK);
    if (status.flags & TL_WINDOW_AT_START) break;
    tl_load load = {.struct_size = sizeof load, .kind = TL_LOAD_BEFORE, .count = 50};
    EXPECT(tl_window_load(window, &load), TL_OK);
  }
  CHECK((status.flags & TL_WINDOW_AT_START) != 0 && status.row_count == COUNT - 2);
  tl_batch *batch = NULL;
  EXPECT(tl_window_rows(window, 0, status.row_count, &batch), TL_OK);
  size_t count = 0;
  const tl_message *rows = tl_batch_rows(batch, &count);
  CHECK(count == COUNT - 2 && is(rows[0].id, "m0") && is(rows[count - 1].id, "m129"));
  CHECK(told(batch).whole && is(told(batch).as_of_entry, "m129"));
  tl_batch_free(batch);
  tl_window_free(window);
  tl_client_free(client);
}

/* Not there with a log, and it says so with a reason; what is there goes on. */
static void what_it_gives_back(void) {
  present = COUNT;
  tl_client *client = open_log(NULL);
  EXPECT(tl_client_connected(client), TL_OK);
  sync_kind(client, TL_SYNC_LATEST, 0);
  tl_budget budget = {.struct_size = sizeof budget, .messages = 10};
  EXPECT(tl_client_retain(client, &budget), TL_OK);
  EXPECT(tl_client_retain(client, NULL), TL_OK);
  EXPECT(tl_client_drop(client, view("c"), view("m129")), TL_OK);
  CHECK(row_count(client) == PAGE - 1);
  CHECK(carry(client) > 0);
  CHECK(row_count(client) == PAGE);
  EXPECT(tl_client_drop(client, view("c"), view("m100")), TL_OK);
  CHECK(row_count(client) == PAGE - 1);
  EXPECT(tl_client_drop(client, view("c"), view("")), TL_OK);
  CHECK(row_count(client) == 0);
  sync_kind(client, TL_SYNC_LATEST, 0);
  CHECK(row_count(client) == PAGE);
  tl_client_free(client);
}

static char file[] = "/tmp/tideline-log-XXXXXX";

static void opens_as(uint32_t capabilities, tl_status expected) {
  tl_client_config config = file_config(file);
  tl_profile profile = log_profile();
  tl_client *client = NULL;
  profile.capabilities = capabilities;
  config.profile = &profile;
  EXPECT(tl_client_open(&config, &client), expected);
  tl_client_free(client);
}

/* header: "a file keeps one kind for ever." That it stays untouched is in opening.c. */
static void a_file_keeps_its_kind(void) {
  int made = mkstemp(file);
  CHECK(made >= 0 && close(made) == 0 && unlink(file) == 0);
  present = COUNT;
  tl_client *client = open_log(file);
  EXPECT(tl_client_connected(client), TL_OK);
  sync_kind(client, TL_SYNC_LATEST, 0);
  tl_client_free(client);
  opens_as(0, TL_E_MISMATCH);
  CHECK(strstr(tl_last_error(), "TL_SERVER_LOG") != NULL);
  opens_as(TL_SERVER_SEQUENCE, TL_E_MISMATCH);
  /* What is declared of the log besides may change. */
  opens_as(TL_SERVER_LOG, TL_OK);
  client = open_log(file);
  CHECK(row_count(client) == PAGE);
  /* What came meanwhile comes by one request, what was known by none. */
  present += 5;
  EXPECT(tl_client_connected(client), TL_OK);
  EXPECT(sync_latest(client, NULL), TL_OK);
  CHECK(carry(client) == 1 && row_count(client) == PAGE + 5);
  tl_client_free(client);
  char other[64];
  unlink(file);
  snprintf(other, sizeof other, "%s-wal", file);
  unlink(other);
}

int main(void) {
  RUN(whole_as_of_an_entry);
  RUN(older_callers);
  RUN(a_window);
  RUN(what_it_gives_back);
  RUN(a_file_keeps_its_kind);
  return report("log");
}
