// SPDX-License-Identifier: Apache-2.0
/* What all processes of a symbolizer share; see symbols_shared.h. */
#include "symbols/symbols_shared.h"

#include <errno.h>
#include <stdlib.h>

#include "symbols/elf/vdso.h"
#include "symbols/parser/parser.h"
#include "user/files/opener.h"
#include "user/util/account.h"

static int open_helpers(struct symbols_shared *shared)
{
	const struct symbolizer_options *options = &shared->options;

	/* What is not there to be forgotten is not done here instead. */
	if (!options->parser_starter || !options->opener_starter)
		return -EINVAL;
	shared->opener = opener__new(options->opener_starter);
	if (!shared->opener)
		return -ENOMEM;
	return parser__open(options->parser_starter, shared->opener, &shared->parser);
}

int symbols_shared_open(struct symbols_shared *shared, const struct symbolizer_options *options)
{
	int err;

	shared->options = *options;
	err = open_helpers(shared);
	if (err)
		return err;
	shared->objects = object_cache__new(0, shared->parser);
	shared->unwind = unwind_cache__new();
	return shared->objects && shared->unwind ? 0 : -ENOMEM;
}

void symbols_shared_release(struct symbols_shared *shared)
{
	object_cache__free(shared->objects);
	unwind_file_forget(&shared->vdso_unwind);
	unwind_cache__free(shared->unwind);
	elf_symtab__free(shared->vdso);
	while (shared->shares) {
		shared->shares->user_cnt = 1;
		symbols_shared_put(shared, shared->shares);
	}
	parser__free(shared->parser);
	opener__free(shared->opener);
}

/* ---- shares ---- */

void symbols_shared_keep_parameters(struct symbols_shared *shared, bool keeps_parameters)
{
	shared->options.keeps_parameters = keeps_parameters;
	for (struct symbols_share *share = shared->shares; share; share = share->next)
		name_table__keep_parameters(share->names, keeps_parameters);
}

static int share_new(struct symbols_shared *shared, struct account *account,
		     struct symbols_share **out)
{
	struct symbols_share *share = calloc(1, sizeof(*share));
	int err = share ? name_table__new(shared->parser, account, &share->names) : -ENOMEM;

	if (err) {
		free(share);
		return err;
	}
	name_table__keep_parameters(share->names, shared->options.keeps_parameters);
	share->account = account__ref(account);
	share->next = shared->shares;
	shared->shares = share;
	*out = share;
	return 0;
}

int symbols_shared_get(struct symbols_shared *shared, struct account *account,
		       struct symbols_share **out)
{
	struct symbols_share *share = shared->shares;
	int err = 0;

	while (share && share->account != account)
		share = share->next;
	if (!share)
		err = share_new(shared, account, &share);
	if (err)
		return err;
	share->user_cnt++;
	*out = share;
	return 0;
}

void symbols_shared_put(struct symbols_shared *shared, struct symbols_share *share)
{
	struct symbols_share **at = &shared->shares;

	if (!share || --share->user_cnt)
		return;
	while (*at != share)
		at = &(*at)->next;
	*at = share->next;
	name_table__free(share->names);
	account__put(share->account);
	free(share);
}

/* ---- the vdso ---- */

const struct elf_symtab *symbols_shared_vdso(struct symbols_shared *shared)
{
	if (!shared->vdso_tried)
		(void)vdso_load(&shared->vdso); /* without it: "[vdso]" */
	shared->vdso_tried = true;
	return shared->vdso;
}

size_t symbols_shared_bytes(const struct symbols_shared *shared)
{
	size_t bytes = object_cache__bytes(shared->objects);

	for (const struct symbols_share *share = shared->shares; share; share = share->next)
		bytes += sizeof(*share) + name_table__bytes(share->names);
	if (shared->vdso)
		bytes += elf_symtab__bytes(shared->vdso);
	return bytes;
}
