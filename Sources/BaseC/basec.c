#include "basec.h"

#include <sys/eventfd.h>

int tideline_eventfd(void) {
  return eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
}
