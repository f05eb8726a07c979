// SPDX-License-Identifier: Apache-2.0
/* A process whose first thread has ended, while another burns CPU time in burn_on(). Usage: ended_thread SECONDS */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static volatile double sink = 1.5;

static __attribute__((noinline, noreturn)) void *burn_on(void *unused)
{
	(void)unused;
	for (;;)
		sink = sink * 1.0000001 + 0.5;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	alarm(argc > 1 ? (unsigned int)strtoul(argv[1], NULL, 10) : 10);
	if (pthread_create(&thread, NULL, burn_on, NULL))
		return 1;
	pthread_exit(NULL);
}
