// SPDX-License-Identifier: Apache-2.0
/* See java_spelling.h. */
#include "user/names/java_spelling.h"

#include <string.h>

#include "user/names/java_generated.h"
#include "user/names/java_name.h"
#include "user/util/lines.h"
#include "user/util/cleanup.h"
#include "user/util/parse.h"

#define PACKAGES_MIN \
	2 /* "a.b.C.m": no other language that is compiled to native code writes such names */

static bool is_small(char c)
{
	return c >= 'a' && c <= 'z';
}

static bool is_capital(char c)
{
	return c >= 'A' && c <= 'Z';
}

/* Letters beyond ASCII are Java's, too. */
static bool is_identifier(char c)
{
	return is_small(c) || is_capital(c) || parse_is_digit(c) || c == '_' || c == '$' ||
	       (c & 0x80);
}

/* ---- dotted names ---- */

static bool is_word(struct text text)
{
	if (!text.len || parse_is_digit(*text.at))
		return false;
	for (size_t i = 0; i < text.len; i++)
		if (!is_identifier(text.at[i]))
			return false;
	return true;
}

static bool is_method(struct text text)
{
	return text_is(text, "<init>") || text_is(text, "<clinit>") || is_word(text);
}

/* Go's own packages whose types have methods: "time.Time.Add". Others of Go have a slash in their path. */
static bool is_package_of_go(struct text text)
{
	static const char *const packages[] = {
		"bufio", "bytes",   "context", "errors", "flag",    "fmt",     "io",	  "log",
		"main",	 "maps",    "math",    "net",	 "os",	    "plugin",  "reflect", "regexp",
		"iter",	 "runtime", "slices",  "sort",	 "strconv", "strings", "sync",	  "syscall",
		"time",	 "testing", "unicode", "unique", "unsafe",
	};

	for (size_t i = 0; i < ARRAY_SIZE(packages); i++)
		if (text_is(text, packages[i]))
			return true;
	return false;
}

/* "java.util.ArrayList.clone": packages begin small, a class with a capital, a method small. */
static bool is_dotted(struct text name)
{
	struct text method, first = text_until(name, text_find(name, '.'));
	size_t package_cnt = 0;

	for (;; package_cnt++) {
		struct text part = text_until(name, text_find(name, '.'));

		if (!is_word(part) || part.len == name.len)
			return false;
		name = text_from(name, part.len + 1);
		if (is_capital(*part.at))
			break;
	}
	method = text_until(name, text_find(name, '('));
	if (!is_method(method) || is_capital(*method.at))
		return false;
	return package_cnt >= PACKAGES_MIN || (package_cnt == 1 && !is_package_of_go(first));
}

/* ---- return types ---- */

static struct text without_dimensions(struct text type)
{
	while (type.len > 2 && memcmp(type.at + type.len - 2, "[]", 2) == 0)
		type.len -= 2;
	return type;
}

/* "java.util.Map$Entry" */
static bool is_dotted_class(struct text type)
{
	struct text last = type;

	for (size_t dot = text_find(last, '.'); dot < last.len; dot = text_find(last, '.')) {
		if (!is_word(text_until(last, dot)))
			return false;
		last = text_from(last, dot + 1);
	}
	return last.len < type.len && is_word(last) && is_capital(*last.at);
}

/* "Cart.total", "a.B$$Lambda/0x00007f1c2c001000.run": whatever has a class in front, behind a return type. */
static bool is_typed_method(struct text name)
{
	struct text method = text_until(name, text_find(name, '('));
	size_t last_dot = 0;

	if (text_has(method, "::") || text_find(method, ' ') < method.len)
		return false;
	for (size_t i = 0; i < method.len; i++)
		last_dot = method.at[i] == '.' ? i : last_dot;
	if (!last_dot || !is_method(text_from(method, last_dot + 1)))
		return false;
	for (size_t i = 0; i < last_dot; i++)
		if (!is_identifier(method.at[i]) && !memchr("./+", method.at[i], 3))
			return false;
	return !parse_is_digit(*method.at);
}

/* "void java.lang.Thread.run": the JDK's own perf map (jcmd Compiler.perfmap) begins with the type. */
static bool has_return_type(struct text name)
{
	size_t blank = text_find(name, ' ');
	struct text type = without_dimensions(text_until(name, blank));

	return blank < name.len && (java_name_is_primitive(type) || is_dotted_class(type)) &&
	       is_typed_method(text_from(name, blank + 1));
}

/* ---- interface ---- */

bool java_spelling_may_be(const char *name, size_t len)
{
	struct text text = { name, len };

	return len && *name != '/' && *name != '[' && !text_has(text, ":/") &&
	       !memchr(name, '*', len) && (!memchr(name, ' ', len) || has_return_type(text));
}

bool java_spelling_is_foreign(const char *name, size_t len)
{
	const char *colons = len ? memmem(name, len, "::", 2) : NULL;
	size_t class_len = colons ? (size_t)(colons - name) : len;

	return !memchr(name, '.', class_len) && !memchr(name, '/', class_len);
}

/* Without the "(Ljava/lang/Object|)Z" behind it. */
static struct text without_signature(struct text name)
{
	size_t open = text_find(name, '('), close = text_rfind(name, ')');

	if (close == name.len || close + 1 == name.len || open > close)
		return name;
	for (size_t i = open + 1; i < name.len; i++)
		if (!is_identifier(name.at[i]) && !memchr("/[|)", name.at[i], 4))
			return name;
	return text_until(name, open);
}

static bool is_internal(struct text name, bool wants_capital)
{
	const char *slash = name.len ? memrchr(name.at, '/', name.len) : NULL;
	size_t dot = text_find(name, '.');
	size_t end = slash ? (size_t)(slash - name.at) : 0;

	if (!end || dot < end + 2 || dot + 1 >= name.len || text_find(name, ':') < name.len ||
	    text_find(name, '(') < name.len ||
	    text_find(text_from(name, dot + 1), '.') < name.len - dot - 1 ||
	    (wants_capital && !is_capital(slash[1])))
		return false;
	for (size_t i = 0; i < end; i++)
		if (!is_identifier(name.at[i]) && name.at[i] != '/')
			return false;
	return true;
}

bool java_spelling_is_internal(const char *name, size_t len)
{
	struct text text = without_signature((struct text){ name, len });

	return java_spelling_may_be(name, len) && is_internal(text, true);
}

/* "Main.work", "Main$Inner.<init>" */
static bool is_of_no_package(struct text name)
{
	size_t dot = text_find(name, '.');
	struct text method;

	if (dot == name.len || !is_word(text_until(name, dot)) || !is_capital(*name.at))
		return false;
	method = text_from(name, dot + 1);
	return is_method(method) && !is_capital(*method.at);
}

bool java_spelling_is_likely(const char *name, size_t len)
{
	struct text text = without_signature((struct text){ name, len });

	return java_spelling_may_be(name, len) &&
	       (is_internal(text, false) || is_of_no_package(text));
}

bool java_spelling_is_certain(const char *name, size_t len)
{
	struct text text = without_signature((struct text){ name, len });

	return java_spelling_may_be(name, len) &&
	       (is_internal(text, true) || has_return_type(text) || is_dotted(text) ||
		(java_generated_is_in(text) && (memchr(name, '/', len) || memchr(name, '.', len))));
}

size_t java_spelling_without_line(const char *name, size_t len, bool is_marked)
{
	size_t digits = 0, left;

	while (digits < len && parse_is_digit(name[len - digits - 1]))
		digits++;
	if (!digits || digits == len || !memchr(":@", name[len - digits - 1], 2))
		return len;
	left = len - digits - 1;
	if (memchr(name, ':', left) || memchr(name, ' ', left))
		return len;
	return java_spelling_is_certain(name, left) ||
			       (is_marked && java_spelling_is_likely(name, left)) ?
		       left :
		       len;
}

bool java_spelling_append_signed(const char *name, size_t len, struct strbuf *out)
{
	size_t plain = without_signature((struct text){ name, len }).len;

	if (plain == len || !java_spelling_may_be(name, len))
		return false;
	for (size_t i = 0; i < len; i++)
		strbuf_putc(out, i > plain && name[i] == '|' ? ';' : name[i]);
	return true;
}

bool java_spelling_append_collapsed(const char *name, size_t len, struct strbuf *out)
{
	struct text text = { name, len };
	size_t class_len = text_find(text, ':'), method, skip = 0;
	struct text class = text_until(text, class_len);
	struct text rest = text_from(text, class_len);

	if (!class_len || !rest.len || !java_spelling_may_be(name, len) ||
	    text_find(class, '/') == class_len || text_find(class, '.') < class_len)
		return false;
	if (rest.len >= 3 && memcmp(rest.at, ":::", 3) == 0)
		method = class_len + 3;
	else if (rest.len > 2 && (rest.at[1] == ':' || rest.at[1] == '.'))
		method = class_len + 2;
	else
		return false;
	if (method >= len)
		return false;
	if (*name == 'L' && class_len > 1 && is_identifier(name[1]) && !parse_is_digit(name[1]))
		skip = 1;
	strbuf_append(out, name + skip, class_len - skip);
	strbuf_putc(out, '.');
	strbuf_append(out, name + method, len - method);
	return true;
}
