/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does code call right before an address? A return address that no call stands before is not one of
 * that code: other code lay there when the call was made. Pure: no process is touched here.
 */
#ifndef JBPF_LEAF_CALL_SITE_H
#define JBPF_LEAF_CALL_SITE_H

#include <stdbool.h>
#include <stdint.h>

#define CALL_SITE_BYTES 8 /* no call that compilers make is longer */

/* `code`: the CALL_SITE_BYTES bytes before the address. For the CPU that this was compiled for. */
bool call_site_ends(const uint8_t *code);

/* The same for each CPU. */
bool call_site_ends_x86(const uint8_t *code);
bool call_site_ends_arm64(const uint8_t *code);

#endif
