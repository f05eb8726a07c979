/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store as the commands meet it: messages when it cannot be opened or is damaged.
 *
 * In: a directory. Out: a store_source, which the caller owns, messages on stderr, and exit codes.
 */
#ifndef JBPF_CLI_CMD_STORE_H
#define JBPF_CLI_CMD_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/store/store_source.h"

/* Opens it, or prints why that failed. 0 or -errno. */
__must_check int cmd_store_open(const char *dir, struct store_source **out);
/*
 * The same for an event's samples. -ENODATA: the store is there, but has none of the event;
 * printed, with those that it has.
 */
__must_check int cmd_store_open_event(const char *dir, enum event event, struct store_source **out);

/* Of the first and last sample of a store: Unix ns, both 0 when it has none that can be read. */
struct cmd_store_range {
	uint64_t first_unix_ns;
	uint64_t last_unix_ns;
	bool is_first_unsure; /* older ones could not be read */
	bool is_last_unsure;  /* the newest hours could not be read */
};

/*
 * Reads the first window and the newest hours of each part, nothing between them. 0 or -errno; *out is only set
 * with 0, and -EIO means that the newest hours could not be read.
 */
__must_check int cmd_store_range(struct store_source *source, struct cmd_store_range *out);
/* The same of what can be read: it may be unsure at both ends. */
__must_check int cmd_store_range_known(struct store_source *source, struct cmd_store_range *out);
/*
 * When the last window ended, also one without samples, which a host that does nothing has; 0 = there is none.
 * 0, -EIO as above, or -errno.
 */
__must_check int cmd_store_last_window(struct store_source *source, uint64_t *last_unix_ns_out);

#define CMD_STORE_DAMAGE_NAMED 10

/*
 * Counts damaged stretches and names the first few. A stretch that is named counts once, because a
 * day may be read several times. Zero-initialise.
 */
struct cmd_store_damage {
	size_t cnt;
	bool is_unreadable; /* the disk failed to read some that may be intact */
	uint64_t named[CMD_STORE_DAMAGE_NAMED]; /* hashes of the stretches that were named */
};

/* `cnt` of one of which nothing is named any more: what is read again was told the first time. */
#define CMD_STORE_DAMAGE_TOLD (SIZE_MAX / 2)

/* Where it begins, as a number: a hash of the file's path and the offset. */
uint64_t cmd_store_damage_place(const struct store_damage *stretch);
void cmd_store_damage_note(struct cmd_store_damage *damage, const struct store_damage *stretch);
/* Prints how many were not named. */
void cmd_store_damage_end(const struct cmd_store_damage *damage);

/*
 * The exit code of a command that has read the store and would end with `code`: a failure when
 * unreadable data is missing in its result.
 */
int cmd_store_damage_code(const struct cmd_store_damage *damage, int code);

#endif
