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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <tideline.h>
#include <unistd.h>

#include "link.h"

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
  struct link link;
  int more = 1;
  must(tl_client_open(&config, &client), "open");
  must(tl_window_open(client, &wanted, &window), "window");
  link_init(&link, atoi(argv[1]), argv[2]);
  if (keys == NULL) {
    raw_keys();
    link.other = STDIN_FILENO;
  }
  while (more) {
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
    must(link_turn(&link, client, 1000), "turn");
    char key;
    if (link.is_other_ready) more = read(STDIN_FILENO, &key, 1) == 1 && press(window, key);
  }
  printf("end: %zu rows in the list\n", list.count);
  link_close(&link, client);
  tl_window_free(window);
  tl_client_free(client);
  free(list.numbers);
  return 0;
}
