/* A line-based connection that counts what goes over it, and just enough JSON
 * to find a member. Used by the demonstration; a real host brings its own.
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

/* Bytes of a JSON text; `at` is NULL where nothing was found. */
struct json {
  const char *at;
  size_t size;
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

/* One line without its end; `at` is NULL when the connection is dead. In a
 * string every quote is escaped, so the needle below matches members only. */
static inline struct json get_line(struct line *line) {
  static const char needle[] = "\"message_id\":\"";
  ssize_t size = getline(&line->data, &line->room, line->in);
  if (size <= 0 || line->data[size - 1] != '\n') return (struct json){NULL, 0};
  line->traffic.received += (uint64_t)size + undrawn(line->data, (size_t)size);
  for (const char *p = line->data; (p = strstr(p, needle)) != NULL; p += sizeof needle - 1)
    line->traffic.messages++;
  return (struct json){line->data, (size_t)size - 1};
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
  char hello[600];
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  line->fd = socket(AF_INET, SOCK_STREAM, 0);
  setsockopt(line->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  if (connect(line->fd, (struct sockaddr *)&address, sizeof address) != 0) {
    close(line->fd);
    return -1;
  }
  int n = snprintf(hello, sizeof hello, "{\"type\":\"hello\",\"user\":\"%s\"}\n", user);
  line->in = fdopen(line->fd, "r");
  if (line->in == NULL || put_bytes(line, hello, (size_t)n) != 0 || get_line(line).at == NULL)
    die("the server hung up");
  return 0;
}

/* Where the JSON value at `p` ends. */
static inline const char *value_end(const char *p, const char *end) {
  int depth = 0;
  for (; p < end; p++) {
    if (*p == '"') {
      for (p++; p < end && *p != '"'; p++) p += *p == '\\';
      if (depth == 0) return p < end ? p + 1 : end;
    } else if (*p == '{' || *p == '[') {
      depth++;
    } else if (*p == '}' || *p == ']') {
      if (depth == 0) return p;
      if (--depth == 0) return p + 1;
    } else if (*p == ',' && depth == 0) {
      return p;
    }
  }
  return end;
}

/* The value of a member of an object, strings with their quotes. */
static inline struct json member(struct json object, const char *name) {
  const char *p = object.at, *end = object.at + object.size;
  size_t size = strlen(name);
  if (object.at == NULL || object.size < 2 || *p != '{') return (struct json){NULL, 0};
  for (p++; p < end && *p == '"';) {
    const char *key = p + 1, *colon = value_end(p, end);
    const char *value = colon + 1, *after = value < end ? value_end(value, end) : end;
    if ((size_t)(colon - key) == size + 1 && memcmp(key, name, size) == 0)
      return (struct json){value, (size_t)(after - value)};
    p = after + 1;
  }
  return (struct json){NULL, 0};
}

/* The next element of an array; begin with `*at` NULL. */
static inline int element(struct json array, const char **at, struct json *out) {
  const char *end = array.at + array.size;
  if (array.at == NULL || array.size < 2) return 0;
  const char *p = *at == NULL ? array.at + 1 : *at;
  if (p >= end || *p == ']') return 0;
  const char *after = value_end(p, end);
  *out = (struct json){p, (size_t)(after - p)};
  *at = after < end && *after == ',' ? after + 1 : after;
  return 1;
}

#endif
