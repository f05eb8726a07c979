/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of a daily series, as SERIES.md describes them. Whole files only: they are small and are
 * replaced, never changed. No I/O.
 */
#ifndef JBPF_SERIES_SERIES_FORMAT_H
#define JBPF_SERIES_SERIES_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/store/series/series.h"
#include "user/util/strbuf.h"

#define SERIES_FORMAT_FILE_MAX ((size_t)SERIES_BYTES_MAX + (1u << 20)) /* bytes of a whole file */

struct series_damage {
	uint64_t offset;  /* of the first place */
	const char *what; /* "cut off", "bad checksum", ... static */
};

/*
 * Appends the file's bytes; `key` says whose series it is. 0, -ENOMEM, or -EINVAL: the key is longer
 * than SERIES_LABEL_MAX.
 */
__must_check int series_format_encode(const struct series *series, const char *key,
				      struct strbuf *out);

/*
 * Adds to `series`, which is empty, the days of `bytes` that are intact. 0; 1 when something is
 * damaged: the days that were added are as they were written; -EEXIST: it is the series of another
 * key; -EPROTO: a newer jbpf wrote it; -ENOMEM. *damage is only set with 1.
 */
__must_check int series_format_decode(const void *bytes, size_t len, const char *key,
				      struct series *series, struct series_damage *damage);

#endif
