/* SPDX-License-Identifier: Apache-2.0 */
/* The first record of a new file: who wrote it, where and when. */
#ifndef JBPF_SEGMENT_SEGMENT_HEADER_H
#define JBPF_SEGMENT_SEGMENT_HEADER_H

#include <stdint.h>

#include "user/util/attributes.h"
#include "user/store/format/format.h"
#include "user/util/strbuf.h"

/* Appends the header record of this host, boot and moment. 0 or -ENOMEM. */
__must_check int segment_header_encode(const uint8_t segment_id[static FORMAT_ID_BYTES],
				       struct strbuf *out);

#endif
