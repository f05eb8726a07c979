/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The entries of a file's .eh_frame: which function lies where, and the instructions by which its
 * frames are unwound (LSB, "Exception Frames"; DWARF 5, 6.4). In: an open file, which may say
 * anything. Out: its FDEs in order of address, only where the file has code. Without section headers
 * they are found by PT_GNU_EH_FRAME; a file without them may have .debug_frame, which is read instead.
 */
#ifndef JBPF_ELF_EH_FRAME_H
#define JBPF_ELF_EH_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "symbols/elf/elf_file.h"
#include "user/util/byte_reader.h"

#define EH_FRAME_MAX_BYTES (64u << 20)
#define EH_FRAME_MAX_CIES  65536u
#define EH_FRAME_MAX_FDES  (1u << 20)

/* What many FDEs have in common. */
struct eh_frame_cie {
	uint64_t at; /* of the entry, in the bytes */
	uint64_t code_align;
	int64_t data_align;
	uint64_t return_register;
	uint32_t code; /* instructions, in the bytes */
	uint32_t code_len;
	uint8_t fde_encoding; /* DW_EH_PE_* */
	bool has_data;	      /* FDEs have augmentation data, too */
	bool is_signal;	      /* frames of signal handlers' trampolines */
	bool is_known;	      /* its augmentation is understood; if not, so are its FDEs */
};

struct eh_frame_fde {
	uint64_t start; /* address, as the file's segments say */
	uint64_t from;	/* where it takes effect: behind the FDEs that begin before it */
	uint64_t end;	/* exclusive; above `from` */
	uint32_t cie;	/* index */
	uint32_t code;	/* instructions, in the bytes */
	uint32_t code_len;
};

/* Zero-initialise; end with eh_frame_release(). */
struct eh_frame {
	char *bytes; /* owned */
	size_t len;
	uint64_t address; /* of the bytes */
	bool is_debug;	  /* .debug_frame */
	bool is_sized; /* a section; else the bytes go on behind the last entry, whose length is 0 */
	struct eh_frame_cie *cies;
	size_t cie_cnt;
	struct eh_frame_fde *fdes; /* ascending, none overlaps another */
	size_t fde_cnt;
};

/*
 * Of a 64-bit file for x86_64 or aarch64. 0; -ENODATA: it has none, or no FDE for its code; -EFBIG:
 * more than the limits above; -ENOEXEC: damaged; -ENOMEM; an error of reading.
 */
__must_check int eh_frame_read(const struct elf_file *file, struct eh_frame *out);
/* The same by .debug_frame of the debug file of `file`, in which the code lies. */
__must_check int eh_frame_read_debug(const struct elf_file *file, const struct elf_file *debug,
				     struct eh_frame *out);
void eh_frame_release(struct eh_frame *frame);

/* The instructions of an entry. */
struct byte_reader eh_frame_code(const struct eh_frame *frame, uint32_t code, uint32_t code_len);

/* A pointer at the reader, which reads in the frame's bytes. Sets reader->failed where it is of no known form. */
uint64_t eh_frame_pointer(const struct eh_frame *frame, struct byte_reader *reader,
			  uint8_t encoding);

/* LEB128; more than 64 bits are cut off. */
uint64_t eh_frame_uleb(struct byte_reader *reader);
int64_t eh_frame_sleb(struct byte_reader *reader);

#endif
