/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes, and accounts (containers), that made the namer hang or crash: for a while nothing of
 * them is opened, read or asked. A repeated offence is banned twice as long. Pure but for its
 * memory.
 */
#ifndef JBPF_NAMING_BAN_LIST_H
#define JBPF_NAMING_BAN_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BAN_LIST_MAX	 256u
#define BAN_FIRST_NS	 (60 * 1000000000ull)
#define BAN_LONGEST_NS	 (3600 * 1000000000ull)
#define BAN_FORGOTTEN_NS (24 * 3600 * 1000000000ull) /* since its last end */

struct ban {
	uint64_t account; /* 0: only the process */
	uint64_t start_ns;
	uint64_t until_boot_ns;
	uint32_t pid;
	uint32_t cnt; /* how often; 0 = free place */
};

/* Zero-initialise. */
struct ban_list {
	struct ban bans[BAN_LIST_MAX];
};

/* Bans it, longer than the last time. Borrowed until the next call; the oldest makes room. */
const struct ban *ban_list_add(struct ban_list *list, const struct ban *who, uint64_t now_boot_ns);
/* Takes a ban over as it is, from somebody who keeps the list. */
void ban_list_put(struct ban_list *list, const struct ban *ban);
/* The ban in force of this process or its account, or NULL. */
const struct ban *ban_list_find(const struct ban_list *list, uint64_t account, uint32_t pid,
				uint64_t start_ns, uint64_t now_boot_ns);

#endif
