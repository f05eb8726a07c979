/* SPDX-License-Identifier: Apache-2.0 */
/* A selection in words, for the head of a picture. Pure. */
#ifndef JBPF_CLI_SELECTION_TITLE_H
#define JBPF_CLI_SELECTION_TITLE_H

#include <stddef.h>

#include "user/model/event.h"
#include "user/model/select.h"
#include "user/util/strbuf.h"

/* "CPU of java in container shop-1". Errors of both are the buffer's. */
void selection_title(enum event event, const struct selection *selection, struct strbuf *out);
/*
 * The other selectors, and the labels that stacks begin with: "namespace prod, kind java, by pod";
 * "" when there are none.
 */
void selection_subtitle(const struct selection *selection, const char *const *by, size_t by_cnt,
			struct strbuf *out);

#endif
