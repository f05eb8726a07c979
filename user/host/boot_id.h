/* SPDX-License-Identifier: Apache-2.0 */
/* Which boot of the host: 16 bytes that tell two CLOCK_BOOTTIME values of different boots apart. */
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
