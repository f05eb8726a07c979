/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server reads the store and nothing else. Started by root it becomes a user who may do no more
 * than that; whoever started it, the kernel holds it to reading the store (Landlock), without new
 * privileges and with the system calls of a reader.
 */
#ifndef JBPF_WEB_WEB_RIGHTS_H
#define JBPF_WEB_WEB_RIGHTS_H

#include <stddef.h>

#include "user/util/attributes.h"

/*
 * For good, for this process and its children. What has been given up is in `said` as one line for
 * people, empty when there is nothing to say. 0, or -errno and why not in `said`.
 */
__must_check int web_rights_give_up(const char *store_dir, char *said, size_t said_len);

#endif
