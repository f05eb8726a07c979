// SPDX-License-Identifier: Apache-2.0
/* The symbolizer: all processes, the kernel, and the names they share; see symbols.h. */
#include "symbols/symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/files/opener.h"
#include "symbols/parser/parser.h"
#include "symbols/symbols_internal.h"
#include "symbols/elf/vdso.h"
#include "user/util/clock.h"

void frame_list_release(struct frame_list *list)
{
	free(list->items);
	*list = (struct frame_list){ 0 };
}

int frame_list_push(struct frame_list *list, const struct frame *frame)
{
	if (list->cnt == list->cap) {
		size_t cap = list->cap ? list->cap * 2 : 128;
		struct frame *items = reallocarray(list->items, cap, sizeof(*items));

		if (!items)
			return -ENOMEM;
		list->items = items;
		list->cap = cap;
	}
	list->items[list->cnt++] = *frame;
	return 0;
}

int frame_list_add(struct frame_list *list, const struct names *names, const struct answer *answer)
{
	struct frame frame = {
		.name = names__text(names, answer->name),
		.kind = (enum frame_kind)answer->frame_kind,
		.is_unknown = answer->is_unknown || names__is_unknown(names, answer->name),
	};

	return frame_list_push(list, &frame);
}

/* ---- shares ---- */

static int share_new(struct symbolizer *symbolizer, struct account *account,
		     struct symbols_share **out)
{
	struct symbols_share *share = calloc(1, sizeof(*share));
	int err = share ? names__new(symbolizer->parser, account, &share->names) : -ENOMEM;

	if (err) {
		free(share);
		return err;
	}
	share->account = account__ref(account);
	share->next = symbolizer->shares;
	symbolizer->shares = share;
	*out = share;
	return 0;
}

int symbolizer_get_share(struct symbolizer *symbolizer, struct account *account,
			 struct symbols_share **out)
{
	struct symbols_share *share = symbolizer->shares;
	int err = 0;

	while (share && share->account != account)
		share = share->next;
	if (!share)
		err = share_new(symbolizer, account, &share);
	if (err)
		return err;
	share->user_cnt++;
	*out = share;
	return 0;
}

void symbolizer_put_share(struct symbolizer *symbolizer, struct symbols_share *share)
{
	struct symbols_share **at = &symbolizer->shares;

	if (!share || --share->user_cnt)
		return;
	while (*at != share)
		at = &(*at)->next;
	*at = share->next;
	names__free(share->names);
	account__put(share->account);
	free(share);
}

/* ---- life ---- */

static int symbolizer_open_helpers(struct symbolizer *symbolizer)
{
	const struct symbolizer_options *options = &symbolizer->options;
	int err = options->parser_starter ?
			  parser__open_by(options->parser_starter, &symbolizer->parser) :
			  parser__open(&symbolizer->parser);

	if (err)
		return err;
	symbolizer->opener = opener__new(options->opener_starter);
	parser__set_opener(symbolizer->parser, symbolizer->opener);
	return symbolizer->opener ? 0 : -ENOMEM;
}

int symbolizer__open(const struct symbolizer_options *options, struct symbolizer **out)
{
	struct symbols_share *nobodys;
	struct symbolizer *symbolizer;
	int err = 0;

	symbolizer = calloc(1, sizeof(*symbolizer));
	if (!symbolizer)
		return -ENOMEM;
	symbolizer->options = *options;
	if (options->parsing == SYMBOLS_PARSING_APART)
		err = symbolizer_open_helpers(symbolizer);
	if (!err)
		err = symbolizer_get_share(symbolizer, NULL, &nobodys);
	if (!err) {
		symbolizer->names = nobodys->names;
		err = options->kallsyms_fd ?
			      kallsyms__from_fd(options->kallsyms_fd, &symbolizer->kallsyms) :
			      kallsyms__open(options->proc_fd, &symbolizer->kallsyms);
	}
	if (!err) {
		symbolizer->objects = object_cache__new(0, symbolizer->parser);
		err = symbolizer->objects ? 0 : -ENOMEM;
	}
	if (err) {
		symbolizer__free(symbolizer);
		return err;
	}
	*out = symbolizer;
	return 0;
}

static void symbolizer_forget_all(struct symbolizer *symbolizer)
{
	for (size_t i = 0; i < SYMBOLIZER_BUCKETS; i++)
		while (symbolizer->buckets[i]) {
			struct symbols_process *process = symbolizer->buckets[i];

			symbolizer->buckets[i] = process->next;
			symbols_process__free(process);
		}
}

void symbolizer__set_jit(struct symbolizer *symbolizer, enum jit_mode jit)
{
	symbolizer_forget_all(symbolizer);
	symbolizer->options.jit = jit;
}

void symbolizer__free(struct symbolizer *symbolizer)
{
	if (!symbolizer)
		return;
	symbolizer_forget_all(symbolizer);
	addr_cache_release(&symbolizer->kernel_answers);
	object_cache__free(symbolizer->objects);
	kallsyms__free(symbolizer->kallsyms);
	elf_symtab__free(symbolizer->vdso);
	while (symbolizer->shares) {
		symbolizer->shares->user_cnt = 1;
		symbolizer_put_share(symbolizer, symbolizer->shares);
	}
	parser__free(symbolizer->parser);
	opener__free(symbolizer->opener);
	free(symbolizer);
}

struct parser *symbolizer__parser(const struct symbolizer *symbolizer)
{
	return symbolizer->parser;
}

/* Not by exec_id: the runs of one process are in one bucket. */
static size_t symbolizer_bucket(const struct symbols_process_id *id)
{
	uint64_t hash = (id->start_ns ^ (uint64_t)id->pid << 32) * 0x9e3779b97f4a7c15ull;

	return (size_t)(hash >> 40) % SYMBOLIZER_BUCKETS;
}

static bool symbols_process_id_equal(const struct symbols_process_id *a,
				     const struct symbols_process_id *b)
{
	return a->start_ns == b->start_ns && a->pid == b->pid && a->exec_id == b->exec_id;
}

bool symbolizer_is_superseded(const struct symbolizer *symbolizer,
			      const struct symbols_process_id *id)
{
	const struct symbols_process *process = symbolizer->buckets[symbolizer_bucket(id)];

	for (; process; process = process->next)
		if (process->id.start_ns == id->start_ns && process->id.pid == id->pid &&
		    (int32_t)(process->id.exec_id - id->exec_id) > 0)
			return true;
	return false;
}

const struct elf_symtab *symbolizer_vdso(struct symbolizer *symbolizer)
{
	if (!symbolizer->vdso_tried)
		(void)vdso_load(&symbolizer->vdso); /* without it: "[vdso]" */
	symbolizer->vdso_tried = true;
	return symbolizer->vdso;
}

int symbolizer__process(struct symbolizer *symbolizer, const struct symbols_process_id *id,
			struct account *account, struct symbols_process **out)
{
	struct symbols_process **bucket = &symbolizer->buckets[symbolizer_bucket(id)];
	struct symbols_process *process = *bucket;
	int err;

	while (process && !symbols_process_id_equal(&process->id, id))
		process = process->next;
	if (!process) {
		err = symbols_process__new(symbolizer, id, account, &process);
		if (err)
			return err;
		process->next = *bucket;
		*bucket = process;
	}
	*out = process;
	return 0;
}

void symbolizer__forget(struct symbolizer *symbolizer, const struct symbols_process_id *id)
{
	struct symbols_process **at = &symbolizer->buckets[symbolizer_bucket(id)];
	struct symbols_process *process;

	while (*at && !symbols_process_id_equal(&(*at)->id, id))
		at = &(*at)->next;
	process = *at;
	if (!process)
		return;
	*at = process->next;
	symbols_process__free(process);
}

static void symbolizer_forget_answers(struct symbolizer *symbolizer, struct symbols_share *share)
{
	if (share->names == symbolizer->names)
		addr_cache_clear(&symbolizer->kernel_answers);
	for (size_t i = 0; i < SYMBOLIZER_BUCKETS; i++)
		for (struct symbols_process *process = symbolizer->buckets[i]; process;
		     process = process->next) {
			if (process->share != share)
				continue;
			addr_cache_clear(&process->answers);
			if (process->vm)
				jit_vm__forget_names(process->vm);
		}
}

int symbolizer__trim(struct symbolizer *symbolizer)
{
	for (struct symbols_share *share = symbolizer->shares; share; share = share->next) {
		int err;

		if (!names__is_large(share->names))
			continue;
		err = names__reset(share->names);
		if (err)
			return err;
		symbolizer_forget_answers(symbolizer, share);
	}
	return 0;
}

static int symbolizer_kernel_answer(struct symbolizer *symbolizer, uint64_t address,
				    struct answer *out)
{
	static const char unknown[] = "[unknown kernel]";
	uint64_t now_ns = clock_boot_ns();
	struct kallsym symbol;
	uint32_t id;
	int err = kallsyms__lookup(symbolizer->kallsyms, address, now_ns, &symbol);

	if (err == -ENOMEM)
		return err;
	*out = (struct answer){
		.kind = err ? ANSWER_KIND_MISSING : ANSWER_KIND_FIXED,
		.frame_kind = FRAME_KIND_KERNEL,
		.is_unknown = err != 0,
	};
	err = err ? names__plain(symbolizer->names, unknown, sizeof(unknown) - 1, &id) :
		    names__native(symbolizer->names, symbol.name, strlen(symbol.name), &id);
	out->name = id;
	return err;
}

int symbolizer__resolve_kernel(struct symbolizer *symbolizer, const uint64_t *ips, size_t ip_cnt,
			       struct frame_list *out)
{
	struct addr_cache *answers = &symbolizer->kernel_answers;

	for (size_t i = 0; i < ip_cnt; i++) {
		uint64_t address = ips[i] - (i > 0 && ips[i] > 0);
		const struct answer *known = addr_cache_find(answers, address);
		struct answer answer;
		int err = 0;

		/* Asked again when it had no name: kallsyms limits what that costs. */
		if (known && known->kind == ANSWER_KIND_FIXED) {
			answer = *known;
		} else {
			err = symbolizer_kernel_answer(symbolizer, address, &answer);
			if (!err)
				addr_cache_put(answers, address, answer);
		}
		if (!err)
			err = frame_list_add(out, symbolizer->names, &answer);
		if (err)
			return err;
	}
	return 0;
}

bool symbols_is_thread_root(const char *name)
{
	static const char *const roots[] = { "_start",
					     "start_thread",
					     "clone",
					     "clone3",
					     "__clone",
					     "__clone3",
					     "__clone_internal",
					     "thread_start",
					     "thread_start_C",
					     "_start_c",
					     "__libc_start_call_main",
					     "__libc_start_main",
					     "__libc_start_main_impl",
					     "libc_start_main_stage2",
					     "__pthread_start",
					     "[vthread]" };

	for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++)
		if (strcmp(name, roots[i]) == 0)
			return true;
	return strncmp(name, "__libc_start_main", strlen("__libc_start_main")) == 0;
}

bool symbols_reaches_root(const struct frame *frames, size_t cnt)
{
	static const char *const c_libraries[] = { "[libc.so.6]", "[libc-2.", "[ld-musl-" };
	const char *outermost;

	if (cnt == 0)
		return false;
	outermost = frames[cnt - 1].name;
	if (symbols_is_thread_root(outermost))
		return true;
	if (cnt < 2 || strcmp(frames[cnt - 2].name, "main") != 0)
		return false;
	for (size_t i = 0; i < sizeof(c_libraries) / sizeof(c_libraries[0]); i++)
		if (strncmp(outermost, c_libraries[i], strlen(c_libraries[i])) == 0)
			return true;
	return false;
}

size_t symbolizer__bytes(const struct symbolizer *symbolizer)
{
	size_t bytes = sizeof(*symbolizer) + object_cache__bytes(symbolizer->objects) +
		       kallsyms__bytes(symbolizer->kallsyms) +
		       addr_cache_bytes(&symbolizer->kernel_answers);

	for (const struct symbols_share *share = symbolizer->shares; share; share = share->next)
		bytes += sizeof(*share) + names__bytes(share->names);
	if (symbolizer->vdso)
		bytes += elf_symtab__bytes(symbolizer->vdso);
	for (size_t i = 0; i < SYMBOLIZER_BUCKETS; i++)
		for (const struct symbols_process *process = symbolizer->buckets[i]; process;
		     process = process->next)
			bytes += symbols_process_bytes(process);
	return bytes;
}
