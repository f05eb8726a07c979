/* SPDX-License-Identifier: Apache-2.0 */
/* Names of system calls, by their number on this architecture. */
#ifndef JBPF_NAMING_SYSCALL_NAMES_H
#define JBPF_NAMING_SYSCALL_NAMES_H

#include <stdint.h>

/* "futex"; NULL: the headers that this was built with have none of this number. */
const char *syscall_name(uint32_t number);

#endif
