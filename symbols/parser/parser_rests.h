/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that did not come in time: a disk that is busy, or a server that does not answer. That says
 * nothing of what is in them, so they are read again, but not at once: each attempt holds up whoever
 * waits for the parser. One thread.
 */
#ifndef JBPF_PARSER_PARSER_RESTS_H
#define JBPF_PARSER_PARSER_RESTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "user/util/attributes.h"

#define PARSER_RESTS_MAX 256u /* as many file systems of accounts */
/*
 * So many files that did not come, of whatever account, and no file is read until the first of them has rested:
 * each took a second of the one process that names. 12 s in a minute.
 */
#define PARSER_RESTS_OF_ALL 12u

/* One file of a file system; from the second one on all that the account has there. */
struct parser_rest {
	uint64_t account_id;
	dev_t device;
	ino_t inode;		/* 0: all of the device */
	uint64_t until_boot_ns; /* 0 = free */
};

/* Zeroed: none. */
struct parser_rests {
	struct parser_rest items[PARSER_RESTS_MAX]; /* a ring */
	size_t next;
	uint64_t lately[PARSER_RESTS_OF_ALL]; /* when the rests of the last ones end; a ring */
	size_t lately_next;
};

/* What cannot be asked for its inode does not rest by itself. */
bool parser_rests_has(const struct parser_rests *rests, uint64_t account_id, int fd,
		      uint64_t now_boot_ns) __no_null;
void parser_rests_note(struct parser_rests *rests, uint64_t account_id, int fd,
		       uint64_t now_boot_ns, uint64_t rest_ns) __no_null;

#endif
