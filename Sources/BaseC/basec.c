#include "basec.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/eventfd.h>

int tideline_eventfd(void) {
  return eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
}

static unsigned forks;

static void count_fork(void) {
  forks++;
}

__attribute__((constructor)) static void watch_forks(void) {
  pthread_atfork(0, 0, count_fork);
}

unsigned tideline_forks(void) {
  return forks;
}

static _Atomic(void *) left;

void *tideline_leave(void *block) {
  return atomic_exchange(&left, block);
}
