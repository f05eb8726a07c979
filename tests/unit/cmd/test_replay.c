// SPDX-License-Identifier: Apache-2.0
/*
 * From samples to what `jbpf dump` prints, byte for byte: recorder, namer and store as in life, in one
 * thread and with a clock that the test sets; samples, /proc and the files of processes are the test's.
 * So it decides what comes first: a process's death, or the look at it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>

#include "tests/unit/fake_link.h"
#include "tests/unit/fake_proc.h"
#include "tests/unit/fake_source.h"
#include "tests/unit/naming_listener.h"
#include "tests/unit/store_testing.h"
#include "tests/unit/tiny_eh_frame.h"
#include "user/cmd/cmd.h"
#include "user/collect/recorder.h"
#include "user/collect/recorder_internal.h"
#include "user/util/cleanup.h"
#include "user/util/log.h"

#define BOOT_NS	  (1000 * CLOCK_NS_PER_S) /* since boot, when the test begins */
#define HOST	  "node-7"
#define PID	  100u
#define LIB	  0x7e0000000000ull
#define JIT	  0x7f0000000000ull
#define HASH_BOTH 21u /* a compiled method that a library's function called */
#define HASH_LIB  22u /* that function alone */

/* ---- a clock that only the test sets forward ---- */

static uint64_t passed_ns;

int clock_gettime(clockid_t id, struct timespec *out)
{
	uint64_t ns = passed_ns;

	if (id == CLOCK_REALTIME)
		ns += TEST_NS;
	else if (id == CLOCK_BOOTTIME || id == CLOCK_MONOTONIC)
		ns += BOOT_NS;
	else
		return (int)syscall(SYS_clock_gettime, id, out);
	*out = (struct timespec){ .tv_sec = (time_t)(ns / CLOCK_NS_PER_S),
				  .tv_nsec = (long)(ns % CLOCK_NS_PER_S) };
	return 0;
}

/* What the disk is asked for takes most of the time. */
int fdatasync(int fd)
{
	(void)fd;
	return 0;
}

/* ---- the host ---- */

static struct fake_proc proc;
static struct test_store store;
static struct store_writer *writer;
static struct naming *naming;
static struct recorder *recorder;
static uint64_t handed_out, lost;
static size_t window_cnt;
static struct recorder_stats last_stats;

static const uint64_t both_ips[] = { JIT + 0x10, LIB + TINY_TEXT_OFFSET + 4 };
static const uint64_t lib_ips[] = { LIB + TINY_TEXT_OFFSET + 4 };
static const struct source_words words[] = {
	{ .hash = HASH_BOTH, .ips = both_ips, .cnt = 2 },
	{ .hash = HASH_LIB, .ips = lib_ips, .cnt = 1 },
	{ 0 },
};

/* Those who begin now are another life of their pids than before. */
static uint32_t life_ticks;

/* Ticks since boot at which a process began; its start in ns is what the kernel says. */
static uint64_t start_ticks(uint32_t pid)
{
	return 5000 + pid + life_ticks;
}

static uint64_t start_ns(uint32_t pid)
{
	return start_ticks(pid) * (CLOCK_NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK));
}

/* A process of a library with one function, and JIT code that has a perf map. */
static void process_begins(uint32_t pid)
{
	static const uint8_t id[20] = { 1, 2, 3 };
	const struct tiny_symbol symbol = { .name = "work", .size = 16 };
	const struct tiny_elf elf = { .symbols = &symbol, .symbol_cnt = 1, .build_id = id };
	static uint8_t bytes[TINY_ELF_MAX];
	char path[128], to[192];

	fake_proc_process(&proc, pid, start_ticks(pid), 1, geteuid());
	snprintf(path, sizeof(path), "%u/comm", pid);
	fake_proc_text(&proc, path, "prog%u\n", pid);
	snprintf(path, sizeof(path), "%u/environ", pid);
	fake_proc_text(&proc, path, "%s", "");
	snprintf(path, sizeof(path), "%u/cgroup", pid);
	fake_proc_text(&proc, path, "0::/\n");
	snprintf(path, sizeof(path), "%u/maps", pid);
	fake_proc_text(&proc, path,
		       "7e0000000000-7e0000001000 r-xp 00000000 08:01 7 /lib/libx.so\n"
		       "7f0000000000-7f0000100000 rwxp 00000000 00:00 0 \n");
	snprintf(path, sizeof(path), "%u/root/tmp/perf-1.map", pid);
	fake_proc_text(&proc, path, "7f0000000000 100 Lcom/Foo;::bar%u\n", pid);
	if (faccessat(proc.fd, "files/libx.so", F_OK, 0))
		fake_proc_put(&proc, "files/libx.so", bytes, tiny_elf_write(&elf, bytes));
	snprintf(path, sizeof(path), "%u/map_files", pid);
	(void)mkdirat(proc.fd, path, 0755);
	snprintf(path, sizeof(path), "%u/map_files/7e0000000000-7e0000001000", pid);
	snprintf(to, sizeof(to), "%s/files/libx.so", proc.path);
	assert_int_equal(symlinkat(to, proc.fd, path), 0);
}

/* /proc has it no more. */
static void process_ends(uint32_t pid)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%u", proc.path, pid);
	assert_int_equal(remove_tree(path), 0);
}

/* ---- the namer, in this thread ---- */

static int say_stream(void *ctx, const struct window *window, const char *text, size_t len)
{
	(void)ctx;
	assert_int_equal(naming_stream_put(&link_.namer, window, text, len), 0);
	assert_int_equal(packet_stream_flush_all(&link_.namer), 0);
	return 0;
}

static void name_window(const struct packet *packet)
{
	struct naming_batch batch;
	struct naming_end end;

	assert_int_equal(naming_batch_read(packet->bytes, packet->len, &batch), 0);
	naming__window(naming, &batch, &end);
	end.window_id = batch.head.window_id;
	naming_batch_release(&batch);
	namer_says(NAMING_END, &end, sizeof(end));
}

/* Does all that it was told to. */
static void namer_works(void)
{
	struct packet packet;
	int err = 0;

	do {
		while (packet_stream_next(&link_.namer, &packet, &err)) {
			if (packet.kind == NAMING_NOTICE)
				naming__notice(naming, packet.bytes);
			else if (packet.kind == NAMING_STACKS)
				(void)naming__prefetch(naming, packet.bytes, packet.len);
			else if (packet.kind == NAMING_WINDOW)
				name_window(&packet);
		}
		assert_int_equal(err, 0);
	} while (packet_stream_fill(&link_.namer) == 0);
}

/* ---- the store's writer ---- */

static void take_stream(void *ctx, const struct window *window, const char *text, size_t len)
{
	(void)ctx;
	handed_out += window->counts.samples;
	assert_int_equal(store_writer__add(writer, window, text, len), 0);
}

static void take_end(void *ctx, struct window *hosts, size_t cnt,
		     const struct recorder_stats *stats)
{
	uint64_t lost_samples = 0;

	(void)ctx;
	assert_int_equal(cnt, 1);
	for (size_t i = 0; i < WINDOW_LOSS_CNT; i++)
		lost += hosts->lost[i];
	assert_int_equal(store_writer__add(writer, hosts, "", 0), 0);
	assert_int_equal(store_writer__commit(writer, &lost_samples), 0);
	assert_int_equal(lost_samples, 0);
	last_stats = *stats;
	window_cnt++;
}

/* ---- a test ---- */

static int begin(void **state)
{
	const struct naming_config config = {
		.jit = JIT_MODE_PERFMAP,
		.proc = proc.path,
		.launcher = dead_launcher(),
		.kallsyms_fd = -1,
		.listener = naming_listener(say_stream),
	};
	const struct recorder_options options = {
		.host = HOST,
		.probe = { .frequency_hz = 99, .max_depth = 64, .window_ns = WINDOW_NS },
	};
	const struct recorder_sink sink = { .stream = take_stream, .end = take_end };
	const struct store_writer_options limits = { 0 };
	char why[256] = "";

	(void)state;
	log_set_level(LOG_LEVEL_ERR);
	memset(&source_, 0, sizeof(source_));
	source_.words = words;
	passed_ns = handed_out = lost = 0;
	window_cnt = 0;
	life_ticks = 0;
	if (fake_proc_make(&proc))
		return -1;
	test_store_make(&store);
	assert_int_equal(store_writer__open(store.dir, &limits, &writer), 0);
	assert_int_equal(naming__open(&config, &naming, why, sizeof(why)), 0);
	assert_int_equal(
		recorder_open_with(&options, &sink, &source_ops, &recorder, why, sizeof(why)), 0);
	assert_int_equal(recorder__start(recorder), 0);
	return 0;
}

static int end(void **state)
{
	(void)state;
	recorder__free(recorder);
	naming__free(naming);
	store_writer__free(writer);
	test_store_remove(&store);
	return fake_proc_remove(&proc);
}

static void samples_of(uint32_t pid, uint64_t hash, uint64_t cnt)
{
	source_count(pid, 0, hash, cnt);
	source_.counts[source_.count_cnt - 1].key.start_ns = start_ns(pid);
	source_.counts[source_.count_cnt - 1].value.flags = JBPF_VALUE_OPT_OUT_NONE;
}

static void notice_of(uint32_t kind, uint32_t pid)
{
	struct jbpf_notice *notice;

	source_notice(kind, pid, 0);
	notice = &source_.notices[source_.notice_cnt - 1];
	notice->start_ns = start_ns(pid);
	notice->ns_pid = 1;
	notice->flags = JBPF_KNOWN_OPT_OUT_NONE;
	snprintf(notice->comm, sizeof(notice->comm), "prog%u", pid);
}

/* It is sampled first with this stack, which is read ahead for. */
static void stack_is_new(uint32_t pid, uint64_t hash)
{
	source_.stack_hashes[source_.stack_cnt] = hash;
	source_.stacks[source_.stack_cnt++] =
		(struct probe_new_stack){ .life = { .start_ns = start_ns(pid), .pid = pid },
					  .since_boot_ns = clock_boot_ns() };
}

/* News reach the namer, which does what is to be done. */
static void namer_hears_of_it(void)
{
	assert_int_equal(recorder__consume(recorder), 0);
	namer_works();
	assert_int_equal(recorder__consume(recorder), 0);
}

/* Ten seconds are over: what was counted in them goes through all of it. */
static void window_ends(void)
{
	passed_ns += WINDOW_NS;
	recorder__end_window(recorder);
	do {
		namer_hears_of_it();
	} while (!recorder__is_idle(recorder));
	source_.count_cnt = 0;
	memset(source_.counters, 0, sizeof(source_.counters));
}

/* What `jbpf dump` of these options prints. */
static void dump(struct strbuf *out, char *option, char *value)
{
	char path[256], name[] = "dump", dir_option[] = "--store";
	char *argv[] = { name, dir_option, store.dir, option, value, NULL };
	int saved = dup(STDOUT_FILENO), fd;

	test_path(&store, "../jbpf-replay.out", path);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0 && saved >= 0);
	fflush(stdout);
	assert_true(dup2(fd, STDOUT_FILENO) >= 0);
	optind = 0;
	assert_int_equal(cmd_dump(option ? 5 : 3, argv), 0);
	fflush(stdout);
	assert_true(dup2(saved, STDOUT_FILENO) >= 0);
	close(saved);
	close(fd);
	strbuf_clear(out);
	assert_int_equal(fs_read_file(AT_FDCWD, path, 1 << 26, out), 0);
	assert_int_equal(unlink(path), 0);
}

static void assert_dump(const char *expected)
{
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;

	dump(&out, NULL, NULL);
	assert_string_equal(strbuf_str(&out), expected);
	assert_int_equal(lost, 0);
}

/* ---- one window, golden ---- */

static void test_what_a_process_did_is_dumped_byte_for_byte(void **state)
{
	(void)state;
	process_begins(PID);
	notice_of(JBPF_NOTICE_SEEN, PID);
	stack_is_new(PID, HASH_BOTH);
	samples_of(PID, HASH_BOTH, 7);
	samples_of(PID, HASH_LIB, 3);
	window_ends();
	samples_of(PID, HASH_BOTH, 1);
	window_ends();
	assert_dump("prog100;[truncated];work 3\n"
		    "prog100;work;Lcom/Foo:::bar100_[j] 8\n");
}

/* The look comes first: nothing is missing, whatever dies before the window's end. */
static void test_a_process_that_was_looked_at_before_it_died_has_all_its_names(void **state)
{
	(void)state;
	process_begins(PID);
	notice_of(JBPF_NOTICE_SEEN, PID);
	stack_is_new(PID, HASH_BOTH);
	namer_hears_of_it();
	process_ends(PID);
	notice_of(JBPF_NOTICE_EXIT, PID);
	samples_of(PID, HASH_BOTH, 7);
	samples_of(PID, HASH_LIB, 3);
	window_ends();
	assert_dump("prog100;[truncated];work 3\n"
		    "prog100;work;Lcom/Foo:::bar100_[j] 7\n");
}

/* Death comes first: what the kernel knew is there, each sample of it, and no name of anybody's. */
static void test_a_process_that_died_before_the_look_keeps_its_samples_and_its_name(void **state)
{
	(void)state;
	process_begins(PID);
	notice_of(JBPF_NOTICE_SEEN, PID);
	stack_is_new(PID, HASH_BOTH);
	process_ends(PID);
	notice_of(JBPF_NOTICE_EXIT, PID);
	samples_of(PID, HASH_BOTH, 7);
	samples_of(PID, HASH_LIB, 3);
	window_ends();
	assert_dump("prog100;[truncated];[unknown] 3\n"
		    "prog100;[unknown];[unknown] 7\n");
}

/* Its pid is another's when the look comes: nothing of that one is in the profile. */
static void test_who_has_the_pid_of_a_dead_process_lends_it_no_names(void **state)
{
	(void)state;
	process_begins(PID);
	notice_of(JBPF_NOTICE_SEEN, PID);
	samples_of(PID, HASH_BOTH, 7);
	process_ends(PID);
	life_ticks = 300;
	process_begins(PID);
	notice_of(JBPF_NOTICE_SEEN, PID);
	samples_of(PID, HASH_BOTH, 2);
	window_ends();
	assert_dump("prog100;[unknown];[unknown] 7\n"
		    "prog100;work;Lcom/Foo:::bar100_[j] 2\n");
}

/* The same, but each was looked at in its time. */
static void test_two_processes_of_one_pid_have_their_own_names(void **state)
{
	(void)state;
	process_begins(PID);
	notice_of(JBPF_NOTICE_SEEN, PID);
	stack_is_new(PID, HASH_BOTH);
	samples_of(PID, HASH_BOTH, 7);
	namer_hears_of_it();
	process_ends(PID);
	notice_of(JBPF_NOTICE_EXIT, PID);
	life_ticks = 300;
	process_begins(PID);
	fake_proc_text(&proc, "100/root/tmp/perf-1.map", "7f0000000000 100 Lcom/Foo;::second\n");
	notice_of(JBPF_NOTICE_SEEN, PID);
	stack_is_new(PID, HASH_BOTH);
	samples_of(PID, HASH_BOTH, 2);
	window_ends();
	assert_dump("prog100;work;Lcom/Foo:::bar100_[j] 7\n"
		    "prog100;work;Lcom/Foo:::second_[j] 2\n");
}

/* A stack that was lost on its way has its samples all the same. */
static void test_samples_of_a_lost_stack_are_kept(void **state)
{
	(void)state;
	process_begins(PID);
	notice_of(JBPF_NOTICE_SEEN, PID);
	samples_of(PID, HASH_BOTH, 7);
	samples_of(PID, SOURCE_LOST_STACK, 3);
	window_ends();
	assert_dump("prog100;[stack lost] 3\n"
		    "prog100;work;Lcom/Foo:::bar100_[j] 7\n");
}

/* ---- an hour of them ---- */

#define WINDOWS	 365u /* and the begin of the next hour */
#define CHURNING 4u   /* processes that begin and end in each window */

static size_t open_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	size_t cnt = 0;

	assert_non_null(dir);
	while (readdir(dir))
		cnt++;
	closedir(dir);
	return cnt;
}

/* Half of them have died when the look comes; pids come again after a while, as other lives. */
static void churn(uint32_t window)
{
	for (uint32_t i = 0; i < CHURNING; i++) {
		uint32_t pid = 1000 + (window % 16) * CHURNING + i;

		life_ticks = 100000 + window * 1000;
		process_begins(pid);
		notice_of(JBPF_NOTICE_SEEN, pid);
		if (i & 1)
			namer_hears_of_it();
		process_ends(pid);
		notice_of(JBPF_NOTICE_EXIT, pid);
		namer_hears_of_it();
		samples_of(pid, HASH_BOTH, 1 + i);
	}
	life_ticks = 0;
}

struct windows_there {
	uint8_t hosts[WINDOWS], streams[WINDOWS];
	uint64_t samples;
};

static int note_window(void *ctx, const struct window *window, const char *text, size_t len)
{
	struct windows_there *there = ctx;
	uint64_t at = (window->start_unix_ns - TEST_NS) / WINDOW_NS;

	(void)text;
	(void)len;
	assert_true(at < WINDOWS);
	if (window->pid) {
		there->streams[at]++;
		there->samples += window->counts.samples;
	} else {
		there->hosts[at]++;
	}
	return 0;
}

static void no_damage(void *ctx, const struct store_damage *damage)
{
	(void)ctx;
	fail_msg("%s is damaged", damage->path);
}

static void
test_an_hour_of_processes_that_come_and_go_leaves_nothing_behind_and_no_gap(void **state)
{
	static struct windows_there there;
	struct recorder_stats stats[2];
	struct store_reader *reader;
	uint64_t counted = 0;
	size_t fds[2];

	(void)state;
	memset(&there, 0, sizeof(there));
	process_begins(PID);
	notice_of(JBPF_NOTICE_SEEN, PID);
	for (uint32_t i = 0; i < WINDOWS; i++) {
		samples_of(PID, HASH_BOTH, 7);
		churn(i);
		for (size_t k = 0; k < source_.count_cnt; k++)
			counted += source_.counts[k].value.count;
		window_ends();
		assert_int_equal(window_cnt, i + 1);
		/* The same pids have come and gone as often. */
		if (i == WINDOWS - 1 - 16 * 16)
			stats[0] = last_stats, fds[0] = open_fds();
	}
	stats[1] = last_stats;
	fds[1] = open_fds();
	assert_int_equal(fds[1], fds[0]);
	assert_int_equal(stats[1].process_cnt, stats[0].process_cnt);
	assert_int_equal(stats[1].symbol_bytes, stats[0].symbol_bytes);
	assert_int_equal(lost, 0);
	assert_int_equal(handed_out, counted);
	const struct store_visitor noting = { .ctx = &there,
					      .window = note_window,
					      .damage = no_damage };

	assert_int_equal(store_reader__open(store.dir, &reader), 0);
	assert_int_equal(store_reader__visit(reader, 0, UINT64_MAX, &noting), 0);
	store_reader__free(reader);
	for (size_t i = 0; i < WINDOWS; i++) {
		assert_int_equal(there.hosts[i], 1);
		assert_int_equal(there.streams[i], 1 + CHURNING);
	}
	assert_int_equal(there.samples, counted);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_what_a_process_did_is_dumped_byte_for_byte),
		TEST(test_a_process_that_was_looked_at_before_it_died_has_all_its_names),
		TEST(test_a_process_that_died_before_the_look_keeps_its_samples_and_its_name),
		TEST(test_who_has_the_pid_of_a_dead_process_lends_it_no_names),
		TEST(test_two_processes_of_one_pid_have_their_own_names),
		TEST(test_samples_of_a_lost_stack_are_kept),
		TEST(test_an_hour_of_processes_that_come_and_go_leaves_nothing_behind_and_no_gap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
