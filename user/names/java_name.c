// SPDX-License-Identifier: Apache-2.0
/*
 * Canonical Java names. The JVM and the frameworks on it put counters, addresses and hashes into
 * the names of generated classes; flame graphs of two runs only compare when these are gone: see
 * java_generated.c. The real names behind the rules are in tests/unit/names/test_java_name.c.
 *
 * A name is split once, since a class or a method may have blanks and parentheses (JVMS 4.2.2), and
 * what is left of "f(x)(int)" looks as if it had parameters. Of the class, removing one part may
 * bring two others together that match a rule, so that is repeated until nothing changes.
 */
#include "user/names/java_name.h"

#include <errno.h>
#include <string.h>

#include "user/names/java_generated.h"
#include "user/util/lines.h"
#include "user/util/cleanup.h"
#include "user/util/parse.h"

#define PASS_MAX 16 /* each pass but the last shortens the name; real names need two */

static struct text text_trim(struct text text)
{
	while (text.len && *text.at == ' ')
		text = text_from(text, 1);
	while (text.len && text.at[text.len - 1] == ' ')
		text.len--;
	return text;
}

/* ---- class names ---- */

static void class_append(struct text class, struct strbuf *out)
{
	__cleanup_strbuf struct strbuf name = STRBUF_INIT;
	__cleanup_strbuf struct strbuf again = STRBUF_INIT;
	bool has_changed = java_generated_append(class, &name);

	for (int pass = 1; has_changed && pass < PASS_MAX && !strbuf_error(&name); pass++) {
		struct strbuf swap = name;

		strbuf_clear(&again);
		has_changed =
			java_generated_append((struct text){ strbuf_str(&name), name.len }, &again);
		name = again;
		again = swap;
	}
	/* Nothing but what is left out: a name must stay. */
	if (!name.len)
		strbuf_append(&name, class.at, class.len);
	strbuf_add(out, &name);
}

/* ---- parameters ---- */

static const char *primitive_name(char code)
{
	static const char *const names[] = {
		['B'] = "byte", ['C'] = "char",	 ['D'] = "double", ['F'] = "float",   ['I'] = "int",
		['J'] = "long", ['S'] = "short", ['V'] = "void",   ['Z'] = "boolean",
	};

	return (unsigned char)code < ARRAY_SIZE(names) ? names[(unsigned char)code] : NULL;
}

/* One type of a descriptor, "[Ljava/lang/String;" -> "java.lang.String[]". -EINVAL: none. */
static int descriptor_type_append(struct text text, size_t *consumed_out, struct strbuf *out)
{
	size_t dimension_cnt = 0;
	size_t consumed;

	while (dimension_cnt < text.len && text.at[dimension_cnt] == '[')
		dimension_cnt++;
	text = text_from(text, dimension_cnt);
	if (text.len && *text.at == 'L') {
		consumed = text_find(text, ';');
		if (consumed == text.len)
			return -EINVAL;
		class_append(text_from(text_until(text, consumed), 1), out);
		consumed++;
	} else {
		const char *name = text.len ? primitive_name(*text.at) : NULL;

		if (!name)
			return -EINVAL;
		strbuf_puts(out, name);
		consumed = 1;
	}
	for (size_t i = 0; i < dimension_cnt; i++)
		strbuf_puts(out, "[]");
	*consumed_out = dimension_cnt + consumed;
	return 0;
}

int java_name_class(const char *raw, size_t raw_len, struct strbuf *out)
{
	struct strbuf_mark before = strbuf_mark(out);
	struct text text = { raw, raw_len };
	size_t consumed = raw_len;
	int err = raw_len ? 0 : -EINVAL;

	if (raw_len && *raw == '[')
		err = descriptor_type_append(text, &consumed, out);
	else if (!err)
		class_append(text, out);
	if (!err && consumed != raw_len)
		err = -EINVAL;
	return strbuf_settle(out, before, err ?: strbuf_error(out));
}

/* "ILjava/lang/String;" -> "int, java.lang.String". -EINVAL: not a descriptor, `out` as it was. */
static int descriptor_append(struct text text, struct strbuf *out)
{
	struct strbuf_mark before = strbuf_mark(out);
	int err = 0;

	while (text.len && !err) {
		size_t consumed = 0;

		if (out->len > before.len)
			strbuf_puts(out, ", ");
		err = descriptor_type_append(text, &consumed, out);
		text = text_from(text, consumed);
	}
	return strbuf_settle(out, before, err);
}

/* "int,java.lang.String" -> "int, java.lang.String" */
static void type_list_append(struct text text, struct strbuf *out)
{
	bool is_first = true;

	while (text.len) {
		const char *comma = memchr(text.at, ',', text.len);
		size_t len = comma ? (size_t)(comma - text.at) : text.len;

		if (!is_first)
			strbuf_puts(out, ", ");
		class_append(text_trim(text_until(text, len)), out);
		text = text_from(text, comma ? len + 1 : len);
		is_first = false;
	}
}

/* `text` begins with "(". */
static void parameters_append(struct text text, struct strbuf *out)
{
	size_t close_at = text_rfind(text, ')');
	struct text inner = text_from(text_until(text, close_at), 1);
	int err;

	strbuf_putc(out, '(');
	/* Behind a descriptor's ")" comes the return type; HotSpot's spelling ends with the ")". */
	err = close_at + 1 < text.len ? descriptor_append(inner, out) : -EINVAL;
	if (err == -EINVAL)
		type_list_append(inner, out);
	else
		strbuf_fail(out, err);
	strbuf_putc(out, ')');
}

/* Bytes of the type of a descriptor that `text` begins with; 0: it begins with none. */
static size_t descriptor_type_len(struct text text)
{
	size_t len = 0;

	while (len < text.len && text.at[len] == '[')
		len++;
	if (len == text.len)
		return 0;
	if (text.at[len] != 'L')
		return primitive_name(text.at[len]) ? len + 1 : 0;
	text = text_from(text, len);
	return text_find(text, ';') < text.len ? len + text_find(text, ';') + 1 : 0;
}

/* "(ILjava/lang/String;)J" and nothing else. */
static bool is_descriptor(struct text text)
{
	text = text_from(text, 1);
	while (text.len && *text.at != ')') {
		size_t len = *text.at == 'V' ? 0 : descriptor_type_len(text);

		if (!len)
			return false;
		text = text_from(text, len);
	}
	return text.len > 1 && descriptor_type_len(text_from(text, 1)) == text.len - 1;
}

/* The "(" of a ")" at the end: the names of classes may have parentheses, too. */
static size_t list_begin(struct text text)
{
	size_t depth = 0;

	for (size_t i = text.len; i-- > 0;) {
		depth += text.at[i] == ')';
		if (text.at[i] == '(' && --depth == 0)
			return i;
	}
	return text_find(text, '(');
}

/*
 * Where the parameters begin, the length where there are none. A descriptor is one for certain: no
 * name has ";" in it, so that only the right "(" has a whole one behind it. Else it is the list that
 * the text ends with, or is cut off in; behind a blank it is a part of the name: "should (fast)".
 */
static size_t parameters_at(struct text text)
{
	size_t at = text_find(text, '(');

	if (at == text.len)
		return at;
	for (size_t i = at; i < text.len; i++)
		if (text.at[i] == '(' && is_descriptor(text_from(text, i)))
			return i;
	if (text.at[text.len - 1] == ')')
		at = list_begin(text);
	else if (text_find(text_from(text, at), ')') < text.len - at)
		return text.len;
	return at && at < text.len && text.at[at - 1] == ' ' ? text.len : at;
}

/* ---- methods ---- */

struct method {
	struct text class;
	struct text name;
	struct text parameters; /* from "(" on; empty = none */
};

/* JVMS 4.2.2 */
static bool is_method_name(struct text name)
{
	for (size_t i = 0; i < name.len; i++)
		if (memchr(".;[/", name.at[i], 4))
			return false;
	return name.len != 0;
}

/*
 * "L<class>;::name" (hotspot_method_text.h, perf-map-agent), "L<class>;name" (perf's own JVMTI
 * agent). No name has ";" in it.
 */
static bool method_split_descriptor(struct text text, struct method *out)
{
	size_t semicolon_at = text_find(text, ';');

	if (!text.len || *text.at != 'L' || semicolon_at == text.len)
		return false;
	out->class = text_from(text_until(text, semicolon_at), 1);
	out->name = text_from(text, semicolon_at + 1);
	if (text_starts_with(out->name, TEXT("::")))
		out->name = text_from(out->name, 2);
	else if (text_starts_with(out->name, TEXT(".")))
		out->name = text_from(out->name, 1);
	return out->class.len && is_method_name(out->name);
}

/* A method's name holds no dot, so the last one ends the class. */
static bool method_split_dotted(struct text text, struct method *out)
{
	size_t colons = text_find_part(text, "::"), dot = text_rfind(text, '.');
	size_t at = colons < text.len ? colons : dot;

	if (at == text.len)
		return false;
	out->class = text_until(text, at);
	out->name = text_from(text, at + (colons < text.len ? 2 : 1));
	return out->class.len && is_method_name(out->name);
}

bool java_name_is_primitive(struct text type)
{
	for (char code = 'B'; code <= 'Z'; code++)
		if (primitive_name(code) && text_is(type, primitive_name(code)))
			return true;
	return false;
}

/*
 * "int Work.mix" -> "Work.mix", as HotSpot's maps have it. The names of methods and classes may hold
 * blanks, so what is in front of the first one must be a type, and behind it a class and a method;
 * where no parameters follow, and the type is a class, that class must look like one, too:
 * "a.Test$should work$1.invoke" has no type.
 */
static struct text drop_return_type(struct text text, bool has_parameters)
{
	size_t blank_at = text_find(text, ' ');
	struct text type = text_until(text, blank_at), rest;
	struct method method;

	if (blank_at == text.len)
		return text;
	rest = text_trim(text_from(text, blank_at + 1));
	while (type.len > 2 && memcmp(type.at + type.len - 2, "[]", 2) == 0)
		type.len -= 2;
	if (!method_split_descriptor(rest, &method) && !method_split_dotted(rest, &method))
		return text;
	if (has_parameters || java_name_is_primitive(type) || text_has(method.class, ".") ||
	    text_has(method.class, "/") || (*rest.at >= 'A' && *rest.at <= 'Z'))
		return rest;
	return text;
}

static bool begins_as_vm_code(struct text raw)
{
	static const struct text prefixes[] = {
		{ "StubRoutines", 12 }, { "I2C/C2I adapters", 16 }, { "RuntimeStub - ", 14 },
		{ "C1 Runtime ", 11 },	{ "C2 Runtime ", 11 },	    { "Stub<", 5 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
		if (text_starts_with(raw, prefixes[i]))
			return true;
	return false;
}

/* False: not a method but VM code. */
static bool method_split(struct text raw, struct method *out)
{
	size_t name_len = parameters_at(raw);
	struct text name = text_until(raw, name_len);

	if (begins_as_vm_code(raw))
		return false;
	out->parameters = text_from(raw, name_len);
	if (method_split_descriptor(name, out))
		return true;
	name = drop_return_type(name, name_len < raw.len);
	return method_split_descriptor(name, out) || method_split_dotted(name, out);
}

static void method_append(const struct method *method, bool keep_parameters, struct strbuf *out)
{
	class_append(method->class, out);
	strbuf_putc(out, '.');
	java_generated_append_method(method->name, out);
	if (keep_parameters && method->parameters.len)
		parameters_append(method->parameters, out);
}

/* ---- VM code ---- */

/* JDK 21's "StubRoutines (initial stubs)" is JDK 25's "StubRoutines (initialstubs)". */
static void stub_routines_append(struct text text, struct strbuf *out)
{
	size_t head_len = sizeof("StubRoutines (") - 1;

	strbuf_append(out, text.at, head_len);
	for (size_t i = head_len; i < text.len; i++) {
		char c = text.at[i];

		if (c >= 'A' && c <= 'Z')
			c = (char)(c - 'A' + 'a');
		if (c != ' ')
			strbuf_putc(out, c);
	}
}

static void vm_code_append(struct text text, struct strbuf *out)
{
	if (text_starts_with(text, TEXT("StubRoutines (")))
		stub_routines_append(text, out);
	else if (text_starts_with(text, TEXT("I2C/C2I adapters(")))
		strbuf_puts(out, "I2C/C2I adapters");
	else
		strbuf_append(out, text.at, text.len);
}

/* ---- interface ---- */

static void hotspot_name_append(struct text raw, bool keep_parameters, struct strbuf *out,
				enum frame_kind *kind_out)
{
	struct text name = text_trim(text_until(raw, text_find_part(raw, " jvmci_name=")));
	struct method method;

	*kind_out = FRAME_KIND_NATIVE;
	if (method_split(name, &method)) {
		*kind_out = FRAME_KIND_JIT;
		method_append(&method, keep_parameters, out);
	} else if (name.len) {
		vm_code_append(name, out);
	} else {
		strbuf_append(out, raw.at, raw.len);
	}
}

int java_name_canonical(const char *raw, size_t raw_len, bool is_hotspot, bool keep_parameters,
			struct strbuf *out, enum frame_kind *kind_out)
{
	enum frame_kind kind = FRAME_KIND_JIT;
	int err;

	if (is_hotspot)
		hotspot_name_append((struct text){ raw, raw_len }, keep_parameters, out, &kind);
	else
		strbuf_append(out, raw, raw_len);
	err = strbuf_error(out);
	if (!err)
		*kind_out = kind;
	return err;
}

/* Names of blobs: share/code/codeBlob.cpp, vtableStubs.cpp, interpreter.cpp of HotSpot. */
bool java_name_is_vm_code(const char *name, size_t len)
{
	static const char *const names[] = {
		"Interpreter",
		"vtable chunks",
		"MethodHandles adapters",
		"SafepointBlob",
		"DeoptimizationBlob",
		"UncommonTrapBlob",
		"ExceptionBlob",
		"native signature handlers",
	};
	struct text text = { name, len };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (text_is(text, names[i]))
			return true;
	return begins_as_vm_code(text);
}

/* Names of StubCodeMarks: stubGenerator_x86_64*.cpp and stubGenerator_aarch64.cpp of HotSpot, JDK 8 to 25. */
bool java_name_is_stub(const char *name, size_t len)
{
	static const char *const ends[] = {
		"_arraycopy",	 "_arraycopy_uninit", "_jbyte_fill",	  "_jshort_fill",
		"_jint_fill",	 "_AESCrypt",	      "_encryptAESCrypt", "_decryptAESCrypt",
		"_implCompress", "_implCompressMB",   "_processBlocks",
	};
	static const char *const names[] = {
		"jbyte_fill",
		"jshort_fill",
		"jint_fill",
		"aescrypt_encryptBlock",
		"aescrypt_decryptBlock",
		"base64_encodeBlock",
		"base64_decodeBlock",
		"chacha20Block",
		"updateBytesCRC32",
		"updateBytesCRC32C",
		"updateBytesAdler32",
		"multiplyToLen",
		"squareToLen",
		"mulAdd",
		"vectorizedMismatch",
		"unsafe_setmemory",
		"libmCos",
		"libmExp",
		"libmLog",
		"libmLog10",
		"libmPow",
		"libmSin",
		"libmTan",
	};
	struct text text = { name, len };

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		if (len > strlen(ends[i]) &&
		    memcmp(name + len - strlen(ends[i]), ends[i], strlen(ends[i])) == 0)
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (text_is(text, names[i]))
			return true;
	return false;
}

/* ---- native libraries unpacked to temporary files ---- */

#define UUID_LEN	   36
#define LIBRARY_MIN_DIGIT  10
#define LIBRARY_MIN_DASHED 8 /* digits, with a dash before them */
#define LIBRARY_MIN_HEX	   16

static size_t digits_len(struct text text)
{
	size_t len = 0;

	while (len < text.len && parse_is_digit(text.at[len]))
		len++;
	return len;
}

static size_t hex_len(struct text text)
{
	size_t len = 0;

	while (len < text.len && parse_is_hex(text.at[len]))
		len++;
	return len;
}

static bool is_uuid(struct text text)
{
	if (text.len < UUID_LEN)
		return false;
	for (size_t i = 0; i < UUID_LEN; i++) {
		bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;

		if (is_dash ? text.at[i] != '-' : !parse_is_hex(text.at[i]))
			return false;
	}
	return true;
}

/* "x86_64" and netty's "aarch_64" are followed by the random digits at once. */
static bool is_architecture(struct text name, size_t digits_at)
{
	static const struct text heads[] = { { "x86_", 4 }, { "aarch_", 6 } };

	for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
		size_t len = heads[i].len;

		if (digits_at >= len && memcmp(name.at + digits_at - len, heads[i].at, len) == 0 &&
		    text_starts_with(text_from(name, digits_at), TEXT("64")))
			return true;
	}
	return false;
}

/*
 * Length of the run-specific part at `offset`, 0 when there is none. It begins a run: no digit
 * stands before it.
 */
static size_t library_random_len(struct text name, size_t offset)
{
	struct text rest = text_from(name, offset);
	size_t digits = digits_len(rest);
	size_t hex = hex_len(rest);
	bool has_dash = offset > 0 && name.at[offset - 1] == '-';
	size_t letters;

	if (is_uuid(rest))
		return UUID_LEN;
	if (is_architecture(name, offset))
		return 0;
	if (digits >= (has_dash ? LIBRARY_MIN_DASHED : LIBRARY_MIN_DIGIT) &&
	    (digits == rest.len || rest.at[digits] == '.'))
		return digits;
	/* "jna1234567890123456": the "a" belongs to the name. */
	letters = 0;
	while (letters < hex && !parse_is_digit(rest.at[letters]))
		letters++;
	if (letters && letters + digits_len(text_from(rest, letters)) == hex)
		return 0;
	return hex >= LIBRARY_MIN_HEX ? hex : 0;
}

static void library_append_once(struct text name, struct strbuf *out)
{
	size_t before = out->len;

	for (size_t i = 0; i < name.len;) {
		bool begins_run = i == 0 || !parse_is_hex(name.at[i - 1]);
		size_t len;

		/* "x86_64" was copied: what follows it is a run of its own. */
		if (i >= 2 && is_architecture(name, i - 2))
			begins_run = true;
		/* "linux_x64beef..." and "jna123...": letters before digits may look like hex. */
		if (i > 0 && parse_is_digit(name.at[i]) && !parse_is_digit(name.at[i - 1]))
			begins_run = true;
		len = begins_run ? library_random_len(name, i) : 0;
		if (len) {
			if (out->len > before && out->data[out->len - 1] == '-')
				strbuf_truncate(out, out->len - 1);
			i += len;
		} else {
			strbuf_putc(out, name.at[i++]);
		}
	}
}

int java_name_canonical_library(const char *base_name, struct strbuf *out)
{
	__cleanup_strbuf struct strbuf name = STRBUF_INIT;

	strbuf_puts(&name, base_name);
	for (int pass = 0; pass < PASS_MAX && !strbuf_error(&name); pass++) {
		__cleanup_strbuf struct strbuf shorter = STRBUF_INIT;

		library_append_once((struct text){ strbuf_str(&name), name.len }, &shorter);
		strbuf_fail(&name, strbuf_error(&shorter));
		if (strbuf_error(&name) || shorter.len == name.len)
			break;
		strbuf_release(&name);
		name = shorter;
		shorter = (struct strbuf)STRBUF_INIT;
	}
	strbuf_add(out, &name);
	return strbuf_error(out);
}
