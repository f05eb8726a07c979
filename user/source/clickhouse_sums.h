/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums of samples, where windows are the same to a visitor: the server adds up, one text travels for all windows of a
 * class.
 *
 * In: a part and the classes of its windows, of which the part needs to have one for each stream only. Out: to the
 * visitor, one window for each class, without lines.
 */
#ifndef JBPF_SOURCE_CLICKHOUSE_SUMS_H
#define JBPF_SOURCE_CLICKHOUSE_SUMS_H

#include <stdbool.h>

#include "user/source/clickhouse_part.h"
#include "user/source/window_classes.h"
#include "user/util/attributes.h"

/*
 * 0 or -errno. Unless *is_done, nothing was handed out: there is something to tell window by window, since the
 * samples are not those that the windows count, or there are too many streams for a question.
 */
__must_check int clickhouse_sums_read(struct clickhouse_part *part,
				      const struct window_classes *classes, bool *is_done);

#endif
