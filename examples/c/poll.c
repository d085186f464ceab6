/* Stays connected to a line-based server and shows what changes, with one poll
 * on the socket, the library's event descriptor and its next deadline (link.h). A
 * lost connection is made again; what was missed meanwhile is caught up.
 *
 *   poll PORT USER CONVERSATION SECONDS
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tideline.h>

#include "link.h"

static void must(tl_status status, const char *what) {
  if (status >= TL_OK) return;
  fprintf(stderr, "%s: %s (%s)\n", what, tl_last_error(), tl_status_name(status));
  exit(1);
}

static tl_view text(const char *s) { return (tl_view){(const uint8_t *)s, strlen(s)}; }

/* Pulls the changes since the last time and shows the newest message. */
static void show_changes(tl_client *client, const char *conversation, uint64_t *seen) {
  static const char *const kinds[] = {"", "inserted", "updated", "removed", "coverage"};
  tl_batch *batch;
  size_t count;
  tl_status status;
  int shown = 0;
  while ((status = tl_client_changes(client, *seen, 0, &batch)) == TL_OK) {
    const tl_change *changes = tl_batch_changes(batch, &count);
    for (size_t i = 0; i < count; i++) {
      *seen = changes[i].seq;
      printf("change %llu: %s\n", (unsigned long long)changes[i].seq,
             kinds[changes[i].kind >= 1 && changes[i].kind <= 4 ? changes[i].kind : 0]);
    }
    tl_batch_free(batch);
    shown = 1;
  }
  must(status, "changes");
  if (status == TL_RESYNC) {
    tl_state state = {.struct_size = sizeof state};
    must(tl_client_state(client, &state), "state");
    *seen = state.change_seq;
    shown = 1;
  }
  if (!shown) return;
  tl_query query = {.struct_size = sizeof query, .conversation = text(conversation), .limit = 1};
  must(tl_client_messages(client, &query, &batch), "messages");
  const tl_message *row = tl_batch_rows(batch, &count);
  if (count == 1) {
    printf("newest: %.*s  %.*s\n", (int)row->stamp.size, row->stamp.data,
           (int)row->payload.size, row->payload.data);
  }
  tl_batch_free(batch);
}

int main(int argc, char **argv) {
  if (argc != 5) {
    fprintf(stderr, "usage: poll PORT USER CONVERSATION SECONDS\n");
    return 2;
  }
  setvbuf(stdout, NULL, _IOLBF, 0);
  tl_client_config config = {.struct_size = sizeof config, .flags = TL_OPEN_MEMORY,
                             .user_id = text(argv[2])};
  tl_sync_request request = {.struct_size = sizeof request, .conversation = text(argv[3])};
  tl_client *client;
  uint64_t seen = 0;
  unsigned made = 0;
  struct link link;
  must(tl_client_open(&config, &client), "open");
  link_init(&link, atoi(argv[1]), argv[2]);
  int64_t end = link_clock() + atoi(argv[4]) * 1000;
  while (link_clock() < end) {
    must(link_turn(&link, client, 500), "turn");
    if (link.made > made) {
      made = link.made;
      printf("online\n");
      must(tl_client_sync(client, &request, NULL), "sync");
    }
    show_changes(client, argv[3], &seen);
  }
  link_close(&link, client);
  tl_client_free(client);
  return 0;
}
