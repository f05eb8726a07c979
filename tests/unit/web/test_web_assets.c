// SPDX-License-Identifier: Apache-2.0
/* What of the page is in the program; uPlot is there byte by byte as it was published. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "user/util/cleanup.h"
#include "user/util/fs.h"
#include "symbols/unwind/sha256.h"
#include "user/web/web_assets.h"

#define CHECKSUMS "user/web/vendor/CHECKSUMS"

static void assets_are_found_by_their_whole_path(void **state)
{
	struct web_asset asset;

	(void)state;
	assert_ptr_equal(web_assets_find("/", &asset), &asset);
	assert_string_equal(asset.media_type, "text/html; charset=utf-8");
	assert_memory_equal(asset.bytes, "<!DOCTYPE html>", 15);
	assert_non_null(web_assets_find("/web.js", &asset));
	assert_non_null(web_assets_find("/web.css", &asset));
	assert_null(web_assets_find("/web.js/", &asset));
	assert_null(web_assets_find("/../web.js", &asset));
	assert_null(web_assets_find("", &asset));
}

/* The policy of the page runs no script that stands in it. */
static void the_page_has_no_script_in_it(void **state)
{
	struct web_asset asset;

	(void)state;
	assert_non_null(web_assets_find("/", &asset));
	for (const char *at = asset.bytes; (at = strstr(at, "<script")); at++)
		assert_non_null(memmem(at, strcspn(at, ">"), "src=", 4));
	assert_null(strstr(asset.bytes, "style="));
	assert_null(strstr(asset.bytes, "onclick"));
}

static void hash_of(const char *path, char out[2 * SHA256_BYTES + 1])
{
	uint8_t bytes[SHA256_BYTES];
	struct web_asset asset;
	struct sha256 sha;

	assert_non_null(web_assets_find(path, &asset));
	sha256_init(&sha);
	sha256_add(&sha, asset.bytes, asset.len);
	sha256_end(&sha, bytes);
	for (size_t i = 0; i < SHA256_BYTES; i++)
		(void)snprintf(out + 2 * i, 3, "%02x", bytes[i]);
}

static void uplot_is_what_was_published(void **state)
{
	static const struct {
		const char *path;
		const char *file;
	} rows[] = {
		{ "/uPlot.js", "uPlot.iife.min.js" },
		{ "/uPlot.css", "uPlot.min.css" },
		{ "/uPlot.LICENSE", "uPlot.LICENSE" },
	};
	__cleanup_strbuf struct strbuf sums = STRBUF_INIT;

	(void)state;
	if (fs_read_file(AT_FDCWD, CHECKSUMS, 4096, &sums))
		skip(); /* not in the top folder of the sources */
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char hash[2 * SHA256_BYTES + 1], line[256];

		hash_of(rows[i].path, hash);
		(void)snprintf(line, sizeof(line), "%s  %s\n", hash, rows[i].file);
		if (!strstr(strbuf_str(&sums), line))
			fail_msg("%s has no line %s", CHECKSUMS, line);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(assets_are_found_by_their_whole_path),
		cmocka_unit_test(the_page_has_no_script_in_it),
		cmocka_unit_test(uplot_is_what_was_published),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
