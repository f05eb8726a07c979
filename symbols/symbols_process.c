// SPDX-License-Identifier: Apache-2.0
/*
 * One process's address space: mappings, files behind them, JIT names; see symbols.h.
 *
 * At the first sample symbols_process_open() reads /proc/PID/maps, opens the file behind each
 * mapping, has its symbols read, and looks for a perf map. It does so then, not when an address is
 * first asked for: by then the process, and with it the way to its files, may be gone. Once per
 * window symbols_process__refresh() reads the mappings again when the address space changed its
 * size, or did not for some windows; what is still mapped keeps its file. symbols_process_read_answer()
 * then finds the mapping of an address: a file's symbols, the vdso, JIT code
 * (symbols_process_jit.c), or a placeholder that says what is known. Words in a HotSpot's own code
 * do not come here; symbols_process_stack.c asks jit_vm.
 *
 * What can go wrong: the pid belongs to another process by now, so each reading of /proc is
 * followed by symbols_process_check(), and what was known stays. A file cannot be had: its
 * addresses are "[library]". Its symbols were dropped for want of memory: they are read when they
 * are wanted. A process has more or worse files than it may: the time for reading them is limited.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbols/parser/parser.h"
#include "symbols/symbols_frames.h"
#include "symbols/symbols_process.h"
#include "user/files/container_file.h"
#include "user/files/mapped_file.h"
#include "user/files/opener.h"
#include "user/host/proc_thread.h"
#include "user/util/account.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/fs.h"
#include "user/util/log.h"
#include "user/util/parse.h"
#include "user/util/saturate.h"
#include "user/util/strbuf.h"

/* An unchanged size of the address space hardly ever hides a change, but now and then it may. */
#define PROCESS_MAPS_MAX_AGE	6u
#define PROCESS_STATM_MAX_BYTES 256u
/*
 * A process may map as many huge files as it likes; reading them stops here, until time has paid some of it off, as with
 * the account's budget. Programs run for months, and are always given new files to map.
 */
#define PROCESS_LOAD_MAX_NS	    (5 * CLOCK_NS_PER_S)
#define PROCESS_LOAD_REFILL_PERCENT ACCOUNT_CPU_REFILL_PERCENT
/* After a few files that crash the parser, no more files of the process are read for some minutes. */
#define PROCESS_LOAD_FAILURE_NS (2 * CLOCK_NS_PER_S)
/* Files that could not be opened or read before, and are tried again in a window. */
#define PROCESS_IDENTIFY_AGAIN 16u

/* How long mappings are not taken that may be another program's: by then the kernel has reported the execve(). */
#define PROCESS_MAPS_DOUBT_NS (2 * CLOCK_NS_PER_S)

/* Pages of the address space; 0 when that cannot be told. */
static uint64_t process_vm_pages(const struct symbols_process *process)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	const char *pages;
	uint64_t page_cnt;

	if (fs_read_filef(process->shared->options.proc_fd, PROCESS_STATM_MAX_BYTES, &text,
			  "%" PRIu32 "/statm", process->id.pid))
		return 0;
	pages = strbuf_str(&text);
	return parse_u64_n(pages, strspn(pages, "0123456789"), 10, &page_cnt) ? 0 : page_cnt;
}

static void process_link(struct symbols_process *process)
{
	struct symbols_process **first = &process->shared->processes;

	process->next = *first;
	process->link = first;
	if (*first)
		(*first)->link = &process->next;
	*first = process;
}

static void process_release_files(struct object_cache *objects, struct process_file *files,
				  size_t cnt)
{
	for (size_t i = 0; files && i < cnt; i++)
		object_cache__put(objects, files[i].object);
	free(files);
}

void symbols_process__close(struct symbols_process *process)
{
	struct symbols_process **at;

	if (!process)
		return;
	if (process->link)
		*process->link = process->next;
	if (process->next)
		process->next->link = process->link;
	at = &process->shared->prefetched;
	while (*at && *at != process)
		at = &(*at)->next_prefetched;
	if (*at)
		*at = process->next_prefetched;
	process_release_files(process->shared->objects, process->files, process->maps.cnt);
	if (process->pid_fd >= 0)
		close(process->pid_fd);
	procmaps_release(&process->maps);
	addr_cache_release(&process->answers);
	symbols_process_close_jit(process);
	symbols_process_release_space(process);
	symbols_shared_put(process->shared, process->share);
	free(process);
}

struct parser *symbols_process__parser(const struct symbols_process *process)
{
	parser__charge(process->shared->parser, process->share->account);
	return process->shared->parser;
}

static struct opener *process_opener(const struct symbols_process *process)
{
	return parser__opener(symbols_process__parser(process));
}

struct account *symbols_process__account(const struct symbols_process *process)
{
	return process->share->account;
}

uint64_t symbols_process_load_clock_ns(const struct symbols_process *process)
{
	struct parser_stats stats;

	parser__stats(process->shared->parser, &stats);
	return clock_ns(CLOCK_THREAD_CPUTIME_ID) + stats.cpu_ns;
}

bool symbols_process_may_load(struct symbols_process *process)
{
	uint64_t now_ns = clock_boot_ns();
	uint64_t back_ns = (now_ns - process->load_paid_ns) / 100 * PROCESS_LOAD_REFILL_PERCENT;

	process->load_debt_ns -= min_u64(process->load_debt_ns, back_ns);
	process->load_paid_ns = now_ns;
	return process->load_debt_ns <= PROCESS_LOAD_MAX_NS;
}

void symbols_process_charge_load(struct symbols_process *process, uint64_t cpu_ns, int err)
{
	if (err == -EAGAIN || err == -EBUSY)
		return;
	if (err == -ENOTRECOVERABLE)
		cpu_ns += PROCESS_LOAD_FAILURE_NS;
	process->load_ns += cpu_ns;
	process->load_debt_ns += cpu_ns;
}

/* Our own root is the host's too, unless jbpf itself runs in a container. */
static int open_host_root(int proc_fd)
{
	int fd = container_root_open(proc_fd, 1);

	return fd >= 0 ? fd : open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

struct debug_file_roots symbols_process_open_roots(const struct symbols_process *process)
{
	int proc_fd = process->shared->options.proc_fd;

	return (struct debug_file_roots){
		.container_fd = container_root_open(proc_fd, process->id.pid),
		.host_fd = open_host_root(proc_fd),
		.opener = process_opener(process),
	};
}

void symbols_process_close_roots(struct debug_file_roots *roots)
{
	if (roots->container_fd >= 0)
		close(roots->container_fd);
	if (roots->host_fd >= 0)
		close(roots->host_fd);
	roots->container_fd = roots->host_fd = -1;
}

int symbols_process_load_object(struct symbols_process *process, size_t index, int path_fd)
{
	static const struct container_file_rules rules = { .owner = CONTAINER_FILE_ANY_OWNER };
	struct symbols_shared *shared = process->shared;
	uint64_t begin_ns = symbols_process_load_clock_ns(process);
	int err;

	if (!symbols_process_may_load(process)) {
		account__note_cut(process->share->account, ACCOUNT_CUT_FILES, 1);
		return -EBUSY;
	}

	__cleanup_fd int fd = opener__reopen(process_opener(process), path_fd, &rules, NULL);

	if (fd < 0)
		return fd;

	struct debug_file_roots roots = symbols_process_open_roots(process);

	err = object_cache__load(shared->objects, &process->files[index].object, fd,
				 procmaps_path(&process->maps, &process->maps.items[index]), &roots,
				 process->share->account);
	symbols_process_close_roots(&roots);
	symbols_process_charge_load(process, symbols_process_load_clock_ns(process) - begin_ns,
				    err);
	return err;
}

int symbols_process_open_map(const struct symbols_process *process, size_t index)
{
	const struct procmap *map = &process->maps.items[index];
	struct mapped_file_request request = {
		.proc_fd = process->shared->options.proc_fd,
		.opener = process_opener(process),
		.pid = process->id.pid,
		.start_unix_ns = clock_unix_ns() - clock_boot_ns() + process->id.start_ns,
		.map = map,
		.path = procmaps_path(&process->maps, map),
	};

	return mapped_file_open(&request);
}

enum identify_how {
	IDENTIFY_NEW, /* symbols that were dropped to make room are read when they are asked for: */
	IDENTIFY_WANTED, /* now. Else each new process would push out those that are in use */
};

/* The object of a mapping, ready for lookups if its file can be had. 0 or -ENOMEM. */
static int process_identify(struct symbols_process *process, size_t index, enum identify_how how)
{
	const struct procmap *map = &process->maps.items[index];
	const char *path = procmaps_path(&process->maps, map);
	struct process_file *file = &process->files[index];
	struct stat st;
	int err;

	if (map->kind != PROCMAP_KIND_FILE && map->kind != PROCMAP_KIND_MEMFD)
		return 0;

	__cleanup_fd int path_fd = symbols_process_open_map(process, index);

	if (path_fd < 0 || container_file_stat(path_fd, &st) || !S_ISREG(st.st_mode)) {
		pr_debug("symbols: pid %u: '%s': %s\n", process->id.pid, path,
			 path_fd < 0 ? errstr(path_fd) : "no regular file");
		return 0;
	}
	if (!file->object)
		file->object =
			object_cache__get(process->shared->objects, &st, process->share->account);
	if (!file->object)
		return -ENOMEM;
	if (!object_needs_load(file->object) ||
	    (how == IDENTIFY_NEW && object_is_elf(file->object)))
		return 0;
	err = symbols_process_load_object(process, index, path_fd);
	if (err && err != -ENOMEM)
		pr_debug("symbols: pid %u: '%s': %s\n", process->id.pid, path, errstr(err));
	return err == -ENOMEM ? err : 0;
}

static bool process_map_equal(const struct procmaps *a_maps, const struct procmap *a,
			      const struct procmaps *b_maps, const struct procmap *b)
{
	return a->start == b->start && a->end == b->end && a->offset == b->offset &&
	       a->inode == b->inode && a->dev_major == b->dev_major &&
	       a->dev_minor == b->dev_minor && a->kind == b->kind &&
	       strcmp(procmaps_path(a_maps, a), procmaps_path(b_maps, b)) == 0;
}

/* Same file at the same place, whatever its length: what was opened for it stays right. */
static bool process_maps_equal(const struct procmaps *a, const struct procmaps *b)
{
	if (a->cnt != b->cnt)
		return false;
	for (size_t i = 0; i < a->cnt; i++)
		if (!process_map_equal(a, &a->items[i], b, &b->items[i]))
			return false;
	return true;
}

/* Moves what is known of mappings that are still there to the new list. */
static void process_carry_over(struct procmaps *old_maps, struct process_file *old_files,
			       const struct symbols_process *process)
{
	for (size_t i = 0; i < process->maps.cnt; i++) {
		const struct procmap *map = &process->maps.items[i];
		const struct procmap *old = procmaps_find(old_maps, map->start);

		if (!old || !process_map_equal(old_maps, old, &process->maps, map))
			continue;
		process->files[i] = old_files[old - old_maps->items];
		old_files[old - old_maps->items].object = NULL;
	}
}

static void process_describe(struct symbols_process *process)
{
	struct jit_target *target = &process->target;

	target->is_hotspot = false;
	target->has_jit_code = false;
	for (size_t i = 0; i < process->maps.cnt; i++) {
		const struct object *object = process->files[i].object;
		enum procmap_kind kind = process->maps.items[i].kind;

		if (!target->is_hotspot && object && object_is_hotspot(object)) {
			target->is_hotspot = true;
			target->hotspot_map = process->maps.items[i];
		}
		target->has_jit_code |=
			kind == PROCMAP_KIND_ANONYMOUS ||
			(kind == PROCMAP_KIND_MEMFD && !(object && object_is_elf(object)));
	}
}

/* Takes new mappings over. 0 or -ENOMEM (the old ones stay). */
static int process_set_maps(struct symbols_process *process, struct procmaps *maps)
{
	struct process_file *files = calloc(maps->cnt + 1, sizeof(*files));
	struct process_file *old_files = process->files;
	struct procmaps old_maps = process->maps;
	int err = 0;

	if (!files)
		return -ENOMEM;
	process->maps = *maps;
	process->files = files;
	*maps = (struct procmaps){ 0 };
	process_carry_over(&old_maps, old_files, process);
	for (size_t i = 0; i < process->maps.cnt && !err; i++)
		if (!process->files[i].object)
			err = process_identify(process, i, IDENTIFY_NEW);
	process_release_files(process->shared->objects, old_files, old_maps.cnt);
	procmaps_release(&old_maps);
	addr_cache_clear(&process->answers);
	process_describe(process);
	symbols_process_note_maps(process);
	return err;
}

/* 0: there is none. */
static uint64_t vdso_start(const struct procmaps *maps)
{
	for (size_t i = 0; i < maps->cnt; i++)
		if (maps->items[i].kind == PROCMAP_KIND_VDSO)
			return maps->items[i].start;
	return 0;
}

/*
 * Are these another program's? The kernel reports an execve() when it ends, and the report takes time to arrive,
 * while /proc shows the new mappings from its middle on (begin_new_exec() and exec_binprm() in fs/exec.c). They lie
 * elsewhere as a whole then; of a living program one of them comes and goes, and hardly ever the vdso, at
 * which libraries look only once. So they do in one that is restored from an image (CRIU), which keeps them.
 */
static bool maps_are_in_doubt(struct symbols_process *process, const struct procmaps *maps)
{
	uint64_t old_vdso = vdso_start(&process->maps);
	uint64_t now_ns = clock_boot_ns();

	if (process->maps.cnt ? !old_vdso || old_vdso == vdso_start(maps) : !process->maps_after_ns)
		process->maps_after_ns = 0;
	else if (!process->maps_after_ns)
		process->maps_after_ns = now_ns + PROCESS_MAPS_DOUBT_NS;
	else if (now_ns >= process->maps_after_ns)
		process->maps_after_ns = 0;
	return process->maps_after_ns > 0;
}

/* Reads the mappings; what was known stays when the process is not there any more. */
static int process_read_maps(struct symbols_process *process)
{
	struct procmaps maps = { 0 };
	uint64_t vm_pages;
	int err;

	process->maps_are_fresh = true;
	vm_pages = process_vm_pages(process);
	err = proc_read_maps(process->shared->options.proc_fd, process->id.pid, &maps);
	/* The pid may have gone to another process meanwhile; a dying one has no mappings left. */
	if (!err)
		err = symbols_process_check(process);
	if (!err && maps.cnt == 0 && process->maps.cnt)
		err = -ESRCH;
	if (!err && maps_are_in_doubt(process, &maps))
		err = -EAGAIN;
	if (!err) {
		process->vm_pages = vm_pages;
		process->maps_age = 0;
		if (!process_maps_equal(&process->maps, &maps))
			err = process_set_maps(process, &maps);
	}
	procmaps_release(&maps);
	return err;
}

int symbols_process_open(struct symbols_shared *shared, const struct process_life *id,
			 struct account *account, bool is_superseded, struct symbols_process **out)
{
	struct symbols_process *process = calloc(1, sizeof(*process));
	int err;

	if (!process)
		return -ENOMEM;
	process->shared = shared;
	process->id = *id;
	process->pid_fd = -1;
	process->is_superseded = is_superseded;
	err = symbols_shared_get(shared, account, &process->share);
	if (err) {
		symbols_process__close(process);
		return err;
	}
	process->names = process->share->names;
	process->target = (struct jit_target){
		.proc_fd = shared->options.proc_fd,
		.pid = id->pid,
		.parser = shared->parser,
		.account = account,
		.names = process->names,
	};
	err = symbols_process_open_jit(process);
	if (!err)
		err = symbols_process_check(process);
	if (!err)
		err = process_read_maps(process);
	/* A short-lived process may be gone at the first refresh: its perf map is read now. */
	if (!err)
		err = symbols_process_refresh_jit(process, JIT_SOURCE_PERFMAP,
						  JIT_PERFMAPS_WHEN_CHANGED);
	if (err == -ENOMEM) {
		symbols_process__close(process);
		return err;
	}
	if (err && err != -ESRCH)
		pr_debug("symbols: pid %u: %s\n", id->pid, errstr(err));
	process_link(process);
	*out = process;
	return 0;
}

void symbols_process__note_exec(struct symbols_process *process)
{
	if (process)
		process->is_superseded = true;
}

int symbols_process__doubt_maps(struct symbols_process *process)
{
	struct procmaps none = { 0 };

	process->maps_after_ns = clock_boot_ns() + PROCESS_MAPS_DOUBT_NS;
	return process->maps.cnt ? process_set_maps(process, &none) : 0;
}

static bool process_file_is_known(const struct symbols_process *process, size_t index)
{
	const struct object *object = process->files[index].object;

	return object && (!object_needs_load(object) || object_is_elf(object));
}

/*
 * A file that could not be had when its mapping was new, as by an account without credit, is tried again:
 * nobody may ask for a name in the library that makes a process a JVM. 0 or -ENOMEM.
 */
static int process_identify_again(struct symbols_process *process)
{
	size_t cnt = process->maps.cnt;
	uint32_t tried_cnt = 0;
	bool has_news = false;
	int err = 0;

	/* What an account or a process without credit asks for is refused, and counted as cut, each time. */
	if (!account__may_read(process->target.account, clock_boot_ns()) ||
	    !symbols_process_may_load(process))
		cnt = 0;
	for (size_t i = 0; i < cnt && tried_cnt < PROCESS_IDENTIFY_AGAIN && !err; i++) {
		size_t at = process->identify_at++ % cnt;
		enum procmap_kind kind = process->maps.items[at].kind;

		if ((kind != PROCMAP_KIND_FILE && kind != PROCMAP_KIND_MEMFD) ||
		    process_file_is_known(process, at))
			continue;
		tried_cnt++;
		err = process_identify(process, at, IDENTIFY_NEW);
		has_news |= process_file_is_known(process, at);
	}
	/* What was answered without it was meant to stay. */
	if (has_news)
		addr_cache_clear(&process->answers);
	/* Other processes may have had it read, too. */
	process_describe(process);
	return err;
}

int symbols_process__refresh(struct symbols_process *process)
{
	const struct process_file *files = process->files;
	uint64_t vm_pages;
	int err;

	process->refresh_cnt++;
	process->maps_are_fresh = false;
	err = symbols_process_check(process);
	if (err)
		return err;
	vm_pages = process_vm_pages(process);
	if (vm_pages == 0 || vm_pages != process->vm_pages || process->maps.cnt == 0 ||
	    ++process->maps_age >= PROCESS_MAPS_MAX_AGE)
		err = process_read_maps(process);
	/* Of new mappings all files were just tried. */
	if (!err && process->files == files)
		err = process_identify_again(process);
	if (!err)
		err = symbols_process_refresh_jit(process, JIT_SOURCE_PERFMAP,
						  JIT_PERFMAPS_WHEN_CHANGED);
	return err;
}

bool symbols_process__has_new_size(const struct symbols_process *process)
{
	return process_vm_pages(process) != process->vm_pages;
}

int symbols_process__reload_jit(struct symbols_process *process, enum jit_source source)
{
	int err = symbols_process_check(process);

	return err ? err : symbols_process_refresh_jit(process, source, JIT_PERFMAPS_ALWAYS);
}

static int process_answer_symbol(struct symbols_process *process, const struct elf_symbol *symbol,
				 struct answer *out)
{
	uint32_t id;
	int err = name_table__native(process->names, symbol->name, strlen(symbol->name), &id);

	if (err)
		return err;
	out->name = id;
	out->frame_kind = FRAME_KIND_NATIVE;
	return 0;
}

static int process_answer_library(struct symbols_process *process, const struct procmap *map,
				  struct answer *out)
{
	uint32_t id;
	int err = name_table__library(process->names, procmaps_path(&process->maps, map), &id);

	if (!err)
		answer_unknown(id, out);
	return err;
}

/*
 * Of a function without a symbol: where it begins tells it from the others of its library. It counts as
 * unknown all the same: an address is no name, and the next build has another one.
 */
static int process_answer_function(struct symbols_process *process, const struct procmap *map,
				   uint64_t start, struct answer *out)
{
	uint32_t id;
	int err = name_table__function(process->names, procmaps_path(&process->maps, map), start,
				       &id);

	if (!err)
		answer_unknown(id, out);
	return err;
}

/* Tables are dropped when memory is short; this one is wanted again. */
static int process_read_again(struct symbols_process *process, size_t index)
{
	if (symbols_process_check(process))
		return 0;
	return process_identify(process, index, IDENTIFY_WANTED);
}

static int process_read_file_answer(struct symbols_process *process, const struct procmap *map,
				    uint64_t address, struct answer *out)
{
	struct object_cache *objects = process->shared->objects;
	size_t index = (size_t)(map - process->maps.items);
	const struct process_file *file = &process->files[index];
	uint64_t offset = address - map->start + map->offset;
	struct elf_symbol symbol;
	int err = -ENOENT;

	if (file->object) {
		err = object_cache__lookup(objects, file->object, offset, &symbol);
		if (err == -EAGAIN) {
			err = process_read_again(process, index);
			if (!err)
				err = object_cache__lookup(objects, file->object, offset, &symbol);
		}
	}
	if (err == -ENOMEM)
		return err;
	if (err == -EAGAIN) {
		/* Its symbols may be there in the next window. */
		out->kind = ANSWER_KIND_MISSING;
		out->epoch = process->refresh_cnt & ANSWER_EPOCH_MASK;
	}
	if (err)
		return process_answer_library(process, map, out);
	if (!symbol.name)
		return process_answer_function(process, map, symbol.start, out);
	return process_answer_symbol(process, &symbol, out);
}

static int process_answer_vdso(struct symbols_process *process, const struct procmap *map,
			       uint64_t address, struct answer *out)
{
	const struct elf_symtab *vdso = symbols_shared_vdso(process->shared);
	uint64_t offset = address - map->start + map->offset;
	struct elf_symbol symbol;

	/* That of a 32-bit process is another one. */
	if (vdso && map->start > UINT32_MAX &&
	    elf_symtab__address_of_offset(vdso, offset, &offset) == 0 &&
	    elf_symtab__lookup(vdso, offset, &symbol) == 0 && symbol.name)
		return process_answer_symbol(process, &symbol, out);
	return answer_placeholder(process->names, "[vdso]", out);
}

int symbols_process_read_answer(struct symbols_process *process, uint64_t address,
				uint64_t since_boot_ns, struct answer *out)
{
	const struct procmap *map = procmaps_find(&process->maps, address);
	const struct object *object;

	if (!map && !process->maps_are_fresh) {
		if (process_read_maps(process) == -ENOMEM)
			return -ENOMEM;
		map = procmaps_find(&process->maps, address);
	}
	*out = (struct answer){ .kind = ANSWER_KIND_FIXED };
	if (!map)
		return symbols_process_answer_missing(process, address, since_boot_ns, out);
	switch (map->kind) {
	case PROCMAP_KIND_ANONYMOUS:
		return symbols_process_answer_jit(process, address, since_boot_ns, out);
	case PROCMAP_KIND_MEMFD:
		object = process->files[map - process->maps.items].object;
		if (!object || !object_is_elf(object))
			return symbols_process_answer_jit(process, address, since_boot_ns, out);
		return process_read_file_answer(process, map, address, out);
	case PROCMAP_KIND_FILE:
		return process_read_file_answer(process, map, address, out);
	case PROCMAP_KIND_VDSO:
		return process_answer_vdso(process, map, address, out);
	case PROCMAP_KIND_OTHER:
		break;
	}
	return answer_placeholder(process->names, "[unknown]", out);
}

size_t symbols_process_bytes(const struct symbols_process *process)
{
	return sizeof(*process) + process->maps.cap * sizeof(*process->maps.items) +
	       process->maps.paths_cap + process->maps.cnt * sizeof(*process->files) +
	       addr_cache_bytes(&process->answers) + symbols_process_jit_bytes(process);
}

int symbols_process__jvm_function(const struct symbols_process *process, const char *prefix,
				  struct symbols_function *out)
{
	const struct procmap *map = &process->target.hotspot_map;

	if (!process->target.is_hotspot)
		return -ENOENT;
	*out = (struct symbols_function){ .map_start = map->start, .map_end = map->end };
	for (size_t i = 0; i < process->maps.cnt; i++) {
		if (process->maps.items[i].start == map->start && process->files[i].object)
			return object_find_function(process->files[i].object, prefix, &out->offset);
	}
	return -ENOENT;
}
