/* What the user does, from C: whole turns against a scripted server (offline,
   restart, answers of every kind, hooks that seal), and everything a host may get
   wrong while it does so. */
#include <unistd.h>

#include "turn.h"

static int64_t now_ms;

static int64_t now(void *unused) {
  (void)unused;
  return now_ms;
}

static tl_profile idempotent_profile(void) {
  tl_profile profile;
  memset(&profile, 0, sizeof profile);
  profile.struct_size = sizeof profile;
  profile.capabilities = TL_SERVER_IDEMPOTENT_SEND;
  return profile;
}

/* In a file with the system's clock, in memory with the test's. */
static tl_client *open_idempotent(const char *path) {
  static tl_profile profile;
  profile = idempotent_profile();
  tl_client_config config = path == NULL ? memory_config() : file_config(path);
  config.profile = &profile;
  if (path == NULL) config.clock = now;
  tl_client *client = NULL;
  EXPECT(tl_client_open(&config, &client), TL_OK);
  return client;
}

static tl_state state_now(tl_client *client) {
  tl_state state;
  memset(&state, 0, sizeof state);
  state.struct_size = sizeof state;
  EXPECT(tl_client_state(client, &state), TL_OK);
  return state;
}

static const tl_message *window_rows(tl_window *window, tl_batch **batch, size_t *count) {
  *batch = NULL;
  *count = 0;
  (void)!tl_window_rows(window, 0, 1000, batch);
  return tl_batch_rows(*batch, count);
}

/* Seed 2: sent offline, a restart, confirmed, and then what others wrote before it. */
static void offline_restart_confirmed(void) {
  char folder[] = "/tmp/tideline-turn-XXXXXX", path[300];
  CHECK(mkdtemp(folder) != NULL);
  snprintf(path, sizeof path, "%s/a.tideline", folder);
  server_reset();
  server_message("m1", "you", 1, "\"one\"", "");
  server_message("m2", "you", 2, "\"two\"", "");
  tl_client *client = open_idempotent(path);
  tl_window *window = open_screen(client);
  EXPECT(tl_client_connected(client), TL_OK);
  turn(client);
  EXPECT(tl_client_disconnected(client), TL_OK);
  screen screen = {.count = 0};
  screen_poll(&screen, window);
  CHECK(screen.count == 2);

  uint64_t first_number = 0, second_number = 0;
  uint64_t first = send_text(client, "\"mine\"", &first_number);
  uint64_t second = send_text(client, "\"mine too\"", &second_number);
  CHECK(first != 0 && first < second && first_number != 0 && first_number != second_number);
  screen_poll(&screen, window);
  CHECK(screen.count == 4 && screen.inserted == 2 && screen.moved == 0);
  CHECK(screen.numbers[2] == first_number && screen.numbers[3] == second_number);
  tl_window_free(window);
  tl_client_free(client);

  /* header: "durable (synced) when the call returns" */
  client = open_idempotent(path);
  window = open_screen(client);
  memset(&screen, 0, sizeof screen);
  screen_poll(&screen, window);
  CHECK(screen.count == 4);
  CHECK(screen.numbers[2] == first_number && screen.numbers[3] == second_number);
  tl_batch *batch = NULL;
  size_t count = 0;
  const tl_message *rows = window_rows(window, &batch, &count);
  if (count == 4) {
    /* header: "stands behind all others, in the order of sending; `id` is its client id" */
    CHECK(rows[2].state == TL_MESSAGE_QUEUED && rows[2].operation == first);
    CHECK(rows[2].time_us == 0 && rows[2].id.size > 0 && rows[2].stamp.size == 0);
    CHECK(is(rows[2].payload, "\"mine\"") && is(rows[2].sender, "me"));
    CHECK(rows[2].flags == TL_MESSAGE_MINE);
    CHECK(rows[2].upload_permille == 1000 && rows[2].reserved == 0);
    CHECK(rows[1].state == TL_MESSAGE_CONFIRMED && rows[1].operation == 0);
  }
  tl_batch_free(batch);
  EXPECT(tl_client_operations(client, NULL, &batch), TL_OK);
  const tl_operation *operations = tl_batch_operations(batch, &count);
  CHECK(count == 2);
  if (count == 2) {
    CHECK(operations[0].id == first && operations[0].number == first_number);
    CHECK(operations[0].state == TL_OPERATION_QUEUED && operations[0].attempts == 0);
    CHECK(operations[0].waiting == TL_WAIT_CONNECTION);
    CHECK(is(operations[0].verb, "send_message") && is(operations[0].conversation, "c"));
    CHECK(operations[0].client_id.size > 0 && operations[0].result.size == 0);
    CHECK(operations[0].request.size > 0 && operations[0].error_code.size == 0);
  }
  tl_batch_free(batch);
  CHECK(state_now(client).operations_open == 2 && state_now(client).operations_stuck == 0);

  /* Two messages of another were written meanwhile and have not come yet. */
  server.seconds = 10;
  EXPECT(tl_client_connected(client), TL_OK);
  turn(client);
  CHECK(server.sends == 2);
  screen_poll(&screen, window);
  CHECK(screen.count == 4 && screen.inserted == 0 && screen.removed == 0);
  CHECK(screen.numbers[2] == first_number && screen.numbers[3] == second_number);
  rows = window_rows(window, &batch, &count);
  if (count == 4) {
    CHECK(rows[2].state == TL_MESSAGE_CONFIRMED && is(rows[2].id, "s1"));
    CHECK(rows[2].operation == 0 && rows[2].time_us > 0 && is(rows[3].id, "s2"));
  }
  tl_batch_free(batch);
  CHECK(state_of(client, first) == TL_OPERATION_SENT);
  const tl_operation *done = operation(client, second, &batch);
  CHECK(done->result.size > 0 && done->attempts == 1 && done->retry_ms == -1);
  tl_batch_free(batch);
  CHECK(state_now(client).operations_open == 0);

  EXPECT(push_message(client, server_message("m3", "you", 3, "\"three\"", "")), TL_OK);
  EXPECT(push_message(client, server_message("m4", "you", 4, "\"four\"", "")), TL_OK);
  turn(client);
  screen_poll(&screen, window);
  CHECK(screen.count == 6 && screen.inserted == 2 && screen.removed == 0);
  CHECK(screen.numbers[4] == first_number && screen.numbers[5] == second_number);
  /* The echo of what is confirmed changes nothing. */
  EXPECT(push_message(client, server.bodies[2]), TL_OK);
  screen_poll(&screen, window);
  CHECK(screen.count == 6 && screen.inserted == 0 && screen.moved == 0);
  tl_window_free(window);
  EXPECT(tl_client_wipe(client), TL_OK);
  tl_client_free(client);
  CHECK(rmdir(folder) == 0);
}

/* A pending row that others overtake moves to its place, under its number. */
static void pending_row_moves(void) {
  server_reset();
  server_message("m1", "you", 1, "\"one\"", "");
  tl_client *client = open_idempotent(NULL);
  tl_window *window = open_screen(client);
  EXPECT(tl_client_connected(client), TL_OK);
  turn(client);
  screen screen = {.count = 0};
  screen_poll(&screen, window);
  server.is_mute = 1;
  uint64_t number = 0, operation = send_text(client, "\"mine\"", &number);
  turn(client);
  CHECK(state_of(client, operation) == TL_OPERATION_IN_FLIGHT);
  char client_id[256];
  text_member(view(server.last), "client_id", client_id, sizeof client_id);
  EXPECT(push_message(client, server_message("m3", "you", 30, "\"later\"", "")), TL_OK);
  turn(client);
  screen_poll(&screen, window);
  CHECK(screen.count == 3 && screen.numbers[2] == number);
  /* header: "Once confirmed it moves to its place and keeps its `number`." */
  EXPECT(push_message(client, server_message("m2", "me", 20, "\"mine\"", client_id)), TL_OK);
  screen_poll(&screen, window);
  CHECK(screen.count == 3 && screen.numbers[1] == number);
  CHECK(screen.moved == 1 && screen.inserted == 0 && screen.removed == 0);
  CHECK(state_of(client, operation) == TL_OPERATION_SENT);
  uint32_t row = 9;
  EXPECT(tl_window_find(window, view("m2"), &row), TL_OK);
  CHECK(row == 1);
  tl_window_free(window);
  tl_client_free(client);
}

/* Every kind of error, and that what is refused holds nothing up. */
static void answers(void) {
  server_reset();
  now_ms = 1000;
  tl_client *client = open_idempotent(NULL);
  uint64_t number = 0;
  uint64_t a = send_text(client, "\"A\"", &number), b = send_text(client, "\"B\"", NULL);
  uint64_t c = send_text(client, "\"C\"", NULL);
  server.error = "\"code\":\"too_large\",\"message\":\"over 1 MB\"";
  EXPECT(tl_client_connected(client), TL_OK);
  turn(client);
  tl_batch *batch = NULL;
  const tl_operation *refused = operation(client, a, &batch);
  CHECK(refused->state == TL_OPERATION_REFUSED && is(refused->error_code, "too_large"));
  CHECK(is(refused->error_text, "over 1 MB") && refused->retry_ms == -1);
  tl_batch_free(batch);
  CHECK(state_of(client, b) == TL_OPERATION_SENT && state_of(client, c) == TL_OPERATION_SENT);
  CHECK(server.sends == 2 && strstr(server.bodies[0], "\"B\"") != NULL);
  CHECK(state_now(client).operations_stuck == 1);
  EXPECT(tl_operation_edit(client, a, view("{\"payload\":\"a\"}")), TL_OK);
  turn(client);
  CHECK(state_of(client, a) == TL_OPERATION_SENT && last_has("\"payload\":\"a\""));

  /* A delay is kept to, and the operation keeps its turn. */
  uint64_t d = send_text(client, "\"D\"", NULL), e = send_text(client, "\"E\"", NULL);
  server.error = "\"code\":\"rate_limited\",\"message\":\"slow\",\"retry_after_ms\":5000";
  turn(client);
  const tl_operation *later = operation(client, d, &batch);
  CHECK(later->state == TL_OPERATION_QUEUED && later->waiting == TL_WAIT_RETRY);
  CHECK(later->retry_ms >= 5000 && is(later->error_code, "rate_limited"));
  tl_batch_free(batch);
  CHECK(state_of(client, e) == TL_OPERATION_QUEUED && wait_of(client, e) == TL_WAIT_TURN);
  CHECK(server.sends == 3);
  now_ms += 4000;
  EXPECT(tl_client_advance(client, NULL), TL_OK);
  turn(client);
  CHECK(server.sends == 3);
  /* header: "or a queued one at once" */
  EXPECT(tl_operation_retry(client, d), TL_OK);
  turn(client);
  CHECK(server.sends == 5 && state_of(client, e) == TL_OPERATION_SENT);
  EXPECT(tl_operation_retry(client, d), TL_NONE);
  EXPECT(tl_operation_cancel(client, d), TL_NONE);
  EXPECT(tl_operation_edit(client, d, view("{\"payload\":\"x\"}")), TL_NONE);

  uint64_t f = send_text(client, "\"F\"", NULL);
  server.error = "\"code\":\"unavailable\",\"message\":\"\"";
  turn(client);
  CHECK(state_of(client, f) == TL_OPERATION_QUEUED && wait_of(client, f) == TL_WAIT_RETRY);
  now_ms += 600000;
  EXPECT(tl_client_advance(client, NULL), TL_OK);
  turn(client);
  CHECK(state_of(client, f) == TL_OPERATION_SENT);

  /* What is cancelled is shown no more, and a deletion of nothing is done. */
  uint64_t g = send_text(client, "\"G\"", NULL);
  server.error = "\"code\":\"forbidden\",\"message\":\"\"";
  turn(client);
  CHECK(state_of(client, g) == TL_OPERATION_REFUSED);
  size_t before = row_count(client);
  EXPECT(tl_operation_cancel(client, g), TL_OK);
  CHECK(row_count(client) == before - 1);
  EXPECT(tl_client_operation(client, g, &batch), TL_E_NOT_FOUND);
  uint64_t h = perform(client, "{\"type\":\"delete_message\",\"conversation_id\":\"c\","
                               "\"message_id\":\"s1\"}");
  CHECK(row_count(client) == before - 2);
  server.error = "\"code\":\"not_found\",\"message\":\"\"";
  turn(client);
  CHECK(state_of(client, h) == TL_OPERATION_SENT);
  tl_client_free(client);
}

/* Without idempotent sends a lost answer is the user's to decide. */
static void unknown_sends(void) {
  server_reset();
  now_ms = 1000;
  tl_client_config config = memory_config();
  config.clock = now;
  tl_client *client = NULL;
  EXPECT(tl_client_open(&config, &client), TL_OK);
  EXPECT(tl_client_connected(client), TL_OK);
  turn(client);
  server.is_mute = 1;
  uint64_t lost = send_text(client, "\"lost\"", NULL);
  turn(client);
  EXPECT(tl_client_disconnected(client), TL_OK);
  CHECK(state_of(client, lost) == TL_OPERATION_UNKNOWN);
  CHECK(wait_of(client, lost) == TL_WAIT_CONNECTION);
  uint64_t untold = send_text(client, "\"untold\"", NULL);
  CHECK(state_of(client, untold) == TL_OPERATION_QUEUED);
  server.is_mute = 0;
  EXPECT(tl_client_connected(client), TL_OK);
  turn(client);
  /* It may still be on its way, so it is not looked for yet; the next one waits for it. */
  CHECK(wait_of(client, lost) == TL_WAIT_CHECK && wait_of(client, untold) == TL_WAIT_TURN);
  for (int i = 0; i < 10; i++) {
    now_ms += 30000;
    EXPECT(tl_client_advance(client, NULL), TL_OK);
    turn(client);
  }
  /* It was looked for, was not there, and was not sent again unasked. */
  CHECK(state_of(client, lost) == TL_OPERATION_UNKNOWN);
  CHECK(wait_of(client, lost) == TL_WAIT_NOTHING);
  CHECK(state_of(client, untold) == TL_OPERATION_SENT && server.sends == 1);
  CHECK(state_now(client).operations_stuck == 1);
  EXPECT(tl_operation_retry(client, lost), TL_OK);
  turn(client);
  CHECK(state_of(client, lost) == TL_OPERATION_SENT && server.sends == 2);
  tl_client_free(client);
}

static void uploads(void) {
  server_reset();
  tl_client *client = open_idempotent(NULL);
  EXPECT(tl_client_connected(client), TL_OK);
  turn(client);
  tl_send send = send_of("\"a picture\"");
  uint64_t made = 0, number = 0;
  send.flags = TL_PERFORM_UPLOAD;
  send.attachment = view("{\"name\":\"a.jpg\"}");
  send.metadata = view("{\"w\":1}");
  EXPECT(tl_client_send(client, &send, &made, &number), TL_OK);
  turn(client);
  CHECK(server.sends == 0 && wait_of(client, made) == TL_WAIT_UPLOAD);
  uint64_t next = send_text(client, "\"text\"", NULL);
  turn(client);
  CHECK(state_of(client, next) == TL_OPERATION_SENT && server.sends == 1);
  EXPECT(tl_operation_progress(client, made, 500), TL_OK);
  tl_batch *batch = NULL;
  CHECK(operation(client, made, &batch)->upload_permille == 500);
  tl_batch_free(batch);
  EXPECT(tl_operation_progress(client, made, 1001), TL_E_INVALID);
  EXPECT(tl_operation_progress(client, next, 1), TL_NONE);
  EXPECT(tl_operation_progress(client, 999, 1), TL_E_NOT_FOUND);
  EXPECT(tl_operation_uploaded(client, made, view("{\"broken")), TL_E_INVALID);
  EXPECT(tl_operation_uploaded(client, made, view("7")), TL_E_INVALID);
  EXPECT(tl_operation_uploaded(client, 999, view("{}")), TL_E_NOT_FOUND);
  static char reason[2000];
  memset(reason, 'x', sizeof reason - 1);
  tl_view longest = {(const uint8_t *)reason, 1024}, over = {(const uint8_t *)reason, 1025};
  EXPECT(tl_operation_upload_failed(client, made, over), TL_E_TOO_LARGE);
  EXPECT(tl_operation_upload_failed(client, made, view("\xff")), TL_E_INVALID);
  EXPECT(tl_operation_upload_failed(client, made, longest), TL_OK);
  CHECK(state_of(client, made) == TL_OPERATION_REFUSED);
  CHECK(operation(client, made, &batch)->error_text.size == 1024);
  tl_batch_free(batch);
  EXPECT(tl_operation_upload_failed(client, made, view("")), TL_NONE);
  /* header: "#tl_operation_retry lets it wait for an upload again." */
  EXPECT(tl_operation_retry(client, made), TL_OK);
  turn(client);
  CHECK(server.sends == 1 && wait_of(client, made) == TL_WAIT_UPLOAD);
  EXPECT(tl_operation_uploaded(client, made, view("{\"url\":\"u1\"}")), TL_OK);
  turn(client);
  CHECK(server.sends == 2 && last_has("\"attachment\":{\"url\":\"u1\"}"));
  CHECK(last_has("\"metadata\":{\"w\":1}") && !last_has("a.jpg"));
  EXPECT(tl_operation_uploaded(client, made, view("{}")), TL_NONE);
  tl_client_free(client);
}

/* What a hook that seals is told to answer, and what it was asked. */
static struct {
  tl_status status;
  const char *payload;
  size_t size; /* Of the payload, when not 0. */
  uint32_t flags, reserved;
  unsigned calls, drops;
  char client_id[256], message[256], given[256];
} sealing;

static void keep(char *out, tl_view from) {
  size_t size = from.size < 255 ? from.size : 255;
  if (size > 0) memcpy(out, from.data, size);
  out[size] = 0;
}

static tl_status seal(void *context, const tl_unsealed *in, tl_opened *out) {
  CHECK(context == &sealing && out->payload.size == 0 && out->flags == 0);
  CHECK(is(in->conversation, "c"));
  sealing.calls++;
  keep(sealing.client_id, in->client_id);
  keep(sealing.message, in->message);
  keep(sealing.given, in->payload);
  if (sealing.payload != NULL) out->payload = view(sealing.payload);
  if (sealing.size != 0) out->payload.size = sealing.size;
  out->flags = sealing.flags;
  out->reserved = sealing.reserved;
  return sealing.status;
}

static void seal_dropped(void *context) {
  CHECK(context == &sealing);
  sealing.drops++;
}

/* There is never a key for what comes from the server. */
static tl_status open_nothing(void *unused, const tl_sealed *in, tl_opened *out) {
  (void)unused, (void)in, (void)out;
  return TL_NONE;
}

static tl_client *open_sealing(void) {
  memset(&sealing, 0, sizeof sealing);
  tl_client_config config = memory_config();
  static tl_profile profile;
  profile = idempotent_profile();
  config.profile = &profile;
  config.clock = now;
  config.open = open_nothing;
  config.seal = seal;
  config.seal_context = &sealing;
  config.seal_drop = seal_dropped;
  tl_client *client = NULL;
  EXPECT(tl_client_open(&config, &client), TL_OK);
  return client;
}

#define NONSENSE(change)                                                       \
  do {                                                                         \
    memset(&sealing, 0, sizeof sealing);                                       \
    sealing.payload = "\"sealed\"";                                            \
    change;                                                                    \
    uint64_t made = 9, number = 9;                                             \
    tl_send send = send_of("\"secret\"");                                      \
    EXPECT(tl_client_send(client, &send, &made, &number), TL_E_REFUSED);       \
    CHECK(made == 0 && number == 0 && sealing.calls == 1);                     \
  } while (0)

/* header: "Any failure ends the call with #TL_E_REFUSED and nothing is kept." */
static void seal_nonsense(void) {
  tl_client *client = open_sealing();
  NONSENSE(sealing.status = TL_E_KEY);
  NONSENSE(sealing.status = TL_IGNORED);
  NONSENSE(sealing.status = 77);
  NONSENSE(sealing.status = INT32_MIN);
  NONSENSE(sealing.flags = TL_PAYLOAD_CONTROL);
  NONSENSE(sealing.reserved = 1);
  NONSENSE(sealing.payload = NULL);
  NONSENSE((sealing.payload = NULL, sealing.size = 5));
  NONSENSE(sealing.payload = "");
  NONSENSE(sealing.size = SIZE_MAX);
  NONSENSE(sealing.size = (size_t)64 << 20);
  NONSENSE(sealing.payload = "no JSON");
  NONSENSE(sealing.payload = "\"one\",\"more\":1");
  NONSENSE(sealing.payload = "\"\xff\"");
  NONSENSE(sealing.payload = "{\"a\":1}}");
  tl_batch *batch = NULL;
  EXPECT(tl_client_operations(client, NULL, &batch), TL_NONE);
  CHECK(row_count(client) == 0);
  tl_client_free(client);
  CHECK(sealing.drops == 1);
}

static void sealed_once(void) {
  server_reset();
  tl_client *client = open_sealing();
  sealing.status = TL_NONE;
  uint64_t number = 0, made = send_text(client, "\"secret\"", &number);
  CHECK(sealing.calls == 1 && strcmp(sealing.given, "\"secret\"") == 0);
  CHECK(sealing.client_id[0] != 0 && sealing.message[0] == 0);
  EXPECT(tl_client_connected(client), TL_OK);
  turn(client);
  /* header: "the operation waits (#TL_WAIT_SEAL) until #tl_client_reopen_payloads" */
  CHECK(server.sends == 0 && wait_of(client, made) == TL_WAIT_SEAL);
  uint64_t count = 9;
  EXPECT(tl_client_reopen_payloads(client, view(""), &count), TL_NONE);
  CHECK(count == 0 && sealing.calls == 2);
  sealing.status = TL_OK;
  sealing.payload = "\"sealed\"";
  EXPECT(tl_client_reopen_payloads(client, view("c"), &count), TL_OK);
  CHECK(count == 1 && sealing.calls == 3);
  server.is_mute = 1;
  turn(client);
  CHECK(last_has("\"payload\":\"sealed\"") && !last_has("secret"));
  /* header: "It is kept with the operation and used again for each try." */
  EXPECT(tl_client_disconnected(client), TL_OK);
  server.is_mute = 0;
  server.last[0] = 0;
  EXPECT(tl_client_connected(client), TL_OK);
  turn(client);
  CHECK(server.sends == 1 && last_has("\"payload\":\"sealed\"") && sealing.calls == 3);
  CHECK(state_of(client, made) == TL_OPERATION_SENT);
  /* What this user wrote is shown as written. */
  tl_batch *batch = NULL;
  size_t rows = 0;
  EXPECT(read_page(client, &batch), TL_OK);
  const tl_message *row = tl_batch_rows(batch, &rows);
  CHECK(rows == 1 && is(row[0].payload, "\"secret\"") && row[0].number == number);
  if (rows == 1) CHECK(!(row[0].flags & TL_MESSAGE_SEALED));
  tl_batch_free(batch);
  /* An edit is sealed too, for the message that it edits. */
  perform(client, "{\"type\":\"edit_message\",\"conversation_id\":\"c\",\"message_id\":\"s1\","
                  "\"payload\":\"better\"}");
  CHECK(strcmp(sealing.message, "s1") == 0 && sealing.client_id[0] == 0);
  CHECK(strcmp(sealing.given, "\"better\"") == 0);
  turn(client);
  CHECK(last_has("\"type\":\"edit_message\"") && last_has("\"payload\":\"sealed\""));
  tl_client_free(client);
  CHECK(sealing.drops == 1);
}

static void typing_and_marks(void) {
  server_reset();
  tl_client *client = open_idempotent(NULL);
  EXPECT(tl_client_typing(client, view("c"), TL_TYPING_BEGIN), TL_NONE);
  EXPECT(tl_client_typing(client, view("c"), 0), TL_E_INVALID);
  EXPECT(tl_client_typing(client, view("c"), 4), TL_E_INVALID);
  EXPECT(tl_client_typing(client, view(""), TL_TYPING_BEGIN), TL_E_INVALID);
  EXPECT(tl_client_connected(client), TL_OK);
  turn(client);
  EXPECT(tl_client_typing(client, view("c"), TL_TYPING_PAUSE), TL_OK);
  turn(client);
  CHECK(last_has("\"typing\"") && last_has("\"pause\""));
  uint64_t made = 9;
  EXPECT(tl_client_perform(client, view("{\"type\":\"typing\",\"conversation_id\":\"c\","
                                        "\"event\":\"finished\"}"), 0, &made, NULL), TL_OK);
  CHECK(made == 0);
  turn(client);
  CHECK(last_has("\"finished\""));
  EXPECT(push_message(client, server_message("m1", "you", 1, "\"one\"", "")), TL_OK);
  turn(client);
  tl_view ids[] = {view("m1"), view("nobody")};
  EXPECT(tl_client_mark_delivered(client, view("c"), ids, 2), TL_OK);
  turn(client);
  CHECK(last_has("\"mark_delivered\"") && last_has("\"m1\"") && !last_has("nobody"));
  EXPECT(tl_client_mark_delivered(client, view("c"), NULL, 1), TL_E_INVALID);
  EXPECT(tl_client_mark_delivered(client, view("c"), ids, 10001), TL_E_TOO_LARGE);
  EXPECT(tl_client_mark_delivered(client, view(""), ids, 1), TL_E_INVALID);
  tl_client_free(client);
}

#define PERFORM(request, expected)                                             \
  do {                                                                         \
    uint64_t made = 9, number = 9;                                             \
    EXPECT(tl_client_perform(client, view(request), 0, &made, &number), expected); \
    CHECK((made != 0) == ((expected) == TL_OK));                               \
    if ((expected) != TL_OK) CHECK(number == 0);                               \
  } while (0)

static void requests(void) {
  static char big[(1 << 20) + 2];
  tl_client *client = open_idempotent(NULL);
  PERFORM("", TL_E_INVALID);
  PERFORM("{", TL_E_INVALID);
  PERFORM("[]", TL_E_INVALID);
  PERFORM("{}", TL_E_INVALID);
  PERFORM("{\"type\":7}", TL_E_INVALID);
  PERFORM("{\"type\":\"dance\"}", TL_E_INVALID);
  PERFORM("{\"type\":\"\xff\"}", TL_E_INVALID);
  PERFORM("{\"type\":\"send_message\"}", TL_E_INVALID);
  PERFORM("{\"type\":\"send_message\",\"conversation_id\":\"c\"}", TL_E_INVALID);
  PERFORM("{\"type\":\"send_message\",\"conversation_id\":\"\",\"payload\":1}", TL_E_INVALID);
  PERFORM("{\"type\":\"send_message\",\"conversation_id\":7,\"payload\":1}", TL_E_INVALID);
  PERFORM("{\"type\":\"send_message\",\"conversation_id\":\"c\",\"payload\":1} x", TL_E_INVALID);
  PERFORM("{\"type\":\"create_conversation\",\"participant_ids\":\"you\"}", TL_E_INVALID);
  PERFORM("{\"type\":\"add_participants\",\"conversation_id\":\"c\",\"user_ids\":[]}",
          TL_E_INVALID);
  PERFORM("{\"type\":\"typing\",\"conversation_id\":\"c\",\"event\":\"dances\"}", TL_E_INVALID);
  PERFORM("{\"type\":\"get_conversations\",\"limit\":\"all\"}", TL_E_INVALID);
  PERFORM("{\"type\":\"get_messages\",\"conversation_id\":\"c\"}", TL_E_UNSUPPORTED);
  PERFORM("{\"type\":\"get_deleted_since\",\"conversation_id\":\"c\"}", TL_E_UNSUPPORTED);
  PERFORM("{\"type\":\"get_changed_since\",\"conversation_id\":\"c\"}", TL_E_UNSUPPORTED);
  PERFORM("{\"type\":\"get_user_channel\"}", TL_OK);
  PERFORM("{\"type\":\"send_message\",\"conversation_id\":\"c\",\"payload\":null}", TL_OK);
  tl_view none = {NULL, 3}, request = view("{\"type\":\"get_total_unread_count\"}");
  uint64_t made = 9;
  EXPECT(tl_client_perform(client, none, 0, &made, NULL), TL_E_INVALID);
  CHECK(made == 0);
  EXPECT(tl_client_perform(client, request, 2, &made, NULL), TL_E_INVALID);
  EXPECT(tl_client_perform(client, request, UINT32_MAX, &made, NULL), TL_E_INVALID);
  EXPECT(tl_client_perform(client, request, 0, NULL, NULL), TL_OK);
  memset(big, ' ', sizeof big - 1);
  memcpy(big, request.data, request.size);
  tl_view largest = {(const uint8_t *)big, 1 << 20}, over = {(const uint8_t *)big, (1 << 20) + 1};
  EXPECT(tl_client_perform(client, largest, 0, &made, NULL), TL_OK);
  EXPECT(tl_client_perform(client, over, 0, &made, NULL), TL_E_TOO_LARGE);
  CHECK(made == 0);
  tl_view endless = {(const uint8_t *)big, SIZE_MAX};
  EXPECT(tl_client_perform(client, endless, 0, &made, NULL), TL_E_TOO_LARGE);
  /* header: "A `client_id` that was performed before gives the same operation again." */
  const char *named = "{\"type\":\"send_message\",\"conversation_id\":\"c\",\"payload\":\"x\","
                      "\"client_id\":\"mine-1\"}";
  uint64_t first = 0, second = 0, number = 0, again = 0;
  EXPECT(tl_client_perform(client, view(named), 0, &first, &number), TL_OK);
  EXPECT(tl_client_perform(client, view(named), 0, &second, &again), TL_OK);
  CHECK(first != 0 && first == second && number != 0 && number == again);
  tl_client_free(client);
}

#define SEND(change, expected)                                                 \
  do {                                                                         \
    tl_send send = send_of("\"x\"");                                           \
    uint64_t made = 9, number = 9;                                             \
    change;                                                                    \
    EXPECT(tl_client_send(client, &send, &made, &number), expected);           \
    CHECK((made != 0) == ((expected) == TL_OK));                               \
    CHECK((number != 0) == ((expected) == TL_OK));                             \
  } while (0)

#define QUERY(change, expected)                                                \
  do {                                                                         \
    tl_operation_query query;                                                  \
    memset(&query, 0, sizeof query);                                           \
    query.struct_size = sizeof query;                                          \
    tl_batch *batch = (tl_batch *)(uintptr_t)rubbish;                          \
    change;                                                                    \
    EXPECT(tl_client_operations(client, &query, &batch), expected);            \
    CHECK((batch != NULL) == ((expected) == TL_OK));                           \
    tl_batch_free(batch);                                                      \
  } while (0)

static const uint64_t rubbish[8] = {1, 2, 3, 4, 5, 6, 7, 8};

static void misuse(void) {
  static char text[600];
  memset(text, 'x', sizeof text - 1);
  tl_view name = {(const uint8_t *)text, 128}, long_name = {(const uint8_t *)text, 129};
  tl_view long_id = {(const uint8_t *)text, 513}, null = {NULL, 1};
  tl_client *client = open_idempotent(NULL);
  SEND((void)0, TL_OK);
  SEND(send.struct_size = 0, TL_E_INVALID);
  SEND(send.struct_size = 9, TL_E_INVALID);
  SEND(send.struct_size = UINT32_MAX, TL_E_INVALID);
  SEND(send.flags = 2, TL_E_INVALID);
  SEND(send.conversation.size = 0, TL_E_INVALID);
  SEND(send.conversation = long_id, TL_E_TOO_LARGE);
  SEND(send.conversation = view("\xff"), TL_E_INVALID);
  SEND(send.payload.size = 0, TL_E_INVALID);
  SEND(send.payload = null, TL_E_INVALID);
  SEND(send.payload = view("no JSON"), TL_E_INVALID);
  SEND(send.payload = view("1,\"payload\":2"), TL_E_INVALID);
  SEND(send.payload = view("\"\xff\""), TL_E_INVALID);
  SEND(send.payload.size = SIZE_MAX, TL_E_TOO_LARGE);
  SEND(send.attachment = view("7"), TL_E_INVALID);
  SEND(send.attachment = view("{}},{"), TL_E_INVALID);
  SEND(send.attachment = null, TL_E_INVALID);
  SEND(send.metadata = view("[]"), TL_E_INVALID);
  SEND(send.metadata = view("{\"a\":1}"), TL_OK);
  SEND(send.reply_to = long_id, TL_E_TOO_LARGE);
  SEND(send.reply_to = view("m1"), TL_OK);
  SEND(send.client_id = name, TL_OK);
  SEND(send.client_id = long_name, TL_E_TOO_LARGE);
  EXPECT(tl_client_send(client, NULL, NULL, NULL), TL_E_INVALID);
  QUERY((void)0, TL_OK);
  QUERY(query.flags = TL_OPERATIONS_OPEN, TL_OK);
  QUERY(query.conversation = view("c"), TL_OK);
  QUERY(query.conversation = view("another"), TL_NONE);
  QUERY(query.after = UINT64_MAX, TL_NONE);
  QUERY(query.limit = 10000, TL_OK);
  QUERY(query.limit = 10001, TL_E_INVALID);
  QUERY(query.flags = 2, TL_E_INVALID);
  QUERY(query.reserved = 1, TL_E_INVALID);
  QUERY(query.struct_size = 12, TL_E_INVALID);
  QUERY(query.struct_size = offsetof(tl_operation_query, limit), TL_OK);
  struct {
    tl_operation_query known;
    uint64_t later;
  } longer = {.later = 1};
  longer.known.struct_size = sizeof longer;
  tl_batch *batch = NULL;
  EXPECT(tl_client_operations(client, &longer.known, &batch), TL_E_TOO_NEW);
  EXPECT(tl_client_operations(client, NULL, NULL), TL_E_INVALID);
  EXPECT(tl_client_operation(client, 1, NULL), TL_E_INVALID);
  EXPECT(tl_client_operation(client, 0, &batch), TL_E_NOT_FOUND);
  EXPECT(tl_client_operation(client, UINT64_MAX, &batch), TL_E_NOT_FOUND);
  CHECK(batch == NULL);
  EXPECT(tl_operation_retry(client, UINT64_MAX), TL_E_NOT_FOUND);
  EXPECT(tl_operation_cancel(client, 0), TL_E_NOT_FOUND);
  EXPECT(tl_operation_edit(client, UINT64_MAX, view("{\"payload\":1}")), TL_E_NOT_FOUND);
  EXPECT(tl_operation_progress(client, UINT64_MAX, 1), TL_E_NOT_FOUND);
  EXPECT(tl_operation_upload_failed(client, 1 + ((uint64_t)1 << 63), view("")), TL_E_NOT_FOUND);
  uint64_t made = send_text(client, "\"x\"", NULL);
  EXPECT(tl_operation_edit(client, made, view("")), TL_E_INVALID);
  EXPECT(tl_operation_edit(client, made, view("[]")), TL_E_INVALID);
  EXPECT(tl_operation_edit(client, made, null), TL_E_INVALID);
  EXPECT(tl_operation_edit(client, made, view("{\"type\":\"edit_message\"}")), TL_E_INVALID);
  EXPECT(tl_operation_edit(client, made, view("{\"client_id\":\"new\"}")), TL_E_INVALID);
  EXPECT(tl_operation_edit(client, made, view("{\"conversation_id\":\"d\"}")), TL_E_INVALID);
  EXPECT(tl_operation_edit(client, made, view("{\"payload\":2}")), TL_OK);
  EXPECT(tl_operation_cancel(client, made), TL_OK);
  EXPECT(tl_operation_cancel(client, made), TL_E_NOT_FOUND);
  EXPECT(tl_client_reopen_payloads(client, view("\xff"), NULL), TL_E_INVALID);
  EXPECT(tl_client_reopen_payloads(client, view(""), NULL), TL_NONE);
  /* A batch of operations is none of anything else. */
  size_t count = 9;
  tl_coverage coverage;
  memset(&coverage, 0, sizeof coverage);
  coverage.struct_size = sizeof coverage;
  EXPECT(tl_client_operations(client, NULL, &batch), TL_OK);
  CHECK(tl_batch_rows(batch, &count) == NULL && count == 0);
  CHECK(tl_batch_changes(batch, &count) == NULL && tl_batch_events(batch, NULL) == NULL);
  CHECK(tl_batch_conversations(batch, &count) == NULL && count == 0);
  EXPECT(tl_batch_coverage(batch, &coverage), TL_E_INVALID);
  tl_view block;
  EXPECT(tl_batch_block(batch, &block), TL_OK);
  const tl_operation *operations = tl_batch_operations(batch, &count);
  CHECK(count > 0 && block.data == (const uint8_t *)operations);
  for (size_t i = 0; i < count; i++) {
    const tl_view views[] = {operations[i].verb, operations[i].conversation,
                             operations[i].message, operations[i].client_id,
                             operations[i].request, operations[i].result,
                             operations[i].error_code, operations[i].error_text};
    for (size_t k = 0; k < sizeof views / sizeof *views; k++) {
      CHECK((views[k].size == 0 && views[k].data == NULL) ||
            (views[k].data >= block.data &&
             views[k].data + views[k].size <= block.data + block.size));
    }
  }
  tl_batch *page = NULL;
  EXPECT(read_page(client, &page), TL_OK);
  CHECK(tl_batch_operations(page, &count) == NULL && count == 0);
  tl_batch_free(page);
  CHECK(tl_batch_operations(NULL, &count) == NULL && count == 0);
  CHECK(tl_batch_operations((tl_batch *)(uintptr_t)rubbish, NULL) == NULL);
  tl_client_free(client);
  tl_batch_free(batch);
}

/* Every function of operations on a handle that is none, or closed. */
static void nowhere(tl_client *client, tl_status expected) {
  tl_batch *batch = (tl_batch *)(uintptr_t)rubbish;
  uint64_t made = 9, number = 9, count = 9;
  tl_send send = send_of("\"x\"");
  tl_view c = view("c");
  EXPECT(tl_client_perform(client, view("{\"type\":\"get_user_channel\"}"), 0, &made, &number),
         expected);
  CHECK(made == 0 && number == 0);
  made = number = 9;
  EXPECT(tl_client_send(client, &send, &made, &number), expected);
  CHECK(made == 0 && number == 0);
  EXPECT(tl_client_operations(client, NULL, &batch), expected);
  CHECK(batch == NULL);
  EXPECT(tl_client_operation(client, 1, &batch), expected);
  EXPECT(tl_operation_retry(client, 1), expected);
  EXPECT(tl_operation_cancel(client, 1), expected);
  EXPECT(tl_operation_edit(client, 1, view("{\"payload\":1}")), expected);
  EXPECT(tl_operation_progress(client, 1, 1), expected);
  EXPECT(tl_operation_uploaded(client, 1, view("{}")), expected);
  EXPECT(tl_operation_upload_failed(client, 1, view("")), expected);
  EXPECT(tl_client_reopen_payloads(client, c, &count), expected);
  CHECK(count == 0);
  EXPECT(tl_client_typing(client, c, TL_TYPING_BEGIN), expected);
  EXPECT(tl_client_draft(client, c, c, view("")), expected);
  EXPECT(tl_client_mark_delivered(client, c, &c, 1), expected);
  EXPECT(tl_client_clear(client), expected);
}

static void foreign_and_closed(void) {
  tl_client *client = open_idempotent(NULL);
  send_text(client, "\"x\"", NULL);
  tl_batch *batch = NULL;
  EXPECT(tl_client_operations(client, NULL, &batch), TL_OK);
  tl_window *window = open_screen(client);
  nowhere(NULL, TL_E_INVALID);
  nowhere((tl_client *)(uintptr_t)rubbish, TL_E_INVALID);
  nowhere((tl_client *)batch, TL_E_INVALID);
  nowhere((tl_client *)window, TL_E_INVALID);
  tl_client_close(client);
  nowhere(client, TL_E_CLOSED);
  tl_client_free(client);
  /* A batch is independent of its client. */
  size_t count = 0;
  CHECK(is(tl_batch_operations(batch, &count)->verb, "send_message") && count == 1);
  tl_batch_free(batch);
  tl_window_free(window);
}

int main(void) {
  RUN(offline_restart_confirmed);
  RUN(pending_row_moves);
  RUN(answers);
  RUN(unknown_sends);
  RUN(uploads);
  RUN(seal_nonsense);
  RUN(sealed_once);
  RUN(typing_and_marks);
  RUN(requests);
  RUN(misuse);
  RUN(foreign_and_closed);
  return report("operations");
}
