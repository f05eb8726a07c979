/* SPDX-License-Identifier: Apache-2.0 */
/* Names of pods out of the directories that the kubelet makes for their logs. */
#ifndef JBPF_CONTAINER_CONTAINER_PODS_H
#define JBPF_CONTAINER_CONTAINER_PODS_H

#include "user/util/attributes.h"

struct opener;

/*
 * Looks below root_fd for /var/log/pods/NAMESPACE_POD_UID, which is there with every runtime. The
 * directory must be root's. On success `*pod` is new, and `*namespace` where it was NULL; both are
 * the caller's to free. `opener` opens the directory. 0, -ENOENT or -ENOMEM.
 */
__must_check int container_pod_find(int root_fd, struct opener *opener, const char *pod_uid,
				    char **pod, char **namespace);

#endif
