// SPDX-License-Identifier: Apache-2.0
/*
 * Text out of a JVM. Symbols (modified UTF-8) become clean UTF-8 or nothing; class, name and
 * signature become what HotSpot prints, compared with a slow reader of descriptors; numbers of
 * UNSIGNED5 come back as they were written; and a canonical name is its own canonical form.
 *
 * Input: one byte (modulo 4: symbol; class, name and signature on a line each; numbers; names of a
 * perf map, one a line), then that.
 */
#include "symbols/hotspot/hotspot_method_text.h"
#include "symbols/hotspot/unsigned5.h"
#include "tests/fuzz/fuzz.h"
#include "user/names/java_name.h"

static void check_symbol(const uint8_t *bytes, size_t len)
{
	struct strbuf out __cleanup_strbuf = STRBUF_INIT;
	int err;

	strbuf_puts(&out, "before");
	err = hotspot_symbol_text(bytes, len, &out);
	must(err == 0 || err == -EINVAL);
	must(memcmp(out.data, "before", 6) == 0 && (!err || out.len == 6));
	must(fuzz_is_clean(out.data, out.len, ""));
	/* Pairs of three bytes each become four. */
	must(out.len - 6 <= len);
	for (size_t i = 0; i < len && !err; i++)
		must(bytes[i] >= 0x20 && bytes[i] != 0x7f);
}

/* ---- methods ---- */

/* Behind one type of a descriptor; NULL when it is none. */
static const char *slow_type(const char *at)
{
	size_t depth = strspn(at, "[");

	at += depth;
	if (depth > 255 || !*at)
		return NULL;
	if (*at == 'L') {
		size_t len = strcspn(++at, ";[");

		return len && at[len] == ';' ? at + len + 1 : NULL;
	}
	return strchr("BCDFIJSZ", *at) ? at + 1 : NULL;
}

static bool slow_signature(const char *at)
{
	if (*at++ != '(')
		return false;
	while (*at != ')') {
		at = slow_type(at);
		if (!at)
			return false;
	}
	at++;
	if (strcmp(at, "V") == 0)
		return true;
	at = slow_type(at);
	return at && !*at;
}

/* Parts between slashes, none empty, without what class names do not have. */
static bool slow_class(const char *name)
{
	size_t len = strlen(name);

	return len && !strpbrk(name, ".;[") && name[0] != '/' && name[len - 1] != '/' &&
	       !strstr(name, "//");
}

static bool slow_method(const char *name)
{
	return strcmp(name, "<init>") == 0 || strcmp(name, "<clinit>") == 0 ||
	       (*name && !strpbrk(name, ".;[/<>"));
}

static void check_method(struct fuzz_input *input)
{
	struct strbuf out __cleanup_strbuf = STRBUF_INIT, wanted __cleanup_strbuf = STRBUF_INIT;
	char *class = fuzz_text(input, '\n'), *name = fuzz_text(input, '\n');
	char *signature = fuzz_text(input, '\n');
	struct hotspot_text texts[] = { { class, strlen(class) },
					{ name, strlen(name) },
					{ signature, strlen(signature) } };
	bool is_valid = slow_class(class) && slow_method(name) && slow_signature(signature);
	int err = hotspot_method_text(texts[0], texts[1], texts[2], &out);

	must(err == (is_valid ? 0 : -EINVAL) && (!err || out.len == 0));
	if (!err) {
		strbuf_printf(&wanted, "L%s;::%s%s", class, name, signature);
		must(out.len == wanted.len && strcmp(out.data, wanted.data) == 0);
	}
	free(class);
	free(name);
	free(signature);
}

/* ---- numbers ---- */

/* As in unsigned5.hpp: digits of 64 values above 192 that are not the last. */
static size_t write_unsigned5(uint32_t value, bool excludes_zero, uint8_t out[5])
{
	uint32_t shift = excludes_zero ? 1 : 0;
	uint32_t low = 192 - shift;
	size_t len = 0;

	while (value >= low && len < 4) {
		uint32_t rest = value - low;

		out[len++] = (uint8_t)(low + rest % 64 + shift);
		value = rest / 64;
	}
	out[len++] = (uint8_t)(value + shift);
	return len;
}

static void check_numbers(struct fuzz_input *input)
{
	bool excludes_zero = fuzz_u8(input) & 1;
	struct byte_reader any = byte_reader_init(input->at, input->left);

	while (any.left && !any.failed) {
		size_t before = any.left;

		(void)unsigned5_read(&any, excludes_zero);
		must(before - any.left <= UNSIGNED5_MAX_BYTES);
		must(any.failed || any.left < before);
	}
	while (input->left) {
		uint32_t value = (uint32_t)fuzz_uint(input, 4);
		uint8_t bytes[5];
		size_t len = write_unsigned5(value, excludes_zero, bytes);
		struct byte_reader reader = byte_reader_init(bytes, len);
		struct byte_reader cut = byte_reader_init(bytes, len - 1);

		must(unsigned5_read(&reader, excludes_zero) == value);
		must(!reader.failed && !reader.left);
		must(unsigned5_read(&cut, excludes_zero) == 0 && cut.failed);
		reader = byte_reader_init(bytes, len);
		must(unsigned5_read_signed(&reader, excludes_zero) ==
		     (int32_t)(value >> 1 ^ -(value & 1)));
	}
}

/* ---- canonical names ---- */

/*
 * Of such characters as names in perf maps have, with one "::" at most, right behind the ";" where there is
 * one, and without what may be a return type or parameters.
 */
static bool is_plausible(const char *raw)
{
	const char *colons = strstr(raw, "::");

	for (const char *at = raw; *at; at++) {
		if (!((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
		      (*at >= '0' && *at <= '9') || strchr("_$./<>[]:;", *at)))
			return false;
	}
	return !colons ||
	       (!strchr(colons + 2, ':') && (!strchr(raw, ';') || strchr(raw, ';') + 1 == colons));
}

static void check_canonical(const char *raw, bool is_hotspot, bool keep_parameters)
{
	struct strbuf once __cleanup_strbuf = STRBUF_INIT, twice __cleanup_strbuf = STRBUF_INIT;
	enum frame_kind kind = FRAME_KIND_CNT, again = FRAME_KIND_CNT;
	size_t len = strlen(raw);

	must(java_name_canonical(raw, len, is_hotspot, keep_parameters, &once, &kind) == 0);
	must(kind == FRAME_KIND_JIT || (is_hotspot && kind == FRAME_KIND_NATIVE));
	/* "(Z" may become "(boolean, ". */
	must(once.len <= 10 * len + 8 && (once.len || !len));
	if (!is_hotspot)
		must(once.len == len && memcmp(strbuf_str(&once), raw, len) == 0);
	/* Comparisons read stored names so. */
	must(java_name_canonical(strbuf_str(&once), once.len, is_hotspot, true, &twice, &again) ==
	     0);
	if (!is_plausible(raw))
		return;
	must(once.len == twice.len && kind == again);
	must(strcmp(strbuf_str(&once), strbuf_str(&twice)) == 0);
}

static void check_names(struct fuzz_input *input)
{
	while (input->left) {
		struct strbuf library __cleanup_strbuf = STRBUF_INIT;
		char *raw = fuzz_text(input, '\n');

		check_canonical(raw, true, false);
		check_canonical(raw, true, true);
		check_canonical(raw, false, false);
		must(java_name_canonical_library(raw, &library) == 0);
		must(library.len <= strlen(raw) + 8);
		free(raw);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct fuzz_input input = { data, len };

	switch (fuzz_u8(&input) % 4) {
	case 0:
		check_symbol(input.at, input.left);
		break;
	case 1:
		check_method(&input);
		break;
	case 2:
		check_numbers(&input);
		break;
	default:
		check_names(&input);
	}
	return 0;
}
