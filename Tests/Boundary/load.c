/* Loading and unloading: the library leaves the host's signals alone and may be
   opened and closed as often as the host likes, with what it gave out used. */
#include <dlfcn.h>
#include <signal.h>
#include <time.h>

#include "check.h"

static const char *library;

static void dispositions(struct sigaction out[NSIG], stack_t *stack) {
  memset(out, 0, sizeof(struct sigaction) * NSIG);
  for (int signal = 1; signal < NSIG; signal++) sigaction(signal, NULL, &out[signal]);
  sigaltstack(NULL, stack);
}

typedef tl_status (*open_function)(const tl_client_config *, tl_client **);
typedef void (*client_function)(tl_client *);
typedef tl_status (*sync_function)(tl_client *, const tl_sync_request *, uint64_t *);
typedef uint32_t (*number_function)(void);

/* Looks a function up in the library as a host would that links nothing. */
#define FUNCTION(type, name)                                                   \
  type name##_ = NULL;                                                         \
  *(void **)&name##_ = dlsym(handle, #name);                                   \
  CHECK(name##_ != NULL);                                                      \
  if (name##_ == NULL) return

static void use(void *handle) {
  FUNCTION(number_function, tl_abi);
  FUNCTION(open_function, tl_client_open);
  FUNCTION(sync_function, tl_client_sync);
  FUNCTION(client_function, tl_client_close);
  FUNCTION(client_function, tl_client_free);
  CHECK(tl_abi_() == TL_ABI);
  tl_client_config config = memory_config();
  tl_client *client = NULL;
  CHECK(tl_client_open_(&config, &client) == TL_OK);
  tl_sync_request request;
  memset(&request, 0, sizeof request);
  request.struct_size = sizeof request;
  request.conversation = view("c");
  CHECK(tl_client_sync_(client, &request, NULL) == TL_OK);
  tl_client_close_(client);
  tl_client_free_(client);
}

/* header: "installs no signal handler" */
static void signals(void) {
  struct sigaction before[NSIG], after[NSIG];
  stack_t stack_before, stack_after;
  CHECK(dlopen(library, RTLD_NOW | RTLD_NOLOAD) == NULL); /* Not linked: really loaded below. */
  setenv("SWIFT_BACKTRACE", "enable=yes", 1);             /* Tempts the runtime's crash handler. */
  dispositions(before, &stack_before);
  void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  CHECK(handle != NULL);
  if (handle == NULL) return;
  use(handle);
  dispositions(after, &stack_after);
  for (int signal = 1; signal < NSIG; signal++) {
    CHECK(before[signal].sa_handler == after[signal].sa_handler);
  }
  CHECK(stack_before.ss_flags == stack_after.ss_flags);
  CHECK(stack_before.ss_sp == stack_after.ss_sp);
  CHECK(dlclose(handle) == 0);
}

static void twenty_times(void) {
  for (int turn = 0; turn < 20; turn++) {
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    CHECK(handle != NULL);
    if (handle == NULL) return;
    use(handle);
    CHECK(dlclose(handle) == 0);
  }
}

static int64_t now_us(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000000 + time.tv_nsec / 1000;
}

int main(void) {
  library = getenv("TIDELINE_LIBRARY");
  if (library == NULL) {
    printf("load: TIDELINE_LIBRARY names no library\n");
    return 1;
  }
  int64_t start = now_us();
  RUN(signals);
  printf("load: first dlopen, open, sync, close: %lld us\n", (long long)(now_us() - start));
  RUN(twenty_times);
  return report("load");
}
