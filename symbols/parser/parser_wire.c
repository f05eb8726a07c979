// SPDX-License-Identifier: Apache-2.0
/* Messages with descriptors over a socket; see parser_wire.h. */
#include "symbols/parser/parser_wire.h"

#include <errno.h>
#include <unistd.h>

#include "user/util/fd_message.h"

#define MESSAGE_HEAD_BYTES offsetof(struct parser_message, text)

_Static_assert(PARSER_MAX_FDS <= FD_MESSAGE_MAX_FDS, "a message carries them all");

int parser_message_send(int socket_fd, const struct parser_message *message, const int *fds,
			size_t fd_cnt)
{
	if (message->text_len > PARSER_TEXT_BYTES || fd_cnt > PARSER_MAX_FDS)
		return -EMSGSIZE;
	return fd_message_send(socket_fd, message, MESSAGE_HEAD_BYTES + (size_t)message->text_len,
			       fds, fd_cnt);
}

int parser_message_receive(int socket_fd, int flags, struct parser_message *message,
			   int fds[PARSER_MAX_FDS], size_t *fd_cnt_out)
{
	size_t len, fd_cnt = 0;
	int err = fd_message_receive(socket_fd, flags, message, sizeof(*message), &len, fds,
				     fds ? PARSER_MAX_FDS : 0, &fd_cnt);

	if (err)
		return err;
	if (len < MESSAGE_HEAD_BYTES || message->text_len > PARSER_TEXT_BYTES ||
	    len != MESSAGE_HEAD_BYTES + (size_t)message->text_len) {
		while (fd_cnt)
			close(fds[--fd_cnt]);
		return -EBADMSG;
	}
	if (fds)
		*fd_cnt_out = fd_cnt;
	return 0;
}
