// SPDX-License-Identifier: Apache-2.0
/*
 * Canonical Java names. The JVM and the frameworks on it put counters, addresses and hashes into
 * the names of generated classes; flame graphs of two runs only compare when these are gone. The
 * real names behind the rules are in tests/unit/test_java_name.c.
 *
 * One pass removes what the rules name. Removing may bring two parts together that match another
 * rule, so passes are repeated until nothing changes: canonical names are their own canonical form.
 */
#include "user/model/java_name.h"

#include <errno.h>
#include <string.h>

#include "user/util/cleanup.h"

#define PASS_MAX	      16 /* each pass but the last shortens the name; real names need two */
#define LAMBDA_HASH_MIN_DIGIT 6
#define BYTE_BUDDY_RANDOM_LEN 8

/* Borrowed bytes. */
struct text {
	const char *at;
	size_t len;
};

#define TEXT(literal) ((struct text){ literal, sizeof(literal) - 1 })

static struct text text_from(struct text text, size_t offset)
{
	return (struct text){ text.at + offset, text.len - offset };
}

static struct text text_until(struct text text, size_t len)
{
	return (struct text){ text.at, len };
}

static bool text_starts_with(struct text text, struct text prefix)
{
	return text.len >= prefix.len && memcmp(text.at, prefix.at, prefix.len) == 0;
}

static bool text_find(struct text text, struct text needle, size_t *offset_out)
{
	const char *found = text.len ? memmem(text.at, text.len, needle.at, needle.len) : NULL;

	if (found)
		*offset_out = (size_t)(found - text.at);
	return found != NULL;
}

static bool text_rfind_char(struct text text, char c, size_t *offset_out)
{
	const char *found = text.len ? memrchr(text.at, c, text.len) : NULL;

	if (found)
		*offset_out = (size_t)(found - text.at);
	return found != NULL;
}

static struct text text_trim(struct text text)
{
	while (text.len && *text.at == ' ')
		text = text_from(text, 1);
	while (text.len && text.at[text.len - 1] == ' ')
		text.len--;
	return text;
}

/* ---- runs of characters ---- */

enum run_kind {
	RUN_DIGITS,
	RUN_HEX,       /* any case */
	RUN_HEX_LOWER, /* as hashes are printed */
	RUN_WORD,
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
	       (unsigned char)c >= 0x80;
}

static bool run_accepts(enum run_kind kind, char c)
{
	switch (kind) {
	case RUN_DIGITS:
		return is_digit(c);
	case RUN_HEX:
		return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
	case RUN_HEX_LOWER:
		return is_digit(c) || (c >= 'a' && c <= 'f');
	case RUN_WORD:
		return is_word(c);
	}
	return false;
}

static size_t run_len(struct text text, enum run_kind kind)
{
	size_t len = 0;

	while (len < text.len && run_accepts(kind, text.at[len]))
		len++;
	return len;
}

/* Length of a run that is not the beginning of a longer word; 0 = none. */
static size_t run_len_whole(struct text text, enum run_kind kind)
{
	size_t len = run_len(text, kind);

	return len < text.len && is_word(text.at[len]) ? 0 : len;
}

/* ---- class names ---- */

/* `keep`, `separator`, then a run of at least `min_len`: separator and run go. */
struct suffix_rule {
	struct text keep;
	struct text separator;
	enum run_kind kind;
	size_t min_len;
};

static const struct suffix_rule suffix_rules[] = {
	{ { "$$Lambda", 8 }, { "$", 1 }, RUN_DIGITS, 1 },
	{ { "$Proxy", 6 }, { "", 0 }, RUN_DIGITS, 1 },
	{ { "$$SpringCGLIB$$FastClass", 24 }, { "$$", 2 }, RUN_DIGITS, 1 },
	{ { "$$SpringCGLIB", 13 }, { "$$", 2 }, RUN_DIGITS, 1 },
	{ { "$ByteBuddy", 10 }, { "$", 1 }, RUN_WORD, 6 },
	{ { "$HibernateProxy", 15 }, { "$", 1 }, RUN_WORD, 6 },
	{ { "$HibernateAccessOptimizer", 25 }, { "$", 1 }, RUN_WORD, 6 },
	{ { "$HibernateInstantiator", 22 }, { "$", 1 }, RUN_WORD, 6 },
	{ { "$auxiliary", 10 }, { "$", 1 }, RUN_WORD, 6 },
	{ { "$MockitoMock", 12 }, { "$", 1 }, RUN_DIGITS, 1 },
};

/* What to do at one place of a class name: write `keep`, then go on `consumed` bytes further. */
struct rewrite {
	struct text keep;
	size_t consumed;
};

static bool rewrite_suffix(struct text text, struct rewrite *out)
{
	for (size_t i = 0; i < ARRAY_SIZE(suffix_rules); i++) {
		const struct suffix_rule *rule = &suffix_rules[i];
		size_t prefix_len = rule->keep.len + rule->separator.len;
		size_t len;

		if (!text_starts_with(text, rule->keep) ||
		    !text_starts_with(text_from(text, rule->keep.len), rule->separator))
			continue;
		len = run_len_whole(text_from(text, prefix_len), rule->kind);
		if (len < rule->min_len)
			continue;
		*out = (struct rewrite){ rule->keep, prefix_len + len };
		return true;
	}
	return false;
}

/* "$$EnhancerBySpringCGLIB$$1a2b3c4d", "$$FastClassByGuice$$77_2": CGLIB's DefaultNamingPolicy. */
static bool rewrite_cglib(struct text text, struct rewrite *out)
{
	static const struct text makers[] = { { "$$EnhancerBy", 12 },
					      { "$$FastClassBy", 13 },
					      { "$$KeyFactoryBy", 14 } };

	for (size_t i = 0; i < ARRAY_SIZE(makers); i++) {
		size_t keep_len, hash_len, hash_at;

		if (!text_starts_with(text, makers[i]))
			continue;
		keep_len = makers[i].len + run_len(text_from(text, makers[i].len), RUN_WORD);
		if (!text_starts_with(text_from(text, keep_len), TEXT("$$")))
			return false;
		hash_at = keep_len + 2;
		hash_len = run_len(text_from(text, hash_at), RUN_HEX_LOWER);
		if (hash_len == 0)
			return false;
		if (text_starts_with(text_from(text, hash_at + hash_len), TEXT("_")))
			hash_len +=
				1 + run_len(text_from(text, hash_at + hash_len + 1), RUN_DIGITS);
		if (hash_at + hash_len < text.len && is_word(text.at[hash_at + hash_len]))
			return false;
		*out = (struct rewrite){ text_until(text, keep_len), hash_at + hash_len };
		return true;
	}
	return false;
}

/* "$fn__5866", "$reify__12", "$eval7": Clojure's RT.nextID(), one more for each form that is compiled. */
static bool rewrite_clojure(struct text text, struct rewrite *out)
{
	static const struct text forms[] = {
		{ "$fn__", 5 }, { "$reify__", 8 }, { "$G__", 4 }, { "$iter__", 7 }, { "$eval", 5 }
	};

	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		size_t end = forms[i].len, len;

		if (!text_starts_with(text, forms[i]))
			continue;
		/* A form of two counters: "$iter__5789__5793". */
		while ((len = run_len(text_from(text, end), RUN_DIGITS)) != 0) {
			end += len;
			if (!text_starts_with(text_from(text, end), TEXT("__")))
				break;
			end += 2;
		}
		if (end == forms[i].len || (end < text.len && is_word(text.at[end])))
			return false;
		*out = (struct rewrite){ forms[i], end };
		return true;
	}
	return false;
}

/* "_$$_jvst3a9_12": ProxyFactory.makeProxyName() of Javassist, a hash and a counter. */
static bool rewrite_javassist(struct text text, struct rewrite *out)
{
	static const struct text mark = { "_$$_jvst", 8 };
	size_t hash_len, counter_len;

	if (!text_starts_with(text, mark))
		return false;
	hash_len = run_len(text_from(text, mark.len), RUN_HEX_LOWER);
	if (!hash_len || !text_starts_with(text_from(text, mark.len + hash_len), TEXT("_")))
		return false;
	counter_len = run_len_whole(text_from(text, mark.len + hash_len + 1), RUN_HEX_LOWER);
	*out = (struct rewrite){ mark, mark.len + hash_len + 1 + counter_len };
	return counter_len != 0;
}

/* "GeneratedMethodAccessor17" and its siblings. */
static bool rewrite_accessor(struct text text, struct rewrite *out)
{
	static const struct text accessors[] = { { "GeneratedMethodAccessor", 23 },
						 { "GeneratedConstructorAccessor", 28 },
						 { "GeneratedSerializationConstructorAccessor",
						   41 } };

	for (size_t i = 0; i < ARRAY_SIZE(accessors); i++) {
		size_t len;

		if (!text_starts_with(text, accessors[i]))
			continue;
		len = run_len_whole(text_from(text, accessors[i].len), RUN_DIGITS);
		if (len == 0)
			return false;
		*out = (struct rewrite){ accessors[i], accessors[i].len + len };
		return true;
	}
	return false;
}

/* "jdk.proxy2." or "jdk/proxy2/" -> "jdk.proxy" */
static bool rewrite_proxy_module(struct text text, struct rewrite *out)
{
	size_t len;

	if (!text_starts_with(text, TEXT("jdk.proxy")) &&
	    !text_starts_with(text, TEXT("jdk/proxy")))
		return false;
	len = run_len_whole(text_from(text, 9), RUN_DIGITS);
	if (len == 0)
		return false;
	*out = (struct rewrite){ TEXT("jdk.proxy"), 9 + len };
	return true;
}

/* "/0x00007f5f88003000", "+0x...", ".0x...", "/935419099": address or hash of a hidden class. */
static bool rewrite_hidden(struct text text, struct rewrite *out)
{
	size_t len;

	if (text_starts_with(text_from(text, 1), TEXT("0x"))) {
		len = run_len(text_from(text, 3), RUN_HEX);
		if (len == 0)
			return false;
		*out = (struct rewrite){ TEXT(""), 3 + len };
		return true;
	}
	len = *text.at == '/' ? run_len_whole(text_from(text, 1), RUN_DIGITS) : 0;
	if (len == 0)
		return false;
	*out = (struct rewrite){ TEXT(""), 1 + len };
	return true;
}

/* Is there something to rewrite at text.at[offset]? */
static bool rewrite_at(struct text text, size_t offset, struct rewrite *out)
{
	struct text rest = text_from(text, offset);

	switch (*rest.at) {
	case '$':
		return rewrite_suffix(rest, out) || rewrite_cglib(rest, out) ||
		       rewrite_clojure(rest, out);
	case '_':
		return rewrite_javassist(rest, out);
	case '+':
	case '.':
		return rewrite_hidden(rest, out);
	case '/':
		if (rewrite_hidden(rest, out))
			return true;
		*out = (struct rewrite){ TEXT("."), 1 };
		return true;
	case 'G':
		return rewrite_accessor(rest, out);
	case 'j':
		if (offset && rest.at[-1] != '.' && rest.at[-1] != '/')
			return false;
		return rewrite_proxy_module(rest, out);
	default:
		return false;
	}
}

/* "Context$$Lambda$lambda$wrap$2$2630016632": the last number is a hash, the "$2" is javac's. */
static void drop_lambda_hash(struct strbuf *out, size_t class_at)
{
	struct text name = { out->data + class_at, out->len - class_at };
	size_t lambda_at, dollar_at;

	if (!text_find(name, TEXT("$$Lambda$"), &lambda_at))
		return;
	while (text_rfind_char(name, '$', &dollar_at) && dollar_at > lambda_at + 8) {
		size_t digits = run_len(text_from(name, dollar_at + 1), RUN_DIGITS);

		if (digits < LAMBDA_HASH_MIN_DIGIT || dollar_at + 1 + digits != name.len)
			break;
		name.len = dollar_at;
	}
	strbuf_truncate(out, class_at + name.len);
}

static void class_append(struct text class, struct strbuf *out)
{
	size_t class_at = out->len;

	for (size_t i = 0; i < class.len;) {
		struct rewrite rewrite;

		if (rewrite_at(class, i, &rewrite)) {
			strbuf_append(out, rewrite.keep.at, rewrite.keep.len);
			i += rewrite.consumed;
		} else {
			strbuf_putc(out, class.at[i++]);
		}
	}
	if (!strbuf_error(out) && out->len > class_at)
		drop_lambda_hash(out, class_at);
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
		if (!text_find(text, TEXT(";"), &consumed))
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
	size_t close_at = text.len;
	struct text inner;
	int err;

	strbuf_putc(out, '(');
	text_rfind_char(text, ')', &close_at);
	inner = text_from(text_until(text, close_at), 1);
	/* Behind a descriptor's ")" comes the return type; HotSpot's spelling ends with the ")". */
	err = close_at + 1 < text.len ? descriptor_append(inner, out) : -EINVAL;
	if (err == -EINVAL)
		type_list_append(inner, out);
	else
		strbuf_fail(out, err);
	strbuf_putc(out, ')');
}

/* ---- methods ---- */

struct method {
	struct text class;
	struct text name;
	struct text parameters; /* from "(" on; empty = none */
};

/* "L<class>;::name" and "L<class>;name" (perf-map-agent, perf's own JVMTI agent). */
static bool method_split_descriptor(struct text text, struct method *out)
{
	size_t semicolon_at;

	if (!text.len || *text.at != 'L' || !text_find(text, TEXT(";"), &semicolon_at))
		return false;
	out->class = text_from(text_until(text, semicolon_at), 1);
	out->name = text_from(text, semicolon_at + 1);
	if (text_starts_with(out->name, TEXT("::")))
		out->name = text_from(out->name, 2);
	else if (text_starts_with(out->name, TEXT(".")))
		out->name = text_from(out->name, 1);
	return out->class.len && out->name.len;
}

/* A method's name holds no dot, so the last one ends the class. */
static bool method_split_dotted(struct text text, struct method *out)
{
	size_t at;

	if (text_find(text, TEXT("::"), &at)) {
		out->class = text_until(text, at);
		out->name = text_from(text, at + 2);
	} else if (text_rfind_char(text, '.', &at)) {
		out->class = text_until(text, at);
		out->name = text_from(text, at + 1);
	} else {
		return false;
	}
	return out->class.len && out->name.len;
}

/*
 * "int Work.mix" -> "Work.mix". Kotlin method names may hold blanks, so what follows the first
 * blank must still be a class and a method: method names hold no dot. Words are dropped until
 * none can be: one a pass would leave a name of many words half dropped after PASS_MAX.
 */
static struct text drop_return_type(struct text text)
{
	size_t blank_at;

	while (text_find(text, TEXT(" "), &blank_at)) {
		struct text rest = text_trim(text_from(text, blank_at + 1));
		struct method ignored;

		if (!method_split_descriptor(rest, &ignored) &&
		    !method_split_dotted(rest, &ignored))
			break;
		text = rest;
	}
	return text;
}

/* False: not a method but VM code. */
static bool method_split(struct text raw, struct method *out)
{
	static const struct text vm_prefixes[] = {
		{ "StubRoutines", 12 }, { "I2C/C2I adapters", 16 }, { "RuntimeStub - ", 14 },
		{ "C1 Runtime ", 11 },	{ "C2 Runtime ", 11 },	    { "Stub<", 5 },
	};
	const char *parenthesis = raw.len ? memchr(raw.at, '(', raw.len) : NULL;
	size_t name_len = parenthesis ? (size_t)(parenthesis - raw.at) : raw.len;
	struct text name = text_trim(text_until(raw, name_len));

	for (size_t i = 0; i < ARRAY_SIZE(vm_prefixes); i++) {
		if (text_starts_with(raw, vm_prefixes[i]))
			return false;
	}
	out->parameters = text_from(raw, name_len);
	name = drop_return_type(name);
	return method_split_descriptor(name, out) || method_split_dotted(name, out);
}

/* ByteBuddy's "handle$accessor$x7Yp2QaB" and "handle$original$x7Yp2QaB": 8 random characters. */
static struct text drop_random_suffix(struct text name)
{
	static const struct text markers[] = { { "$accessor$", 10 }, { "$original$", 10 } };

	for (size_t i = 0; i < ARRAY_SIZE(markers); i++) {
		size_t at, end;

		if (!text_find(name, markers[i], &at))
			continue;
		end = at + markers[i].len;
		if (run_len(text_from(name, end), RUN_WORD) == BYTE_BUDDY_RANDOM_LEN &&
		    end + BYTE_BUDDY_RANDOM_LEN == name.len)
			return text_until(name, end - 1);
	}
	return name;
}

static void method_append(const struct method *method, bool keep_parameters, struct strbuf *out)
{
	struct text name = drop_random_suffix(method->name);

	class_append(method->class, out);
	strbuf_putc(out, '.');
	strbuf_append(out, name.at, name.len);
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

static void name_append_once(struct text raw, bool keep_parameters, struct strbuf *out,
			     enum frame_kind *kind_out)
{
	struct method method;
	size_t jvmci_at;

	if (text_find(raw, TEXT(" jvmci_name="), &jvmci_at))
		raw = text_until(raw, jvmci_at);
	raw = text_trim(raw);
	if (method_split(raw, &method)) {
		*kind_out = FRAME_KIND_JIT;
		method_append(&method, keep_parameters, out);
	} else {
		*kind_out = FRAME_KIND_NATIVE;
		vm_code_append(raw, out);
	}
}

static bool is_equal(const struct strbuf *a, const struct strbuf *b)
{
	return a->len == b->len && memcmp(strbuf_str(a), strbuf_str(b), a->len) == 0 &&
	       strbuf_error(a) == strbuf_error(b);
}

/* Until nothing changes any more: what is cut off may lay bare what is to be cut off. */
static void hotspot_name_append(struct text raw, bool keep_parameters, struct strbuf *out,
				enum frame_kind *kind_out)
{
	__cleanup_strbuf struct strbuf name = STRBUF_INIT;
	__cleanup_strbuf struct strbuf again = STRBUF_INIT;

	name_append_once(raw, keep_parameters, &name, kind_out);
	for (int pass = 1; pass < PASS_MAX && !strbuf_error(&name); pass++) {
		struct strbuf swap = name;

		strbuf_clear(&again);
		name_append_once((struct text){ strbuf_str(&name), name.len }, keep_parameters,
				 &again, kind_out);
		if (is_equal(&again, &name))
			break;
		name = again;
		again = swap;
	}
	/* Nothing but what is cut off: a name must stay. */
	if (!name.len)
		strbuf_append(&name, raw.at, raw.len);
	strbuf_add(out, &name);
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

/* ---- native libraries unpacked to temporary files ---- */

#define UUID_LEN	   36
#define LIBRARY_MIN_DIGIT  10
#define LIBRARY_MIN_DASHED 8 /* digits, with a dash before them */
#define LIBRARY_MIN_HEX	   16

static bool is_uuid(struct text text)
{
	if (text.len < UUID_LEN)
		return false;
	for (size_t i = 0; i < UUID_LEN; i++) {
		bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;

		if (is_dash ? text.at[i] != '-' : !run_accepts(RUN_HEX, text.at[i]))
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
	size_t digits = run_len(rest, RUN_DIGITS);
	size_t hex = run_len(rest, RUN_HEX);
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
	while (letters < hex && !is_digit(rest.at[letters]))
		letters++;
	if (letters && letters + run_len(text_from(rest, letters), RUN_DIGITS) == hex)
		return 0;
	return hex >= LIBRARY_MIN_HEX ? hex : 0;
}

static void library_append_once(struct text name, struct strbuf *out)
{
	size_t before = out->len;

	for (size_t i = 0; i < name.len;) {
		bool begins_run = i == 0 || !run_accepts(RUN_HEX, name.at[i - 1]);
		size_t len;

		/* "x86_64" was copied: what follows it is a run of its own. */
		if (i >= 2 && is_architecture(name, i - 2))
			begins_run = true;
		/* "linux_x64beef..." and "jna123...": letters before digits may look like hex. */
		if (i > 0 && is_digit(name.at[i]) && !is_digit(name.at[i - 1]))
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
