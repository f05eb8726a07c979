// SPDX-License-Identifier: Apache-2.0
/*
 * Zydis decodes an instruction; this file says what it does to the stack and the frame pointer.
 * Zydis lists each register that an instruction writes, also those that its text does not show, so
 * it is enough to pick out the known ways to move rsp and rbp. Errors are on the safe side: only
 * the kinds of instructions listed in is_plain() are ever NEUTRAL; all other kinds are UNKNOWN.
 */
#include "symbols/x86/x86_insn.h"

#include <stdbool.h>

#include <Zydis/Zydis.h>

struct decoded {
	ZydisDecodedInstruction insn;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
};

static const struct x86_insn unknown = { .effect = X86_INSN_UNKNOWN };

static bool decode(const uint8_t *code, size_t len, struct decoded *out)
{
	ZydisDecoderContext context;
	ZydisDecoder decoder;

	return ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64,
					     ZYDIS_STACK_WIDTH_64)) &&
	       ZYAN_SUCCESS(
		       ZydisDecoderDecodeInstruction(&decoder, &context, code, len, &out->insn)) &&
	       ZYAN_SUCCESS(ZydisDecoderDecodeOperands(&decoder, &context, &out->insn,
						       out->operands, out->insn.operand_count));
}

static struct x86_insn make(const struct decoded *d, enum x86_insn_effect effect, int64_t value)
{
	if (effect == X86_INSN_UNKNOWN)
		return unknown;
	return (struct x86_insn){
		.effect = effect,
		.len = d->insn.length,
		.value = (int32_t)value,
	};
}

static bool is_register(const ZydisDecodedOperand *operand, ZydisRegister reg)
{
	return operand->type == ZYDIS_OPERAND_TYPE_REGISTER && operand->reg.value == reg;
}

/* [rsp + displacement]; fs and gs have a base of their own. */
static bool is_on_stack(const ZydisDecodedOperand *operand)
{
	return operand->type == ZYDIS_OPERAND_TYPE_MEMORY &&
	       operand->mem.base == ZYDIS_REGISTER_RSP &&
	       operand->mem.index == ZYDIS_REGISTER_NONE &&
	       operand->mem.segment != ZYDIS_REGISTER_FS &&
	       operand->mem.segment != ZYDIS_REGISTER_GS;
}

/* Of to = from + value; UNKNOWN unless it makes or removes a frame. */
static enum x86_insn_effect effect_of_move(ZydisRegister to, ZydisRegister from)
{
	if (to == ZYDIS_REGISTER_RBP && from == ZYDIS_REGISTER_RSP)
		return X86_INSN_RBP_FROM_RSP;
	if (to == ZYDIS_REGISTER_RSP && from == ZYDIS_REGISTER_RBP)
		return X86_INSN_RSP_FROM_RBP;
	if (to == ZYDIS_REGISTER_RSP && from == ZYDIS_REGISTER_RSP)
		return X86_INSN_ADD_RSP;
	return X86_INSN_UNKNOWN;
}

static struct x86_insn decode_mov(const struct decoded *d)
{
	const ZydisDecodedOperand *to = &d->operands[0];
	const ZydisDecodedOperand *from = &d->operands[1];

	if (is_register(to, ZYDIS_REGISTER_RBP) && is_on_stack(from))
		return make(d, X86_INSN_LOAD_RBP, from->mem.disp.value);
	if (is_on_stack(to) && is_register(from, ZYDIS_REGISTER_RBP))
		return make(d, X86_INSN_STORE_RBP, to->mem.disp.value);
	if (to->type != ZYDIS_OPERAND_TYPE_REGISTER || from->type != ZYDIS_OPERAND_TYPE_REGISTER)
		return unknown;
	return make(d, effect_of_move(to->reg.value, from->reg.value), 0);
}

static struct x86_insn decode_lea(const struct decoded *d)
{
	const ZydisDecodedOperandMem *from = &d->operands[1].mem;

	if (from->index != ZYDIS_REGISTER_NONE)
		return unknown;
	return make(d, effect_of_move(d->operands[0].reg.value, from->base), from->disp.value);
}

/* add and sub of a constant */
static struct x86_insn decode_add(const struct decoded *d)
{
	const ZydisDecodedOperand *by = &d->operands[1];
	int64_t value = by->imm.value.s;

	if (by->type != ZYDIS_OPERAND_TYPE_IMMEDIATE)
		return unknown;
	if (d->insn.mnemonic == ZYDIS_MNEMONIC_SUB)
		value = -value;
	if (value > INT32_MAX)
		return unknown;
	if (is_register(&d->operands[0], ZYDIS_REGISTER_RSP))
		return make(d, X86_INSN_ADD_RSP, value);
	if (is_register(&d->operands[0], ZYDIS_REGISTER_RBP))
		return make(d, X86_INSN_ADD_RBP, value);
	return unknown;
}

/* The moves that make and remove frames. UNKNOWN: it is none of them. */
static struct x86_insn frame_move(const struct decoded *d)
{
	switch (d->insn.mnemonic) {
	case ZYDIS_MNEMONIC_MOV:
		return decode_mov(d);
	case ZYDIS_MNEMONIC_LEA:
		return decode_lea(d);
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
		return decode_add(d);
	default:
		return unknown;
	}
}

static struct x86_insn jump(const struct decoded *d, enum x86_insn_effect direct,
			    enum x86_insn_effect indirect)
{
	const ZydisDecodedOperand *to = &d->operands[0];

	if (d->insn.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR)
		return unknown;
	if (to->type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
		return make(d, direct, to->imm.value.s);
	return make(d, indirect, 0);
}

/*
 * Calls, jumps, pushes and pops. With prefix 66 some of them have operands of 2 bytes, and
 * processors of Intel and AMD disagree about which.
 */
static struct x86_insn decode_transfer(const struct decoded *d)
{
	const ZydisDecodedOperand *operand = &d->operands[0];

	if (d->insn.attributes & ZYDIS_ATTRIB_HAS_OPERANDSIZE)
		return unknown;
	switch (d->insn.mnemonic) {
	case ZYDIS_MNEMONIC_CALL:
		return jump(d, X86_INSN_CALL, X86_INSN_CALL);
	case ZYDIS_MNEMONIC_JMP:
		return jump(d, X86_INSN_JUMP, X86_INSN_JUMP_INDIRECT);
	case ZYDIS_MNEMONIC_RET:
		if (d->insn.operand_count_visible > 0)
			return unknown;
		return jump(d, X86_INSN_UNKNOWN, X86_INSN_RET);
	case ZYDIS_MNEMONIC_LEAVE:
		return make(d, X86_INSN_LEAVE, 0);
	case ZYDIS_MNEMONIC_PUSHFQ:
		return make(d, X86_INSN_PUSH, 0);
	case ZYDIS_MNEMONIC_POPFQ:
		return make(d, X86_INSN_POP, 0);
	case ZYDIS_MNEMONIC_PUSH:
		if (is_register(operand, ZYDIS_REGISTER_RBP))
			return make(d, X86_INSN_PUSH_RBP, 0);
		return make(d, X86_INSN_PUSH, 0);
	case ZYDIS_MNEMONIC_POP:
		if (is_register(operand, ZYDIS_REGISTER_RSP))
			return make(d, X86_INSN_POP_RSP, 0);
		if (is_register(operand, ZYDIS_REGISTER_RBP))
			return make(d, X86_INSN_POP_RBP, 0);
		return make(d, X86_INSN_POP, 0);
	default: /* jcc, loop, jrcxz; xbegin and xend have the category, too, but no type */
		if (d->insn.meta.category != ZYDIS_CATEGORY_COND_BR ||
		    d->insn.meta.branch_type == ZYDIS_BRANCH_TYPE_NONE)
			return unknown;
		return jump(d, X86_INSN_BRANCH, X86_INSN_UNKNOWN);
	}
}

static bool is_transfer(const struct decoded *d)
{
	switch (d->insn.meta.category) {
	case ZYDIS_CATEGORY_CALL:
	case ZYDIS_CATEGORY_COND_BR:
	case ZYDIS_CATEGORY_POP:
	case ZYDIS_CATEGORY_PUSH:
	case ZYDIS_CATEGORY_RET:
	case ZYDIS_CATEGORY_UNCOND_BR:
		return true;
	default:
		return d->insn.mnemonic == ZYDIS_MNEMONIC_LEAVE;
	}
}

static bool is_stop(const struct decoded *d)
{
	return d->insn.mnemonic == ZYDIS_MNEMONIC_INT3 || d->insn.mnemonic == ZYDIS_MNEMONIC_HLT ||
	       d->insn.mnemonic == ZYDIS_MNEMONIC_UD2;
}

/* Of categories that hold others, too. */
static bool is_plain_mnemonic(ZydisMnemonic mnemonic)
{
	switch (mnemonic) {
	case ZYDIS_MNEMONIC_CLFLUSH:
	case ZYDIS_MNEMONIC_CPUID:
	case ZYDIS_MNEMONIC_LEA:
	case ZYDIS_MNEMONIC_LFENCE:
	case ZYDIS_MNEMONIC_MFENCE:
	case ZYDIS_MNEMONIC_PAUSE:
	case ZYDIS_MNEMONIC_RDTSC:
	case ZYDIS_MNEMONIC_RDTSCP:
	case ZYDIS_MNEMONIC_SFENCE:
		return true;
	default:
		return false;
	}
}

/* The next instruction follows, and all registers it writes are among its operands. */
static bool is_plain(const struct decoded *d)
{
	switch (d->insn.meta.category) {
	case ZYDIS_CATEGORY_ADOX_ADCX:
	case ZYDIS_CATEGORY_AES:
	case ZYDIS_CATEGORY_AVX:
	case ZYDIS_CATEGORY_AVX2:
	case ZYDIS_CATEGORY_AVX2GATHER:
	case ZYDIS_CATEGORY_AVX512:
	case ZYDIS_CATEGORY_AVX512_BITALG:
	case ZYDIS_CATEGORY_AVX512_VBMI:
	case ZYDIS_CATEGORY_BINARY:
	case ZYDIS_CATEGORY_BITBYTE:
	case ZYDIS_CATEGORY_BLEND:
	case ZYDIS_CATEGORY_BMI1:
	case ZYDIS_CATEGORY_BMI2:
	case ZYDIS_CATEGORY_BROADCAST:
	case ZYDIS_CATEGORY_CET:
	case ZYDIS_CATEGORY_CLFLUSHOPT:
	case ZYDIS_CATEGORY_CLWB:
	case ZYDIS_CATEGORY_CMOV:
	case ZYDIS_CATEGORY_COMPRESS:
	case ZYDIS_CATEGORY_CONFLICT:
	case ZYDIS_CATEGORY_CONVERT:
	case ZYDIS_CATEGORY_DATAXFER:
	case ZYDIS_CATEGORY_EXPAND:
	case ZYDIS_CATEGORY_FCMOV:
	case ZYDIS_CATEGORY_FLAGOP:
	case ZYDIS_CATEGORY_FP16:
	case ZYDIS_CATEGORY_GATHER:
	case ZYDIS_CATEGORY_GFNI:
	case ZYDIS_CATEGORY_IFMA:
	case ZYDIS_CATEGORY_KMASK:
	case ZYDIS_CATEGORY_LOGICAL:
	case ZYDIS_CATEGORY_LOGICAL_FP:
	case ZYDIS_CATEGORY_LZCNT:
	case ZYDIS_CATEGORY_MMX:
	case ZYDIS_CATEGORY_NOP:
	case ZYDIS_CATEGORY_PCLMULQDQ:
	case ZYDIS_CATEGORY_PREFETCH:
	case ZYDIS_CATEGORY_RDRAND:
	case ZYDIS_CATEGORY_RDSEED:
	case ZYDIS_CATEGORY_ROTATE:
	case ZYDIS_CATEGORY_SCATTER:
	case ZYDIS_CATEGORY_SEMAPHORE:
	case ZYDIS_CATEGORY_SERIALIZE:
	case ZYDIS_CATEGORY_SETCC:
	case ZYDIS_CATEGORY_SHA:
	case ZYDIS_CATEGORY_SHIFT:
	case ZYDIS_CATEGORY_SSE:
	case ZYDIS_CATEGORY_STRINGOP:
	case ZYDIS_CATEGORY_STTNI:
	case ZYDIS_CATEGORY_VAES:
	case ZYDIS_CATEGORY_VBMI2:
	case ZYDIS_CATEGORY_VEX:
	case ZYDIS_CATEGORY_VFMA:
	case ZYDIS_CATEGORY_VPCLMULQDQ:
	case ZYDIS_CATEGORY_WIDENOP:
	case ZYDIS_CATEGORY_X87_ALU:
	case ZYDIS_CATEGORY_XSAVE:
		return !(d->insn.attributes & ZYDIS_ATTRIB_IS_PRIVILEGED);
	default:
		return is_plain_mnemonic(d->insn.mnemonic);
	}
}

/* Any part of the register: a write of 32 bits clears the others, one of 8 bits still moves it. */
static bool writes(const struct decoded *d, ZydisRegister reg)
{
	for (size_t i = 0; i < d->insn.operand_count; i++) {
		const ZydisDecodedOperand *operand = &d->operands[i];

		if (operand->type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    (operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) &&
		    ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64,
						     operand->reg.value) == reg)
			return true;
	}
	return false;
}

static struct x86_insn decode_plain(const struct decoded *d)
{
	bool moves_rsp = writes(d, ZYDIS_REGISTER_RSP);
	bool moves_rbp = writes(d, ZYDIS_REGISTER_RBP);

	if (moves_rsp && moves_rbp)
		return unknown;
	if (moves_rsp)
		return make(d, X86_INSN_CLOBBERS_RSP, 0);
	return make(d, moves_rbp ? X86_INSN_CLOBBERS_RBP : X86_INSN_NEUTRAL, 0);
}

/*
 * AMD's XOP and 3DNow! and the first Xeon Phi: no code that HotSpot makes has them, and elsewhere
 * the same bytes are invalid or mean something else. Nor has it addresses of 32 bits.
 */
static bool is_foreign(const struct decoded *d)
{
	return (d->insn.encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY &&
		d->insn.encoding != ZYDIS_INSTRUCTION_ENCODING_VEX &&
		d->insn.encoding != ZYDIS_INSTRUCTION_ENCODING_EVEX) ||
	       d->insn.meta.isa_ext == ZYDIS_ISA_EXT_KNC ||
	       d->insn.meta.isa_ext == ZYDIS_ISA_EXT_KNCE ||
	       d->insn.meta.isa_ext == ZYDIS_ISA_EXT_KNCV || d->insn.address_width != 64;
}

struct x86_insn x86_insn_decode(const uint8_t *code, size_t len)
{
	struct x86_insn insn;
	struct decoded d;

	if (!decode(code, len, &d) || is_foreign(&d))
		return unknown;
	if (is_stop(&d))
		return make(&d, X86_INSN_STOP, 0);
	if (is_transfer(&d))
		return decode_transfer(&d);
	insn = frame_move(&d);
	if (insn.effect != X86_INSN_UNKNOWN)
		return insn;
	return is_plain(&d) ? decode_plain(&d) : unknown;
}
