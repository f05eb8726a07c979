// SPDX-License-Identifier: Apache-2.0
/* Interned canonical names; see name_table.h. */
#include "symbols/names/name_table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/parser/parser.h"
#include "user/host/procmaps.h"
#include "user/util/account.h"
#include "user/names/java_name.h"
#include "user/util/log.h"
#include "user/util/strbuf.h"
#include "user/util/strtab.h"
#include "user/util/vec.h"

#define NAME_UNKNOWN "[unknown]"
#define CUT_MARK     "..."

#define NAME_COST_BYTES 32u /* of an entry beside its text */

struct name_table {
	struct strtab *texts;
	struct strtab *mangled; /* raw names; id -> demangled[id] */
	uint32_t *demangled;
	size_t demangled_cap;
	struct strbuf scratch;
	struct parser *parser;	 /* borrowed */
	struct account *account; /* a user of it */
	size_t billed_bytes;	 /* to the account */
	bool is_full;		 /* and said so */
	bool keeps_parameters;	 /* of methods in Java */
	/* Of NAME_UNKNOWN, and of NAMES_TOO_MANY; STRTAB_NONE = not used yet. */
	uint32_t unknown_id;
	uint32_t too_many_id;
};

static int name_table_make(struct name_table *names)
{
	names->texts = strtab__new();
	names->mangled = strtab__new();
	names->unknown_id = STRTAB_NONE;
	names->too_many_id = STRTAB_NONE;
	return names->texts && names->mangled ? 0 : -ENOMEM;
}

static void name_table_free(struct name_table *names)
{
	strtab__free(names->texts);
	strtab__free(names->mangled);
}

int name_table__new(struct parser *parser, struct account *account, struct name_table **out)
{
	struct name_table *names = calloc(1, sizeof(*names));

	if (!names || name_table_make(names)) {
		name_table__free(names);
		return -ENOMEM;
	}
	names->parser = parser;
	names->account = account__ref(account);
	*out = names;
	return 0;
}

void name_table__free(struct name_table *names)
{
	if (!names)
		return;
	name_table_free(names);
	free(names->demangled);
	strbuf_release(&names->scratch);
	account__give(names->account, ACCOUNT_POOL_NAMES, names->billed_bytes);
	account__put(names->account);
	free(names);
}

int name_table__reset(struct name_table *names)
{
	struct name_table old = *names;

	if (name_table_make(names)) {
		name_table_free(names);
		*names = old;
		return -ENOMEM;
	}
	name_table_free(&old);
	account__give(names->account, ACCOUNT_POOL_NAMES, names->billed_bytes);
	names->billed_bytes = 0;
	names->is_full = false;
	return 0;
}

static size_t name_table_text_bytes(const struct name_table *names)
{
	return strtab__bytes(names->texts) + strtab__bytes(names->mangled);
}

/* What stands for a name that is none or may not be kept. */
static int name_table_stand_in(struct name_table *names, const char *text, uint32_t *known,
			       uint32_t *id_out)
{
	int err = *known == STRTAB_NONE ? strtab__intern(names->texts, text, strlen(text), known) :
					  0;

	if (!err)
		*id_out = *known;
	return err;
}

/* Room for a name that is not there yet. False: too many. */
static bool name_table_afford(struct name_table *names, size_t len)
{
	size_t bytes = len + NAME_COST_BYTES;

	if (name_table_text_bytes(names) >= NAME_TABLE_MAX_BYTES ||
	    account__take(names->account, ACCOUNT_POOL_NAMES, bytes)) {
		if (!names->is_full)
			pr_debug("symbols: '%s': too many names, new ones are not kept\n",
				 account__name(names->account));
		names->is_full = true;
		return false;
	}
	names->billed_bytes += bytes;
	return true;
}

/* Half a character is none: where the one begins that `at` is within. */
static size_t character_begin(const char *text, size_t at)
{
	while (at && ((uint8_t)text[at] & 0xc0) == 0x80)
		at--;
	return at;
}

/* CUT_MARK stands for what is missing before the last `tail_len` bytes. `out` has room for `max`. */
static size_t name_cut(const char *text, size_t len, size_t max, size_t tail_len, char *out)
{
	size_t head = character_begin(text, max - strlen(CUT_MARK) - tail_len);
	size_t tail = len - tail_len;

	while (tail < len && ((uint8_t)text[tail] & 0xc0) == 0x80)
		tail++;
	memcpy(out, text, head);
	memcpy(out + head, CUT_MARK, strlen(CUT_MARK));
	memcpy(out + head + strlen(CUT_MARK), text + tail, len - tail);
	return head + strlen(CUT_MARK) + len - tail;
}

/* The text itself, as long as it may be. */
static int name_table_keep(struct name_table *names, const char *text, size_t len, uint32_t *id_out)
{
	/* Everybody reads names as C strings: behind a NUL is nothing, and nothing is no name. */
	if (len == 0 || memchr(text, '\0', len))
		return name_table_stand_in(names, NAME_UNKNOWN, &names->unknown_id, id_out);
	*id_out = strtab__find(names->texts, text, len);
	if (*id_out != STRTAB_NONE)
		return 0;
	if (!name_table_afford(names, len))
		return name_table_stand_in(names, NAMES_TOO_MANY, &names->too_many_id, id_out);
	return strtab__intern(names->texts, text, len, id_out);
}

int name_table__plain(struct name_table *names, const char *text, size_t len, uint32_t *id_out)
{
	char cut[NAME_MAX_BYTES];

	if (len > NAME_MAX_BYTES && !memchr(text, '\0', len)) {
		len = name_cut(text, len, NAME_MAX_BYTES, 0, cut);
		text = cut;
	}
	return name_table_keep(names, text, len, id_out);
}

static int name_table_method(struct name_table *names, const char *text, size_t len,
			     uint32_t *id_out)
{
	char cut[NAME_METHOD_MAX_BYTES];

	if (len > NAME_METHOD_MAX_BYTES && !memchr(text, '\0', len)) {
		len = name_cut(text, len, NAME_METHOD_MAX_BYTES, NAME_METHOD_MAX_BYTES / 2, cut);
		text = cut;
	}
	return name_table_keep(names, text, len, id_out);
}

bool name_table__is_unknown(const struct name_table *names, uint32_t id)
{
	return id != STRTAB_NONE && (id == names->unknown_id || id == names->too_many_id);
}

/* demangled[raw_id] = id */
static int name_table_remember(struct name_table *names, uint32_t raw_id, uint32_t id)
{
	if (vec_room(names->demangled, raw_id, names->demangled_cap, 1024))
		return -ENOMEM;
	names->demangled[raw_id] = id;
	return 0;
}

int name_table__native(struct name_table *names, const char *raw, size_t len, uint32_t *id_out)
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
		err = name_table__plain(names, strbuf_str(&names->scratch), names->scratch.len,
					id_out);
	if (err || !is_mangled || !is_final || name_table__is_unknown(names, *id_out) ||
	    !name_table_afford(names, len))
		return err;
	/* Room first: an id of `mangled` without its answer must never exist. */
	err = name_table_remember(names, strtab__count(names->mangled), *id_out);
	return err ? err : strtab__intern(names->mangled, raw, len, &raw_id);
}

void name_table__keep_parameters(struct name_table *names, bool keeps_parameters)
{
	names->keeps_parameters = keeps_parameters;
}

int name_table__jit(struct name_table *names, const char *raw, size_t len, bool is_hotspot,
		    uint32_t *id_out, enum frame_kind *kind_out)
{
	enum frame_kind kind = FRAME_KIND_JIT;
	int err;

	strbuf_clear(&names->scratch);
	err = java_name_canonical(raw, len, is_hotspot, names->keeps_parameters, &names->scratch,
				  &kind);
	if (!err)
		err = name_table_method(names, strbuf_str(&names->scratch), names->scratch.len,
					id_out);
	if (!err)
		*kind_out = kind;
	return err;
}

int name_table__class(struct name_table *names, const char *raw, size_t len, uint32_t *id_out)
{
	int err;

	strbuf_clear(&names->scratch);
	err = java_name_class(raw, len, &names->scratch);
	if (err)
		return err;
	return name_table_method(names, strbuf_str(&names->scratch), names->scratch.len, id_out);
}

int name_table__library(struct name_table *names, const char *path, uint32_t *id_out)
{
	const char *base = procmaps_base_name(path);
	int err;

	if (base[0] == '\0')
		return name_table__plain(names, NAME_UNKNOWN, strlen(NAME_UNKNOWN), id_out);
	strbuf_clear(&names->scratch);
	strbuf_putc(&names->scratch, '[');
	strbuf_fail(&names->scratch, java_name_canonical_library(base, &names->scratch));
	strbuf_putc(&names->scratch, ']');
	err = strbuf_error(&names->scratch);
	if (err)
		return err;
	return name_table__plain(names, strbuf_str(&names->scratch), names->scratch.len, id_out);
}

int name_table__function(struct name_table *names, const char *path, uint64_t start,
			 uint32_t *id_out)
{
	const char *base = procmaps_base_name(path);
	int err;

	if (base[0] == '\0')
		return name_table__plain(names, NAME_UNKNOWN, strlen(NAME_UNKNOWN), id_out);
	strbuf_clear(&names->scratch);
	strbuf_fail(&names->scratch, java_name_canonical_library(base, &names->scratch));
	strbuf_printf(&names->scratch, "+0x%" PRIx64, start);
	err = strbuf_error(&names->scratch);
	if (err)
		return err;
	return name_table__plain(names, strbuf_str(&names->scratch), names->scratch.len, id_out);
}

const char *name_table__text(const struct name_table *names, uint32_t id)
{
	return strtab__get(names->texts, id, NULL);
}

bool name_table__is_large(const struct name_table *names)
{
	return names->is_full || name_table_text_bytes(names) >= NAME_TABLE_LARGE_BYTES ||
	       (account__is_crowded(names->account, ACCOUNT_POOL_NAMES) &&
		account__is_over_share(names->account, ACCOUNT_POOL_NAMES));
}

size_t name_table__bytes(const struct name_table *names)
{
	return sizeof(*names) + name_table_text_bytes(names) +
	       names->demangled_cap * sizeof(*names->demangled) + names->scratch.cap;
}
