/* A connection that is made again whenever it ends: what the examples share.
 *
 * It carries the frames of one client over TCP, one JSON object a line, with one
 * `poll` on the socket, the library's event descriptor and the next deadline. It
 * ends only where going on is of no use; a silent server, a full disk or a lost
 * connection is a pause and another try.
 *
 *   struct link link;
 *   link_init(&link, 7400, "eva");
 *   while (link_turn(&link, client, -1) >= TL_OK) draw();
 *   link_close(&link, client);
 */
#ifndef LINK_H
#define LINK_H

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <tideline.h>
#include <tideline_json.h>
#include <time.h>
#include <unistd.h>

enum {
  LINK_PAUSE_MS = 500,        /* the first pause; each further one is twice as long */
  LINK_PAUSE_MAX_MS = 30000,  /* and no longer than this */
  LINK_PATIENCE_MS = 20000,   /* for the answer to the greeting, and for a send */
  LINK_LINE_MAX = 16 << 20    /* bytes of a line */
};

struct link {
  int fd;                   /* -1 while there is no connection */
  int port;
  const char *user;
  int is_greeted;           /* the server has answered the greeting: the client is connected */
  int64_t due_ms;           /* when to dial; while greeting, when to give up */
  unsigned failures;        /* in a row */
  unsigned made;            /* connections so far */
  const char *trouble;      /* why the last one ended, or NULL */
  int other;                /* a descriptor of the host's that ends a wait too, or -1 */
  int is_other_ready;       /* after a turn: it can be read */
  uint8_t *data;            /* what has arrived of a line that is not whole */
  size_t size, room;
  int64_t (*now_ms)(void);  /* a monotonic clock; a test has its own */
  unsigned (*draw)(void);   /* any number, for jitter */
};

static inline int64_t link_clock(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

/* Two devices that lost their server together do not come back together. */
static inline unsigned link_draw(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return ((unsigned)time.tv_nsec ^ (unsigned)getpid() * 2654435761u) >> 4;
}

static inline void link_init(struct link *link, int port, const char *user) {
  memset(link, 0, sizeof *link);
  link->fd = link->other = -1;
  link->port = port;
  link->user = user;
  link->now_ms = link_clock;
  link->draw = link_draw;
}

/* How long to pause before the next try: half of twice the last one, up to all of it. */
static inline int64_t link_pause(struct link *link) {
  int64_t longest = LINK_PAUSE_MS;
  for (unsigned i = 0; i < link->failures && longest < LINK_PAUSE_MAX_MS; i++) longest *= 2;
  if (longest > LINK_PAUSE_MAX_MS) longest = LINK_PAUSE_MAX_MS;
  link->failures++;
  return longest / 2 + (int64_t)(link->draw() % (unsigned)(longest / 2 + 1));
}

/* Whether going on is of no use: all but what passes by itself. */
static inline int link_is_over(tl_status status) {
  return status < 0 && status != TL_E_FULL && status != TL_E_STORAGE && status != TL_E_OFFLINE;
}

/* Ends the connection; the next one is made after a pause. */
static inline tl_status link_lost(struct link *link, tl_client *client, const char *why) {
  if (link->fd >= 0) close(link->fd);
  link->fd = -1;
  link->size = 0;
  link->trouble = why;
  link->due_ms = link->now_ms() + link_pause(link);
  int was = link->is_greeted;
  link->is_greeted = 0;
  tl_status status = was ? tl_client_disconnected(client) : TL_OK;
  return link_is_over(status) ? status : TL_OK;
}

static inline int link_send(struct link *link, const void *bytes, size_t size) {
  const uint8_t *data = bytes;
  while (size > 0) {
    ssize_t n = send(link->fd, data, size, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return -1;
    data += n;
    size -= (size_t)n;
  }
  return 0;
}

static inline tl_status link_dial(struct link *link, tl_client *client) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)link->port)};
  struct timeval patience = {LINK_PATIENCE_MS / 1000, 0};
  char room[600];
  tl_json_writer json = {room, sizeof room, 0};
  tl_json_put_raw(&json, "{\"type\":\"hello\",\"user\":");
  tl_json_put_string(&json, (tl_view){(const uint8_t *)link->user, strlen(link->user)});
  tl_json_put_raw(&json, "}\n");
  tl_view hello = tl_json_written(&json);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  link->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (link->fd < 0) return link_lost(link, client, "no descriptor is left");
  /* A peer that takes nothing holds a send up for so long, and no longer. */
  setsockopt(link->fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  /* A frame does not wait for what was sent before it to be acknowledged. */
  setsockopt(link->fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
  if (hello.data == NULL ||
      connect(link->fd, (struct sockaddr *)&address, sizeof address) != 0 ||
      link_send(link, hello.data, hello.size) != 0)
    return link_lost(link, client, "the server cannot be reached");
  link->due_ms = link->now_ms() + LINK_PATIENCE_MS;
  return TL_OK;
}

/* One line: the answer to the greeting, or a frame. */
static inline tl_status link_take(struct link *link, tl_client *client, tl_view line) {
  if (!link->is_greeted) {
    tl_view answer = tl_json_member(line, "status");
    if (answer.size == 7 && memcmp(answer.data, "\"error\"", 7) == 0)
      return link_lost(link, client, "the server refused the greeting");
    tl_status status = tl_client_connected(client);
    if (status < 0) return link_is_over(status) ? status : link_lost(link, client, "no room");
    link->is_greeted = 1;
    link->made++;
    link->trouble = NULL;
    return TL_OK;
  }
  tl_status status = tl_client_receive(client, line);
  switch (status) {
  case TL_E_FRAME: case TL_E_TOO_LARGE: case TL_E_MISMATCH: case TL_E_INVALID:
    return TL_OK; /* It was counted inside, and changed nothing. */
  default: break;
  }
  if (status >= 0) {
    link->failures = 0;
    return TL_OK;
  }
  /* What could not be kept is asked for again on the next connection. */
  return link_is_over(status) ? status : link_lost(link, client, tl_status_name(status));
}

/* Reads what there is and takes each whole line. */
static inline tl_status link_read(struct link *link, tl_client *client) {
  if (link->room - link->size < 1 << 16) {
    uint8_t *larger = link->room > LINK_LINE_MAX
                          ? NULL : realloc(link->data, link->room + (1 << 18));
    if (larger == NULL) return link_lost(link, client, "a line is too long");
    link->data = larger;
    link->room += 1 << 18;
  }
  ssize_t n = recv(link->fd, link->data + link->size, link->room - link->size, MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return TL_OK;
  if (n <= 0) return link_lost(link, client, "the connection was closed");
  link->size += (size_t)n;
  size_t start = 0;
  for (uint8_t *end; (end = memchr(link->data + start, '\n', link->size - start)) != NULL;) {
    tl_view line = {link->data + start, (size_t)(end - link->data) - start};
    start += line.size + 1;
    tl_status status = link_take(link, client, line);
    if (status < 0 || link->fd < 0) return status;
  }
  memmove(link->data, link->data + start, link->size - start);
  link->size -= start;
  return TL_OK;
}

static inline tl_status link_send_frames(struct link *link, tl_client *client) {
  tl_frame *frame;
  tl_status status = TL_OK;
  while (link->is_greeted && (status = tl_client_next_frame(client, &frame)) == TL_OK) {
    int is_sent = link_send(link, frame->bytes.data, frame->bytes.size) == 0 &&
                  link_send(link, "\n", 1) == 0;
    status = is_sent ? tl_client_frame_sent(client, frame->id)
                     : link_lost(link, client, "a frame could not be sent");
    tl_frame_free(frame);
    if (link_is_over(status)) return status;
  }
  return link_is_over(status) ? status : TL_OK;
}

static inline int64_t link_sooner(int64_t one, int64_t other) {
  return one < 0 || (other >= 0 && other < one) ? other : one;
}

/* One turn: dials when it is time, waits at most `wait_ms` milliseconds (-1: for as long
 * as it takes) for news, carries frames both ways, and runs timers. Afterwards pull
 * changes or poll windows. Gives TL_OK, or the failure after which going on is of no use.
 */
static inline tl_status link_turn(struct link *link, tl_client *client, int64_t wait_ms) {
  tl_status status = TL_OK;
  int64_t due;
  int32_t news;
  if (link->fd < 0 && link->now_ms() >= link->due_ms) status = link_dial(link, client);
  else if (link->fd >= 0 && !link->is_greeted && link->now_ms() >= link->due_ms)
    status = link_lost(link, client, "the server does not answer the greeting");
  if (status < 0) return status;
  status = tl_client_advance(client, &due);
  if (link_is_over(status)) return status;
  if (status < 0) due = 1000;
  if ((status = tl_client_event_fd(client, &news)) < 0) return status;
  if (!link->is_greeted) {
    int64_t left = link->due_ms - link->now_ms();
    due = link_sooner(due, left > 0 ? left : 0);
  }
  wait_ms = link_sooner(wait_ms, due);
  struct pollfd fds[] = {{news, POLLIN, 0}, {link->fd, POLLIN, 0},
                         {link->other, POLLIN, 0}};
  link->is_other_ready = 0;
  if (poll(fds, 3, (int)(wait_ms > INT32_MAX ? INT32_MAX : wait_ms)) < 0) return TL_OK;
  link->is_other_ready = fds[2].revents != 0;
  if (link->fd >= 0 && fds[1].revents != 0) status = link_read(link, client);
  /* Taking the last frame is what clears the descriptor; then the host pulls changes. */
  if (status >= 0) status = link_send_frames(link, client);
  if (status < 0) return status;
  tl_state state = {.struct_size = sizeof state};
  if ((status = tl_client_state(client, &state)) < 0) return status;
  return state.reconnect_wanted && link->is_greeted
             ? link_lost(link, client, "the server is silent") : TL_OK;
}

/* Ends the connection for good. */
static inline void link_close(struct link *link, tl_client *client) {
  if (link->fd >= 0) close(link->fd);
  if (link->is_greeted) (void)!tl_client_disconnected(client);
  free(link->data);
  link_init(link, link->port, link->user);
}

#endif
