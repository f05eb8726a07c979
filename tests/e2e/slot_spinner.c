// SPDX-License-Identifier: Apache-2.0
/*
 * Burns CPU in even_slot() and odd_slot() by turns, a quarter of a second of wall time each, and says for each
 * when it was in it: "even BEGIN END", in nanoseconds since 1970, both taken inside.
 * Usage: slot_spinner SECONDS
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define SLOT_NS 250000000ull

struct stay {
	uint64_t begin_ns, end_ns;
};

static inline __attribute__((always_inline)) uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static __attribute__((noinline)) struct stay even_slot(uint64_t until_ns)
{
	struct stay stay = { .begin_ns = now_ns() };

	while ((stay.end_ns = now_ns()) < until_ns)
		;
	return stay;
}

static __attribute__((noinline)) struct stay odd_slot(uint64_t until_ns)
{
	struct stay stay = { .begin_ns = now_ns() };

	while ((stay.end_ns = now_ns()) < until_ns)
		;
	return stay;
}

int main(int argc, char **argv)
{
	uint64_t end_ns = now_ns() + (argc > 1 ? strtoull(argv[1], NULL, 10) : 10) * 1000000000u;

	for (uint64_t slot = now_ns() / SLOT_NS; now_ns() < end_ns; slot = now_ns() / SLOT_NS) {
		struct stay stay = slot % 2 ? odd_slot((slot + 1) * SLOT_NS) :
					      even_slot((slot + 1) * SLOT_NS);

		printf("%s %" PRIu64 " %" PRIu64 "\n", slot % 2 ? "odd" : "even", stay.begin_ns,
		       stay.end_ns);
		fflush(stdout);
	}
	return 0;
}
