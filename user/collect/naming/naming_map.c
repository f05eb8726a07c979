// SPDX-License-Identifier: Apache-2.0
/* See naming_map.h. */
#include "user/collect/naming/naming_map.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbols/elf/libjvm.h"
#include "symbols/parser/parser.h"
#include "user/collect/naming/naming_internal.h"
#include "user/files/opener.h"
#include "user/host/proc_stat.h"
#include "user/names/java_name.h"
#include "user/util/cleanup.h"
#include "user/util/log.h"

static void say(struct naming_map_answer *answer, const char *problem)
{
	(void)snprintf(answer->problem, sizeof(answer->problem), "%s", problem);
}

/* ---- names ---- */

/* Names as in profiles: without the parts that differ from run to run. */
struct map_names {
	naming_map_fn *add;
	void *ctx;
	struct strbuf name;
	bool is_hotspot;
	size_t cnt;
};

static int add_name(void *ctx, uint64_t start, uint64_t len, const char *name)
{
	struct map_names *names = ctx;
	enum frame_kind kind;
	int err;

	strbuf_clear(&names->name);
	err = java_name_canonical(name, strlen(name), names->is_hotspot, false, &names->name,
				  &kind);
	names->cnt++;
	return err ? err : names->add(names->ctx, start, len, strbuf_str(&names->name));
}

static const char *code_problem(int err, const struct symbols_jit_status *status)
{
	if (err == -E2BIG)
		return "it has more code than a map may hold";
	if (err != -ENOENT)
		return errstr(err);
	if (status->problem)
		return status->problem;
	return status->fallback ? status->fallback : "it has no compiled code yet";
}

static void tell_code(struct symbols_process *symbols, naming_map_fn *add, void *ctx,
		      struct naming_map_answer *answer)
{
	struct map_names names = { .add = add, .ctx = ctx };
	struct symbols_jit_status status;
	int err;

	symbols_process__jit_status(symbols, &status);
	names.is_hotspot = status.is_hotspot;
	err = symbols_process__each_jit(symbols, add_name, &names);
	symbols_process__jit_status(symbols, &status);
	strbuf_release(&names.name);
	if (!err && !names.cnt)
		err = -ENOENT;
	if (err)
		say(answer, code_problem(err, &status));
	answer->source = status.source;
}

/* ---- where it allocates ---- */

/* Names as compilers mangle them, without the types of their arguments, which differ by release. */
static const char *const alloc_functions[ALLOC_FUNCTION_CNT] = {
	"_ZN11AllocTracer27send_allocation_in_new_tlabE",
	"_ZN11AllocTracer28send_allocation_outside_tlabE",
};

static void tell_alloc(const struct symbols_process *symbols, struct naming_map_answer *answer)
{
	struct symbols_function function;

	answer->alloc = (struct alloc_target){ .start_ns = answer->start_ns, .pid = answer->pid };
	for (size_t i = 0; i < ALLOC_FUNCTION_CNT; i++) {
		int err = symbols_process__jvm_function(symbols, alloc_functions[i], &function);

		if (err && !*answer->problem)
			say(answer, err == -EAGAIN ?
					    "its libjvm.so could not be read just now; try again" :
				    answer->is_jvm ?
					    "its libjvm.so has no symbols of the functions that "
					    "allocate; JDK 11 and later have them unless they were "
					    "stripped" :
					    "it is no HotSpot JVM");
		if (err)
			continue;
		answer->alloc.map_start = function.map_start;
		answer->alloc.map_end = function.map_end;
		answer->alloc.offsets[i] = function.offset;
	}
}

/* ---- the process ---- */

/* Without this right a process would look as if it had no code. */
static bool may_read(int proc_fd, uint32_t pid)
{
	char path[32];

	(void)snprintf(path, sizeof(path), "%u/maps", pid);

	__cleanup_fd int fd = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);

	return fd >= 0 || (errno != EACCES && errno != EPERM);
}

/* Does the process see files and its own number as the host does? */
static bool is_of_the_host(int proc_fd, uint32_t pid, const struct proc_status *status)
{
	char path[32];
	struct stat ours, theirs;

	(void)snprintf(path, sizeof(path), "%u/ns/mnt", pid);
	return status->ns_pid == pid && fstatat(proc_fd, "self/ns/mnt", &ours, 0) == 0 &&
	       fstatat(proc_fd, path, &theirs, 0) == 0 && ours.st_dev == theirs.st_dev &&
	       ours.st_ino == theirs.st_ino;
}

static bool is_jvm(int proc_fd, uint32_t pid)
{
	struct libjvm_mapping mapping;
	size_t cnt;

	return libjvm_find(proc_fd, pid, &mapping, 1, &cnt) == 0;
}

static const char *opt_out_problem(enum opt_out opt_out)
{
	switch (opt_out) {
	case OPT_OUT_NONE:
		return NULL;
	case OPT_OUT_BY_LABEL:
		return "its container opted out of profiling (label " OPT_OUT_LABEL ")";
	case OPT_OUT_BY_ENVIRONMENT:
		return "it opted out of profiling (" OPT_OUT_VARIABLE " in its environment)";
	case OPT_OUT_UNDECIDED:
		break;
	}
	return "it ended meanwhile";
}

/* Without the process that opens files no container's label could be read: none would seem to opt out. */
static int check_opener(struct naming *naming)
{
	struct opener *opener = parser__opener(symbolizer__parser(naming->symbolizer));
	__cleanup_fd int fd = opener__path(opener, naming->root_fd, "/");

	return fd < 0 ? fd : 0;
}

static int meet(struct naming *naming, const struct naming_map_answer *answer, uint32_t ns_pid,
		struct process **out)
{
	struct process_sight sight = {
		.id = { .pid = answer->pid, .start_ns = answer->start_ns },
		.comm = "",
		.ns_pid = ns_pid,
		.is_any_program = true,
	};

	return process_table__get(naming->processes, &sight, out);
}

static void tell_process(const struct process *process, struct naming_map_answer *answer)
{
	const struct container_info *container = &process->container;
	const char *problem = opt_out_problem(process->opt_out);

	answer->opt_out = process->opt_out;
	(void)snprintf(answer->container, sizeof(answer->container), "%s",
		       container->name ? container->name : "");
	(void)snprintf(answer->container_id, sizeof(answer->container_id), "%s",
		       container->id ? container->id : "");
	if (!problem && process->is_banned)
		problem = "what reads it, or another process of its container, has just hung";
	if (problem)
		say(answer, problem);
}

/* Whom to blame for what happens while it is looked at. False: it is not there any more. */
static bool begin(struct naming *naming, const struct naming_map *question,
		  struct naming_map_answer *answer)
{
	struct work work = { .id = { .pid = question->pid } };

	if (proc_stat_start_ns(naming->proc_fd, question->pid, &work.id.start_ns) ||
	    (question->start_ns && question->start_ns != work.id.start_ns)) {
		say(answer, "it ended meanwhile");
		return false;
	}
	if (naming->config.note)
		work_note__on(naming->config.note, &work);
	answer->start_ns = work.id.start_ns;
	return true;
}

static void look_at(struct naming *naming, const struct naming_map *question, naming_map_fn *add,
		    void *ctx, struct naming_map_answer *answer)
{
	struct proc_status status;
	struct process *process;
	int err;

	if (proc_status_read(naming->proc_fd, question->pid, &status)) {
		say(answer, "it ended meanwhile");
		return;
	}
	answer->is_jvm = is_jvm(naming->proc_fd, question->pid);
	if (!answer->is_jvm && question->only_jvms)
		return;
	answer->euid = status.euid;
	answer->is_of_the_host = is_of_the_host(naming->proc_fd, question->pid, &status);
	if (!may_read(naming->proc_fd, question->pid)) {
		say(answer, "its memory may not be read; run jbpf maps as root");
		return;
	}
	answer->opt_out = OPT_OUT_UNDECIDED;
	err = check_opener(naming);
	if (!err)
		err = meet(naming, answer, status.ns_pid, &process);
	if (err) {
		say(answer, err == -EAGAIN || err == -EBUSY ? "no more processes can be started" :
							      errstr(err));
		return;
	}
	tell_process(process, answer);
	if (question->wants_code && !*answer->problem && process->symbols)
		tell_code(process->symbols, add, ctx, answer);
	if (question->wants_alloc && !*answer->problem && process->symbols)
		tell_alloc(process->symbols, answer);
	/* The number may be another process's by now: then the names may be of either. */
	if (proc_stat_check_start(naming->proc_fd, question->pid, answer->start_ns))
		say(answer, "it ended meanwhile");
}

void naming__map(struct naming *naming, const struct naming_map *question, naming_map_fn *add,
		 void *ctx, struct naming_map_answer *out)
{
	*out = (struct naming_map_answer){ .pid = question->pid };
	if (begin(naming, question, out))
		look_at(naming, question, add, ctx, out);
	naming_rest(naming);
	/* It was asked for once: what is known of it need not stay. */
	process_table__expire(naming->processes);
	(void)symbolizer__trim(naming->symbolizer);
}
