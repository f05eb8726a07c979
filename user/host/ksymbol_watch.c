// SPDX-License-Identifier: Apache-2.0
/* See ksymbol_watch.h. */
#include "user/host/ksymbol_watch.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "user/host/perf_event.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/log.h"
#include "user/util/saturate.h"

/* One page of what the kernel says of the ring, one of records: some 50 changes on one CPU between two calls. */
#define RING_PAGES 2

/* KSYM_NAME_LEN, with the zero (include/linux/kallsyms.h; 128 before 6.1). */
#define KSYMBOL_NAME_MAX 512u
#define RECORD_MAX_BYTES (KSYMBOL_NAME_MAX + 128u)

struct ksymbol_ring {
	uint32_t cpu;
	int fd;
	uint64_t enabled_ns; /* of perf_event_has_run() */
	struct perf_event_mmap_page *page;
};

/* PERF_RECORD_KSYMBOL up to its name, as perf_event_ksymbol() in kernel/events/core.c writes it. */
struct ksymbol_record {
	struct perf_event_header header;
	uint64_t address;
	uint32_t len;
	uint16_t type;
	uint16_t flags;
};

struct ksymbol_watch {
	struct ksymbol_ring *rings; /* ascending by CPU */
	size_t cnt;
	bool is_whole; /* there is one for each CPU */
	bool is_lost;  /* since the last call one began or ended, or had no room */
	bool is_told;
};

static size_t page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

static int ring_open(uint32_t cpu, struct ksymbol_ring *out)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED,
		.ksymbol = 1,
		.sample_type = PERF_SAMPLE_TIME,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_BOOTTIME,
	};
	__cleanup_fd int fd =
		(int)syscall(SYS_perf_event_open, &attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);
	void *page;

	if (fd < 0)
		return -errno;
	page = mmap(NULL, RING_PAGES * page_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		return -errno;
	*out = (struct ksymbol_ring){ .cpu = cpu, .fd = take_fd(&fd), .page = page };
	return 0;
}

static void ring_close(struct ksymbol_watch *watch, const struct ksymbol_ring *ring)
{
	watch->is_lost = true;
	munmap(ring->page, RING_PAGES * page_bytes());
	close(ring->fd);
}

struct ksymbol_watch *ksymbol_watch__new(void)
{
	return calloc(1, sizeof(struct ksymbol_watch));
}

void ksymbol_watch__free(struct ksymbol_watch *watch)
{
	if (!watch)
		return;
	for (size_t i = 0; i < watch->cnt; i++)
		ring_close(watch, &watch->rings[i]);
	free(watch->rings);
	free(watch);
}

static void tell_once(struct ksymbol_watch *watch, uint32_t cpu, int err)
{
	if (!watch->is_told)
		pr_debug(
			"probe: BPF programs that come and go are not watched on CPU %u: %s; for a minute one may be taken for another that was in its place\n",
			cpu, errstr(err));
	watch->is_told = true;
}

void ksymbol_watch__follow(struct ksymbol_watch *watch, const uint32_t *cpus, size_t cnt)
{
	struct ksymbol_ring *next = calloc(cnt + 1, sizeof(*next));
	size_t next_cnt = 0, old = 0;

	watch->is_whole = next != NULL;
	if (!next)
		return;
	for (size_t i = 0; i < cnt; i++) {
		int err;

		while (old < watch->cnt && watch->rings[old].cpu < cpus[i])
			ring_close(watch, &watch->rings[old++]);
		if (old < watch->cnt && watch->rings[old].cpu == cpus[i]) {
			struct ksymbol_ring *ring = &watch->rings[old++];

			if (perf_event_has_run(ring->fd, &ring->enabled_ns)) {
				next[next_cnt++] = *ring;
				continue;
			}
			ring_close(watch, ring);
		}
		err = ring_open(cpus[i], &next[next_cnt]);
		if (err) {
			watch->is_whole = false;
			tell_once(watch, cpus[i], err);
		} else {
			next_cnt++;
			watch->is_lost = true;
		}
	}
	while (old < watch->cnt)
		ring_close(watch, &watch->rings[old++]);
	free(watch->rings);
	watch->rings = next;
	watch->cnt = next_cnt;
}

/* ---- records ---- */

/* Copies from the ring, which goes round. */
static void ring_copy(const struct ksymbol_ring *ring, uint64_t at, void *out, size_t len)
{
	const char *data = (const char *)ring->page + page_bytes();
	size_t offset = at % page_bytes();
	size_t first = len < page_bytes() - offset ? len : page_bytes() - offset;

	memcpy(out, data + offset, first);
	memcpy((char *)out + first, data, len - first);
}

/*
 * Where the time of a record is: behind the name, which ends with a zero and is filled up to eight bytes. Not at the
 * end: of several who watch, each makes the record of the next one longer by its own time, and leaves what it was
 * there (perf_event_ksymbol_output() and __perf_event_header__init_id() in kernel/events/core.c).
 */
static size_t time_offset(const char *name, size_t room)
{
	return sizeof(struct ksymbol_record) +
	       (strnlen(name, room) / sizeof(uint64_t) + 1) * sizeof(uint64_t);
}

static void add_change(struct ksymbol_watch *watch, const struct ksymbol_ring *ring, uint64_t at,
		       uint16_t len, struct ksymbol_changes *out)
{
	char name[KSYMBOL_NAME_MAX];
	struct ksymbol_record record = { 0 };
	uint64_t boot_ns = 0;
	size_t name_room, time_at = len;

	if (len > sizeof(record)) {
		name_room = min_u64(len - sizeof(record), sizeof(name));
		ring_copy(ring, at, &record, sizeof(record));
		ring_copy(ring, at + sizeof(record), name, name_room);
		time_at = time_offset(name, name_room);
	}
	if (time_at + sizeof(boot_ns) <= len)
		ring_copy(ring, at + time_at, &boot_ns, sizeof(boot_ns));
	/* Of another form than is known, or too many. */
	if (!boot_ns || out->cnt == KSYMBOL_CHANGES_MAX) {
		watch->is_lost = true;
		return;
	}
	out->items[out->cnt++] = (struct ksymbol_change){
		.start = record.address,
		.end = record.address + record.len,
		.boot_ns = boot_ns,
	};
}

static void ring_take(struct ksymbol_watch *watch, const struct ksymbol_ring *ring,
		      struct ksymbol_changes *out)
{
	uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t at = ring->page->data_tail;
	struct perf_event_header header;

	/* One without room for another record may have lost some: the kernel says so only with the next one. */
	if (head - at > page_bytes() - RECORD_MAX_BYTES)
		watch->is_lost = true;
	for (; at < head; at += header.size) {
		ring_copy(ring, at, &header, sizeof(header));
		if (header.size < sizeof(header) || header.size > head - at) {
			watch->is_lost = true;
			at = head;
			break;
		}
		if (header.type == PERF_RECORD_KSYMBOL)
			add_change(watch, ring, at, header.size, out);
		else if (header.type == PERF_RECORD_LOST)
			watch->is_lost = true;
	}
	__atomic_store_n(&ring->page->data_tail, at, __ATOMIC_RELEASE);
}

void ksymbol_changes_are_all(struct ksymbol_changes *changes)
{
	changes->items[0] = (struct ksymbol_change){
		.end = UINT64_MAX,
		.boot_ns = changes->until_boot_ns,
	};
	changes->cnt = 1;
}

void ksymbol_watch__take(struct ksymbol_watch *watch, struct ksymbol_changes *out)
{
	uint64_t now_ns = clock_boot_ns();

	*out = (struct ksymbol_changes){ .until_boot_ns = now_ns };
	for (size_t i = 0; i < watch->cnt; i++)
		ring_take(watch, &watch->rings[i], out);
	if (watch->is_lost)
		ksymbol_changes_are_all(out);
	watch->is_lost = false;
	if (!watch->is_whole)
		*out = (struct ksymbol_changes){ 0 };
}
