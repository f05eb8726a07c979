/* SPDX-License-Identifier: Apache-2.0 */
/* Windows of the store into one profile, with labels in front and only one kind. No I/O. */
#ifndef JBPF_CMD_DUMP_STACKS_H
#define JBPF_CMD_DUMP_STACKS_H

#include <stddef.h>

#include "user/util/attributes.h"
#include "user/cmd/dump_options.h"
#include "user/model/profile.h"
#include "user/model/window.h"

/*
 * Adds a window's folded text to the profile as the options ask for. Lines that are not stacks are
 * skipped and added to *bad_line_cnt. 0 or -ENOMEM.
 */
__must_check int dump_stacks_add(const struct dump_options *options, const struct window *window,
				 const char *text, size_t len, struct profile *profile,
				 size_t *bad_line_cnt);

#endif
