/* Stays connected to a line-based server and shows what changes, with one poll
 * on the socket, the library's event descriptor and its next deadline. A lost
 * connection is made again; what was missed meanwhile is caught up.
 *
 *   poll PORT USER CONVERSATION SECONDS
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <tideline.h>
#include <time.h>
#include <unistd.h>

/* A connection with the bytes of a line that is not whole yet. */
static struct {
  int fd;
  uint8_t *data;
  size_t size, room;
} line = {-1, NULL, 0, 0};

static void must(tl_status status, const char *what) {
  if (status >= TL_OK) return;
  fprintf(stderr, "%s: %s (%s)\n", what, tl_last_error(), tl_status_name(status));
  exit(1);
}

static tl_view text(const char *s) { return (tl_view){(const uint8_t *)s, strlen(s)}; }

static int64_t now_ms(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static int send_all(const void *bytes, size_t size) {
  const uint8_t *data = bytes;
  while (size > 0) {
    ssize_t n = send(line.fd, data, size, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return -1;
    data += n;
    size -= (size_t)n;
  }
  return 0;
}

static void hang_up(tl_client *client) {
  if (line.fd < 0) return;
  close(line.fd);
  line.fd = -1;
  line.size = 0;
  must(tl_client_disconnected(client), "disconnected");
  printf("offline\n");
}

static void dial(tl_client *client, int port, const char *user) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  char hello[600];
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  line.fd = socket(AF_INET, SOCK_STREAM, 0);
  int n = snprintf(hello, sizeof hello, "{\"type\":\"hello\",\"user\":\"%s\"}\n", user);
  if (connect(line.fd, (struct sockaddr *)&address, sizeof address) != 0 ||
      send_all(hello, (size_t)n) != 0) {
    close(line.fd);
    line.fd = -1;
    return;
  }
  must(tl_client_connected(client), "connected");
  printf("online\n");
}

/* Reads what there is and hands in each whole line. */
static void read_lines(tl_client *client) {
  if (line.room - line.size < 1 << 16) {
    uint8_t *larger = realloc(line.data, line.room + (1 << 18));
    if (larger == NULL || line.room > 32 << 20) {
      hang_up(client);
      return;
    }
    line.data = larger;
    line.room += 1 << 18;
  }
  ssize_t n = recv(line.fd, line.data + line.size, line.room - line.size, MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) {
    hang_up(client);
    return;
  }
  line.size += (size_t)n;
  size_t start = 0;
  for (uint8_t *end; (end = memchr(line.data + start, '\n', line.size - start)) != NULL;) {
    tl_view frame = {line.data + start, (size_t)(end - line.data) - start};
    tl_status status = tl_client_receive(client, frame);
    if (status < 0) printf("a frame was refused: %s\n", tl_status_name(status));
    start += frame.size + 1;
  }
  memmove(line.data, line.data + start, line.size - start);
  line.size -= start;
}

static void send_frames(tl_client *client) {
  tl_frame *frame;
  while (tl_client_next_frame(client, &frame) == TL_OK) {
    int lost = line.fd < 0 || send_all(frame->bytes.data, frame->bytes.size) != 0 ||
               send_all("\n", 1) != 0;
    if (!lost) must(tl_client_frame_sent(client, frame->id), "frame_sent");
    tl_frame_free(frame);
    if (lost) hang_up(client);
  }
}

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
  int32_t news;
  uint64_t seen = 0;
  must(tl_client_open(&config, &client), "open");
  must(tl_client_event_fd(client, &news), "event_fd");
  must(tl_client_sync(client, &request, NULL), "sync");
  int64_t end = now_ms() + atoi(argv[4]) * 1000, dial_at = 0;
  while (now_ms() < end) {
    if (line.fd < 0 && now_ms() >= dial_at) {
      dial_at = now_ms() + 1000;
      dial(client, atoi(argv[1]), argv[2]);
      must(tl_client_sync(client, &request, NULL), "sync");
    }
    int64_t wait;
    must(tl_client_advance(client, &wait), "advance");
    if (wait < 0 || wait > 500) wait = 500;
    struct pollfd fds[] = {{news, POLLIN, 0}, {line.fd, POLLIN, 0}};
    if (poll(fds, 2, (int)wait) < 0 && errno != EINTR) break;
    if (line.fd >= 0 && fds[1].revents) read_lines(client);
    if (fds[0].revents) {
      /* In this order: taking the last frame is what clears the descriptor. */
      send_frames(client);
      show_changes(client, argv[3], &seen);
    }
    tl_state state = {.struct_size = sizeof state};
    must(tl_client_state(client, &state), "state");
    if (state.reconnect_wanted) hang_up(client);
  }
  tl_client_free(client);
  free(line.data);
  return 0;
}
