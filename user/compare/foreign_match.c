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
#include "user/util/cleanup.h"
#include "user/util/strtab.h"

struct side {
	const struct profile *profile;
	struct diff_spelling *spelling;
	struct strtab *kernel; /* names that it marks as the kernel's */
	bool has_kernel_names_unmarked;
	struct foreign_match_side facts;
};

struct foreign_match {
	struct side sides[2];
};

/* Frames of a stack, in the spelling of all. */
struct walk {
	struct side *side;
	struct diff_spelling_walk at;
	struct stack_frame frame;
	bool is_first; /* the frame is a process */
	bool has_begun;
};

static struct walk walk_stack(struct side *side, const struct profile_stack *stack)
{
	struct walk walk = { .side = side };

	diff_spelling_walk(&walk.at, stack->text, stack->len);
	return walk;
}

/* 1: walk->frame is the next one. 0: there are no more. Else -ENOMEM. */
static int walk_next(struct walk *walk)
{
	uint32_t id;
	int err = diff_spelling__next(walk->side->spelling, &walk->at, &id);

	if (err <= 0)
		return err;
	diff_spelling__frame(walk->side->spelling, id, &walk->frame);
	walk->is_first = !walk->has_begun;
	walk->has_begun = true;
	return 1;
}

/* ---- what the frames are ---- */

static int learn_frame(struct side *side, const struct walk *walk)
{
	const struct stack_frame *frame = &walk->frame;
	uint32_t id;

	if (frame->kind == FRAME_KIND_KERNEL)
		return strtab__intern(side->kernel, frame->name, frame->name_len, &id);
	return 0;
}

static int learn(struct side *side)
{
	int err = 0;

	for (size_t i = 0; !err && i < profile__stack_count(side->profile); i++) {
		struct profile_stack stack = profile__stack(side->profile, i);
		struct walk walk = walk_stack(side, &stack);

		while ((err = walk_next(&walk)) > 0) {
			err = walk.is_first ? 0 : learn_frame(side, &walk);
			if (err)
				break;
		}
	}
	return err;
}

/* ---- what the stacks are ---- */

static int survey(struct side *side, const struct side *other)
{
	int err = 0;

	for (size_t i = 0; !err && i < profile__stack_count(side->profile); i++) {
		struct profile_stack stack = profile__stack(side->profile, i);
		struct walk walk = walk_stack(side, &stack);

		while ((err = walk_next(&walk)) > 0)
			if (!walk.is_first && walk.frame.kind == FRAME_KIND_NATIVE &&
			    strtab__find(other->kernel, walk.frame.name, walk.frame.name_len) !=
				    STRTAB_NONE)
				side->has_kernel_names_unmarked = true;
	}
	return err;
}

/*
 * Some write "Cart.total(int)", async-profiler and jbpf "Cart.total"; async-profiler and jbpf write
 * "do_syscall_64_[k]", stackcollapse-perf.pl only when it is asked to.
 */
static void decide(struct side *side, const struct side *other)
{
	struct diff_spelling_methods methods = diff_spelling__methods(side->spelling);
	struct diff_spelling_methods others = diff_spelling__methods(other->spelling);

	side->facts.loses_parameters = methods.with_parameters && !others.with_parameters &&
				       others.without;
	side->facts.loses_kernel_marks = !strtab__count(other->kernel) &&
					 other->has_kernel_names_unmarked;
}

/* ---- interface ---- */

static int side_init(struct side *side, const struct profile *profile)
{
	side->profile = profile;
	side->spelling = diff_spelling__new();
	side->kernel = strtab__new();
	return side->spelling && side->kernel ? learn(side) : -ENOMEM;
}

int foreign_match__new(const struct profile *before, const struct profile *after,
		       struct foreign_match **out)
{
	struct foreign_match *match = calloc(1, sizeof(*match));
	int err = match ? side_init(&match->sides[0], before) : -ENOMEM;

	if (!err)
		err = side_init(&match->sides[1], after);
	for (int i = 0; !err && i < 2; i++)
		err = survey(&match->sides[i], &match->sides[1 - i]);
	if (err) {
		foreign_match__free(match);
		return err;
	}
	for (int i = 0; i < 2; i++)
		decide(&match->sides[i], &match->sides[1 - i]);
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
	free(match);
}

const struct foreign_match_side *foreign_match__side(const struct foreign_match *match, int side)
{
	return &match->sides[side].facts;
}

int foreign_match__append(struct foreign_match *match, int side, const struct profile_stack *stack,
			  struct strbuf *out)
{
	const struct foreign_match_side *facts = &match->sides[side].facts;
	struct walk walk = walk_stack(&match->sides[side], stack);
	int err;

	while ((err = walk_next(&walk)) > 0) {
		bool loses_mark = facts->loses_kernel_marks && walk.frame.kind == FRAME_KIND_KERNEL;

		if (!walk.is_first)
			strbuf_putc(out, ';');
		strbuf_append(out, walk.frame.text,
			      loses_mark ? walk.frame.name_len : walk.frame.text_len);
	}
	return err ? err : strbuf_error(out);
}
