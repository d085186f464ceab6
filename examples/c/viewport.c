/* An endless chat list as plain text: no client, no terminal library. A view of 12
 * lines over 500 messages of one to four lines; messages arrive while one reads, older
 * ones are loaded, and one scrolls to a message in frames. */
#include <stdio.h>
#include <stdlib.h>
#include <tideline.h>

enum { LINES = 12, ROWS_MAX = 1000 };

static uint64_t keys[ROWS_MAX];
static size_t count;

static int failed(tl_status status) {
  if (status < TL_OK) fprintf(stderr, "%s: %s\n", tl_status_name(status), tl_last_error());
  return status < TL_OK;
}

/* What a real host asks its text layout for. */
static int64_t lines_of(uint64_t key) { return 1 + (int64_t)(key * 7 % 4); }

/* Puts new messages in at a row, as the steps of a window's difference do. */
static int insert(tl_viewport *viewport, uint32_t row, uint32_t more, uint64_t first) {
  for (size_t i = count; i-- > row;) keys[i + more] = keys[i];
  for (uint32_t i = 0; i < more; i++) keys[row + i] = first + i;
  count += more;
  tl_op step = {.kind = TL_OP_INSERT, .row = row, .count = more};
  return failed(tl_viewport_update(viewport, &step, 1, keys, NULL, count));
}

/* The loop: measure what is missing, lay out again, draw what stands where. */
static int draw(tl_viewport *viewport, const char *title) {
  const char *screen[LINES] = {0};
  static char text[LINES][48];
  tl_layout *layout;
  for (;;) {
    uint64_t asked[64];
    int64_t heights[64];
    size_t n = 0;
    if (failed(tl_viewport_layout(viewport, &layout))) return 1;
    if (layout->missing_count == 0) break;
    for (; n < layout->missing_count && n < 64; n++) {
      asked[n] = layout->missing[n].key;
      heights[n] = lines_of(asked[n]);
    }
    tl_layout_free(layout);
    if (failed(tl_viewport_measure(viewport, asked, heights, n))) return 1;
  }
  for (uint32_t i = 0; i < layout->row_count; i++) {
    const tl_placed *row = &layout->rows[i];
    for (int64_t line = 0; line < row->height; line++) {
      int64_t at = row->top + line;
      if (at < 0 || at >= LINES) continue;
      snprintf(text[at], sizeof *text, "message %llu%s", (unsigned long long)row->key,
               line == 0 ? "" : ", more of it");
      screen[at] = text[at];
    }
  }
  tl_layout_free(layout);
  tl_viewport_status state = {.struct_size = sizeof state};
  if (failed(tl_viewport_state(viewport, &state))) return 1;
  uint64_t end = (uint64_t)state.bar_start + state.bar_size;
  uint32_t first = (uint32_t)((uint64_t)state.bar_start * LINES / TL_VIEWPORT_BAR_TRACK);
  uint32_t last = (uint32_t)(end * LINES / TL_VIEWPORT_BAR_TRACK);
  printf("--- %s: rows %u to %u of %u%s\n", title, state.visible_first,
         state.visible_first + state.visible_count - 1, state.row_count,
         state.flags & TL_VIEWPORT_HELD_BOTTOM ? ", held to the end" : "");
  for (uint32_t line = 0; line < LINES; line++)
    printf("%-40s %c\n", screen[line] ? screen[line] : "",
           line >= first && line <= last ? '#' : '|');
  return 0;
}

int main(void) {
  tl_viewport_config config = {.struct_size = sizeof config, .extent = LINES, .estimate = 2,
                               .height_min = 1, .speed = 400,
                               .flags = TL_VIEWPORT_BOTTOM_UP | TL_VIEWPORT_HOLD_BOTTOM};
  tl_viewport *viewport;
  tl_placed before, after;
  if (failed(tl_viewport_new(&config, &viewport))) return 1;
  if (insert(viewport, 0, 500, 1000) || draw(viewport, "opened")) return 1;
  if (insert(viewport, (uint32_t)count, 1, 1500) || draw(viewport, "a message came")) return 1;

  if (failed(tl_viewport_scroll(viewport, -30, 0)) || draw(viewport, "scrolled up")) return 1;
  if (failed(tl_viewport_find(viewport, 1485, &before))) return 1;
  if (insert(viewport, (uint32_t)count, 3, 1501) || insert(viewport, 0, 50, 950)) return 1;
  if (draw(viewport, "three came below, fifty were loaded above")) return 1;
  if (failed(tl_viewport_find(viewport, 1485, &after))) return 1;
  printf("message 1485 moved by %lld\n", (long long)(after.top - before.top));

  tl_target target = {.struct_size = sizeof target, .edge = TL_EDGE_TOP, .key = 1200};
  int64_t now = 0;
  int frames = 0;
  if (failed(tl_viewport_animate_to(viewport, &target, 0, now))) return 1;
  while (tl_viewport_tick(viewport, now) == TL_OK) {
    frames++;
    now += 16;
  }
  if (draw(viewport, "scrolled to message 1200")) return 1;
  if (failed(tl_viewport_find(viewport, 1200, &after))) return 1;
  printf("%d frames, message 1200 is at line %lld\n", frames, (long long)after.top);
  tl_viewport_free(viewport);
  return 0;
}
