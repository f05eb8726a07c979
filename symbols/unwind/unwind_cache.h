/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which files have an unwind table in the kernel, under which id, and whose turn it is to go when
 * there is no room. No I/O, and no rows: a table is handed to the listener when it comes, and what is
 * kept of it is its id, its size and a digest of its content. By that it is shared: the same library
 * in many images costs the kernel's memory once. A build id decides nothing, as a container can put
 * any build id on any rows.
 *
 * Room is counted in chunks of JBPF_UNWIND_CHUNK_WORDS. One account has at most as many as are left
 * for all others. Tables of which no process was sampled in this window or the last one go first, the
 * one that was longest out of use before all; those in use stay.
 *
 * An id names one content for as long as the listener knows of it: leaving() comes before drop(), and
 * only then the number is free. Numbers are handed out in turn, so that one comes back late.
 */
#ifndef JBPF_UNWIND_UNWIND_CACHE_H
#define JBPF_UNWIND_UNWIND_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "symbols/elf/elf_symtab.h"
#include "symbols/unwind/unwind_table.h"

struct unwind_cache;
struct unwind_entry; /* a table that files share */

enum unwind_file_state {
	UNWIND_FILE_NEW = 0, /* not looked for, or it had to go */
	UNWIND_FILE_TABLE = 1,
	UNWIND_FILE_NONE = 2,	 /* it has no unwind information */
	UNWIND_FILE_REFUSED = 3, /* what it has cannot be used */
};

#define UNWIND_FILE_SEGMENTS 2u

/* One file, a part of what stands for it. Zeroed: nothing is known. Fields are private. */
struct unwind_file {
	struct unwind_entry *entry; /* NULL: it has no table in the kernel */
	struct unwind_file *next;   /* of those of the entry */
	uint64_t address;	    /* of the table's first page */
	uint64_t retry_account;	    /* who has to wait; ACCOUNT_NONE: all */
	uint32_t retry_window;	    /* not before */
	uint32_t retry_cnt;	    /* in a row */
	enum unwind_file_state state;
	uint32_t
		refusal; /* why it got no table the last time: enum unwind_refusal + 1; 0 = it did */
	bool keeps_fp;	 /* its code keeps frame pointers where no table says more */
	uint32_t segment_cnt; /* 0: it is not known where its code lies */
	struct elf_code_segment segments[UNWIND_FILE_SEGMENTS];
};

/* Why a file that could have a table has none; counted. */
enum unwind_refusal {
	UNWIND_REFUSED_LARGE = 0, /* more than a table may have, or than half of all room */
	UNWIND_REFUSED_DAMAGED,	  /* its information makes no sense, or the parser failed on it */
	UNWIND_REFUSED_UNREADABLE, /* a process could not open, read, or have it parsed: others may */
	UNWIND_REFUSED_SHARE,	   /* its account holds as much as is left for all others */
	UNWIND_REFUSED_FULL,	   /* all tables are in use */
	UNWIND_REFUSED_KERNEL,	   /* the kernel did not take it */
	UNWIND_REFUSAL_CNT,
};

/* Called from the functions below; what is passed is borrowed. */
struct unwind_listener {
	void *ctx;
	void (*table)(void *ctx, uint32_t id, const struct unwind_table *table);
	/* Nothing may name it any more: unwind_cache_table() gives 0 for its files already. */
	void (*leaving)(void *ctx, uint32_t id);
	void (*drop)(void *ctx, uint32_t id);
};

/* Without room. NULL only when memory is short. */
struct unwind_cache *unwind_cache__new(void);
/* Does not call the listener. All files must be gone or out of use. NULL is fine. */
void unwind_cache__free(struct unwind_cache *cache);
void unwind_cache_listen(struct unwind_cache *cache, const struct unwind_listener *listener);

/*
 * What there is on the other side, at its beginning and whenever it changed: room for so many
 * chunks (0: no tables are wanted), and the ids of the tables it has, ascending. Others are
 * forgotten; those of which nothing is known here are dropped. New ids begin with `next_id` or
 * above.
 */
void unwind_cache_begin(struct unwind_cache *cache, uint32_t chunk_max, uint32_t next_id,
			const uint32_t *ids, size_t id_cnt);
bool unwind_cache_is_on(const struct unwind_cache *cache);
void unwind_cache_begin_window(struct unwind_cache *cache);

/* Is its table to be built now, by this account? */
bool unwind_cache_wants(const struct unwind_cache *cache, const struct unwind_file *file,
			uint64_t account);
/*
 * The table of a file, which is shared if there is an equal one, else told to the listener after room
 * was made. `account`: id of who brings it. 0; -EDQUOT, -ENOSPC: refused, asked for again after some
 * windows; at -EDQUOT others may ask at once, and whoever is refused beside the one that waits has to rest by
 * himself; -EFBIG: it takes more than half of all room; -ENOMEM.
 */
__must_check int unwind_cache_put(struct unwind_cache *cache, struct unwind_file *file,
				  const struct unwind_table *table, uint64_t account);
/*
 * The file has none: -ENODATA there is no information; -EOPNOTSUPP: the same, but its code keeps
 * frame pointers; -EFBIG, -ENOEXEC, -ENOTRECOVERABLE: never. Anything else is of the process that asked: it
 * is told as unreadable, and still wanted.
 */
void unwind_cache_fail(struct unwind_cache *cache, struct unwind_file *file, int err);
/* The other side did not take this one. */
void unwind_cache_refuse(struct unwind_cache *cache, uint32_t id);
/* What stands for the file ends. */
void unwind_file_forget(struct unwind_file *file);

/* Id of its table, which is used in this window from here on; 0 = none. */
uint32_t unwind_cache_use(const struct unwind_cache *cache, const struct unwind_file *file);

/* Where its code lies: of more than UNWIND_FILE_SEGMENTS the first ones. */
void unwind_file_set_segments(struct unwind_file *file, const struct elf_code_segment *segments,
			      size_t cnt);
bool unwind_file_has_segments(const struct unwind_file *file);
/* Is any of it in these bytes of the file? */
bool unwind_file_has_code(const struct unwind_file *file, uint64_t offset, uint64_t len);
/* Those of `from`, which stands for the same file. */
void unwind_file_copy_segments(struct unwind_file *file, const struct unwind_file *from);

/*
 * The part of a mapping that the file's table covers: `start` is where it maps the file's `offset`,
 * `page_cnt` its length. False: none.
 */
struct unwind_span {
	uint64_t start;
	uint32_t page_cnt;
	uint32_t page; /* of the table */
	uint32_t table;
};

/* Was it refused the last time, and why? */
bool unwind_file_refusal(const struct unwind_file *file, enum unwind_refusal *why_out);
/* Does its code keep frame pointers where its table, if it has one, says nothing of it? */
bool unwind_file_keeps_fp(const struct unwind_file *file);
bool unwind_file_span(const struct unwind_file *file, uint64_t start, uint64_t offset, uint64_t len,
		      struct unwind_span *out);

/* How much room it takes. */
uint32_t unwind_table_chunks(const struct unwind_table *table);

struct unwind_stats {
	uint32_t table_cnt; /* now */
	uint32_t chunk_cnt;
	uint64_t built_cnt; /* since the beginning; so are the others */
	uint64_t evicted_cnt;
	uint64_t refused_cnt[UNWIND_REFUSAL_CNT];
};

void unwind_cache_stats(const struct unwind_cache *cache, struct unwind_stats *out);

#endif
