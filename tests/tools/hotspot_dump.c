// SPDX-License-Identifier: Apache-2.0
/*
 * The code cache of a JVM as our reader sees it, for tests and people.
 *
 *     hotspot_dump PID [--time]         every blob in use, in the form of Compiler.perfmap
 *     hotspot_dump PID --find PC        what is at a pc; "-": pcs from stdin, one per line
 *     hotspot_dump PID --ranges         where the code lies
 *     hotspot_dump PID --unloads        how many classes it has unloaded
 *     hotspot_dump PID --threads        the names of its threads
 *
 * --time adds the CPU time of opening and walking on stderr.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "symbols/hotspot/hotspot_code.h"
#include "symbols/hotspot/hotspot_threads.h"
#include "symbols/hotspot/hotspot_unloads.h"
#include "symbols/hotspot/hotspot_vm.h"
#include "tests/unit/parse_here.h"
#include "user/util/cleanup.h"
#include "user/util/log.h"
#include "user/util/parse.h"

static uint64_t cpu_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static int print_blob(void *ctx, const struct hotspot_blob *blob, const char *name)
{
	(void)ctx;
	printf("0x%016llx 0x%016llx %s\n", (unsigned long long)blob->code_begin,
	       (unsigned long long)(blob->code_end - blob->code_begin), name);
	return 0;
}

/* "pc begin size kind level id state bci name", or "pc error". */
static int find_one(struct hotspot_code *code, uint64_t pc)
{
	__cleanup_strbuf struct strbuf name = STRBUF_INIT;
	struct hotspot_blob blob;
	int err = hotspot_code__find(code, pc, &blob);

	if (!err && (blob.kind == HOTSPOT_BLOB_NMETHOD || blob.kind == HOTSPOT_BLOB_NATIVE))
		err = blob.method ? hotspot_code__method_name(code, blob.method, NULL, &name) :
				    -ESTALE;
	else if (!err)
		strbuf_puts(&name, blob.name);
	if (!err)
		err = strbuf_error(&name);
	if (err) {
		printf("0x%016llx %s\n", (unsigned long long)pc, errstr(err));
		return err;
	}
	printf("0x%016llx 0x%016llx 0x%016llx kind=%d level=%d id=%d state=%d bci=%d %s\n",
	       (unsigned long long)pc, (unsigned long long)blob.code_begin,
	       (unsigned long long)(blob.code_end - blob.code_begin), blob.kind, blob.comp_level,
	       blob.compile_id, blob.state, blob.entry_bci, strbuf_str(&name));
	return 0;
}

static int find_all(struct hotspot_code *code, const char *argument)
{
	char line[128];
	int err = 0;

	if (strcmp(argument, "-") != 0)
		return find_one(code, strtoull(argument, NULL, 0));
	while (fgets(line, sizeof(line), stdin)) {
		int found = find_one(code, strtoull(line, NULL, 0));

		if (found)
			err = found;
	}
	return err;
}

static void print_ranges(const struct hotspot_code *code)
{
	struct hotspot_ranges ranges;

	hotspot_code__ranges(code, &ranges);
	printf("code=0x%llx-0x%llx\ninterpreter=0x%llx-0x%llx\nscopes=%d\nlines=%d\n",
	       (unsigned long long)ranges.code_low, (unsigned long long)ranges.code_high,
	       (unsigned long long)ranges.interpreter_low,
	       (unsigned long long)ranges.interpreter_high,
	       hotspot_layout_has_scopes(hotspot_code__layout(code)),
	       hotspot_layout_has_lines(hotspot_code__layout(code)));
}

static int print_unloads(const struct hotspot_vm *vm)
{
	struct hotspot_unloads unloads;
	uint64_t cnt;
	int err;

	hotspot_unloads_init(&unloads, hotspot_vm__structs(vm));
	err = hotspot_unloads_read(&unloads, hotspot_vm__mem(vm), &cnt);
	if (!err)
		printf("%llu\n", (unsigned long long)cnt);
	return err;
}

static int print_thread(void *ctx, const char *name, size_t len)
{
	(void)ctx;
	(void)len;
	puts(name);
	return 0;
}

static int print_threads(struct hotspot_vm *vm, bool wants_time)
{
	struct hotspot_threads *threads;
	uint64_t begin_us = cpu_us(), open_us;
	int err = hotspot_threads__open(vm, &threads);

	if (err)
		return err;
	open_us = cpu_us();
	err = hotspot_threads__each(threads, print_thread, NULL);
	if (wants_time)
		fprintf(stderr, "threads_open_us=%llu\nthreads_us=%llu\n",
			(unsigned long long)(open_us - begin_us),
			(unsigned long long)(cpu_us() - open_us));
	hotspot_threads__free(threads);
	return err;
}

struct options {
	uint32_t pid;
	const char *find; /* NULL: everything */
	bool wants_time;
	bool wants_ranges;
	bool wants_unloads;
	bool wants_threads;
};

static int dump(const struct options *options, struct hotspot_code *code)
{
	uint64_t begin_us = cpu_us();
	size_t skipped = 0;
	int err;

	if (options->wants_ranges) {
		print_ranges(code);
		return 0;
	}
	if (options->find)
		return find_all(code, options->find);
	err = hotspot_code__walk(code, print_blob, NULL, &skipped);
	if (options->wants_time)
		fprintf(stderr, "walk_us=%llu\nskipped=%zu\n",
			(unsigned long long)(cpu_us() - begin_us), skipped);
	return err;
}

static int run(const struct options *options)
{
	__cleanup_fd int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const char *missing = "";
	struct hotspot_code *code = NULL;
	struct hotspot_vm *vm = NULL;
	uint64_t begin_us = cpu_us(), vm_us;
	int err = proc_fd < 0 ? -errno :
				hotspot_vm__open(proc_fd, options->pid, parser_here(), NULL, &vm);

	vm_us = cpu_us();
	if (!err && options->wants_threads) {
		err = print_threads(vm, options->wants_time);
		hotspot_vm__free(vm);
		if (err)
			fprintf(stderr, "hotspot_dump: threads: %s\n", errstr(err));
		return err ? 1 : 0;
	}
	if (!err)
		err = hotspot_code__open(vm, &code, &missing);
	if (options->wants_time)
		fprintf(stderr, "vm_open_us=%llu\ncode_open_us=%llu\n",
			(unsigned long long)(vm_us - begin_us),
			(unsigned long long)(cpu_us() - vm_us));
	if (!err)
		err = options->wants_unloads ? print_unloads(vm) : dump(options, code);
	hotspot_code__free(code);
	hotspot_vm__free(vm);
	if (err)
		fprintf(stderr, "hotspot_dump: %s %s\n", errstr(err), missing);
	return err ? 1 : 0;
}

int main(int argc, char **argv)
{
	static const struct option long_options[] = {
		{ "find", required_argument, NULL, 'f' },
		{ "time", no_argument, NULL, 't' },
		{ "ranges", no_argument, NULL, 'r' },
		{ "unloads", no_argument, NULL, 'u' },
		{ "perfmap", no_argument, NULL, 'p' },
		{ "threads", no_argument, NULL, 'T' },
		{ NULL, 0, NULL, 0 },
	};
	struct options options = { 0 };
	int option;

	while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		if (option == 'f')
			options.find = optarg;
		else if (option == 't')
			options.wants_time = true;
		else if (option == 'r')
			options.wants_ranges = true;
		else if (option == 'u')
			options.wants_unloads = true;
		else if (option == 'T')
			options.wants_threads = true;
		else if (option != 'p') /* the form that there is */
			return 2;
	}
	if (optind + 1 != argc || parse_u32_range(argv[optind], 1, UINT32_MAX, &options.pid)) {
		fprintf(stderr, "usage: hotspot_dump PID [--perfmap] [--time] [--find PC|-] "
				"[--ranges] [--unloads] [--threads]\n");
		return 2;
	}
	return run(&options);
}
