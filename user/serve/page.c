// SPDX-License-Identifier: Apache-2.0
/*
 * A seqlock: its number is odd while the text is written. The writer never waits; a reader that
 * meets it tries again. The file is sealed: after the writer's own mapping there is no other
 * writable one, and its size stays.
 */
#include "user/serve/page.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define READ_TRIES 1000

struct serve_page_view {
	uint64_t sequence;
	/* Of the beat: each is read and written by itself. */
	uint64_t beat_until_boot_ns;
	uint64_t naming;
	uint64_t len;
	char text[SERVE_PAGE_TEXT_MAX];
};

struct serve_page {
	struct serve_page_view *shared;
	int fd;
};

static int page_map(struct serve_page *page)
{
	void *shared;

	page->fd = memfd_create("jbpfd-metrics", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (page->fd < 0 || ftruncate(page->fd, sizeof(*page->shared)))
		return -errno;
	shared = mmap(NULL, sizeof(*page->shared), PROT_READ | PROT_WRITE, MAP_SHARED, page->fd, 0);
	if (shared == MAP_FAILED)
		return -errno;
	page->shared = shared;
	/* Children do not inherit the writable mapping. */
	if (madvise(shared, sizeof(*page->shared), MADV_DONTFORK) ||
	    fcntl(page->fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_SHRINK | F_SEAL_GROW))
		return -errno;
	return 0;
}

int serve_page__new(struct serve_page **out)
{
	struct serve_page *page = calloc(1, sizeof(*page));
	int err;

	if (!page)
		return -ENOMEM;
	page->fd = -1;
	err = page_map(page);
	if (err) {
		serve_page__free(page);
		return err;
	}
	*out = page;
	return 0;
}

void serve_page__free(struct serve_page *page)
{
	if (!page)
		return;
	if (page->shared)
		munmap(page->shared, sizeof(*page->shared));
	if (page->fd >= 0)
		close(page->fd);
	free(page);
}

int serve_page__fd(const struct serve_page *page)
{
	return page->fd;
}

int serve_page__write(struct serve_page *page, const struct strbuf *text)
{
	struct serve_page_view *shared = page->shared;
	uint64_t sequence = shared->sequence;

	if (text->len > sizeof(shared->text))
		return -E2BIG;
	__atomic_store_n(&shared->sequence, sequence + 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	shared->len = text->len;
	if (text->len)
		memcpy(shared->text, text->data, text->len);
	__atomic_store_n(&shared->sequence, sequence + 2, __ATOMIC_RELEASE);
	return 0;
}

void serve_page__beat(struct serve_page *page, const struct serve_beat *beat)
{
	__atomic_store_n(&page->shared->naming, (uint64_t)beat->naming, __ATOMIC_RELAXED);
	__atomic_store_n(&page->shared->beat_until_boot_ns, beat->until_boot_ns, __ATOMIC_RELEASE);
}

const struct serve_page_view *serve_page_view(int fd)
{
	void *view = mmap(NULL, sizeof(struct serve_page_view), PROT_READ, MAP_SHARED, fd, 0);

	return view == MAP_FAILED ? NULL : view;
}

static bool read_once(const struct serve_page_view *view, struct strbuf *out)
{
	uint64_t sequence = __atomic_load_n(&view->sequence, __ATOMIC_ACQUIRE);
	uint64_t len = view->len;

	strbuf_clear(out);
	if (sequence & 1 || len > sizeof(view->text))
		return false;
	strbuf_append(out, view->text, len);
	if (strbuf_error(out))
		return false;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return __atomic_load_n(&view->sequence, __ATOMIC_RELAXED) == sequence;
}

int serve_page_read(const struct serve_page_view *view, struct strbuf *out)
{
	int err = strbuf_reserve(out, SERVE_PAGE_TEXT_MAX);

	for (int i = 0; !err && i < READ_TRIES; i++) {
		if (read_once(view, out))
			return 0;
	}
	return err ? err : -EAGAIN;
}

void serve_page_beat(const struct serve_page_view *view, struct serve_beat *out)
{
	out->until_boot_ns = __atomic_load_n(&view->beat_until_boot_ns, __ATOMIC_ACQUIRE);
	out->naming = (enum serve_naming)__atomic_load_n(&view->naming, __ATOMIC_RELAXED);
}
