/* The viewport from C: what it places, what stays, what is refused. No client. */
#include <pthread.h>

#include "check.h"

enum { ROWS = 300 };
static uint64_t keys[2 * ROWS];
static size_t count;

static tl_viewport *new_viewport(uint32_t flags) {
  tl_viewport_config config;
  memset(&config, 0, sizeof config);
  config.struct_size = sizeof config;
  config.flags = flags;
  config.extent = 100;
  config.estimate = 13;
  config.height_min = 5;
  config.overscroll_max = 40;
  tl_viewport *viewport = NULL;
  EXPECT(tl_viewport_new(&config, &viewport), TL_OK);
  count = 0;
  return viewport;
}

static void insert(tl_viewport *viewport, uint32_t row, uint32_t more, uint64_t first) {
  for (size_t i = count; i-- > row;) keys[i + more] = keys[i];
  for (uint32_t i = 0; i < more; i++) keys[row + i] = first + i;
  count += more;
  tl_op step = {TL_OP_INSERT, row, 0, more};
  EXPECT(tl_viewport_update(viewport, &step, 1, keys, NULL, count), TL_OK);
}

/* Lays out until nothing is missing: every row measures 10. Gives the rounds. */
static int lay_out(tl_viewport *viewport) {
  for (int round = 1; round < 20; round++) {
    tl_layout *layout = NULL;
    EXPECT(tl_viewport_layout(viewport, &layout), TL_OK);
    if (layout == NULL) return 99;
    uint32_t missing = layout->missing_count;
    for (uint32_t i = 0; i < missing; i++) {
      CHECK(!(layout->missing[i].flags & TL_PLACED_MEASURED));
      int64_t height = 10;
      EXPECT(tl_viewport_measure(viewport, &layout->missing[i].key, &height, 1), TL_OK);
    }
    for (uint32_t i = 1; i < layout->row_count; i++) {
      const tl_placed *row = &layout->rows[i];
      CHECK(row->top == row[-1].top + row[-1].height);
    }
    tl_layout_free(layout);
    if (missing == 0) return round;
  }
  return 99;
}

static int64_t top(tl_viewport *viewport, uint64_t key) {
  tl_placed row;
  EXPECT(tl_viewport_find(viewport, key, &row), TL_OK);
  CHECK(row.key == key);
  return row.top;
}

static tl_viewport_status state(tl_viewport *viewport) {
  tl_viewport_status status;
  memset(&status, 0, sizeof status);
  status.struct_size = sizeof status;
  EXPECT(tl_viewport_state(viewport, &status), TL_OK);
  return status;
}

static void what_is_visible_stays(void) {
  tl_viewport *viewport = new_viewport(TL_VIEWPORT_BOTTOM_UP | TL_VIEWPORT_HOLD_BOTTOM);
  insert(viewport, 0, ROWS, 1);
  /* header: "Two rounds are enough where no row" */
  CHECK(lay_out(viewport) == 2);
  CHECK(top(viewport, ROWS) == 90 && state(viewport).flags & TL_VIEWPORT_HELD_BOTTOM);
  insert(viewport, (uint32_t)count, 1, 1000);
  lay_out(viewport);
  CHECK(top(viewport, 1000) == 90 && top(viewport, ROWS) == 80);
  EXPECT(tl_viewport_scroll(viewport, -205, 0), TL_OK);
  lay_out(viewport);
  tl_viewport_status before = state(viewport);
  /* header: "the highest, or in a bottom-up list the" */
  CHECK(before.anchor_row == before.visible_first + before.visible_count - 1);
  CHECK(before.checksum == tl_checksum(keys, count));
  insert(viewport, (uint32_t)count, 5, 2000);
  insert(viewport, 0, 50, 3000);
  lay_out(viewport);
  tl_viewport_status after = state(viewport);
  CHECK(after.anchor_key == before.anchor_key && after.anchor_top == before.anchor_top);
  CHECK(after.anchor_row == before.anchor_row + 50 && after.row_count == count);
  CHECK(after.layouts > before.layouts && after.checksum == tl_checksum(keys, count));
  tl_placed row;
  EXPECT(tl_viewport_at(viewport, after.anchor_top, &row), TL_OK);
  CHECK(row.key == after.anchor_key && row.flags == (TL_PLACED_VISIBLE | TL_PLACED_MEASURED));
  EXPECT(tl_viewport_at(viewport, 100, &row), TL_NONE);
  CHECK(row.key == 0 && row.height == 0);
  tl_viewport_free(viewport);
}

/* The steps of a difference as a window gives them, moves and updates with them. */
static void steps_go_straight_in(void) {
  tl_viewport *viewport = new_viewport(0);
  uint32_t classes[ROWS] = {0};
  for (uint32_t i = 0; i < ROWS; i++) {
    keys[i] = i + 1;
    classes[i] = i % 8;
  }
  count = ROWS;
  tl_op all = {TL_OP_INSERT, 0, 0, ROWS};
  EXPECT(tl_viewport_update(viewport, &all, 1, keys, classes, count), TL_OK);
  lay_out(viewport);
  tl_op steps[] = {{TL_OP_REMOVE, 0, 0, 2}, {TL_OP_MOVE, 0, 2, 1}, {TL_OP_UPDATE, 1, 0, 1}};
  EXPECT(tl_viewport_update(viewport, steps, 3, NULL, NULL, 0), TL_OK);
  tl_placed row;
  EXPECT(tl_viewport_find(viewport, 1, &row), TL_NONE);
  EXPECT(tl_viewport_find(viewport, 5, &row), TL_OK);
  CHECK(row.row == 0);
  EXPECT(tl_viewport_find(viewport, 3, &row), TL_OK);
  CHECK(row.row == 1 && !(row.flags & TL_PLACED_MEASURED));
  tl_viewport_free(viewport);
}

static void scrolls_to(void) {
  tl_viewport *viewport = new_viewport(0);
  insert(viewport, 0, ROWS, 1);
  tl_target target;
  memset(&target, 0, sizeof target);
  target.struct_size = sizeof target;
  target.key = 200;
  target.inset = 7;
  EXPECT(tl_viewport_scroll_to(viewport, &target), TL_OK);
  lay_out(viewport);
  CHECK(top(viewport, 200) == 7);
  target.edge = TL_EDGE_BOTTOM;
  target.key = 50;
  EXPECT(tl_viewport_animate_to(viewport, &target, 1000, 5), TL_OK);
  int64_t now = 5;
  int frames = 0;
  while (tl_viewport_tick(viewport, now) == TL_OK && frames < 1000) {
    CHECK(state(viewport).flags & TL_VIEWPORT_MOVING);
    lay_out(viewport);
    now += 16;
    frames++;
  }
  lay_out(viewport);
  CHECK(frames > 10 && top(viewport, 50) == 100 - 7 - 10);
  /* header: "A scroll and another target end it." */
  EXPECT(tl_viewport_animate_to(viewport, &target, 0, now), TL_OK);
  EXPECT(tl_viewport_stop(viewport), TL_OK);
  EXPECT(tl_viewport_stop(viewport), TL_NONE);
  memset(&target, 0, sizeof target);
  target.struct_size = sizeof target;
  target.edge = TL_EDGE_BOTTOM_END;
  EXPECT(tl_viewport_scroll_to(viewport, &target), TL_OK);
  lay_out(viewport);
  tl_viewport_status status = state(viewport);
  CHECK(status.below == 0 && status.flags & TL_VIEWPORT_NEAR_BOTTOM);
  CHECK(status.bar_start + status.bar_size >= TL_VIEWPORT_BAR_TRACK - 1);
  target.key = 1;
  EXPECT(tl_viewport_scroll_to(viewport, &target), TL_E_INVALID);
  target.edge = TL_EDGE_TOP;
  target.key = 77777;
  EXPECT(tl_viewport_scroll_to(viewport, &target), TL_NONE);
  tl_viewport_free(viewport);
}

static void pulls_and_springs_back(void) {
  tl_viewport *viewport = new_viewport(0);
  insert(viewport, 0, ROWS, 1);
  lay_out(viewport);
  EXPECT(tl_viewport_scroll(viewport, -40, TL_SCROLL_FINGER), TL_OK);
  CHECK(top(viewport, 1) == 20 && state(viewport).overscroll == 20);
  EXPECT(tl_viewport_release(viewport, 100), TL_OK);
  EXPECT(tl_viewport_tick(viewport, 150), TL_OK);
  CHECK(top(viewport, 1) > 0 && top(viewport, 1) < 20);
  EXPECT(tl_viewport_tick(viewport, 400), TL_NONE);
  CHECK(top(viewport, 1) == 0);
  EXPECT(tl_viewport_release(viewport, 500), TL_NONE);
  EXPECT(tl_viewport_resize(viewport, 50, TL_RESIZE_MEASURE), TL_OK);
  CHECK(lay_out(viewport) == 2);
  tl_viewport_free(viewport);
}

/* Numbers at the edge of their type have a status, and nothing changes. */
static void edges(void) {
  tl_viewport *viewport = new_viewport(0);
  insert(viewport, 0, 20, 1);
  const int64_t most = (int64_t)1 << 40;
  int64_t heights[] = {-1, most + 1, INT64_MIN, INT64_MAX};
  tl_status given[] = {TL_E_INVALID, TL_E_TOO_LARGE, TL_E_INVALID, TL_E_TOO_LARGE};
  for (int i = 0; i < 4; i++) {
    EXPECT(tl_viewport_measure(viewport, keys, &heights[i], 1), given[i]);
    EXPECT(tl_viewport_resize(viewport, heights[i], 0), given[i]);
  }
  for (uint32_t i = 0; i < 20; i++) {
    EXPECT(tl_viewport_measure(viewport, &keys[i], &most, 1), TL_OK);
  }
  CHECK(state(viewport).total == 20 * most);
  for (int i = 0; i < 4; i++) {
    EXPECT(tl_viewport_scroll(viewport, heights[i], TL_SCROLL_FINGER), TL_OK);
    EXPECT(tl_viewport_scroll(viewport, heights[i], 0), TL_OK);
    tl_status moved = tl_viewport_tick(viewport, heights[i]);
    CHECK(moved == TL_OK || moved == TL_NONE);
    tl_placed row;
    moved = tl_viewport_at(viewport, heights[i], &row);
    CHECK(moved == TL_NONE);
  }
  EXPECT(tl_viewport_scroll(viewport, 1, 2), TL_E_INVALID);
  EXPECT(tl_viewport_resize(viewport, 1, 2), TL_E_INVALID);
  tl_op wrong[] = {{TL_OP_REMOVE, 20, 0, 1}, {TL_OP_REMOVE, 0, 0, UINT32_MAX},
                   {TL_OP_UPDATE, UINT32_MAX, 0, 1}, {TL_OP_MOVE, 20, 0, 1},
                   {TL_OP_MOVE, 0, UINT32_MAX, 1}, {0, 0, 0, 1}, {9, 0, 0, 1}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    EXPECT(tl_viewport_update(viewport, &wrong[i], 1, NULL, NULL, 0), TL_E_INVALID);
  }
  tl_op more = {TL_OP_INSERT, 0, 0, UINT32_MAX};
  EXPECT(tl_viewport_update(viewport, &more, 1, keys, NULL, count), TL_E_TOO_LARGE);
  more.count = 1;
  EXPECT(tl_viewport_update(viewport, &more, 1, keys, NULL, SIZE_MAX), TL_E_TOO_LARGE);
  EXPECT(tl_viewport_update(viewport, &more, 1, keys, NULL, 21), TL_E_INVALID);
  CHECK(state(viewport).row_count == 20 && state(viewport).checksum == tl_checksum(keys, 20));
  /* Anything readable that is no viewport is refused. */
  EXPECT(tl_viewport_stop((tl_viewport *)keys), TL_E_INVALID);
  EXPECT(tl_viewport_stop(NULL), TL_E_INVALID);
  tl_viewport_free(viewport);
  tl_viewport_free(NULL);
  tl_layout_free(NULL);
}

static void *scroller(void *viewport) {
  for (int i = 0; i < 2000; i++) {
    tl_status status = tl_viewport_scroll(viewport, i % 2 ? 30 : -29, 0);
    tl_layout *layout = NULL;
    if (status == TL_OK) status = tl_viewport_layout(viewport, &layout);
    tl_layout_free(layout);
    if (status != TL_OK) return viewport;
  }
  return NULL;
}

/* header: "Calls on one viewport take turns inside the library" */
static void threads_take_turns(void) {
  tl_viewport *viewport = new_viewport(0);
  insert(viewport, 0, ROWS, 1);
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, scroller, viewport);
  for (int i = 0; i < 4; i++) {
    void *result;
    pthread_join(threads[i], &result);
    CHECK(result == NULL);
  }
  tl_viewport_free(viewport);
}

int main(void) {
  RUN(what_is_visible_stays);
  RUN(steps_go_straight_in);
  RUN(scrolls_to);
  RUN(pulls_and_springs_back);
  RUN(edges);
  RUN(threads_take_turns);
  return report("viewport");
}
