// SPDX-License-Identifier: Apache-2.0
/* See java_spelling.h. */
#include "user/diff/java_spelling.h"

#include <string.h>

#include "user/util/cleanup.h"

#define PACKAGES_MIN \
	2 /* "a.b.C.m": no other language that is compiled to native code writes such names */

struct span {
	const char *at;
	size_t len;
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

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
	return is_small(c) || is_capital(c) || is_digit(c) || c == '_' || c == '$' || (c & 0x80);
}

static bool contains(struct span name, const char *part)
{
	return name.len && memmem(name.at, name.len, part, strlen(part)) != NULL;
}

static struct span until(struct span text, size_t len)
{
	return (struct span){ text.at, len };
}

static struct span from(struct span text, size_t at)
{
	return (struct span){ text.at + at, text.len - at };
}

/* Where `c` is; the length when it is nowhere. */
static size_t find(struct span text, char c)
{
	const char *found = text.len ? memchr(text.at, c, text.len) : NULL;

	return found ? (size_t)(found - text.at) : text.len;
}

static bool equals(struct span text, const char *other)
{
	return text.len == strlen(other) && memcmp(text.at, other, text.len) == 0;
}

/* Parts that only class generators write. */
static bool has_generated_part(struct span name)
{
	static const char *const parts[] = {
		"$$Lambda",
		"$Proxy",
		"$$EnhancerBy",
		"$$FastClassBy",
		"$$KeyFactoryBy",
		"$$SpringCGLIB",
		"$ByteBuddy$",
		"$HibernateProxy$",
		"$HibernateAccessOptimizer",
		"$HibernateInstantiator",
		"_$$_jvst",
		"$MockitoMock$",
		"$auxiliary$",
		"GeneratedMethodAccessor",
		"GeneratedConstructorAccessor",
		"GeneratedSerializationConstructorAccessor",
	};

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (contains(name, parts[i]))
			return true;
	return false;
}

/* ---- dotted names ---- */

static bool is_word(struct span text)
{
	if (!text.len || is_digit(*text.at))
		return false;
	for (size_t i = 0; i < text.len; i++)
		if (!is_identifier(text.at[i]))
			return false;
	return true;
}

static bool is_method(struct span text)
{
	return equals(text, "<init>") || equals(text, "<clinit>") || is_word(text);
}

/* Go's own packages whose types have methods: "time.Time.Add". Others of Go have a slash in their path. */
static bool is_package_of_go(struct span text)
{
	static const char *const packages[] = {
		"bufio", "bytes",   "context", "errors", "flag",    "fmt",     "io",	  "log",
		"main",	 "maps",    "math",    "net",	 "os",	    "plugin",  "reflect", "regexp",
		"iter",	 "runtime", "slices",  "sort",	 "strconv", "strings", "sync",	  "syscall",
		"time",	 "testing", "unicode", "unique", "unsafe",
	};

	for (size_t i = 0; i < ARRAY_SIZE(packages); i++)
		if (equals(text, packages[i]))
			return true;
	return false;
}

/* "java.util.ArrayList.clone": packages begin small, a class with a capital, a method small. */
static bool is_dotted(struct span name)
{
	struct span method, first = until(name, find(name, '.'));
	size_t package_cnt = 0;

	for (;; package_cnt++) {
		struct span part = until(name, find(name, '.'));

		if (!is_word(part) || part.len == name.len)
			return false;
		name = from(name, part.len + 1);
		if (is_capital(*part.at))
			break;
	}
	method = until(name, find(name, '('));
	if (!is_method(method) || is_capital(*method.at))
		return false;
	return package_cnt >= PACKAGES_MIN || (package_cnt == 1 && !is_package_of_go(first));
}

/* ---- return types ---- */

static struct span without_dimensions(struct span type)
{
	while (type.len > 2 && memcmp(type.at + type.len - 2, "[]", 2) == 0)
		type.len -= 2;
	return type;
}

static bool is_primitive(struct span type)
{
	static const char *const names[] = { "void", "boolean", "byte",	 "char",  "short",
					     "int",  "long",	"float", "double" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (equals(type, names[i]))
			return true;
	return false;
}

/* "java.util.Map$Entry" */
static bool is_dotted_class(struct span type)
{
	struct span last = type;

	for (size_t dot = find(last, '.'); dot < last.len; dot = find(last, '.')) {
		if (!is_word(until(last, dot)))
			return false;
		last = from(last, dot + 1);
	}
	return last.len < type.len && is_word(last) && is_capital(*last.at);
}

/* "Cart.total", "a.B$$Lambda/0x00007f1c2c001000.run": whatever has a class in front, behind a return type. */
static bool is_typed_method(struct span name)
{
	struct span method = until(name, find(name, '('));
	size_t last_dot = 0;

	if (contains(method, "::") || find(method, ' ') < method.len)
		return false;
	for (size_t i = 0; i < method.len; i++)
		last_dot = method.at[i] == '.' ? i : last_dot;
	if (!last_dot || !is_method(from(method, last_dot + 1)))
		return false;
	for (size_t i = 0; i < last_dot; i++)
		if (!is_identifier(method.at[i]) && !memchr("./+", method.at[i], 3))
			return false;
	return !is_digit(*method.at);
}

/* "void java.lang.Thread.run": the JDK's own perf map (jcmd Compiler.perfmap) begins with the type. */
static bool has_return_type(struct span name)
{
	size_t blank = find(name, ' ');
	struct span type = without_dimensions(until(name, blank));

	return blank < name.len && (is_primitive(type) || is_dotted_class(type)) &&
	       is_typed_method(from(name, blank + 1));
}

/* ---- interface ---- */

bool java_spelling_may_be(const char *name, size_t len)
{
	struct span text = { name, len };

	return len && *name != '/' && *name != '[' && !contains(text, ":/") &&
	       !memchr(name, '*', len) && (!memchr(name, ' ', len) || has_return_type(text));
}

bool java_spelling_is_foreign(const char *name, size_t len)
{
	const char *colons = len ? memmem(name, len, "::", 2) : NULL;
	size_t class_len = colons ? (size_t)(colons - name) : len;

	return !memchr(name, '.', class_len) && !memchr(name, '/', class_len);
}

static bool is_internal(struct span name, bool wants_capital)
{
	const char *slash = name.len ? memrchr(name.at, '/', name.len) : NULL;
	size_t dot = find(name, '.');
	size_t end = slash ? (size_t)(slash - name.at) : 0;

	if (!end || dot < end + 2 || dot + 1 >= name.len || find(name, ':') < name.len ||
	    find(name, '(') < name.len || find(from(name, dot + 1), '.') < name.len - dot - 1 ||
	    (wants_capital && !is_capital(slash[1])))
		return false;
	for (size_t i = 0; i < end; i++)
		if (!is_identifier(name.at[i]) && name.at[i] != '/')
			return false;
	return true;
}

bool java_spelling_is_internal(const char *name, size_t len)
{
	struct span text = { name, len };

	return java_spelling_may_be(name, len) && is_internal(text, true);
}

bool java_spelling_is_likely(const char *name, size_t len)
{
	struct span text = { name, len };

	return java_spelling_may_be(name, len) && is_internal(text, false);
}

bool java_spelling_is_certain(const char *name, size_t len)
{
	struct span text = { name, len };

	return java_spelling_may_be(name, len) &&
	       (is_internal(text, true) || has_return_type(text) || is_dotted(text) ||
		(has_generated_part(text) && (memchr(name, '/', len) || memchr(name, '.', len))));
}

bool java_spelling_append_collapsed(const char *name, size_t len, struct strbuf *out)
{
	struct span text = { name, len };
	size_t class_len = find(text, ':'), method, skip = 0;
	struct span class = until(text, class_len);
	struct span rest = from(text, class_len);

	if (!class_len || !rest.len || !java_spelling_may_be(name, len) ||
	    find(class, '/') == class_len || find(class, '.') < class_len)
		return false;
	if (rest.len >= 3 && memcmp(rest.at, ":::", 3) == 0)
		method = class_len + 3;
	else if (rest.len > 2 && (rest.at[1] == ':' || rest.at[1] == '.'))
		method = class_len + 2;
	else
		return false;
	if (method >= len)
		return false;
	if (*name == 'L' && class_len > 1 && is_identifier(name[1]) && !is_digit(name[1]))
		skip = 1;
	strbuf_append(out, name + skip, class_len - skip);
	strbuf_putc(out, '.');
	strbuf_append(out, name + method, len - method);
	return true;
}
