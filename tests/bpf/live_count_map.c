// SPDX-License-Identifier: Apache-2.0
/*
 * Empties real count maps by both ways and compares, after a look at them, too (root). Prints "ok"; the first difference and
 * exit code 1 otherwise. Sizes: none, one, many, all a map holds. So with forgetting stacks.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/collect/probe/count_map.h"
#include "user/util/cleanup.h"

#define MAP_ENTRIES 4096

typedef int (*drain_fn)(int map_fd, struct jbpf_key *keys, struct jbpf_value *values, uint32_t max,
			uint32_t *cnt_out);

static struct jbpf_key keys[MAP_ENTRIES];
static struct jbpf_value values[MAP_ENTRIES];

static int fail(const char *what, uint32_t cnt, int number)
{
	fprintf(stderr, "%u entries: %s: %d\n", cnt, what, number);
	return 1;
}

/* Fills, drains, and looks whether each key came once with its value and none is left. */
static int try_drain(int map_fd, drain_fn drain, uint32_t cnt)
{
	__cleanup_free unsigned char *is_seen = calloc(MAP_ENTRIES, 1);
	struct jbpf_key key = { .exec_id = 3, .cgroup_id = 1 };
	uint32_t got = 99;
	int err;

	if (!is_seen)
		return fail("memory", cnt, 0);
	for (uint32_t i = 0; i < cnt; i++) {
		struct jbpf_value value = { .count = 1000 + i };

		key.pid = i;
		err = bpf_map_update_elem(map_fd, &key, &value, BPF_NOEXIST);
		if (err)
			return fail("update", cnt, err);
	}
	err = drain(map_fd, keys, values, MAP_ENTRIES, &got);
	if (err || got != cnt)
		return fail("drain gave", cnt, err ? err : (int)got);
	for (uint32_t i = 0; i < got; i++) {
		if (keys[i].pid >= cnt || is_seen[keys[i].pid]++)
			return fail("key twice or unknown", cnt, (int)keys[i].pid);
		if (values[i].count != 1000 + keys[i].pid || keys[i].exec_id != 3)
			return fail("value of another key", cnt, (int)keys[i].pid);
	}
	err = bpf_map_get_next_key(map_fd, NULL, &key);
	return err == -ENOENT ? 0 : fail("map is not empty", cnt, err);
}

/* A look takes nothing away: a drain finds the same afterwards. */
static int copy_then_drain(int map_fd, struct jbpf_key *keys_out, struct jbpf_value *values_out,
			   uint32_t max, uint32_t *cnt_out)
{
	static struct jbpf_key copied_keys[MAP_ENTRIES];
	static struct jbpf_value copied_values[MAP_ENTRIES];
	__cleanup_free unsigned char *is_seen = calloc(MAP_ENTRIES, 1);
	uint32_t copied = 0;
	int err = is_seen ? count_map_copy(map_fd, copied_keys, copied_values, max, &copied) :
			    -ENOMEM;

	for (uint32_t i = 0; i < copied && !err; i++)
		if (copied_keys[i].pid >= MAP_ENTRIES || is_seen[copied_keys[i].pid]++ ||
		    copied_values[i].count != 1000 + copied_keys[i].pid)
			err = -EBADMSG;
	if (!err)
		err = count_map_drain(map_fd, keys_out, values_out, max, cnt_out);
	return !err && copied != *cnt_out ? -ERANGE : err;
}

/* Every third stack is not in the map: those behind it must be deleted all the same. */
static int try_forget(uint32_t cnt)
{
	static uint64_t hashes[MAP_ENTRIES];
	uint64_t kept = UINT64_MAX, next;
	__u8 one = 1;
	__cleanup_fd int map_fd = bpf_map_create(BPF_MAP_TYPE_HASH, "test_seen", sizeof(hashes[0]),
						 sizeof(one), MAP_ENTRIES, NULL);
	int err = map_fd < 0 ? map_fd : bpf_map_update_elem(map_fd, &kept, &one, BPF_ANY);

	for (uint32_t i = 0; i < cnt && !err; i++) {
		hashes[i] = 1000 + i;
		if (i % 3)
			err = bpf_map_update_elem(map_fd, &hashes[i], &one, BPF_ANY);
	}
	if (err)
		return fail("fill", cnt, err);
	count_map_forget(map_fd, hashes, cnt);
	err = bpf_map_get_next_key(map_fd, NULL, &next);
	if (err || next != kept)
		return fail("forget left", cnt, err ? err : (int)next);
	err = bpf_map_get_next_key(map_fd, &kept, &next);
	return err == -ENOENT ? 0 : fail("forget left another one", cnt, (int)next);
}

int main(void)
{
	static const uint32_t sizes[] = { 0, 1, 2, 3000, MAP_ENTRIES };
	__cleanup_fd int map_fd = -1;
	int failed = 0;

	map_fd = count_map_create("test_counts", MAP_ENTRIES);
	if (map_fd < 0)
		return fail("create", 0, map_fd);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		failed |= try_drain(map_fd, count_map_drain, sizes[i]);
		failed |= try_drain(map_fd, count_map_drain_each, sizes[i]);
		failed |= try_drain(map_fd, copy_then_drain, sizes[i]);
		failed |= try_forget(sizes[i] ? sizes[i] - 1 : 0);
	}
	if (!failed)
		puts("ok");
	return failed;
}
