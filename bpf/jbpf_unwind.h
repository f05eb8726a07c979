/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * The part of the contract that says how code without frame pointers is unwound: tables of rules per
 * file, made by user space from .eh_frame, and which file a process has where. Includes nothing; see
 * jbpf.h.
 *
 * A table is an array of words in chunks of JBPF_UNWIND_CHUNK_WORDS. It begins with one word per
 * 4 KiB of the file's code, jbpf_unwind_page(): where the rows of that page are, and how many. Rows
 * of a page lie in one chunk, ordered by address; the first is of the page's first byte. A row holds
 * from its address on up to the next one's, or to the end of the page.
 */
#ifndef JBPF_UNWIND_H
#define JBPF_UNWIND_H

#define JBPF_UNWIND_PAGE_SHIFT	12
#define JBPF_UNWIND_CHUNK_WORDS 1008 /* values of 4,096 bytes would take 8 KiB of the kernel's */
#define JBPF_UNWIND_MAX_WORDS	(1u << 20)

/* Key of the map `unwind_chunks`: the table's id, never 0, and the number of the chunk in it. */
#define JBPF_UNWIND_CHUNK_BITS 11
#define JBPF_UNWIND_MAX_TABLE  ((1u << (32 - JBPF_UNWIND_CHUNK_BITS)) - 1)

/* The word of a page: at which word of the table its rows begin, how many less one; 0: no rows. */
#define JBPF_UNWIND_PAGE_CNT_BITS 10

/*
 * A row: bits 0-11 the address in its page, 12-14 the kind, 15-21 the slot of the frame pointer
 * (n: saved at CFA - 8n; 0: it is still in its register), 22-31 what the kind says. The return
 * address lies at CFA - 8 on x86_64. On aarch64 slot n means x29 at CFA - 8n and x30 at the word
 * above it; 0: both are in their registers, which only a leaf's x30 may be.
 */
#define JBPF_ROW_KIND_SHIFT  12
#define JBPF_ROW_SLOT_SHIFT  15
#define JBPF_ROW_VALUE_SHIFT 22
#define JBPF_ROW_PC_MASK     0xfffu
#define JBPF_ROW_KIND_MASK   0x7u
#define JBPF_ROW_SLOT_MASK   0x7fu
#define JBPF_ROW_VALUE_MASK  0x3ffu

enum jbpf_row_kind {
	JBPF_ROW_SP = 0,      /* CFA = sp + 8 * value */
	JBPF_ROW_FP = 1,      /* CFA = fp + 8 * value */
	JBPF_ROW_SPECIAL = 2, /* value: enum jbpf_row_special */
	/*
	 * CFA = *(fp + 8 * n) + 8 * m: n in the value's high 7 bits, signed, m in its low 3. Slot
	 * JBPF_SLOT_AT_FP, where no frame pointer can be, on x86_64: it is saved where fp points.
	 * That is how gcc realigns the stack of a function that has arguments on it.
	 */
	JBPF_ROW_AT_FP = 3,
	JBPF_ROW_AT_SP = 4, /* the same from sp */
	/* CFA = sp + 8 * n: slot in the low 3 bits of the 17 that slot and value have, n above. */
	JBPF_ROW_BIG = 5,
};

#define JBPF_SLOT_AT_FP 1

enum jbpf_row_special {
	JBPF_SPECIAL_NONE = 0, /* no rule is known: padding, code without an FDE */
	JBPF_SPECIAL_END = 1,  /* return address undefined: the thread's first function */
	/* Of a PLT entry: CFA = sp + 8 + ((pc & 15) >= 11 ? 8 : 0). */
	JBPF_SPECIAL_PLT = 2,
	JBPF_SPECIAL_SIGNAL = 3, /* a signal's frame: registers are in the ucontext at sp */
	/*
	 * Code that keeps frame pointers: CFA = fp + 16, fp at CFA - 16. Only where it is the leaf
	 * the rest matters: in the first `slot` bytes from the row's address the frame is not made
	 * yet (in the last 3 of them, mov rbp, rsp, CFA = sp + 16 and fp is at CFA - 16; before,
	 * CFA = sp + 8), and at a ret (c3) CFA = sp + 8. Slot 0: no such bytes, as in a function's
	 * later pages, or behind a prologue of another form, which has rows of its own.
	 */
	JBPF_SPECIAL_FRAME = 4,
	JBPF_SPECIAL_UNSUPPORTED = 5, /* there is a rule that no row can hold */
};

/*
 * The executable mappings of one process: value of the map `spaces`, key is the host tgid. User space
 * writes it, programs use it only for the very run of the program it was written for, and delete it
 * with its exec and exit. A process without an entry is walked by frame pointers alone.
 */
#define JBPF_SPACE_MAX_MAPPINGS 64

struct jbpf_mapping {
	__u32 page_cnt; /* of 4 KiB */
	__u32 page;	/* of the table: that of the mapping's first page */
	__u32 table;	/* id; 0: see flags */
	__u32 flags;	/* JBPF_MAPPING_* */
};

/*
 * Code that the table says nothing of, in pages without rows, keeps frame pointers; all of it where
 * there is no table. Code that compilers generate has no unwind information in any file: the
 * builtins in Node's program, for one.
 */
#define JBPF_MAPPING_KEEPS_FP (1u << 0)

struct jbpf_space {
	__u64 start_ns;
	__u32 exec_id;
	/*
	 * Another number with each entry that is written, of whatever process: what was found with it
	 * is void when it changes. Never 0.
	 */
	__u32 generation;
	__u32 mapping_cnt;
	__u32 flags;			      /* JBPF_SPACE_* */
	__u64 start[JBPF_SPACE_MAX_MAPPINGS]; /* ascending; those from mapping_cnt on are ~0 */
	struct jbpf_mapping mappings[JBPF_SPACE_MAX_MAPPINGS];
};

#define JBPF_SPACE_IS_PARTIAL (1u << 0) /* it has more executable mappings than there are here */

#define JBPF_SPACES_MAX	       4096
#define JBPF_UNWIND_CHUNKS_MAX 2048 /* 8 MiB */
/* Of rows, for one stack; those that a CPU's memo has do not count. */
#define JBPF_UNWIND_SEARCHES_MAX 256

static inline __attribute__((always_inline)) __u32 jbpf_row(__u32 pc, __u32 kind, __u32 slot,
							    __u32 value)
{
	return (pc & JBPF_ROW_PC_MASK) | kind << JBPF_ROW_KIND_SHIFT | slot << JBPF_ROW_SLOT_SHIFT |
	       value << JBPF_ROW_VALUE_SHIFT;
}

_Static_assert(sizeof(struct jbpf_mapping) == 16, "jbpf_mapping has no padding");
_Static_assert(sizeof(struct jbpf_space) == 24 + 24 * JBPF_SPACE_MAX_MAPPINGS,
	       "jbpf_space has no padding");
_Static_assert(JBPF_UNWIND_MAX_WORDS <= JBPF_UNWIND_CHUNK_WORDS << JBPF_UNWIND_CHUNK_BITS,
	       "the number of a chunk fits into its key");

#endif
