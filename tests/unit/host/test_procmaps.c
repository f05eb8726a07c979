// SPDX-License-Identifier: Apache-2.0
/* /proc/PID/maps: real lines, hostile names, caps. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "user/host/procmaps.h"
#include "user/util/strbuf.h"

static void parse(const char *text, struct procmaps *maps)
{
	*maps = (struct procmaps){ 0 };
	assert_int_equal(procmaps_parse(text, strlen(text), maps), 0);
}

static void procmaps_keeps_executable_mappings_only(void **state)
{
	struct procmaps maps;

	(void)state;
	parse("1000-2000 r--p 00000000 08:01 7  /bin/x\n"
	      "2000-3000 r-xp 00001000 fd:1f 18446744073709551615  /bin/x\n"
	      "3000-4000 rw-p 00002000 08:01 7  /bin/x\n"
	      "7f00000000-7f00001000 rwxp 00000000 00:00 0 \n",
	      &maps);
	assert_int_equal(maps.cnt, 2);
	assert_int_equal(maps.dropped_cnt, 0);
	assert_true(maps.items[0].start == 0x2000 && maps.items[0].end == 0x3000);
	assert_true(maps.items[0].offset == 0x1000);
	assert_true(maps.items[0].inode == UINT64_MAX);
	assert_int_equal(maps.items[0].dev_major, 0xfd);
	assert_int_equal(maps.items[0].dev_minor, 0x1f);
	assert_string_equal(procmaps_path(&maps, &maps.items[0]), "/bin/x");
	assert_int_equal(maps.items[1].kind, PROCMAP_KIND_ANONYMOUS);
	procmaps_release(&maps);
}

static void procmaps_tells_what_a_mapping_is(void **state)
{
	static const struct {
		const char *path;
		const char *shown;
		enum procmap_kind kind;
		bool is_deleted;
	} rows[] = {
		{ "", "", PROCMAP_KIND_ANONYMOUS, false },
		{ "//anon", "//anon", PROCMAP_KIND_ANONYMOUS, false },
		{ "[anon:v8]", "[anon:v8]", PROCMAP_KIND_ANONYMOUS, false },
		{ "[anon_shmem:x]", "[anon_shmem:x]", PROCMAP_KIND_ANONYMOUS, false },
		{ "[heap]", "[heap]", PROCMAP_KIND_ANONYMOUS, false },
		{ "/dev/zero (deleted)", "/dev/zero", PROCMAP_KIND_ANONYMOUS, true },
		{ "/memfd:doublemapper (deleted)", "/memfd:doublemapper", PROCMAP_KIND_ANONYMOUS,
		  true },
		{ "/memfd:runner (deleted)", "/memfd:runner", PROCMAP_KIND_MEMFD, true },
		{ "[vdso]", "[vdso]", PROCMAP_KIND_VDSO, false },
		{ "[vsyscall]", "[vsyscall]", PROCMAP_KIND_OTHER, false },
		{ "[uprobes]", "[uprobes]", PROCMAP_KIND_OTHER, false },
		{ "/lib/libc.so.6", "/lib/libc.so.6", PROCMAP_KIND_FILE, false },
		{ "/lib/a b (deleted) c.so", "/lib/a b (deleted) c.so", PROCMAP_KIND_FILE, false },
		{ "/lib/old.so (deleted)", "/lib/old.so", PROCMAP_KIND_FILE, true },
		{ "/lib/two\\012lines\\012", "/lib/two\nlines\n", PROCMAP_KIND_FILE, false },
		{ "/lib/cut\\01", "/lib/cut\\01", PROCMAP_KIND_FILE, false },
		{ "relative", "relative", PROCMAP_KIND_OTHER, false },
		{ "/1000-2000 r-xp 00000000 08:01 7 /evil",
		  "/1000-2000 r-xp 00000000 08:01 7 /evil", PROCMAP_KIND_FILE, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct procmaps maps;
		char text[256];

		snprintf(text, sizeof(text), "1000-2000 r-xp 00000000 08:01 7        %s\n",
			 rows[i].path);
		parse(text, &maps);
		assert_int_equal(maps.cnt, 1);
		assert_string_equal(procmaps_path(&maps, &maps.items[0]), rows[i].shown);
		assert_int_equal(maps.items[0].kind, rows[i].kind);
		assert_int_equal(maps.items[0].is_deleted, rows[i].is_deleted);
		procmaps_release(&maps);
	}
}

static void procmaps_a_file_without_inode_is_no_file(void **state)
{
	struct procmaps maps;

	(void)state;
	parse("1000-2000 r-xp 00000000 00:00 0   /made/up\n", &maps);
	assert_int_equal(maps.items[0].kind, PROCMAP_KIND_OTHER);
	procmaps_release(&maps);
}

static void procmaps_counts_lines_that_make_no_sense(void **state)
{
	static const char *const lines[] = {
		"garbage\n",
		"1000-2000\n",
		"2000-1000 r-xp 00000000 08:01 7 /x\n",
		"1000-1000 r-xp 00000000 08:01 7 /x\n",
		"1000 2000 r-xp 00000000 08:01 7 /x\n",
		"10000000000000000-20000000000000000 r-xp 00000000 08:01 7 /x\n",
		"1000-2000 r-xp zz 08:01 7 /x\n",
		"1000-2000 r-xp 00000000 0801 7 /x\n",
		"1000-2000 r-xp 00000000 100000000:01 7 /x\n",
		"-2000 r-xp 00000000 08:01 7 /x\n",
		"\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct procmaps maps;

		parse(lines[i], &maps);
		assert_int_equal(maps.cnt, 0);
		assert_int_equal(maps.dropped_cnt, 1);
		procmaps_release(&maps);
	}
}

static void procmaps_refuses_overlapping_mappings(void **state)
{
	struct procmaps maps;

	(void)state;
	parse("2000-4000 r-xp 00000000 08:01 7 /x\n"
	      "3000-5000 r-xp 00000000 08:01 7 /y\n"
	      "1000-2000 r-xp 00000000 08:01 7 /z\n"
	      "5000-6000 r-xp 00000000 08:01 7 /w",
	      &maps);
	assert_int_equal(maps.cnt, 2);
	assert_int_equal(maps.dropped_cnt, 2);
	assert_string_equal(procmaps_path(&maps, &maps.items[1]), "/w");
	procmaps_release(&maps);
}

static void procmaps_finds_by_half_open_range(void **state)
{
	static const struct {
		uint64_t address;
		int index; /* -1 = none */
	} rows[] = { { 0, -1 },	     { 0xfff, -1 },  { 0x1000, 0 },	{ 0x1fff, 0 },
		     { 0x2000, -1 }, { 0x4fff, -1 }, { 0x5000, 1 },	{ 0x5fff, 1 },
		     { 0x6000, 2 },  { 0x7000, -1 }, { UINT64_MAX, -1 } };
	struct procmaps maps;
	struct procmaps none = { 0 };

	(void)state;
	parse("1000-2000 r-xp 0 08:01 7 /x\n5000-6000 r-xp 0 08:01 7 /y\n"
	      "6000-7000 r-xp 0 08:01 7 /z\n",
	      &maps);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct procmap *expected = rows[i].index < 0 ? NULL : &maps.items[rows[i].index];

		assert_ptr_equal(procmaps_find(&maps, rows[i].address), expected);
	}
	assert_null(procmaps_find(&none, 0x1000));
	procmaps_release(&maps);
}

static void procmaps_read_in_steps_equals_parsed_at_once(void **state)
{
	struct strbuf text = STRBUF_INIT;
	struct procmaps read = { 0 }, parsed = { 0 };
	char path[] = "/tmp/jbpf-maps-XXXXXX";
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	unlink(path);
	for (unsigned int i = 1; i < 5000; i++)
		strbuf_printf(&text, "%x000-%x800 r-xp 00000000 08:01 %u   /lib/lib%u.so\n", i, i,
			      i, i * 7919);
	/* One line is longer than any that the kernel writes; the next must still be seen. */
	strbuf_puts(&text, "7000000000-7000001000 r-xp 00000000 08:01 1 /");
	for (int i = 0; i < 70000; i++)
		strbuf_putc(&text, 'x');
	strbuf_puts(&text, "\n8000000000-8000001000 r-xp 00000000 08:01 1 /last\n");
	assert_int_equal(write(fd, text.data, text.len), (ssize_t)text.len);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);

	assert_int_equal(procmaps_read(fd, &read), 0);
	assert_int_equal(procmaps_parse(text.data, text.len, &parsed), 0);
	assert_int_equal(parsed.cnt, 5001);
	assert_int_equal(read.cnt, 5000);
	assert_true(read.dropped_cnt > 0);
	for (size_t i = 0; i < 4999; i++) {
		assert_true(read.items[i].start == parsed.items[i].start);
		assert_string_equal(procmaps_path(&read, &read.items[i]),
				    procmaps_path(&parsed, &parsed.items[i]));
	}
	assert_string_equal(procmaps_path(&read, &read.items[4999]), "/last");
	procmaps_release(&read);
	procmaps_release(&parsed);
	strbuf_release(&text);
	close(fd);
}

static void procmaps_stops_at_its_cap(void **state)
{
	struct strbuf text = STRBUF_INIT;
	struct procmaps maps = { 0 };

	(void)state;
	for (unsigned int i = 0; i < PROCMAPS_MAX_ENTRIES + 3; i++)
		strbuf_printf(&text, "%x000-%x800 r-xp 0 0:0 0\n", i + 1, i + 1);
	assert_int_equal(procmaps_parse(text.data, text.len, &maps), 0);
	assert_int_equal(maps.cnt, PROCMAPS_MAX_ENTRIES);
	assert_int_equal(maps.dropped_cnt, 3);
	procmaps_release(&maps);
	strbuf_release(&text);
}

/* So many mappings, alternately of a file at this path and of memory. */
static void put_mappings(unsigned int cnt, const char *path, struct strbuf *out)
{
	for (unsigned int i = 1; i <= cnt; i++)
		strbuf_printf(out,
			      "%x000-%x800 r-xp 00000000 08:01 7 %s\n%x800-%x900 r-xp 0 0:0 0\n", i,
			      i, path, i, i);
}

static void procmaps_keeps_the_path_of_neighbours_once(void **state)
{
	struct strbuf text = STRBUF_INIT;
	struct procmaps maps = { 0 };

	(void)state;
	put_mappings(1000, "/lib/a\\012b.so", &text);
	assert_int_equal(procmaps_parse(text.data, text.len, &maps), 0);
	assert_int_equal(maps.cnt, 2000);
	assert_int_equal(maps.dropped_cnt, 0);
	for (size_t i = 0; i < maps.cnt; i++)
		assert_string_equal(procmaps_path(&maps, &maps.items[i]),
				    i % 2 ? "" : "/lib/a\nb.so");
	assert_true(maps.paths_len < 32);
	procmaps_release(&maps);
	strbuf_release(&text);
}

/* A path has up to 4 KiB, and a process as many files with such paths as it likes. */
static void procmaps_drops_mappings_beyond_its_room_for_paths(void **state)
{
	struct strbuf text = STRBUF_INIT;
	struct procmaps maps = { 0 };
	const struct procmap *last;

	(void)state;
	for (unsigned int i = 1; i <= 1000; i++)
		strbuf_printf(&text, "%x000-%x800 r-xp 00000000 08:01 7 /%04000u\n", i, i, i);
	strbuf_puts(&text, "1000000-1000800 r-xp 00000000 00:00 0\n");
	assert_int_equal(procmaps_parse(text.data, text.len, &maps), 0);
	assert_true(maps.paths_len <= PROCMAPS_MAX_PATHS_BYTES);
	assert_in_range(maps.cnt, 200, 300);
	assert_int_equal(maps.cnt + maps.dropped_cnt, 1001);
	/* What has no path has room. */
	last = &maps.items[maps.cnt - 1];
	assert_int_equal(last->start, 0x1000000);
	assert_int_equal(last->kind, PROCMAP_KIND_ANONYMOUS);
	assert_string_equal(procmaps_path(&maps, &maps.items[maps.cnt - 2]) + 3997, "0262");
	procmaps_release(&maps);
	strbuf_release(&text);
}

static void procmaps_empty_text_gives_nothing(void **state)
{
	struct procmaps maps = { 0 };

	(void)state;
	assert_int_equal(procmaps_parse("", 0, &maps), 0);
	assert_int_equal(procmaps_parse(NULL, 0, &maps), 0);
	assert_int_equal(maps.cnt, 0);
	assert_string_equal(procmaps_base_name("/a/b.so"), "b.so");
	assert_string_equal(procmaps_base_name("b.so"), "b.so");
	assert_string_equal(procmaps_base_name("/a/"), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(procmaps_keeps_executable_mappings_only),
		cmocka_unit_test(procmaps_tells_what_a_mapping_is),
		cmocka_unit_test(procmaps_a_file_without_inode_is_no_file),
		cmocka_unit_test(procmaps_counts_lines_that_make_no_sense),
		cmocka_unit_test(procmaps_refuses_overlapping_mappings),
		cmocka_unit_test(procmaps_finds_by_half_open_range),
		cmocka_unit_test(procmaps_read_in_steps_equals_parsed_at_once),
		cmocka_unit_test(procmaps_stops_at_its_cap),
		cmocka_unit_test(procmaps_keeps_the_path_of_neighbours_once),
		cmocka_unit_test(procmaps_drops_mappings_beyond_its_room_for_paths),
		cmocka_unit_test(procmaps_empty_text_gives_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
