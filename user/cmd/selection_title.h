/* SPDX-License-Identifier: Apache-2.0 */
/* What a dump shows, in words, for the head of a picture. Pure. */
#ifndef JBPF_CMD_DUMP_TITLE_H
#define JBPF_CMD_DUMP_TITLE_H

#include "user/cmd/dump_options.h"
#include "user/util/strbuf.h"

/* "CPU of java in container shop-1". 0 or -ENOMEM. */
int dump_title(const struct dump_options *options, struct strbuf *out);
/* The other selectors: "namespace prod, kind java, by pod"; "" when there are none. 0 or -ENOMEM. */
int dump_subtitle(const struct dump_options *options, struct strbuf *out);

#endif
