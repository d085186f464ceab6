/* Files that are locked by their open descriptors. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "support.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

/* The first byte behind those that SQLite locks. */
static const off_t locked_byte = 0x40000000 + 512;

/* The descriptors that hold locks. A child shares what they hold with its parent, so it closes them
   before anything else: the file must be free when the parent ends. */
static pthread_mutex_t held_mutex = PTHREAD_MUTEX_INITIALIZER;
static int *held;
static size_t held_count, held_room;

static void before_fork(void) {
  pthread_mutex_lock(&held_mutex);
}

static void in_parent(void) {
  pthread_mutex_unlock(&held_mutex);
}

static void in_child(void) {
  for (size_t i = 0; i < held_count; i++) close(held[i]);
  held_count = 0;
  pthread_mutex_unlock(&held_mutex);
}

__attribute__((constructor)) static void watch_forks(void) {
  pthread_atfork(before_fork, in_parent, in_child);
}

/* A descriptor of 3 or more, which no stray print reaches where the host has closed its own. */
static int open_high(const char *path, int mode) {
  int opened = open(path, mode | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (opened < 0 || opened > 2) return opened;
  int high = fcntl(opened, F_DUPFD_CLOEXEC, 3);
  close(opened);
  return high;
}

static int is_file(int descriptor, uint64_t device, uint64_t inode) {
  struct stat found;
  return fstat(descriptor, &found) == 0 && S_ISREG(found.st_mode) &&
         (uint64_t)found.st_dev == device && (uint64_t)found.st_ino == inode;
}

/* In one step for a fork: no child has a copy that it does not know of. */
static int open_held(const char *path, int mode) {
  int opened = -1;
  errno = ENOMEM;
  pthread_mutex_lock(&held_mutex);
  if (held_count == held_room) {
    int *more = realloc(held, (held_room + 16) * sizeof *held);
    if (more) held = more, held_room += 16;
  }
  if (held_count < held_room) opened = open_high(path, mode);
  if (opened >= 0) held[held_count++] = opened;
  pthread_mutex_unlock(&held_mutex);
  return opened;
}

int tideline_lock_file(const char *path, uint64_t device, uint64_t inode, int reads_only) {
  short type = F_WRLCK;
  int opened = open_held(path, O_RDWR);
  if (opened < 0 && reads_only && (errno == EACCES || errno == EPERM || errno == EROFS)) {
    type = F_RDLCK;
    opened = open_held(path, O_RDONLY);
  }
  if (opened < 0) return errno == ENOENT ? -2 : errno == EMFILE || errno == ENFILE ? -4 : -1;
  int result = -2;
  if (is_file(opened, device, inode)) {
    struct flock lock = {
        .l_type = type, .l_whence = SEEK_SET, .l_start = locked_byte, .l_len = 1};
    if (fcntl(opened, F_OFD_SETLK, &lock) == 0 || errno == EINVAL) return opened;
    result = errno == EAGAIN || errno == EACCES ? -2 : -3;
  }
  tideline_unlock_file(opened);
  return result;
}

int tideline_has_descriptor(void) {
  int opened = open("/", O_PATH | O_CLOEXEC);
  if (opened < 0) return errno != EMFILE && errno != ENFILE;
  close(opened);
  return 1;
}

int tideline_is_locked(const char *path) {
  int opened = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (opened < 0) return 0;
  struct flock lock = {
      .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = locked_byte, .l_len = 1};
  int is_locked = fcntl(opened, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
  close(opened);
  return is_locked;
}

int tideline_watch_file(const char *path) {
  int made = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (made < 0) return -1;
  int watched = inotify_add_watch(made, path, IN_CLOSE_WRITE | IN_DELETE_SELF | IN_MOVE_SELF);
  if (watched >= 0) return made;
  /* No memory, or more files are watched than a user may. */
  int result = errno == ENOENT || errno == ENOTDIR    ? -2
               : errno == ENOMEM || errno == ENOSPC ? -1
                                                      : -3;
  close(made);
  return result;
}

int64_t tideline_read_held(uint64_t device, uint64_t inode, uint8_t *out, size_t size) {
  int64_t got = -1;
  DIR *all = opendir("/proc/self/fd");
  if (all == NULL) return -1;
  for (struct dirent *one; got < 0 && (one = readdir(all)) != NULL;) {
    char *end;
    long number = strtol(one->d_name, &end, 10);
    if (end == one->d_name || *end != 0 || number < 0 || number > INT_MAX) continue;
    /* One that another thread closes meanwhile cannot be read, or is another file. */
    if (is_file((int)number, device, inode)) got = pread((int)number, out, size, 0);
  }
  closedir(all);
  return got;
}

int64_t tideline_read_start(
    const char *path, uint64_t device, uint64_t inode, uint8_t *out, size_t size) {
  int opened = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (opened < 0) return -1;
  int64_t got = is_file(opened, device, inode) ? pread(opened, out, size, 0) : -1;
  close(opened);
  return got;
}

/* By name, not by closing alone: a program that another thread is about to start has a copy of the
   descriptor until its `exec`, and would keep the file locked for as long. */
void tideline_unlock_file(int descriptor) {
  struct flock lock = {
      .l_type = F_UNLCK, .l_whence = SEEK_SET, .l_start = locked_byte, .l_len = 1};
  pthread_mutex_lock(&held_mutex);
  for (size_t i = 0; i < held_count; i++) {
    if (held[i] != descriptor) continue;
    held[i] = held[--held_count];
    fcntl(descriptor, F_OFD_SETLK, &lock);
    close(descriptor);
    break;
  }
  pthread_mutex_unlock(&held_mutex);
}

static int sync_folder(const char *path) {
  char *folder = strdup(path);
  char *end = folder ? strrchr(folder, '/') : NULL;
  if (end) end[end == folder] = 0;
  int opened = end ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
  int result = opened < 0 ? -1 : fsync(opened);
  if (opened >= 0) close(opened);
  free(folder);
  return result;
}

int tideline_exchange_files(const char *path, const char *other) {
  int result = 0;
  if (renameat2(AT_FDCWD, path, AT_FDCWD, other, RENAME_EXCHANGE) != 0) {
    result = 1;
    if (errno != EINVAL && errno != ENOSYS) return errno == ENOSPC || errno == EDQUOT ? -2 : -1;
    if (rename(path, other) != 0) return errno == ENOSPC || errno == EDQUOT ? -2 : -1;
  }
  return sync_folder(other) == 0 ? result : -3;
}

int tideline_replace_file(const char *path, const char *other) {
  if (rename(path, other) != 0) return errno == ENOSPC || errno == EDQUOT ? -2 : -1;
  return sync_folder(other) == 0 ? 0 : -3;
}
