/* SPDX-License-Identifier: Apache-2.0 */
/* Ends the run when a claim does not hold; libFuzzer then keeps the input. */
#ifndef JBPF_TESTS_MUST_H
#define JBPF_TESTS_MUST_H

#include <stdio.h>
#include <stdlib.h>

#define must(claim)                                                                           \
	do {                                                                                  \
		if (!(claim)) {                                                               \
			fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #claim); \
			abort();                                                              \
		}                                                                             \
	} while (0)

#endif
