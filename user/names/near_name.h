/* SPDX-License-Identifier: Apache-2.0 */
/* Did you mean: how near a name comes to one that was typed. Pure. */
#ifndef JBPF_NAMES_NEAR_NAME_H
#define JBPF_NAMES_NEAR_NAME_H

#define NEAR_NAME_FAR UINT32_MAX

#include <stdbool.h>
#include <stdint.h>

/*
 * 0 = the same but for case, 1 = one contains the other, then rising by each letter that is wrong,
 * missing, too many, or swapped with its neighbour; NEAR_NAME_FAR = another name.
 */
uint32_t near_name(const char *typed, const char *name);

/* Is it nearer than `*least`, which begins as NEAR_NAME_FAR? Then that is what it becomes. */
bool near_name_is_nearer(const char *typed, const char *name, uint32_t *least);

#endif
