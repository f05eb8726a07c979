// SPDX-License-Identifier: Apache-2.0
/* The only file that is compiled again when the version changes; the Makefile defines it. */
#include "user/util/version.h"

const char jbpf_version[] = JBPF_VERSION;
