// SPDX-License-Identifier: Apache-2.0
/* See segment_header.h. */
#include "user/store/segment/segment_header.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "user/host/boot_id.h"
#include "user/util/clock.h"
#include "user/util/version.h"

#define HOST_NAME_BYTES 256

int segment_header_encode(const uint8_t segment_id[static FORMAT_ID_BYTES], struct strbuf *out)
{
	char host[HOST_NAME_BYTES] = "";
	char software[HOST_NAME_BYTES];
	struct format_header header = {
		.format_version = FORMAT_VERSION,
		.created_unix_ns = clock_unix_ns(),
		.host = host,
		.software = software,
	};

	snprintf(software, sizeof(software), "jbpf %s", jbpf_version);
	/* May be cut without a NUL. */
	if (gethostname(host, sizeof(host) - 1))
		host[0] = '\0';
	memcpy(header.segment_id, segment_id, FORMAT_ID_BYTES);
	boot_id_read(header.boot_id);
	return format_encode_header(&header, out);
}
