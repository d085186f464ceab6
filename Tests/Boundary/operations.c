/* What the user does, from C: whole turns against a scripted server (offline,
   restart, answers of every kind, marks). */
#include <unistd.h>

#include "turn.h"

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
    /* header: "A pending message is after all others, in the order of sending" */
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
  /* header: "Once confirmed it moves to its position and keeps its `number`." */
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

int main(void) {
  RUN(offline_restart_confirmed);
  RUN(pending_row_moves);
  RUN(answers);
  RUN(unknown_sends);
  RUN(typing_and_marks);
  return report("operations");
}
