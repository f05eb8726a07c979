// SPDX-License-Identifier: Apache-2.0
/*
 * A process whose CPU time is that of its filter of system calls, a classic BPF program. Prints "ready" when
 * that is loaded.
 * Usage: seccomp_spinner SECONDS
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define INSN_CNT 4000

int main(int argc, char **argv)
{
	static struct sock_filter insns[INSN_CNT];
	const struct sock_fprog program = { .len = INSN_CNT, .filter = insns };

	if (argc != 2)
		return 2;
	alarm((unsigned int)atoi(argv[1]));
	/* It reads an argument: else the kernel would remember what it says of a call. */
	insns[0] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						offsetof(struct seccomp_data, args));
	for (int i = 1; i < INSN_CNT; i++)
		insns[i] = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_MUL | BPF_K, 12345);
	insns[INSN_CNT - 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
		perror("seccomp_spinner: PR_SET_SECCOMP");
		return 1;
	}
	puts("ready");
	fflush(stdout);
	for (;;)
		(void)syscall(SYS_getppid);
}
