// SPDX-License-Identifier: Apache-2.0
/* A window on a file's code; see code_text.h. */
#include "symbols/unwind/code_text.h"

#include <elf.h>
#include <string.h>

#include "symbols/x86/x86_insn.h"
#include "user/util/cleanup.h"

#define X86_INSN_MAX_BYTES 15u

static bool code_text_move(struct code_text *text, uint64_t address)
{
	const struct elf_file *file = text->file;

	text->len = 0;
	for (size_t i = 0; i < file->segment_cnt; i++) {
		const struct elf_segment *segment = &file->segments[i];
		uint64_t skip = address - segment->address;
		uint64_t left, offset;

		if (segment->type != PT_LOAD || !(segment->flags & PF_X) ||
		    address < segment->address || skip >= segment->file_size ||
		    __builtin_add_overflow(segment->offset, skip, &offset) || offset >= file->size)
			continue;
		left = segment->file_size - skip;
		left = left < file->size - offset ? left : file->size - offset;
		text->len = left < sizeof(text->window) ? (size_t)left : sizeof(text->window);
		text->address = address;
		if (elf_file_read(file, offset, text->window, text->len))
			text->len = 0;
		return text->len > 0;
	}
	return false;
}

const uint8_t *code_text_at(struct code_text *text, uint64_t address, size_t len)
{
	if (len > CODE_TEXT_MAX_ASK_BYTES)
		return NULL;
	if ((address < text->address || address - text->address >= text->len ||
	     len > text->len - (address - text->address)) &&
	    !code_text_move(text, address))
		return NULL;
	return len <= text->len - (address - text->address) ?
		       text->window + (address - text->address) :
		       NULL;
}

bool code_text_keeps_stack(struct code_text *text, uint64_t from, uint64_t end)
{
	bool has_end = false;

	if (text->file->machine != EM_X86_64 || end - from > CODE_TEXT_MAX_SCAN_BYTES)
		return false;
	while (from < end) {
		uint64_t left = end - from;
		size_t len = left < X86_INSN_MAX_BYTES ? (size_t)left : X86_INSN_MAX_BYTES;
		const uint8_t *code = code_text_at(text, from, len);
		struct x86_insn insn = { .effect = X86_INSN_UNKNOWN };

		if (code)
			insn = x86_insn_decode(code, len);
		if (insn.effect != X86_INSN_NEUTRAL && insn.effect != X86_INSN_RET &&
		    insn.effect != X86_INSN_JUMP && insn.effect != X86_INSN_BRANCH &&
		    insn.effect != X86_INSN_STOP)
			return false;
		has_end |= insn.effect == X86_INSN_RET || insn.effect == X86_INSN_JUMP;
		from += insn.len;
	}
	return has_end;
}

/* The nops that gas and lld write, by what they begin with; the rest is of no meaning. */
static size_t x86_nop_len(const uint8_t *code, size_t left)
{
	static const struct {
		uint8_t bytes[3];
		uint8_t cnt; /* of these */
		uint8_t len;
	} nops[] = {
		{ { 0x90 }, 1, 1 },
		{ { 0xcc }, 1, 1 },
		{ { 0x0f, 0x1f, 0x00 }, 3, 3 },
		{ { 0x0f, 0x1f, 0x40 }, 3, 4 },
		{ { 0x0f, 0x1f, 0x44 }, 3, 5 },
		{ { 0x0f, 0x1f, 0x80 }, 3, 7 },
		{ { 0x0f, 0x1f, 0x84 }, 3, 8 },
	};
	size_t prefixes = 0;

	while (prefixes < left && (code[prefixes] == 0x66 || code[prefixes] == 0x2e))
		prefixes++;
	for (size_t i = 0; i < ARRAY_SIZE(nops); i++)
		if (left - prefixes >= nops[i].len &&
		    memcmp(code + prefixes, nops[i].bytes, nops[i].cnt) == 0)
			return prefixes + nops[i].len;
	return 0;
}

static size_t arm64_nop_len(const uint8_t *code, size_t left)
{
	static const uint8_t nop[] = { 0x1f, 0x20, 0x03, 0xd5 };

	return left >= sizeof(nop) && memcmp(code, nop, sizeof(nop)) == 0 ? sizeof(nop) : 0;
}

bool code_text_is_padding(uint16_t machine, const uint8_t *code, size_t len)
{
	size_t at = 0;

	while (at < len) {
		size_t nop = machine == EM_X86_64 ? x86_nop_len(code + at, len - at) :
						    arm64_nop_len(code + at, len - at);

		if (nop == 0)
			break;
		at += nop;
	}
	/* Or zeros, which no linker writes over code. */
	while (at < len && code[at] == 0)
		at++;
	return at == len;
}
