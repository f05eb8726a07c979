/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The metrics' text in shared memory: the daemon writes it, the process that serves it reads it and
 * can do nothing else to it. So the daemon never sees a request.
 */
#ifndef JBPF_SERVE_PAGE_H
#define JBPF_SERVE_PAGE_H

#include <stdint.h>

#include "user/util/attributes.h"
#include "user/util/strbuf.h"

#define SERVE_PAGE_TEXT_MAX (256u * 1024)

/* The state of naming; a reader that finds none takes it that naming goes on. */
enum serve_naming {
	SERVE_NAMING_GOES_ON = 0,
	SERVE_NAMING_DEAD = 1,	/* a restart would not mend it */
	SERVE_NAMING_STUCK = 2, /* it may */
};

/*
 * That jbpfd lives, from the thread that samples: apart from the text, which comes from the one that
 * waits for the disk.
 */
struct serve_beat {
	uint64_t until_boot_ns; /* when the next one is overdue */
	enum serve_naming naming;
};

struct serve_page; /* as the writer has it */

int serve_page__new(struct serve_page **out);
void serve_page__free(struct serve_page *page); /* NULL is fine */

/* For the reader: the kernel refuses any further writable mapping (F_SEAL_FUTURE_WRITE). */
int serve_page__fd(const struct serve_page *page);

/* The text until the next call. 0, or -E2BIG and unchanged. */
__must_check int serve_page__write(struct serve_page *page, const struct strbuf *text);
/* From any one thread, also while another one writes the text. */
void serve_page__beat(struct serve_page *page, const struct serve_beat *beat);

struct serve_page_view; /* as the reader has it: mapped for good */

/* NULL with errno when it cannot be mapped. */
const struct serve_page_view *serve_page_view(int fd);

/* Copies the text. 0, -EAGAIN: it is just being written, -ENOMEM. */
__must_check int serve_page_read(const struct serve_page_view *view, struct strbuf *out);
void serve_page_beat(const struct serve_page_view *view, struct serve_beat *out);

#endif
