/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the process that samples and the process that names say to each other, as packets
 * (user/util/packet_stream.h). Both are the same program, so structures travel as they are; but the
 * one that names looks into hostile processes all day, so what comes from it is checked as a
 * stranger's: lengths, ends of strings, numbers that index anything.
 *
 *     sampler                                namer
 *     OPTIONS, BANNED ---------------------->    first of all AWAKE, when it is a copy (namer_copy.h)
 *     UNWIND ------------------------------>    which tables there are
 *     KSYMBOLS ---------------------------->    sampling begins; before each window
 *     NOTICE, STACKS ----------------------->   while processes run
 *          <------------------------------ UNWIND_TABLE, UNWIND_DROP, SPACE
 *     UNWIND_REFUSED ---------------------->
 *          <-------- MET, CODE_RANGE, HOTSPOT, LEAF_RULE, OPT_OUT, ACCOUNT, PREFETCH_INTERVAL
 *     WINDOW ------------------------------->   at its end, or a part of it before
 *          <------------------------------ STREAM ... STREAM, END
 *     MAP ------------------------------>   a command that writes maps (naming_map.h), and nothing else
 *          <------------------------------ MAP_CODE ... MAP_CODE, MAP_END
 */
#ifndef JBPF_NAMING_NAMING_WIRE_H
#define JBPF_NAMING_NAMING_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "bpf/jbpf_user.h"

#include "bpf/jbpf_unwind.h"
#include "bpf/jbpf_hotspot.h"
#include "bpf/jbpf_leaf.h"
#include "symbols/symbols.h"
#include "symbols/unwind/unwind_cache.h"
#include "user/collect/probe/sample_source.h"
#include "user/host/ksymbol_watch.h"
#include "user/model/window.h"
#include "user/util/packet_stream.h"
#include "user/util/strbuf.h"

enum naming_packet {
	NAMING_NONE = 0,
	/* To the namer. */
	NAMING_OPTIONS = 1, /* struct naming_options */
	NAMING_NOTICE = 2,  /* struct jbpf_notice */
	NAMING_STACKS = 3,  /* new stacks: see naming_stack_put(); none: only the round ends */
	NAMING_WINDOW = 4,  /* see naming_window_put() */
	NAMING_BANNED = 5,  /* struct naming_banned */
	NAMING_AWAKE = 6,   /* struct naming_options: what of it is not yet so */
	NAMING_UNWIND = 7,  /* struct naming_unwind */
	NAMING_UNWIND_REFUSED = 8, /* struct naming_unwind_id: it did not become one */
	NAMING_MAP = 9,		   /* struct naming_map */
	NAMING_KSYMBOLS = 10,	   /* struct ksymbol_changes, without places that are empty */
	/* From it. */
	NAMING_READY = 16,	       /* nothing */
	NAMING_CODE_RANGE = 17,	       /* struct naming_code_range */
	NAMING_OPT_OUT = 18,	       /* struct naming_opt_out */
	NAMING_ACCOUNT = 19,	       /* struct naming_account */
	NAMING_PREFETCH_INTERVAL = 20, /* struct naming_prefetch_interval */
	NAMING_STREAM = 21,	       /* see naming_stream_put() */
	NAMING_END = 22,	       /* struct naming_end */
	NAMING_UNWIND_TABLE = 23,      /* see naming_unwind_table_put() */
	NAMING_UNWIND_DROP = 24,       /* struct naming_unwind_id */
	NAMING_SPACE = 25,	       /* struct naming_space */
	NAMING_HOTSPOT = 26,	       /* struct naming_hotspot */
	NAMING_LEAF_RULE = 27,	       /* struct naming_leaf_rule */
	NAMING_MAP_CODE = 28,	       /* see naming_map_code_put() */
	NAMING_MAP_END = 29,	       /* struct naming_map_answer */
	NAMING_MET = 30, /* as STREAM, without samples and text: see naming_met_put() */
};

struct naming_options {
	uint32_t jit; /* enum jit_mode */
	uint32_t ignores_opt_out;
	uint32_t wants_ticks;
	uint32_t log_level; /* enum log_level */
	/* 1: what was named by other rules is forgotten, all processes are met again. */
	uint32_t forgets;
	uint32_t keeps_parameters;
};

/* From now on nothing of these processes is opened, read or asked: their frames have no names. */
struct naming_banned {
	uint64_t account; /* 0: only the process below */
	uint64_t start_ns;
	uint64_t until_boot_ns;
	uint32_t pid;
	uint32_t pad;
};

struct naming_code_range {
	struct jbpf_code_range range;
	uint64_t account; /* 0 = not known */
	uint32_t pid;
	uint32_t is_first; /* of this run of the program: from here on its stacks are better */
};

/* How to find frames of a JVM that keeps no frame pointers. */
struct naming_hotspot {
	struct jbpf_hotspot hotspot;
	uint64_t account; /* 0 = not known */
	uint32_t pid;
	uint32_t pad;
};

/* Where the caller of a leaf is, for a leaf whose caller the walk does not find by itself. */
struct naming_leaf_rule {
	struct jbpf_leaf_key key;
	struct jbpf_leaf_proof proof;
	uint64_t account; /* 0 = not known */
};

struct naming_opt_out {
	struct jbpf_known process;
	uint32_t pid;
	uint32_t pad;
};

/* The account that pays for what processes of this cgroup do. */
struct naming_account {
	uint64_t cgroup_id;
	uint64_t account;
};

/* How soon after a sample its stack should be prefetched, in ns; 0: there is no need. */
struct naming_prefetch_interval {
	uint64_t interval_ns;
};

/*
 * Which tables the kernel has; all that was said of them in another epoch is void. `id_cnt` ids of
 * uint32_t follow, ascending.
 */
struct naming_unwind {
	uint32_t epoch;
	uint32_t chunk_max; /* there is room for so many; 0: none are wanted */
	uint32_t next_id;   /* new ids begin here or above */
	uint32_t id_cnt;
};

struct naming_unwind_id {
	uint32_t epoch;
	uint32_t id; /* 1 to JBPF_UNWIND_MAX_TABLE */
};

/* Where a process has which code. Its generation is not yet set. */
struct naming_space {
	struct jbpf_space space;
	uint64_t account; /* 0 = not known */
	uint32_t pid;
	uint32_t epoch;
};

/* Of a packet with these changes. */
static inline size_t naming_ksymbols_len(const struct ksymbol_changes *changes)
{
	return offsetof(struct ksymbol_changes, items) + changes->cnt * sizeof(changes->items[0]);
}

/* NULL: it is damaged. Only `cnt` of the items are there. */
const struct ksymbol_changes *naming_ksymbols_read(const void *bytes, size_t len);

/* What the namer reports of a window as a whole, and of itself. */
struct naming_end {
	uint64_t window_id;
	uint64_t goes_on;	       /* as of what it answers */
	uint64_t opted_out[EVENT_CNT]; /* samples that were counted before it was known */
	uint64_t undecided[EVENT_CNT];
	uint64_t not_named[EVENT_CNT]; /* samples of streams whose naming failed */
	uint64_t lost_cells;	       /* of EVENT_CPU alone: others have no moments */
	uint64_t cut;
	uint64_t process_cnt;
	uint64_t symbol_bytes;
	uint64_t parser_failures;
	uint64_t parser_restarts;
	uint64_t cpu_ns; /* of the namer and of its parsers, so far */
	uint64_t resident_bytes;
	uint64_t unwind_tables; /* now */
	uint64_t unwind_bytes;	/* of the kernel's memory */
	uint64_t unwind_built;	/* since the namer began; so are the others */
	uint64_t unwind_evicted;
	uint64_t unwind_refused[UNWIND_REFUSAL_CNT];
	uint64_t leafs_proved;	/* rules that were said, since the namer began */
	uint64_t leafs_refuted; /* samples since then whose leaf had a caller that was none */
};

/* Which code does this process have, and whose is it? */
struct naming_map {
	uint64_t
		start_ns; /* CLOCK_BOOTTIME ns, as an answer said; 0: whichever has the number now */
	uint32_t pid;
	uint32_t only_jvms;   /* of others no more is asked */
	uint32_t wants_code;  /* else only whose it is */
	uint32_t wants_alloc; /* and where its JVM allocates */
};

/* Its strings end with a NUL, and are cut where they are longer. */
struct naming_map_answer {
	uint64_t start_ns; /* 0: there is no such process */
	uint32_t pid;
	uint32_t is_jvm;
	uint32_t source; /* of its code: enum jit_source */
	uint32_t euid;
	uint32_t
		is_of_the_host; /* it sees the files of the host, and its own number as the host does */
	uint32_t opt_out;	/* enum opt_out */
	struct alloc_target alloc; /* without functions when none were asked for, or found */
	char container[256];
	char container_id[72];
	char problem[256]; /* why its code is not told, for people; "" = it is */
};

/* ---- new stacks ---- */

/* One record in STACKS; `frame_cnt` words follow, and 4 more when flags has JBPF_STACK_LEAF_*. */
struct naming_stack {
	uint64_t hash; /* 0 in STACKS */
	uint64_t start_ns;
	uint64_t since_boot_ns;
	uint32_t pid;
	uint32_t exec_id;
	uint32_t frame_cnt;
	uint16_t end;	/* enum jbpf_stack_end */
	uint16_t flags; /* JBPF_STACK_LEAF_* */
};

/* Appends the stack as a record. 0 or -ENOMEM. */
__must_check int naming_stack_put(struct strbuf *out, const struct naming_stack *head,
				  const struct probe_stack *stack);

/*
 * Takes the next record out of [*at, end), aligned to 8. `stack_out` borrows from there. False: no
 * more, or what is left is none.
 */
bool naming_stack_next(const uint8_t **at, const uint8_t *end, struct naming_stack *head_out,
		       struct probe_stack *stack_out);

/* ---- a window to be named ---- */

struct naming_window {
	uint64_t window_id;
	uint64_t start_boot_ns;
	uint64_t
		start_unix_ns; /* as it is stored: what lies within the window is counted from it */
	uint64_t end_boot_ns;
	uint64_t tick_seed; /* of jbpf_key_tag() */
	uint32_t count_cnt;
	uint32_t tick_cnt;
	uint32_t frequency_hz;
	uint32_t cpu_cnt;
	uint32_t account_cnt;
	uint32_t goes_on; /* 1: a part; what is left of it comes later, and has its accounts */
	/* counts, ticks, accounts, then records of stacks up to the packet's end */
};

/* As the namer reads it; borrows from the packet's bytes. */
struct naming_batch {
	struct naming_window head;
	const struct probe_count *counts; /* as probe_batch has them */
	const struct probe_tick *ticks;
	const struct probe_account *accounts; /* one may come several times: they add up */
	const uint8_t *bytes;		      /* of the packet */
	uint32_t *slots;   /* hash table: offset of a stack's record / 8, 0 = free */
	uint32_t slot_cnt; /* power of two */
};

/* What follows the head: as many as it says, and records of stacks. Borrowed. */
struct naming_window_parts {
	const struct probe_count *counts;
	const struct probe_tick *ticks;
	const struct probe_account *accounts;
	const struct strbuf *stacks;
};

/* Queues the window. 0, -ENOMEM or -EMSGSIZE. */
__must_check int naming_window_put(struct packet_stream *stream, const struct naming_window *head,
				   const struct naming_window_parts *window);
/* Appends the records of the stacks that the counts name, each once. 0 or -ENOMEM. */
__must_check int naming_stacks_of(const struct sample_source *source,
				  const struct probe_count *counts, size_t cnt, struct strbuf *out);

/* 0, -ENOMEM, or -EBADMSG: not such a packet. End with naming_batch_release(). */
__must_check int naming_batch_read(const void *bytes, size_t len, struct naming_batch *out);
void naming_batch_release(struct naming_batch *batch);
/* The stack of a hash. -ENOENT: its record was lost. Borrowed from the packet. */
__must_check int naming_batch_stack(const struct naming_batch *batch, uint64_t hash,
				    struct probe_stack *out);

/* ---- tables ---- */

/* Queues a table. 0, -ENOMEM or -EMSGSIZE. */
__must_check int naming_unwind_table_put(struct packet_stream *stream,
					 const struct naming_unwind_id *id,
					 const struct unwind_table *table);
/* 0, or -EBADMSG: it is none that programs can walk by. The words are borrowed from the packet. */
__must_check int naming_unwind_table_read(const void *bytes, size_t len,
					  struct naming_unwind_id *id_out,
					  struct unwind_table *out);

/* 0, or -EBADMSG. The ids are borrowed from the packet. */
__must_check int naming_unwind_read(const void *bytes, size_t len, struct naming_unwind *head_out,
				    const uint32_t **ids_out);

/* ---- code for a map ---- */

/* Appends a range of code as a record. 0 or -ENOMEM. */
__must_check int naming_map_code_put(struct strbuf *out, uint64_t start, uint64_t len,
				     const char *name);
/*
 * Takes the next record out of [*at, end), aligned to 8. The name is borrowed from there. False: no
 * more, or what is left is none.
 */
bool naming_map_code_next(const uint8_t **at, const uint8_t *end, uint64_t *start_out,
			  uint64_t *len_out, const char **name_out);
/* 0, or -EBADMSG: it is none. */
__must_check int naming_map_answer_read(const void *bytes, size_t len,
					struct naming_map_answer *out);

/* ---- a named stream ---- */

/* Queues the window of one stream. 0, -ENOMEM or -EMSGSIZE. */
__must_check int naming_stream_put(struct packet_stream *stream, const struct window *window,
				   const char *text, size_t len);

/*
 * Queues what a process is called that was just met and wants to be recorded: identity and labels; read as
 * a stream. As above.
 */
__must_check int naming_met_put(struct packet_stream *stream, const struct window *window);

/* 0, or -EBADMSG. All is borrowed from the packet; `text` ends with a NUL behind `len` bytes. */
__must_check int naming_stream_read(const void *bytes, size_t packet_len, struct window *window_out,
				    const char **text_out, size_t *len_out);

#endif
