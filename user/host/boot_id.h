/* SPDX-License-Identifier: Apache-2.0 */
/* The id of the host's boot: 16 bytes. CLOCK_BOOTTIME values can be compared within one boot only. */
#ifndef JBPF_HOST_BOOT_ID_H
#define JBPF_HOST_BOOT_ID_H

#include <stddef.h>
#include <stdint.h>

#define BOOT_ID_BYTES 16

/* From /proc/sys/kernel/random/boot_id; zeros when it cannot be read. */
void boot_id_read(uint8_t out[static BOOT_ID_BYTES]);
/* The same from its text ("01234567-89ab-..."); zeros when it does not hold 32 hex digits. */
void boot_id_parse(const char *text, size_t len, uint8_t out[static BOOT_ID_BYTES]);

#endif
