// SPDX-License-Identifier: Apache-2.0
/*
 * A process whose CPU time is that of a BPF program, which it loads under this name. Prints "ready" when
 * that is loaded.
 * Usage: bpf_spinner SECONDS NAME
 */
#include <linux/bpf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define INSN_CNT 4000
#define REPEAT	 1000

static int bpf(enum bpf_cmd command, union bpf_attr *attr)
{
	return (int)syscall(SYS_bpf, command, attr, sizeof(*attr));
}

static int program_load(const char *name)
{
	static struct bpf_insn insns[INSN_CNT];
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_SOCKET_FILTER,
		.insns = (uintptr_t)insns,
		.insn_cnt = INSN_CNT,
		.license = (uintptr_t) "GPL",
	};

	snprintf(attr.prog_name, sizeof(attr.prog_name), "%s", name);
	for (int i = 0; i < INSN_CNT; i++)
		insns[i] = (struct bpf_insn){
			.code = BPF_ALU64 | (i ? BPF_MUL : BPF_MOV) | BPF_K,
			.imm = 12345 + name[0],
		};
	insns[INSN_CNT - 1] = (struct bpf_insn){ .code = BPF_JMP | BPF_EXIT };
	return bpf(BPF_PROG_LOAD, &attr);
}

int main(int argc, char **argv)
{
	static char packet[64];
	union bpf_attr attr = { 0 };
	int fd;

	if (argc != 3)
		return 2;
	alarm((unsigned int)atoi(argv[1]));
	fd = program_load(argv[2]);
	if (fd < 0) {
		perror("bpf_spinner: BPF_PROG_LOAD");
		return 1;
	}
	puts("ready");
	fflush(stdout);
	for (;;) {
		memset(&attr, 0, sizeof(attr));
		attr.test.prog_fd = (uint32_t)fd;
		attr.test.data_in = (uintptr_t)packet;
		attr.test.data_size_in = sizeof(packet);
		attr.test.repeat = REPEAT;
		if (bpf(BPF_PROG_TEST_RUN, &attr)) {
			perror("bpf_spinner: BPF_PROG_TEST_RUN");
			return 1;
		}
	}
}
