/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Days as people count them: from midnight to midnight of local time, 23 to 25 hours long. They are
 * numbered since 1970-01-01, so that neighbours differ by one whatever the clocks did between.
 */
#ifndef JBPF_DAILY_DATE_H
#define JBPF_DAILY_DATE_H

#include <stdint.h>

#include "user/util/attributes.h"

#define DAILY_DATE_BYTES sizeof("2026-11-21")

struct daily_date {
	uint32_t number;
	uint64_t since_unix_ns;
	uint64_t until_unix_ns; /* exclusive: the next day's since */
	char text[DAILY_DATE_BYTES];
};

/* The day that lies `back` whole days before the one that `unix_ns` is in. 0 or -ERANGE. */
__must_check int daily_date_before(uint64_t unix_ns, uint32_t back, struct daily_date *out);

/* "2026-11-21" of a day's number. */
void daily_date_text(uint32_t number, char out[static DAILY_DATE_BYTES]);

#endif
