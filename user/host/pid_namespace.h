/* SPDX-License-Identifier: Apache-2.0 */
/* Do the numbers of processes mean the same to the kernel's programs, to /proc and to us? */
#ifndef JBPF_HOST_PID_NAMESPACE_H
#define JBPF_HOST_PID_NAMESPACE_H

#include <stdbool.h>

/*
 * BPF programs see the pids of the host. False: this /proc, or this process, is in another pid namespace,
 * where the same numbers are other processes or none. True where that cannot be told.
 */
bool pid_namespace_is_the_hosts(int proc_fd);

/* What that means and what to do, as part of a line. */
#define PID_NAMESPACE_PROBLEM                                                              \
	"jbpfd is in a pid namespace of its own, and finds none of the host's processes: " \
	"their code and containers have no names; run it with the host's (docker run "     \
	"--pid=host, hostPID: true in Kubernetes; below kind or minikube, on the machine itself)"

#endif
