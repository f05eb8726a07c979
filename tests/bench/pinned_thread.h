/* SPDX-License-Identifier: Apache-2.0 */
/* A thread of a bench that stays on one CPU. */
#ifndef JBPF_TESTS_BENCH_PINNED_THREAD_H
#define JBPF_TESTS_BENCH_PINNED_THREAD_H

#include <pthread.h>
#include <sched.h>
#include <stdint.h>

/* It is never joined. 0 or -errno. */
static inline int pinned_thread_start(void *(*body)(void *arg), void *arg, uint32_t cpu)
{
	pthread_t thread;
	pthread_attr_t attr;
	cpu_set_t cpus;
	int err;

	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	pthread_attr_init(&attr);
	err = pthread_attr_setaffinity_np(&attr, sizeof(cpus), &cpus);
	if (!err)
		err = pthread_create(&thread, &attr, body, arg);
	pthread_attr_destroy(&attr);
	return -err;
}

#endif
