/* SPDX-License-Identifier: Apache-2.0 */
/* jbpf store check: reads a whole store and reports its damage and its size. */
#ifndef JBPF_CMD_STORE_CHECK_H
#define JBPF_CMD_STORE_CHECK_H

#include <stdbool.h>

/* Prints the report on stdout, errors on stderr. The exit code. */
int store_check(const char *dir, bool json);

#endif
