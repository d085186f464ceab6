/* Opens an encrypted file, catches one conversation up over a line-based server
 * and prints it with a statement of how complete it is. Run it twice: the second
 * time only what is new is asked. Run it without the server: the cache answers.
 *
 *   quickstart PORT USER CONVERSATION FILE
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <tideline.h>
#include <unistd.h>

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

static int send_line(int fd, const uint8_t *data, size_t size) {
  while (size > 0) {
    ssize_t n = send(fd, data, size, MSG_NOSIGNAL);
    if (n <= 0) return -1;
    data += n;
    size -= (size_t)n;
  }
  return send(fd, "\n", 1, MSG_NOSIGNAL) == 1 ? 0 : -1;
}

/* Connects and logs in. NULL when there is no server: then we are offline. */
static FILE *log_in(int port, const char *user, int *fd) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  struct timeval patience = {10, 0};
  char hello[600];
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  *fd = socket(AF_INET, SOCK_STREAM, 0);
  setsockopt(*fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  int n = snprintf(hello, sizeof hello, "{\"type\":\"hello\",\"user\":\"%s\"}", user);
  if (connect(*fd, (struct sockaddr *)&address, sizeof address) != 0 ||
      send_line(*fd, (const uint8_t *)hello, (size_t)n) != 0) {
    close(*fd);
    return NULL;
  }
  return fdopen(*fd, "r");
}

/* One exchange after the other until the sync has ended or the line is dead. */
static void catch_up(tl_client *client, FILE *in, int fd, uint64_t sync) {
  tl_sync_status status = {.struct_size = sizeof status};
  char *line = NULL;
  size_t room = 0;
  must(tl_client_connected(client), "connected");
  for (;;) {
    tl_frame *frame;
    while (tl_client_next_frame(client, &frame) == TL_OK) {
      printf("-> %.*s\n", (int)frame->bytes.size, frame->bytes.data);
      if (send_line(fd, frame->bytes.data, frame->bytes.size) == 0)
        must(tl_client_frame_sent(client, frame->id), "frame_sent");
      tl_frame_free(frame);
    }
    must(tl_client_sync_status(client, sync, &status), "sync_status");
    if (status.phase == TL_SYNC_ENDED) break;
    ssize_t size = getline(&line, &room, in);
    if (size <= 0) break;
    /* Bad or useless frames are counted inside and change nothing. */
    tl_status taken = tl_client_receive(client, (tl_view){(uint8_t *)line, (size_t)size - 1});
    printf("<- %zd bytes, %s\n", size, tl_status_name(taken));
  }
  free(line);
  must(tl_client_disconnected(client), "disconnected");
  printf("sync: %s, %u requests, %u received, %u new, %u removed\n",
         tl_status_name(status.result), status.requests, status.received, status.inserted,
         status.removed);
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
  int fd;
  FILE *in = log_in(atoi(argv[1]), argv[2], &fd);
  if (in != NULL) {
    catch_up(client, in, fd, sync);
    fclose(in);
  } else {
    printf("offline: the cache answers\n");
  }
  print_page(client, argv[3]);
  tl_client_free(client);
  return 0;
}
