/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many places of a sweep (one damage after the other, each byte or each length) are left out to
 * the next one: none as released. Sanitizers make a damage twenty times as dear: then every 23rd
 * place is taken, which has no divisor with the size of a word, so that each byte of words has its
 * turn; all with JBPF_TEST_SWEEPS=all (scripts/check --all).
 */
#ifndef JBPF_TESTS_SWEEP_H
#define JBPF_TESTS_SWEEP_H

#include <stdlib.h>
#include <string.h>

static inline size_t sweep_step(void)
{
#ifdef __SANITIZE_ADDRESS__
	const char *sweeps = getenv("JBPF_TEST_SWEEPS");

	return sweeps && strcmp(sweeps, "all") == 0 ? 1 : 23;
#else
	return 1;
#endif
}

#endif
