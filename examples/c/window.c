/* Draws a window on a conversation as text, with its gaps, live against a
 * line-based server. Each change is drawn; keys scroll:
 *
 *   u older   d newer   j jump far back   l to the newest   f fill the first gap
 *   t keep the last 20 rows   q quit
 *
 *   window PORT USER CONVERSATION [KEYS]
 *
 * With KEYS there is no terminal: each key is pressed once the window waits for
 * nothing, and the end is the end.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <termios.h>
#include <tideline.h>
#include <unistd.h>

/* A connection with the bytes of a line that is not whole yet. */
static struct {
  int fd;
  uint8_t *data;
  size_t size, room;
} line = {-1, NULL, 0, 0};

/* The screen's own list: the number of each row, kept up by differences alone. */
static struct {
  uint64_t *numbers;
  size_t count, room;
} list;

static void must(tl_status status, const char *what) {
  if (status >= TL_OK) return;
  fprintf(stderr, "%s: %s (%s)\n", what, tl_last_error(), tl_status_name(status));
  exit(1);
}

static tl_view text(const char *s) { return (tl_view){(const uint8_t *)s, strlen(s)}; }

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
}

/* Reads what there is and hands in each whole line. */
static void read_lines(tl_client *client) {
  if (line.room - line.size < 1 << 16) {
    line.data = realloc(line.data, line.room += 1 << 20);
    if (line.data == NULL || line.room > 64 << 20) exit(1);
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
    (void)!tl_client_receive(client, frame); /* a bad frame is counted inside */
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

static void splice(size_t row, size_t out, size_t in) {
  if (list.count + in > list.room) {
    list.room = 2 * (list.count + in);
    list.numbers = realloc(list.numbers, list.room * sizeof *list.numbers);
    if (list.numbers == NULL) exit(1);
  }
  memmove(list.numbers + row + in, list.numbers + row + out,
          (list.count - row - out) * sizeof *list.numbers);
  memset(list.numbers + row, 0, in * sizeof *list.numbers);
  list.count += in;
  list.count -= out;
}

/* Applies a difference to the list, step by step, and checks the result. */
static void apply(tl_window *window, const tl_diff *diff) {
  for (uint32_t i = 0; i < diff->op_count; i++) {
    const tl_op *op = &diff->ops[i];
    if (op->kind == TL_OP_INSERT) splice(op->row, 0, op->count);
    if (op->kind == TL_OP_REMOVE) splice(op->row, op->count, 0);
    if (op->kind == TL_OP_MOVE) {
      uint64_t number = list.numbers[op->from];
      splice(op->from, 1, 0);
      splice(op->row, 0, 1);
      list.numbers[op->row] = number;
    }
  }
  /* What was inserted is 0 until it is read. */
  for (size_t row = 0; row < list.count; row++) {
    tl_batch *batch;
    size_t count, end = row;
    while (end < list.count && list.numbers[end] == 0) end++;
    if (end == row) continue;
    must(tl_window_rows(window, (uint32_t)row, (uint32_t)(end - row), &batch), "rows");
    const tl_message *rows = tl_batch_rows(batch, &count);
    for (size_t i = 0; i < count; i++) list.numbers[row + i] = rows[i].number;
    tl_batch_free(batch);
  }
  if (list.count != diff->row_count || tl_checksum(list.numbers, list.count) != diff->checksum) {
    fprintf(stderr, "the list is not the window's\n");
    exit(1);
  }
}

static void draw_row(uint32_t index, const tl_message *row) {
  printf("%5u  %.19s  %-8.*s %.*s%s\n", index, row->stamp.size >= 19 ? (char *)row->stamp.data : "",
         row->sender.size > 8 ? 8 : (int)row->sender.size, (char *)row->sender.data,
         row->payload.size > 40 ? 40 : (int)row->payload.size, (char *)row->payload.data,
         row->flags & TL_MESSAGE_PINNED ? "  (pinned)" : "");
}

/* Draws the window: of each whole stretch its first and its last two rows. */
static void draw(tl_window *window, const tl_diff *diff) {
  static const char *const waits[] = {"nothing", "a connection", "the newest", "the place",
                                      "older ones", "newer ones", "a refresh"};
  tl_window_status status = {.struct_size = sizeof status};
  tl_batch *batch = NULL;
  size_t count = 0;
  must(tl_window_state(window, &status), "state");
  printf("-- version %llu, %u steps: %u rows, %u splits, waits for %s%s%s\n",
         (unsigned long long)status.version, diff->op_count, status.row_count, status.split_count,
         waits[status.waiting], status.flags & TL_WINDOW_AT_START ? ", at the start" : "",
         status.flags & TL_WINDOW_AT_END ? ", at the end" : "");
  must(tl_window_rows(window, 0, 10000, &batch), "rows");
  const tl_message *rows = tl_batch_rows(batch, &count);
  if (status.flags & TL_WINDOW_GAP_BEFORE) printf("       ~~~ gap ~~~\n");
  for (size_t first = 0, end; first < count; first = end) {
    for (end = first + 1; end < count && !(rows[end].flags & TL_MESSAGE_GAP_BEFORE);) end++;
    if (first > 0) {
      printf("       ~~~ %s ~~~\n",
             rows[first].flags & TL_MESSAGE_GAP_HEALING ? "filling a gap" : "gap");
    }
    for (size_t i = first; i < end; i++) {
      if (end - first > 5 && i == first + 2) {
        printf("       ... %zu more\n", end - first - 4);
        i = end - 2;
      }
      draw_row((uint32_t)i, &rows[i]);
    }
  }
  if (status.flags & TL_WINDOW_GAP_AFTER) printf("       ~~~ gap ~~~\n");
  tl_batch_free(batch);
}

/* The first row with a gap before it; the row count for none. */
static uint32_t first_gap(tl_window *window, uint32_t count) {
  tl_batch *batch;
  size_t n;
  uint32_t found = count;
  if (tl_window_rows(window, 0, 10000, &batch) != TL_OK) return count;
  const tl_message *rows = tl_batch_rows(batch, &n);
  for (size_t i = n; i-- > 0;) {
    if (rows[i].flags & TL_MESSAGE_GAP_BEFORE) found = (uint32_t)i;
  }
  tl_batch_free(batch);
  return found;
}

/* What a key does: 0 is the end. */
static int press(tl_window *window, int key) {
  tl_window_status status = {.struct_size = sizeof status};
  tl_load load = {.struct_size = sizeof load, .count = 20};
  tl_batch *batch = NULL;
  size_t count;
  must(tl_window_state(window, &status), "state");
  switch (key) {
  case 'q': return 0;
  case 'u': load.kind = TL_LOAD_BEFORE; break;
  case 'd': load.kind = TL_LOAD_AFTER; break;
  case 'l': load.kind = TL_LOAD_LAST; break;
  case 'j':
    if (tl_window_rows(window, 0, 1, &batch) != TL_OK) return 1;
    load.kind = TL_LOAD_AROUND;
    load.at = TL_AT_TIME;
    load.time_us = tl_batch_rows(batch, &count)[0].time_us - (int64_t)5 * 24 * 3600 * 1000000;
    tl_batch_free(batch);
    break;
  case 'f': {
    tl_status filled = tl_window_fill(window, first_gap(window, status.row_count));
    printf("fill: %s\n", tl_status_name(filled));
    return 1;
  }
  case 't':
    if (status.row_count > 20) must(tl_window_trim(window, status.row_count - 20, 20), "trim");
    return 1;
  default: return 1;
  }
  printf("key %c: %s\n", key, tl_status_name(tl_window_load(window, &load)));
  return 1;
}

static struct termios before;
static void restore(void) { tcsetattr(STDIN_FILENO, TCSANOW, &before); }

static void raw_keys(void) {
  if (tcgetattr(STDIN_FILENO, &before) != 0) return;
  struct termios raw = before;
  raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
  tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  atexit(restore);
}

int main(int argc, char **argv) {
  if (argc < 4 || argc > 5) {
    fprintf(stderr, "usage: window PORT USER CONVERSATION [KEYS]\n");
    return 2;
  }
  setvbuf(stdout, NULL, _IOLBF, 0);
  const char *keys = argc == 5 ? argv[4] : NULL;
  tl_client_config config = {.struct_size = sizeof config, .flags = TL_OPEN_MEMORY,
                             .user_id = text(argv[2])};
  tl_window_config wanted = {.struct_size = sizeof wanted, .conversation = text(argv[3]),
                             .count = 20};
  tl_client *client;
  tl_window *window;
  int32_t news;
  int more = 1;
  must(tl_client_open(&config, &client), "open");
  must(tl_client_event_fd(client, &news), "event_fd");
  must(tl_window_open(client, &wanted, &window), "window");
  if (keys == NULL) raw_keys();
  while (more) {
    if (line.fd < 0) dial(client, atoi(argv[1]), argv[2]);
    int64_t wait;
    must(tl_client_advance(client, &wait), "advance");
    if (wait < 0 || wait > 1000) wait = 1000;
    send_frames(client);
    tl_diff *diff;
    must(tl_window_poll(window, &diff), "poll");
    if (diff != NULL) {
      apply(window, diff);
      draw(window, diff);
    }
    tl_diff_free(diff);
    tl_window_status status = {.struct_size = sizeof status};
    must(tl_window_state(window, &status), "state");
    if (keys != NULL && status.row_count > 0 && status.waiting == TL_WAITING_NOTHING) {
      more = *keys != 0 && press(window, *keys++);
    }
    struct pollfd fds[] = {{news, POLLIN, 0}, {line.fd, POLLIN, 0},
                           {keys == NULL ? STDIN_FILENO : -1, POLLIN, 0}};
    if (poll(fds, 3, (int)wait) < 0 && errno != EINTR) break;
    if (line.fd >= 0 && fds[1].revents) read_lines(client);
    char key;
    if (fds[2].revents) more = read(STDIN_FILENO, &key, 1) == 1 && press(window, key);
    tl_state state = {.struct_size = sizeof state};
    must(tl_client_state(client, &state), "state");
    if (state.reconnect_wanted) hang_up(client);
  }
  printf("end: %zu rows in the list\n", list.count);
  tl_window_free(window);
  tl_client_free(client);
  free(list.numbers);
  free(line.data);
  return 0;
}
