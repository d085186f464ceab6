/* A screen of a host: the numbers of its rows, kept up by differences, every kind of
   step replayed and held against the rows and the checksum. */
#ifndef SCREEN_H
#define SCREEN_H

#include "check.h"

/* The rows of a screen, kept up by differences alone; what is new is 0. */
typedef struct screen {
  uint64_t numbers[256];
  size_t count;
  uint64_t version;
  unsigned inserted, removed, updated, moved; /* Rows, since this was last reset. */
} screen;

static inline void screen_apply(screen *screen, const tl_diff *diff) {
  CHECK(diff->from_version == screen->version);
  screen->version = diff->to_version;
  for (uint32_t i = 0; i < diff->op_count; i++) {
    tl_op op = diff->ops[i];
    size_t tail = screen->count - op.row;
    uint64_t *at = screen->numbers + op.row;
    if (op.kind == TL_OP_INSERT) {
      memmove(at + op.count, at, tail * sizeof *at);
      memset(at, 0, op.count * sizeof *at);
      screen->count += op.count;
      screen->inserted += op.count;
    } else if (op.kind == TL_OP_REMOVE) {
      memmove(at, at + op.count, (tail - op.count) * sizeof *at);
      screen->count -= op.count;
      screen->removed += op.count;
    } else if (op.kind == TL_OP_MOVE) {
      uint64_t number = screen->numbers[op.from];
      uint64_t *from = screen->numbers + op.from;
      memmove(from, from + 1, (screen->count - op.from - 1) * sizeof *from);
      memmove(at + 1, at, (screen->count - 1 - op.row) * sizeof *at);
      *at = number;
      screen->moved++;
    } else {
      CHECK(op.kind == TL_OP_UPDATE);
      screen->updated += op.count;
    }
  }
  CHECK(screen->count == diff->row_count);
}

/* Holds the screen against rows as they are read: `ROWS` reads a batch, `GIVEN` its rows. */
#define SCREEN_CHECK(screen, diff, ROWS, row_type, GIVEN)                      \
  do {                                                                         \
    tl_batch *batch = NULL;                                                    \
    size_t count = 0;                                                          \
    (void)!(ROWS);                                                             \
    const row_type *rows = GIVEN(batch, &count);                               \
    CHECK(count == (screen)->count);                                           \
    for (size_t i = 0; i < count && count == (screen)->count; i++) {           \
      CHECK((screen)->numbers[i] == 0 || (screen)->numbers[i] == rows[i].number); \
      (screen)->numbers[i] = rows[i].number;                                   \
    }                                                                          \
    CHECK(tl_checksum((screen)->numbers, (screen)->count) == (diff)->checksum); \
    tl_batch_free(batch);                                                      \
  } while (0)

/* Polls a window until it stands still, and checks the list against it. */
static inline void screen_poll(screen *screen, tl_window *window) {
  tl_diff *diff = NULL;
  screen->inserted = screen->removed = screen->updated = screen->moved = 0;
  while (tl_window_poll(window, &diff) == TL_OK) {
    screen_apply(screen, diff);
    SCREEN_CHECK(screen, diff, tl_window_rows(window, 0, 1000, &batch), tl_message, tl_batch_rows);
    tl_diff_free(diff);
  }
}

#endif
