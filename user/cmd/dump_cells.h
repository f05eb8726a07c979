/* SPDX-License-Identifier: Apache-2.0 */
/* Windows of the store as counts per cell of time, for a heat map. No I/O. */
#ifndef JBPF_CMD_DUMP_CELLS_H
#define JBPF_CMD_DUMP_CELLS_H

#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/model/cells.h"
#include "user/model/select.h"
#include "user/model/window.h"
#include "user/util/strbuf.h"

struct dump_cells {
	struct cells_sum *sum;
	uint64_t samples;  /* of the windows */
	uint64_t in_cells; /* of these, in cells */
	size_t bad_cnt;	   /* windows whose cells are broken; then they have none */
};

__must_check int dump_cells_init(struct dump_cells *cells); /* 0 or -ENOMEM */
void dump_cells_release(struct dump_cells *cells);

/* Adds a window. 0 or -ENOMEM. */
__must_check int dump_cells_add(struct dump_cells *cells, const struct window *window);

/*
 * Appends a line "2026-11-21T13:00:00.020Z 3" for each cell of the selection's time with samples,
 * in order of time. 0 or -ENOMEM.
 */
__must_check int dump_cells_text(struct dump_cells *cells, const struct selection *range,
				 struct strbuf *out);

#endif
