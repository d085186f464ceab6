/** What the base needs of the system and Swift does not import. */
#ifndef TIDELINE_BASEC_H
#define TIDELINE_BASEC_H

/** A new non-blocking, close-on-exec eventfd, or -1. */
int tideline_eventfd(void);

#endif
