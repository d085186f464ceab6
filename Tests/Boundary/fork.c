/* What a child that was forked may do with the handles of its parent: nothing that the parent,
   its file or its descriptors could notice. What the parent was told is committed stays so,
   whatever its children do and whichever ends first. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "memory_storage.h"
#include "turn.h"

static char folder[] = "/tmp/tideline-fork-XXXXXX";
static char path[300], log_path[310], own_path[310], other[300], other_own[310];
static const char *self;

/* All handles of one client, and one of its batches. */
typedef struct handles {
  tl_client *client;
  tl_window *window;
  tl_items *items;
  tl_list *list;
  tl_work *work;
  tl_viewport *viewport;
  tl_batch *batch;
} handles;

static handles open_all(const char *file) {
  handles all;
  memset(&all, 0, sizeof all);
  tl_client_config config = file_config(file);
  EXPECT(tl_client_open(&config, &all.client), TL_OK);
  all.window = open_screen(all.client);
  tl_items_config items;
  memset(&items, 0, sizeof items);
  items.struct_size = sizeof items;
  EXPECT(tl_items_open(all.window, &items, &all.items), TL_OK);
  tl_list_config list;
  memset(&list, 0, sizeof list);
  list.struct_size = sizeof list;
  EXPECT(tl_list_open(all.client, &list, &all.list), TL_OK);
  CHECK(tl_search_switch(all.client, 1) >= TL_OK);
  EXPECT(tl_search_build(all.client, &all.work), TL_OK);
  tl_viewport_config viewport;
  memset(&viewport, 0, sizeof viewport);
  viewport.struct_size = sizeof viewport;
  EXPECT(tl_viewport_new(&viewport, &all.viewport), TL_OK);
  EXPECT(read_page(all.client, &all.batch), TL_OK);
  return all;
}

static void free_all(handles all) {
  tl_batch_free(all.batch);
  tl_viewport_free(all.viewport);
  tl_work_free(all.work);
  tl_list_free(all.list);
  tl_items_free(all.items);
  tl_window_free(all.window);
  tl_client_free(all.client);
}

static void send_one(tl_client *client) { send_text(client, "\"text\"", NULL); }

static void clean(void) {
  unlink(path);
  unlink(log_path);
  unlink(own_path);
  unlink(other);
  unlink(other_own);
}

/* Runs `body` in a child that ends as a program does, and waits for it. */
static void in_child(void (*body)(handles *), handles *all) {
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    broken = 0;
    body(all);
    exit(broken);
  }
  int status = 1;
  CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

/* Another program: it opens the file, or is told that it is in use. */
static tl_status opened_elsewhere(void) {
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    execl(self, self, path, (char *)NULL);
    _exit(99);
  }
  int status = 1;
  CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
  return WEXITSTATUS(status) == 0 ? TL_OK : WEXITSTATUS(status) == 7 ? TL_E_LOCKED : TL_E_INTERNAL;
}

/* ------------------------------------------------------------------------ */

static void end_nothing(handles *all) { (void)all; }
static void end_free(handles *all) { free_all(*all); }
static void end_free_client(handles *all) { tl_client_free(all->client); }

static void end_close(handles *all) {
  tl_items_close(all->items);
  tl_window_close(all->window);
  tl_list_close(all->list);
  tl_client_close(all->client);
  tl_client_close(all->client);
}

static void end_wipe(handles *all) {
  EXPECT(tl_client_wipe(all->client), TL_E_INVALID);
  EXPECT(tl_client_clear(all->client), TL_E_INVALID);
}

static void end_grandchild(handles *all) {
  in_child(end_free, all);
  free_all(*all);
}

enum { BEFORE = 3, AFTER = 40 };

/* The parent: it is killed after its child has ended and it was told of each send. */
static void parent_is_killed(void (*end)(handles *)) {
  clean();
  int told[2];
  CHECK(pipe(told) == 0);
  fflush(stdout);
  pid_t parent = fork();
  if (parent == 0) {
    broken = 0;
    handles all = open_all(path);
    for (int i = 0; i < BEFORE; i++) send_one(all.client);
    in_child(end, &all);
    for (int i = 0; i < AFTER; i++) send_one(all.client);
    CHECK(write(told[1], broken ? "-" : "+", 1) == 1);
    kill(getpid(), SIGKILL);
  }
  close(told[1]);
  char word = '-';
  CHECK(read(told[0], &word, 1) == 1 && word == '+');
  close(told[0]);
  int status = 0;
  CHECK(waitpid(parent, &status, 0) == parent && WIFSIGNALED(status));
  tl_client *client = NULL;
  tl_client_config config = file_config(path);
  EXPECT(tl_client_open(&config, &client), TL_OK);
  CHECK(row_count(client) == BEFORE + AFTER);
  tl_client_free(client);
}

static void no_end_of_a_child_loses_a_send(void) {
  parent_is_killed(end_nothing);
  parent_is_killed(end_free);
  parent_is_killed(end_free_client);
  parent_is_killed(end_close);
  parent_is_killed(end_wipe);
  parent_is_killed(end_grandchild);
}

/* ------------------------------------------------------------------------ */

static int event_fd(tl_client *client) {
  int32_t out = -1;
  EXPECT(tl_client_event_fd(client, &out), TL_OK);
  return out;
}

static int is_readable(int fd) {
  struct pollfd one = {fd, POLLIN, 0};
  return poll(&one, 1, 0) == 1;
}

#define REFUSED(call)                                                          \
  do {                                                                         \
    EXPECT(call, TL_E_INVALID);                                                \
    CHECK(strstr(tl_last_error(), "before a fork") != NULL);                   \
  } while (0)

static void every_kind_is_refused(handles *all) {
  tl_frame *frame = (tl_frame *)&frame;
  REFUSED(tl_client_next_frame(all->client, &frame));
  CHECK(frame == NULL);
  int32_t fd = 5;
  REFUSED(tl_client_event_fd(all->client, &fd));
  CHECK(fd == -1);
  REFUSED(tl_client_advance(all->client, NULL));
  REFUSED(tl_client_connected(all->client));
  REFUSED(tl_client_clear(all->client));
  REFUSED(tl_key_remove(all->client, 0));
  tl_send send = send_of("\"of the child\"");
  REFUSED(tl_client_send(all->client, &send, NULL, NULL));
  tl_diff *diff = NULL;
  REFUSED(tl_window_poll(all->window, &diff));
  REFUSED(tl_items_poll(all->items, &diff));
  REFUSED(tl_list_poll(all->list, &diff));
  REFUSED(tl_work_step(all->work, 0, NULL));
  tl_layout *layout = NULL;
  REFUSED(tl_viewport_layout(all->viewport, &layout));
  CHECK(row_count(all->client) == 0);
  /* What is plain memory is the child's own copy. */
  size_t count = 0;
  CHECK(tl_batch_rows(all->batch, &count) != NULL && count == 1);
  free_all(*all);
}

static void a_child_changes_nothing_of_its_parent(void) {
  clean();
  handles all = open_all(path);
  send_one(all.client);
  tl_batch_free(all.batch);
  EXPECT(read_page(all.client, &all.batch), TL_OK);
  EXPECT(tl_client_connected(all.client), TL_OK);
  struct stat before, after;
  CHECK(is_readable(event_fd(all.client)));
  CHECK(stat(log_path, &before) == 0);
  in_child(every_kind_is_refused, &all);
  CHECK(is_readable(event_fd(all.client)));
  CHECK(stat(log_path, &after) == 0 && after.st_ino == before.st_ino);
  CHECK(before.st_size == after.st_size && before.st_mtim.tv_nsec == after.st_mtim.tv_nsec);
  CHECK(row_count(all.client) == 1);
  EXPECT(opened_elsewhere(), TL_E_LOCKED);
  free_all(all);
  EXPECT(opened_elsewhere(), TL_OK);
}

/* ------------------------------------------------------------------------ */

/* A child that lives on holds nothing: the file may be opened once the parent is gone. */
static void a_child_that_lives_on_keeps_no_file(void) {
  clean();
  int stay[2], ready[2];
  CHECK(pipe(stay) == 0 && pipe(ready) == 0);
  fflush(stdout);
  pid_t parent = fork();
  if (parent == 0) {
    handles all = open_all(path);
    send_one(all.client);
    if (fork() == 0) {
      char byte;
      close(stay[1]);
      _exit(read(stay[0], &byte, 1) != 0); /* Until the end of the test. */
    }
    CHECK(write(ready[1], "r", 1) == 1);
    pause();
  }
  char byte;
  CHECK(read(ready[0], &byte, 1) == 1);
  EXPECT(opened_elsewhere(), TL_E_LOCKED);
  kill(parent, SIGKILL);
  CHECK(waitpid(parent, NULL, 0) == parent);
  EXPECT(opened_elsewhere(), TL_OK);
  for (int i = 0; i < 2; i++) close(stay[i]), close(ready[i]);
}

/* A program that another thread of the host is about to start: it has the descriptors until `exec`,
   and no handler of a fork has run in it. */
static void a_child_before_exec_keeps_no_file(void) {
  clean();
  int stay[2];
  CHECK(pipe(stay) == 0);
  handles all = open_all(path);
  send_one(all.client);
  fflush(stdout);
  pid_t child = _Fork();
  if (child == 0) {
    char byte;
    close(stay[1]);
    _exit(read(stay[0], &byte, 1) != 0); /* Until the end of the test. */
  }
  CHECK(child > 0);
  free_all(all);
  EXPECT(opened_elsewhere(), TL_OK);
  all = open_all(path);
  CHECK(row_count(all.client) == 1);
  free_all(all);
  for (int i = 0; i < 2; i++) close(stay[i]);
  CHECK(waitpid(child, NULL, 0) == child);
}

/* ------------------------------------------------------------------------ */

static void opens_its_own(handles *all) {
  free_all(*all);
  /* What the parent has open stays in use for the child. */
  tl_client *client = NULL;
  tl_client_config config = file_config(path);
  EXPECT(tl_client_open(&config, &client), TL_E_LOCKED);
  CHECK(client == NULL);
  handles own = open_all(other);
  for (int i = 0; i < 3; i++) send_one(own.client);
  CHECK(row_count(own.client) == 3 && event_fd(own.client) >= 0);
  free_all(own);
}

static void a_child_opens_a_client_of_its_own(void) {
  clean();
  handles all = open_all(path);
  send_one(all.client);
  in_child(opens_its_own, &all);
  send_one(all.client);
  CHECK(row_count(all.client) == 2);
  free_all(all);
  all = open_all(other);
  CHECK(row_count(all.client) == 3);
  free_all(all);
}

/* ------------------------------------------------------------------------ */

static int inside[2], leave[2];

static tl_status wait_inside(void *context, const tl_stored *at) {
  char byte;
  if (at->object == TL_OBJECT_LOG && write(inside[1], "i", 1) == 1)
    if (read(leave[0], &byte, 1) < 0) return TL_E_STORAGE;
  return mem_sync(context, at);
}

static void *send_and_wait(void *client) {
  send_one(client);
  return NULL;
}

/* A thread that is in a call holds locks that nobody gives back in the child. */
static void a_child_does_not_wait_for_the_threads_of_its_parent(void) {
  mem_storage *memory = mem_new(MEM_GOOD);
  tl_storage table = mem_table(memory);
  tl_client_config config = file_config("eva");
  config.storage = &table;
  table.sync = wait_inside;
  CHECK(pipe(inside) == 0 && pipe(leave) == 0);
  handles all;
  memset(&all, 0, sizeof all);
  CHECK(write(leave[1], "1234567890123456", 16) == 16);
  EXPECT(tl_client_open(&config, &all.client), TL_OK);
  all.window = open_screen(all.client);
  char drain[16];
  fcntl(leave[0], F_SETFL, O_NONBLOCK);
  while (read(leave[0], drain, 1) == 1) continue;
  fcntl(leave[0], F_SETFL, 0);
  fcntl(inside[0], F_SETFL, O_NONBLOCK);
  while (read(inside[0], drain, 1) == 1) continue;
  fcntl(inside[0], F_SETFL, 0);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, send_and_wait, all.client) == 0);
  CHECK(read(inside[0], drain, 1) == 1);
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    broken = 0;
    alarm(60);
    tl_diff *diff = NULL;
    REFUSED(tl_client_connected(all.client));
    REFUSED(tl_window_poll(all.window, &diff));
    tl_client_close(all.client);
    tl_window_free(all.window);
    tl_client_free(all.client);
    _exit(broken);
  }
  int status = 1;
  CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
  CHECK(write(leave[1], "1234567890123456", 16) == 16);
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK(row_count(all.client) == 1 && memory->held == 1);
  tl_window_free(all.window);
  tl_client_free(all.client);
  for (int i = 0; i < 2; i++) close(inside[i]), close(leave[i]);
  mem_free(memory);
}

/* As another program. */
static int open_it(const char *file) {
  tl_client_config config = file_config(file);
  tl_client *client = NULL;
  tl_status status = tl_client_open(&config, &client);
  tl_client_free(client);
  return status == TL_OK ? 0 : status == TL_E_LOCKED ? 7 : 1;
}

int main(int count, char **arguments) {
  if (count > 1) return open_it(arguments[1]);
  self = "/proc/self/exe";
  if (!mkdtemp(folder)) return 1;
  snprintf(path, sizeof path, "%s/a.tideline", folder);
  snprintf(log_path, sizeof log_path, "%s-wal", path);
  snprintf(own_path, sizeof own_path, "%s-own", path);
  snprintf(other, sizeof other, "%s/b.tideline", folder);
  snprintf(other_own, sizeof other_own, "%s-own", other);
  RUN(no_end_of_a_child_loses_a_send);
  RUN(a_child_changes_nothing_of_its_parent);
  RUN(a_child_that_lives_on_keeps_no_file);
  RUN(a_child_before_exec_keeps_no_file);
  RUN(a_child_opens_a_client_of_its_own);
  RUN(a_child_does_not_wait_for_the_threads_of_its_parent);
  clean();
  rmdir(folder);
  return report("fork");
}
