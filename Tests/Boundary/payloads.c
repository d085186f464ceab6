/* What carries a payload, from C: attachments that the host uploads, and hooks
   that seal. */
#include "turn.h"

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

int main(void) {
  RUN(uploads);
  RUN(seal_nonsense);
  RUN(sealed_once);
  return report("payloads");
}
