// SPDX-License-Identifier: Apache-2.0
/*
 * Unwind tables and mappings of processes in real maps (root): what is written and what is dropped,
 * and what happens when a map is full. Prints "ok"; each difference and exit code 1 otherwise.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "user/collect/probe/probe_unwind.h"
#include "user/util/cleanup.h"
#include "user/util/log.h"

#define CHUNKS_MAX 8
#define WORDS	   JBPF_UNWIND_CHUNK_WORDS

static struct probe_unwind unwind;
static uint32_t words[CHUNKS_MAX * WORDS + 1];
static int failed_cnt;

static void expect(const char *what, long got, long expected)
{
	if (got == expected)
		return;
	fprintf(stderr, "%s: %ld, not %ld\n", what, got, expected);
	failed_cnt++;
}

static uint32_t chunk_cnt(void)
{
	uint32_t key = 0, cnt = 0;
	bool is_first = true;

	while (!bpf_map_get_next_key(unwind.chunks_fd, is_first ? NULL : &key, &key)) {
		is_first = false;
		cnt++;
	}
	return cnt;
}

/* A word of a table as programs find it. */
static long word_at(uint32_t table_id, uint32_t at)
{
	uint32_t key = table_id << JBPF_UNWIND_CHUNK_BITS | at / WORDS;
	uint32_t chunk[WORDS];
	int err = bpf_map_lookup_elem(unwind.chunks_fd, &key, chunk);

	return err ? err : (long)chunk[at % WORDS];
}

static void try_tables(void)
{
	expect("no id", probe_unwind_set_table(&unwind, 0, words, 1), -EINVAL);
	expect("an id too large",
	       probe_unwind_set_table(&unwind, JBPF_UNWIND_MAX_TABLE + 1, words, 1), -EINVAL);
	expect("no words", probe_unwind_set_table(&unwind, 1, words, 0), -EINVAL);
	expect("too many words",
	       probe_unwind_set_table(&unwind, 1, words, JBPF_UNWIND_MAX_WORDS + 1), -EINVAL);
	expect("nothing was written", chunk_cnt(), 0);

	expect("a table", probe_unwind_set_table(&unwind, 7, words, 2 * WORDS + 1), 0);
	expect("another", probe_unwind_set_table(&unwind, JBPF_UNWIND_MAX_TABLE, words, WORDS), 0);
	expect("four chunks", chunk_cnt(), 4);
	expect("its first word", word_at(7, 0), words[0]);
	expect("its last word", word_at(7, 2 * WORDS), words[2 * WORDS]);
	expect("none behind it", word_at(7, 2 * WORDS + 1), 0);
	expect("the other's last word", word_at(JBPF_UNWIND_MAX_TABLE, WORDS - 1),
	       words[WORDS - 1]);

	expect("one that does not fit", probe_unwind_set_table(&unwind, 8, words, 5 * WORDS),
	       -ENOSPC);
	expect("nothing of it is left", chunk_cnt(), 4);
	expect("one that fits to the word", probe_unwind_set_table(&unwind, 8, words, 4 * WORDS),
	       0);
	probe_unwind_drop_table(&unwind, 7);
	probe_unwind_drop_table(&unwind, 0);
	expect("dropped", chunk_cnt(), 5);
	expect("the others stay", word_at(8, 0), words[0]);
	probe_unwind_drop_table(&unwind, 8);
	probe_unwind_drop_table(&unwind, JBPF_UNWIND_MAX_TABLE);
	expect("all dropped", chunk_cnt(), 0);
}

static struct jbpf_space space_of(uint64_t start_ns, uint32_t exec_id)
{
	struct jbpf_space space = { .start_ns = start_ns, .exec_id = exec_id };

	memset(space.start, 0xff, sizeof(space.start));
	return space;
}

static void try_spaces(void)
{
	struct jbpf_notice notice = { .kind = JBPF_NOTICE_EXEC, .start_ns = 100, .exec_id = 6 };
	struct jbpf_space space = space_of(100, 5), first, second;
	uint32_t pid = (uint32_t)getpid();
	int fd = unwind.spaces.map_fd;

	notice.pid = pid;
	expect("no process", probe_unwind_set_space(&unwind, 0, 0, &space), -EINVAL);
	expect("a process", probe_unwind_set_space(&unwind, pid, 0, &space), 0);
	expect("is there", bpf_map_lookup_elem(fd, &pid, &first), 0);
	expect("again", probe_unwind_set_space(&unwind, pid, 0, &space), 0);
	expect("is there", bpf_map_lookup_elem(fd, &pid, &second), 0);
	expect("with another generation", first.generation != second.generation, true);
	expect("that is a number", first.generation && second.generation, true);
	space.mapping_cnt = 1;
	expect("one that is none", probe_unwind_set_space(&unwind, pid, 0, &space), -EINVAL);

	probe_lives_expire(&unwind.spaces, &notice);
	expect("an exec ends it", bpf_map_lookup_elem(fd, &pid, &first), -ENOENT);
	space = space_of(100, 7);
	expect("the next program's", probe_unwind_set_space(&unwind, pid, 0, &space), 0);
	probe_lives_expire(&unwind.spaces, &notice);
	expect("stays", bpf_map_lookup_elem(fd, &pid, &first), 0);
	probe_lives_drop(&unwind.spaces, pid);
	expect("is dropped", bpf_map_lookup_elem(fd, &pid, &first), -ENOENT);
	expect("and counts no more", unwind.spaces.cnt, 0);
}

int main(void)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_NO_PREALLOC);
	__cleanup_fd int chunks_fd = bpf_map_create(BPF_MAP_TYPE_HASH, "test_chunks", 4, WORDS * 4,
						    CHUNKS_MAX, &options);
	__cleanup_fd int spaces_fd = bpf_map_create(BPF_MAP_TYPE_HASH, "test_spaces", 4,
						    sizeof(struct jbpf_space), 16, &options);

	if (chunks_fd < 0 || spaces_fd < 0) {
		fprintf(stderr, "cannot create maps\n");
		return 1;
	}
	for (uint32_t i = 0; i < ARRAY_SIZE(words); i++)
		words[i] = i + 1;
	unwind.chunks_fd = chunks_fd;
	unwind.spaces = (struct probe_lives){ .map_fd = spaces_fd,
					      .max = 16,
					      .exec_id_at = offsetof(struct jbpf_space, exec_id) };
	try_tables();
	try_spaces();
	if (!failed_cnt)
		puts("ok");
	return failed_cnt != 0;
}
