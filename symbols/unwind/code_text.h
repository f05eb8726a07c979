/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine code of a file, read from its lower addresses to its higher ones, for what call frame
 * information alone does not prove.
 */
#ifndef JBPF_UNWIND_CODE_TEXT_H
#define JBPF_UNWIND_CODE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/elf/elf_file.h"

#define CODE_TEXT_WINDOW_BYTES	 65536u
#define CODE_TEXT_MAX_ASK_BYTES	 64u
#define CODE_TEXT_MAX_SCAN_BYTES 16384u

/* What was read last. Zero-initialise but for `file`; nothing to release. */
struct code_text {
	const struct elf_file *file; /* borrowed */
	uint64_t address;	     /* of the window; len 0: none */
	size_t len;
	uint8_t window[CODE_TEXT_WINDOW_BYTES];
};

/* Code, valid until the next call; NULL: the file has no such, or it cannot be read. `len` <= 64. */
const uint8_t *code_text_at(struct code_text *text, uint64_t address, size_t len);

/*
 * Is [from, end) code that ends somewhere, of which no instruction touches the stack or the frame pointer, nor
 * calls? Says so of x86-64
 * code alone, of CODE_TEXT_MAX_SCAN_BYTES at most.
 */
bool code_text_keeps_stack(struct code_text *text, uint64_t from, uint64_t end);

/* What is between functions: instructions that do nothing, to the last byte of these? `len` <= 64. */
bool code_text_is_padding(uint16_t machine, const uint8_t *code, size_t len);

#endif
