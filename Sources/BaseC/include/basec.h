/** What the base needs of the system and Swift does not import. */
#ifndef TIDELINE_BASEC_H
#define TIDELINE_BASEC_H

/** A new non-blocking, close-on-exec eventfd, or -1 with the reason in `errno`. */
int tideline_eventfd(void);

/**
 * How many forks lie between this process and the one that loaded the library: 0 there, one
 * more in each child than in its parent. Reading it costs no system call.
 */
unsigned tideline_forks(void);

/** Keeps `block` where a search for leaks finds it. Returns what was given before it, or NULL. */
void *tideline_leave(void *block);

#endif
