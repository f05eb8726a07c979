// SPDX-License-Identifier: Apache-2.0
/*
 * Length and stack effect of an x86-64 instruction (Intel SDM volume 2, appendix A). The two opcode
 * tables say what follows an opcode and which operand it writes; the rest of the work is to see
 * whether that operand is rsp or rbp. Errs to one side: UNKNOWN or CLOBBERS rather than NEUTRAL.
 */
#include "symbols/leaf/leaf_repair_x86.h"

#include <stdbool.h>
#include <string.h>

#define REG_RSP		 4
#define REG_RBP		 5
#define INSN_BYTES_MAX	 15
#define VEX_MAP_0F	 1
#define VEX_MAP_0F38	 2
#define VEX_MAP_0F3A	 3
#define EVEX_MAP_FP16_A	 5
#define EVEX_MAP_FP16_B	 6
#define EVEX_MAP_MASK	 7
#define VEX_PP_66	 1
#define MODRM_MOD_DIRECT 3

/* What follows an opcode and what it writes. One character each in the tables below. */
enum shape {
	BAD = '.',   /* not valid in 64-bit mode, or not known here */
	NONE = '-',  /* nothing follows, no general register of interest is written */
	IMM8 = 'b',  /* immediate only */
	IMMZ = 'z',  /* 2 bytes with prefix 66, else 4 */
	MODRM = 'm', /* writes memory, flags, vector or implied registers only */
	MODRM_I8 = 'n',
	TO_RM = 'E', /* writes the operand that mod and r/m name */
	TO_RM_I8 = 'F',
	TO_RM_IZ = 'H',
	TO_REG = 'G', /* writes the operand that reg names */
	TO_REG_I8 = 'J',
	TO_REG_IZ = 'K',
	TO_BOTH = 'X',
	BYTE_TO_RM = 'e', /* the same for operands of 8 bits */
	BYTE_TO_RM_I8 = 'f',
	BYTE_TO_REG = 'g',
	BYTE_TO_BOTH = 'x',
	SPECIAL = '*', /* see special_insn() */
};

/* clang-format off */
static const char shape_1byte[256 + 1] =
	"eEgGbz..eEgGbz.." /* 00 add or; 0f is an escape */
	"eEgGbz..eEgGbz.." /* 10 adc sbb */
	"eEgGbz..eEgGbz.." /* 20 and sub; 26, 2e are prefixes */
	"eEgGbz..mmmmbz.." /* 30 xor cmp */
	"................" /* 40 REX */
	"****************" /* 50 push pop */
	"...G....*K*J----" /* 60 movsxd, push, imul, ins outs */
	"****************" /* 70 jcc */
	"****mmxXeEgGEG.*" /* 80 group 1, test, xchg, mov, lea, pop */
	"****************" /* 90 xchg, cwde cdq, wait, pushf popf sahf lahf */
	"****----bz------" /* a0 moffs, movs cmps, test, stos lods scas */
	"bbbbbbbb********" /* b0 mov: of the byte forms see byte_register_is_stack() */
	"fF**..fH***.**.." /* c0 shifts, ret, mov, enter leave, int */
	"eEeE...-mmmmmmmm" /* d0 shifts, xlat, x87 */
	"****bbbb**.*----" /* e0 loop, in out, call jmp */
	".-..*-**------**" /* f0 hlt, group 3, flags, groups 4 and 5 */;

static const char shape_0f[256 + 1] =
	".m.........*.m.." /* 00 group 7 (xgetbv), ud2, prefetchw; no system calls */
	"mmmmmmmmmmmmmmmm" /* 10 moves, prefetch, long nop */
	"........mmmmGGmm" /* 20 moves, cvt to a general register */
	".-.-............" /* 30 rdtsc, rdpmc; 38, 3a are escapes */
	"GGGGGGGGGGGGGGGG" /* 40 cmovcc */
	"Gmmmmmmmmmmmmmmm" /* 50 movmskps, arithmetic */
	"mmmmmmmmmmmmmmmm" /* 60 */
	"nnnnmmm-....mm*m" /* 70 shuffles, shifts, emms, movd/movq */
	"****************" /* 80 jcc */
	"eeeeeeeeeeeeeeee" /* 90 setcc */
	"..-mFE....-EFEmG" /* a0 cpuid, bt, shld, bts, shrd, fences, imul */
	"eE.E..GGG.FEGGGG" /* b0 cmpxchg, btr, movzx, popcnt, group 8, btc, tzcnt lzcnt, movsx */
	"xXnmnJnE********" /* c0 xadd, cmpps, movnti, pinsrw pextrw, shufps, group 9, bswap */
	"mmmmmmmGmmmmmmmm" /* d0 ... pmovmskb */
	"mmmmmmmmmmmmmmmm" /* e0 */
	"mmmmmmmmmmmmmmm." /* f0 */;
/* clang-format on */

struct decoder {
	const uint8_t *code;
	size_t len;
	size_t at;
	uint8_t opcode;
	uint8_t rex; /* 0x40 to 0x4f; 0 = none */
	bool has_66;
	bool has_f2;
	bool has_f3;
	bool failed;

	/* ModRM, once read; registers with the bits of REX, VEX or EVEX */
	uint8_t mod;
	uint8_t reg;
	uint8_t rm;
	uint8_t base; /* of a memory operand; 0xff = none or rip */
	bool has_index;
	int32_t disp;
};

static const struct leaf_x86_insn unknown = { .effect = LEAF_X86_UNKNOWN };

static uint8_t next_byte(struct decoder *d)
{
	if (d->at >= d->len || d->at >= INSN_BYTES_MAX) {
		d->failed = true;
		return 0;
	}
	return d->code[d->at++];
}

/* Little endian, sign extended; 0 to 8 bytes, the low 32 bits are given back. */
static int32_t next_int(struct decoder *d, size_t size)
{
	uint32_t value = 0;
	uint8_t last = 0;

	for (size_t i = 0; i < size; i++) {
		last = next_byte(d);
		if (i < 4)
			value |= (uint32_t)last << (8 * i);
	}
	if (size > 0 && size < 4 && (last & 0x80))
		value |= ~0u << (8 * size);
	return (int32_t)value;
}

static int32_t next_immz(struct decoder *d)
{
	return next_int(d, d->has_66 ? 2 : 4);
}

/* `extend` has the bits of REX: 4 reg, 2 index, 1 r/m or base. */
static void read_modrm(struct decoder *d, uint8_t extend)
{
	uint8_t modrm = next_byte(d);
	uint8_t low = modrm & 7;
	bool has_sib;

	d->mod = modrm >> 6;
	d->reg = ((modrm >> 3) & 7) | (extend & 4 ? 8 : 0);
	d->rm = low | (extend & 1 ? 8 : 0);
	d->base = 0xff;
	if (d->mod == MODRM_MOD_DIRECT)
		return;
	has_sib = low == 4;
	if (has_sib) {
		uint8_t sib = next_byte(d);

		low = sib & 7;
		d->has_index = ((sib >> 3) & 7) != 4 || (extend & 2);
	}
	/* Low bits 5 without displacement: rip, or no base at all behind a SIB. */
	if (d->mod == 0 && low == 5) {
		d->disp = next_int(d, 4);
		return;
	}
	d->base = low | (extend & 1 ? 8 : 0);
	if (d->mod != 0)
		d->disp = next_int(d, d->mod == 1 ? 1 : 4);
}

static struct leaf_x86_insn make(const struct decoder *d, enum leaf_x86_effect effect,
				 int32_t value)
{
	if (d->failed)
		return unknown;
	return (struct leaf_x86_insn){ .effect = effect, .len = (uint32_t)d->at, .value = value };
}

static enum leaf_x86_effect effect_of_write(uint8_t reg)
{
	if (reg == REG_RSP)
		return LEAF_X86_CLOBBERS_RSP;
	return reg == REG_RBP ? LEAF_X86_CLOBBERS_RBP : LEAF_X86_NEUTRAL;
}

static bool is_wide(const struct decoder *d)
{
	return d->rex & 8;
}

/* mov and lea between the two registers, and rbp kept on the stack: what frames are made of. */
static bool frame_move(const struct decoder *d, struct leaf_x86_insn *out)
{
	bool direct = d->mod == MODRM_MOD_DIRECT;
	uint8_t to = d->opcode == 0x89 ? d->rm : d->reg;
	uint8_t from = d->opcode == 0x89 ? d->reg : d->rm;
	int32_t value = 0;

	if (!is_wide(d) || d->has_66)
		return false;
	if (d->opcode != 0x8d && !direct) {
		if (d->reg != REG_RBP || d->base != REG_RSP || d->has_index)
			return false;
		*out = make(d, d->opcode == 0x89 ? LEAF_X86_STORE_RBP : LEAF_X86_LOAD_RBP, d->disp);
		return true;
	}
	if (d->opcode == 0x8d) {
		if (direct || d->has_index)
			return false;
		from = d->base;
		value = d->disp;
	}
	if (to == REG_RBP && from == REG_RSP)
		*out = make(d, LEAF_X86_RBP_FROM_RSP, value);
	else if (to == REG_RSP && from == REG_RBP)
		*out = make(d, LEAF_X86_RSP_FROM_RBP, value);
	else if (to == REG_RSP && from == REG_RSP)
		*out = make(d, LEAF_X86_ADD_RSP, value);
	else
		return false;
	return true;
}

/* 80, 81, 83: the operation is in reg; 7 is cmp, which writes nothing. */
static struct leaf_x86_insn group1(struct decoder *d)
{
	bool is_byte = d->opcode == 0x80;
	int32_t value;
	uint8_t operation;

	read_modrm(d, d->rex);
	operation = d->reg & 7;
	value = d->opcode == 0x81 ? next_immz(d) : next_int(d, 1);
	if (operation == 7 || d->mod != MODRM_MOD_DIRECT || (is_byte && !d->rex))
		return make(d, LEAF_X86_NEUTRAL, 0);
	if (is_wide(d) && !is_byte && (operation == 0 || (operation == 5 && value != INT32_MIN))) {
		int32_t added = operation == 0 ? value : -value;

		if (d->rm == REG_RSP)
			return make(d, LEAF_X86_ADD_RSP, added);
		if (d->rm == REG_RBP)
			return make(d, LEAF_X86_ADD_RBP, added);
	}
	return make(d, effect_of_write(d->rm), 0);
}

static struct leaf_x86_insn push_pop(const struct decoder *d)
{
	uint8_t reg = (d->opcode & 7) | (d->rex & 1 ? 8 : 0);
	bool is_pop = d->opcode >= 0x58;

	if (d->has_66)
		return unknown;
	if (is_pop && reg == REG_RSP)
		return make(d, LEAF_X86_CLOBBERS_RSP, 0);
	if (reg == REG_RBP)
		return make(d, is_pop ? LEAF_X86_POP_RBP : LEAF_X86_PUSH_RBP, 0);
	return make(d, is_pop ? LEAF_X86_POP : LEAF_X86_PUSH, 0);
}

/* f6, f7, fe, ff: groups 3, 4 and 5. */
static struct leaf_x86_insn group345(struct decoder *d)
{
	bool is_byte = !(d->opcode & 1);
	uint8_t operation;

	read_modrm(d, d->rex);
	operation = d->reg & 7;
	if (d->opcode <= 0xf7) {
		if (operation <= 1)
			(void)(is_byte ? next_int(d, 1) : next_immz(d));
		if (operation != 2 && operation != 3)
			return make(d, LEAF_X86_NEUTRAL, 0);
	} else if (operation > 1) {
		if (is_byte || d->has_66)
			return unknown;
		if (operation == 2)
			return make(d, LEAF_X86_CALL, 0);
		if (operation == 4)
			return make(d, LEAF_X86_JUMP_INDIRECT, 0);
		return operation == 6 ? make(d, LEAF_X86_PUSH, 0) : unknown;
	}
	if (d->mod != MODRM_MOD_DIRECT || (is_byte && !d->rex))
		return make(d, LEAF_X86_NEUTRAL, 0);
	return make(d, effect_of_write(d->rm), 0);
}

/* 90 to 9f */
static struct leaf_x86_insn exchange_and_flags(const struct decoder *d)
{
	if (d->opcode <= 0x97)
		return make(d, effect_of_write((d->opcode & 7) | (d->rex & 1 ? 8 : 0)), 0);
	if (d->opcode == 0x9c || d->opcode == 0x9d) {
		if (d->has_66)
			return unknown;
		return make(d, d->opcode == 0x9c ? LEAF_X86_PUSH : LEAF_X86_POP, 0);
	}
	return d->opcode == 0x9a ? unknown : make(d, LEAF_X86_NEUTRAL, 0);
}

static struct leaf_x86_insn jump(struct decoder *d, enum leaf_x86_effect effect, size_t size)
{
	int32_t value = next_int(d, size);

	return d->has_66 ? unknown : make(d, effect, value);
}

static struct leaf_x86_insn move_immediate(struct decoder *d)
{
	if (is_wide(d))
		(void)next_int(d, 8);
	else
		(void)next_immz(d);
	return make(d, effect_of_write((d->opcode & 7) | (d->rex & 1 ? 8 : 0)), 0);
}

/* Opcodes of the first table that need more than a shape. */
static struct leaf_x86_insn special_insn(struct decoder *d)
{
	uint8_t opcode = d->opcode;

	if (opcode >= 0x50 && opcode <= 0x5f)
		return push_pop(d);
	if ((opcode >= 0x70 && opcode <= 0x7f) || (opcode >= 0xe0 && opcode <= 0xe3))
		return jump(d, LEAF_X86_BRANCH, 1);
	if (opcode >= 0x80 && opcode <= 0x83)
		return opcode == 0x82 ? unknown : group1(d);
	if (opcode >= 0x90 && opcode <= 0x9f)
		return exchange_and_flags(d);
	if (opcode >= 0xb8 && opcode <= 0xbf)
		return move_immediate(d);
	if (opcode >= 0xf6)
		return group345(d);

	switch (opcode) {
	case 0x68:
		(void)next_immz(d);
		return d->has_66 ? unknown : make(d, LEAF_X86_PUSH, 0);
	case 0x6a:
		(void)next_int(d, 1);
		return d->has_66 ? unknown : make(d, LEAF_X86_PUSH, 0);
	case 0x8f: /* pop r/m; other values of reg are another vendor's vector instructions */
		read_modrm(d, d->rex);
		if ((d->reg & 7) || d->mod == MODRM_MOD_DIRECT || d->has_66)
			return unknown;
		return make(d, LEAF_X86_POP, 0);
	case 0xa0:
	case 0xa1:
	case 0xa2:
	case 0xa3:
		(void)next_int(d, 8);
		return make(d, LEAF_X86_NEUTRAL, 0);
	case 0xc3:
		return make(d, LEAF_X86_RET, 0);
	case 0xc9:
		return d->has_66 ? unknown : make(d, LEAF_X86_LEAVE, 0);
	case 0xcc:
	case 0xf4:
		return make(d, LEAF_X86_STOP, 0);
	case 0xe8:
		return jump(d, LEAF_X86_CALL, 4);
	case 0xe9:
		return jump(d, LEAF_X86_JUMP, 4);
	case 0xeb:
		return jump(d, LEAF_X86_JUMP, 1);
	default: /* ret imm16, enter, int n */
		return unknown;
	}
}

/* Behind a table's character: reads operands and judges what is written. */
static struct leaf_x86_insn shaped_insn(struct decoder *d, char shape)
{
	bool is_byte = shape >= 'a';
	bool to_rm = strchr("EFHXefx", shape);
	bool to_reg = strchr("GJKXgx", shape);
	enum leaf_x86_effect effect = LEAF_X86_NEUTRAL;

	read_modrm(d, d->rex);
	if (strchr("FJnf", shape))
		(void)next_int(d, 1);
	else if (strchr("HK", shape))
		(void)next_immz(d);
	/* Without REX the byte registers 4 and 5 are ah and ch. */
	if (is_byte && !d->rex)
		return make(d, LEAF_X86_NEUTRAL, 0);
	if (to_reg)
		effect = effect_of_write(d->reg);
	if (to_rm && d->mod == MODRM_MOD_DIRECT && effect == LEAF_X86_NEUTRAL)
		effect = effect_of_write(d->rm);
	return make(d, effect, 0);
}

static struct leaf_x86_insn decode_0f38(struct decoder *d)
{
	d->opcode = next_byte(d);
	/* movbe, crc32, adcx, adox write a general register; all else a vector or memory. */
	if (d->opcode == 0xf0 || d->opcode == 0xf1)
		return shaped_insn(d, d->has_f2 ? TO_REG : TO_BOTH);
	return shaped_insn(d, d->opcode == 0xf6 ? TO_REG : MODRM);
}

static struct leaf_x86_insn decode_0f3a(struct decoder *d)
{
	d->opcode = next_byte(d);
	/* pextrb to extractps: a register or memory */
	return shaped_insn(d, d->opcode >= 0x14 && d->opcode <= 0x17 ? TO_RM_I8 : MODRM_I8);
}

static struct leaf_x86_insn decode_0f(struct decoder *d)
{
	char shape;

	d->opcode = next_byte(d);
	if (d->opcode == 0x38)
		return decode_0f38(d);
	if (d->opcode == 0x3a)
		return decode_0f3a(d);
	shape = shape_0f[d->opcode];
	if (shape == BAD)
		return unknown;
	if (shape == NONE)
		return make(d, LEAF_X86_NEUTRAL, 0);
	if (shape != SPECIAL)
		return shaped_insn(d, shape);
	if (d->opcode == 0x0b)
		return make(d, LEAF_X86_STOP, 0);
	if (d->opcode == 0x7e) /* to a general register, unless f3: then to a vector */
		return shaped_insn(d, d->has_f3 ? MODRM : TO_RM);
	if (d->opcode >= 0xc8)
		return make(d, effect_of_write((d->opcode & 7) | (d->rex & 1 ? 8 : 0)), 0);
	return jump(d, LEAF_X86_BRANCH, 4);
}

/* Vector instructions that write a general register: which of its operands. */
static uint8_t vex_written_register(const struct decoder *d, uint8_t map, uint8_t vvvv, uint8_t pp)
{
	bool direct = d->mod == MODRM_MOD_DIRECT;
	uint8_t none = 0xff;

	switch (map) {
	case VEX_MAP_0F:
		if (strchr("\x2c\x2d\x50\x78\x79\x93\xc5\xd7", d->opcode) && d->opcode)
			return d->reg;
		return d->opcode == 0x7e && pp == VEX_PP_66 && direct ? d->rm : none;
	case VEX_MAP_0F38:
		if (d->opcode == 0xf3)
			return vvvv;
		if (d->opcode == 0xf6 && (vvvv == REG_RSP || vvvv == REG_RBP))
			return vvvv;
		return d->opcode == 0xf2 || (d->opcode >= 0xf5 && d->opcode <= 0xf7) ? d->reg :
										       none;
	case VEX_MAP_0F3A:
		if (d->opcode >= 0x14 && d->opcode <= 0x17)
			return direct ? d->rm : none;
		return d->opcode == 0xf0 ? d->reg : none;
	default:
		return d->opcode == 0x7e && direct ? d->rm : d->reg;
	}
}

static struct leaf_x86_insn decode_vector(struct decoder *d, uint8_t map, uint8_t extend,
					  uint8_t vvvv, uint8_t pp)
{
	d->opcode = next_byte(d);
	if (map < VEX_MAP_0F || map > EVEX_MAP_FP16_B || map == 4)
		return unknown;
	if (map == VEX_MAP_0F && d->opcode == 0x77) /* vzeroupper */
		return make(d, LEAF_X86_NEUTRAL, 0);
	read_modrm(d, extend);
	if (map == VEX_MAP_0F3A || (map == VEX_MAP_0F && strchr("nJF", shape_0f[d->opcode])))
		(void)next_int(d, 1);
	if (map == EVEX_MAP_FP16_A || map == EVEX_MAP_FP16_B)
		return make(d, LEAF_X86_NEUTRAL, 0);
	return make(d, effect_of_write(vex_written_register(d, map, vvvv, pp)), 0);
}

static struct leaf_x86_insn decode_vex(struct decoder *d, uint8_t prefix)
{
	uint8_t first = next_byte(d);
	uint8_t extend = first & 0x80 ? 0 : 4;
	uint8_t map = VEX_MAP_0F;
	uint8_t last = first;

	if (prefix == 0xc4) {
		map = first & 0x1f;
		extend = (uint8_t)~first >> 5;
		last = next_byte(d);
	}
	return decode_vector(d, map, extend, (uint8_t)(~last >> 3) & 15, last & 3);
}

static struct leaf_x86_insn decode_evex(struct decoder *d)
{
	uint8_t first = next_byte(d);
	uint8_t second = next_byte(d);

	(void)next_byte(d);
	/* Bit 3 of the first and a cleared bit 2 of the second belong to a later extension. */
	if ((first & 8) || !(second & 4))
		return unknown;
	return decode_vector(d, first & EVEX_MAP_MASK, (uint8_t)~first >> 5,
			     (uint8_t)(~second >> 3) & 15, second & 3);
}

static uint8_t skip_prefixes(struct decoder *d)
{
	uint8_t byte = next_byte(d);

	while (!d->failed) {
		if (byte == 0x66)
			d->has_66 = true;
		else if (byte == 0xf2)
			d->has_f2 = true;
		else if (byte == 0xf3)
			d->has_f3 = true;
		else if (byte != 0xf0 && byte != 0x2e && byte != 0x36 && byte != 0x3e &&
			 byte != 0x26 && byte != 0x64 && byte != 0x65)
			break;
		byte = next_byte(d);
	}
	if (byte >= 0x40 && byte <= 0x4f) {
		d->rex = byte;
		byte = next_byte(d);
	}
	return byte;
}

struct leaf_x86_insn leaf_repair_x86_decode(const uint8_t *code, size_t len)
{
	struct decoder d = { .code = code, .len = len };
	struct leaf_x86_insn insn;
	char shape;

	d.opcode = skip_prefixes(&d);
	if (d.failed)
		return unknown;
	if (d.opcode == 0x0f)
		return decode_0f(&d);
	if (d.opcode == 0xc4 || d.opcode == 0xc5)
		return d.rex ? unknown : decode_vex(&d, d.opcode);
	if (d.opcode == 0x62)
		return d.rex ? unknown : decode_evex(&d);
	shape = shape_1byte[d.opcode];
	switch (shape) {
	case BAD:
		return unknown;
	case SPECIAL:
		return special_insn(&d);
	case NONE:
		return make(&d, LEAF_X86_NEUTRAL, 0);
	case IMM8: /* b0 to b7 with REX: spl, bpl */
		(void)next_int(&d, 1);
		if (d.opcode >= 0xb0 && d.opcode <= 0xb7 && d.rex)
			return make(&d, effect_of_write((d.opcode & 7) | (d.rex & 1 ? 8 : 0)), 0);
		return make(&d, LEAF_X86_NEUTRAL, 0);
	case IMMZ:
		(void)next_immz(&d);
		return make(&d, LEAF_X86_NEUTRAL, 0);
	default:
		break;
	}
	insn = shaped_insn(&d, shape);
	if (d.opcode == 0x89 || d.opcode == 0x8b || d.opcode == 0x8d)
		(void)frame_move(&d, &insn);
	return insn;
}
