// SPDX-License-Identifier: Apache-2.0
/* See ban_list.h. A few entries: hanging the profiler takes rights that few containers have. */
#include "user/collect/naming/ban_list.h"

static bool is_same(const struct ban *a, const struct ban *b)
{
	if (a->account || b->account)
		return a->account == b->account;
	return a->pid == b->pid && a->start_ns == b->start_ns;
}

/*
 * The place of the same process or account, else a free one, else that of the ban that ends first.
 */
static struct ban *place_of(struct ban_list *list, const struct ban *who)
{
	struct ban *place = &list->bans[0];

	for (size_t i = 0; i < BAN_LIST_MAX; i++) {
		struct ban *ban = &list->bans[i];

		if (ban->cnt && is_same(ban, who))
			return ban;
		if (place->cnt && (!ban->cnt || ban->until_boot_ns < place->until_boot_ns))
			place = ban;
	}
	return place;
}

const struct ban *ban_list_add(struct ban_list *list, const struct ban *who, uint64_t now_boot_ns)
{
	struct ban *ban = place_of(list, who);
	uint64_t span_ns = BAN_FIRST_NS;
	uint32_t cnt = 1;

	if (ban->cnt && is_same(ban, who) && now_boot_ns < ban->until_boot_ns + BAN_FORGOTTEN_NS)
		cnt = ban->cnt + 1;
	for (uint32_t i = 1; i < cnt && span_ns < BAN_LONGEST_NS; i++)
		span_ns *= 2;
	*ban = *who;
	ban->cnt = cnt;
	ban->until_boot_ns = now_boot_ns + (span_ns < BAN_LONGEST_NS ? span_ns : BAN_LONGEST_NS);
	return ban;
}

void ban_list_put(struct ban_list *list, const struct ban *ban)
{
	struct ban *place = place_of(list, ban);

	*place = *ban;
	if (!place->cnt)
		place->cnt = 1;
}

const struct ban *ban_list_find(const struct ban_list *list, uint64_t account, uint32_t pid,
				uint64_t start_ns, uint64_t now_boot_ns)
{
	for (size_t i = 0; i < BAN_LIST_MAX; i++) {
		const struct ban *ban = &list->bans[i];

		if (!ban->cnt || now_boot_ns >= ban->until_boot_ns)
			continue;
		if (ban->account ? ban->account == account :
				   ban->pid == pid && ban->start_ns == start_ns)
			return ban;
	}
	return NULL;
}
