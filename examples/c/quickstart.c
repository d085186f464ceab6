/* Opens an encrypted file, catches one conversation up over a line-based server
 * and prints it with a statement of how complete it is. Run it twice: the second
 * time only what is new is asked. Run it without the server: the cache answers.
 *
 *   quickstart PORT USER CONVERSATION FILE
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <tideline.h>

#include "link.h"

static void must(tl_status status, const char *what) {
  if (status >= TL_OK) return;
  fprintf(stderr, "%s: %s (%s)\n", what, tl_last_error(), tl_status_name(status));
  exit(1);
}

static tl_view text(const char *s) { return (tl_view){(const uint8_t *)s, strlen(s)}; }

/* The key lies beside the file only because this is an example: a real host
 * keeps it in the system's key store. */
static void load_key(const char *file, uint8_t key[TL_KEY_BYTES]) {
  char path[1100];
  snprintf(path, sizeof path, "%s.key", file);
  FILE *f = fopen(path, "rb");
  if (f == NULL) {
    /* Nobody else can read it, not for a moment. */
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || (f = fdopen(fd, "wb")) == NULL ||
        getrandom(key, TL_KEY_BYTES, 0) != TL_KEY_BYTES ||
        fwrite(key, 1, TL_KEY_BYTES, f) != TL_KEY_BYTES) {
      perror(path);
      exit(1);
    }
  } else if (fread(key, 1, TL_KEY_BYTES, f) != TL_KEY_BYTES) {
    fprintf(stderr, "%s: too short\n", path);
    exit(1);
  }
  fclose(f);
}

/* Connected until the sync has ended; a server that cannot be reached is not waited for. */
static int catch_up(tl_client *client, int port, const char *user, uint64_t sync) {
  tl_sync_status status = {.struct_size = sizeof status};
  struct link link;
  link_init(&link, port, user);
  do {
    must(link_turn(&link, client, -1), "turn");
    must(tl_client_sync_status(client, sync, &status), "sync_status");
  } while (status.phase != TL_SYNC_ENDED && link.trouble == NULL);
  link_close(&link, client);
  if (status.phase != TL_SYNC_ENDED) return 0;
  printf("sync: %s, %u requests, %u received, %u new, %u removed\n",
         tl_status_name(status.result), status.requests, status.received, status.inserted,
         status.removed);
  return 1;
}

static void print_page(tl_client *client, const char *conversation) {
  tl_query query = {.struct_size = sizeof query, .conversation = text(conversation), .limit = 20};
  tl_coverage coverage = {.struct_size = sizeof coverage};
  tl_batch *batch;
  size_t count;
  must(tl_client_messages(client, &query, &batch), "messages");
  const tl_message *rows = tl_batch_rows(batch, &count);
  for (size_t i = 0; i < count; i++) {
    printf("%.*s  %.*s: %.*s%s\n", (int)rows[i].stamp.size, rows[i].stamp.data,
           (int)rows[i].sender.size, rows[i].sender.data, (int)rows[i].payload.size,
           rows[i].payload.data, rows[i].flags & TL_MESSAGE_UNREAD ? "  *" : "");
  }
  must(tl_batch_coverage(batch, &coverage), "coverage");
  static const char *const why[] = {"the limit", "the start of the conversation", "a gap",
                                    "the newest known"};
  printf("page: %zu messages, %s, ends at %s, %u gaps; %llu stored here, %lld on the server\n",
         count, coverage.whole ? "whole" : "with holes", why[coverage.stop & 3],
         coverage.gap_count, (unsigned long long)coverage.known_count,
         (long long)coverage.total_count);
  tl_batch_free(batch);
}

int main(int argc, char **argv) {
  if (argc != 5) {
    fprintf(stderr, "usage: quickstart PORT USER CONVERSATION FILE\n");
    return 2;
  }
  uint8_t key[TL_KEY_BYTES];
  load_key(argv[4], key);
  tl_client_config config = {.struct_size = sizeof config, .path = text(argv[4]),
                             .key = {key, sizeof key}, .user_id = text(argv[2])};
  tl_client *client;
  must(tl_client_open(&config, &client), "open");
  tl_sync_request request = {.struct_size = sizeof request, .conversation = text(argv[3])};
  uint64_t sync;
  must(tl_client_sync(client, &request, &sync), "sync");
  if (!catch_up(client, atoi(argv[1]), argv[2], sync)) printf("offline: the cache answers\n");
  print_page(client, argv[3]);
  tl_client_free(client);
  return 0;
}
