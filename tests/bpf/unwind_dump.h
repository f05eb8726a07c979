/* SPDX-License-Identifier: Apache-2.0 */
/* What unwind_dump.bpf.c says of each sample. */
#ifndef JBPF_TESTS_UNWIND_DUMP_H
#define JBPF_TESTS_UNWIND_DUMP_H

#define DUMP_PAGE_BYTES 4096
#define DUMP_PAGES	16
#define DUMP_REGS	17	   /* as DWARF numbers them on x86_64, rip last */
#define DUMP_FP_PID_BIT (1u << 30) /* of no process: walked by frame pointers alone */

struct unwind_dump {
	__u64 regs[DUMP_REGS];
	__u64 rule_ns; /* cost of the walk by rules, and of one by frame pointers */
	__u64 fp_ns;
	__u32 fp_frame_cnt;
	__u32 rule_is_first;
	__u32 rule_miss_cnt; /* so far, of this CPU */
	__u32 frame_cnt;     /* of the walk by rules */
	__u32 end;
	__u32 page_cnt; /* of the stack, from the page that sp is in; 0: not wanted */
	__u64 ips[1024];
	__u8 stack[DUMP_PAGES * DUMP_PAGE_BYTES];
};

#endif
