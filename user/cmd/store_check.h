/* SPDX-License-Identifier: Apache-2.0 */
/* jbpf store check: everything that is in a store, and what of it is damaged. */
#ifndef JBPF_CMD_STORE_CHECK_H
#define JBPF_CMD_STORE_CHECK_H

#include <stdbool.h>

/* Prints what it finds on stdout, why it failed on stderr. The exit code. */
int store_check(const char *dir, bool json);

#endif
