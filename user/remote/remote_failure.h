/* SPDX-License-Identifier: Apache-2.0 */
/* What went wrong with a request to a server of profiles, and what helps: one vocabulary for all of them. */
#ifndef JBPF_REMOTE_REMOTE_FAILURE_H
#define JBPF_REMOTE_REMOTE_FAILURE_H

#include <stdint.h>

enum remote_fault {
	REMOTE_FAULT_NONE = 0,
	REMOTE_FAULT_PASSING, /* no connection, 408, 429, 5xx, a quota, memory is short here: the same again, later */
	REMOTE_FAULT_PERSON, /* user, token, tenant, no such table, or no profiles are taken at this address */
	REMOTE_FAULT_TOO_LARGE, /* 413: less at once may do */
	REMOTE_FAULT_UNWANTED,	/* it does not take samples of that time: nothing helps */
	REMOTE_FAULT_BAD,	/* anything else that is wrong with the request */
};

struct remote_failure {
	enum remote_fault fault;
	uint32_t retry_after_s; /* it asks for no request before; 0 = it does not say */
	char words[512];	/* one line: what, at which server, what to do */
};

#endif
