// SPDX-License-Identifier: Apache-2.0
/*
 * /proc/kallsyms as a sorted table; see kallsyms.h. Only text symbols are kept: some 60,000 of
 * 120,000 lines, in about 1.5 MiB.
 */
#include "symbols/names/kallsyms.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "symbols/names/kallsyms_names.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/fs.h"
#include "user/util/log.h"
#include "user/util/saturate.h"
#include "user/util/strbuf.h"
#include "user/util/vec.h"

#define KALLSYMS_STEP_BYTES (64 * 1024)
#define KALLSYMS_REFRESH_NS (30 * CLOCK_NS_PER_S)
/* Reading takes some 60 ms of CPU time; this often while BPF programs are asked for that may be others. */
#define KALLSYMS_BPF_REFRESH_NS (60 * CLOCK_NS_PER_S)
/* And this often while those that are asked for came or went since. */
#define KALLSYMS_CHANGED_REFRESH_NS (10 * CLOCK_NS_PER_S)
#define KALLSYMS_CHANGES_MAX	    1024u
/* What is asked this soon after a reading was there when it was read. */
#define KALLSYMS_FRESH_NS CLOCK_NS_PER_S
/* Whether other modules were loaded is read from one short file, this often while modules are asked for. */
#define KALLSYMS_MODULES_NS    CLOCK_NS_PER_S
#define KALLSYMS_MODULES_BYTES (1u << 20)
#define KALLSYMS_IMAGE_BYTES \
	4096u /* of a trampoline or dispatcher, at most a page (bpf_jit_comp.c) */
/* The last function before a gap (end of the kernel, of a module) is taken to be this long at most. */
#define KALLSYMS_LAST_MAX_BYTES (64u * 1024)

struct kallsyms_entry {
	uint64_t start;
	uint32_t name;	 /* into names */
	uint32_t module; /* into modules; 0 = "" */
};

/*
 * How long a BPF program is is nowhere, and another one may be loaded behind it: it is known to go as far
 * as what was asked when the table was fresh. The last function of a module likewise.
 */
struct kallsyms_reach {
	uint64_t start;
	uint64_t known_end;
};

/* Where BPF programs came and went. All times are of CLOCK_BOOTTIME. */
struct kallsyms_changes {
	uint64_t since_ns; /* all changes between these are known; 0: none */
	uint64_t until_ns;
	uint64_t asked_begin_ns; /* what is asked was sampled between these */
	uint64_t asked_end_ns;
	size_t cnt;
	struct ksymbol_change items[KALLSYMS_CHANGES_MAX];
};

struct kallsyms {
	int fd;		/* -1: could not be opened */
	int modules_fd; /* -1: there are no modules, or none can be seen */
	struct kallsyms_entry *entries;
	size_t cnt;
	size_t cap;
	struct kallsyms_names *names; /* NULL: nothing was read */
	struct strbuf modules;	      /* NUL-terminated strings; begins with "" */
	uint64_t read_boot_ns;	      /* when that was tried last; 0 = never */
	uint64_t made_boot_ns;	      /* when what is here was read */
	uint64_t end_boot_ns;	      /* when that was over */
	bool is_hidden;
	uint32_t last_module; /* of the line before: modules come in runs */
	struct kallsyms_reach *reaches;
	size_t reach_cnt;
	size_t reach_cap;
	uint64_t modules_hash;	  /* of the list of modules, from before the table was read */
	uint64_t modules_boot_ns; /* when it was looked at last */
	bool modules_differ;	  /* by then: other modules may be in their places */
	struct kallsyms_changes *changes;
};

int kallsyms__from_fd(int fd, int proc_fd, struct kallsyms **out)
{
	struct kallsyms *syms = calloc(1, sizeof(*syms));

	if (!syms) {
		if (fd >= 0)
			close(fd);
		return -ENOMEM;
	}
	syms->fd = fd;
	syms->modules_fd = openat(proc_fd, "modules", O_RDONLY | O_CLOEXEC);
	syms->changes = calloc(1, sizeof(*syms->changes));
	if (!syms->changes) {
		kallsyms__free(syms);
		return -ENOMEM;
	}
	*out = syms;
	return 0;
}

int kallsyms__open(int proc_fd, struct kallsyms **out)
{
	return kallsyms__from_fd(openat(proc_fd, "kallsyms", O_RDONLY | O_CLOEXEC), proc_fd, out);
}

static void kallsyms_drop(struct kallsyms *syms)
{
	free(syms->entries);
	kallsyms_names__free(syms->names);
	strbuf_release(&syms->modules);
}

void kallsyms__free(struct kallsyms *syms)
{
	if (!syms)
		return;
	if (syms->fd >= 0)
		close(syms->fd);
	if (syms->modules_fd >= 0)
		close(syms->modules_fd);
	kallsyms_drop(syms);
	free(syms->reaches);
	free(syms->changes);
	free(syms);
}

static bool has_prefix(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool has_suffix(const char *text, const char *suffix)
{
	size_t len = strlen(text), suffix_len = strlen(suffix);

	return len >= suffix_len && strcmp(text + len - suffix_len, suffix) == 0;
}

/* Marks of the linker share their address with the function that comes first. */
static bool kallsyms_is_mark(const char *name)
{
	return strcmp(name, "_text") == 0 || strcmp(name, "_stext") == 0 ||
	       strcmp(name, "_etext") == 0 || strcmp(name, "_sinittext") == 0 ||
	       (has_prefix(name, "__") &&
		(has_suffix(name, "text_start") || has_suffix(name, "text_end") ||
		 has_suffix(name, "text_begin")));
}

static int kallsyms_add_module(struct kallsyms *syms, const char *text, size_t len)
{
	size_t at = syms->modules.len;

	if (at + len + 1 > KALLSYMS_MAX_MODULES)
		return -E2BIG;
	strbuf_append(&syms->modules, text, len);
	strbuf_putc(&syms->modules, '\0');
	syms->last_module = (uint32_t)at;
	return strbuf_error(&syms->modules);
}

static int kallsyms_add(struct kallsyms *syms, uint64_t start, const char *name, size_t name_len,
			const char *module, size_t module_len)
{
	struct kallsyms_entry entry = { .start = start };
	const char *last = syms->modules.data + syms->last_module;
	int err;

	if (syms->cnt == KALLSYMS_MAX_SYMBOLS)
		return 0;
	if (vec_room(syms->entries, syms->cnt, syms->cap, 4096))
		return -ENOMEM;
	if (module_len && (strlen(last) != module_len || memcmp(last, module, module_len) != 0)) {
		err = kallsyms_add_module(syms, module, module_len);
		if (err)
			return err;
	}
	if (module_len)
		entry.module = syms->last_module;
	err = kallsyms_names__add(syms->names, name, name_len, &entry.name);
	if (err)
		return err;
	syms->entries[syms->cnt++] = entry;
	return 0;
}

static bool kallsyms_hex(const char **at, const char *end, uint64_t *out)
{
	const char *begin = *at;
	uint64_t value = 0;

	for (; *at < end && **at != ' '; (*at)++) {
		char c = **at;
		int digit = c >= '0' && c <= '9' ? c - '0' :
			    c >= 'a' && c <= 'f' ? c - 'a' + 10 :
						   -1;

		if (digit < 0 || *at - begin == 16)
			return false;
		value = value * 16 + (uint64_t)digit;
	}
	*out = value;
	return *at > begin;
}

/* "ffffffff81000000 t name\t[module]" */
static int kallsyms_line(struct kallsyms *syms, const char *at, const char *end)
{
	const char *name, *tab, *module = "";
	size_t module_len = 0;
	uint64_t start;
	char type;
	int err;

	if (!kallsyms_hex(&at, end, &start) || end - at < 4 || at[2] != ' ')
		return 0;
	type = at[1];
	name = at + 3;
	if ((type != 't' && type != 'T' && type != 'w' && type != 'W') || start == 0)
		return 0;
	tab = memchr(name, '\t', (size_t)(end - name));
	if (tab && end - tab > 3 && tab[1] == '[' && end[-1] == ']') {
		module = tab + 2;
		module_len = (size_t)(end - module) - 1;
	}
	if (tab)
		end = tab;
	/* Padding before functions; nothing runs there under that name. */
	if (end == name || has_prefix(name, "__pfx_") || has_prefix(name, "__cfi_"))
		return 0;
	err = kallsyms_add(syms, start, name, (size_t)(end - name), module, module_len);
	return err == -E2BIG ? 0 : err;
}

static int kallsyms_parse(struct kallsyms *syms, char *text)
{
	size_t len = 0;

	for (;;) {
		ssize_t got = read(syms->fd, text + len, KALLSYMS_STEP_BYTES - len);
		char *at = text;

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			return 0;
		len += (size_t)got;
		for (;;) {
			char *newline = memchr(at, '\n', len - (size_t)(at - text));
			int err;

			if (!newline)
				break;
			err = kallsyms_line(syms, at, newline);
			if (err)
				return err;
			at = newline + 1;
		}
		len -= (size_t)(at - text);
		memmove(text, at, len);
		if (len == KALLSYMS_STEP_BYTES)
			return -EBADMSG;
	}
}

/* Before they are packed. Of names with one address: what is no mark, has fewer leading underscores, comes first. */
static bool kallsyms_is_better(const struct kallsyms *syms, const struct kallsyms_entry *a,
			       const struct kallsyms_entry *b)
{
	const char *left = kallsyms_names__get(syms->names, a->name);
	const char *right = kallsyms_names__get(syms->names, b->name);
	size_t left_lead = strspn(left, "_"), right_lead = strspn(right, "_");
	bool left_mark = kallsyms_is_mark(left), right_mark = kallsyms_is_mark(right);

	if (left_mark != right_mark)
		return right_mark;
	if (left_lead != right_lead)
		return left_lead < right_lead;
	return strcmp(left, right) < 0;
}

static int kallsyms_compare(const void *left, const void *right)
{
	const struct kallsyms_entry *a = left;
	const struct kallsyms_entry *b = right;

	return (a->start > b->start) - (a->start < b->start);
}

static void kallsyms_settle(struct kallsyms *syms)
{
	struct kallsyms_entry *shrunk;
	size_t kept = 0;

	if (syms->cnt == 0)
		return;
	qsort(syms->entries, syms->cnt, sizeof(*syms->entries), kallsyms_compare);
	for (size_t i = 0; i < syms->cnt; i++) {
		struct kallsyms_entry *entry = &syms->entries[i];

		if (kept == 0 || syms->entries[kept - 1].start != entry->start)
			syms->entries[kept++] = *entry;
		else if (kallsyms_is_better(syms, entry, &syms->entries[kept - 1]))
			syms->entries[kept - 1] = *entry;
	}
	syms->cnt = kept;
	shrunk = reallocarray(syms->entries, kept, sizeof(*shrunk));
	if (shrunk) {
		syms->entries = shrunk;
		syms->cap = kept;
	}
}

static bool is_bpf(const char *module)
{
	return strcmp(module, "bpf") == 0;
}

/* Of one that /proc/modules has. */
static bool is_loaded_module(const char *module)
{
	return *module && !is_bpf(module) && !has_prefix(module, "__builtin__");
}

static bool is_bpf_image(const struct kallsyms *syms, const struct kallsyms_entry *entry)
{
	const char *name;

	if (!is_bpf(syms->modules.data + entry->module))
		return false;
	name = kallsyms_names__get(syms->names, entry->name);
	return name && (has_prefix(name, "bpf_trampoline_") || has_prefix(name, "bpf_dispatcher_"));
}

/* End of entry `i`: where the next begins, unless a gap lies between. */
static uint64_t kallsyms_end(const struct kallsyms *syms, size_t i)
{
	const struct kallsyms_entry *entry = &syms->entries[i];
	uint64_t limit = entry->start + KALLSYMS_LAST_MAX_BYTES;

	if (is_bpf_image(syms, entry)) {
		limit = entry->start + KALLSYMS_IMAGE_BYTES;
		return i + 1 < syms->cnt && entry[1].start < limit ? entry[1].start : limit;
	}

	if (i + 1 == syms->cnt)
		return limit;
	if (entry[1].module == entry->module || entry[1].start < limit)
		return entry[1].start;
	return limit;
}

/* How long it is is nowhere, and what lies behind it may be of a module that was loaded since. */
static bool is_last_of_module(const struct kallsyms *syms, size_t i)
{
	uint32_t module = syms->entries[i].module;

	return module && (i + 1 == syms->cnt || syms->entries[i + 1].module != module);
}

static int kallsyms_find(const struct kallsyms *syms, uint64_t address, struct kallsym *out)
{
	size_t low = 0, high = syms->cnt;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (syms->entries[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0 || address >= kallsyms_end(syms, low - 1))
		return -ENOENT;
	*out = (struct kallsym){
		.start = syms->entries[low - 1].start,
		.end = kallsyms_end(syms, low - 1),
		.name = kallsyms_names__get(syms->names, syms->entries[low - 1].name),
		.module = syms->modules.data + syms->entries[low - 1].module,
	};
	if (!out->name)
		return -ENOMEM;
	out->is_of_bpf = is_bpf(out->module);
	out->may_change = out->is_of_bpf || is_last_of_module(syms, low - 1);
	out->is_of_module = is_loaded_module(out->module);
	return 0;
}

/*
 * Of which modules there are, the newest first, and where: words 0, 1 and 5 of each line of /proc/modules
 * (m_show() in kernel/module/procfs.c). The others are how they are used. 0: it cannot be read.
 */
static uint64_t hash_modules(const struct kallsyms *syms)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	size_t kept = 0;
	int word = 0;

	if (syms->modules_fd < 0 || lseek(syms->modules_fd, 0, SEEK_SET) < 0 ||
	    fs_read_fd(syms->modules_fd, KALLSYMS_MODULES_BYTES, &text))
		return 0;
	for (size_t i = 0; i < text.len; i++) {
		if (word <= 1 || word == 5)
			text.data[kept++] = text.data[i];
		word = text.data[i] == '\n' ? 0 : word + (text.data[i] == ' ');
	}
	return XXH3_64bits(text.data, kept);
}

/* Are there other modules than when the table was read? One may have the place of another. */
static bool modules_differ(struct kallsyms *syms, uint64_t now_boot_ns)
{
	if (syms->modules_differ || syms->modules_fd < 0 ||
	    now_boot_ns - syms->modules_boot_ns < KALLSYMS_MODULES_NS)
		return syms->modules_differ;
	syms->modules_boot_ns = now_boot_ns;
	syms->modules_differ = hash_modules(syms) != syms->modules_hash;
	return syms->modules_differ;
}

/* Those that begin where they did, under the same name; that of a BPF program has its tag. */
static void kallsyms_keep_reaches(struct kallsyms *syms, struct kallsyms *fresh)
{
	struct kallsym before, now;

	for (size_t i = 0; i < syms->reach_cnt; i++) {
		struct kallsyms_reach *reach = &syms->reaches[i];

		if (!kallsyms_find(syms, reach->start, &before) &&
		    !kallsyms_find(fresh, reach->start, &now) && now.start == reach->start &&
		    strcmp(before.name, now.name) == 0)
			syms->reaches[fresh->reach_cnt++] = *reach;
	}
	fresh->reaches = syms->reaches;
	fresh->reach_cap = syms->reach_cap;
}

static int kallsyms_make(struct kallsyms *fresh, char *text)
{
	int err;

	strbuf_putc(&fresh->modules, '\0');
	err = strbuf_error(&fresh->modules);
	if (!err)
		err = kallsyms_parse(fresh, text);
	if (err)
		return err;
	kallsyms_settle(fresh);
	return kallsyms_names__pack(fresh->names);
}

static int kallsyms_read(struct kallsyms *syms, uint64_t now_boot_ns)
{
	__cleanup_free char *text = malloc(KALLSYMS_STEP_BYTES);
	struct kallsyms fresh = {
		.fd = syms->fd,
		.modules_fd = syms->modules_fd,
		.modules_hash = hash_modules(syms),
		.modules_boot_ns = now_boot_ns,
		.read_boot_ns = now_boot_ns,
		.made_boot_ns = now_boot_ns,
		.names = kallsyms_names__new(),
		.changes = syms->changes,
	};
	uint64_t begin_ns = clock_boot_ns();
	int err = -ENOMEM;

	syms->read_boot_ns = now_boot_ns;
	if (text && lseek(syms->fd, 0, SEEK_SET) < 0)
		err = -errno;
	else if (text && fresh.names)
		err = kallsyms_make(&fresh, text);
	if (err) {
		kallsyms_drop(&fresh);
		return err;
	}
	fresh.end_boot_ns = now_boot_ns + (clock_boot_ns() - begin_ns);
	fresh.is_hidden = fresh.cnt == 0;
	if (fresh.is_hidden && !syms->is_hidden)
		pr_warn("kallsyms: the kernel hides its addresses (kernel.kptr_restrict, or no CAP_SYSLOG), kernel frames stay unnamed\n");
	kallsyms_keep_reaches(syms, &fresh);
	kallsyms_drop(syms);
	*syms = fresh;
	return 0;
}

/* Is the address, which lies behind the start of `found`, known to be of that symbol? Learns it, too. */
static bool kallsyms_reaches(struct kallsyms *syms, const struct kallsym *found, uint64_t address,
			     bool is_fresh)
{
	struct kallsyms_reach *reach = NULL;

	for (size_t i = 0; i < syms->reach_cnt && !reach; i++)
		if (syms->reaches[i].start == found->start)
			reach = &syms->reaches[i];
	if (reach && address < reach->known_end)
		return true;
	if (!is_fresh)
		return false;
	if (reach)
		reach->known_end = address + 1;
	else if (!vec_room(syms->reaches, syms->reach_cnt, syms->reach_cap, 16))
		syms->reaches[syms->reach_cnt++] = (struct kallsyms_reach){
			.start = found->start,
			.known_end = address + 1,
		};
	return true;
}

/* ---- changes ---- */

void kallsyms__forget_changes(struct kallsyms *syms)
{
	*syms->changes = (struct kallsyms_changes){ 0 };
}

void kallsyms__note_window(struct kallsyms *syms, uint64_t begin_boot_ns, uint64_t end_boot_ns)
{
	syms->changes->asked_begin_ns = begin_boot_ns;
	syms->changes->asked_end_ns = end_boot_ns;
}

/* Nothing is asked that was sampled before the last window, and no table is older than the one that is here. */
static void forget_old_changes(struct kallsyms *syms)
{
	struct kallsyms_changes *changes = syms->changes;
	uint64_t begin_ns = min_u64(changes->asked_begin_ns, syms->made_boot_ns);
	size_t kept = 0;

	for (size_t i = 0; i < changes->cnt; i++)
		if (changes->items[i].boot_ns >= begin_ns)
			changes->items[kept++] = changes->items[i];
	changes->cnt = kept;
}

void kallsyms__note_changes(struct kallsyms *syms, const struct ksymbol_changes *more)
{
	struct kallsyms_changes *changes = syms->changes;

	if (!more->until_boot_ns) {
		kallsyms__forget_changes(syms);
		return;
	}
	forget_old_changes(syms);
	if (!changes->until_ns || more->cnt > KALLSYMS_CHANGES_MAX - changes->cnt) {
		changes->since_ns = more->until_boot_ns;
		changes->cnt = 0;
	} else {
		memcpy(&changes->items[changes->cnt], more->items,
		       more->cnt * sizeof(*more->items));
		changes->cnt += more->cnt;
	}
	changes->until_ns = more->until_boot_ns;
	if (!syms->read_boot_ns && syms->fd >= 0 && kallsyms_read(syms, clock_boot_ns()))
		pr_debug("kallsyms: cannot be read now\n");
}

/* May other code be at this address than there was then? */
static bool changed_since(const struct kallsyms *syms, uint64_t address, uint64_t boot_ns)
{
	const struct kallsyms_changes *changes = syms->changes;

	if (boot_ns < changes->since_ns)
		return true;
	for (size_t i = 0; i < changes->cnt; i++) {
		const struct ksymbol_change *change = &changes->items[i];

		if (change->boot_ns >= boot_ns && address >= change->start && address < change->end)
			return true;
	}
	return false;
}

/*
 * The kernel counts its way through the list of BPF programs (bpf_get_kallsym() in kernel/bpf/core.c): where one goes
 * meanwhile another is left out.
 */
static bool changed_while_read(const struct kallsyms *syms)
{
	const struct kallsyms_changes *changes = syms->changes;

	for (size_t i = 0; i < changes->cnt; i++)
		if (changes->items[i].boot_ns >= syms->made_boot_ns &&
		    changes->items[i].boot_ns <= syms->end_boot_ns)
			return true;
	return false;
}

static bool knows_changes(const struct kallsyms *syms)
{
	return syms->changes->until_ns != 0;
}

/* Was there the same at this address when it was sampled and when the table was read, and all the time between? */
static bool is_as_sampled(const struct kallsyms *syms, uint64_t address)
{
	const struct kallsyms_changes *changes = syms->changes;

	return changes->asked_end_ns <= changes->until_ns &&
	       syms->end_boot_ns <= changes->until_ns && !changed_while_read(syms) &&
	       !changed_since(syms, address, min_u64(changes->asked_begin_ns, syms->made_boot_ns));
}

/* How old the table may be when the answer is none, or one that may change. */
static uint64_t keep_ns(const struct kallsyms *syms, uint64_t address, const struct kallsym *found,
			int err)
{
	if (!knows_changes(syms) || (!found->is_of_bpf && !err))
		return err ? KALLSYMS_REFRESH_NS : KALLSYMS_BPF_REFRESH_NS;
	if (syms->end_boot_ns <= syms->changes->until_ns &&
	    (changed_while_read(syms) || changed_since(syms, address, syms->made_boot_ns)))
		return KALLSYMS_CHANGED_REFRESH_NS;
	return found->is_of_bpf ? UINT64_MAX : KALLSYMS_REFRESH_NS;
}

/* ---- lookup ---- */

/* As kallsyms_find(), but what may be of a program that was loaded since has no name. */
static int kallsyms_find_sure(struct kallsyms *syms, uint64_t address, bool is_fresh,
			      struct kallsym *out)
{
	int err = kallsyms_find(syms, address, out);

	if (!err && out->is_of_bpf && knows_changes(syms))
		return is_as_sampled(syms, address) ? 0 : -ENOENT;
	if (!err && out->may_change && !kallsyms_reaches(syms, out, address, is_fresh))
		err = -ENOENT;
	if (!err && out->is_of_module && syms->modules_differ)
		err = -ENOENT;
	return err;
}

int kallsyms__read_and_lookup(struct kallsyms *syms, uint64_t address, uint64_t now_boot_ns,
			      struct kallsym *out)
{
	bool is_fresh = now_boot_ns - syms->made_boot_ns <= KALLSYMS_FRESH_NS;
	struct kallsym found = { 0 };
	int err = -ENOENT;

	if (syms->fd < 0)
		return -EACCES;
	if (syms->cnt)
		err = kallsyms_find_sure(syms, address, is_fresh, &found);
	if (err == 0 && found.is_of_module && modules_differ(syms, now_boot_ns))
		err = -ENOENT;
	if (err == 0 && !found.may_change) {
		*out = found;
		return 0;
	}
	/* Places of programs that are gone are used again. */
	if (syms->read_boot_ns == 0 ||
	    now_boot_ns - syms->read_boot_ns >= keep_ns(syms, address, &found, err)) {
		err = kallsyms_read(syms, now_boot_ns);
		if (err == -ENOMEM)
			return err;
		if (syms->cnt)
			err = kallsyms_find_sure(syms, address, err == 0, &found);
	}
	if (!syms->cnt)
		return -EACCES;
	if (!err)
		*out = found;
	return err;
}

size_t kallsyms__bytes(const struct kallsyms *syms)
{
	return sizeof(*syms) + sizeof(*syms->changes) + syms->cap * sizeof(*syms->entries) +
	       syms->reach_cap * sizeof(*syms->reaches) + syms->modules.cap +
	       (syms->names ? kallsyms_names__bytes(syms->names) : 0);
}
