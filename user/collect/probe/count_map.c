// SPDX-License-Identifier: Apache-2.0
/* See count_map.h. */
#include "user/collect/probe/count_map.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdbool.h>

#include "user/util/clock.h"

#define COUNT_MAP_STEP 4096

uint32_t count_map_entries(uint32_t frequency_hz, size_t cpu_cnt, uint64_t window_ns)
{
	/*
	 * A quarter more than one key per sample, which account.bpf.h counts on. Windows are never
	 * shorter than asked for.
	 */
	double samples = (double)frequency_hz * (double)cpu_cnt * (double)window_ns /
			 (double)CLOCK_NS_PER_S * 1.25;

	if (samples >= COUNT_MAP_MAX_ENTRIES)
		return COUNT_MAP_MAX_ENTRIES;
	return ((uint32_t)samples / COUNT_MAP_STEP + 1) * COUNT_MAP_STEP;
}

int count_map_create(const char *name, uint32_t entries)
{
	return bpf_map_create(BPF_MAP_TYPE_HASH, name, sizeof(struct jbpf_key),
			      sizeof(struct jbpf_value), entries, NULL);
}

int count_map_drain_each(int map_fd, struct jbpf_key *keys, struct jbpf_value *values, uint32_t max,
			 uint32_t *cnt_out)
{
	uint32_t cnt = 0;
	int err = bpf_map_get_next_key(map_fd, NULL, &keys[0]);

	/*
	 * The next key is fetched while the present one is still there. Asking for the first key
	 * again after each delete would walk the empty buckets every time.
	 */
	while (!err) {
		struct jbpf_key next;
		int next_err;

		err = bpf_map_lookup_elem(map_fd, &keys[cnt], &values[cnt]);
		if (err)
			break;
		next_err = bpf_map_get_next_key(map_fd, &keys[cnt], &next);
		err = bpf_map_delete_elem(map_fd, &keys[cnt]);
		if (err)
			break;
		cnt++;
		err = next_err;
		if (!err && cnt == max)
			err = -E2BIG;
		if (!err)
			keys[cnt] = next;
	}
	*cnt_out = cnt;
	return err == -ENOENT ? 0 : err;
}

typedef int (*batch_fn)(int map_fd, void *in_batch, void *out_batch, void *keys, void *values,
			__u32 *cnt, const struct bpf_map_batch_opts *options);

/* 0 or -errno, and what was taken so far. */
static int take_batches(batch_fn take, int map_fd, struct jbpf_key *keys, struct jbpf_value *values,
			uint32_t max, uint32_t *cnt_out)
{
	__u32 next_batch = 0;
	uint32_t cnt = 0;
	int err = 0;

	while (!err && cnt < max) {
		__u32 got = max - cnt;

		err = take(map_fd, cnt ? &next_batch : NULL, &next_batch, keys + cnt, values + cnt,
			   &got, NULL);
		/* At the end of the map -ENOENT comes with the last keys. */
		if (!err || err == -ENOENT)
			cnt += got;
	}
	*cnt_out = cnt;
	return err == -ENOENT ? 0 : err;
}

int count_map_copy(int map_fd, struct jbpf_key *keys, struct jbpf_value *values, uint32_t max,
		   uint32_t *cnt_out)
{
	return take_batches(bpf_map_lookup_batch, map_fd, keys, values, max, cnt_out);
}

int count_map_drain(int map_fd, struct jbpf_key *keys, struct jbpf_value *values, uint32_t max,
		    uint32_t *cnt_out)
{
	uint32_t cnt = 0;
	int err = take_batches(bpf_map_lookup_and_delete_batch, map_fd, keys, values, max, &cnt);

	*cnt_out = cnt;
	if (!err)
		return 0;
	/* No batches (5.5 and older, or switched off), or a bucket that does not fit (-ENOSPC). */
	err = count_map_drain_each(map_fd, keys + cnt, values + cnt, max - cnt, cnt_out);
	*cnt_out += cnt;
	return err;
}

void count_map_forget(int map_fd, const uint64_t *hashes, size_t cnt)
{
	size_t at = 0;
	int err = 0;

	while (at < cnt) {
		size_t left = cnt - at;
		__u32 done = left < UINT32_MAX ? (__u32)left : UINT32_MAX;

		err = bpf_map_delete_batch(map_fd, hashes + at, &done, NULL);
		if (err && err != -ENOENT)
			break;
		/* It stops at the first that is gone already. */
		at += done + (err == -ENOENT);
	}
	for (; at < cnt; at++)
		(void)bpf_map_delete_elem(map_fd, &hashes[at]);
}
