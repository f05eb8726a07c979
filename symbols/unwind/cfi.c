// SPDX-License-Identifier: Apache-2.0
/*
 * The interpreter of call frame instructions; see cfi.h. A CIE's instructions are run once, and each
 * FDE starts with a copy of what they gave: many FDEs may share a long CIE. What no row can hold
 * becomes JBPF_SPECIAL_UNSUPPORTED, never a guess.
 */
#include "symbols/unwind/cfi.h"

#include <elf.h>
#include <errno.h>
#include <linux/types.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/jbpf_unwind.h"
#include "user/util/cleanup.h"
#include "user/util/vec.h"

#define CFI_MAX_REMEMBERED 16u

enum cfi_op {
	CFA_NOP = 0x00,
	CFA_SET_LOC = 0x01,
	CFA_ADVANCE_LOC1 = 0x02,
	CFA_ADVANCE_LOC2 = 0x03,
	CFA_ADVANCE_LOC4 = 0x04,
	CFA_OFFSET_EXTENDED = 0x05,
	CFA_RESTORE_EXTENDED = 0x06,
	CFA_UNDEFINED = 0x07,
	CFA_SAME_VALUE = 0x08,
	CFA_REGISTER = 0x09,
	CFA_REMEMBER_STATE = 0x0a,
	CFA_RESTORE_STATE = 0x0b,
	CFA_DEF_CFA = 0x0c,
	CFA_DEF_CFA_REGISTER = 0x0d,
	CFA_DEF_CFA_OFFSET = 0x0e,
	CFA_DEF_CFA_EXPRESSION = 0x0f,
	CFA_EXPRESSION = 0x10,
	CFA_OFFSET_EXTENDED_SF = 0x11,
	CFA_DEF_CFA_SF = 0x12,
	CFA_DEF_CFA_OFFSET_SF = 0x13,
	CFA_VAL_OFFSET = 0x14,
	CFA_VAL_OFFSET_SF = 0x15,
	CFA_VAL_EXPRESSION = 0x16,
	CFA_MIPS_ADVANCE_LOC8 = 0x1d,
	CFA_AARCH64_NEGATE_RA_STATE_WITH_PC = 0x2c,
	CFA_GNU_WINDOW_SAVE = 0x2d, /* on aarch64: negate_ra_state */
	CFA_GNU_ARGS_SIZE = 0x2e,
	CFA_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
	CFA_ADVANCE_LOC = 0x40,
	CFA_OFFSET = 0x80,
	CFA_RESTORE = 0xc0,
};

#define OP_DEREF       0x06
#define OP_PLUS_UCONST 0x23
#define OP_BREG0       0x70

/* Where a register of the caller is. */
enum cfi_where {
	CFI_SAME = 0, /* in the register */
	CFI_UNDEFINED,
	CFI_AT,	   /* at CFA + offset */
	CFI_AT_FP, /* where the frame pointer points */
	CFI_ELSEWHERE,
};

struct cfi_register {
	enum cfi_where where;
	int64_t offset;
};

struct cfi_state {
	bool cfa_is_expression;
	bool is_broken; /* an instruction that is not known, or cut off: nothing behind it is */
	uint64_t cfa_register;
	int64_t cfa_offset;
	struct byte_reader cfa_expression;
	struct cfi_register frame_pointer;
	struct cfi_register return_address;
};

/* DWARF's numbers of a machine's registers. */
struct cfi_machine {
	uint16_t machine;
	uint8_t sp;
	uint8_t fp;
};

struct cfi {
	const struct eh_frame *frame; /* borrowed */
	const struct cfi_machine *machine;
	struct cfi_state *initial; /* by CIE */
};

struct cfi_run {
	const struct cfi *cfi;
	const struct eh_frame_cie *cie;
	const struct eh_frame_fde *fde; /* NULL: these are a CIE's own instructions */
	struct cfi_rows *rows;
	struct byte_reader code;
	struct cfi_state state;
	struct cfi_state *remembered; /* CFI_MAX_REMEMBERED */
	size_t remembered_cnt;
	uint64_t at; /* address */
};

static const struct cfi_machine machines[] = {
	{ .machine = EM_X86_64, .sp = 7, .fp = 6 },
	{ .machine = EM_AARCH64, .sp = 31, .fp = 29 },
};

/* ---- rows ---- */

int cfi_rows_push(struct cfi_rows *rows, uint64_t start, uint32_t row)
{
	if (rows->cnt && rows->items[rows->cnt - 1].start == start)
		rows->cnt--;
	if (rows->cnt == CFI_MAX_ROWS)
		return -EFBIG;
	if (vec_room(rows->items, rows->cnt, rows->cap, 64))
		return -ENOMEM;
	rows->items[rows->cnt++] = (struct cfi_row){ .start = start, .row = row };
	return 0;
}

int cfi_rows_add(struct cfi_rows *rows, uint64_t start, uint32_t row)
{
	size_t last = rows->cnt - 1;

	if (rows->cnt && rows->items[last].start == start)
		last--;
	if (last < rows->cnt && rows->items[last].row == row) {
		rows->cnt = last + 1;
		return 0;
	}
	return cfi_rows_push(rows, start, row);
}

void cfi_rows_release(struct cfi_rows *rows)
{
	free(rows->items);
	*rows = (struct cfi_rows){ .items = NULL };
}

static uint32_t special(enum jbpf_row_special value)
{
	return jbpf_row(0, JBPF_ROW_SPECIAL, 0, value);
}

/* ---- from a state to its row ---- */

/*
 * How the frame pointer is found: 0 in its register, n at CFA - 8n; -1: no row can hold it. On
 * aarch64 the return address is with it; on x86_64 it is at CFA - 8, where a call put it.
 */
static int state_slot(const struct cfi *cfi, const struct cfi_state *state)
{
	const struct cfi_register *fp = &state->frame_pointer;
	const struct cfi_register *ra = &state->return_address;
	bool is_arm64 = cfi->machine->machine == EM_AARCH64;
	int64_t max = 8 * (int64_t)JBPF_ROW_SLOT_MASK;

	if (!is_arm64 && (ra->where != CFI_AT || ra->offset != -8))
		return -1;
	if (fp->where == CFI_SAME)
		return is_arm64 && ra->where != CFI_SAME ? -1 : 0;
	if (fp->where == CFI_AT_FP)
		return !is_arm64 && state->cfa_is_expression ? JBPF_SLOT_AT_FP : -1;
	if (fp->where != CFI_AT || fp->offset > -16 || fp->offset < -max || fp->offset % 8)
		return -1;
	if (is_arm64 && (ra->where != CFI_AT || ra->offset != fp->offset + 8))
		return -1;
	return (int)(-fp->offset / 8);
}

static uint32_t row_by_sp(uint32_t slot, int64_t words)
{
	/* Slot and value together, of which the slot has the low 3 bits. */
	const int64_t max_big = (1 << (32 - JBPF_ROW_SLOT_SHIFT - 3)) - 1;

	if (words <= (int64_t)JBPF_ROW_VALUE_MASK)
		return jbpf_row(0, JBPF_ROW_SP, slot, (uint32_t)words);
	if (words <= max_big && slot < 8)
		return jbpf_row(0, JBPF_ROW_BIG, 0, 0) | (slot | (uint32_t)words << 3)
								 << JBPF_ROW_SLOT_SHIFT;
	return special(JBPF_SPECIAL_UNSUPPORTED);
}

/* `breg n; deref`, and `plus_uconst m` or nothing: CFA = *(register + n) + m. */
static uint32_t row_by_memory(const struct cfi *cfi, struct byte_reader code, uint32_t slot)
{
	uint8_t base = byte_reader_u8(&code);
	int64_t offset = eh_frame_sleb(&code);
	uint64_t more = 0;
	uint32_t kind;

	if (byte_reader_u8(&code) != OP_DEREF)
		return special(JBPF_SPECIAL_UNSUPPORTED);
	if (code.left) {
		if (byte_reader_u8(&code) != OP_PLUS_UCONST)
			return special(JBPF_SPECIAL_UNSUPPORTED);
		more = eh_frame_uleb(&code);
	}
	if (base == OP_BREG0 + cfi->machine->fp)
		kind = JBPF_ROW_AT_FP;
	else if (base == OP_BREG0 + cfi->machine->sp && slot != JBPF_SLOT_AT_FP)
		kind = JBPF_ROW_AT_SP;
	else
		return special(JBPF_SPECIAL_UNSUPPORTED);
	if (code.failed || code.left || offset % 8 || offset < -64 * 8 || offset >= 64 * 8 ||
	    more % 8 || more >= 8 * 8)
		return special(JBPF_SPECIAL_UNSUPPORTED);
	return jbpf_row(0, kind, slot, ((uint32_t)(offset / 8) & 0x7f) << 3 | (uint32_t)(more / 8));
}

static bool reader_is(const struct byte_reader *code, const uint8_t *bytes, size_t len)
{
	return code->left == len && memcmp(code->at, bytes, len) == 0;
}

static uint32_t row_by_expression(const struct cfi *cfi, const struct cfi_state *state,
				  uint32_t slot)
{
	/* breg7 8; breg16 0; lit15; and; lit11; ge; lit3; shl; plus: as ld writes it for .plt */
	static const uint8_t plt[] = { 0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a,
				       0x3b, 0x2a, 0x33, 0x24, 0x22 };

	if (cfi->machine->machine == EM_X86_64 && slot == 0 &&
	    reader_is(&state->cfa_expression, plt, sizeof(plt)))
		return special(JBPF_SPECIAL_PLT);
	return row_by_memory(cfi, state->cfa_expression, slot);
}

/*
 * The trampoline that a signal handler returns to. On x86_64 libc describes where in the ucontext at
 * sp the registers are: rsp at 160 (arch/x86/include/uapi/asm/sigcontext.h). The kernel's vdso does
 * on aarch64.
 */
static uint32_t row_of_signal(const struct cfi *cfi, const struct cfi_state *state)
{
	static const uint8_t rsp[] = { 0x77, 0xa0, 0x01, OP_DEREF };

	if (cfi->machine->machine == EM_AARCH64 ||
	    (state->cfa_is_expression && reader_is(&state->cfa_expression, rsp, sizeof(rsp))))
		return special(JBPF_SPECIAL_SIGNAL);
	return special(JBPF_SPECIAL_UNSUPPORTED);
}

static uint32_t state_row(const struct cfi *cfi, const struct eh_frame_cie *cie,
			  const struct cfi_state *state)
{
	int slot;

	if (state->is_broken)
		return special(JBPF_SPECIAL_UNSUPPORTED);
	if (state->return_address.where == CFI_UNDEFINED)
		return special(JBPF_SPECIAL_END);
	if (cie->is_signal)
		return row_of_signal(cfi, state);
	slot = state_slot(cfi, state);
	if (slot < 0)
		return special(JBPF_SPECIAL_UNSUPPORTED);
	if (state->cfa_is_expression)
		return row_by_expression(cfi, state, (uint32_t)slot);
	/* A return address on the stack lies above the stack pointer. */
	if (state->cfa_offset < 0 || state->cfa_offset % 8 ||
	    (state->cfa_offset == 0 && cfi->machine->machine == EM_X86_64))
		return special(JBPF_SPECIAL_UNSUPPORTED);
	if (state->cfa_register == cfi->machine->sp)
		return row_by_sp((uint32_t)slot, state->cfa_offset / 8);
	if (state->cfa_register == cfi->machine->fp &&
	    state->cfa_offset / 8 <= (int64_t)JBPF_ROW_VALUE_MASK)
		return jbpf_row(0, JBPF_ROW_FP, (uint32_t)slot, (uint32_t)state->cfa_offset / 8);
	return special(JBPF_SPECIAL_UNSUPPORTED);
}

/* ---- instructions ---- */

/* A register that rows do not describe goes into `other`. */
static struct cfi_register *run_register(struct cfi_run *run, uint64_t number,
					 struct cfi_register *other)
{
	if (number == run->cfi->machine->fp)
		return &run->state.frame_pointer;
	if (number == run->cie->return_register)
		return &run->state.return_address;
	return other;
}

static void run_set(struct cfi_run *run, uint64_t number, enum cfi_where where, int64_t offset)
{
	struct cfi_register other;

	*run_register(run, number, &other) =
		(struct cfi_register){ .where = where, .offset = offset };
}

/* Offsets that are out of reach are treated as any other that no row can hold. */
static int64_t run_scale(const struct cfi_run *run, int64_t factored)
{
	int64_t offset;

	return __builtin_mul_overflow(factored, run->cie->data_align, &offset) ? 1 : offset;
}

static int64_t run_uleb_offset(struct cfi_run *run)
{
	uint64_t value = eh_frame_uleb(&run->code);

	return value > INT64_MAX ? 1 : (int64_t)value;
}

static void run_restore(struct cfi_run *run, uint64_t number)
{
	const struct cfi_state *initial = &run->cfi->initial[run->cie - run->cfi->frame->cies];

	if (!run->fde)
		run->state.is_broken = true;
	else if (number == run->cfi->machine->fp)
		run->state.frame_pointer = initial->frame_pointer;
	else if (number == run->cie->return_register)
		run->state.return_address = initial->return_address;
}

static void run_remember(struct cfi_run *run)
{
	if (run->remembered_cnt == CFI_MAX_REMEMBERED)
		run->state.is_broken = true;
	else
		run->remembered[run->remembered_cnt++] = run->state;
}

static void run_recall(struct cfi_run *run)
{
	if (run->remembered_cnt == 0)
		run->state.is_broken = true;
	else
		run->state = run->remembered[--run->remembered_cnt];
}

static struct byte_reader run_block(struct cfi_run *run)
{
	uint64_t len = eh_frame_uleb(&run->code);
	const void *bytes = len <= run->code.left ? byte_reader_take(&run->code, (size_t)len) :
						    NULL;

	if (!bytes)
		run->state.is_broken = true;
	return byte_reader_init(bytes, bytes ? (size_t)len : 0);
}

static void run_define_cfa(struct cfi_run *run, uint64_t number, int64_t offset)
{
	run->state.cfa_is_expression = false;
	run->state.cfa_register = number;
	run->state.cfa_offset = offset;
}

/* What held up to here becomes a row. */
static int run_move(struct cfi_run *run, uint64_t to)
{
	const struct eh_frame_fde *fde = run->fde;
	uint64_t from = run->at;
	int err = 0;

	if (!fde || to < from) {
		run->state.is_broken = true;
		return 0;
	}
	run->at = to < fde->end ? to : fde->end;
	from = from < fde->from ? fde->from : from;
	if (from < run->at)
		err = cfi_rows_add(run->rows, from, state_row(run->cfi, run->cie, &run->state));
	return err;
}

static int run_advance(struct cfi_run *run, uint64_t factored)
{
	uint64_t bytes, to;

	if (__builtin_mul_overflow(factored, run->cie->code_align, &bytes) ||
	    __builtin_add_overflow(run->at, bytes, &to))
		to = UINT64_MAX;
	return run_move(run, to);
}

/* Of a register that is saved somewhere: `breg fp 0` is the one place that rows know. */
static enum cfi_where run_saved_at(struct cfi_run *run)
{
	const uint8_t at_fp[] = { OP_BREG0 + run->cfi->machine->fp, 0 };
	struct byte_reader code = run_block(run);

	return reader_is(&code, at_fp, sizeof(at_fp)) ? CFI_AT_FP : CFI_ELSEWHERE;
}

/* The instructions that say where a register is. False: this is another. */
static bool run_register_op(struct cfi_run *run, uint8_t op)
{
	struct byte_reader *code = &run->code;
	uint64_t number;

	if ((op < CFA_OFFSET_EXTENDED || op > CFA_REGISTER) && op != CFA_EXPRESSION &&
	    op != CFA_OFFSET_EXTENDED_SF && (op < CFA_VAL_OFFSET || op > CFA_VAL_EXPRESSION) &&
	    op != CFA_GNU_NEGATIVE_OFFSET_EXTENDED)
		return false;
	number = eh_frame_uleb(code);
	switch (op) {
	case CFA_OFFSET_EXTENDED:
		run_set(run, number, CFI_AT, run_scale(run, run_uleb_offset(run)));
		break;
	case CFA_OFFSET_EXTENDED_SF:
		run_set(run, number, CFI_AT, run_scale(run, eh_frame_sleb(code)));
		break;
	case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
		run_set(run, number, CFI_AT, -run_scale(run, run_uleb_offset(run)));
		break;
	case CFA_RESTORE_EXTENDED:
		run_restore(run, number);
		break;
	case CFA_UNDEFINED:
		run_set(run, number, CFI_UNDEFINED, 0);
		break;
	case CFA_SAME_VALUE:
		run_set(run, number, CFI_SAME, 0);
		break;
	case CFA_EXPRESSION:
		run_set(run, number, run_saved_at(run), 0);
		break;
	case CFA_VAL_EXPRESSION:
		(void)run_block(run);
		run_set(run, number, CFI_ELSEWHERE, 0);
		break;
	default: /* another register, or a value that is computed */
		(void)eh_frame_uleb(code);
		run_set(run, number, CFI_ELSEWHERE, 0);
		break;
	}
	return true;
}

/* The instructions that say where the CFA is. False: this is another. */
static bool run_cfa_op(struct cfi_run *run, uint8_t op)
{
	struct byte_reader *code = &run->code;
	uint64_t number = run->state.cfa_register;

	switch (op) {
	case CFA_DEF_CFA:
		number = eh_frame_uleb(code);
		run_define_cfa(run, number, run_uleb_offset(run));
		return true;
	case CFA_DEF_CFA_SF:
		number = eh_frame_uleb(code);
		run_define_cfa(run, number, run_scale(run, eh_frame_sleb(code)));
		return true;
	case CFA_DEF_CFA_REGISTER:
		run_define_cfa(run, eh_frame_uleb(code), run->state.cfa_offset);
		return true;
	case CFA_DEF_CFA_OFFSET:
		run_define_cfa(run, number, run_uleb_offset(run));
		return true;
	case CFA_DEF_CFA_OFFSET_SF:
		run_define_cfa(run, number, run_scale(run, eh_frame_sleb(code)));
		return true;
	case CFA_DEF_CFA_EXPRESSION:
		run->state.cfa_is_expression = true;
		run->state.cfa_expression = run_block(run);
		return true;
	default:
		return false;
	}
}

/* Those that move on, and the rest. */
static int run_other_op(struct cfi_run *run, uint8_t op)
{
	struct byte_reader *code = &run->code;

	switch (op) {
	case CFA_SET_LOC:
		return run_move(run,
				eh_frame_pointer(run->cfi->frame, code, run->cie->fde_encoding));
	case CFA_ADVANCE_LOC1:
		return run_advance(run, byte_reader_u8(code));
	case CFA_ADVANCE_LOC2:
		return run_advance(run, byte_reader_u16(code));
	case CFA_ADVANCE_LOC4:
		return run_advance(run, byte_reader_u32(code));
	case CFA_MIPS_ADVANCE_LOC8:
		return run_advance(run, byte_reader_u64(code));
	case CFA_REMEMBER_STATE:
		run_remember(run);
		return 0;
	case CFA_RESTORE_STATE:
		run_recall(run);
		return 0;
	case CFA_GNU_ARGS_SIZE:
		(void)eh_frame_uleb(code);
		return 0;
	case CFA_NOP:
		return 0;
	case CFA_GNU_WINDOW_SAVE:
	case CFA_AARCH64_NEGATE_RA_STATE_WITH_PC:
		/* Signed return addresses are found where others are. */
		run->state.is_broken |= run->cfi->machine->machine != EM_AARCH64;
		return 0;
	default:
		run->state.is_broken = true;
		return 0;
	}
}

static int run_op(struct cfi_run *run)
{
	uint8_t op = byte_reader_u8(&run->code);
	uint8_t low = op & 0x3f;

	switch (op & 0xc0) {
	case CFA_ADVANCE_LOC:
		return run_advance(run, low);
	case CFA_OFFSET:
		run_set(run, low, CFI_AT, run_scale(run, run_uleb_offset(run)));
		return 0;
	case CFA_RESTORE:
		run_restore(run, low);
		return 0;
	default:
		if (run_register_op(run, op) || run_cfa_op(run, op))
			return 0;
		return run_other_op(run, op);
	}
}

static int run_code(struct cfi_run *run, uint32_t code, uint32_t code_len)
{
	int err = 0;

	run->code = eh_frame_code(run->cfi->frame, code, code_len);
	while (!err && run->code.left && !run->state.is_broken && !run->code.failed)
		err = run_op(run);
	run->state.is_broken |= run->code.failed;
	return err;
}

/* ---- the interface ---- */

static void cfi_run_cie(struct cfi *cfi, size_t idx)
{
	const struct eh_frame_cie *cie = &cfi->frame->cies[idx];
	struct cfi_state remembered[CFI_MAX_REMEMBERED];
	struct cfi_run run = { .cfi = cfi, .cie = cie, .remembered = remembered };

	/* Every failure breaks the state, too: there are no rows yet. */
	(void)run_code(&run, cie->code, cie->code_len);
	cfi->initial[idx] = run.state;
}

struct cfi *cfi__new(const struct eh_frame *frame, uint16_t machine)
{
	struct cfi *cfi = calloc(1, sizeof(*cfi));

	if (!cfi)
		return NULL;
	cfi->frame = frame;
	for (size_t i = 0; i < ARRAY_SIZE(machines); i++)
		if (machines[i].machine == machine)
			cfi->machine = &machines[i];
	cfi->initial = calloc(frame->cie_cnt + 1, sizeof(*cfi->initial));
	if (!cfi->machine || !cfi->initial) {
		cfi__free(cfi);
		return NULL;
	}
	for (size_t i = 0; i < frame->cie_cnt; i++)
		if (frame->cies[i].is_known)
			cfi_run_cie(cfi, i);
	return cfi;
}

void cfi__free(struct cfi *cfi)
{
	if (!cfi)
		return;
	free(cfi->initial);
	free(cfi);
}

int cfi__run(const struct cfi *cfi, const struct eh_frame_fde *fde, struct cfi_rows *rows)
{
	struct cfi_state remembered[CFI_MAX_REMEMBERED];
	struct cfi_run run = {
		.cfi = cfi,
		.cie = &cfi->frame->cies[fde->cie],
		.remembered = remembered,
		.fde = fde,
		.rows = rows,
		.state = cfi->initial[fde->cie],
		.at = fde->start,
	};
	int err;

	rows->cnt = 0;
	err = run_code(&run, fde->code, fde->code_len);
	return err ? err : run_move(&run, fde->end);
}
