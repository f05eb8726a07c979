// SPDX-License-Identifier: Apache-2.0
/*
 * How the code of one process is unwound: its executable mappings, each with the table of its file,
 * for the kernel (bpf/jbpf_unwind.h); see symbols.h.
 *
 * A process is due when its mappings changed, and when one of its files may have a table that it has
 * not. symbols_process__step_space() then builds the table of one file at a time, or, when there is
 * none left to build, tells the listener the space as a whole. Until that the kernel walks as it did
 * before: a space without half of its tables would break stacks that frame pointers lead through.
 * Processes take turns: after each step the one that has waited for longest is next, so that one with
 * very many files, or with new mappings in each window, keeps no other one waiting.
 *
 * A file whose table is not to be had, and one that has none, is a mapping without table. Code in
 * memory without a file was made by a JIT compiler: those keep frame pointers, and where one does not,
 * HotSpot, its code range comes first.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "symbols/elf/vdso.h"
#include "symbols/parser/parser.h"
#include "symbols/symbols_process.h"
#include "symbols/unwind/unwind_table.h"
#include "user/files/container_file.h"
#include "user/files/opener.h"
#include "user/util/account.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/log.h"

#define PAGE_BYTES (1ull << JBPF_UNWIND_PAGE_SHIFT)

/*
 * Of a JVM that was just met those stacks come first that were sampled before: their names are read
 * while its code is what it was. They follow at once, and what comes later waits for one file at most.
 * While it starts, and its own tables cannot be read yet, these are looked at a few times before.
 */
#define SPACE_REST_NS	    (50 * CLOCK_NS_PER_MS)
#define SPACE_REST_START_NS (500 * CLOCK_NS_PER_MS)

/* Until it is tried again. */
#define SPACE_NO_MEMORY_NS CLOCK_NS_PER_S

/* So long after a file could not be read, a process tries again. */
#define RULES_RETRY_NS (60 * CLOCK_NS_PER_S)

/* Fewer stacks that end in a file are no ground to name it. */
#define END_WORTH_SAMPLES 20

struct candidate {
	uint64_t start;
	struct jbpf_mapping mapping;
};

/* ---- the files ---- */

/* Of the vdso, and of files that have an object; NULL: there is nothing that could have a table. */
static struct unwind_file *file_of(const struct symbols_process *process, size_t index)
{
	const struct procmap *map = &process->maps.items[index];
	struct object *object = process->files[index].object;

	/* That of a 32-bit process is another one. */
	if (map->kind == PROCMAP_KIND_VDSO)
		return map->start > UINT32_MAX ? &process->shared->vdso_unwind : NULL;
	return object && (object_needs_load(object) || object_is_elf(object)) ?
		       object_unwind(object) :
		       NULL;
}

static int build_vdso(struct symbols_shared *shared, struct unwind_file *file)
{
	__attribute__((cleanup(unwind_table_release))) struct unwind_table table = { 0 };
	struct elf_code_segment segments[UNWIND_FILE_SEGMENTS];
	struct elf_file elf;
	size_t cnt;
	int err = vdso_open(&elf);

	if (!err)
		err = unwind_table_build(&elf, &table);
	elf_file_release(&elf);
	if (err)
		return err;
	if (!symbols_shared_vdso(shared))
		return -ENOEXEC;
	cnt = elf_symtab__code_segments(shared->vdso, segments, UNWIND_FILE_SEGMENTS);
	unwind_file_set_segments(file, segments, cnt);
	return unwind_cache_put(shared->unwind, file, &table, ACCOUNT_NONE);
}

/*
 * What one process met when it opened a file, which says nothing of the file: the number may be chosen by a
 * server in user space that it has in its own mounts. Never one that unwind_cache_fail() takes for the file's.
 */
static int unopened(const struct symbols_process *process, size_t index, int err)
{
	pr_debug("unwind: pid %u: '%s' cannot be opened: %s\n", process->id.pid,
		 procmaps_path(&process->maps, &process->maps.items[index]), errstr(err));
	return -EACCES;
}

/* Where its code lies, as the table of its symbols says. 0 or -errno. */
static int learn_segments(struct symbols_process *process, size_t index, int path_fd)
{
	const struct process_file *file = &process->files[index];
	int err = 0;

	if (unwind_file_has_segments(object_unwind(file->object)))
		return 0;
	if (object_needs_load(file->object))
		err = symbols_process_load_object(process, index, path_fd);
	if (err)
		return object_needs_load(file->object) ? unopened(process, index, err) : err;
	/* It may be the account's own by now, of which they are known. */
	return unwind_file_has_segments(object_unwind(file->object)) ?
		       0 :
		       object_learn_segments(file->object);
}

/* Only the mapping says that these bytes are executable; with READ_IMPLIES_EXEC all bytes are. */
static bool maps_code(const struct symbols_process *process, size_t index)
{
	const struct procmap *map = &process->maps.items[index];

	return unwind_file_has_code(object_unwind(process->files[index].object), map->offset,
				    map->end - map->start);
}

/* The rules of the file that `path_fd` stands for. 0 and *out, which the caller releases; -errno. */
static int parse_rules(struct symbols_process *process, size_t index, int path_fd,
		       struct unwind_table *out)
{
	static const struct container_file_rules rules = { .owner = CONTAINER_FILE_ANY_OWNER };
	const char *path = procmaps_path(&process->maps, &process->maps.items[index]);
	struct symbols_shared *shared = process->shared;
	struct parser *parser = symbols_process__parser(process);
	struct debug_file_roots roots;
	bool own_was_used = false;
	int err;

	__cleanup_fd int fd = opener__reopen(parser__opener(parser), path_fd, &rules, NULL);

	if (fd < 0)
		return unopened(process, index, fd);
	roots = symbols_process_open_roots(process);
	roots.own_was_used = &own_was_used;
	err = parser__unwind(parser, fd, path, &roots, out);
	symbols_process_close_roots(&roots);
	/* Others shall not be walked by what this one wrote, nor have no table for it. */
	if (own_was_used && object_cache__make_own(shared->objects, &process->files[index].object,
						   process->share->account))
		return -ENOMEM;
	return err;
}

static int build_file(struct symbols_process *process, size_t index)
{
	__attribute__((cleanup(unwind_table_release))) struct unwind_table table = { 0 };
	const struct process_file *file = &process->files[index];
	struct symbols_shared *shared = process->shared;
	struct stat st;
	int err;

	__cleanup_fd int path_fd = symbols_process_open_map(process, index);

	if (path_fd < 0)
		return unopened(process, index, path_fd);
	if (container_file_stat(path_fd, &st) || !object_is_file(file->object, &st))
		return -ESTALE;
	object_cache__find_own(shared->objects, &process->files[index].object,
			       process->share->account);
	err = learn_segments(process, index, path_fd);
	/* Another process of the account may have had it built. */
	if (err || !unwind_cache_wants(shared->unwind, object_unwind(file->object),
				       account__id(process->share->account)))
		return err;
	if (!maps_code(process, index)) {
		process->files[index].rules_after_ns = UINT64_MAX;
		return 0;
	}
	err = parse_rules(process, index, path_fd, &table);
	return err ? err :
		     unwind_cache_put(shared->unwind, object_unwind(file->object), &table,
				      account__id(process->share->account));
}

/* As build_file(), charged but for what reading its symbols was charged already. */
static int build_charged(struct symbols_process *process, size_t index)
{
	uint64_t begin_ns = symbols_process_load_clock_ns(process);
	uint64_t charged_ns = process->load_ns;
	uint64_t cpu_ns;
	int err;

	if (!symbols_process_may_load(process)) {
		account__note_cut(process->share->account, ACCOUNT_CUT_FILES, 1);
		return -EBUSY;
	}
	err = build_file(process, index);
	cpu_ns = symbols_process_load_clock_ns(process) - begin_ns;
	charged_ns = process->load_ns - charged_ns;
	if (charged_ns < cpu_ns)
		symbols_process_charge_load(process, cpu_ns - charged_ns, err);
	return err;
}

static void build(struct symbols_process *process, size_t index)
{
	struct symbols_shared *shared = process->shared;
	bool is_vdso = process->maps.items[index].kind == PROCMAP_KIND_VDSO;
	struct unwind_file *file;
	int err = is_vdso ? build_vdso(shared, &shared->vdso_unwind) :
			    build_charged(process, index);

	if (!err)
		return;
	pr_debug("unwind: pid %u: '%s': %s\n", process->id.pid,
		 procmaps_path(&process->maps, &process->maps.items[index]), errstr(err));
	file = is_vdso ? &shared->vdso_unwind : object_unwind(process->files[index].object);
	/* At these the cache has noted why it did not take it. */
	if (err != -EDQUOT && err != -ENOSPC)
		unwind_cache_fail(shared->unwind, file, err);
	else if (!unwind_cache_wants(shared->unwind, file, account__id(process->share->account)))
		return;
	/* Another process may open it, have time left, or have room in its account. */
	process->files[index].rules_after_ns = clock_boot_ns() + RULES_RETRY_NS;
}

/* ---- the space ---- */

/* What stands for a mapping; false: nothing does. */
static bool candidate_of(const struct symbols_process *process, size_t index, struct candidate *out)
{
	const struct procmap *map = &process->maps.items[index];
	const struct object *object = process->files[index].object;
	const struct unwind_file *file = file_of(process, index);
	uint64_t len = map->end - map->start;
	struct unwind_span span;

	if (map->kind == PROCMAP_KIND_OTHER || map->start % PAGE_BYTES || len % PAGE_BYTES ||
	    len / PAGE_BYTES > UINT32_MAX)
		return false;
	*out = (struct candidate){ .start = map->start,
				   .mapping = { .page_cnt = (uint32_t)(len / PAGE_BYTES) } };
	if (map->kind == PROCMAP_KIND_ANONYMOUS ||
	    (map->kind == PROCMAP_KIND_MEMFD && !(object && object_is_elf(object))))
		out->mapping.flags = JBPF_MAPPING_KEEPS_FP;
	if (!file)
		return true;
	if (unwind_file_span(file, map->start, map->offset, len, &span))
		*out = (struct candidate){ .start = span.start,
					   .mapping = { .page_cnt = span.page_cnt,
							.page = span.page,
							.table = span.table } };
	if (unwind_file_keeps_fp(file))
		out->mapping.flags = JBPF_MAPPING_KEEPS_FP;
	return true;
}

/* Code of a JIT compiler often lies in many mappings side by side. */
static bool candidates_join(struct candidate *last, const struct candidate *next)
{
	struct jbpf_mapping *mapping = &last->mapping;

	if (mapping->table || next->mapping.table || mapping->flags != next->mapping.flags ||
	    last->start + mapping->page_cnt * PAGE_BYTES != next->start ||
	    (uint64_t)mapping->page_cnt + next->mapping.page_cnt > UINT32_MAX)
		return false;
	mapping->page_cnt += next->mapping.page_cnt;
	return true;
}

/* Those with tables first, large ones before small ones. */
static int compare_worth(const void *left, const void *right)
{
	const struct candidate *a = left, *b = right;

	if (!a->mapping.table != !b->mapping.table)
		return a->mapping.table ? -1 : 1;
	if (a->mapping.page_cnt != b->mapping.page_cnt)
		return a->mapping.page_cnt > b->mapping.page_cnt ? -1 : 1;
	return (a->start > b->start) - (a->start < b->start);
}

static int compare_start(const void *left, const void *right)
{
	const struct candidate *a = left, *b = right;

	return (a->start > b->start) - (a->start < b->start);
}

static int compose(const struct symbols_process *process, struct jbpf_space *out)
{
	__cleanup_free struct candidate *all = calloc(process->maps.cnt + 1, sizeof(*all));
	size_t cnt = 0;

	if (!all)
		return -ENOMEM;
	for (size_t i = 0; i < process->maps.cnt; i++)
		if (candidate_of(process, i, &all[cnt]) &&
		    !(cnt && candidates_join(&all[cnt - 1], &all[cnt])))
			cnt++;
	*out = (struct jbpf_space){ .start_ns = process->id.start_ns,
				    .exec_id = process->id.exec_id };
	if (cnt > JBPF_SPACE_MAX_MAPPINGS) {
		out->flags = JBPF_SPACE_IS_PARTIAL;
		qsort(all, cnt, sizeof(*all), compare_worth);
		cnt = JBPF_SPACE_MAX_MAPPINGS;
		qsort(all, cnt, sizeof(*all), compare_start);
	}
	if (process->maps.dropped_cnt)
		out->flags = JBPF_SPACE_IS_PARTIAL;
	out->mapping_cnt = (uint32_t)cnt;
	for (size_t i = 0; i < JBPF_SPACE_MAX_MAPPINGS; i++) {
		out->start[i] = i < cnt ? all[i].start : UINT64_MAX;
		if (i < cnt)
			out->mappings[i] = all[i].mapping;
	}
	return 0;
}

/* Which tables the kernel's entry names. 0 or -ENOMEM. */
static int note_tables(struct symbols_process *process, const struct jbpf_space *space)
{
	uint32_t *tables = realloc(process->space_tables,
				   (space->mapping_cnt + 1) * sizeof(*process->space_tables));

	if (!tables)
		return -ENOMEM;
	process->space_tables = tables;
	process->space_table_cnt = 0;
	for (uint32_t i = 0; i < space->mapping_cnt; i++)
		if (space->mappings[i].table)
			tables[process->space_table_cnt++] = space->mappings[i].table;
	return 0;
}

static bool names_table(const struct symbols_process *process, uint32_t table)
{
	for (uint32_t i = 0; i < process->space_table_cnt; i++)
		if (process->space_tables[i] == table)
			return true;
	return false;
}

static void note_use(struct symbols_process *process)
{
	for (size_t i = 0; i < process->maps.cnt; i++) {
		const struct unwind_file *file = file_of(process, i);

		if (file)
			(void)unwind_cache_use(process->shared->unwind, file);
	}
}

static int tell(struct symbols_process *process)
{
	const struct symbols_unwind_listener *listener = &process->shared->unwind_listener;
	struct jbpf_space space;
	int err = compose(process, &space);

	if (!err)
		err = note_tables(process, &space);
	if (err)
		return err;
	listener->space(listener->ctx, &process->id, account__id(process->share->account), &space);
	process->is_space_told = true;
	return 0;
}

void symbols_space_leaving(struct symbols_shared *shared, uint32_t table)
{
	for (struct symbols_process *process = shared->processes; process; process = process->next)
		if (names_table(process, table))
			/* Without memory its mappings stay as they are, and lead to nothing. */
			(void)tell(process);
}

/* ---- when ---- */

void symbols_process_note_maps(struct symbols_process *process)
{
	process->is_space_due = true;
}

void symbols_process_release_space(struct symbols_process *process)
{
	free(process->space_tables);
}

/* Should this process have the table of the mapping's file built? */
static bool wants_table(const struct symbols_process *process, size_t index,
			const struct unwind_file *file)
{
	uint64_t after_ns = process->files[index].rules_after_ns;

	return unwind_cache_wants(process->shared->unwind, file,
				  account__id(process->share->account)) &&
	       (!after_ns || clock_boot_ns() >= after_ns);
}

static int find_wanted(const struct symbols_process *process, size_t *index_out)
{
	for (size_t i = 0; i < process->maps.cnt; i++) {
		const struct unwind_file *file = file_of(process, i);

		if (!file || !wants_table(process, i, file))
			continue;
		*index_out = i;
		return 0;
	}
	return -ENOENT;
}

static uint64_t rest_ns(const struct symbols_process *process)
{
	if (!process->target.is_hotspot)
		return 0;
	return process->jit_low < process->jit_high ? SPACE_REST_NS : SPACE_REST_START_NS;
}

bool symbols_process__step_space(struct symbols_process *process, enum symbols_step step)
{
	struct symbols_shared *shared = process->shared;
	size_t index;

	if (!process->is_space_due || !unwind_cache_is_on(shared->unwind))
		return false;
	/*
	 * Gone; or its mappings could not be read: it is walked as it was. That of one which ends just
	 * now is of no use and no harm, and most do not: at the first look it was checked already.
	 */
	if (process->maps.cnt == 0 ||
	    (step == SYMBOLS_STEP_BUILD && symbols_process_check(process))) {
		process->is_space_due = false;
		return false;
	}
	if (find_wanted(process, &index) == 0) {
		if (step == SYMBOLS_STEP_KNOWN) {
			process->space_after_ns = clock_boot_ns() + rest_ns(process);
			return true;
		}
		build(process, index);
		process->space_after_ns = clock_boot_ns();
		return true;
	}
	process->is_space_due = tell(process) != 0;
	process->space_after_ns =
		clock_boot_ns() + (process->is_space_due ? SPACE_NO_MEMORY_NS : 0);
	note_use(process);
	return false;
}

/*
 * Has its file a table by now that the kernel's entry does not name? It was built for another process, after this one had
 * been told without: the file could not be read then, or there was no room. More tables than an entry holds are no news.
 */
static bool has_other_table(const struct symbols_process *process, size_t index,
			    const struct unwind_file *file)
{
	const struct procmap *map = &process->maps.items[index];
	struct unwind_span span;

	return process->is_space_told && process->space_table_cnt < JBPF_SPACE_MAX_MAPPINGS &&
	       unwind_file_span(file, map->start, map->offset, map->end - map->start, &span) &&
	       !names_table(process, span.table);
}

void symbols_process__note_sampled(struct symbols_process *process)
{
	struct unwind_cache *cache = process->shared->unwind;

	if (!unwind_cache_is_on(cache))
		return;
	for (size_t i = 0; i < process->maps.cnt; i++) {
		const struct unwind_file *file = file_of(process, i);

		if (!file)
			continue;
		(void)unwind_cache_use(cache, file);
		process->is_space_due |= wants_table(process, i, file) ||
					 has_other_table(process, i, file);
	}
}

/* ---- the listener hears of it ---- */

enum unwind_why symbols_unwind_why(enum unwind_refusal refusal)
{
	static const enum unwind_why whys[UNWIND_REFUSAL_CNT] = {
		[UNWIND_REFUSED_LARGE] = UNWIND_WHY_LARGE,
		[UNWIND_REFUSED_DAMAGED] = UNWIND_WHY_DAMAGED,
		[UNWIND_REFUSED_UNREADABLE] = UNWIND_WHY_UNREADABLE,
		[UNWIND_REFUSED_SHARE] = UNWIND_WHY_SHARE,
		[UNWIND_REFUSED_FULL] = UNWIND_WHY_FULL,
		[UNWIND_REFUSED_KERNEL] = UNWIND_WHY_KERNEL,
	};

	return (size_t)refusal < ARRAY_SIZE(whys) ? whys[refusal] : UNWIND_WHY_UNKNOWN;
}

static void copy_base_name(const struct symbols_process *process, size_t index, char *out)
{
	const char *path = procmaps_path(&process->maps, &process->maps.items[index]);

	(void)snprintf(out, UNWIND_FACTS_NAME_BYTES, "%s", procmaps_base_name(path));
}

static void note_without(const struct symbols_process *process, size_t index,
			 const struct unwind_file *file, struct unwind_facts *out)
{
	char name[UNWIND_FACTS_NAME_BYTES];
	enum unwind_refusal refusal;

	copy_base_name(process, index, name);
	if (unwind_facts_why(out, name))
		return;
	if (out->without_cnt == UNWIND_FACTS_FILES) {
		out->more_cnt++;
	} else {
		memcpy(out->without[out->without_cnt].name, name, sizeof(name));
		out->without[out->without_cnt++].why = unwind_file_refusal(file, &refusal) ?
							       symbols_unwind_why(refusal) :
							       UNWIND_WHY_NO_INFORMATION;
	}
}

/* Mappings of a file are neighbours; where they are not it counts twice, as there may be very many. */
static void note_file(const struct symbols_process *process, size_t index, struct unwind_facts *out)
{
	const struct unwind_file *file = file_of(process, index);
	enum unwind_refusal refusal;

	if (!file || (index && file_of(process, index - 1) == file))
		return;
	if (file->state == UNWIND_FILE_TABLE)
		out->table_cnt++;
	else if (unwind_file_keeps_fp(file))
		out->fp_cnt++;
	else if (file->state != UNWIND_FILE_NEW || unwind_file_refusal(file, &refusal))
		note_without(process, index, file, out);
}

bool symbols_process__unwind_facts(const struct symbols_process *process, struct unwind_facts *out)
{
	*out = (struct unwind_facts){ .by = UNWIND_BY_FP };
	if (!unwind_cache_is_on(process->shared->unwind))
		return true;
	if (!process->is_space_told)
		return false;
	out->by = UNWIND_BY_RULES;
	for (size_t i = 0; i < process->maps.cnt; i++)
		note_file(process, i, out);
	for (size_t i = 0; i < UNWIND_FACTS_FILES; i++) {
		const struct process_end *end = &process->ends[i];

		if (end->samples < END_WORTH_SAMPLES)
			continue;
		memcpy(out->ends[out->end_cnt].name, end->name, UNWIND_FACTS_NAME_BYTES);
		out->ends[out->end_cnt++].end = end->end;
	}
	return true;
}

void symbols_process__note_end(struct symbols_process *process, uint64_t address,
			       enum stack_end end, uint64_t samples)
{
	const struct procmap *map = procmaps_find(&process->maps, address);
	char name[UNWIND_FACTS_NAME_BYTES];

	if (!map || !file_of(process, (size_t)(map - process->maps.items)))
		return;
	copy_base_name(process, (size_t)(map - process->maps.items), name);
	for (size_t i = 0; i < UNWIND_FACTS_FILES; i++) {
		struct process_end *noted = &process->ends[i];

		if (noted->samples && strcmp(noted->name, name) != 0)
			continue;
		if (!noted->samples) {
			noted->end = end;
			memcpy(noted->name, name, sizeof(name));
		}
		noted->samples += samples;
		return;
	}
}

const struct process_life *symbols_process__id(const struct symbols_process *process)
{
	return &process->id;
}
