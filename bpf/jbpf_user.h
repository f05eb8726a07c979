/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* jbpf.h as user space includes it: the types that vmlinux.h supplies in the kernel come first. */
#ifndef JBPF_USER_H
#define JBPF_USER_H

#include <linux/types.h>

#include "bpf/jbpf.h"

#endif
