// SPDX-License-Identifier: Apache-2.0
/*
 * Compares the BPF side's stacks of a running process with those of another unwinder, libdw, from the
 * same registers and the same bytes of stack. Usage (root):
 *
 *   live_unwind --pid PID [--seconds S] [--frequency HZ] [--samples N] [--costs]
 *               [--keeps-fp NAME]... [--no-table NAME]... [--unmapped NAME]...
 *               [--range LOW:HIGH:LOW:HIGH] [--show N]
 *
 * Prints "sampling" on stderr once it samples, and one JSON object at the end. --samples: ends when
 * there are so many. --costs: times walks by rules beside such by frame pointers, and compares
 * nothing. --keeps-fp, --no-table: no table is made of files whose path has NAME in it; --unmapped:
 * the kernel does not hear of them. --range: JIT code, as probe__set_code_range() has it
 * (hexadecimal). --show: so many stacks that differ, on stderr.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/bpf/unwind_dump.skel.h"

#include "symbols/elf/elf_file.h"
#include "symbols/elf/vdso.h"
#include "symbols/unwind/unwind_table.h"
#include "user/collect/probe/cpus.h"
#include "user/collect/probe/probe_host.h"
#include "user/collect/probe/probe_unwind.h"
#include "user/host/procmaps.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/log.h"
#include "tests/bpf/unwind_dump.h"

#define NAMES_MAX     8
#define COSTS_MAX     65536
#define ENDS_CNT      (JBPF_END_MAX_RULES + 1)
#define ELF_TYPE_LOAD 1
#define TABLES_MAX    JBPF_SPACE_MAX_MAPPINGS

struct name_table {
	const char *items[NAMES_MAX];
	size_t cnt;
};

struct live {
	uint32_t pid;
	double seconds;
	uint32_t frequency_hz;
	uint64_t samples_max;
	bool costs_only;
	int show_cnt;
	struct name_table keeps_fp, no_table, unmapped;
	struct jbpf_code_range range;

	struct unwind_dump_bpf *skel;
	struct probe_unwind unwind;
	Dwfl *dwfl;

	const struct unwind_dump *dump; /* the one at hand */
	uint64_t theirs[JBPF_MAX_DEPTH];
	uint32_t their_cnt;

	uint64_t samples, equal, shorter, longer, different, unread;
	uint64_t frames;
	uint64_t ends[ENDS_CNT];
	uint64_t table_words;
	uint32_t costs[2][2]
		      [COSTS_MAX]; /* by rules and frame pointers; second and first in a sample */
	uint32_t cost_cnt[2];
	uint64_t fp_frames, first_miss_cnt, last_miss_cnt;
};

static bool has_name(const struct name_table *names, const char *path)
{
	for (size_t i = 0; i < names->cnt; i++) {
		if (strstr(path, names->items[i]))
			return true;
	}
	return false;
}

/* ---- what the kernel is told ------------------------------------------------------------------- */

/* The address, as the file says, of the byte that a mapping begins with. */
static bool address_of(const struct elf_file *file, uint64_t offset, uint64_t *out)
{
	for (size_t i = 0; i < file->segment_cnt; i++) {
		const struct elf_segment *segment = &file->segments[i];
		uint64_t skew = segment->offset % 4096;

		if (segment->type != ELF_TYPE_LOAD || offset + skew < segment->offset ||
		    offset >= segment->offset + segment->file_size)
			continue;
		*out = segment->address - segment->offset + offset;
		return true;
	}
	return false;
}

static int set_table(struct live *live, const struct elf_file *file, uint64_t offset,
		     struct jbpf_mapping *mapping)
{
	static uint32_t last_id;
	struct unwind_table table = { 0 };
	uint64_t address;
	int err;

	if (!address_of(file, offset, &address))
		return -ENOEXEC;
	err = unwind_table_build(file, &table);
	if (!err && address < table.address)
		err = -ENOEXEC;
	if (!err)
		err = probe_unwind_set_table(&live->unwind, ++last_id, table.words, table.word_cnt);
	if (!err) {
		uint64_t page = (address - table.address) / 4096;

		mapping->table = last_id;
		mapping->page = (uint32_t)page;
		live->table_words += table.word_cnt;
		if (page >= table.page_cnt)
			mapping->table = 0;
		else if (mapping->page_cnt > table.page_cnt - page)
			mapping->page_cnt = (uint32_t)(table.page_cnt - page);
	}
	unwind_table_release(&table);
	return err;
}

static int set_file(struct live *live, const struct procmap *map, const char *path,
		    struct jbpf_mapping *mapping)
{
	__cleanup_fd int fd = -1;
	char link[64];
	struct elf_file file;
	struct stat status;
	int err;

	if (map->kind == PROCMAP_KIND_VDSO) {
		err = vdso_open(&file);
	} else {
		snprintf(link, sizeof(link), "/proc/%u/map_files/%" PRIx64 "-%" PRIx64, live->pid,
			 map->start, map->end);
		fd = open(link, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || fstat(fd, &status))
			return -errno;
		err = elf_file_open_sized(fd, (uint64_t)status.st_size, &file);
	}
	if (!err)
		err = set_table(live, &file, map->offset, mapping);
	elf_file_release(&file);
	if (err)
		fprintf(stderr, "%s: %s\n", path, errstr(err));
	return err;
}

static int read_maps(uint32_t pid, struct procmaps *maps)
{
	__cleanup_fd int fd = -1;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : procmaps_read(fd, maps);
}

static int set_space(struct live *live)
{
	struct jbpf_space space = { .start_ns = 1, .exec_id = 1 };
	struct procmaps maps = { 0 };
	int err = read_maps(live->pid, &maps);

	memset(space.start, 0xff, sizeof(space.start));
	for (size_t i = 0; !err && i < maps.cnt && space.mapping_cnt < TABLES_MAX; i++) {
		const struct procmap *map = &maps.items[i];
		const char *path = procmaps_path(&maps, map);
		struct jbpf_mapping *mapping = &space.mappings[space.mapping_cnt];

		if ((map->kind != PROCMAP_KIND_FILE && map->kind != PROCMAP_KIND_VDSO) ||
		    has_name(&live->unmapped, path))
			continue;
		space.start[space.mapping_cnt++] = map->start;
		mapping->page_cnt = (uint32_t)((map->end - map->start) / 4096);
		if (has_name(&live->keeps_fp, path))
			mapping->flags = JBPF_MAPPING_KEEPS_FP;
		else if (!has_name(&live->no_table, path))
			(void)set_file(live, map, path, mapping);
	}
	procmaps_release(&maps);
	return err ? err : probe_unwind_set_space(&live->unwind, live->pid, 0, &space);
}

static int set_ranges(struct live *live)
{
	int fd = bpf_map__fd(live->skel->maps.code_ranges);
	uint32_t fp_pid = live->pid | DUMP_FP_PID_BIT;
	int err;

	if (!live->range.code_high)
		return 0;
	live->range.start_ns = live->range.exec_id = 1;
	err = bpf_map_update_elem(fd, &live->pid, &live->range, BPF_ANY);
	return err ? err : bpf_map_update_elem(fd, &fp_pid, &live->range, BPF_ANY);
}

/* ---- the other unwinder ------------------------------------------------------------------------ */

static pid_t next_thread(Dwfl *dwfl, void *ctx, void **thread)
{
	struct live *live = ctx;

	(void)dwfl;
	if (*thread)
		return 0;
	*thread = live;
	return (pid_t)live->pid;
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *ctx, void **thread)
{
	(void)dwfl;
	(void)tid;
	*thread = ctx;
	return true;
}

static bool read_word(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *out, void *ctx)
{
	const struct live *live = ctx;
	const struct unwind_dump *dump = live->dump;
	uint64_t base = dump->regs[7] & ~(uint64_t)(DUMP_PAGE_BYTES - 1);
	uint64_t off = address - base;

	(void)dwfl;
	if (off > dump->page_cnt * DUMP_PAGE_BYTES - sizeof(*out))
		return false;
	memcpy(out, dump->stack + off, sizeof(*out));
	return true;
}

static bool set_registers(Dwfl_Thread *thread, void *ctx)
{
	struct live *live = ctx;
	Dwarf_Word regs[DUMP_REGS];

	for (int i = 0; i < DUMP_REGS; i++)
		regs[i] = live->dump->regs[i];
	return dwfl_thread_state_registers(thread, 0, DUMP_REGS, regs);
}

/* A frame that a signal interrupted has the word that bpf/jbpf.h says. */
static int on_frame(Dwfl_Frame *frame, void *ctx)
{
	struct live *live = ctx;
	bool is_interrupted = false;
	Dwarf_Addr pc;

	if (!dwfl_frame_pc(frame, &pc, &is_interrupted) || live->their_cnt >= JBPF_MAX_DEPTH)
		return DWARF_CB_ABORT;
	live->theirs[live->their_cnt] = pc + (is_interrupted && live->their_cnt);
	live->their_cnt++;
	return DWARF_CB_OK;
}

static const Dwfl_Thread_Callbacks thread_callbacks = {
	.next_thread = next_thread,
	.get_thread = get_thread,
	.memory_read = read_word,
	.set_initial_registers = set_registers,
};

static int open_dwfl(struct live *live)
{
	static char *debug_path;
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_linux_proc_find_elf,
		.find_debuginfo = dwfl_standard_find_debuginfo,
		.debuginfo_path = &debug_path,
	};

	live->dwfl = dwfl_begin(&callbacks);
	if (!live->dwfl || dwfl_linux_proc_report(live->dwfl, (pid_t)live->pid) ||
	    dwfl_report_end(live->dwfl, NULL, NULL))
		return -ENOENT;
	/* With a first module asked, it knows the machine. */
	if (!dwfl_attach_state(live->dwfl, NULL, (pid_t)live->pid, &thread_callbacks, live)) {
		fprintf(stderr, "libdw: %s\n", dwfl_errmsg(-1));
		return -ENOEXEC;
	}
	return 0;
}

/* ---- samples ----------------------------------------------------------------------------------- */

static void show_word(struct live *live, uint64_t word, bool is_leaf)
{
	Dwfl_Module *module = dwfl_addrmodule(live->dwfl, word - !is_leaf);
	const char *name = module ? dwfl_module_addrname(module, word - !is_leaf) : NULL;
	Dwarf_Addr start = 0;
	const char *file =
		module ? dwfl_module_info(module, NULL, &start, NULL, NULL, NULL, NULL, NULL) : "?";

	fprintf(stderr, "  %" PRIx64 " %s+%" PRIx64 " %s", word, file, word - start,
		name ? name : "?");
}

static void show(struct live *live, const char *what)
{
	const struct unwind_dump *dump = live->dump;
	uint32_t cnt = dump->frame_cnt > live->their_cnt ? dump->frame_cnt : live->their_cnt;

	if (live->show_cnt-- <= 0)
		return;
	fprintf(stderr, "%s: end %u, %u frames, libdw %u\n", what, dump->end, dump->frame_cnt,
		live->their_cnt);
	for (uint32_t i = 0; i < cnt && i < 40; i++) {
		bool is_same = i < dump->frame_cnt && i < live->their_cnt &&
			       dump->ips[i] == live->theirs[i];

		if (i < dump->frame_cnt)
			show_word(live, dump->ips[i], !i);
		if (i < live->their_cnt && !is_same) {
			fputs("   libdw:", stderr);
			show_word(live, live->theirs[i], !i);
		}
		fputc('\n', stderr);
	}
}

static void compare(struct live *live)
{
	const struct unwind_dump *dump = live->dump;
	uint32_t same = 0;

	live->their_cnt = 0;
	(void)dwfl_getthread_frames(live->dwfl, (pid_t)live->pid, on_frame, live);
	while (same < dump->frame_cnt && same < live->their_cnt &&
	       dump->ips[same] == live->theirs[same])
		same++;
	if (!live->their_cnt) {
		live->unread++;
	} else if (same == dump->frame_cnt && same == live->their_cnt) {
		live->equal++;
	} else if (same == dump->frame_cnt) {
		live->shorter++;
		show(live, "shorter");
	} else if (same == live->their_cnt) {
		live->longer++;
		show(live, "longer");
	} else {
		live->different++;
		show(live, "different");
	}
}

static void note_costs(struct live *live)
{
	const struct unwind_dump *dump = live->dump;
	int first = dump->rule_is_first ? 0 : 1;

	if (live->cost_cnt[first] >= COSTS_MAX)
		return;
	live->costs[0][first][live->cost_cnt[first]] = (uint32_t)dump->rule_ns;
	live->costs[1][first][live->cost_cnt[first]++] = (uint32_t)dump->fp_ns;
	live->fp_frames += dump->fp_frame_cnt;
}

static int on_dump(void *ctx, void *data, size_t len)
{
	struct live *live = ctx;

	if (len < sizeof(struct unwind_dump) ||
	    (live->samples_max && live->samples >= live->samples_max))
		return 0;
	live->dump = data;
	live->samples++;
	live->frames += live->dump->frame_cnt;
	live->ends[live->dump->end % ENDS_CNT]++;
	if (live->costs_only)
		note_costs(live);
	else
		compare(live);
	return 0;
}

static int sample(struct live *live)
{
	const struct cpu_events_options options = {
		.frequency_hz = live->frequency_hz,
		.program_fd = bpf_program__fd(live->skel->progs.dump_sample),
	};
	struct ring_buffer *ring =
		ring_buffer__new(bpf_map__fd(live->skel->maps.dumps), on_dump, live, NULL);
	struct cpu_events *events = cpu_events__new(&options);
	uint64_t end_ns = clock_boot_ns() + (uint64_t)(live->seconds * CLOCK_NS_PER_S);
	__cleanup_free uint32_t *cpus = NULL;
	uint32_t bad_cpu;
	size_t cpu_cnt;
	int err = cpus_online(&cpus, &cpu_cnt);

	if (!err && (!ring || !events))
		err = -ENOMEM;
	if (!err)
		err = cpu_events__follow(events, cpus, cpu_cnt, &bad_cpu);
	if (!err)
		err = cpu_events__enable(events);
	fputs(err ? "no events\n" : "sampling\n", stderr);
	while (!err && clock_boot_ns() < end_ns &&
	       (!live->samples_max || live->samples < live->samples_max)) {
		int got = ring_buffer__poll(ring, 50);

		if (got < 0 && got != -EINTR)
			err = got;
	}
	if (events)
		cpu_events__disable(events);
	if (!err)
		(void)ring_buffer__consume(ring);
	cpu_events__free(events);
	ring_buffer__free(ring);
	return err;
}

/* ---- results ----------------------------------------------------------------------------------- */

static int compare_costs(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	return (a > b) - (a < b);
}

static uint32_t median(uint32_t *costs, uint32_t cnt)
{
	if (!cnt)
		return 0;
	qsort(costs, cnt, sizeof(*costs), compare_costs);
	return costs[cnt / 2];
}

static void print_counters(struct live *live)
{
	int cpu_cnt = libbpf_num_possible_cpus();
	uint64_t(*cnt)[JBPF_COUNTER_SLOTS] = calloc((size_t)cpu_cnt, sizeof(*cnt));
	uint64_t tables = 0, misses = 0;
	uint32_t zero = 0;

	if (cnt && !bpf_map_lookup_elem(bpf_map__fd(live->skel->maps.counters), &zero, cnt)) {
		for (int i = 0; i < cpu_cnt; i++) {
			tables += cnt[i][JBPF_CNT_FRAMES_TABLE];
			misses += cnt[i][JBPF_CNT_RULE_MISS];
		}
	}
	printf("\"frames_table\":%" PRIu64 ",\"rule_miss\":%" PRIu64 ",", tables, misses);
	free(cnt);
}

static void print(struct live *live)
{
	/* taken: what the counters are of, whether it was looked at or not. */
	printf("{\"samples\":%" PRIu64 ",\"taken\":%llu,\"equal\":%" PRIu64 ",\"shorter\":%" PRIu64
	       ",\"longer\":%" PRIu64 ",\"different\":%" PRIu64 ",\"unread\":%" PRIu64
	       ",\"frames\":%" PRIu64 ",\"fp_frames\":%" PRIu64 ",\"table_words\":%" PRIu64
	       ",\"lost\":%llu,",
	       live->samples, (unsigned long long)live->skel->bss->sample_cnt, live->equal,
	       live->shorter, live->longer, live->different, live->unread, live->frames,
	       live->fp_frames, live->table_words, (unsigned long long)live->skel->bss->lost_cnt);
	print_counters(live);
	printf("\"rule_ns\":{\"first\":%u,\"second\":%u},\"fp_ns\":{\"first\":%u,\"second\":%u},",
	       median(live->costs[0][0], live->cost_cnt[0]),
	       median(live->costs[0][1], live->cost_cnt[1]),
	       median(live->costs[1][1], live->cost_cnt[1]),
	       median(live->costs[1][0], live->cost_cnt[0]));
	printf("\"ends\":[");
	for (int i = 0; i < ENDS_CNT; i++)
		printf("%s%" PRIu64, i ? "," : "", live->ends[i]);
	puts("]}");
}

/* As jbpfd does it. */
static int set_sizes(struct live *live)
{
	struct bpf_map *maps[] = { live->skel->maps.unwind_chunks, live->skel->maps.spaces };

	return probe_host_may_grow() ? probe_host_let_grow(maps, ARRAY_SIZE(maps)) :
				       probe_unwind_shrink(maps[0], maps[1]);
}

static int run(struct live *live)
{
	int err;

	live->skel = unwind_dump_bpf__open();
	if (!live->skel)
		return -errno;
	live->skel->rodata->target_pid = live->pid;
	live->skel->rodata->wants_stack = !live->costs_only;
	live->skel->rodata->wants_fp = live->costs_only;
	err = set_sizes(live);
	if (!err)
		err = unwind_dump_bpf__load(live->skel);
	if (err)
		return err;
	probe_unwind_init(&live->unwind, live->skel->maps.unwind_chunks, live->skel->maps.spaces);
	err = set_ranges(live);
	if (!err)
		err = set_space(live);
	if (!err && !live->costs_only)
		err = open_dwfl(live);
	return err ? err : sample(live);
}

static void add_name(struct name_table *names, const char *name)
{
	if (names->cnt < NAMES_MAX)
		names->items[names->cnt++] = name;
}

static bool parse_range(const char *text, struct jbpf_code_range *out)
{
	unsigned long long low, high, interpreter_low, interpreter_high;

	if (sscanf(text, "%llx:%llx:%llx:%llx", &low, &high, &interpreter_low, &interpreter_high) !=
	    4)
		return false;
	out->code_low = low;
	out->code_high = high;
	out->interpreter_low = interpreter_low;
	out->interpreter_high = interpreter_high;
	return true;
}

static bool parse(int argc, char **argv, struct live *live)
{
	static const struct option options[] = {
		{ "pid", required_argument, NULL, 'p' },
		{ "seconds", required_argument, NULL, 's' },
		{ "frequency", required_argument, NULL, 'f' },
		{ "samples", required_argument, NULL, 'n' },
		{ "costs", no_argument, NULL, 'c' },
		{ "keeps-fp", required_argument, NULL, 'k' },
		{ "no-table", required_argument, NULL, 'x' },
		{ "unmapped", required_argument, NULL, 'u' },
		{ "range", required_argument, NULL, 'r' },
		{ "show", required_argument, NULL, 'v' },
		{ 0 },
	};
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'p')
			live->pid = (uint32_t)strtoul(optarg, NULL, 10);
		else if (option == 's')
			live->seconds = strtod(optarg, NULL);
		else if (option == 'f')
			live->frequency_hz = (uint32_t)strtoul(optarg, NULL, 10);
		else if (option == 'n')
			live->samples_max = strtoull(optarg, NULL, 10);
		else if (option == 'c')
			live->costs_only = true;
		else if (option == 'k')
			add_name(&live->keeps_fp, optarg);
		else if (option == 'x')
			add_name(&live->no_table, optarg);
		else if (option == 'u')
			add_name(&live->unmapped, optarg);
		else if (option == 'v')
			live->show_cnt = atoi(optarg);
		else if (option != 'r' || !parse_range(optarg, &live->range))
			return false;
	}
	return live->pid && live->frequency_hz && optind == argc;
}

int main(int argc, char **argv)
{
	static struct live live = { .seconds = 2, .frequency_hz = 997 };
	int err;

	if (!parse(argc, argv, &live)) {
		fprintf(stderr, "usage: live_unwind --pid PID [OPTION]...\n");
		return 2;
	}
	err = run(&live);
	if (err)
		fprintf(stderr, "live_unwind: %s\n", errstr(err));
	else
		print(&live);
	dwfl_end(live.dwfl);
	unwind_dump_bpf__destroy(live.skel);
	return err != 0;
}
