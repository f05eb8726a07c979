// SPDX-License-Identifier: Apache-2.0
/* See parser_rests.h. */
#include "symbols/parser/parser_rests.h"

#include <sys/stat.h>

#include "user/files/container_file.h"

#define WHOLE_DEVICE 0 /* as an inode: no file has it (get_next_ino() in fs/inode.c skips it) */

static bool is_of(const struct parser_rest *rest, uint64_t account_id, const struct stat *st,
		  uint64_t now_boot_ns)
{
	return rest->until_boot_ns > now_boot_ns && rest->account_id == account_id &&
	       rest->device == st->st_dev;
}

/* Did so many files hold the parser up within one rest that others get no answers for them? */
static bool all_rest(const struct parser_rests *rests, uint64_t now_boot_ns)
{
	for (size_t i = 0; i < PARSER_RESTS_OF_ALL; i++)
		if (rests->lately[i] <= now_boot_ns)
			return false;
	return true;
}

bool parser_rests_has(const struct parser_rests *rests, uint64_t account_id, int fd,
		      uint64_t now_boot_ns)
{
	struct stat st;

	if (all_rest(rests, now_boot_ns))
		return true;
	if (container_file_stat(fd, &st))
		return false;
	for (size_t i = 0; i < PARSER_RESTS_MAX; i++) {
		const struct parser_rest *rest = &rests->items[i];

		if (is_of(rest, account_id, &st, now_boot_ns) &&
		    (rest->inode == st.st_ino || rest->inode == WHOLE_DEVICE))
			return true;
	}
	return false;
}

void parser_rests_note(struct parser_rests *rests, uint64_t account_id, int fd,
		       uint64_t now_boot_ns, uint64_t rest_ns)
{
	uint64_t until_ns = now_boot_ns + rest_ns;
	struct parser_rest *rest = NULL;
	struct stat st;

	rests->lately[rests->lately_next++ % PARSER_RESTS_OF_ALL] = until_ns;
	if (container_file_stat(fd, &st))
		return;
	for (size_t i = 0; i < PARSER_RESTS_MAX && !rest; i++)
		if (is_of(&rests->items[i], account_id, &st, now_boot_ns))
			rest = &rests->items[i];
	if (rest) {
		rest->inode = WHOLE_DEVICE;
		rest->until_boot_ns = until_ns;
		return;
	}
	rests->items[rests->next++ % PARSER_RESTS_MAX] = (struct parser_rest){
		.account_id = account_id,
		.device = st.st_dev,
		.inode = st.st_ino,
		.until_boot_ns = until_ns,
	};
}
