// SPDX-License-Identifier: Apache-2.0
/*
 * Makes a store of many hours of one JVM out of a few minutes of a real one, and merges its hours,
 * for the figures of the store.
 *
 *     bench_store extend FROM PID TO HOURS SAMPLES   its windows until now, layout A
 *     bench_store host FROM TO HOURS CONTAINERS      a host of so many until now, layout A
 *     bench_store fleet FROM TO HOURS CONTAINERS HOST THIN
 *                                                    the same of the host with this number: its own name and
 *                                                    draw, all of them THIN times less busy
 *     bench_store jobs FROM TO HOURS JOBS            a host of so many containers one after the other, each
 *                                                    of which has some samples of one window
 *     bench_store merge DIR LEVEL                    every hour file of it merged; prints JSON
 *
 * Of a host each container has in each window what one of the recorded JVMs had in one of its own, or a
 * part of it: the first all, the second half of the samples, the third a third, and so on, as on a
 * host where few are busy. Distinct stacks are those of the recording.
 *
 * Repeating the recorded windows would be too kind: after some minutes nothing new would be seen. So
 * distinct stacks go on growing by the law of the recording (D1 n^beta after n windows, fitted to
 * it): in each window as many lines of one sample as that law wants new are given new stacks, made
 * of the beginning of one recorded stack and the end of another that meet in a frame; some of the
 * others (RECUR_PERCENT) get one that was made earlier. Everything else is as it was recorded.
 * SAMPLES is how busy the JVM is to be: recorded windows are joined until one has as many (0: as it
 * was); the law counts recorded windows. No more than MADE_BYTES_MAX of new stacks are made (a
 * compiler's law asks for gigabytes in a day): from then on earlier ones come again, and the output
 * says so.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include "user/model/cells.h"
#include "user/model/folded_line.h"
#include "user/model/profile.h"
#include "user/store/compact/merged_writer.h"
#include "user/store/segment/segment_reader.h"
#include "user/store/segment/segment_tree.h"
#include "user/store/store.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/parse.h"
#include "user/util/strtab.h"

#define RECUR_PERCENT  30
#define MADE_BYTES_MAX (128u << 20)
#define JOB_PART       100u /* of the samples of a window of a recorded JVM */
#define MAKE_FAILS_MAX 50   /* of one window: where stacks hardly meet, looking takes long */
#define HOUR_NS	       (3600 * CLOCK_NS_PER_S)

struct recorded {
	struct window window;
	char *text;
	size_t len;
};

struct bench {
	uint64_t pid;
	struct recorded *windows;
	size_t window_cnt;
	struct strtab *stacks; /* distinct ones of the recording */
	struct strtab *made;
	size_t made_bytes;
	bool is_capped;
	uint64_t text_bytes; /* written, before compression */
	double first;	     /* distinct stacks of one window */
	double exponent;     /* how their number grows */
	size_t used_cnt;     /* recorded windows that went into the store */
	uint64_t random_state;
	const char *host; /* of a fleet: its name */
	uint64_t thin;	  /* likewise: 1 in so many samples */
	bool has_jobs;	  /* each container lives in one window */
};

static uint64_t next_random(struct bench *bench)
{
	bench->random_state ^= bench->random_state << 13;
	bench->random_state ^= bench->random_state >> 7;
	bench->random_state ^= bench->random_state << 17;
	return bench->random_state;
}

/* ---- the recording ---- */

/* Of a host: any JVM's. */
static bool want_pid(void *ctx, const struct window *window)
{
	const struct bench *bench = ctx;

	return (bench->pid ? window->pid == bench->pid : window->is_jvm) && window->counts.samples;
}

static int keep(void *ctx, const struct window *window, const char *text, size_t len)
{
	struct bench *bench = ctx;
	struct recorded *recorded;

	bench->windows =
		reallocarray(bench->windows, bench->window_cnt + 1, sizeof(*bench->windows));
	if (!bench->windows)
		return -ENOMEM;
	recorded = &bench->windows[bench->window_cnt++];
	recorded->window = *window;
	recorded->text = strndup(text, len);
	recorded->len = len;
	for (int i = 0; i < WINDOW_LABEL_CNT; i++)
		recorded->window.labels[i] = window->labels[i] ? strdup(window->labels[i]) : NULL;
	if (window->lines_len)
		recorded->window.lines = strndup(window->lines, window->lines_len);
	if (window->cells_len) {
		uint8_t *cells = malloc(window->cells_len);

		if (!cells)
			return -ENOMEM;
		memcpy(cells, window->cells, window->cells_len);
		recorded->window.cells = cells;
	}
	return recorded->text ? 0 : -ENOMEM;
}

static int read_recording(struct bench *bench, const char *dir)
{
	const struct store_visitor visitor = {
		.ctx = bench,
		.wants_lines = true,
		.wants_cells = true,
		.want = want_pid,
		.window = keep,
	};
	struct store_reader *reader;
	int err = store_reader__open(dir, &reader);

	if (err)
		return err;
	err = store_reader__visit(reader, 0, UINT64_MAX, &visitor);
	store_reader__free(reader);
	return err ? err : bench->window_cnt < 4 ? -ENODATA : 0;
}

/* The next line of a text; false at its end. */
static bool next_line(const char **at, const char *end, const char **stack, size_t *stack_len,
		      uint64_t *count)
{
	const char *newline;

	while (*at < end) {
		newline = memchr(*at, '\n', (size_t)(end - *at));
		if (!newline)
			return false;
		*stack = *at;
		*at = newline + 1;
		if (folded_line_split(*stack, (size_t)(newline - *stack), stack_len, count))
			return true;
	}
	return false;
}

/* Warm-up is over after the first quarter of the recording: the law is that of the rest. */
static int fit_growth(struct bench *bench)
{
	size_t skipped = bench->window_cnt / 4, cnt = bench->window_cnt - skipped;
	double lines = 0;

	for (size_t i = 0; i < bench->window_cnt; i++) {
		const char *at = bench->windows[i].text, *end = at + bench->windows[i].len;
		const char *stack;
		size_t len;
		uint64_t count;
		uint32_t id;

		if (i == skipped) {
			strtab__free(bench->stacks);
			bench->stacks = NULL;
		}
		if (!bench->stacks)
			bench->stacks = strtab__new();
		while (bench->stacks && next_line(&at, end, &stack, &len, &count)) {
			if (strtab__intern(bench->stacks, stack, len, &id))
				return -ENOMEM;
			lines += i >= skipped;
		}
	}
	if (!bench->stacks)
		return -ENOMEM;
	bench->first = lines / (double)cnt;
	bench->exponent = log(strtab__count(bench->stacks) / bench->first) / log((double)cnt);
	return 0;
}

/* ---- new stacks ---- */

/* Frame `number` of a stack begins there; NULL when it has not as many. */
static const char *frame_at(const char *stack, size_t number)
{
	while (number-- && stack) {
		stack = strchr(stack, ';');
		stack = stack ? stack + 1 : NULL;
	}
	return stack;
}

static size_t frame_cnt(const char *stack)
{
	size_t cnt = 1;

	for (; (stack = strchr(stack, ';')); stack++)
		cnt++;
	return cnt;
}

/* The beginning of one stack up to a frame, and what another one has below the same frame. */
static bool make_stack(struct bench *bench, struct strbuf *out)
{
	uint32_t cnt = strtab__count(bench->stacks), id;

	for (int i = 0; i < 50; i++) {
		const char *a = strtab__get(bench->stacks, next_random(bench) % cnt, NULL);
		const char *b = strtab__get(bench->stacks, next_random(bench) % cnt, NULL);
		size_t depth = frame_cnt(a);
		const char *frame = frame_at(a, depth / 2 + next_random(bench) % (depth / 2 + 1));
		size_t frame_len = frame ? strcspn(frame, ";") : 0;
		const char *meets = b;

		if (!frame)
			continue;
		while (meets && !(strncmp(meets, frame, frame_len) == 0 &&
				  (meets[frame_len] == ';' || !meets[frame_len]))) {
			meets = strchr(meets, ';');
			meets = meets ? meets + 1 : NULL;
		}
		if (!meets)
			continue;
		strbuf_clear(out);
		strbuf_append(out, a, (size_t)(frame - a));
		strbuf_puts(out, meets);
		if (strbuf_error(out))
			return false;
		if (strtab__find(bench->stacks, out->data, out->len) == STRTAB_NONE &&
		    strtab__find(bench->made, out->data, out->len) == STRTAB_NONE) {
			bench->made_bytes += out->len;
			return strtab__intern(bench->made, out->data, out->len, &id) == 0;
		}
	}
	return false;
}

/* Adds one recorded window with some of its rare stacks changed. */
static int add_text(struct bench *bench, const struct recorded *recorded, struct profile *profile)
{
	__cleanup_strbuf struct strbuf stack_text = STRBUF_INIT;
	/* What the recording does not have of the law yet. */
	double wanted = bench->first * pow((double)++bench->used_cnt, bench->exponent) -
			strtab__count(bench->stacks) - strtab__count(bench->made);
	const char *at = recorded->text, *end = at + recorded->len;
	const char *stack;
	size_t len;
	uint64_t count;
	int err = 0, fails = 0;

	if (bench->made_bytes >= MADE_BYTES_MAX) {
		bench->is_capped = true;
		wanted = 0;
	}
	while (!err && next_line(&at, end, &stack, &len, &count)) {
		uint32_t made_cnt = strtab__count(bench->made);
		bool wants_new = count == 1 && wanted >= 1 && fails < MAKE_FAILS_MAX;
		bool is_made = wants_new && make_stack(bench, &stack_text);

		fails += wants_new && !is_made;
		if (is_made) {
			wanted--;
			err = profile__add(profile, stack_text.data, stack_text.len, 1);
		} else if (count == 1 && made_cnt && next_random(bench) % 100 < RECUR_PERCENT) {
			stack = strtab__get(bench->made, next_random(bench) % made_cnt, &len);
			err = profile__add(profile, stack, len, 1);
		} else {
			err = profile__add(profile, stack, len, count);
		}
	}
	return err;
}

/* As many gaps and counts as were recorded, in another order: repeated cells would compress too well. */
static int make_cells(struct bench *bench, struct window *window, struct strbuf *out)
{
	struct cells_reader reader = cells_reader_init(window->cells, window->cells_len);
	struct cell *cells = calloc(window->cells_len + 1, sizeof(*cells));
	uint32_t next = 0;
	size_t cnt = 0;
	int err;

	if (!cells)
		return -ENOMEM;
	for (; cells_next(&reader, &cells[cnt]); cnt++) {
		uint32_t index = cells[cnt].index;

		cells[cnt].index -= next; /* the gap, for now */
		next = index + 1;
	}
	for (size_t i = cnt; i > 1; i--) {
		size_t other = next_random(bench) % i;
		struct cell cell = cells[i - 1];

		cells[i - 1] = cells[other];
		cells[other] = cell;
	}
	next = 0;
	for (size_t i = 0; i < cnt; i++) {
		cells[i].index += next;
		next = cells[i].index + 1;
	}
	strbuf_clear(out);
	err = cells_encode(cells, cnt, out);
	free(cells);
	window->cells = (const uint8_t *)out->data;
	window->cells_len = (uint32_t)out->len;
	return err;
}

/* One window of as many recorded ones as it takes. */
static int make_window(struct bench *bench, uint64_t samples, struct window *window,
		       struct strbuf *text, struct strbuf *cells)
{
	size_t skipped = bench->window_cnt / 4;
	struct profile *profile = profile__new();
	struct cells_sum *sum = cells_sum__new();
	int err = profile && sum ? 0 : -ENOMEM;

	*window = (struct window){ .pid = 0 };
	while (!err && (!window->pid || window->counts.samples < samples)) {
		const struct recorded *recorded =
			&bench->windows[skipped +
					next_random(bench) % (bench->window_cnt - skipped)];
		struct window next = recorded->window;

		err = add_text(bench, recorded, profile);
		if (!err)
			err = make_cells(bench, &next, cells);
		if (!err)
			err = cells_sum__add(sum, next.start_unix_ns % CELL_NS, next.cells,
					     next.cells_len);
		window_counts_add(&next.counts, &window->counts);
		*window = next;
	}
	strbuf_clear(text);
	strbuf_clear(cells);
	if (!err)
		err = profile__to_folded(profile, text);
	if (!err)
		err = cells_sum__take(sum, 0, cells);
	window->cells = (const uint8_t *)cells->data;
	window->cells_len = (uint32_t)cells->len;
	cells_sum__free(sum);
	profile__free(profile);
	return err;
}

static int extend(struct bench *bench, const char *dir, uint64_t hours, uint64_t samples)
{
	const struct store_writer_options options = { .keeps_ticks = true };
	__cleanup_strbuf struct strbuf text = STRBUF_INIT, cells = STRBUF_INIT;
	uint64_t end_ns = clock_unix_ns() / HOUR_NS * HOUR_NS;
	uint64_t at_ns = end_ns - hours * HOUR_NS;
	uint64_t window_ns = bench->windows[1].window.duration_ns;
	struct store_writer *writer;
	int err = store_writer__open(dir, &options, &writer);

	if (err)
		return err;
	for (; at_ns < end_ns && !err; at_ns += window_ns) {
		struct window window;
		uint64_t lost;

		err = make_window(bench, samples, &window, &text, &cells);
		bench->text_bytes += text.len;
		window.start_boot_ns += at_ns - window.start_unix_ns;
		window.start_unix_ns = at_ns + next_random(bench) % 1000000;
		if (!err)
			err = store_writer__add(writer, &window, strbuf_str(&text), text.len);
		if (!err)
			err = store_writer__commit(writer, &lost);
	}
	store_writer__free(writer);
	return err;
}

/* ---- a host ---- */

/* Each sample of the recorded window is one of the container's with the chance 1 in `part`. */
static int thin(struct bench *bench, const struct recorded *recorded, uint64_t part,
		struct strbuf *text, uint64_t *samples)
{
	const char *at = recorded->text, *end = at + recorded->len;
	const char *stack;
	size_t len;
	uint64_t count;

	*samples = 0;
	strbuf_clear(text);
	while (next_line(&at, end, &stack, &len, &count)) {
		uint64_t kept = 0;

		for (uint64_t i = 0; i < count; i++)
			kept += next_random(bench) % part == 0;
		if (!kept)
			continue;
		strbuf_append(text, stack, len);
		strbuf_printf(text, " %llu\n", (unsigned long long)kept);
		*samples += kept;
	}
	return strbuf_error(text);
}

/* Container `number` in a window that begins at `at_ns`: a stream of its own over all hours. */
static int add_container(struct bench *bench, struct store_writer *writer, uint32_t number,
			 uint64_t at_ns, struct strbuf *text, struct window *host)
{
	size_t skipped = bench->window_cnt / 4;
	const struct recorded *recorded =
		&bench->windows[skipped + next_random(bench) % (bench->window_cnt - skipped)];
	struct window window = recorded->window;
	char container[32], service[32];
	uint64_t part = bench->has_jobs ? JOB_PART : bench->thin + number;
	int err = thin(bench, recorded, part, text, &window.counts.samples);

	snprintf(service, sizeof(service), "service-%u", number);
	snprintf(container, sizeof(container), "service-%u-1", number);
	window.labels[WINDOW_LABEL_CONTAINER] = container;
	window.labels[WINDOW_LABEL_SERVICE] = service;
	window.labels[WINDOW_LABEL_IMAGE] = "service:1";
	if (bench->host)
		window.labels[WINDOW_LABEL_HOST] = bench->host;
	window.lines = NULL;
	window.lines_len = 0;
	window.cells = NULL;
	window.cells_len = 0;
	window.pid = 1000 + number;
	window.exec_id = number + 1;
	window.cgroup_id = 1000 + number;
	window.process_start_ns = CLOCK_NS_PER_S;
	window.start_boot_ns += at_ns - window.start_unix_ns;
	window.start_unix_ns = at_ns;
	window.counts.unknown_frames = 0;
	window.counts.frames = 30 * window.counts.samples;
	*host = window;
	bench->text_bytes += text->len;
	if (err || !window.counts.samples)
		return err;
	return store_writer__add(writer, &window, strbuf_str(text), text->len);
}

/* One window of these containers, and the host's record. */
static int add_host_window(struct bench *bench, struct store_writer *writer, uint32_t first,
			   uint32_t end, uint64_t at_ns, struct strbuf *text)
{
	uint64_t samples = 0, lost;
	struct window last = { .pid = 0 }, host;
	int err = 0;

	for (uint32_t i = first; i < end && !err; i++) {
		err = add_container(bench, writer, i, at_ns, text, &last);
		samples += last.counts.samples;
	}
	host = (struct window){
		.start_unix_ns = last.start_unix_ns,
		.start_boot_ns = last.start_boot_ns,
		.duration_ns = last.duration_ns,
		.frequency_hz = last.frequency_hz,
		.cpu_cnt = last.cpu_cnt,
		.counts.samples = samples,
		.labels[WINDOW_LABEL_HOST] = bench->host,
	};
	if (!err)
		err = store_writer__add(writer, &host, "", 0);
	return err ? err : store_writer__commit(writer, &lost);
}

static int make_host(struct bench *bench, const char *dir, uint64_t hours, uint32_t containers)
{
	const struct store_writer_options options = { .keeps_ticks = true };
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	uint64_t window_ns = bench->windows[1].window.duration_ns;
	uint64_t end_ns = clock_unix_ns() / window_ns * window_ns;
	uint64_t cnt = hours * HOUR_NS / window_ns;
	struct store_writer *writer;
	int err = store_writer__open(dir, &options, &writer);

	for (uint64_t i = 0; i < cnt && !err; i++) {
		uint64_t first = bench->has_jobs ? i * containers / cnt : 0;
		uint64_t end = bench->has_jobs ? (i + 1) * containers / cnt : containers;

		err = add_host_window(bench, writer, (uint32_t)first, (uint32_t)end,
				      end_ns - (cnt - i) * window_ns, &text);
	}
	store_writer__free(writer);
	return err;
}

/* ---- merging ---- */

struct merging {
	struct merged_writer *writer;
	uint64_t samples;
};

static int merge_window(void *ctx, const struct window *window, const char *text, size_t len)
{
	struct merging *merging = ctx;
	int err = merged_writer__add(merging->writer, window, text, len);

	merging->samples += window->counts.samples;
	if (err != -E2BIG)
		return err;
	err = merged_writer__end_unit(merging->writer);
	return err ? err : merged_writer__add(merging->writer, window, text, len);
}

static bool want_all(void *ctx, const struct window *window)
{
	(void)ctx;
	(void)window;
	return true;
}

static int merge_file(struct segment_reader *reader, const char *path, int level, uint64_t *samples,
		      uint64_t *before, uint64_t *after)
{
	const struct merged_options options = { .compression_level = level };
	struct merging merging = { .samples = 0 };
	const struct segment_visitor visitor = {
		.ctx = &merging,
		.wants_lines = true,
		.wants_cells = true,
		.want = want_all,
		.window = merge_window,
	};
	char tmp[4104];
	struct stat st;
	__cleanup_fd int fd = open(path, O_RDONLY);
	__cleanup_fd int out = -1;
	int err;

	snprintf(tmp, sizeof(tmp), "%s.tmp", path);
	out = open(tmp, O_WRONLY | O_CREAT | O_TRUNC, 0640);
	if (fd < 0 || out < 0 || fstat(fd, &st))
		return -errno;
	*before += (uint64_t)st.st_size;
	err = merged_writer__open(out, &options, NULL, 0, &merging.writer);
	if (err)
		return err;
	err = segment_reader__walk(reader, fd, &visitor);
	if (!err)
		err = merged_writer__finish(merging.writer);
	merged_writer__free(merging.writer);
	if (!err && (fstat(out, &st) || rename(tmp, path)))
		err = -errno;
	*after += (uint64_t)st.st_size;
	*samples += merging.samples;
	return err;
}

static int merge(const char *dir, int level)
{
	__cleanup_segment_list struct segment_list list = { NULL, 0, 0 };
	struct segment_reader *reader = segment_reader__new();
	uint64_t samples = 0, before = 0, after = 0;
	struct timespec begin, end;
	struct rusage usage;
	char path[4096];
	int tree_fd, err;

	snprintf(path, sizeof(path), "%s/%s", dir, SEGMENT_TREE_CPU);
	tree_fd = open(path, O_RDONLY | O_DIRECTORY);
	err = reader && tree_fd >= 0 ? segment_tree_list(tree_fd, 0, UINT64_MAX, &list) : -ENOENT;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
	for (size_t i = 0; i < list.cnt && !err; i++) {
		char name[SEGMENT_PATH_BYTES];

		segment_path(&list.files[i], name);
		snprintf(path, sizeof(path), "%s/%s/%s", dir, SEGMENT_TREE_CPU, name);
		err = merge_file(reader, path, level, &samples, &before, &after);
	}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
	getrusage(RUSAGE_SELF, &usage);
	segment_reader__free(reader);
	if (tree_fd >= 0)
		close(tree_fd);
	if (!err)
		printf("{\"files\": %zu, \"samples\": %llu, \"bytes_before\": %llu, "
		       "\"bytes_after\": %llu, \"cpu_ms\": %.1f, \"max_rss_kb\": %ld}\n",
		       list.cnt, (unsigned long long)samples, (unsigned long long)before,
		       (unsigned long long)after,
		       (double)(end.tv_sec - begin.tv_sec) * 1e3 +
			       (double)(end.tv_nsec - begin.tv_nsec) / 1e6,
		       usage.ru_maxrss);
	return err;
}

static int extend_main(struct bench *bench, char **argv, uint64_t hours, uint64_t samples)
{
	int err = read_recording(bench, argv[2]);

	bench->made = strtab__new();
	if (!err)
		err = fit_growth(bench);
	if (!err)
		err = extend(bench, argv[4], hours, samples);
	if (!err)
		printf("{\"windows\": %zu, \"stacks_of_one\": %.0f, \"exponent\": %.3f, "
		       "\"stacks_recorded\": %u, \"stacks_made\": %u, "
		       "\"stacks_by_law\": %.0f, "
		       "\"text_bytes\": %llu, \"is_capped\": %s}\n",
		       bench->window_cnt, bench->first, bench->exponent,
		       strtab__count(bench->stacks), strtab__count(bench->made),
		       bench->first * pow((double)bench->used_cnt, bench->exponent),
		       (unsigned long long)bench->text_bytes, bench->is_capped ? "true" : "false");
	return err;
}

static int host_main(struct bench *bench, char **argv, uint64_t hours, uint64_t containers)
{
	int err = read_recording(bench, argv[2]);

	if (!err)
		err = make_host(bench, argv[3], hours, (uint32_t)containers);
	if (!err)
		printf("{\"windows\": %zu, \"text_bytes\": %llu}\n", bench->window_cnt,
		       (unsigned long long)bench->text_bytes);
	return err;
}

static int fleet_main(struct bench *bench, char **argv, uint64_t hours, uint64_t containers)
{
	uint64_t number;
	char name[32];

	if (parse_u64(argv[6], &number) || parse_u64(argv[7], &bench->thin) || !bench->thin)
		return -EINVAL;
	(void)snprintf(name, sizeof(name), "host-%llu", (unsigned long long)number);
	bench->host = name;
	bench->random_state += number * 0x9e3779b97f4a7c15ull;
	return host_main(bench, argv, hours, containers);
}

int main(int argc, char **argv)
{
	struct bench bench = { .random_state = 88172645463325252ull, .thin = 1 };
	uint64_t hours, cnt;
	int err;

	if (argc == 4 && strcmp(argv[1], "merge") == 0) {
		err = merge(argv[2], atoi(argv[3]));
	} else if (argc == 7 && strcmp(argv[1], "extend") == 0 &&
		   parse_u64(argv[3], &bench.pid) == 0 && parse_u64(argv[5], &hours) == 0 &&
		   parse_u64(argv[6], &cnt) == 0) {
		err = extend_main(&bench, argv, hours, cnt);
	} else if (argc == 6 && strcmp(argv[1], "host") == 0 && parse_u64(argv[4], &hours) == 0 &&
		   parse_u64(argv[5], &cnt) == 0) {
		err = host_main(&bench, argv, hours, cnt);
	} else if (argc == 6 && strcmp(argv[1], "jobs") == 0 && parse_u64(argv[4], &hours) == 0 &&
		   parse_u64(argv[5], &cnt) == 0) {
		bench.has_jobs = true;
		err = host_main(&bench, argv, hours, cnt);
	} else if (argc == 8 && strcmp(argv[1], "fleet") == 0 && parse_u64(argv[4], &hours) == 0 &&
		   parse_u64(argv[5], &cnt) == 0) {
		err = fleet_main(&bench, argv, hours, cnt);
	} else {
		fprintf(stderr, "usage: bench_store extend FROM PID TO HOURS SAMPLES | "
				"host FROM TO HOURS CONTAINERS | jobs FROM TO HOURS JOBS | "
				"fleet FROM TO HOURS CONTAINERS HOST THIN | merge DIR LEVEL\n");
		return 2;
	}
	if (err)
		fprintf(stderr, "bench_store: %s\n", strerror(-err));
	return err ? 1 : 0;
}
