/* A line-based connection that counts what goes over it. Used by the demonstration;
 * a real host brings its own.
 */
#ifndef LINES_H
#define LINES_H

#include <arpa/inet.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <tideline_json.h>
#include <unistd.h>

/* What went over a connection, hello included. */
struct traffic {
  uint64_t sent, received; /* bytes */
  unsigned requests;       /* lines sent, but for hello */
  unsigned messages;       /* message bodies received */
};

struct line {
  int fd;
  FILE *in;
  char *data;
  size_t room;
  struct traffic traffic;
};

static inline void die(const char *what) {
  fprintf(stderr, "%s\n", what);
  exit(1);
}

static inline int put_bytes(struct line *line, const void *bytes, size_t size) {
  const char *data = bytes;
  line->traffic.sent += size;
  while (size > 0) {
    ssize_t n = send(line->fd, data, size, MSG_NOSIGNAL);
    if (n <= 0) return -1;
    data += n;
    size -= (size_t)n;
  }
  return 0;
}

/* The library draws the head of its request ids anew in each process, and writes
 * it with up to 13 digits. What is counted is 13, so that each run counts the same. */
static inline size_t undrawn(const void *bytes, size_t size) {
  static const char needle[] = "\"request_id\":\"";
  const char *at = memmem(bytes, size, needle, sizeof needle - 1);
  size_t digits = at == NULL ? 0 : strcspn(at + sizeof needle - 1, "-\"");
  return at != NULL && at[sizeof needle - 1 + digits] == '-' && digits < 13 ? 13 - digits : 0;
}

static inline int put_line(struct line *line, const void *bytes, size_t size) {
  line->traffic.requests++;
  line->traffic.sent += undrawn(bytes, size);
  return put_bytes(line, bytes, size) == 0 ? put_bytes(line, "\n", 1) : -1;
}

/* One line without its end; `data` is NULL when the connection is dead. In a
 * string every quote is escaped, so the needle below matches members only. */
static inline tl_view get_line(struct line *line) {
  static const char needle[] = "\"message_id\":\"";
  ssize_t size = getline(&line->data, &line->room, line->in);
  if (size <= 0 || line->data[size - 1] != '\n') return (tl_view){NULL, 0};
  line->traffic.received += (uint64_t)size + undrawn(line->data, (size_t)size);
  for (const char *p = line->data; (p = strstr(p, needle)) != NULL; p += sizeof needle - 1)
    line->traffic.messages++;
  return (tl_view){(const uint8_t *)line->data, (size_t)size - 1};
}

static inline void hang_up(struct line *line) {
  if (line->in != NULL) fclose(line->in);
  free(line->data);
  line->in = NULL;
  line->data = NULL;
  line->room = 0;
}

/* Connects and says who we are. -1 when nobody listens. */
static inline int dial(struct line *line, int port, const char *user) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  struct timeval patience = {20, 0};
  char room[600];
  tl_json_writer json = {room, sizeof room, 0};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  line->fd = socket(AF_INET, SOCK_STREAM, 0);
  setsockopt(line->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  if (connect(line->fd, (struct sockaddr *)&address, sizeof address) != 0) {
    close(line->fd);
    return -1;
  }
  tl_json_put_raw(&json, "{\"type\":\"hello\",\"user\":");
  tl_json_put_string(&json, (tl_view){(const uint8_t *)user, strlen(user)});
  tl_json_put_raw(&json, "}\n");
  tl_view hello = tl_json_written(&json);
  line->in = fdopen(line->fd, "r");
  if (hello.data == NULL || line->in == NULL || put_bytes(line, hello.data, hello.size) != 0 ||
      get_line(line).data == NULL)
    die("the server hung up");
  return 0;
}

#endif
