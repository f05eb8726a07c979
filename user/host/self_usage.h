/* SPDX-License-Identifier: Apache-2.0 */
/* CPU time and memory that this process uses itself. */
#ifndef JBPF_HOST_SELF_USAGE_H
#define JBPF_HOST_SELF_USAGE_H

#include <stdint.h>

/* CPU time in user and kernel mode, ns: of this process, and of its children that have ended. */
uint64_t self_usage_cpu_ns(void);
uint64_t self_usage_children_cpu_ns(void);
/* Resident memory; 0 = not known. */
uint64_t self_usage_resident_bytes(void);

#endif
