/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CRC-32C (Castagnoli), the checksum of every record in the store: reflected polynomial
 * 0x82f63b78, start and final xor 0xffffffff. By instruction where the CPU has one.
 */
#ifndef JBPF_FORMAT_CRC32C_H
#define JBPF_FORMAT_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Checksum of `len` bytes. */
uint32_t crc32c(const void *bytes, size_t len);

/* The same without the instruction: for other CPUs, and for the test that compares the two. */
uint32_t crc32c_portable(const void *bytes, size_t len);

#endif
