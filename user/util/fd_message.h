/* SPDX-License-Identifier: Apache-2.0 */
/* One message with descriptors over a SOCK_SEQPACKET socket (unix(7), SCM_RIGHTS). */
#ifndef JBPF_UTIL_FD_MESSAGE_H
#define JBPF_UTIL_FD_MESSAGE_H

#include <stddef.h>

#include "user/util/attributes.h"

#define FD_MESSAGE_MAX_FDS 4u

/* Sends all of it or nothing. 0; -EMSGSIZE: too many descriptors; -EPIPE; -errno. */
__must_check int fd_message_send(int socket_fd, const void *bytes, size_t len, const int *fds,
				 size_t fd_cnt);

/*
 * Takes one message, of at most `size` bytes, and up to `fd_max` descriptors, which are then the
 * caller's (close-on-exec). Waits unless `flags` says MSG_DONTWAIT. 0; -EPIPE: the other end is closed;
 * -EBADMSG: longer, or with more descriptors; -errno.
 */
__must_check int fd_message_receive(int socket_fd, int flags, void *bytes, size_t size,
				    size_t *len_out, int *fds, size_t fd_max, size_t *fd_cnt_out);

#endif
