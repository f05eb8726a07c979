/* SPDX-License-Identifier: Apache-2.0 */
/* What a forked child that never executes another program does first. */
#ifndef JBPF_SANDBOX_CHILD_PROCESS_H
#define JBPF_SANDBOX_CHILD_PROCESS_H

#include <stddef.h>

/*
 * The parent's handlers and masks mean nothing in it: all signals as by default, but those to be
 * ignored, and none blocked.
 */
void child_process_reset_signals(const int *ignored, size_t ignored_cnt);

/*
 * Of all descriptors from 3 on these alone stay open: they become 3, 4, ... and are written back. What
 * is -1 stays -1. 0 or -errno.
 */
int child_process_keep_fds(int *const fds[], size_t cnt);

/* When memory is short, rather this process than its parent. Not possible: left as it is. */
void child_process_offer_to_oom(void);

#endif
