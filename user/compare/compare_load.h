/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows of the store as blocks of a comparison. A loader takes the windows of any number of
 * streams in any order (merged hours come stream by stream) and deals them out to blocks by when
 * they begin. Several processes of a service add up; the time of a block is that in which jbpfd
 * recorded where they ran (compare_records.h), one or ten; before the side's first window and behind
 * its last one it is not the side's (compare_cover.h). Samples of different rates weigh the time they stand
 * for (diff_tally.h).
 *
 * A young JVM interprets and compiles, so its profile says little about the code. Its windows are
 * left out, until they show the code as it stays (compare_warm_up.h), stream by stream: one replica that was started again neither hides nor colours the
 * others. Where no JVM was old enough when a block began, the block is left out as a whole, because
 * the time of the block counts in full and the CPU time of its other part does not: a restart would
 * look like less load. The age of a JVM is that of its process, at the begin of the window; a
 * merged window has the times of its first one. It is not known for windows without a start of
 * their process, and these are kept.
 *
 *     compare_load_range()                 one walk over the store for one side, or
 *     compare_load_walk()                  one that feeds many loaders; then compare_loader__finish()
 */
#ifndef JBPF_COMPARE_COMPARE_LOAD_H
#define JBPF_COMPARE_COMPARE_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/cli/cmd_store.h"
#include "user/cli/streams.h"
#include "user/diff/diff_catalog.h"
#include "user/diff/diff_side.h"
#include "user/model/select.h"
#include "user/model/window.h"
#include "user/output/diff/diff_output.h"
#include "user/store/store_source.h"

#define COMPARE_LOAD_EVENT_CPU	  1
#define COMPARE_LOAD_OTHER_STACKS "[other stacks]"
#define COMPARE_LOAD_SPAN_MAX_NS  (200ull * 86400 * 1000000000ull)

/* What to load. Texts are borrowed until the loader has finished. */
struct compare_load {
	/* Whose, and which leaves; its times are not looked at. */
	const struct selection *selection;
	enum event event; /* the view; of EVENT_WALL and of waiting a count is 100 ms */
	/* Globs by label, SELECT_BY_CNT of each; NULL = any. A stream that is of `others` is not of the side. */
	const char *const *labels;
	const char *const *others;
	uint64_t since_unix_ns; /* windows that begin in [since, until) */
	uint64_t until_unix_ns;
	uint64_t block_ns;  /* whole seconds, at most a day; see diff_side_block_length_ns() */
	uint32_t warm_up_s; /* of JVMs that may warm up: so long at most; 0 = none */
	bool wants_streams; /* compare_loaded.streams is filled */
	/*
	 * For compare_load_range(): of more different stacks the heaviest are kept, and the others are
	 * "PROCESS;" COMPARE_LOAD_OTHER_STACKS. 0 = all are. With more to expect less is learned of those
	 * that are not kept.
	 */
	uint32_t stacks_max;
	bool expects_more_stacks;
	struct compare_heavy *heavy; /* compare_load_range() sets it */
};

/* One side as it was read. Ended with compare_loaded_release(). */
struct compare_loaded {
	struct diff_side *side;
	/* Of all windows that match, also those that were left out. */
	struct window_counts counts;
	struct streams streams;
	uint64_t first_unix_ns; /* when samples begin and end; both 0 when there are none */
	uint64_t last_unix_ns;
	uint64_t window_ns;	      /* the longest window */
	uint64_t lost_samples;	      /* the hosts', as many as are this side's by share */
	uint64_t other_stack_samples; /* of the blocks', by stacks that were not kept */
	/* Why samples are not in the blocks. */
	uint64_t warm_up_samples; /* of young JVMs, and of blocks left out for them */
	size_t bad_line_cnt;
};

void compare_loaded_release(struct compare_loaded *loaded);

/* Counts, losses, streams, JVM, image; name and times are the caller's. Texts live with `loaded`. */
void compare_loaded_describe(const struct compare_loaded *loaded, struct diff_output_side *out);

/* Is it a process's, of the side, and is there something in it? */
bool compare_load_takes(const struct compare_load *what, const struct window *window);

struct compare_loader;

/* 0, -ENOMEM, or -EINVAL when range, block length or span make no sense. */
__must_check int compare_loader__new(const struct compare_load *what, struct diff_catalog *catalog,
				     struct compare_loader **out);
void compare_loader__free(struct compare_loader *loader); /* NULL is fine */

/*
 * To be asked about every window once, also about host records, as struct store_visitor does it: true
 * when its text is wanted for compare_loader__add().
 */
bool compare_loader__want(struct compare_loader *loader, const struct window *window);
/* A wanted window with its text. 0, -ENOMEM, or -E2BIG (too many different stacks). */
__must_check int compare_loader__add(struct compare_loader *loader, const struct window *window,
				     const char *text, size_t len);
/*
 * Before their sides are made, of loaders of the same blocks whose sides are to be added up or compared with their
 * sum: counts of a block stand for the same in all of them.
 */
void compare_loaders_agree(struct compare_loader *const *loaders, size_t cnt);
/* Makes the side, once, after the last window. 0 or -errno, also one that want() could not return. */
__must_check int compare_loader__finish(struct compare_loader *loader, struct compare_loaded *out);

/* Whose window it is; NULL = nobody's, whose text is not decoded. 0 or -errno, which ends the walk. */
typedef int (*compare_loader_of_fn)(void *ctx, const struct window *window,
				    struct compare_loader **out);
/* One walk over the range feeds all loaders. Damage is noted; -EIO when of that something could not be read. */
__must_check int compare_load_walk(struct store_source *reader, const struct compare_load *what,
				   compare_loader_of_fn loader_of, void *ctx,
				   struct cmd_store_damage *damage);
/* All of that for one range. Damage is noted, not ended. 0 or -errno. */
__must_check int compare_load_range(struct store_source *reader, const struct compare_load *what,
				    struct diff_catalog *catalog, struct cmd_store_damage *damage,
				    struct compare_loaded *out);

#endif
