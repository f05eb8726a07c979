/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes small .eh_frame sections for tests, and tiny ELF files (tiny_elf.h) around them. Addresses are
 * absolute: the section's own address does not matter.
 */
#ifndef JBPF_TESTS_TINY_EH_FRAME_H
#define JBPF_TESTS_TINY_EH_FRAME_H

#include "tests/unit/tiny_elf.h"

#define TINY_CODE	     TINY_TEXT_ADDRESS
#define TINY_CODE_MAX	     0x4000u /* as the segment says; only TINY_TEXT_BYTES are of its own */
#define TINY_SEGMENT(number) (sizeof(Elf64_Ehdr) + (number) * sizeof(Elf64_Phdr))

struct tiny_eh {
	uint8_t bytes[8192];
	size_t len;
	size_t cie; /* where the last one begins */
	bool is_debug;
};

static inline void tiny_eh_put(struct tiny_eh *eh, const void *bytes, size_t len)
{
	if (len)
		memcpy(eh->bytes + eh->len, bytes, len);
	eh->len += len;
}

static inline void tiny_eh_end(struct tiny_eh *eh, size_t at)
{
	uint32_t len = (uint32_t)(eh->len - at - 4);

	memcpy(eh->bytes + at, &len, sizeof(len));
}

/* One whose augmentation is "zR" or "zRS": addresses of 8 bytes; code factor 1, data factor -8. */
static inline void tiny_eh_cie(struct tiny_eh *eh, const char *letters, uint8_t return_register,
			       const void *code, size_t len)
{
	const uint8_t head[] = { 1, 0x78, return_register, 1, 0x00 };
	uint32_t id = eh->is_debug ? UINT32_MAX : 0;

	eh->cie = eh->len;
	tiny_eh_put(eh, "\0\0\0", 4);
	tiny_eh_put(eh, &id, sizeof(id));
	tiny_eh_put(eh, "\1", 1);
	tiny_eh_put(eh, letters, strlen(letters) + 1);
	tiny_eh_put(eh, head, sizeof(head));
	tiny_eh_put(eh, code, len);
	tiny_eh_end(eh, eh->cie);
}

/* Of the last CIE; `at` is from the start of the code. */
static inline void tiny_eh_fde(struct tiny_eh *eh, uint64_t at, uint64_t size, const void *code,
			       size_t len)
{
	size_t begin = eh->len;
	uint32_t id = (uint32_t)(eh->is_debug ? eh->cie : begin + 4 - eh->cie);

	at += TINY_CODE;
	tiny_eh_put(eh, "\0\0\0", 4);
	tiny_eh_put(eh, &id, sizeof(id));
	tiny_eh_put(eh, &at, sizeof(at));
	tiny_eh_put(eh, &size, sizeof(size));
	tiny_eh_put(eh, "", 1);
	tiny_eh_put(eh, code, len);
	tiny_eh_end(eh, begin);
}

/* The file, whose code is `code` and zeros, into `bytes` (TINY_ELF_MAX of them); its length. */
static inline size_t tiny_eh_elf(const struct tiny_eh *eh, uint16_t machine, const void *code,
				 size_t code_len, uint8_t *bytes)
{
	const struct tiny_elf elf = {
		.extra = eh->bytes,
		.extra_len = eh->len,
		.extra_name = eh->is_debug ? ".debug_frame" : ".eh_frame",
	};
	size_t len = tiny_elf_write(&elf, bytes);
	uint64_t span = TINY_CODE_MAX;

	memcpy(bytes + 18, &machine, sizeof(machine));
	memcpy(bytes + TINY_SEGMENT(1) + 32, &span, sizeof(span));
	if (code_len)
		memcpy(bytes + TINY_TEXT_OFFSET, code, code_len);
	return len;
}

#endif
