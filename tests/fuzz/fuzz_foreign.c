// SPDX-License-Identifier: Apache-2.0
/*
 * Folded files of other profilers as the two sides of a comparison. Either both are taken, and then
 * their samples are those of a slow reader and no more than fit, or the error is said; a side never
 * has more unknown frames than frames.
 *
 * Input: the first file, a byte 0, the second file.
 */
#include "tests/fuzz/fuzz.h"
#include "user/compare/compare_foreign.h"
#include "user/util/log.h"

#define TOTAL_MAX (1ull << 31)

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	log_set_level(LOG_LEVEL_ERR);
	/* What is wrong with the files is said there. */
	must(setvbuf(stderr, NULL, _IOLBF, 4096) == 0);
	return 0;
}

static void check_side(const struct compare_loaded *side, size_t len)
{
	size_t blocks = diff_side__block_count(side->side);
	uint64_t items = 0;

	must(blocks <= 1 && (blocks || !side->counts.samples));
	must(side->counts.samples <= TOTAL_MAX + len);
	must(side->counts.unknown_frames <= side->counts.frames);
	for (size_t i = 0; i < blocks; i++) {
		const struct diff_block *block = diff_side__block(side->side, i);
		size_t cnt;
		const struct diff_count *counts = diff_side__counts(side->side, i, &cnt);

		must(block->samples == side->counts.samples && block->length_ns);
		for (size_t j = 0; j < cnt; j++) {
			must(counts[j].count <= block->samples);
			items += counts[j].count;
		}
	}
	must(items || !side->counts.samples);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const uint8_t *middle = len ? memchr(data, 0, len) : NULL;
	size_t first = middle ? (size_t)(middle - data) : len;
	size_t second = middle ? len - first - 1 : 0;
	int fds[] = { fuzz_file(data, first), fuzz_file(middle ? middle + 1 : data, second) };
	struct diff_catalog *catalog = diff_catalog__new();
	struct compare_loaded before = { 0 }, after = { 0 };
	struct compare_notes notes = { 0 };
	char paths[2][64];
	int err;

	must(catalog);
	for (int i = 0; i < 2; i++)
		(void)snprintf(paths[i], sizeof(paths[i]), "/proc/self/fd/%d", fds[i]);
	err = compare_foreign_load(paths[0], paths[1], catalog, &notes, &before, &after);
	must(err == 0 || err == -EINVAL || err == -EBADMSG);
	if (!err) {
		must(notes.cnt >= 1);
		check_side(&before, first);
		check_side(&after, second);
	}
	compare_loaded_release(&before);
	compare_loaded_release(&after);
	compare_notes_release(&notes);
	diff_catalog__free(catalog);
	close(fds[0]);
	close(fds[1]);
	return 0;
}
