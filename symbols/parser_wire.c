// SPDX-License-Identifier: Apache-2.0
/* Messages with descriptors over a socket; see parser_wire.h. */
#include "symbols/parser_wire.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define MESSAGE_HEAD_BYTES offsetof(struct parser_message, text)

/* Aligned as the kernel wants it. */
union control {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(PARSER_MAX_FDS * sizeof(int))];
};

int parser_message_send(int socket_fd, const struct parser_message *message, const int *fds,
			size_t fd_cnt)
{
	struct iovec part = { .iov_base = (void *)(uintptr_t)message,
			      .iov_len = MESSAGE_HEAD_BYTES + (size_t)message->text_len };
	struct msghdr header = { .msg_iov = &part, .msg_iovlen = 1 };
	union control control;
	ssize_t sent;

	if (message->text_len > PARSER_TEXT_BYTES || fd_cnt > PARSER_MAX_FDS)
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
	return (size_t)sent == part.iov_len ? 0 : -EIO;
}

static size_t control_take_fds(struct msghdr *header, int fds[PARSER_MAX_FDS])
{
	size_t cnt = 0;

	for (struct cmsghdr *part = CMSG_FIRSTHDR(header); part; part = CMSG_NXTHDR(header, part)) {
		size_t part_cnt = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < part_cnt && cnt < PARSER_MAX_FDS; i++)
			memcpy(&fds[cnt++], CMSG_DATA(part) + i * sizeof(int), sizeof(int));
	}
	return cnt;
}

int parser_message_receive(int socket_fd, int flags, struct parser_message *message,
			   int fds[PARSER_MAX_FDS], size_t *fd_cnt_out)
{
	struct iovec part = { .iov_base = message, .iov_len = sizeof(*message) };
	struct msghdr header = { .msg_iov = &part, .msg_iovlen = 1 };
	union control control;
	size_t fd_cnt = 0;
	ssize_t got;

	if (fds) {
		header.msg_control = control.bytes;
		header.msg_controllen = sizeof(control.bytes);
	}
	do
		got = recvmsg(socket_fd, &header, flags | MSG_CMSG_CLOEXEC);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return errno == ECONNRESET ? -EPIPE : -errno;
	if (got == 0)
		return -EPIPE;
	if (fds)
		fd_cnt = control_take_fds(&header, fds);
	if ((header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) || (size_t)got < MESSAGE_HEAD_BYTES ||
	    message->text_len > PARSER_TEXT_BYTES ||
	    (size_t)got != MESSAGE_HEAD_BYTES + (size_t)message->text_len) {
		while (fd_cnt)
			close(fds[--fd_cnt]);
		return -EBADMSG;
	}
	if (fds)
		*fd_cnt_out = fd_cnt;
	return 0;
}
