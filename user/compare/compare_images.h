/* SPDX-License-Identifier: Apache-2.0 */
/* Container images of the compared processes: a deploy shows as a service that has two. */
#ifndef JBPF_COMPARE_COMPARE_IMAGES_H
#define JBPF_COMPARE_COMPARE_IMAGES_H

#include <stdint.h>

#include "user/util/attributes.h"
#include "user/compare/compare_options.h"
#include "user/compare/compare_notes.h"
#include "user/cli/streams.h"
#include "user/store/store_source.h"
#include "user/util/strbuf.h"

/*
 * Two times are compared, and within one of them a service ran two images: adds a note with the
 * options that compare the images instead. 0 or -ENOMEM.
 */
__must_check int compare_images_note(const struct diff_cmd_options *options,
				     const struct streams *before, const struct streams *after,
				     struct compare_notes *notes);

/*
 * Appends which images there are in a time, for who asked for one that is not there: "that time has
 * images shop:1.7 (service shop), ..."; nothing when no process has one. Texts are inert on
 * terminals. 0 or -errno.
 */
__must_check int compare_images_hint(struct store_source *reader,
				     const struct diff_cmd_options *options, struct strbuf *out);

#endif
