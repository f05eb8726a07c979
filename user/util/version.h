/* SPDX-License-Identifier: Apache-2.0 */
/* Version of this build: `git describe` of the tree it was built from, or "unknown". */
#ifndef JBPF_UTIL_VERSION_H
#define JBPF_UTIL_VERSION_H

extern const char jbpf_version[];

#endif
