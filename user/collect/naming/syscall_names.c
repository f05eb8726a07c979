// SPDX-License-Identifier: Apache-2.0
/* See syscall_names.h. The table is made out of the kernel's headers by the Makefile. */
#include "user/collect/naming/syscall_names.h"

#include <stddef.h>

#include "user/util/cleanup.h"

static const char *const names[] = {
#include "user/collect/naming/syscall_table.h"
};

const char *syscall_name(uint32_t number)
{
	return number < ARRAY_SIZE(names) ? names[number] : NULL;
}
