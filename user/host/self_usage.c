// SPDX-License-Identifier: Apache-2.0
/* See self_usage.h. */
#include "user/host/self_usage.h"

#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "user/util/clock.h"
#include "user/util/fs.h"
#include "user/util/parse.h"

#define STATM_BYTES 4096

static uint64_t timeval_ns(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * CLOCK_NS_PER_S + (uint64_t)time->tv_usec * 1000;
}

static uint64_t cpu_ns(int who)
{
	struct rusage usage;

	if (getrusage(who, &usage))
		return 0;
	return timeval_ns(&usage.ru_utime) + timeval_ns(&usage.ru_stime);
}

uint64_t self_usage_cpu_ns(void)
{
	return cpu_ns(RUSAGE_SELF);
}

uint64_t self_usage_children_cpu_ns(void)
{
	return cpu_ns(RUSAGE_CHILDREN);
}

/* Second field of statm, in pages: proc(5). */
uint64_t self_usage_resident_bytes(void)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	const char *at;
	uint64_t pages;

	if (fs_read_file(AT_FDCWD, "/proc/self/statm", STATM_BYTES, &text))
		return 0;
	at = strchr(strbuf_str(&text), ' ');
	if (!at || parse_u64_n(at + 1, strcspn(at + 1, " "), 10, &pages))
		return 0;
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}
