/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HotSpot's UNSIGNED5, the variable-length numbers in scopes and line tables
 * (src/hotspot/share/utilities/unsigned5.hpp). Up to five bytes, low digits first; a byte below 192
 * ends the number, and so does the fifth. JDK 20 shifted all digits by one so that no byte is 0.
 */
#ifndef JBPF_HOTSPOT_UNSIGNED5_H
#define JBPF_HOTSPOT_UNSIGNED5_H

#include <stdbool.h>
#include <stdint.h>

#include "user/util/byte_reader.h"

#define UNSIGNED5_MAX_BYTES 5

/* The next number. Past the end, or a 0 where `excludes_zero`: `reader` fails and 0 is returned. */
uint32_t unsigned5_read(struct byte_reader *reader, bool excludes_zero);

/* The same with a sign in the lowest bit: 0, -1, 1, -2, ... */
int32_t unsigned5_read_signed(struct byte_reader *reader, bool excludes_zero);

#endif
