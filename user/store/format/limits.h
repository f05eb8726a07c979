/* SPDX-License-Identifier: Apache-2.0 */
/* What a store holds at most; part of store.h. */
#ifndef JBPF_FORMAT_LIMITS_H
#define JBPF_FORMAT_LIMITS_H

#define STORE_TEXT_MAX_BYTES (256u << 20)	       /* of one stream and window */
#define STORE_WINDOW_MAX_NS  (3600ull * 1000000000ull) /* readers look that far back, not further */

#endif
