/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server reads the store and nothing else. Started by root it becomes a user who may do no more
 * than that; whoever started it, the kernel holds it to reading the store (Landlock), without new
 * privileges and with the system calls of a reader. With --from there is no store: it reads no file at all, and
 * another process reaches the engine (web_engine_run.h).
 */
#ifndef JBPF_WEB_WEB_RIGHTS_H
#define JBPF_WEB_WEB_RIGHTS_H

#include <stddef.h>

#include "user/remote/remote_url.h"
#include "user/util/attributes.h"

/*
 * For good, for this process and its children; NULL: there is no store. What has been given up is in `said` as one line for
 * people, empty when there is nothing to say. 0, or -errno and why not in `said`.
 */
__must_check int web_rights_give_up(const char *store_dir, char *said, size_t said_len);

/*
 * The same for the process that reaches the engine: it is nobody where it was root, reads what is needed to look
 * up a host and to trust a certificate, and connects to that port. 0 or -errno.
 */
__must_check int web_rights_of_engine(const struct remote_url *url);

#endif
