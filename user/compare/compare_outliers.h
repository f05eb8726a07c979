/* SPDX-License-Identifier: Apache-2.0 */
/* Which hosts of a service need more or less CPU for a method than the others do at the same time. */
#ifndef JBPF_COMPARE_COMPARE_OUTLIERS_H
#define JBPF_COMPARE_COMPARE_OUTLIERS_H

#include <stddef.h>

#include "user/cli/cmd_store.h"
#include "user/compare/compare_options.h"
#include "user/store/store_source.h"
#include "user/util/attributes.h"
#include "user/util/strbuf.h"

struct compare_outliers {
	size_t hosts;  /* with samples */
	size_t judged; /* of these */
	size_t odd;    /* of these: with a method that differs */
	size_t slower; /* of these: that need more for one */
};

/*
 * Appends a line for each method of a host that differs, for each host that could not be judged, and one
 * about all of them; inert on terminals. Nothing is appended for fewer than COMPARE_HOSTS_MIN hosts. 0 or -errno.
 */
__must_check int compare_outliers_find(struct store_source *reader,
				       const struct diff_cmd_options *options,
				       struct cmd_store_damage *damage, struct strbuf *text,
				       struct compare_outliers *out);

#endif
