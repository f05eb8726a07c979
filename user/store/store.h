/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles on disk: DIR/v1/EVENT/YYYY/MM/DD/HH.zst (UTC), append-only files of independent zstd
 * frames; the bytes are described in FORMAT.md. One writer (it holds a lock), any number of
 * readers without a lock. A closed hour is rewritten merged (HH.zst again, layout B), days older
 * than a week as one file beside their directory (YYYY/MM/DD.zst).
 *
 * In: windows with folded text. Out: the same, by time and selection, borrowed for the call of a visitor.
 * Writers and readers are their openers'.
 */
#ifndef JBPF_STORE_STORE_H
#define JBPF_STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/model/window.h"
#include "user/store/format/limits.h"

#define STORE_DEFAULT_DIR "/var/lib/jbpf"

/* ---- writing ---- */

struct store_writer;

struct store_writer_options {
	uint64_t keep_age_ns;	/* hours older than this are deleted; 0 = keep */
	uint64_t keep_bytes;	/* oldest hours are deleted past this; 0 = no limit */
	uint64_t reserve_bytes; /* put by for a full disk (store_reserve_bytes()); 0 = none */
	int compression_level;	/* zstd; 0 = 6 */
	bool keeps_ticks;	/* the moments of stacks, too */
};

/* How much a daemon puts by: 64 MiB, or a sixteenth of keep_bytes when that is less. */
uint64_t store_reserve_bytes(uint64_t keep_bytes);

/*
 * May nobody but root and ourselves write to the store's directories? One that belongs to another
 * user, or that others may write to (its group, unless it is ours), would let them put links and
 * files into it, or take history away. A directory above it that is another user's, or that others
 * may write to, would let them exchange it whole; one of root's or ours that is sticky (/tmp) does
 * not. 0 (also for what is not there yet), or -EPERM with one line for people in `why`, or -errno.
 */
__must_check int store_dir_check(const char *dir, char *why, size_t why_len);

/*
 * Makes the directory when it is missing, takes the lock and finds a safe place to append: a file
 * that does not end at a record boundary is left as it is and a new one is begun beside it.
 * -EWOULDBLOCK: another jbpfd writes here. -EUCLEAN: others may write to it, store_dir_check() says
 * who. -EROFS, -EACCES, -ENOSPC, ... as the system says.
 */
__must_check int store_writer__open(const char *dir, const struct store_writer_options *options,
				    struct store_writer **out);
/* Closes the current file and gives the lock back. NULL is fine. */
void store_writer__free(struct store_writer *writer);

/*
 * Other limits and another reserve from now on, and deletes what is too much by them, as at open. The
 * compression level stays. What fails is logged; the writer is as good as before.
 */
void store_writer__change(struct store_writer *writer, const struct store_writer_options *options);

/*
 * Adds one stream's window to its event's tree: `text` is sorted folded text (may be empty for a
 * host record, where window->pid is 0); window->lines goes with it. Buffered until
 * store_writer__commit().
 *
 * Every error is this stream's only: nothing of it is in the buffer then, the others of the window
 * are, and the next ones may be added. The caller counts its samples as lost and goes on. -E2BIG:
 * the text is larger than STORE_TEXT_MAX_BYTES. -EINVAL: it holds a NUL or has no newline at its
 * end, and would change what others count. -ENOMEM: also this stream's only, a smaller one may fit.
 *
 * A code of threads that is none is left out. Two things are mended and told in the label
 * over_budget, if that is not taken: lines that are too large or no text are left out, and a window
 * longer than STORE_WINDOW_MAX_NS (suspend, SIGSTOP, a frozen cgroup) counts as so long, from its
 * start: a reader would not find it else.
 */
__must_check int store_writer__add(struct store_writer *writer, const struct window *window,
				   const char *text, size_t len);

/*
 * Writes what was added since the last commit in one go and fdatasyncs it. The hour is that of the
 * windows' start. When the disk is full (-ENOSPC, -EDQUOT) the reserve is made smaller and the
 * write tried again; history is never deleted for it.
 *
 * Every error is this window's only (of several hours: those that could not be written): nothing of
 * it is in the file afterwards, or the file is abandoned at its last good record and the next
 * commit begins another one. The added windows are dropped, their samples returned in *lost_samples
 * (those of a host record are the streams' and not counted again), and the writer is as good as
 * before: the next commit tries again.
 */
__must_check int store_writer__commit(struct store_writer *writer, uint64_t *lost_samples);

/*
 * Deletes what is too old or too much, at most a day of history for the sake of bytes (at open: as
 * much as is needed); fills the reserve. Of all events together: see retention.h. Called once per
 * hour and at open. Warns, once and then hourly, when nothing is deleted by age because the clock
 * is more than a day from the newest stored hour. 0 or -errno.
 */
__must_check int store_writer__retain(struct store_writer *writer, uint64_t now_unix_ns);

struct store_usage {
	uint64_t files;
	uint64_t bytes;
	uint64_t oldest_unix_s;	       /* begin of the oldest hour or day; 0 = there is none */
	uint64_t reserve_bytes;	       /* put by now, not in `bytes` */
	uint64_t reserve_target_bytes; /* to be put by: as in the options */
	bool is_clock_off;	       /* deleting by age is paused: see store_writer__retain() */
};

/* Lists the whole tree: not for every window. 0 or -errno. */
__must_check int store_writer__usage(const struct store_writer *writer, struct store_usage *out);

/*
 * One line for people: deleting by age is paused, less is put by for a full disk than should be.
 * Empty when neither is so. Cheap.
 */
void store_writer__problem(const struct store_writer *writer, char *out, size_t out_len);

/* ---- merging what is closed ---- */

#define STORE_DAY_FILE_AGE_NS (7 * 24 * STORE_WINDOW_MAX_NS) /* hours become days after it */
#define STORE_KEEP_TICKS_NS   (48 * STORE_WINDOW_MAX_NS)
#define STORE_DAY_ROW_NS      (300ull * 1000000000ull) /* windows in day files: the diff's blocks */

struct store_compaction {
	uint64_t now_unix_ns;
	uint64_t day_age_ns; /* 0 = STORE_DAY_FILE_AGE_NS */
	/*
	 * A day takes the windows of its hours away for ever. Its age is measured as retention does
	 * it, by what is stored, so that a clock that is days ahead merges nothing too early; true:
	 * by now_unix_ns.
	 */
	bool is_clock_sure;
	/*
	 * What retention deletes from; 0 = no limit. Past nine tenths of it the files that have more
	 * than four times the usual bytes an hour are written again with the stacks of the one
	 * container that has most of them cut to process and leaf: who writes much pushes out its own
	 * history before the oldest hours of all go.
	 */
	uint64_t keep_bytes;
	/*
	 * How long the moments of stacks are kept: an hour that ended longer ago is written without
	 * them, once more if need be. 0 = not at all. Age is measured as for days.
	 */
	uint64_t keep_ticks_ns;
	int compression_level; /* zstd; 0 = 9 */
	/* Asked between steps of at most some 100 ms: true ends it, nothing half-done stays. NULL = never. */
	bool (*should_stop)(void *ctx);
	void *ctx;
};

/* The label over_budget of a window that was cut; files have it. */
#define STORE_CUT_LABEL \
	"stacks are cut to their leaf: the store was full, most of it was written here"

bool store_window_is_cut(const struct window *window);

struct store_compaction_stats {
	uint64_t hours;	       /* files written: hours, ... */
	uint64_t days;	       /* ... days */
	uint64_t bytes_before; /* of the files they replace */
	uint64_t bytes_after;
	uint64_t samples;
	uint64_t damaged; /* stretches that could not be carried over; noted in the new file */
	uint64_t cut;	  /* files written again because one container made them large */
	uint64_t kept;	  /* damaged files that stay, with ".damaged" behind their names */
	uint64_t left;	  /* hours or days left as they are: unreadable, or of a newer format */
	uint64_t ticks_dropped; /* hours written again without the moments of stacks: too old */
	uint64_t paused; /* days left in hours: the clock is more than a day off what is stored */
};

/*
 * Rewrites closed hours merged, hours of old days as days, and removes what a crash left of earlier
 * tries. A file that is damaged is kept under another name; one that the disk does not give now is
 * left where it is, with its hour. An hour is closed when it is over and nobody appends to it.
 * Readers and the writer go on meanwhile; a second compaction waits for none: -EWOULDBLOCK. Each
 * file is replaced by rename or not at all. 0, -ECANCELED (should_stop), -ENOENT: no store,
 * -EUCLEAN: others may write to it (store_dir_check()), or -errno; *stats tells what was done until
 * then.
 */
__must_check int store_compact(const char *dir, const struct store_compaction *how,
			       struct store_compaction_stats *stats);

/* ---- reading ---- */

struct store_reader;

/* Of EVENT_CPU. 0, or -ENOENT when there is no store in `dir`, or -errno (-EACCES). */
__must_check int store_reader__open(const char *dir, struct store_reader **out);
/* Of that event, or view (event_view.h); -ENOENT also when the store has none of it, or of its sources. */
__must_check int store_reader__open_event(const char *dir, enum event event,
					  struct store_reader **out);
/* Which events the store has a tree of, as EVENT_BIT(); none when there is no store. 0 or -errno (-EACCES, -EIO). */
__must_check int store_events(const char *dir, uint32_t *events);
void store_reader__free(struct store_reader *reader); /* NULL is fine */

struct store_damage {
	const char *path; /* relative to the store's directory */
	uint64_t offset;  /* where the damage begins */
	uint64_t bytes;	  /* how much was skipped */
	const char *what; /* "torn tail", "bad checksum", ...; borrowed for the call */
	/* Could not be read just now. It may be intact: what was read is not all there is. */
	bool is_unreadable;
};

struct store_visitor {
	void *ctx;
	bool wants_lines;   /* window() gets the source lines, too; want() never does */
	bool wants_cells;   /* the same for the cells of time */
	bool wants_threads; /* the same for the code of threads */
	bool wants_ticks; /* the same for the moments of stacks, but of windows that come as one */
	bool checks_all;  /* every byte is looked at, also what nobody wants */
	/*
	 * How far windows of one stream with the same labels may be merged: those that begin in the
	 * same slot of that many ns since 1970 may come as one, with sums for counts (window_cnt,
	 * recorded_ns). 0 = not at all, UINT64_MAX = all of a file. Closed hours are read many times
	 * faster so. Windows across `since` or `until` are never part of a merged one that is not
	 * wholly inside [since, until).
	 */
	uint64_t merge_ns;
	/*
	 * Only windows that it takes (selection_takes()) come: want() is not asked for others. Borrowed.
	 * NULL = all come.
	 */
	const struct selection *selection;
	/* Is this window wanted? Labels are borrowed for the call. Its text is decoded only when
	 * true. NULL = all. */
	bool (*want)(void *ctx, const struct window *window);
	/*
	 * One window and its folded text, borrowed for the call. Non-zero ends the walk with it.
	 * want() may have been asked about the next few windows by then: texts are decoded ahead.
	 */
	int (*window)(void *ctx, const struct window *window, const char *text, size_t len);
	/*
	 * May the stacks of these two, both wanted, come as one text with either of them? A source for which that is
	 * less work asks; their lines then come with windows without text. NULL = never.
	 */
	bool (*same)(void *ctx, const struct window *a, const struct window *b);
	/* A damaged stretch was skipped. NULL = ignore. */
	void (*damage)(void *ctx, const struct store_damage *damage);
};

/*
 * Visits every window that overlaps [since, until), files in order of time; of a view source by source. Damage is reported and
 * skipped: it never hides an intact record behind it. All callbacks come in the calling thread.
 * 0, what the visitor returned, or -errno.
 */
__must_check int store_reader__visit(struct store_reader *reader, uint64_t since_unix_ns,
				     uint64_t until_unix_ns, const struct store_visitor *visitor);

#endif
