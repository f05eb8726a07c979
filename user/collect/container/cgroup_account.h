/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which account (user/util/account.h) a cgroup belongs to: all that one container, or one user of
 * the host, can make more of is one account. Pure.
 */
#ifndef JBPF_CONTAINER_CGROUP_ACCOUNT_H
#define JBPF_CONTAINER_CGROUP_ACCOUNT_H

#include <stddef.h>
#include <stdint.h>

/*
 * How many bytes of a cgroup path name its account:
 * - up to "user-UID.slice" for what lies below /user.slice: the user may make any cgroup there, also
 *   ones that are called like containers;
 * - else up to the innermost container, or pod where no container is;
 * - else its first two components ("/system.slice/nginx.service"), or what there is.
 * 0: it is the root, or no path.
 */
size_t cgroup_account_len(const char *cgroup_path);

/* The same, but what lies below the first `roots_len` bytes, which root named, makes no account; 0: no limit. */
size_t cgroup_account_len_within(const char *cgroup_path, size_t roots_len);

/* Hash of so much of it; never ACCOUNT_NONE but when nothing is known of the cgroup (an empty path). */
uint64_t cgroup_account_id(const char *cgroup_path, size_t len);

#endif
