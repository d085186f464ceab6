/* What the programs that are measured share: a stopwatch that leaves out the making of data, the
   memory of this process, and one line of output for each figure. With BENCH_COUNT a program is
   run under callgrind, which counts the instructions that the stopwatch would time. */
#ifndef BENCH_H
#define BENCH_H

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#ifdef BENCH_COUNT
#include <valgrind/callgrind.h>
enum { LIVE = 100, DELETES = 200 };
#else
enum { LIVE = 2000, DELETES = 1000 };
#define CALLGRIND_TOGGLE_COLLECT ((void)0)
#define CALLGRIND_ZERO_STATS ((void)0)
#endif

/* Ends the run: a figure of something that went wrong is none. */
static inline void fail(const char *what, const char *why) {
  fprintf(stderr, "%s: %s\n", what, why);
  exit(1);
}

/* With BENCH_CPU in the environment the time that this process had a core, in place of all time:
   for what is done in memory, beside other work. */
static inline int64_t now_ns(void) {
  static int clock = -1;
  if (clock < 0) clock = getenv("BENCH_CPU") != NULL ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC;
  struct timespec t;
  clock_gettime((clockid_t)clock, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Counts only between #start and #stop. What one that is aside takes is part of no figure. */
typedef struct stopwatch {
  int64_t began, total;
  int is_aside;
} stopwatch;

static inline void start(stopwatch *w) {
  if (!w->is_aside) CALLGRIND_TOGGLE_COLLECT;
  w->began = now_ns();
}

static inline void stop(stopwatch *w) {
  w->total += now_ns() - w->began;
  if (!w->is_aside) CALLGRIND_TOGGLE_COLLECT;
}

/* Bytes of this process in memory now, or at most so far (`VmRSS`, `VmHWM`). */
static inline long memory_kib(const char *name) {
  char line[256];
  long kib = 0;
  FILE *file = fopen("/proc/self/status", "r");
  if (file == NULL) return 0;
  while (fgets(line, sizeof line, file) != NULL) {
    size_t size = strlen(name);
    if (strncmp(line, name, size) == 0 && line[size] == ':') kib = atol(line + size + 1);
  }
  fclose(file);
  return kib;
}

/* Lets the peak begin anew, where the system allows it. */
static inline void forget_peak(void) {
  FILE *file = fopen("/proc/self/clear_refs", "w");
  if (file == NULL) return;
  fputs("5", file);
  fclose(file);
}

/* The system forgets what it kept of a file, so that it is read from the disk. */
static inline void forget_file(const char *path) {
  const char *ends[] = {"", "-wal"};
  for (int i = 0; i < 2; i++) {
    char name[4096];
    snprintf(name, sizeof name, "%s%s", path, ends[i]);
    int fd = open(name, O_RDONLY);
    if (fd < 0) continue;
    fsync(fd);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    close(fd);
  }
}

/* A call that is there to be seen by `syscalls.py`: those before it belong to no figure. */
static inline void mark(void) { (void)posix_fadvise(STDOUT_FILENO, 0, 0, POSIX_FADV_NORMAL); }

/* One figure: what was measured, how often it was done, and how long all of it took. */
static inline void told(const char *figure, uint64_t count, int64_t ns) {
  printf("{\"figure\":\"%s\",\"count\":%llu,\"ns\":%lld}\n", figure, (unsigned long long)count,
         (long long)ns);
  fflush(stdout);
}

/* One figure that is no time. */
static inline void said(const char *figure, double value) {
  printf("{\"figure\":\"%s\",\"value\":%.3f}\n", figure, value);
  fflush(stdout);
}

/* A program of its own in place of a part of `host.py`. */
#ifdef BENCH_COUNT
int bench_run(int argc, const char *const *argv);
int main(int argc, char **argv) { return bench_run(argc - 1, (const char *const *)argv + 1); }
#endif

#endif
