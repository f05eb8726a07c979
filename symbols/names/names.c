// SPDX-License-Identifier: Apache-2.0
/* Interned canonical names; see names.h. */
#include "symbols/names/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/parser/parser.h"
#include "user/host/procmaps.h"
#include "user/util/account.h"
#include "user/model/java_name.h"
#include "user/util/log.h"
#include "user/util/strbuf.h"
#include "user/util/strtab.h"

#define NAME_UNKNOWN "[unknown]"
#define CUT_MARK     "..."

#define NAME_COST_BYTES 32u /* of an entry beside its text */

struct names {
	struct strtab *texts;
	struct strtab *mangled; /* raw names; id -> demangled[id] */
	uint32_t *demangled;
	size_t demangled_cap;
	struct strbuf scratch;
	struct parser *parser;	 /* borrowed; may be NULL */
	struct account *account; /* may be NULL; a user of it */
	size_t billed_bytes;	 /* to the account */
	bool is_full;		 /* and said so */
	/* Of NAME_UNKNOWN, and of NAMES_TOO_MANY; STRTAB_NONE = not used yet. */
	uint32_t unknown_id;
	uint32_t too_many_id;
};

static int names_make_tables(struct names *names)
{
	names->texts = strtab__new();
	names->mangled = strtab__new();
	names->unknown_id = STRTAB_NONE;
	names->too_many_id = STRTAB_NONE;
	return names->texts && names->mangled ? 0 : -ENOMEM;
}

static void names_free_tables(struct names *names)
{
	strtab__free(names->texts);
	strtab__free(names->mangled);
}

int names__new(struct parser *parser, struct account *account, struct names **out)
{
	struct names *names = calloc(1, sizeof(*names));

	if (!names || names_make_tables(names)) {
		names__free(names);
		return -ENOMEM;
	}
	names->parser = parser;
	names->account = account__ref(account);
	*out = names;
	return 0;
}

void names__free(struct names *names)
{
	if (!names)
		return;
	names_free_tables(names);
	free(names->demangled);
	strbuf_release(&names->scratch);
	account__give(names->account, ACCOUNT_POOL_NAMES, names->billed_bytes);
	account__put(names->account);
	free(names);
}

int names__reset(struct names *names)
{
	struct names old = *names;

	if (names_make_tables(names)) {
		names_free_tables(names);
		*names = old;
		return -ENOMEM;
	}
	names_free_tables(&old);
	account__give(names->account, ACCOUNT_POOL_NAMES, names->billed_bytes);
	names->billed_bytes = 0;
	names->is_full = false;
	return 0;
}

static size_t names_table_bytes(const struct names *names)
{
	return strtab__bytes(names->texts) + strtab__bytes(names->mangled);
}

/* What stands for a name that is none or may not be kept. */
static int names_stand_in(struct names *names, const char *text, uint32_t *known, uint32_t *id_out)
{
	int err = *known == STRTAB_NONE ? strtab__intern(names->texts, text, strlen(text), known) :
					  0;

	if (!err)
		*id_out = *known;
	return err;
}

/* Room for a name that is not there yet. False: too many. */
static bool names_afford(struct names *names, size_t len)
{
	size_t bytes = len + NAME_COST_BYTES;

	if (names_table_bytes(names) >= NAMES_MAX_BYTES ||
	    account__take(names->account, ACCOUNT_POOL_NAMES, bytes)) {
		if (!names->is_full)
			pr_debug("symbols: '%s': too many names, new ones are not kept\n",
				 account__name(names->account));
		names->is_full = true;
		return false;
	}
	names->billed_bytes += names->account ? bytes : 0;
	return true;
}

/* Ends in CUT_MARK, never in half a character. `out` has room for NAMES_MAX_NAME_BYTES. */
static size_t name_cut(const char *text, char *out)
{
	size_t len = NAMES_MAX_NAME_BYTES - strlen(CUT_MARK);

	while (len && ((uint8_t)text[len] & 0xc0) == 0x80)
		len--;
	memcpy(out, text, len);
	memcpy(out + len, CUT_MARK, strlen(CUT_MARK));
	return len + strlen(CUT_MARK);
}

int names__plain(struct names *names, const char *text, size_t len, uint32_t *id_out)
{
	char cut[NAMES_MAX_NAME_BYTES];

	/* Everybody reads names as C strings: behind a NUL is nothing, and nothing is no name. */
	if (len == 0 || memchr(text, '\0', len))
		return names_stand_in(names, NAME_UNKNOWN, &names->unknown_id, id_out);
	if (len > NAMES_MAX_NAME_BYTES) {
		len = name_cut(text, cut);
		text = cut;
	}
	*id_out = strtab__find(names->texts, text, len);
	if (*id_out != STRTAB_NONE)
		return 0;
	if (!names_afford(names, len))
		return names_stand_in(names, NAMES_TOO_MANY, &names->too_many_id, id_out);
	return strtab__intern(names->texts, text, len, id_out);
}

bool names__is_unknown(const struct names *names, uint32_t id)
{
	return id != STRTAB_NONE && (id == names->unknown_id || id == names->too_many_id);
}

/* demangled[raw_id] = id */
static int names_remember(struct names *names, uint32_t raw_id, uint32_t id)
{
	if (raw_id >= names->demangled_cap) {
		size_t cap = raw_id < 512 ? 1024 : (size_t)raw_id * 2;
		uint32_t *grown = reallocarray(names->demangled, cap, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		names->demangled = grown;
		names->demangled_cap = cap;
	}
	names->demangled[raw_id] = id;
	return 0;
}

int names__native(struct names *names, const char *raw, size_t len, uint32_t *id_out)
{
	bool is_mangled = len > 2 && raw[0] == '_' && (raw[1] == 'Z' || raw[1] == 'R');
	uint32_t raw_id = STRTAB_NONE;
	bool is_final = true;
	int err;

	if (is_mangled)
		raw_id = strtab__find(names->mangled, raw, len);
	if (raw_id != STRTAB_NONE) {
		*id_out = names->demangled[raw_id];
		return 0;
	}
	strbuf_clear(&names->scratch);
	parser__charge(names->parser, names->account);
	err = parser__demangle(names->parser, raw, len, &names->scratch);
	if (err == -EAGAIN) {
		is_final = false;
		err = 0;
	}
	if (!err)
		err = names__plain(names, strbuf_str(&names->scratch), names->scratch.len, id_out);
	if (err || !is_mangled || !is_final || names__is_unknown(names, *id_out) ||
	    !names_afford(names, len))
		return err;
	/* Room first: an id of `mangled` without its answer must never exist. */
	err = names_remember(names, strtab__count(names->mangled), *id_out);
	return err ? err : strtab__intern(names->mangled, raw, len, &raw_id);
}

int names__jit(struct names *names, const char *raw, size_t len, bool is_hotspot, uint32_t *id_out,
	       enum frame_kind *kind_out)
{
	enum frame_kind kind = FRAME_KIND_JIT;
	int err;

	strbuf_clear(&names->scratch);
	err = java_name_canonical(raw, len, is_hotspot, false, &names->scratch, &kind);
	if (!err)
		err = names__plain(names, strbuf_str(&names->scratch), names->scratch.len, id_out);
	if (!err)
		*kind_out = kind;
	return err;
}

int names__library(struct names *names, const char *path, uint32_t *id_out)
{
	const char *base = procmaps_base_name(path);
	int err;

	if (base[0] == '\0')
		return names__plain(names, NAME_UNKNOWN, strlen(NAME_UNKNOWN), id_out);
	strbuf_clear(&names->scratch);
	err = strbuf_putc(&names->scratch, '[');
	if (!err)
		err = java_name_canonical_library(base, &names->scratch);
	if (!err)
		err = strbuf_putc(&names->scratch, ']');
	if (err)
		return err;
	return names__plain(names, strbuf_str(&names->scratch), names->scratch.len, id_out);
}

const char *names__text(const struct names *names, uint32_t id)
{
	return strtab__get(names->texts, id, NULL);
}

bool names__is_large(const struct names *names)
{
	return names->is_full || names_table_bytes(names) >= NAMES_LARGE_BYTES ||
	       (account__is_crowded(names->account, ACCOUNT_POOL_NAMES) &&
		account__is_over_share(names->account, ACCOUNT_POOL_NAMES));
}

size_t names__bytes(const struct names *names)
{
	return sizeof(*names) + names_table_bytes(names) +
	       names->demangled_cap * sizeof(*names->demangled) + names->scratch.cap;
}
