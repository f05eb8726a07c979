// SPDX-License-Identifier: Apache-2.0
/* See parser_rests.h. */
#include "symbols/parser/parser_rests.h"

#include <sys/stat.h>

#include "user/files/container_file.h"

bool parser_rests_has(const struct parser_rests *rests, uint64_t account_id, int fd,
		      uint64_t now_boot_ns)
{
	uint32_t of_device = 0;
	struct stat st;

	if (container_file_stat(fd, &st))
		return false;
	for (size_t i = 0; i < PARSER_RESTS_MAX; i++) {
		const struct parser_rest *rest = &rests->items[i];

		if (rest->until_boot_ns <= now_boot_ns || rest->account_id != account_id ||
		    rest->device != st.st_dev)
			continue;
		if (rest->inode == st.st_ino || ++of_device == PARSER_RESTS_OF_DEVICE)
			return true;
	}
	return false;
}

void parser_rests_note(struct parser_rests *rests, uint64_t account_id, int fd,
		       uint64_t until_boot_ns)
{
	struct stat st;

	if (container_file_stat(fd, &st))
		return;
	rests->items[rests->next++ % PARSER_RESTS_MAX] = (struct parser_rest){
		.account_id = account_id,
		.device = st.st_dev,
		.inode = st.st_ino,
		.until_boot_ns = until_boot_ns,
	};
}
