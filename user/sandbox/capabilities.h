/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Capabilities of this thread as sets of bits (bit n: capability n of linux/capability.h), read and
 * set by the system calls themselves: capabilities(7). Nothing is inherited by a program that is
 * executed: all calls that set leave the inheritable set empty.
 */
#ifndef JBPF_SANDBOX_CAPABILITIES_H
#define JBPF_SANDBOX_CAPABILITIES_H

#include <linux/capability.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/util/strbuf.h"

#define CAPABILITY_BIT(cap) (1ull << (cap))

struct capabilities {
	uint64_t effective; /* in force */
	uint64_t permitted; /* may be brought into force */
};

/* 0 or -errno. */
__must_check int capabilities_read(struct capabilities *out);
/* The bounding set: capabilities that an executed program could get at most. */
uint64_t capabilities_bounding(void);

/*
 * No program that this process or a child of it executes may have capabilities any more; held ones
 * stay. 0, also without CAP_SETPCAP, where it stays; -errno.
 */
__must_check int capabilities_empty_bounding(void);

/*
 * From now on at most these. One that is not held is not given; one that is given up is gone for
 * ever. Ambient and inheritable sets are emptied, and the bounding set is cut down to the permitted
 * set, where CAP_SETPCAP allows that. 0 or -errno.
 */
__must_check int capabilities_limit(const struct capabilities *most);

/*
 * Raises those of `set` that are permitted and ignores the others. `before`, unless NULL, is for
 * capabilities_restore(). 0, or -errno and nothing changed.
 */
__must_check int capabilities_raise(uint64_t set, struct capabilities *before);
/* Puts the capabilities in force back to `before`, as far as they are still permitted. 0 or -errno. */
__must_check int capabilities_restore(const struct capabilities *before);

/* "CAP_BPF"; NULL for a number without a name here. */
const char *capabilities_name(unsigned int cap);
/* Appends names with blanks between them, "none" for the empty set. 0 or -ENOMEM. */
__must_check int capabilities_append_names(uint64_t set, struct strbuf *out);

#endif
