// SPDX-License-Identifier: Apache-2.0
/*
 * Makes a store of a made-up service for the tests of jbpf diff: 60 methods with Zipf shares in 12
 * classes, Poisson counts, noise between windows and drift between days, all from one seed. Reads
 * runs of processes on stdin, one a line:
 *
 *     run pid=1 from=1700000000 until=1700010800 service=shop image=shop:1 plant=3:1.2
 *
 * from, until in seconds; load=1.5 (of everything), hz=49, age=100000 (seconds the JVM had lived
 * by `from`), cold=600 (age until which it interprets), plant=METHOD:FACTOR (repeatable; 0 = the method is not there), unknown=0.7 (share of
 * samples in frames without name), stacks=2000 (more of them in each window, of one sample each and
 * none like any other), callers=40 (places in which each method stands). Methods 60 to 63 are there only when planted.
 * Usage: mkdiffstore DIR SEED DRIFT NOISE [WINDOW_S]     drift and noise as 0.02
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/store/store.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/parse.h"
#include "user/util/strbuf.h"

#define METHODS	     60
#define METHODS_MAX  64
#define RUNS_MAX     256
#define TEXT_MAX     64
#define DAY_S	     86400
#define DEFAULT_S    300
#define LARGE	     50 /* above, a Poisson count is as good as normal */
#define HOST_PER_RUN 2	/* samples of the whole host for one of ours */

struct run {
	uint32_t pid;
	uint32_t hz;
	uint64_t from_s;
	uint64_t until_s;
	uint64_t age_s;
	uint64_t cold_s;
	uint32_t stacks;
	uint32_t callers;
	double load;
	double unknown;
	double plant[METHODS_MAX];
	char service[TEXT_MAX];
	char image[TEXT_MAX];
	char comm[TEXT_MAX];
};

struct maker {
	struct store_writer *writer;
	uint64_t seed;
	double drift;
	double noise;
	uint64_t window_s;
	uint64_t state; /* of the counts' random numbers */
	struct run runs[RUNS_MAX];
	size_t run_cnt;
};

/* ---- random numbers: splitmix64, so that every machine makes the same ---- */

static uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ull;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

static double unit(uint64_t x)
{
	return ((double)(x >> 11) + 0.5) / 9007199254740992.0;
}

/* The same number for the same key. */
static double gauss_of(uint64_t seed, uint64_t a, uint64_t b)
{
	uint64_t key = mix(mix(mix(seed) ^ a) ^ b);

	return sqrt(-2 * log(unit(key))) * cos(2 * M_PI * unit(mix(key)));
}

static double gauss(struct maker *maker)
{
	maker->state = mix(maker->state);
	return gauss_of(maker->state, 0, 0);
}

static uint64_t poisson(struct maker *maker, double mean)
{
	uint64_t cnt = 0;
	double product = 1;

	if (mean > LARGE)
		return (uint64_t)fmax(0, round(mean + sqrt(mean) * gauss(maker)));
	for (;; cnt++) {
		maker->state = mix(maker->state);
		product *= unit(maker->state);
		if (product < exp(-mean))
			return cnt;
	}
}

/* ---- windows ---- */

/* Zipf, flattened at the top. */
static double share_of(uint32_t method)
{
	static double total;

	if (total == 0)
		for (uint32_t m = 0; m < METHODS; m++)
			total += 1.0 / (m + 3);
	return 1.0 / (method % METHODS + 3) / total;
}

static double rate_of(const struct maker *maker, const struct run *run, uint32_t method,
		      uint64_t time_s)
{
	return run->load * share_of(method) * run->plant[method] *
	       exp(maker->drift * gauss_of(maker->seed, method, time_s / DAY_S)) *
	       exp(maker->noise * gauss_of(maker->seed + 1, method, time_s));
}

/* Below one of the callers; the first has no number. */
static void append_stack(struct strbuf *text, const char *comm, uint32_t method, uint32_t caller,
			 char tier, uint64_t cnt)
{
	char number[16] = "";

	if (!cnt)
		return;
	if (caller)
		snprintf(number, sizeof(number), "%" PRIu32, caller);
	strbuf_printf(text,
		      "%s;java.lang.Thread.run_[0];shop.p%u.Class%u.handle%s_[j];"
		      "shop.p%u.Class%u.method%u_[%c] %" PRIu64 "\n",
		      comm, method / 20, method / 5, number, method / 20, method / 5, method, tier,
		      cnt);
}

static uint64_t append_method(struct maker *maker, const struct run *run, uint32_t method,
			      char tier, double mean, struct strbuf *text)
{
	uint64_t sum = 0;

	for (uint32_t caller = 0; caller < run->callers; caller++) {
		uint64_t cnt = poisson(maker, mean / run->callers);

		append_stack(text, run->comm, method, caller, tier, cnt);
		sum += cnt;
	}
	return sum;
}

/* Each has a class of its own, as where a program makes classes while it runs. */
static void append_new_stacks(struct strbuf *text, const struct run *run, uint64_t time_s)
{
	for (uint32_t i = 0; i < run->stacks; i++)
		strbuf_printf(text,
			      "%s;java.lang.Thread.run_[0];made.Made%" PRIx64 "q%" PRIx32
			      ".run_[j] 1\n",
			      run->comm, time_s, i);
}

static int add_window(struct maker *maker, const struct run *run, uint64_t time_s,
		      uint64_t *host_samples)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	struct window window = {
		.start_unix_ns = time_s * CLOCK_NS_PER_S,
		.duration_ns = maker->window_s * CLOCK_NS_PER_S,
		.start_boot_ns = (1000000 + run->age_s + time_s - run->from_s) * CLOCK_NS_PER_S,
		.process_start_ns = 1000000 * CLOCK_NS_PER_S,
		.frequency_hz = run->hz,
		.cpu_cnt = 2,
		.pid = run->pid,
		.is_jvm = 1,
		.cgroup_id = run->pid,
		.jit_age_ms = UINT32_MAX,
	};
	char tier = run->age_s + time_s - run->from_s < run->cold_s ? '0' : 'j';
	double samples_per_share = (double)run->hz * (double)maker->window_s;
	uint64_t known = 0;
	int err;

	window.labels[WINDOW_LABEL_COMM] = run->comm;
	window.labels[WINDOW_LABEL_SERVICE] = *run->service ? run->service : NULL;
	window.labels[WINDOW_LABEL_IMAGE] = *run->image ? run->image : NULL;
	for (uint32_t m = 0; m < METHODS_MAX; m++)
		known += append_method(maker, run, m, tier,
				       samples_per_share * (1 - run->unknown) *
					       rate_of(maker, run, m, time_s),
				       &text);
	if (run->unknown > 0) {
		uint64_t cnt = poisson(maker, samples_per_share * run->unknown * run->load);

		window.counts.samples = cnt;
		window.counts.unknown_frames = 4 * cnt;
		if (cnt)
			strbuf_printf(&text,
				      "%s;[unknown];[unknown];[unknown];[unknown jit] %" PRIu64
				      "\n",
				      run->comm, cnt);
	}
	append_new_stacks(&text, run, time_s);
	known += run->stacks;
	err = strbuf_error(&text);
	window.counts.samples += known;
	window.counts.frames = 3 * known + window.counts.unknown_frames;
	*host_samples += HOST_PER_RUN * window.counts.samples;
	if (err || !window.counts.samples)
		return err;
	return store_writer__add(maker->writer, &window, strbuf_str(&text), text.len);
}

static int add_time(struct maker *maker, uint64_t time_s)
{
	struct window host = {
		.start_unix_ns = time_s * CLOCK_NS_PER_S,
		.duration_ns = maker->window_s * CLOCK_NS_PER_S,
		.frequency_hz = 49,
		.cpu_cnt = 2,
	};
	uint64_t lost = 0;
	bool is_any = false;
	int err = 0;

	for (size_t i = 0; !err && i < maker->run_cnt; i++) {
		const struct run *run = &maker->runs[i];

		if (time_s < run->from_s || time_s + maker->window_s > run->until_s)
			continue;
		is_any = true;
		err = add_window(maker, run, time_s, &host.counts.samples);
	}
	if (err || !is_any)
		return err;
	err = store_writer__add(maker->writer, &host, "", 0);
	return err ? err : store_writer__commit(maker->writer, &lost);
}

static int make(struct maker *maker)
{
	uint64_t from = UINT64_MAX, until = 0;
	int err = 0;

	for (size_t i = 0; i < maker->run_cnt; i++) {
		from = maker->runs[i].from_s < from ? maker->runs[i].from_s : from;
		until = maker->runs[i].until_s > until ? maker->runs[i].until_s : until;
	}
	for (uint64_t at = from; !err && at < until; at += maker->window_s)
		err = add_time(maker, at);
	return err;
}

/* ---- script ---- */

static int take_text(char *to, const char *value)
{
	if (strlen(value) >= TEXT_MAX)
		return -EINVAL;
	strcpy(to, value);
	return 0;
}

static int take_number(double *to, const char *value)
{
	char *end;

	*to = strtod(value, &end);
	return *end || end == value || !isfinite(*to) || *to < 0 ? -EINVAL : 0;
}

static int take_plant(struct run *run, char *value)
{
	char *factor = strchr(value, ':');
	uint32_t method;

	if (!factor)
		return -EINVAL;
	*factor++ = '\0';
	if (parse_u32_range(value, 0, METHODS_MAX - 1, &method))
		return -EINVAL;
	return take_number(&run->plant[method], factor);
}

static int take_field(struct run *run, char *pair)
{
	char *value = strchr(pair, '=');

	if (!value)
		return -EINVAL;
	*value++ = '\0';
	if (strcmp(pair, "pid") == 0)
		return parse_u32_range(value, 1, INT32_MAX, &run->pid);
	if (strcmp(pair, "hz") == 0)
		return parse_u32_range(value, 1, 10000, &run->hz);
	if (strcmp(pair, "from") == 0)
		return parse_u64(value, &run->from_s);
	if (strcmp(pair, "until") == 0)
		return parse_u64(value, &run->until_s);
	if (strcmp(pair, "age") == 0)
		return parse_u64(value, &run->age_s);
	if (strcmp(pair, "cold") == 0)
		return parse_u64(value, &run->cold_s);
	if (strcmp(pair, "stacks") == 0)
		return parse_u32_range(value, 0, 1000000, &run->stacks);
	if (strcmp(pair, "callers") == 0)
		return parse_u32_range(value, 1, 1000, &run->callers);
	if (strcmp(pair, "load") == 0)
		return take_number(&run->load, value);
	if (strcmp(pair, "unknown") == 0)
		return take_number(&run->unknown, value);
	if (strcmp(pair, "plant") == 0)
		return take_plant(run, value);
	if (strcmp(pair, "service") == 0)
		return take_text(run->service, value);
	if (strcmp(pair, "image") == 0)
		return take_text(run->image, value);
	if (strcmp(pair, "comm") == 0)
		return take_text(run->comm, value);
	return -EINVAL;
}

static int take_line(struct maker *maker, char *line)
{
	struct run run = {
		.hz = 49, .age_s = 100000, .cold_s = 600, .callers = 1, .load = 1, .comm = "java"
	};
	char *save = NULL;
	char *word = strtok_r(line, " \n", &save);
	int err = 0;

	if (!word)
		return 0;
	if (strcmp(word, "run") != 0 || maker->run_cnt == RUNS_MAX)
		return -EINVAL;
	for (uint32_t m = 0; m < METHODS; m++)
		run.plant[m] = 1;
	while (!err && (word = strtok_r(NULL, " \n", &save)))
		err = take_field(&run, word);
	if (err || !run.pid || run.from_s >= run.until_s)
		return -EINVAL;
	maker->runs[maker->run_cnt++] = run;
	return 0;
}

int main(int argc, char **argv)
{
	const struct store_writer_options options = { .compression_level = 1, .keeps_ticks = true };
	static struct maker maker = { .window_s = DEFAULT_S };
	char *line = NULL;
	size_t cap = 0;
	int err;

	if ((argc != 5 && argc != 6) || parse_u64(argv[2], &maker.seed) ||
	    take_number(&maker.drift, argv[3]) || take_number(&maker.noise, argv[4]) ||
	    (argc == 6 && (parse_u64(argv[5], &maker.window_s) || !maker.window_s))) {
		fprintf(stderr, "usage: mkdiffstore DIR SEED DRIFT NOISE [WINDOW_S] < SCRIPT\n");
		return 2;
	}
	maker.state = mix(maker.seed + 2);
	err = store_writer__open(argv[1], &options, &maker.writer);
	while (!err && getline(&line, &cap, stdin) >= 0) {
		err = take_line(&maker, line);
		if (err)
			fprintf(stderr, "mkdiffstore: '%s': %s\n", line, strerror(-err));
	}
	free(line);
	if (!err)
		err = make(&maker);
	if (err)
		fprintf(stderr, "mkdiffstore: %s\n", strerror(-err));
	store_writer__free(maker.writer);
	return err ? 1 : 0;
}
