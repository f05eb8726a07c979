// SPDX-License-Identifier: Apache-2.0
/*
 * switches.bpf.c on this host until SIGINT: nothing is read out, so that it costs what its hook costs.
 * Says "sampling" on stderr when it is attached.
 *
 * Usage: bench_switches
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "tests/bench/switches.skel.h"

int main(void)
{
	struct switches_bpf *bpf;
	sigset_t signals;
	int err = 0, ended;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	bpf = switches_bpf__open_and_load();
	if (!bpf)
		err = -errno;
	if (!err)
		err = switches_bpf__attach(bpf);
	if (err) {
		fprintf(stderr, "bench_switches: %s\n", strerror(-err));
	} else {
		fprintf(stderr, "sampling\n");
		(void)sigwait(&signals, &ended);
	}
	switches_bpf__destroy(bpf);
	return err ? 1 : 0;
}
