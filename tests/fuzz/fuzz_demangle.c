// SPDX-License-Identifier: Apache-2.0
/*
 * Native names of any bytes. A name never grows past its cap and never costs more than a name is
 * worth, trimming twice is trimming once, what is not mangled is only trimmed, and the table of
 * names gives back under one id what it was given, or its beginning.
 *
 * Input: names, one a line.
 */
#include "symbols/elf/demangle.h"
#include "symbols/names/name_table.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/parse_here.h"
#include "user/util/account.h"

static void check_trim(const char *raw, size_t len)
{
	size_t trimmed = demangle_trim(raw, len);

	must(trimmed <= len && (trimmed || !len));
	must(demangle_trim(raw, trimmed) == trimmed);
}

/* `kept` is `text`, or its beginning with a mark behind it when the table keeps no text so long. */
static void check_kept(const char *kept, const char *text, size_t len)
{
	static const char mark[] = "...";
	size_t kept_len = strlen(kept);

	if (len <= NAME_MAX_BYTES) {
		must(strcmp(kept, text) == 0);
		return;
	}
	must(kept_len <= NAME_MAX_BYTES && kept_len > strlen(mark));
	kept_len -= strlen(mark);
	must(memcmp(kept, text, kept_len) == 0 && strcmp(kept + kept_len, mark) == 0);
}

static void check_native(struct name_table *names, const char *raw, size_t len)
{
	struct strbuf out __cleanup_strbuf = STRBUF_INIT;
	size_t trimmed = demangle_trim(raw, len);
	uint32_t id, again;

	strbuf_puts(&out, "x");
	must(demangle_native(raw, len, &out) == 0);
	must(out.len - 1 <= DEMANGLE_MAX_BYTES || out.len - 1 == trimmed);
	must(out.data[0] == 'x' && (out.len > 1 || !len));
	if (trimmed < 2 || raw[0] != '_' || (raw[1] != 'Z' && raw[1] != 'R') ||
	    trimmed > DEMANGLE_MAX_RAW_BYTES)
		must(out.len - 1 == trimmed && memcmp(out.data + 1, raw, trimmed) == 0);
	must(name_table__native(names, raw, len, &id) == 0);
	must(name_table__native(names, raw, len, &again) == 0 && id == again);
	if (out.len == 1 || memchr(out.data, '\0', out.len))
		must(name_table__is_unknown(names, id));
	else
		check_kept(name_table__text(names, id), out.data + 1, out.len - 1);
	must(name_table__plain(names, out.data + 1, out.len - 1, &again) == 0 && id == again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct fuzz_input input = { data, len };
	struct name_table *names;

	must(name_table__new(parser_here(), account_of_host(), &names) == 0);
	while (input.left) {
		const uint8_t *end = memchr(input.at, '\n', input.left);
		size_t line = end ? (size_t)(end - input.at) : input.left;
		/* Of just that size, so that reading past it shows. */
		char *raw = malloc(line ? line : 1);

		must(raw);
		memcpy(raw, input.at, line);
		check_trim(raw, line);
		check_native(names, raw, line);
		free(raw);
		input.at += line + (end != NULL);
		input.left -= line + (end != NULL);
	}
	must(name_table__bytes(names) <= (1u << 20) + len * 512);
	name_table__free(names);
	return 0;
}
