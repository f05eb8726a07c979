/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages to the service manager (sd_notify(3), Type=notify, WatchdogSec=), without libsystemd.
 * The socket is connected before rights are dropped; afterwards only sendto() is needed.
 */
#ifndef JBPF_HOST_NOTIFY_READY_H
#define JBPF_HOST_NOTIFY_READY_H

#include <stdint.h>

/* Connects to $NOTIFY_SOCKET and takes it out of the environment. fd, or -1: there is no service manager. */
int notify_ready_open(void);

/*
 * Work has begun. Where a watchdog was asked for it is set to six windows, but to no less than
 * $WATCHDOG_USEC: call it again when the window's length has changed.
 */
void notify_ready_started(int fd, uint64_t window_ns);

/* A window has ended, whatever becomes of it on the disk; the watchdog waits for the next. */
void notify_ready_alive(int fd);

/* The last window is being written: that is no failure, however long it takes. */
void notify_ready_stopping(int fd);

#endif
