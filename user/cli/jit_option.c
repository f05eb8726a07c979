// SPDX-License-Identifier: Apache-2.0
/* The value of --jit; see jit_option.h. */
#include "user/cli/jit_option.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

int jit_option_parse(const char *text, enum jit_mode *out)
{
	/* In the order of enum jit_mode. */
	static const char *const names[] = { "auto", "vmstructs", "perfmap", "attach", "off" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(text, names[i]) == 0) {
			*out = (enum jit_mode)i;
			return 0;
		}
	}
	return -EINVAL;
}
