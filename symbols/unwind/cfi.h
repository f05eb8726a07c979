/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call frame instructions (DWARF 5, 6.4.2), run for the two registers that a row of an unwind table
 * can describe: the frame pointer and the return address. In: a file's entries; the instructions
 * may be anything. Out: what holds from which address on, as rows (bpf/jbpf_unwind.h) whose address
 * is 0.
 */
#ifndef JBPF_UNWIND_CFI_H
#define JBPF_UNWIND_CFI_H

#include <linux/types.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/jbpf_unwind.h"
#include "user/util/attributes.h"
#include "symbols/elf/eh_frame.h"

#define CFI_MAX_ROWS JBPF_UNWIND_MAX_WORDS

struct cfi_row {
	uint64_t start; /* address; the row holds up to the next one's */
	uint32_t row;
};

/* Zero-initialise; end with cfi_rows_release(). */
struct cfi_rows {
	struct cfi_row *items; /* owned; `start` ascends */
	size_t cnt;
	size_t cap;
};

/*
 * Appends one; it replaces the last one if that begins at the same address. 0; -ENOMEM; -EFBIG:
 * there are CFI_MAX_ROWS already, which a single function may claim to have.
 */
__must_check int cfi_rows_push(struct cfi_rows *rows, uint64_t start, uint32_t row);
/* The same, joined with the row before if both say the same. */
__must_check int cfi_rows_add(struct cfi_rows *rows, uint64_t start, uint32_t row);
void cfi_rows_release(struct cfi_rows *rows);

struct cfi;

/* For the entries of a file for `machine` (EM_*), borrowed. NULL: out of memory. */
struct cfi *cfi__new(const struct eh_frame *frame, uint16_t machine);
void cfi__free(struct cfi *cfi); /* NULL is fine */

/*
 * Replaces the content of `rows` by the rows of one FDE, from fde->from to fde->end. 0, -ENOMEM,
 * -EFBIG.
 */
__must_check int cfi__run(const struct cfi *cfi, const struct eh_frame_fde *fde,
			  struct cfi_rows *rows);

#endif
