// SPDX-License-Identifier: Apache-2.0
/*
 * Windows on their way to be named, and namers that do not do as they should. The probe, and what
 * watches the namer, are this test's: nothing is sampled, and nobody waits.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "user/collect/namer/namer_link.h"
#include "user/collect/naming/naming_wire.h"
#include "user/collect/recorder.h"
#include "user/collect/probe/stream_fallback.h"
#include "user/util/clock.h"

/* What is kept of a stream without names, where there may be no memory for it. */
int real_fallback_text(const char *comm, uint64_t samples, struct strbuf *out);
#define stream_fallback_text real_fallback_text
#include "user/collect/probe/stream_fallback.c"
#undef stream_fallback_text

static bool has_no_memory;

int stream_fallback_text(const char *comm, uint64_t samples, struct strbuf *out)
{
	return has_no_memory ? -ENOMEM : real_fallback_text(comm, samples, out);
}

#define PID	    42u
#define SAMPLES	    7u
#define WINDOWS_MAX 32u

/* ---- clocks that a suspend sets forward, or time itself ---- */

static uint64_t suspended_ns, passed_ns;

int clock_gettime(clockid_t id, struct timespec *out)
{
	int err = (int)syscall(SYS_clock_gettime, id, out);
	uint64_t later_ns = (id == CLOCK_BOOTTIME ? suspended_ns : 0) + passed_ns;

	out->tv_sec += (time_t)(later_ns / CLOCK_NS_PER_S);
	return err;
}

/* ---- a probe: each drain has one process with some samples ---- */

#define HASH 5u

static struct probe_count drained;
static uint64_t drained_ns;
static bool has_stack; /* of each process that is drained */

int probe__open(const struct probe_options *options, struct probe **out, char *why, size_t why_len)
{
	(void)options;
	(void)why;
	(void)why_len;
	*out = NULL;
	return 0;
}

void probe__free(struct probe *probe)
{
	assert_null(probe);
}

int probe__may_change(const struct probe *probe, const struct probe_options *options, char *why,
		      size_t why_len)
{
	(void)options;
	(void)why;
	(void)why_len;
	assert_null(probe);
	return 0;
}

int probe__change(struct probe *probe, const struct probe_options *options, char *why,
		  size_t why_len)
{
	return probe__may_change(probe, options, why, why_len);
}

int probe__try_maps(const struct probe *probe)
{
	assert_null(probe);
	return 0;
}

int probe__start(struct probe *probe)
{
	assert_null(probe);
	return 0;
}

void probe__stop(struct probe *probe)
{
	assert_null(probe);
}

int probe__fd(const struct probe *probe)
{
	static int fd = -1;

	assert_null(probe);
	if (fd < 0)
		fd = epoll_create1(EPOLL_CLOEXEC);
	return fd;
}

int probe__consume(struct probe *probe, probe_notice_fn notice, void *ctx)
{
	const struct jbpf_notice seen = { .kind = JBPF_NOTICE_SEEN, .pid = PID, .start_ns = 1 };

	assert_null(probe);
	notice(ctx, &seen);
	return 0;
}

int probe__drain(struct probe *probe, probe_notice_fn notice, void *ctx, struct probe_batch *out)
{
	(void)notice;
	(void)ctx;
	assert_null(probe);
	drained = (struct probe_count){
		.key = { .pid = PID, .start_ns = 1, .user_hash = has_stack ? HASH : 0 },
		.value = { .count = SAMPLES, .last_ns = clock_boot_ns(), .comm = "busy" },
	};
	*out = (struct probe_batch){
		.counts = &drained,
		.count_cnt = 1,
		.start_boot_ns = drained_ns ? drained_ns : clock_boot_ns() - 1,
		.counters = { [JBPF_CNT_SAMPLES] = SAMPLES },
	};
	out->end_boot_ns = drained_ns = clock_boot_ns();
	return 0;
}

uint64_t probe__stream_seed(const struct probe *probe)
{
	assert_null(probe);
	return 1;
}

int probe__stack(const struct probe *probe, uint64_t hash, struct probe_stack *out)
{
	static const uint64_t ips[] = { 0x1000, 0x2000 };

	assert_null(probe);
	*out = (struct probe_stack){ .ips = ips, .frame_cnt = 2 };
	return has_stack && hash == HASH ? 0 : -ENOENT;
}

bool probe__next_new_stack(struct probe *probe, struct probe_new_stack *out)
{
	(void)out;
	assert_null(probe);
	return false;
}

int probe__set_account(struct probe *probe, uint64_t cgroup_id, uint64_t account_id)
{
	(void)cgroup_id;
	(void)account_id;
	assert_null(probe);
	return 0;
}

int probe__set_code_range(struct probe *probe, uint32_t pid, uint64_t account_id,
			  const struct jbpf_code_range *range)
{
	(void)pid;
	(void)account_id;
	(void)range;
	assert_null(probe);
	return 0;
}

int probe__opt_out(struct probe *probe, uint32_t pid, const struct jbpf_known *process)
{
	(void)pid;
	(void)process;
	assert_null(probe);
	return 0;
}

uint32_t probe__cpus(const struct probe *probe)
{
	(void)probe;
	return 2;
}

uint32_t probe__unsampled_cpus(const struct probe *probe)
{
	assert_null(probe);
	return 0;
}

uint64_t probe__map_bytes(const struct probe *probe)
{
	assert_null(probe);
	return 0;
}

/* ---- a link, whose other end is the test ---- */

static struct {
	struct packet_stream stream;
	struct packet_stream namer;
	int broken;
	bool is_dead; /* the next tick starts another one */
	uint64_t given_up_id;
} link_;

static void start_namer(void)
{
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	packet_stream_release(&link_.stream);
	packet_stream_release(&link_.namer);
	packet_stream_init(&link_.stream, fds[0], PACKET_MAX_BYTES);
	packet_stream_init(&link_.namer, fds[1], PACKET_MAX_BYTES);
	link_.broken = 0;
	link_.is_dead = false;
}

int namer_link__open(const struct namer_link_options *options, struct namer_link **out, char *why,
		     size_t why_len)
{
	(void)options;
	(void)why;
	(void)why_len;
	*out = NULL;
	memset(&link_, 0, sizeof(link_));
	link_.stream.fd = link_.namer.fd = -1;
	start_namer();
	return 0;
}

void namer_link__free(struct namer_link *link)
{
	assert_null(link);
	packet_stream_release(&link_.stream);
	packet_stream_release(&link_.namer);
}

struct packet_stream *namer_link__stream(struct namer_link *link)
{
	assert_null(link);
	return &link_.stream;
}

bool namer_link__is_up(const struct namer_link *link)
{
	assert_null(link);
	return !link_.broken && !link_.is_dead;
}

int namer_link__change(struct namer_link *link, enum jit_mode jit, bool forgets)
{
	(void)jit;
	(void)forgets;
	assert_null(link);
	return 0;
}

void namer_link__give_up(struct namer_link *link, uint64_t window_id)
{
	assert_null(link);
	link_.given_up_id = window_id;
}

void namer_link__broke(struct namer_link *link, int err)
{
	assert_null(link);
	link_.broken = err;
}

bool namer_link__tick(struct namer_link *link, uint64_t now_ns)
{
	(void)now_ns;
	assert_null(link);
	if (!link_.broken && !link_.is_dead)
		return false;
	start_namer();
	return true;
}

uint64_t namer_link__due_boot_ns(const struct namer_link *link, uint64_t now_ns)
{
	assert_null(link);
	return now_ns;
}

bool namer_link__has_launcher(const struct namer_link *link)
{
	assert_null(link);
	return true;
}

void namer_link__stats(const struct namer_link *link, struct namer_link_stats *out)
{
	assert_null(link);
	*out = (struct namer_link_stats){ 0 };
}

/* ---- the sink ---- */

static struct {
	size_t stream_cnt;
	size_t end_cnt;
	uint64_t samples;   /* in streams */
	uint64_t lost;	    /* for want of memory, undecided */
	uint64_t not_named; /* but kept */
} taken;

static void take_stream(void *ctx, const struct window *window, const char *text, size_t len)
{
	(void)ctx;
	(void)text;
	(void)len;
	taken.stream_cnt++;
	taken.samples += window->counts.samples;
}

static void take_end(void *ctx, struct window *host, const struct recorder_stats *stats)
{
	(void)ctx;
	(void)stats;
	taken.end_cnt++;
	taken.lost += host->lost[WINDOW_LOSS_MEMORY] + host->lost[WINDOW_LOSS_UNDECIDED];
	taken.not_named += host->lost[WINDOW_LOSS_NOT_NAMED];
}

static struct recorder *open_recorder(void)
{
	const struct recorder_options options = {
		.probe = { .frequency_hz = 99, .max_depth = 64, .window_ns = 10 * CLOCK_NS_PER_S },
	};
	const struct recorder_sink sink = { .stream = take_stream, .end = take_end };
	struct recorder *recorder = NULL;
	char why[256];

	memset(&taken, 0, sizeof(taken));
	drained_ns = 0;
	has_stack = false;
	assert_int_equal(recorder__open(&options, &sink, &recorder, why, sizeof(why)), 0);
	return recorder;
}

/* ---- what a namer does ---- */

static void answer(uint64_t window_id)
{
	const struct naming_end end = { .window_id = window_id };
	const struct window window = {
		.pid = PID,
		.process_start_ns = 1,
		.counts = { .samples = SAMPLES },
	};
	static const char text[] = "busy;main 7\n";

	assert_int_equal(naming_stream_put(&link_.namer, &window, text, strlen(text)), 0);
	assert_int_equal(packet_stream_put_bytes(&link_.namer, NAMING_END, &end, sizeof(end)), 0);
}

/* Answers all windows that have come. Returns how many. */
static size_t answer_all(void)
{
	struct packet packet;
	size_t cnt = 0;
	int err = packet_stream_fill(&link_.namer);

	while (!err && packet_stream_next(&link_.namer, &packet, &err)) {
		struct naming_window head;

		if (packet.kind != NAMING_WINDOW)
			continue;
		memcpy(&head, packet.bytes, sizeof(head));
		answer(head.window_id);
		cnt++;
	}
	assert_int_equal(packet_stream_flush_all(&link_.namer), 0);
	return cnt;
}

static void a_window_is_handed_out_when_it_is_answered(void **state)
{
	struct recorder *recorder = open_recorder();

	(void)state;
	recorder__end_window(recorder);
	assert_int_equal(taken.end_cnt, 0);
	assert_int_equal(answer_all(), 1);
	assert_int_equal(recorder__consume(recorder), 0);
	assert_int_equal(taken.stream_cnt, 1);
	assert_int_equal(taken.end_cnt, 1);
	assert_int_equal(taken.samples, SAMPLES);
	assert_int_equal(taken.lost, 0);
	recorder__free(recorder);
}

/* Nobody but the namer that had it answers a window that was given up: the next one does not wait. */
static void windows_are_named_after_one_that_was_given_up_with_its_namer(void **state)
{
	struct recorder *recorder = open_recorder();

	(void)state;
	recorder__end_window(recorder);
	recorder__give_up(recorder);
	assert_int_equal(taken.end_cnt, 1);
	assert_int_equal(taken.lost, SAMPLES);
	link_.is_dead = true;
	assert_int_equal(recorder__consume(recorder), 0);
	for (size_t i = 0; i < 3; i++) {
		recorder__end_window(recorder);
		assert_int_equal(answer_all(), 1);
		assert_int_equal(recorder__consume(recorder), 0);
		assert_int_equal(taken.end_cnt, 2 + i);
		assert_int_equal(taken.stream_cnt, 1 + i);
	}
	assert_int_equal(taken.samples, 3 * SAMPLES);
	assert_int_equal(taken.lost, SAMPLES);
	recorder__free(recorder);
}

/* A window after the first, which was recorded, given up. `says`: what the namer says before. */
static void give_up_second(void (*says)(void))
{
	struct recorder *recorder = open_recorder();

	assert_int_equal(recorder__consume(recorder), 0);
	recorder__end_window(recorder);
	assert_int_equal(answer_all(), 1);
	if (says)
		says();
	assert_int_equal(recorder__consume(recorder), 0);
	assert_int_equal(taken.samples, SAMPLES);
	recorder__end_window(recorder);
	recorder__give_up(recorder);
	assert_int_equal(taken.end_cnt, 2);
	recorder__free(recorder);
}

static void say_opt_out(void)
{
	const struct naming_opt_out said = { .process = { .start_ns = 1 }, .pid = PID };

	assert_int_equal(packet_stream_put_bytes(&link_.namer, NAMING_OPT_OUT, &said, sizeof(said)),
			 0);
	assert_int_equal(packet_stream_flush_all(&link_.namer), 0);
}

/* A label may say so of a process that was recorded for hours. */
static void who_opted_out_is_not_kept_when_a_window_is_given_up(void **state)
{
	(void)state;
	give_up_second(NULL);
	assert_int_equal(taken.stream_cnt, 2);
	assert_int_equal(taken.lost, 0);
	give_up_second(say_opt_out);
	assert_int_equal(taken.stream_cnt, 1);
	assert_int_equal(taken.lost, SAMPLES);
}

/* The namer was suspended, too. */
static void a_window_is_not_given_up_for_a_suspend(void **state)
{
	struct recorder *recorder = open_recorder();

	(void)state;
	recorder__end_window(recorder);
	suspended_ns = 3600 * CLOCK_NS_PER_S;
	assert_int_equal(recorder__consume(recorder), 0);
	assert_int_equal(taken.end_cnt, 0);
	passed_ns = 9 * CLOCK_NS_PER_S;
	assert_int_equal(recorder__consume(recorder), 0);
	assert_int_equal(taken.end_cnt, 0);
	passed_ns = 60 * CLOCK_NS_PER_S;
	assert_int_equal(recorder__consume(recorder), 0);
	assert_int_equal(taken.end_cnt, 1);
	suspended_ns = passed_ns = 0;
	recorder__free(recorder);
}

static void what_finds_no_memory_when_a_window_is_given_up_is_lost_and_not_kept(void **state)
{
	(void)state;
	give_up_second(NULL);
	assert_int_equal(taken.stream_cnt, 2);
	assert_int_equal(taken.lost, 0);
	assert_int_equal(taken.not_named, SAMPLES);
	has_no_memory = true;
	give_up_second(NULL);
	has_no_memory = false;
	assert_int_equal(taken.stream_cnt, 1);
	assert_int_equal(taken.lost, SAMPLES);
	assert_int_equal(taken.not_named, 0);
}

/* Not hanging, not dead, and of no use: what is kept for it would grow for ever. */
static void a_namer_that_answers_nothing_is_replaced(void **state)
{
	struct recorder *recorder = open_recorder();
	size_t cnt = 0;

	(void)state;
	do {
		recorder__end_window(recorder);
		recorder__give_up(recorder);
		assert_int_equal(recorder__consume(recorder), 0);
		cnt++;
	} while (!link_.broken && cnt < WINDOWS_MAX);
	assert_int_equal(link_.broken, -ETIME);
	assert_true(cnt > 6); /* a minute */
	assert_int_equal(taken.end_cnt, cnt);
	assert_int_equal(taken.lost, cnt * SAMPLES);

	assert_int_equal(recorder__consume(recorder), 0);
	assert_int_equal(link_.broken, 0);
	recorder__end_window(recorder);
	assert_int_equal(answer_all(), 1);
	assert_int_equal(recorder__consume(recorder), 0);
	assert_int_equal(taken.samples, SAMPLES);
	recorder__free(recorder);
}

/* It says so of windows, however late, that it is through with them. */
static void a_namer_that_is_late_with_every_window_is_not_replaced(void **state)
{
	struct recorder *recorder = open_recorder();

	(void)state;
	for (size_t i = 0; i < WINDOWS_MAX; i++) {
		recorder__end_window(recorder);
		recorder__give_up(recorder);
		assert_int_equal(answer_all(), 1);
		assert_int_equal(recorder__consume(recorder), 0);
		assert_int_equal(link_.broken, 0);
	}
	assert_int_equal(taken.end_cnt, WINDOWS_MAX);
	assert_int_equal(taken.stream_cnt, 0);
	assert_int_equal(taken.lost, WINDOWS_MAX * SAMPLES);
	recorder__free(recorder);
}

/* How many stacks the namer is asked to look at. */
static size_t stacks_to_look_at(void)
{
	struct packet packet;
	size_t cnt = 0;
	int err = packet_stream_fill(&link_.namer);

	while (!err && packet_stream_next(&link_.namer, &packet, &err)) {
		const uint8_t *at = packet.bytes, *end = at + packet.len;
		struct naming_stack head;
		struct probe_stack words;

		if (packet.kind != NAMING_STACKS)
			continue;
		for (; naming_stack_next(&at, end, &head, &words); cnt++) {
			assert_int_equal(head.pid, PID);
			assert_true(clock_boot_ns() - head.since_boot_ns < 60 * CLOCK_NS_PER_S);
		}
	}
	return cnt;
}

/*
 * Its stacks came when nobody knew that they were a JVM's, and do not come as new ones again. Its row of
 * counts ends there: what comes then is younger than the reading of its code.
 */
static void a_jvm_that_is_met_in_a_window_is_drained_and_its_stacks_are_looked_at(void **state)
{
	const struct naming_code_range met = { .pid = PID, .is_first = 1 };
	struct recorder *recorder = open_recorder();

	(void)state;
	has_stack = true;
	assert_int_equal(recorder__consume(recorder), 0);
	assert_int_equal(stacks_to_look_at(), 0);
	assert_int_equal(
		packet_stream_put_bytes(&link_.namer, NAMING_CODE_RANGE, &met, sizeof(met)), 0);
	assert_int_equal(packet_stream_flush_all(&link_.namer), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(recorder__consume(recorder), 0);
	assert_true(drained_ns > 0);
	assert_int_equal(stacks_to_look_at(), 1);
	/* Two rows of one stream. */
	recorder__end_window(recorder);
	assert_int_equal(answer_all(), 1);
	recorder__free(recorder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_window_is_handed_out_when_it_is_answered),
		cmocka_unit_test(windows_are_named_after_one_that_was_given_up_with_its_namer),
		cmocka_unit_test(who_opted_out_is_not_kept_when_a_window_is_given_up),
		cmocka_unit_test(a_window_is_not_given_up_for_a_suspend),
		cmocka_unit_test(
			what_finds_no_memory_when_a_window_is_given_up_is_lost_and_not_kept),
		cmocka_unit_test(a_namer_that_answers_nothing_is_replaced),
		cmocka_unit_test(a_namer_that_is_late_with_every_window_is_not_replaced),
		cmocka_unit_test(
			a_jvm_that_is_met_in_a_window_is_drained_and_its_stacks_are_looked_at),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
