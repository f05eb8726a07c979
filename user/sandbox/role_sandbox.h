/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the launcher and its children give up, each in its own process, whoever has started them: there
 * is no way to be one of them and give up nothing. daemon_sandbox.h says which rights these are. A unit
 * test that plays these roles is linked with tests/unit/no_sandbox.h instead.
 */
#ifndef JBPF_SANDBOX_ROLE_SANDBOX_H
#define JBPF_SANDBOX_ROLE_SANDBOX_H

#include <stdbool.h>

#include "user/util/attributes.h"

/* For the launcher (sandbox/launcher.h): keeps the rights that its children need. 0 or -errno. */
__must_check int role_sandbox_launcher(bool attaches);
/* For the process that names: looks into processes, and changes nothing. 0 or -errno. */
__must_check int role_sandbox_namer(void);

/*
 * For the child that talks to a JVM, once it is connected (collect/attach/jvm_attach.h): below
 * `tmp_fd`, the JVM's /tmp, are all files that it needs. 0 or -errno.
 */
__must_check int role_sandbox_asker(int tmp_fd);

#endif
