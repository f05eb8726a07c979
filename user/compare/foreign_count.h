/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The counts of folded text as profilers write them: "12", "0.4", "1.5e+06". Exact: digits and the
 * place of the last one. Pure.
 */
#ifndef JBPF_COMPARE_FOREIGN_COUNT_H
#define JBPF_COMPARE_FOREIGN_COUNT_H

#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"

/* digits * 10^place; the last digit is not 0, unless the count is. */
struct foreign_count {
	uint64_t digits;
	int place;
};

/*
 * -EINVAL: no such number, a negative one, or a whole one of more than 64 bits. Digits behind the
 * point that 64 bits have no room for are cut off: "0.30000000000000004" is what some languages
 * make of 0.3.
 */
__must_check int foreign_count_parse(const char *text, size_t len, struct foreign_count *out);

long double foreign_count_value(const struct foreign_count *count);

/* In units of 10^place, rounded. UINT64_MAX when it is more. */
uint64_t foreign_count_at(const struct foreign_count *count, int place);

#endif
