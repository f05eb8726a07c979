/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walk of user stacks (bpf/stack.bpf.h and all below it), compiled for the test itself, over
 * memory, registers and tables that the test fills: what a thread looked like when it was interrupted.
 * No kernel and no rights are needed, and sanitizers see it. Sources are those of the BPF object; only
 * the kernel's side of them, tests/unit/bpf/vmlinux.h, is ours. No program that is shipped has it.
 */
#ifndef JBPF_TESTS_WALK_HOST_H
#define JBPF_TESTS_WALK_HOST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "tests/unit/bpf/vmlinux.h"

/* BPF has functions of its own warnings: of global ones there are no prototypes, ctx is not used. */
#include "bpf/core_compat.bpf.h"
#include "bpf/jbpf_hotspot.h"
#include "bpf/jbpf_leaf.h"
/* Knobs are constant once a program is loaded; a test sets them. */
#define const
#include "bpf/maps.bpf.h"
#undef const
#include "bpf/stack.bpf.h"

#define HOST_PID      4711u
#define HOST_START_NS 1234567890123ull
#define HOST_EXEC_ID  3u
#define HOST_PAGE     4096u

#define HOST_PAGES_MAX	 1024u
#define HOST_ENTRIES_MAX 512u
#define HOST_SENT_MAX	 8u

struct host_page {
	uint64_t at;
	uint8_t bytes[HOST_PAGE];
};

struct host_entry {
	const void *map;
	size_t key_len;
	uint8_t key[48];
	void *value;
};

static struct {
	struct host_page
		*pages[HOST_PAGES_MAX]; /* each an allocation of its own: sanitizers see its end */
	size_t page_cnt;
	/* What is in no page; NULL = nothing. */
	bool (*elsewhere)(uint64_t at, void *to, size_t len);
	struct host_entry entries[HOST_ENTRIES_MAX];
	size_t entry_cnt;
	struct scratch *scratch;
	struct counters counters;
	struct rule_memo rule_memo;
	struct blob_memo blob_memo;
	/* What went out over `stacks`. */
	struct jbpf_stack sent[HOST_SENT_MAX];
	size_t sent_cnt;
	bool is_full; /* the ring */
	size_t read_cnt;
	/* What the kernel's stack of the next sample is. */
	uint64_t kernel[JBPF_MAX_KERNEL_DEPTH];
	size_t kernel_cnt;
	struct task_struct task;
} host_;

/* ---- memory ---- */

static struct host_page *host_page_of(uint64_t address)
{
	for (size_t i = 0; i < host_.page_cnt; i++)
		if (host_.pages[i]->at == (address & ~(uint64_t)(HOST_PAGE - 1)))
			return host_.pages[i];
	return NULL;
}

/* Pages of zeros; some may be there already. */
static void memory_map(uint64_t at, uint64_t len)
{
	uint64_t end = at + len;

	for (at &= ~(uint64_t)(HOST_PAGE - 1); at < end; at += HOST_PAGE) {
		if (host_page_of(at))
			continue;
		assert_true(host_.page_cnt < HOST_PAGES_MAX);
		host_.pages[host_.page_cnt] = calloc(1, sizeof(**host_.pages));
		assert_non_null(host_.pages[host_.page_cnt]);
		host_.pages[host_.page_cnt++]->at = at;
	}
}

static void memory_unmap(uint64_t at)
{
	struct host_page *page = host_page_of(at);

	assert_non_null(page);
	for (size_t i = 0; i < host_.page_cnt; i++)
		if (host_.pages[i] == page)
			host_.pages[i] = host_.pages[--host_.page_cnt];
	free(page);
}

static uint8_t *memory_byte(uint64_t address)
{
	struct host_page *page = host_page_of(address);

	return page ? &page->bytes[address & (HOST_PAGE - 1)] : NULL;
}

static void memory_put(uint64_t at, const void *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		assert_non_null(memory_byte(at + i));
		*memory_byte(at + i) = ((const uint8_t *)bytes)[i];
	}
}

static void memory_word(uint64_t at, uint64_t word)
{
	memory_put(at, &word, sizeof(word));
}

static bool memory_read(uint64_t at, void *to, size_t len)
{
	while (len) {
		size_t part = HOST_PAGE - (at & (HOST_PAGE - 1));
		const uint8_t *from = memory_byte(at);

		part = part < len ? part : len;
		if (from)
			memcpy(to, from, part);
		else if (!host_.elsewhere || !host_.elsewhere(at, to, part))
			return false;
		at += part;
		to = (uint8_t *)to + part;
		len -= part;
	}
	return true;
}

/* 0 where nothing is. */
static uint64_t memory_word_at(uint64_t at)
{
	uint64_t word = 0;

	return memory_read(at, &word, sizeof(word)) ? word : 0;
}

/* ---- maps ---- */

static struct host_entry *entry_of(const void *map, const void *key)
{
	for (size_t i = 0; i < host_.entry_cnt; i++) {
		struct host_entry *entry = &host_.entries[i];

		if (entry->map == map && memcmp(entry->key, key, entry->key_len) == 0)
			return entry;
	}
	return NULL;
}

static void entry_put(const void *map, const void *key, size_t key_len, const void *value,
		      size_t value_len)
{
	struct host_entry *entry = entry_of(map, key);

	if (!entry) {
		assert_true(host_.entry_cnt < HOST_ENTRIES_MAX && key_len <= sizeof(entry->key));
		entry = &host_.entries[host_.entry_cnt++];
		*entry = (struct host_entry){ .map = map, .key_len = key_len };
		memcpy(entry->key, key, key_len);
	}
	free(entry->value);
	entry->value = malloc(value_len);
	assert_non_null(entry->value);
	memcpy(entry->value, value, value_len);
}

/* What user space writes into a map. */
#define MAP_PUT(map, key_at, value_at) \
	entry_put(&(map), key_at, sizeof(*(map).key), value_at, sizeof(*(map).value))

static void *bpf_map_lookup_elem(void *map, const void *key)
{
	const struct host_entry *entry;

	if (map == &scratch)
		return host_.scratch;
	if (map == &counters)
		return &host_.counters;
	if (map == &rule_memo)
		return &host_.rule_memo;
	if (map == &blob_memo)
		return &host_.blob_memo;
	entry = entry_of(map, key);
	return entry ? entry->value : NULL;
}

/* Only of `seen`. */
static long bpf_map_update_elem(void *map, const void *key, const void *value, __u64 flags)
{
	assert_true(map == &seen && flags == BPF_NOEXIST);
	if (entry_of(map, key))
		return -EEXIST;
	MAP_PUT(seen, key, value);
	return 0;
}

static long bpf_map_delete_elem(void *map, const void *key)
{
	struct host_entry *entry = entry_of(map, key);

	if (!entry)
		return -ENOENT;
	free(entry->value);
	*entry = host_.entries[--host_.entry_cnt];
	return 0;
}

/* ---- other helpers ---- */

static long bpf_probe_read_user(void *to, __u32 len, const void *from)
{
	host_.read_cnt++;
	if (memory_read((uint64_t)(uintptr_t)from, to, len))
		return 0;
	memset(to, 0, len); /* bpf_probe_read_user_common(), kernel/trace/bpf_trace.c */
	return -EFAULT;
}

static long bpf_probe_read_kernel(void *to, __u32 len, const void *from)
{
	memcpy(to, from, len);
	return 0;
}

static __u64 bpf_get_current_pid_tgid(void)
{
	return (__u64)HOST_PID << 32 | HOST_PID;
}

static __u64 bpf_get_current_task(void)
{
	return (__u64)(uintptr_t)&host_.task;
}

static long bpf_get_stack(void *ctx, void *to, __u32 bytes, __u64 flags)
{
	assert_true(host_.kernel_cnt * sizeof(__u64) <= bytes);
	memcpy(to, host_.kernel, host_.kernel_cnt * sizeof(__u64));
	return host_.kernel_cnt ? (long)(host_.kernel_cnt * sizeof(__u64)) : -EFAULT;
}

static __u64 bpf_ringbuf_query(void *ring, __u64 flags)
{
	assert_true(ring == &stacks && flags == BPF_RB_AVAIL_DATA);
	return 0;
}

static long bpf_ringbuf_output(void *ring, void *bytes, __u64 len, __u64 flags)
{
	const struct jbpf_stack *head = bytes;

	assert_true(ring == &stacks && host_.sent_cnt < HOST_SENT_MAX);
	assert_int_equal(len, sizeof(*head) + head->frame_cnt * sizeof(__u64));
	if (host_.is_full)
		return -EAGAIN;
	host_.sent[host_.sent_cnt++] = *head;
	return 0;
}

/* ---- a test ---- */

/* Nothing is mapped, nothing is in the maps, knobs are as they are by default. */
static int host_begin(void **state)
{
	memset(&host_, 0, sizeof(host_));
	host_.scratch = calloc(1, sizeof(*host_.scratch));
	max_depth = JBPF_MAX_DEPTH;
	return host_.scratch ? 0 : -1;
}

static int host_end(void **state)
{
	for (size_t i = 0; i < host_.page_cnt; i++)
		free(host_.pages[i]);
	for (size_t i = 0; i < host_.entry_cnt; i++)
		free(host_.entries[i].value);
	free(host_.scratch);
	return 0;
}

/* A stack as it would be sent. */
struct walked {
	struct jbpf_stack head;
	const uint64_t *words;
};

/* The process is interrupted with these registers. */
static struct walked walk_life(uint64_t ip, uint64_t sp, uint64_t fp, uint64_t start_ns,
			       uint32_t exec_id)
{
	struct scratch *own = host_.scratch;

	own->key = (struct jbpf_key){ .pid = HOST_PID, .start_ns = start_ns, .exec_id = exec_id };
	own->regs = (struct user_regs){ .ip = ip, .sp = sp, .fp = fp, .is_user = true };
	assert_int_equal(stack_take_user(NULL), 0);
	return (struct walked){ own->user.head, (const uint64_t *)own->user.ips };
}

static struct walked walk(uint64_t ip, uint64_t sp, uint64_t fp)
{
	return walk_life(ip, sp, fp, HOST_START_NS, HOST_EXEC_ID);
}

static uint64_t counted(enum jbpf_counter what)
{
	return host_.counters.cnt[what];
}

/* The words and why they end. */
static inline void assert_walked(const struct walked *walked, enum jbpf_stack_end end,
				 const uint64_t *words, size_t cnt)
{
	for (size_t i = 0; i < cnt && i < walked->head.frame_cnt; i++)
		if (walked->words[i] != words[i])
			fail_msg("word %zu is %#llx and not %#llx", i,
				 (unsigned long long)walked->words[i],
				 (unsigned long long)words[i]);
	assert_int_equal(walked->head.frame_cnt, cnt);
	assert_int_equal(walked->head.end, end);
}

#define ASSERT_WALKED(walked, end, ...)                                                    \
	do {                                                                               \
		const uint64_t wanted_[] = { __VA_ARGS__ };                                \
		assert_walked(walked, end, wanted_, sizeof(wanted_) / sizeof(wanted_[0])); \
	} while (0)

#endif
