// SPDX-License-Identifier: Apache-2.0
/* See fd_message.h. */
#include "user/util/fd_message.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

/* Aligned as the kernel wants it. */
union control {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(FD_MESSAGE_MAX_FDS * sizeof(int))];
};

int fd_message_send(int socket_fd, const void *bytes, size_t len, const int *fds, size_t fd_cnt)
{
	struct iovec part = { .iov_base = (void *)(uintptr_t)bytes, .iov_len = len };
	struct msghdr header = { .msg_iov = &part, .msg_iovlen = 1 };
	union control control;
	ssize_t sent;

	if (fd_cnt > FD_MESSAGE_MAX_FDS)
		return -EMSGSIZE;
	if (fd_cnt) {
		memset(&control, 0, sizeof(control));
		header.msg_control = control.bytes;
		header.msg_controllen = CMSG_SPACE(fd_cnt * sizeof(int));
		CMSG_FIRSTHDR(&header)->cmsg_level = SOL_SOCKET;
		CMSG_FIRSTHDR(&header)->cmsg_type = SCM_RIGHTS;
		CMSG_FIRSTHDR(&header)->cmsg_len = CMSG_LEN(fd_cnt * sizeof(int));
		memcpy(CMSG_DATA(CMSG_FIRSTHDR(&header)), fds, fd_cnt * sizeof(int));
	}
	do
		sent = sendmsg(socket_fd, &header, MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	if (sent < 0)
		return -errno;
	return (size_t)sent == len ? 0 : -EIO;
}

/* Those that fit; the others are closed. */
static size_t control_take_fds(struct msghdr *header, int *fds, size_t fd_max, size_t *left_out)
{
	size_t cnt = 0;

	*left_out = 0;
	for (struct cmsghdr *part = CMSG_FIRSTHDR(header); part; part = CMSG_NXTHDR(header, part)) {
		size_t part_cnt = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < part_cnt; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof(int));
			if (cnt < fd_max) {
				fds[cnt++] = fd;
			} else {
				close(fd);
				*left_out += 1;
			}
		}
	}
	return cnt;
}

int fd_message_receive(int socket_fd, int flags, void *bytes, size_t size, size_t *len_out,
		       int *fds, size_t fd_max, size_t *fd_cnt_out)
{
	struct iovec part = { .iov_base = bytes, .iov_len = size };
	struct msghdr header = { .msg_iov = &part, .msg_iovlen = 1 };
	size_t fd_cnt = 0, left_out = 0;
	union control control;
	ssize_t got;

	if (fd_max) {
		header.msg_control = control.bytes;
		header.msg_controllen = sizeof(control.bytes);
	}
	do
		got = recvmsg(socket_fd, &header, flags | MSG_CMSG_CLOEXEC);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return errno == ECONNRESET ? -EPIPE : -errno;
	if (fd_max)
		fd_cnt = control_take_fds(&header, fds, fd_max, &left_out);
	/* An empty message looks like the end, and may have descriptors all the same. */
	if (got == 0 || (header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) || left_out) {
		while (fd_cnt)
			close(fds[--fd_cnt]);
		return got ? -EBADMSG : -EPIPE;
	}
	*len_out = (size_t)got;
	if (fd_cnt_out)
		*fd_cnt_out = fd_cnt;
	return 0;
}
