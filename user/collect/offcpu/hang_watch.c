// SPDX-License-Identifier: Apache-2.0
/* See hang_watch.h. */
#include "user/collect/offcpu/hang_watch.h"

uint32_t hang_watch_poll(struct hang_watch *watch, const volatile struct jbpf_pass *pass,
			 uint64_t now_ns)
{
	uint64_t begin_ns = pass->begin_ns, copies = pass->copies;
	uint32_t tgid = begin_ns > pass->end_ns ? pass->tgid : 0;
	bool is_same = tgid && tgid == watch->tgid && copies == watch->copies &&
		       begin_ns == watch->begin_ns;

	if (!is_same) {
		watch->tgid = tgid;
		watch->copies = copies;
		watch->begin_ns = begin_ns;
		watch->polls = 0;
	} else if (now_ns < watch->poll_ns + HANG_WATCH_POLL_NS) {
		return 0;
	}
	watch->poll_ns = now_ns;
	watch->polls++;
	return tgid && watch->polls > HANG_WATCH_POLLS ? tgid : 0;
}

static bool is_over(const struct hang_watch_ban *ban, uint64_t now_ns)
{
	return now_ns >= ban->since_ns + ban->for_ns;
}

/* That of the process, else a free one, else the oldest. */
static struct hang_watch_ban *ban_for(struct hang_watch *watch, uint32_t tgid)
{
	struct hang_watch_ban *found = &watch->bans[0];

	for (size_t i = 0; i < JBPF_HUNG_MAX; i++) {
		struct hang_watch_ban *ban = &watch->bans[i];

		if (ban->tgid == tgid)
			return ban;
		if (ban->since_ns < found->since_ns)
			found = ban;
	}
	return found;
}

void hang_watch_ban(struct hang_watch *watch, uint32_t tgid, uint64_t now_ns)
{
	struct hang_watch_ban *ban = ban_for(watch, tgid);
	uint64_t for_ns = ban->tgid == tgid ? 10 * ban->for_ns : HANG_WATCH_FIRST_NS;

	*ban = (struct hang_watch_ban){
		.tgid = tgid,
		.since_ns = now_ns,
		.for_ns = for_ns < HANG_WATCH_MAX_NS ? for_ns : HANG_WATCH_MAX_NS,
	};
}

size_t hang_watch_banned(const struct hang_watch *watch, uint64_t now_ns,
			 uint32_t out[static JBPF_HUNG_MAX])
{
	size_t cnt = 0;

	for (size_t i = 0; i < JBPF_HUNG_MAX; i++)
		if (watch->bans[i].tgid && !is_over(&watch->bans[i], now_ns))
			out[cnt++] = watch->bans[i].tgid;
	return cnt;
}
