/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The main() of a fuzz target without a fuzzer: runs it once on each file of the folders named, and says
 * which one before, so that the last line of a run that crashed is the input it crashed on.
 * Usage: fuzz_X FOLDER-OR-FILE...
 */
#include <err.h>
#include <fts.h>

#include "tests/fuzz/fuzz.h"

/* Only some targets have it. */
int LLVMFuzzerInitialize(int *argc, char ***argv) __attribute__((weak));

static void replay(const char *path, size_t size)
{
	uint8_t *data = malloc(size ? size : 1);
	FILE *file = fopen(path, "re");

	if (!data || !file || fread(data, 1, size, file) != size)
		err(1, "%s", path);
	fclose(file);
	printf("%s\n", path);
	fflush(stdout);
	LLVMFuzzerTestOneInput(data, size);
	free(data);
}

int main(int argc, char **argv)
{
	FTS *files;
	size_t cnt = 0;

	if (argc < 2)
		errx(2, "Usage: %s FOLDER-OR-FILE...", argv[0]);
	if (LLVMFuzzerInitialize)
		LLVMFuzzerInitialize(&argc, &argv);
	files = fts_open(argv + 1, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	if (!files)
		err(1, "%s", argv[1]);
	for (FTSENT *file; (file = fts_read(files));) {
		if (file->fts_info == FTS_NS || file->fts_info == FTS_DNR ||
		    file->fts_info == FTS_ERR)
			errx(1, "%s: %s", file->fts_path, strerror(file->fts_errno));
		if (file->fts_info != FTS_F)
			continue;
		replay(file->fts_path, (size_t)file->fts_statp->st_size);
		cnt++;
	}
	fts_close(files);
	printf("%zu inputs\n", cnt);
	return 0;
}
