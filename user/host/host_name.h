/* SPDX-License-Identifier: Apache-2.0 */
/* The name of this host, as profiles carry it. */
#ifndef JBPF_HOST_HOST_NAME_H
#define JBPF_HOST_HOST_NAME_H

#include <stddef.h>

/*
 * Writes $NODE_NAME, which a pod gets from its node (a container's own name is its pod's), else
 * gethostname(); cut to len - 1 bytes. "" = neither is known.
 */
void host_name(char *out, size_t len);

/*
 * What the name is by now: the one that was given (NULL or "": none was), else that of host_name(). One
 * that was known stays when neither is.
 */
void host_name_update(const char *given, char *name, size_t len);

#endif
