/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file of a daily series: read whole, replaced whole. A damaged one is never written over: it is
 * kept under another name, and what was intact in it goes on.
 */
#ifndef JBPF_SERIES_SERIES_FILE_H
#define JBPF_SERIES_SERIES_FILE_H

#include <stdbool.h>

#include "user/util/attributes.h"
#include "user/store/series/series.h"
#include "user/store/series/series_format.h"

#define SERIES_FILE_SUFFIX	   ".series"
#define SERIES_FILE_DAMAGED_SUFFIX ".damaged" /* behind the name; one is kept, the newest */
#define SERIES_FILE_MODE	   0640

/* What reading a file came to. */
struct series_file_state {
	bool is_damaged; /* some days are lost, and the file is kept aside, too */
	struct series_damage damage;
};

/*
 * Reads `name` in `dir_fd` into *out, which the caller frees. A file that is not there is an empty
 * series. 0; -EEXIST: it is the series of another key; -EPROTO: a newer jbpf wrote it; -ENOMEM, or
 * what the system says. Files with these errors are left as they are.
 */
__must_check int series_file_read(int dir_fd, const char *name, const char *key,
				  struct series **out, struct series_file_state *state);

/* Replaces the file; on error it is as it was. 0 or -errno. */
__must_check int series_file_write(int dir_fd, const char *name, const char *key,
				   const struct series *series);

#endif
