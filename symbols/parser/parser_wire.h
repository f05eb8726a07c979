/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages between the profiler and its parser process over a SOCK_SEQPACKET socket. Both are
 * the same program, so numbers are in the machine's own order; but an input may have taken the
 * parser over, so the profiler checks each message as if it came from a stranger.
 *
 *     profiler                                  parser
 *     REQUEST file, reply memory ------------->
 *              <------------------------------- WANTS a debug file   (some requests, some times)
 *     FILE or none --------------------------->
 *              <------------------------------- DONE; the result is here or in the reply memory
 */
#ifndef JBPF_PARSER_PARSER_WIRE_H
#define JBPF_PARSER_PARSER_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"

#define PARSER_TEXT_BYTES  4096u
#define PARSER_MAX_NUMBERS 16u
#define PARSER_MAX_FDS	   2u

#define PARSER_CONTAINER_MAX_BYTES (1u << 20) /* of a runtime's JSON */

enum parser_message_kind {
	PARSER_MESSAGE_NONE = 0,
	/* Requests. Descriptors: the file, and the reply memory where the result is a table. */
	PARSER_MESSAGE_ELF = 1,	     /* numbers: file size; text: last part of its path */
	PARSER_MESSAGE_LIBJVM = 2,   /* numbers: file size, start, end, file_offset */
	PARSER_MESSAGE_PERFMAP = 3,  /* numbers: file size */
	PARSER_MESSAGE_DEMANGLE = 4, /* text: the name */
	/* To the parser. Descriptor: the file, or none and err. */
	PARSER_MESSAGE_FILE = 5, /* numbers: file size */
	/* From the parser. */
	PARSER_MESSAGE_DONE = 6, /* numbers and text: see parser.c */
	/* Numbers: enum debug_file_place, _root; text: build id or name. */
	PARSER_MESSAGE_WANTS = 7,
	PARSER_MESSAGE_READY = 8, /* once, at the start; numbers: features of the sandbox */
	/* A request, too. Numbers: file size, enum container_json_kind; text: id of the container */
	PARSER_MESSAGE_CONTAINER = 9,
	PARSER_MESSAGE_UNWIND = 10, /* a request; numbers: file size */
};

struct parser_message {
	uint32_t kind;
	int32_t err; /* 0 or -errno */
	uint64_t id; /* of the request; DONE, WANTS and FILE repeat it */
	uint64_t numbers[PARSER_MAX_NUMBERS];
	uint64_t text_len;
	char text[PARSER_TEXT_BYTES + 8]; /* not NUL-terminated; only text_len bytes travel */
};

/* 0 or -errno. -EMSGSIZE: text_len is too large. */
__must_check int parser_message_send(int socket_fd, const struct parser_message *message,
				     const int *fds, size_t fd_cnt);

/*
 * Waits for a message unless `flags` says MSG_DONTWAIT. With `fds` up to PARSER_MAX_FDS descriptors
 * are taken, which are then the caller's; with NULL none reaches the process. 0; -EPIPE: the other
 * end is closed; -EBADMSG: not a message; -errno.
 */
__must_check int parser_message_receive(int socket_fd, int flags, struct parser_message *message,
					int fds[PARSER_MAX_FDS], size_t *fd_cnt_out);

#endif
