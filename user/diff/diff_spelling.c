// SPDX-License-Identifier: Apache-2.0
/*
 * Canonical frames; see diff_spelling.h. Java names go by the recorder's own rules (java_name.h);
 * which names without a suffix are Java's, java_spelling.h says.
 */
#include "user/diff/diff_spelling.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "user/model/stack_text.h"
#include "user/names/java_name.h"
#include "user/names/java_spelling.h"
#include "user/util/cleanup.h"
#include "user/util/parse.h"
#include "user/util/strtab.h"
#include "user/util/vec.h"

#define UNKNOWN		 "[unknown]"
#define UNKNOWN_JIT	 "[unknown jit]"
#define PYTHON_THREAD	 "thread (N)"
#define PLACE_FIRST	 'p'
#define PLACE_OTHER	 'f'
#define PLACE_AMONG_JAVA 'j'	      /* in stacks with classes in their internal spelling */
#define BEHIND_PROCESS	 "p"	      /* stack_text_append() writes a first frame otherwise */
#define LETTERS_MIN	 3	      /* before a number that ends a thread's name */
#define SIMPLE_ROOT	 "Thread.run" /* of async-profiler's classes without packages */
#define PROCESS_NAME_MAX 15	      /* TASK_COMM_LEN of the kernel, without the NUL */
#define NO_TEXT		 UINT32_MAX

struct diff_spelling {
	struct strtab *raw;   /* place + frame as it was written */
	struct strtab *texts; /* canonical, as in a stack */
	uint32_t *text_of;    /* by id of raw */
	size_t cap;
	struct strbuf key;    /* scratch */
	struct strbuf name;   /* scratch */
	struct strbuf plain;  /* scratch */
	struct strbuf joined; /* scratch */
	struct diff_spelling_methods methods;
	bool leaves_out_parameters;
};

struct diff_spelling *diff_spelling__new(void)
{
	struct diff_spelling *spelling = calloc(1, sizeof(*spelling));

	if (!spelling)
		return NULL;
	spelling->raw = strtab__new();
	spelling->texts = strtab__new();
	if (!spelling->raw || !spelling->texts) {
		diff_spelling__free(spelling);
		return NULL;
	}
	return spelling;
}

void diff_spelling__free(struct diff_spelling *spelling)
{
	if (!spelling)
		return;
	strtab__free(spelling->raw);
	strtab__free(spelling->texts);
	free(spelling->text_of);
	strbuf_release(&spelling->key);
	strbuf_release(&spelling->name);
	strbuf_release(&spelling->plain);
	strbuf_release(&spelling->joined);
	free(spelling);
}

struct diff_spelling_methods diff_spelling__methods(const struct diff_spelling *spelling)
{
	return spelling->methods;
}

void diff_spelling__leave_out_parameters(struct diff_spelling *spelling)
{
	spelling->leaves_out_parameters = true;
}

/* ---- characters ---- */

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool contains(const char *name, size_t len, const char *part)
{
	return len && memmem(name, len, part, strlen(part)) != NULL;
}

static bool ends_with(const char *name, size_t len, const char *end)
{
	size_t end_len = strlen(end);

	return len >= end_len && memcmp(name + len - end_len, end, end_len) == 0;
}

/* ---- Java ---- */

/* Appends a name that is known to be Java's. */
static void append_java(const char *name, size_t len, struct strbuf *out)
{
	enum frame_kind kind;

	strbuf_fail(out, java_name_canonical(name, len, true, true, out, &kind));
}

static void append_java_text(const struct strbuf *name, struct strbuf *out)
{
	strbuf_fail(out, strbuf_error(name));
	append_java(strbuf_str(name), name->len, out);
}

/* The same for what may be in one of the spellings that need another first. */
static void append_java_spelled(const char *name, size_t len, struct strbuf *out)
{
	__cleanup_strbuf struct strbuf plain = STRBUF_INIT;

	if (java_spelling_append_signed(name, len, &plain))
		append_java_text(&plain, out);
	else
		append_java(name, len, out);
}

/*
 * HotSpot's own code is native in the recorder's windows, and so is what others mark as Java's since
 * it is in a map. FlameGraph's scripts cut "StubRoutines (1)" at the "("; async-profiler knows stubs
 * for virtual calls apart. False: it is none.
 */
static bool append_vm_code(const char *name, size_t len, struct strbuf *out)
{
	while (len && name[len - 1] == ' ')
		len--;
	if ((len == strlen("vtable stub") && memcmp(name + 1, "table stub", len - 1) == 0 &&
	     (*name == 'v' || *name == 'i')))
		strbuf_puts(out, "vtable chunks");
	else if (java_name_is_vm_code(name, len))
		append_java(name, len, out);
	else
		return false;
	return true;
}

/* ---- code of other runtimes ---- */

/*
 * V8 marks the compiler that a function has reached: "LazyCompile:*f", "JS:~f" (CodeKindToMarker() in
 * src/objects/code-kind.cc). How long the mark is; 0: there is none. *at is where it stands.
 */
static size_t v8_mark_len(const char *name, size_t len, size_t *at)
{
	static const char *const kinds[] = { "LazyCompile:", "JS:", "Function:", "Script:",
					     "Eval:" };
	size_t mark;

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		mark = strlen(kinds[i]);
		if (len > mark + 1 && memcmp(name, kinds[i], mark) == 0 &&
		    memchr("*~^+", name[mark], 4)) {
			*at = mark;
			return name[mark + 1] == '\'' ? 2 : 1;
		}
	}
	return 0;
}

/* "void [App] App.Worker::Run(int32)[Tier0]": .NET's PerfMapShowOptimizationTiers. */
static size_t without_tier(const char *name, size_t len)
{
	static const char *const tiers[] = {
		")[Tier0]",
		")[QuickJitted]",
		")[MinOptJitted]",
		")[Optimized]",
		")[OptimizedTier1]",
		")[OptimizedTier1OSR]",
		")[PreJIT]",
		")[ReadyToRun]",
		")[InstrumentedTier0]",
		")[InstrumentedTier1]",
		")[Tier0Instrumented]",
		")[Tier1Instrumented]",
	};

	for (size_t i = 0; i < ARRAY_SIZE(tiers); i++)
		if (ends_with(name, len, tiers[i]) && contains(name, len, "::"))
			return len - strlen(tiers[i]) + 1;
	return len;
}

/* Which compiler has made the code changes while it runs. False: it is no such name. */
static bool append_tiered(const char *name, size_t len, struct strbuf *out)
{
	size_t at = 0, mark = v8_mark_len(name, len, &at);

	if (mark) {
		strbuf_append(out, name, at);
		strbuf_append(out, name + at + mark, len - at - mark);
	} else if (without_tier(name, len) < len) {
		strbuf_append(out, name, without_tier(name, len));
	}
	return mark || without_tier(name, len) < len;
}

/* ---- native code ---- */

/*
 * Every compiler run numbers clones differently: ".part.3", ".cold". Most always have a number: "ArrayList.clone" is
 * a method of a class without its package. 0: the name has no such end.
 */
static size_t clone_suffix_len(const char *name, size_t len)
{
	static const struct {
		const char *text;
		bool has_number;
	} suffixes[] = {
		{ ".isra", false },	  { ".constprop", true }, { ".part", true },
		{ ".cold", false },	  { ".lto_priv", false }, { ".llvm", true },
		{ ".localalias", false }, { ".clone", true },	  { ".warm", false },
		{ ".specialized", true }, { ".__uniq", true },
	};
	size_t digits = 0;

	while (digits < len && parse_is_digit(name[len - digits - 1]))
		digits++;
	if (digits && digits < len && name[len - digits - 1] == '.')
		digits++;
	else
		digits = 0;
	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++)
		if (len - digits > strlen(suffixes[i].text) &&
		    (digits || !suffixes[i].has_number) &&
		    ends_with(name, len - digits, suffixes[i].text))
			return strlen(suffixes[i].text) + digits;
	return 0;
}

/* What is left must be a symbol: "java.util.ArrayList.clone" is a method, though its end looks like a clone's. */
static size_t without_clone(const char *name, size_t len)
{
	size_t left = len, suffix;

	while ((suffix = clone_suffix_len(name, left)) != 0)
		left -= suffix;
	if (left == len || parse_is_digit(name[len - 1]) || contains(name, left, "::"))
		return left;
	if (memchr(name, '(', left))
		return left;
	return memchr(name, '.', left) || memchr(name, '/', left) ? len : left;
}

/* "f(int) [clone .isra.0]" and "f(int) (.llvm.77)", as demanglers write it. */
static size_t without_clone_words(const char *name, size_t len)
{
	static const char *const words[][2] = { { " [clone .", "]" }, { " (.", ")" } };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		const char *found = len ? memmem(name, len, words[i][0], strlen(words[i][0])) :
					  NULL;

		if (found && found > name && ends_with(name, len, words[i][1]))
			return (size_t)(found - name);
	}
	return len;
}

/* "core::ptr::drop::h0123456789abcdef": rustc's legacy mangling ends in a hash of the crate's build. */
static size_t without_rust_hash(const char *name, size_t len)
{
	const size_t hash = strlen("::h") + 16;

	if (len <= hash || memcmp(name + len - hash, "::h", 3) != 0)
		return len;
	for (size_t i = len - 16; i < len; i++)
		if (!parse_is_hex(name[i]))
			return len;
	return len - hash;
}

/* "main+0x1f", and bpftrace's "main+31" */
static size_t without_offset(const char *name, size_t len)
{
	size_t hex = 0, decimal = 0;

	while (hex < len && parse_is_hex(name[len - hex - 1]))
		hex++;
	if (hex && len > hex + 3 && memcmp(name + len - hex - 3, "+0x", 3) == 0)
		return len - hex - 3;
	while (decimal < len && parse_is_digit(name[len - decimal - 1]))
		decimal++;
	if (decimal && len > decimal + 1 && name[len - decimal - 1] == '+' &&
	    name[len - decimal - 2] != '+')
		return len - decimal - 1;
	return len;
}

/* "memcpy@@GLIBC_2.14"; "malloc@plt" is code of its own. */
static size_t without_version(const char *name, size_t len)
{
	const char *at = len ? memchr(name, '@', len) : NULL;

	if (!at || at == name)
		return len;
	return contains(at, len - (size_t)(at - name), "@GLIBC") ||
			       contains(at, len - (size_t)(at - name), "@@") ?
		       (size_t)(at - name) :
		       len;
}

static size_t native_len(const char *name, size_t len)
{
	size_t before;

	do {
		before = len;
		len = without_offset(name, len);
		len = without_version(name, len);
		len = without_clone_words(name, len);
		len = without_clone(name, len);
		len = without_rust_hash(name, len);
	} while (len < before);
	return len;
}

/*
 * How much of a name of glibc's stands in front of the function's best known one. "__GI_read", "__libc_read" and
 * "__read" are all read() (include/libc-symbols.h, hidden_def; weak_alias() below each system call's function,
 * strong_alias() below malloc's): which of them a profiler takes is its taste.
 */
static size_t glibc_prefix_len(const char *name, size_t len)
{
	static const char *const functions[] = {
		"accept",      "calloc", "clock_nanosleep", "close",	"connect",  "fcntl64",
		"free",	       "fsync",	 "ioctl",	    "lseek64",	"madvise",  "malloc",
		"memalign",    "mmap",	 "mmap64",	    "mprotect", "munmap",   "nanosleep",
		"open",	       "open64", "openat64",	    "poll",	"pread64",  "pwrite64",
		"read",	       "readv",	 "realloc",	    "recv",	"recvfrom", "recvmsg",
		"sched_yield", "send",	 "sendmsg",	    "sendto",	"write",    "writev",
	};
	static const char *const prefixes[] = { "__libc_", "__" };

	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
		size_t skip = strlen(prefixes[i]);

		if (len <= skip || memcmp(name, prefixes[i], skip) != 0)
			continue;
		for (size_t j = 0; j < ARRAY_SIZE(functions); j++)
			if (len - skip == strlen(functions[j]) &&
			    memcmp(name + skip, functions[j], len - skip) == 0)
				return skip;
	}
	return 0;
}

/* A name of native code or of the kernel. */
static void append_symbol(const char *name, size_t len, struct strbuf *out)
{
	size_t known = native_len(name, len);

	strbuf_append(out, name, known ? known : len);
}

static void append_native(const char *name, size_t len, struct strbuf *out)
{
	static const char hidden[] = "__GI_";
	size_t skip = strlen(hidden);

	if (len > skip && memcmp(name, hidden, skip) == 0) {
		name += skip;
		len -= skip;
	}
	skip = glibc_prefix_len(name, native_len(name, len));
	append_symbol(name + skip, len - skip, out);
}

/* "0x7f0012345678", also in brackets. */
static bool is_address(const char *name, size_t len)
{
	if (len > 2 && *name == '[' && name[len - 1] == ']') {
		name++;
		len -= 2;
	}
	if (len < 3 || name[0] != '0' || name[1] != 'x')
		return false;
	for (size_t i = 2; i < len; i++)
		if (!parse_is_hex(name[i]))
			return false;
	return true;
}

/* "[perf-4711.map]": JIT code that perf found no name for. */
static bool is_perf_map(const char *name, size_t len)
{
	static const char begin[] = "[perf-", end[] = ".map]";

	if (len <= strlen(begin) + strlen(end) || memcmp(name, begin, strlen(begin)) != 0 ||
	    !ends_with(name, len, end))
		return false;
	for (size_t i = strlen(begin); i < len - strlen(end); i++)
		if (!parse_is_digit(name[i]))
			return false;
	return true;
}

/* "thread (0x7F20B6FFD640)": py-spy's, in front of each stack, with a number that the next run has another for. */
static bool is_thread_of_python(const char *name, size_t len)
{
	static const char begin[] = "thread (";
	size_t skip = strlen(begin);

	return len > skip && memcmp(name, begin, skip) == 0 && name[len - 1] == ')' &&
	       is_address(name + skip, len - skip - 1);
}

/*
 * A frame with the suffix of Java code. Inlined C++ has "_[i]" as well where stackcollapse-perf.pl
 * --all wrote it: a name without a class in front of its method is not Java's.
 */
static void append_marked(const char *name, size_t len, struct strbuf *out, enum frame_kind *kind)
{
	__cleanup_strbuf struct strbuf plain = STRBUF_INIT;

	if (append_tiered(name, len, out))
		return;
	len = java_spelling_without_line(name, len, true);
	if (append_vm_code(name, len, out)) {
		*kind = FRAME_KIND_NATIVE;
	} else if (*kind == FRAME_KIND_INLINED && java_spelling_is_foreign(name, len)) {
		*kind = FRAME_KIND_NATIVE;
		append_native(name, len, out);
	} else if (!java_spelling_may_be(name, len)) {
		strbuf_append(out, name, len);
	} else if (java_spelling_append_collapsed(name, len, &plain)) {
		append_java_text(&plain, out);
	} else {
		append_java_spelled(name, len, out);
	}
}

/* The same for a name without suffix, when it is Java's for sure. False: it is not. */
static bool append_unmarked_java(const char *name, size_t len, bool among_java, struct strbuf *out)
{
	__cleanup_strbuf struct strbuf plain = STRBUF_INIT;

	len = java_spelling_without_line(name, len, among_java);
	if (java_spelling_append_collapsed(name, len, &plain))
		append_java_text(&plain, out);
	else if (java_spelling_is_certain(name, len) ||
		 (among_java && java_spelling_is_likely(name, len) && native_len(name, len) == len))
		append_java_spelled(name, len, out);
	else
		return false;
	return true;
}

/* "libz.so", "libz.so.1.2.13" */
static bool is_library(const char *name, size_t len)
{
	while (len && (name[len - 1] == '.' || (name[len - 1] >= '0' && name[len - 1] <= '9')))
		len--;
	return ends_with(name, len, ".so");
}

/*
 * A function without a symbol: "libz.so.1.2.13+0x3a0", or, of async-profiler, the library's path alone. Where it
 * begins is another place in the next build, so that all of a library's are one: "[libz.so.1.2.13]", as
 * stackcollapse-perf.pl has them. False: it is no such name.
 */
static bool append_library(const char *name, size_t len, struct strbuf *out)
{
	size_t library = without_offset(name, len);
	const char *slash = library && *name == '/' ? memrchr(name, '/', library) : NULL;
	const char *base = slash ? slash + 1 : name;

	library -= (size_t)(base - name);
	if (slash ? !is_library(base, library) :
		    without_offset(name, len) == len || !contains(base, library, ".so"))
		return false;
	strbuf_printf(out, "[%.*s]", (int)library, base);
	return true;
}

/* A frame without suffix; *kind says what it turned out to be. */
static void append_unmarked(const char *name, size_t len, bool among_java, struct strbuf *out,
			    enum frame_kind *kind)
{
	if (is_address(name, len))
		strbuf_puts(out, UNKNOWN);
	else if (is_thread_of_python(name, len))
		strbuf_puts(out, PYTHON_THREAD);
	else if (is_perf_map(name, len))
		strbuf_puts(out, UNKNOWN_JIT);
	else if (append_library(name, len, out))
		return;
	else if (append_unmarked_java(name, without_offset(name, len), among_java, out))
		*kind = FRAME_KIND_JIT;
	else if (!append_vm_code(name, len, out) && !append_tiered(name, len, out))
		append_native(name, len, out);
}

/* ---- processes and threads ---- */

/* "[pool-1-thread-3 tid=4711]": a number ends the name, or stands behind a separator. */
static bool is_counter(const char *name, size_t len, size_t at, size_t digits, bool is_thread)
{
	size_t letters = 0;

	if (at && memchr("-#:/= ", name[at - 1], 6))
		return true;
	if (!is_thread || (at + digits < len && name[at + digits] != ']'))
		return false;
	while (letters < at && is_letter(name[at - letters - 1]))
		letters++;
	return letters >= LETTERS_MIN;
}

static void append_process(const char *name, size_t len, struct strbuf *out)
{
	static const char tid[] = " tid=";
	const char *found = len ? memmem(name, len, tid, strlen(tid)) : NULL;
	bool has_bracket = len && name[len - 1] == ']';
	__cleanup_strbuf struct strbuf plain = STRBUF_INIT;
	bool is_thread = found != NULL || (len && *name == '[');

	if (is_thread_of_python(name, len)) {
		strbuf_puts(out, PYTHON_THREAD);
		return;
	}
	if (found) {
		strbuf_append(&plain, name, (size_t)(found - name));
		if (has_bracket)
			strbuf_putc(&plain, ']');
		strbuf_fail(out, strbuf_error(&plain));
		name = strbuf_str(&plain);
		len = plain.len;
	}
	for (size_t i = 0; i < len;) {
		size_t digits = 0;

		while (i + digits < len && parse_is_digit(name[i + digits]))
			digits++;
		if (digits && is_counter(name, len, i, digits, is_thread))
			strbuf_putc(out, 'N');
		else
			strbuf_append(out, name + i, digits ? digits : 1);
		i += digits ? digits : 1;
	}
}

/* ---- stacks ---- */

static void append_frame(const struct stack_frame *frame, char place, struct strbuf *out,
			 enum frame_kind *kind)
{
	*kind = frame->kind;
	switch (frame->kind) {
	case FRAME_KIND_NATIVE:
		if (place == PLACE_FIRST)
			append_process(frame->name, frame->name_len, out);
		else
			append_unmarked(frame->name, frame->name_len, place == PLACE_AMONG_JAVA,
					out, kind);
		break;
	case FRAME_KIND_KERNEL:
		append_symbol(frame->name, frame->name_len, out);
		break;
	default:
		append_marked(frame->name, frame->name_len, out, kind);
	}
}

static int reserve(struct diff_spelling *spelling)
{
	size_t before = spelling->cap;
	int err = vec_room(spelling->text_of, strtab__count(spelling->raw), spelling->cap, 256);

	for (size_t i = before; i < spelling->cap; i++)
		spelling->text_of[i] = NO_TEXT;
	return err;
}

/* "a.B.should work(int)", as Kotlin has names, without the parameters; other runtimes' names as they are. */
static size_t method_with_blanks_len(const char *name, size_t len)
{
	size_t bare = stack_text_method_len(name, len);

	for (size_t i = 0; i < bare; i++)
		if (memchr("*/:[", name[i], 4))
			return len;
	return memchr(name, '.', bare) ? bare : len;
}

/*
 * spelling->name is of a method in Java: counts whether it has its parameters, and takes them off where they are
 * not wanted.
 */
static void note_parameters(struct diff_spelling *spelling)
{
	const char *name = strbuf_str(&spelling->name);
	size_t len = spelling->name.len;
	const char *list = len ? memchr(name, '(', len) : NULL;
	enum frame_kind kind;

	if (!java_spelling_may_be(name, list ? (size_t)(list - name) : len)) {
		if (spelling->leaves_out_parameters)
			strbuf_truncate(&spelling->name, method_with_blanks_len(name, len));
		return;
	}
	strbuf_clear(&spelling->plain);
	if (ends_with(name, len, ")"))
		strbuf_fail(&spelling->name,
			    java_name_canonical(name, len, true, false, &spelling->plain, &kind));
	if (!spelling->plain.len || spelling->plain.len >= spelling->name.len) {
		spelling->methods.without++;
		return;
	}
	spelling->methods.with_parameters++;
	if (!spelling->leaves_out_parameters)
		return;
	strbuf_clear(&spelling->name);
	strbuf_add(&spelling->name, &spelling->plain);
}

/* The canonical text of a frame, as stack_text_append() writes it where the frame stands. */
static int write_text(struct diff_spelling *spelling, const struct stack_frame *frame, char place,
		      struct strbuf *out)
{
	enum frame_kind kind = frame->kind;
	int err;

	strbuf_clear(&spelling->name);
	append_frame(frame, place, &spelling->name, &kind);
	if (kind != FRAME_KIND_NATIVE && kind != FRAME_KIND_KERNEL &&
	    !strbuf_error(&spelling->name))
		note_parameters(spelling);
	err = strbuf_error(&spelling->name);
	if (err)
		return err;
	if (place != PLACE_FIRST)
		strbuf_puts(out, BEHIND_PROCESS);
	return strbuf_error(out) ? strbuf_error(out) :
				   stack_text_append(out, strbuf_str(&spelling->name), kind);
}

static int intern_text(struct diff_spelling *spelling, const struct stack_frame *frame, char place,
		       uint32_t *out)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	size_t skip = place == PLACE_FIRST ? 0 : strlen(BEHIND_PROCESS ";");
	int err = write_text(spelling, frame, place, &text);

	return err ? err : strtab__intern(spelling->texts, text.data + skip, text.len - skip, out);
}

/* The id of a frame's canonical text, worked out once. */
static int find_text(struct diff_spelling *spelling, const struct stack_frame *frame, char place,
		     uint32_t *out)
{
	uint32_t raw = 0;
	int err = reserve(spelling);

	strbuf_clear(&spelling->key);
	strbuf_putc(&spelling->key, place);
	strbuf_append(&spelling->key, frame->text, frame->text_len);
	if (!err)
		err = strbuf_error(&spelling->key);
	if (!err)
		err = strtab__intern(spelling->raw, spelling->key.data, spelling->key.len, &raw);
	if (!err && spelling->text_of[raw] == NO_TEXT)
		err = intern_text(spelling, frame, place, &spelling->text_of[raw]);
	if (!err)
		*out = spelling->text_of[raw];
	return err;
}

bool diff_spelling_has_internal(const char *stack, size_t len)
{
	struct stack_frame frame;

	if (!len || !memchr(stack, '/', len))
		return false;
	while (stack_text_next(&stack, &len, &frame))
		if (frame.kind == FRAME_KIND_NATIVE &&
		    java_spelling_is_internal(frame.name,
					      java_spelling_without_line(frame.name, frame.name_len,
									 false)))
			return true;
	return false;
}

/*
 * perf-map-agent's "Lorg/a/B;::run" is two frames to who splits at ";", as bcc's tools write it. Takes the
 * second from the stack, and makes one of both, as stackcollapse-perf.pl does. False: it is a frame like any
 * other.
 */
static bool join_frames(struct stack_frame *frame, const char **stack, size_t *len,
			struct strbuf *joined)
{
	struct stack_frame method;

	if (frame->kind != FRAME_KIND_NATIVE || !frame->name_len || *frame->name != 'L' ||
	    !memchr(frame->name, '/', frame->name_len) ||
	    memchr(frame->name, '.', frame->name_len) || *len < 3 || memcmp(*stack, "::", 2) != 0 ||
	    !stack_text_next(stack, len, &method))
		return false;
	strbuf_clear(joined);
	strbuf_append(joined, frame->text, frame->text_len);
	strbuf_putc(joined, ':');
	strbuf_append(joined, method.text, method.text_len);
	*frame = (struct stack_frame){
		.name = strbuf_str(joined),
		.name_len = frame->name_len + 1 + method.name_len,
		.text = strbuf_str(joined),
		.text_len = joined->len,
		.kind = method.kind,
	};
	return true;
}

void diff_spelling_walk(struct diff_spelling_walk *walk, const char *stack, size_t len)
{
	*walk = (struct diff_spelling_walk){
		.stack = stack,
		.len = len,
		.place = PLACE_FIRST,
		.others = diff_spelling_has_internal(stack, len) ? PLACE_AMONG_JAVA : PLACE_OTHER,
	};
}

int diff_spelling__next(struct diff_spelling *spelling, struct diff_spelling_walk *walk,
			uint32_t *id)
{
	struct stack_frame frame;
	int err = 0;

	if (!stack_text_next(&walk->stack, &walk->len, &frame))
		return 0;
	if (join_frames(&frame, &walk->stack, &walk->len, &spelling->joined))
		err = strbuf_error(&spelling->joined);
	if (!err)
		err = find_text(spelling, &frame, walk->place, id);
	walk->place = walk->others;
	return err ? err : 1;
}

void diff_spelling__frame(const struct diff_spelling *spelling, uint32_t id,
			  struct stack_frame *out)
{
	size_t len = 0;
	const char *text = strtab__get(spelling->texts, id, &len);

	(void)stack_text_next(&text, &len, out);
}

bool diff_spelling_begins_with_java(const char *stack, size_t len)
{
	struct stack_frame frame;

	if (!stack_text_next(&stack, &len, &frame) || frame.kind == FRAME_KIND_KERNEL)
		return false;
	if (frame.kind != FRAME_KIND_NATIVE)
		return java_spelling_is_certain(frame.name, frame.name_len) ||
		       java_spelling_is_likely(frame.name, frame.name_len);
	return (frame.name_len > PROCESS_NAME_MAX &&
		java_spelling_is_certain(frame.name, frame.name_len)) ||
	       (frame.name_len == strlen(SIMPLE_ROOT) &&
		memcmp(frame.name, SIMPLE_ROOT, frame.name_len) == 0);
}

bool diff_spelling_begins_with_code(const char *stack, size_t len)
{
	struct stack_frame frame;

	if (!stack_text_next(&stack, &len, &frame))
		return false;
	if (frame.kind != FRAME_KIND_NATIVE)
		return true;
	/* Processes and threads may have any name but these. */
	if (is_thread_of_python(frame.name, frame.name_len))
		return false;
	return java_spelling_is_certain(frame.name, frame.name_len) ||
	       contains(frame.name, frame.name_len, "::") ||
	       memchr(frame.name, '(', frame.name_len) != NULL ||
	       (frame.name_len == strlen(UNKNOWN) &&
		memcmp(frame.name, UNKNOWN, strlen(UNKNOWN)) == 0);
}
