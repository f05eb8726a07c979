// SPDX-License-Identifier: Apache-2.0
/*
 * See foreign_match.h. Each file is read twice: what its frames are, and, as soon as that is known of
 * both, what its stacks are.
 */
#include "user/compare/foreign_match.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/diff/diff_spelling.h"
#include "user/model/stack_text.h"
#include "user/names/java_name.h"
#include "user/names/java_spelling.h"
#include "user/util/cleanup.h"
#include "user/util/strtab.h"

#define NAMELESS_MIN   0.005 /* of a side's samples in Java */
#define NAMELESS_RATIO 10    /* async-profiler has no name for some, too */

struct side {
	const struct profile *profile;
	struct diff_spelling *spelling;
	uint32_t learned;      /* of its texts, so many */
	struct strtab *kernel; /* names that it marks as the kernel's */
	bool is_internal;      /* its Java is "java/lang/Thread.run", or "Thread.run" */
	bool has_kernel_names_unmarked;
	bool has_native_parameters;
	bool has_cpp_without_parameters;
	bool has_dashes;
	bool has_libraries; /* in front of functions */
	bool has_processes;
	bool has_roots; /* code in front of the first method in Java */
	bool has_clone; /* in front of stacks */
	bool has_start_thread;
	bool has_stubs;
	bool has_stub_groups; /* "StubRoutines (1)" */
	bool has_bare_stubs;  /* FOREIGN_STUBS alone */
	bool has_stubs_by_name;
	uint64_t java_samples;
	uint64_t interpreter_samples;
	struct foreign_match_side facts;
};

struct foreign_match {
	struct side sides[2];
	struct strtab *methods; /* in Java, of both, without parameters */
};

/* Frames of a stack, in the spelling of all. */
struct walk {
	const struct foreign_match *match;
	const struct side *side;
	struct diff_spelling_walk at;
	struct stack_frame frame;
	uint32_t id;   /* of the frame's text, in order of first sight */
	bool is_first; /* the frame is a process */
	bool is_second;
	bool is_java; /* as far as that is known yet, or interpreted */
	bool is_stub; /* with a name of its own */
	bool has_begun;
};

static struct walk walk_stack(const struct foreign_match *match, int side,
			      const struct profile_stack *stack)
{
	struct walk walk = { .match = match, .side = &match->sides[side] };

	diff_spelling_walk(&walk.at, stack->text, stack->len);
	return walk;
}

/* Of "libc.so.6`read", as DTrace, perf and async-profiler's option -l have it, what is in front of "read". */
static size_t library_len(const struct stack_frame *frame)
{
	const char *tick = frame->kind == FRAME_KIND_NATIVE && frame->name_len ?
				   memchr(frame->name, '`', frame->name_len) :
				   NULL;
	size_t len = tick ? (size_t)(tick - frame->name) : 0;

	return len && memmem(frame->name, len, ".so", strlen(".so")) && len + 1 < frame->name_len ?
		       len + 1 :
		       0;
}

static bool frame_is(const struct stack_frame *frame, const char *name)
{
	size_t skip = library_len(frame);

	return frame->name_len - skip == strlen(name) &&
	       memcmp(frame->name + skip, name, frame->name_len - skip) == 0;
}

/* Of the name, without the parameters behind it. */
static size_t bare_len(const struct stack_frame *frame)
{
	const char *open = frame->name_len ? memchr(frame->name, '(', frame->name_len) : NULL;

	return open ? (size_t)(open - frame->name) : frame->name_len;
}

static bool is_marked_java(const struct stack_frame *frame)
{
	return frame->kind != FRAME_KIND_NATIVE && frame->kind != FRAME_KIND_KERNEL &&
	       java_spelling_may_be(frame->name, bare_len(frame));
}

/* What stands for methods that are interpreted where a profiler cannot name them. */
static bool is_interpreter(const struct stack_frame *frame)
{
	return frame->kind == FRAME_KIND_NATIVE && frame_is(frame, FOREIGN_INTERPRETER);
}

/* "StubRoutines (1)" */
static bool is_of_stubs(const struct stack_frame *frame)
{
	size_t len = strlen(FOREIGN_STUBS);

	return frame->kind == FRAME_KIND_NATIVE && frame->name_len >= len &&
	       memcmp(frame->name, FOREIGN_STUBS, len) == 0;
}

/*
 * Of "a::f(int, char (*)()) const" how long "a::f" is: the list of parameters is the last pair of brackets, and what
 * is behind it are qualifiers. The name's own length where there is none: "operator()", "StubRoutines (1)", and
 * Python's "f (a.py:1)".
 */
static size_t without_native_parameters(const struct stack_frame *frame)
{
	const char *name = frame->name;
	size_t close = frame->name_len, depth = 0;

	while (close && name[close - 1] != ')')
		close--;
	for (size_t i = close; i < frame->name_len; i++)
		if (!strchr(" abcdefghijklmnopqrstuvwxyz&", name[i]))
			return frame->name_len;
	for (size_t i = close; i > 0; i--) {
		depth += name[i - 1] == ')';
		if (name[i - 1] != '(' || --depth)
			continue;
		return i == 1 || name[i - 2] == ' ' ||
				       (i > strlen("operator") &&
					memcmp(name + i - 1 - strlen("operator"), "operator",
					       strlen("operator")) == 0) ?
			       frame->name_len :
			       i - 1;
	}
	return frame->name_len;
}

/* What bcc's option -d puts between functions and the kernel's; no symbol is called so. */
static bool is_dash(const struct walk *walk)
{
	const struct stack_frame *frame = &walk->frame;

	return !walk->is_first && frame->kind == FRAME_KIND_NATIVE &&
	       (frame_is(frame, "-") || frame_is(frame, "--"));
}

/* What the C library's threads begin with: unwinders end with start_thread, or go on to its caller. */
static bool is_clone(const struct walk *walk)
{
	static const char *const names[] = { "clone3", "clone", "__clone3", "__clone" };
	const char *rest = walk->at.stack;
	size_t len = walk->at.len;
	struct stack_frame next;

	if (!walk->is_second || !stack_text_next(&rest, &len, &next) ||
	    !frame_is(&next, "start_thread"))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (frame_is(&walk->frame, names[i]))
			return true;
	return false;
}

/*
 * "Main.work" of no package is anybody's, but not in a file of async-profiler, nor where a stack of either file
 * says that it is a method in Java.
 */
static bool is_java(const struct walk *walk)
{
	const struct stack_frame *frame = &walk->frame;

	if (is_marked_java(frame) || is_interpreter(frame))
		return true;
	return frame->kind == FRAME_KIND_NATIVE &&
	       java_spelling_is_likely(frame->name, frame->name_len) &&
	       (walk->side->is_internal ||
		strtab__find(walk->match->methods, frame->name, frame->name_len) != STRTAB_NONE);
}

/* 1: walk->frame is the next one. 0: there are no more. Else -ENOMEM. */
static int walk_next(struct walk *walk)
{
	struct stack_frame before = walk->frame;
	int err = diff_spelling__next(walk->side->spelling, &walk->at, &walk->id);

	if (err <= 0)
		return err;
	diff_spelling__frame(walk->side->spelling, walk->id, &walk->frame);
	walk->is_second = walk->is_first;
	walk->is_first = !walk->has_begun;
	walk->is_stub = (walk->is_java || walk->is_stub || is_of_stubs(&before)) &&
			walk->frame.kind == FRAME_KIND_NATIVE &&
			java_name_is_stub(walk->frame.name, walk->frame.name_len);
	walk->is_java = !walk->is_first && is_java(walk);
	walk->has_begun = true;
	return 1;
}

/* ---- what the frames are ---- */

static int learn_frame(struct foreign_match *match, struct side *side, const struct walk *walk)
{
	const struct stack_frame *frame = &walk->frame;
	uint32_t id;

	/* async-profiler's classes without packages */
	if (walk->is_second && frame_is(frame, "Thread.run"))
		side->is_internal = true;
	if (walk->id < side->learned)
		return 0;
	side->learned = walk->id + 1;
	if (frame->kind == FRAME_KIND_KERNEL)
		return strtab__intern(side->kernel, frame->name, frame->name_len, &id);
	if (is_marked_java(frame))
		return strtab__intern(match->methods, frame->name, bare_len(frame), &id);
	return 0;
}

static int learn(struct foreign_match *match, int at)
{
	struct side *side = &match->sides[at];
	int err = 0;

	for (size_t i = 0; !err && i < profile__stack_count(side->profile); i++) {
		struct profile_stack stack = profile__stack(side->profile, i);
		struct walk walk = walk_stack(match, at, &stack);

		side->is_internal = side->is_internal ||
				    diff_spelling_has_internal(stack.text, stack.len);
		while ((err = walk_next(&walk)) > 0) {
			err = walk.is_first ? 0 : learn_frame(match, side, &walk);
			if (err)
				break;
		}
	}
	return err;
}

/* ---- what the stacks are ---- */

static void survey_frame(struct side *side, const struct side *other, const struct walk *walk)
{
	const struct stack_frame *frame = &walk->frame;

	if (frame->kind == FRAME_KIND_NATIVE &&
	    strtab__find(other->kernel, frame->name, frame->name_len) != STRTAB_NONE)
		side->has_kernel_names_unmarked = true;
	if (frame->kind == FRAME_KIND_NATIVE && !walk->is_java) {
		bool has_list = without_native_parameters(frame) < frame->name_len;

		side->has_native_parameters = side->has_native_parameters || has_list;
		side->has_cpp_without_parameters =
			side->has_cpp_without_parameters ||
			(!has_list && memmem(frame->name, frame->name_len, "::", 2));
	}
	side->has_dashes = side->has_dashes || is_dash(walk);
	side->has_libraries = side->has_libraries || library_len(frame);
	side->has_clone = side->has_clone || is_clone(walk);
	side->has_start_thread = side->has_start_thread ||
				 (walk->is_second && frame_is(frame, "start_thread"));
	if (is_of_stubs(frame)) {
		bool is_bare = frame_is(frame, FOREIGN_STUBS);

		side->has_stubs = true;
		side->has_bare_stubs = side->has_bare_stubs || is_bare;
		side->has_stub_groups = side->has_stub_groups || !is_bare;
	}
	side->has_stubs_by_name = side->has_stubs_by_name || walk->is_stub;
	if (frame->kind == FRAME_KIND_INTERPRETED)
		side->facts.names_some_interpreted = true;
}

/* "[unknown]", "[break_compiled]": a word of a profiler, and no code. */
static bool is_code(const struct stack_frame *frame)
{
	return frame->name_len && *frame->name != '[';
}

/*
 * How many frames are in front of the first method in Java, with the process; *has_code: one of them is more than
 * that. 0: there is no Java. Else -ENOMEM.
 */
static int count_root(struct foreign_match *match, int at, const struct profile_stack *stack,
		      size_t *out, bool *has_code)
{
	struct walk walk = walk_stack(match, at, stack);
	size_t cnt = 0;
	int err;

	*out = 0;
	*has_code = false;
	while ((err = walk_next(&walk)) > 0 && !walk.is_java) {
		*has_code = *has_code || (!walk.is_first && is_code(&walk.frame));
		cnt++;
	}
	if (err > 0)
		*out = cnt;
	return err < 0 ? err : 0;
}

static int survey(struct foreign_match *match, int at)
{
	struct side *side = &match->sides[at];
	int err = 0;

	for (size_t i = 0; !err && i < profile__stack_count(side->profile); i++) {
		struct profile_stack stack = profile__stack(side->profile, i);
		struct walk walk = walk_stack(match, at, &stack);
		bool has_code, has_interpreter = false;
		size_t root;

		while ((err = walk_next(&walk)) > 0) {
			has_interpreter = has_interpreter || is_interpreter(&walk.frame);
			if (!walk.is_first)
				survey_frame(side, &match->sides[1 - at], &walk);
			else if (!frame_is(&walk.frame, FOREIGN_ROOT))
				side->has_processes = true;
		}
		if (!err)
			err = count_root(match, at, &stack, &root, &has_code);
		if (!err && root) {
			side->java_samples += stack.count;
			side->interpreter_samples += has_interpreter ? stack.count : 0;
			side->has_roots = side->has_roots || has_code;
		}
	}
	return err;
}

/* Of the samples in Java, those that have methods which are interpreted and not named. */
static double nameless_share(const struct side *side)
{
	return side->java_samples ? (double)side->interpreter_samples / (double)side->java_samples :
				    0;
}

/*
 * Some write "Cart.total(int)", async-profiler and jbpf "Cart.total"; async-profiler and jbpf write
 * "do_syscall_64_[k]", stackcollapse-perf.pl only when it is asked to. async-profiler and flight recordings have
 * neither a process nor the JVM's own functions that call Java's first method, perf and jbpf have both.
 */
static void decide(struct side *side, const struct side *other)
{
	struct diff_spelling_methods methods = diff_spelling__methods(side->spelling);
	struct diff_spelling_methods others = diff_spelling__methods(other->spelling);

	side->facts.loses_parameters = methods.with_parameters && !others.with_parameters &&
				       others.without;
	side->facts.loses_kernel_marks = !strtab__count(other->kernel) &&
					 other->has_kernel_names_unmarked;
	side->facts.loses_native_parameters = side->has_native_parameters &&
					      !other->has_native_parameters &&
					      other->has_cpp_without_parameters;
	side->facts.loses_dashes = side->has_dashes && !other->has_dashes &&
				   profile__stack_count(other->profile);
	side->facts.loses_libraries = side->has_libraries && !other->has_libraries &&
				      profile__stack_count(other->profile);
	side->facts.loses_roots = side->has_roots && other->java_samples && !other->has_roots;
	side->facts.loses_clone = side->has_clone && other->has_start_thread && !other->has_clone;
	side->facts.loses_processes = side->has_processes && !other->has_processes &&
				      profile__stack_count(other->profile);
	side->facts.has_nameless_interpreted =
		other->java_samples && nameless_share(side) >= NAMELESS_MIN &&
		nameless_share(side) > nameless_share(other) * NAMELESS_RATIO;
	side->facts.loses_stubs = side->has_stubs_by_name && !side->has_stubs && other->has_stubs &&
				  !other->has_stubs_by_name;
}

/* stackcollapse-perf.pl takes what is behind "StubRoutines" for parameters. */
static void decide_groups(struct side *side, const struct side *other)
{
	side->facts.loses_stub_groups = side->has_stub_groups && !other->has_stub_groups &&
					(other->has_bare_stubs || other->facts.loses_stubs);
}

/* ---- interface ---- */

static int add_side(struct foreign_match *match, int at, const struct profile *profile)
{
	struct side *side = &match->sides[at];

	side->profile = profile;
	side->spelling = diff_spelling__new();
	side->kernel = strtab__new();
	return side->spelling && side->kernel ? learn(match, at) : -ENOMEM;
}

int foreign_match__new(const struct profile *before, const struct profile *after,
		       struct foreign_match **out)
{
	struct foreign_match *match = calloc(1, sizeof(*match));
	int err;

	if (!match)
		return -ENOMEM;
	match->methods = strtab__new();
	err = match->methods ? add_side(match, 0, before) : -ENOMEM;
	if (!err)
		err = add_side(match, 1, after);
	for (int i = 0; !err && i < 2; i++)
		err = survey(match, i);
	if (err) {
		foreign_match__free(match);
		return err;
	}
	for (int i = 0; i < 2; i++)
		decide(&match->sides[i], &match->sides[1 - i]);
	for (int i = 0; i < 2; i++)
		decide_groups(&match->sides[i], &match->sides[1 - i]);
	*out = match;
	return 0;
}

void foreign_match__free(struct foreign_match *match)
{
	if (!match)
		return;
	for (int i = 0; i < 2; i++) {
		diff_spelling__free(match->sides[i].spelling);
		strtab__free(match->sides[i].kernel);
	}
	strtab__free(match->methods);
	free(match);
}

const struct foreign_match_side *foreign_match__side(const struct foreign_match *match, int side)
{
	return &match->sides[side].facts;
}

/* A frame of native code, which has no suffix. */
static void append_native(const struct foreign_match_side *facts, const struct stack_frame *frame,
			  struct strbuf *out)
{
	size_t skip = facts->loses_libraries ? library_len(frame) : 0;
	size_t end = facts->loses_native_parameters ? without_native_parameters(frame) :
						      frame->name_len;

	strbuf_append(out, frame->name + skip, end - skip);
}

static void append_frame(const struct foreign_match_side *facts, const struct walk *walk,
			 struct strbuf *out)
{
	const struct stack_frame *frame = &walk->frame;
	bool is_native = frame->kind == FRAME_KIND_NATIVE;

	if ((facts->loses_stubs && walk->is_stub) ||
	    (facts->loses_stub_groups && is_of_stubs(frame)))
		strbuf_puts(out, FOREIGN_STUBS);
	else if (walk->is_first && facts->loses_processes)
		strbuf_puts(out, FOREIGN_ROOT);
	else if (frame->kind == FRAME_KIND_KERNEL && facts->loses_kernel_marks)
		strbuf_append(out, frame->name, frame->name_len);
	else if (is_native && !walk->is_first && !walk->is_java)
		append_native(facts, frame, out);
	else
		strbuf_append(out, frame->text, frame->text_len);
	if (walk->is_java && is_native && !is_interpreter(frame))
		strbuf_puts(out, frame_kind_suffix(FRAME_KIND_JIT));
}

int foreign_match__append(struct foreign_match *match, int side, const struct profile_stack *stack,
			  struct strbuf *out)
{
	const struct foreign_match_side *facts = &match->sides[side].facts;
	struct walk walk = walk_stack(match, side, stack);
	size_t root = 0;
	bool has_code;
	int err = facts->loses_roots ? count_root(match, side, stack, &root, &has_code) : 0;

	if (err)
		return err;
	for (size_t i = 0; (err = walk_next(&walk)) > 0; i++) {
		if ((i && i < root) || (facts->loses_clone && is_clone(&walk)) ||
		    (facts->loses_dashes && is_dash(&walk)))
			continue;
		if (i)
			strbuf_putc(out, ';');
		append_frame(facts, &walk, out);
	}
	return err ? err : strbuf_error(out);
}
