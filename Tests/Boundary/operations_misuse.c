/* What the user does, from C: everything a host may get wrong while it does so. */
#include "turn.h"

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
  /* header: "of another verb, conversation, message or reaction it is #TL_E_INVALID." */
  const char *named = "{\"type\":\"send_message\",\"conversation_id\":\"c\",\"payload\":\"x\","
                      "\"client_id\":\"mine-1\"}";
  uint64_t first = 0, second = 0, number = 0, again = 0;
  EXPECT(tl_client_perform(client, view(named), 0, &first, &number), TL_OK);
  EXPECT(tl_client_perform(client, view(named), 0, &second, &again), TL_OK);
  CHECK(first != 0 && first == second && number != 0 && number == again);
  EXPECT(tl_client_perform(client, view("{\"type\":\"send_message\",\"conversation_id\":\"d\","
                                        "\"payload\":\"x\",\"client_id\":\"mine-1\"}"),
                           0, &made, NULL),
         TL_E_INVALID);
  const char *pins[] = {"{\"type\":\"pin_message\",\"conversation_id\":\"c\","
                        "\"message_id\":\"a\",\"client_id\":\"pin-1\"}",
                        "{\"type\":\"pin_message\",\"conversation_id\":\"c\","
                        "\"message_id\":\"b\",\"client_id\":\"pin-1\"}"};
  EXPECT(tl_client_perform(client, view(pins[0]), 0, &first, NULL), TL_OK);
  EXPECT(tl_client_perform(client, view(pins[0]), 0, &second, NULL), TL_OK);
  CHECK(first == second);
  EXPECT(tl_client_perform(client, view(pins[1]), 0, &made, NULL), TL_E_INVALID);
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
  EXPECT(set_draft(client, c, c, view("")), expected);
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
  RUN(requests);
  RUN(misuse);
  RUN(foreign_and_closed);
  return report("operations misuse");
}
