/* The whole idea without a network: the library says what to ask, is handed the
 * answer, keeps it encrypted, and says how complete what it knows is. */
#include <stdio.h>
#include <string.h>
#include <tideline.h>

static tl_view text(const char *s) { return (tl_view){(const uint8_t *)s, strlen(s)}; }

static int failed(tl_status status) {
  if (status < TL_OK) fprintf(stderr, "%s: %s\n", tl_status_name(status), tl_last_error());
  return status < TL_OK;
}

int main(void) {
  static const uint8_t key[TL_KEY_BYTES] = "an example; take random bytes";
  tl_client_config config = {.struct_size = sizeof config, .path = text("first.tideline"),
                             .key = {key, sizeof key}, .user_id = text("eva")};
  tl_sync_request request = {.struct_size = sizeof request, .conversation = text("general")};
  tl_query query = {.struct_size = sizeof query, .conversation = text("general")};
  tl_coverage coverage = {.struct_size = sizeof coverage};
  tl_client *client;
  tl_frame *frame;
  tl_batch *page;
  size_t count;

  if (failed(tl_client_open(&config, &client))) return 1;
  if (failed(tl_client_connected(client)) || failed(tl_client_sync(client, &request, NULL)))
    return 1;
  while (tl_client_next_frame(client, &frame) == TL_OK) {
    printf("to send: %.*s\n", (int)frame->bytes.size, frame->bytes.data);
    tl_frame_free(frame);
  }
  if (failed(tl_client_receive(client, text(
          "{\"type\":\"get_messages\",\"status\":\"ok\",\"data\":{\"messages\":["
          "{\"message_id\":\"m1\",\"sender_id\":\"jan\",\"payload\":{\"text\":\"ahoj\"},"
          "\"created_at\":\"2026-02-15T22:15:45\"},"
          "{\"message_id\":\"m2\",\"sender_id\":\"eva\",\"payload\":{\"text\":\"hi\"},"
          "\"created_at\":\"2026-02-15T22:16:10\"}],\"total_count\":2,\"has_more\":false}}"))))
    return 1;
  if (failed(tl_client_messages(client, &query, &page))) return 1;
  const tl_message *rows = tl_batch_rows(page, &count);
  for (size_t i = 0; i < count; i++)
    printf("%.*s: %.*s\n", (int)rows[i].sender.size, rows[i].sender.data,
           (int)rows[i].payload.size, rows[i].payload.data);
  if (failed(tl_batch_coverage(page, &coverage))) return 1;
  printf("%zu known, %s\n", count, coverage.whole ? "whole" : "with holes");
  tl_batch_free(page);
  tl_client_free(client);
  return 0;
}
