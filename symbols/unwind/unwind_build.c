// SPDX-License-Identifier: Apache-2.0
/*
 * From the entries of .eh_frame to the rows of a table; see unwind_table.h. Three steps: rows of one
 * function after the other, which become one where the function keeps frame pointers in the plain way
 * (half of a JVM's library does, and nine tenths of its rows say so); padding between functions, which
 * nothing runs, goes to the row before it; then the rows are dealt to pages.
 */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/elf/eh_frame.h"
#include "symbols/elf/elf_file.h"
#include "symbols/unwind/cfi.h"
#include "symbols/unwind/code_text.h"
#include "symbols/unwind/unwind_table.h"
#include "user/util/cleanup.h"
#include "user/util/vec.h"

#define PAGE_BYTES (1ull << JBPF_UNWIND_PAGE_SHIFT)
#define ROW_NONE   jbpf_row(0, JBPF_ROW_SPECIAL, 0, JBPF_SPECIAL_NONE)

/* Rows of a function that keeps frame pointers. */
#define ROW_ENTRY  jbpf_row(0, JBPF_ROW_SP, 0, 1)
#define ROW_PUSHED jbpf_row(0, JBPF_ROW_SP, 2, 2)
#define ROW_MADE   jbpf_row(0, JBPF_ROW_FP, 2, 2)
/* Once fp is popped: some compilers still say where it was. */
#define ROW_POPPED jbpf_row(0, JBPF_ROW_SP, 2, 1)

/* Of a prologue: push rbp; mov rbp, rsp. */
#define PUSH_BYTES     1u
#define MOVE_BYTES     3u
#define ENDBR_BYTES    4u
#define FRAME_SLOT_MAX (ENDBR_BYTES + PUSH_BYTES + MOVE_BYTES)
#define X86_RET	       0xc3
#define PADDING_MAX    CODE_TEXT_MAX_ASK_BYTES

struct build {
	const struct elf_file *file;
	struct eh_frame frame;
	struct cfi *cfi;
	struct cfi_rows function; /* of the FDE at hand */
	struct cfi_rows rows;	  /* of all, up to `end` */
	uint64_t end;		  /* 0: there was no function yet */
	struct code_text *text;
};

static uint32_t row_frame(uint32_t slot)
{
	return jbpf_row(0, JBPF_ROW_SPECIAL, slot, JBPF_SPECIAL_FRAME);
}

static bool row_is_frame(uint32_t row)
{
	return (row & ~(JBPF_ROW_SLOT_MASK << JBPF_ROW_SLOT_SHIFT)) == row_frame(0);
}

/* ---- functions that keep frame pointers ---- */

/*
 * How many bytes at its beginning make the frame in the plain way: push rbp; mov rbp, rsp as its
 * first instructions, except for an endbr64. 0: the frame is made otherwise.
 */
static uint32_t build_prologue(struct build *build, const struct eh_frame_fde *fde)
{
	static const uint8_t endbr[ENDBR_BYTES] = { 0xf3, 0x0f, 0x1e, 0xfa };
	static const uint8_t moves[2][PUSH_BYTES + MOVE_BYTES] = { { 0x55, 0x48, 0x89, 0xe5 },
								   { 0x55, 0x48, 0x8b, 0xec } };
	const struct cfi_row *rows = build->function.items;
	const uint8_t *code;
	uint64_t pushed;

	if (build->function.cnt < 3 || rows[0].row != ROW_ENTRY || rows[1].row != ROW_PUSHED ||
	    rows[2].row != ROW_MADE || rows[2].start != rows[1].start + MOVE_BYTES)
		return 0;
	pushed = rows[1].start - rows[0].start;
	if (pushed != PUSH_BYTES && pushed != ENDBR_BYTES + PUSH_BYTES)
		return 0;
	code = code_text_at(build->text, fde->from, (size_t)pushed + MOVE_BYTES);
	if (!code || (pushed > PUSH_BYTES && memcmp(code, endbr, ENDBR_BYTES) != 0))
		return 0;
	code += pushed - PUSH_BYTES;
	if (memcmp(code, moves[0], sizeof(moves[0])) != 0 &&
	    memcmp(code, moves[1], sizeof(moves[1])) != 0)
		return 0;
	return (uint32_t)pushed + MOVE_BYTES;
}

/* Does the row cover only a ret, and padding behind it that nothing runs? */
static bool build_is_ret(struct build *build, const struct cfi_row *row, uint64_t end)
{
	const uint8_t *code;

	if ((row->row != ROW_ENTRY && row->row != ROW_POPPED) ||
	    end - row->start > CODE_TEXT_MAX_ASK_BYTES)
		return false;
	code = code_text_at(build->text, row->start, (size_t)(end - row->start));
	return code && code[0] == X86_RET &&
	       code_text_is_padding(build->file->machine, code + 1, (size_t)(end - row->start) - 1);
}

/*
 * Rows that say the same as JBPF_SPECIAL_FRAME become one: a complete frame, its rets, and the
 * bytes that make it.
 */
static void build_join_frames(struct build *build, const struct eh_frame_fde *fde)
{
	struct cfi_rows *rows = &build->function;
	uint32_t slot = build_prologue(build, fde);
	size_t kept = 0, i = 0;

	if (slot) {
		rows->items[kept++].row = row_frame(slot);
		i = 3;
	}
	for (; i < rows->cnt; i++) {
		struct cfi_row row = rows->items[i];
		bool is_framed = kept && row_is_frame(rows->items[kept - 1].row);
		uint64_t end = i + 1 < rows->cnt ? rows->items[i + 1].start : fde->end;

		if (is_framed && (row.row == ROW_MADE || build_is_ret(build, &row, end)))
			continue;
		if (row.row == ROW_MADE)
			row.row = row_frame(0);
		rows->items[kept++] = row;
	}
	rows->cnt = kept;
}

/* ---- rows of the file ---- */

static int build_add(struct build *build, uint64_t start, uint32_t row)
{
	const struct cfi_rows *rows = &build->rows;

	/* A part of a function whose frame is made already continues the row before it. */
	if (row == row_frame(0) && rows->cnt && row_is_frame(rows->items[rows->cnt - 1].row) &&
	    start - rows->items[rows->cnt - 1].start >= FRAME_SLOT_MAX)
		return 0;
	/* Each function begins with its own bytes that make a frame. */
	return row_is_frame(row) ? cfi_rows_push(&build->rows, start, row) :
				   cfi_rows_add(&build->rows, start, row);
}

/*
 * What is between the last function and this one: padding, or functions that somebody wrote by hand and
 * said nothing of, as libjvm's SpinPause() and _Copy_conjoint_jlongs(). Compilers say something of each
 * part of a function, so what begins here begins with a call, and its return address stays at the stack
 * pointer when nothing moves that.
 */
static int build_add_gap(struct build *build, uint64_t start)
{
	uint64_t len = start - build->end;
	const uint8_t *code = NULL;
	bool has_rule;

	if (build->end == 0 || len == 0)
		return 0;
	if (len <= PADDING_MAX)
		code = code_text_at(build->text, build->end, (size_t)len);
	if (code && code_text_is_padding(build->file->machine, code, (size_t)len))
		return 0;
	has_rule = code_text_keeps_stack(build->text, build->end, start);
	return build_add(build, build->end, has_rule ? ROW_ENTRY : ROW_NONE);
}

static int build_add_function(struct build *build, const struct eh_frame_fde *fde)
{
	int err = build_add_gap(build, fde->from);

	if (!err)
		err = cfi__run(build->cfi, fde, &build->function);
	if (!err && build->file->machine == EM_X86_64)
		build_join_frames(build, fde);
	for (size_t i = 0; !err && i < build->function.cnt; i++)
		err = build_add(build, build->function.items[i].start,
				build->function.items[i].row);
	build->end = fde->end;
	return err;
}

static int build_rows(struct build *build)
{
	int err = 0;

	for (size_t i = 0; !err && i < build->frame.fde_cnt; i++)
		err = build_add_function(build, &build->frame.fdes[i]);
	return err ? err : build_add(build, build->end, ROW_NONE);
}

/* ---- pages ---- */

struct pages {
	struct unwind_table *table;
	size_t cap; /* of its words */
	const struct cfi_rows *rows;
	size_t next; /* the first row behind the page at hand */
	uint32_t page[JBPF_UNWIND_CHUNK_WORDS];
	uint32_t page_cnt;
	bool is_full; /* the page has more rows than a chunk */
};

static int pages_reserve(struct pages *pages, uint32_t cnt)
{
	struct unwind_table *table = pages->table;

	if (cnt > JBPF_UNWIND_MAX_WORDS - table->word_cnt)
		return -EFBIG;
	return vec_reserve(table->words, (size_t)table->word_cnt + cnt, pages->cap, 1024);
}

static int pages_append(struct pages *pages, const uint32_t *words, uint32_t cnt)
{
	int err = pages_reserve(pages, cnt);

	if (err)
		return err;
	if (words)
		memcpy(pages->table->words + pages->table->word_cnt, words, cnt * sizeof(*words));
	else
		memset(pages->table->words + pages->table->word_cnt, 0, cnt * sizeof(*words));
	pages->table->word_cnt += cnt;
	return 0;
}

static void page_add(struct pages *pages, uint64_t in_page, uint32_t row)
{
	if (pages->page_cnt == JBPF_UNWIND_CHUNK_WORDS)
		pages->is_full = true;
	else
		pages->page[pages->page_cnt++] = row | (uint32_t)in_page;
}

/* What the row before the page says of the page's first byte. */
static uint32_t page_first_row(const struct pages *pages, uint64_t start)
{
	const struct cfi_row *row;
	uint64_t passed;
	uint32_t slot;

	if (pages->next == 0)
		return ROW_NONE;
	row = &pages->rows->items[pages->next - 1];
	if (!row_is_frame(row->row))
		return row->row;
	/* The end of a prologue that began in the page before. */
	slot = row->row >> JBPF_ROW_SLOT_SHIFT & JBPF_ROW_SLOT_MASK;
	passed = start - row->start;
	return row_frame(passed < slot ? slot - (uint32_t)passed : 0);
}

/* The rows of the page that begins there, into pages->page. */
static void page_collect(struct pages *pages, uint64_t start)
{
	const struct cfi_rows *rows = pages->rows;

	pages->page_cnt = 0;
	pages->is_full = false;
	if (pages->next == rows->cnt || rows->items[pages->next].start != start)
		page_add(pages, 0, page_first_row(pages, start));
	for (; pages->next < rows->cnt; pages->next++) {
		const struct cfi_row *row = &rows->items[pages->next];

		if (row->start - start >= PAGE_BYTES)
			break;
		page_add(pages, row->start - start, row->row);
	}
	if (pages->is_full) {
		pages->page_cnt = 0;
		page_add(pages, 0, jbpf_row(0, JBPF_ROW_SPECIAL, 0, JBPF_SPECIAL_UNSUPPORTED));
	}
}

static int pages_add(struct pages *pages, uint32_t number)
{
	struct unwind_table *table = pages->table;
	uint32_t left;
	int err = 0;

	page_collect(pages, table->address + number * PAGE_BYTES);
	if (pages->page_cnt == 1 && pages->page[0] == ROW_NONE)
		return 0;
	left = JBPF_UNWIND_CHUNK_WORDS - table->word_cnt % JBPF_UNWIND_CHUNK_WORDS;
	if (left < pages->page_cnt)
		err = pages_append(pages, NULL, left);
	if (err)
		return err;
	table->words[number] = table->word_cnt << JBPF_UNWIND_PAGE_CNT_BITS | (pages->page_cnt - 1);
	table->row_cnt += pages->page_cnt;
	return pages_append(pages, pages->page, pages->page_cnt);
}

/* Of all code: its first page's address, and how many there are. */
static int build_span(const struct elf_file *file, struct unwind_table *out)
{
	uint64_t low = UINT64_MAX, high = 0;

	for (size_t i = 0; i < file->segment_cnt; i++) {
		const struct elf_segment *segment = &file->segments[i];
		uint64_t end;

		if (segment->type != PT_LOAD || !(segment->flags & PF_X) ||
		    __builtin_add_overflow(segment->address, segment->file_size, &end) ||
		    end > UINT64_MAX - PAGE_BYTES)
			continue;
		low = segment->address < low ? segment->address : low;
		high = end > high ? end : high;
	}
	if (low >= high)
		return -ENODATA;
	low &= ~(PAGE_BYTES - 1);
	if ((high - low + PAGE_BYTES - 1) / PAGE_BYTES > JBPF_UNWIND_MAX_WORDS)
		return -EFBIG;
	out->address = low;
	out->page_cnt = (uint32_t)((high - low + PAGE_BYTES - 1) / PAGE_BYTES);
	return 0;
}

static int build_pages(const struct build *build, struct unwind_table *table)
{
	struct pages pages = { .table = table, .rows = &build->rows };
	uint32_t *words;
	int err = pages_append(&pages, NULL, table->page_cnt);

	for (uint32_t i = 0; !err && i < table->page_cnt; i++)
		err = pages_add(&pages, i);
	words = err ? NULL : reallocarray(table->words, table->word_cnt, sizeof(*words));
	if (words)
		table->words = words;
	return err;
}

static void build_release(struct build *build)
{
	eh_frame_release(&build->frame);
	cfi__free(build->cfi);
	cfi_rows_release(&build->function);
	cfi_rows_release(&build->rows);
	free(build->text);
}

/*
 * Go's compiler keeps frame pointers (cmd/internal/obj/x86: since 1.7) and writes no .eh_frame; the
 * C code that was linked with it has one.
 */
static bool is_go(const struct elf_file *file)
{
	return elf_file_section(file, ".gopclntab") || elf_file_section(file, ".note.go.buildid") ||
	       elf_file_section(file, ".go.buildinfo");
}

/* Builds from build->frame, if reading that succeeded (`err`). Releases everything in *build. */
static int build_finish(struct build *build, int err, struct unwind_table *out)
{
	struct unwind_table table = { 0 };

	if (!err)
		err = build_span(build->file, &table);
	if (!err) {
		build->cfi = cfi__new(&build->frame, build->file->machine);
		build->text = calloc(1, sizeof(*build->text));
		err = build->cfi && build->text ? 0 : -ENOMEM;
	}
	if (!err) {
		build->text->file = build->file;
		err = build_rows(build);
	}
	if (!err)
		err = build_pages(build, &table);
	build_release(build);
	if (err)
		unwind_table_release(&table);
	else
		*out = table;
	return err;
}

int unwind_table_build(const struct elf_file *file, struct unwind_table *out)
{
	struct build build = { .file = file };
	int err = is_go(file) ? -EOPNOTSUPP : eh_frame_read(file, &build.frame);

	return build_finish(&build, err, out);
}

int unwind_table_build_debug(const struct elf_file *file, const struct elf_file *debug,
			     struct unwind_table *out)
{
	struct build build = { .file = file };

	return build_finish(&build, eh_frame_read_debug(file, debug, &build.frame), out);
}
