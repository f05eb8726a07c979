// SPDX-License-Identifier: Apache-2.0
/*
 * Records the memory of a live JVM that reading it touches, for tests and for the fuzz target
 * (tests/unit/symbols/hotspot/hotspot_image.h), and shows what is read.
 *
 *     hotspot_image record PID OUT [LOOKS]   LOOKS: blobs looked at closely, besides "Inlined"
 *     hotspot_image replay FILE [LOOKS]      what a recorded image says
 *     hotspot_image show PID [LOOKS]         what the live JVM says
 *
 * Stop the JVM while it is recorded (kill -STOP), or pieces of different times come together. The
 * images in tests/fixtures/hotspot are of tests/e2e/java/Inlined.java, in containers with JDK 8, 11,
 * 17, 21 and 25:
 *
 *     java -Xmx32m -XX:+UseSerialGC -XX:+PreserveFramePointer
 *          -XX:+UnlockDiagnosticVMOptions -XX:+DebugNonSafepoints Inlined
 *
 * `show` and `replay` print "blob ADDRESS SIZE NAME" as Compiler.perfmap does, "chain PC ..." for
 * each return address with the methods there, innermost first, and "total ..." figures.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/elf/libjvm.h"
#include "symbols/parser/parser.h"
#include "tests/unit/symbols/hotspot/hotspot_exercise.h"
#include "tests/unit/symbols/hotspot/hotspot_image.h"
#include "tests/unit/parse_here.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/log.h"
#include "user/util/parse.h"

#define COMPRESSION_LEVEL 19
#define PIECE_CNT_MAX	  (IMAGE_MAX_BYTES / (IMAGE_PIECE_BYTES + 8))

/* Passes reads on to the process and keeps what they touch. */
struct recorder {
	struct remote_mem process;
	struct hotspot_image image; /* not ascending yet; indexed anew when it has doubled */
	size_t room;
};

static int recorder_grow(struct recorder *recorder)
{
	struct hotspot_image *image = &recorder->image;

	recorder->room = recorder->room ? recorder->room * 2 : 4096;
	image->addresses = reallocarray(image->addresses, recorder->room, 8);
	image->bytes = reallocarray(image->bytes, recorder->room, IMAGE_PIECE_BYTES);
	if (!image->addresses || !image->bytes || recorder->room > PIECE_CNT_MAX * 2)
		return -ENOMEM;
	/* Room for the index of all that will come until the next time. */
	free(image->slots);
	image->slot_mask = recorder->room * 2 - 1;
	image->slots = calloc(recorder->room * 2, sizeof(*image->slots));
	if (!image->slots)
		return -ENOMEM;
	for (size_t i = 0; i < image->cnt; i++)
		hotspot_image_insert(image, i);
	return 0;
}

static int recorder_keep(struct recorder *recorder, uint64_t address)
{
	struct hotspot_image *image = &recorder->image;
	int err;

	if (image->slots && hotspot_image_find(image, address) != SIZE_MAX)
		return 0;
	if (image->cnt == recorder->room) {
		err = recorder_grow(recorder);
		if (err)
			return err;
	}
	err = remote_mem_read(&recorder->process, address,
			      image->bytes + image->cnt * IMAGE_PIECE_BYTES, IMAGE_PIECE_BYTES);
	if (err)
		return err;
	image->addresses[image->cnt] = address;
	hotspot_image_insert(image, image->cnt++);
	return 0;
}

static int recorder_read(const struct remote_mem *mem, uint64_t address, void *out, size_t len)
{
	struct recorder *recorder = (struct recorder *)mem->ctx;
	uint64_t piece = address - address % IMAGE_PIECE_BYTES;
	int err = remote_mem_read(&recorder->process, address, out, len);

	for (; !err && piece < address + len; piece += IMAGE_PIECE_BYTES)
		err = recorder_keep(recorder, piece);
	return err;
}

/* ---- writing ---- */

struct piece {
	uint64_t address;
	const uint8_t *bytes;
};

static int piece_compare(const void *a, const void *b)
{
	const struct piece *left = a;
	const struct piece *right = b;

	return (left->address > right->address) - (left->address < right->address);
}

static uint8_t *image_bytes(const struct hotspot_image *image, size_t *len_out)
{
	const size_t head = 16 + VM_SYMBOL_CNT * 8;
	size_t len = head + image->cnt * (8 + IMAGE_PIECE_BYTES);
	const uint32_t counts[] = { VM_SYMBOL_CNT, (uint32_t)image->cnt };
	__cleanup_free struct piece *pieces = calloc(image->cnt + 1, sizeof(*pieces));
	uint8_t *data = malloc(len);

	if (!pieces || !data) {
		free(data);
		return NULL;
	}
	for (size_t i = 0; i < image->cnt; i++)
		pieces[i] =
			(struct piece){ image->addresses[i], image->bytes + i * IMAGE_PIECE_BYTES };
	qsort(pieces, image->cnt, sizeof(*pieces), piece_compare);
	memcpy(data, IMAGE_MAGIC, 8);
	memcpy(data + 8, counts, sizeof(counts));
	memcpy(data + 16, image->symbols.addresses, VM_SYMBOL_CNT * 8);
	for (size_t i = 0; i < image->cnt; i++) {
		memcpy(data + head + i * 8, &pieces[i].address, 8);
		memcpy(data + head + image->cnt * 8 + i * IMAGE_PIECE_BYTES, pieces[i].bytes,
		       IMAGE_PIECE_BYTES);
	}
	*len_out = len;
	return data;
}

static int image_write(const struct hotspot_image *image, const char *path)
{
	size_t len, bound, packed_len;
	__cleanup_free uint8_t *data = image_bytes(image, &len);
	__cleanup_free uint8_t *packed = NULL;
	__cleanup_file FILE *file = NULL;

	if (!data)
		return -ENOMEM;
	bound = ZSTD_compressBound(len);
	packed = malloc(bound);
	if (!packed)
		return -ENOMEM;
	packed_len = ZSTD_compress(packed, bound, data, len, COMPRESSION_LEVEL);
	if (ZSTD_isError(packed_len))
		return -EIO;
	file = fopen(path, "wbe");
	if (!file)
		return -errno;
	if (fwrite(packed, 1, packed_len, file) != packed_len || fflush(file) != 0)
		return -EIO;
	printf("image pieces=%zu bytes=%zu compressed=%zu\n", image->cnt, len, packed_len);
	return 0;
}

/* ---- commands ---- */

static void on_chain(void *ctx, const struct exercise_blob *in, uint64_t pc, const char *chain)
{
	(void)ctx;
	(void)in;
	printf("chain %" PRIx64 " %s\n", pc, chain);
}

static int print_all(struct exercise *exercise, const struct remote_mem *mem,
		     const struct vm_symbols *symbols)
{
	uint64_t start_ns = clock_monotonic_ns();
	int err;

	exercise->on_chain = on_chain;
	err = exercise_run(exercise, mem, symbols);
	for (size_t i = 0; i < exercise->blob_cnt; i++) {
		const struct exercise_blob *at = &exercise->blobs[i];

		printf("blob %" PRIx64 " %" PRIx64 " %s\n", at->blob.code_begin,
		       at->blob.code_end - at->blob.code_begin, at->name);
	}
	printf("total blobs=%zu found=%zu scopes=%zu scopes_bytes=%zu raw_bytes=%zu chains=%zu "
	       "inlined=%zu lines=%zu us=%" PRIu64 "\n",
	       exercise->blob_cnt, exercise->found_cnt, exercise->scopes_cnt,
	       exercise->scopes_bytes, exercise->raw_bytes, exercise->chain_cnt,
	       exercise->inlined_cnt, exercise->lines_cnt,
	       (clock_monotonic_ns() - start_ns) / 1000);
	return err;
}

/* Of the first libjvm.so with tables: a JVM that tests start has no second one. */
static int symbols_of(uint32_t pid, struct vm_symbols *out)
{
	__cleanup_fd int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct libjvm_mapping mapping;
	size_t cnt;
	int err;

	if (proc_fd < 0)
		return -errno;
	err = libjvm_find(proc_fd, pid, &mapping, 1, &cnt);
	if (err)
		return err;

	__cleanup_fd int fd = libjvm_open(proc_fd, pid, opener_here(), &mapping);

	return fd < 0 ? fd : libjvm_here(fd, &mapping, out);
}

static int run_record(uint32_t pid, const char *path, struct exercise *exercise)
{
	__cleanup_fd int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct recorder recorder = { .process = remote_mem_of_process(proc_fd, pid) };
	struct remote_mem mem = { .read = recorder_read, .ctx = &recorder, .pid = pid };
	int err = symbols_of(pid, &recorder.image.symbols);

	if (!err)
		err = exercise_run(exercise, &mem, &recorder.image.symbols);
	if (!err)
		err = image_write(&recorder.image, path);
	hotspot_image_release(&recorder.image);
	return err;
}

static int run_show(uint32_t pid, struct exercise *exercise)
{
	__cleanup_fd int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct remote_mem mem = remote_mem_of_process(proc_fd, pid);
	struct vm_symbols symbols;
	int err = symbols_of(pid, &symbols);

	return err ? err : print_all(exercise, &mem, &symbols);
}

static int run_replay(const char *path, struct exercise *exercise)
{
	struct image_memory memory = { .bytes = NULL };
	struct hotspot_image image;
	struct remote_mem mem;
	int err = hotspot_image_load(path, &image);

	if (!err)
		err = image_memory_init(&memory, &image);
	if (!err) {
		image_memory_reset(&memory, NULL, 0);
		mem = image_memory_mem(&memory);
		err = print_all(exercise, &mem, &image.symbols);
		printf("reads=%zu bytes=%zu\n", memory.read_cnt, memory.read_bytes);
	}
	image_memory_release(&memory);
	hotspot_image_release(&image);
	return err;
}

static int usage(void)
{
	fputs("Usage: hotspot_image record PID OUT [LOOKS] | replay FILE [LOOKS] | show PID [LOOKS]\n",
	      stderr);
	return 2;
}

int main(int argc, char **argv)
{
	struct exercise exercise = { .look_cnt = 40, .look_for = "Inlined", .asks_flags = true };
	bool is_record = argc > 2 && strcmp(argv[1], "record") == 0;
	bool is_replay = argc > 2 && strcmp(argv[1], "replay") == 0;
	int looks_at = is_record ? 4 : 3;
	uint64_t pid = 0, looks;
	int err;

	if (argc < looks_at || argc > looks_at + 1)
		return usage();
	if (argc > looks_at && parse_u64(argv[looks_at], &looks) == 0)
		exercise.look_cnt = (size_t)looks;
	if (!is_replay && (parse_u64(argv[2], &pid) || pid == 0 || pid > UINT32_MAX))
		return usage();
	if (is_record)
		err = run_record((uint32_t)pid, argv[3], &exercise);
	else if (is_replay)
		err = run_replay(argv[2], &exercise);
	else if (strcmp(argv[1], "show") == 0)
		err = run_show((uint32_t)pid, &exercise);
	else
		return usage();
	exercise_release(&exercise);
	if (err)
		fprintf(stderr, "hotspot_image: %s\n", errstr(err));
	return err ? 1 : 0;
}
