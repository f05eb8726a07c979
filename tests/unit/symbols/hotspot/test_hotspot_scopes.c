// SPDX-License-Identifier: Apache-2.0
/*
 * Scopes of an nmethod made here byte by byte, in both forms of UNSIGNED5: what a pc maps to, every
 * way in which the data can be damaged, and random bytes. Real nmethods are in
 * test_hotspot_image.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>

#include "symbols/hotspot/hotspot_scopes_memory.h"
#include "symbols/hotspot/unsigned5.h"
#include "user/util/cleanup.h"

#define BASE	      0x7f0000010000ull
#define MEMORY_BYTES  65536u
#define PCS_AT	      0u
#define SCOPES_AT     16384u
#define METADATA_AT   32768u
#define CODE_BEGIN    0x7f1000000040ull
#define CODE_BYTES    0x1000u
#define DEOPT_HANDLER (CODE_BEGIN + 0xf00)
#define MH_HANDLER    (CODE_BEGIN + 0xf20)
#define OWN	      0x7f2000000008ull
#define CALLEE	      0x7f2000000108ull
#define LEAF	      0x7f2000000208ull

struct nmethod {
	uint8_t bytes[MEMORY_BYTES];
	size_t pcs, scopes, metadata; /* bytes in use */
	bool excludes_zero;
	int read_err; /* of every read, when not 0 */
	size_t read_cnt;
	struct remote_mem mem;
	struct hotspot_blob blob;
};

static int fake_read(const struct remote_mem *mem, uint64_t address, void *out, size_t len)
{
	struct nmethod *nm = (struct nmethod *)mem->ctx;

	nm->read_cnt++;
	if (nm->read_err)
		return nm->read_err;
	if (address < BASE || address - BASE > MEMORY_BYTES ||
	    len > MEMORY_BYTES - (address - BASE))
		return -EFAULT;
	memcpy(out, nm->bytes + (address - BASE), len);
	return 0;
}

static void put_pc(struct nmethod *nm, int32_t pc_offset, uint32_t scope)
{
	uint32_t desc[4] = { (uint32_t)pc_offset, scope, 0, 0 };

	memcpy(nm->bytes + PCS_AT + nm->pcs, desc, sizeof(desc));
	nm->pcs += sizeof(desc);
}

static void put_number(struct nmethod *nm, uint32_t value)
{
	uint8_t shift = nm->excludes_zero ? 1 : 0;
	uint32_t low = 192u - shift;
	uint8_t *to = nm->bytes + SCOPES_AT;

	for (unsigned int i = 0; i < UNSIGNED5_MAX_BYTES - 1 && value >= low; i++) {
		value -= low;
		to[nm->scopes++] = (uint8_t)(192 + value % 64);
		value /= 64;
	}
	to[nm->scopes++] = (uint8_t)(value + shift);
}

/* Returns the offset by which PcDescs and callees name it. */
static uint32_t put_scope(struct nmethod *nm, uint32_t sender, uint32_t method_index, int32_t bci)
{
	uint32_t offset = (uint32_t)nm->scopes;

	put_number(nm, sender);
	put_number(nm, method_index);
	put_number(nm, (uint32_t)(bci + 1));
	return offset;
}

static void put_metadata(struct nmethod *nm, uint64_t pointer)
{
	memcpy(nm->bytes + METADATA_AT + nm->metadata, &pointer, sizeof(pointer));
	nm->metadata += sizeof(pointer);
}

static void nmethod_init(struct nmethod *nm, bool excludes_zero)
{
	memset(nm, 0, sizeof(*nm));
	nm->excludes_zero = excludes_zero;
	nm->mem = (struct remote_mem){ .read = fake_read, .ctx = nm, .pid = 1 };
	nm->scopes = 1; /* offset 0 means none */
	put_metadata(nm, LEAF);
	put_metadata(nm, 0);
	put_metadata(nm, CALLEE);
	put_metadata(nm, OWN);
	put_pc(nm, -1, 0);
}

/* The end mark and the header: call it last. */
static void nmethod_finish(struct nmethod *nm)
{
	put_pc(nm, CODE_BYTES + 1, 0);
	nm->blob = (struct hotspot_blob){
		.start = CODE_BEGIN - 0x40,
		.end = CODE_BEGIN + CODE_BYTES,
		.code_begin = CODE_BEGIN,
		.code_end = CODE_BEGIN + CODE_BYTES,
		.kind = HOTSPOT_BLOB_NMETHOD,
		.method = OWN,
		.deopt_handler = DEOPT_HANDLER,
		.deopt_mh_handler = MH_HANDLER,
		.pcs_begin = BASE + PCS_AT,
		.pcs_end = BASE + PCS_AT + nm->pcs,
		.scopes_begin = BASE + SCOPES_AT,
		.scopes_end = BASE + SCOPES_AT + nm->scopes,
		.metadata_begin = BASE + METADATA_AT,
		.metadata_end = BASE + METADATA_AT + nm->metadata,
	};
}

static int nmethod_read(struct nmethod *nm, struct hotspot_scopes **out)
{
	return hotspot_scopes_read_memory(&nm->mem, nm->excludes_zero, &nm->blob, out);
}

/* own @7 -> callee @300 -> leaf @entry at 0x20; own @9 at 0x30; nothing at 0x38; own @11 at 0x100;
 * own @13 at the deopt handler. */
static void nmethod_three_deep(struct nmethod *nm, bool excludes_zero)
{
	uint32_t own, callee;

	nmethod_init(nm, excludes_zero);
	own = put_scope(nm, 0, 4, 7);
	callee = put_scope(nm, own, 3, 300);
	put_pc(nm, 0x20, put_scope(nm, callee, 1, -1));
	put_pc(nm, 0x30, put_scope(nm, 0, 4, 9));
	put_pc(nm, 0x38, 0);
	put_pc(nm, 0x100, put_scope(nm, 0, 4, 11));
	put_pc(nm, DEOPT_HANDLER - CODE_BEGIN, put_scope(nm, 0, 4, 13));
	nmethod_finish(nm);
}

static void three_deep_at(bool excludes_zero)
{
	static const struct {
		uint64_t offset;
		bool is_return_address;
		int err;
		size_t cnt;
		struct hotspot_scope scopes[3];
	} cases[] = {
#define THREE_DEEP { { LEAF, -1 }, { CALLEE, 300 }, { OWN, 7 } }
		{ 0x00, false, 0, 3, THREE_DEEP },
		{ 0x1f, false, 0, 3, THREE_DEEP },
		{ 0x20, false, 0, 3, THREE_DEEP }, /* (previous pc, this pc] */
		{ 0x20, true, 0, 3, THREE_DEEP },
		{ 0x21, false, 0, 1, { { OWN, 9 } } },
		{ 0x30, true, 0, 1, { { OWN, 9 } } },
		{ 0x31, false, 0, 1, { { OWN, 11 } } }, /* what describes nothing is passed over */
		{ 0x100, true, 0, 1, { { OWN, 11 } } },
		{ 0x1f, true, -ENOENT, 0, { { 0 } } },
		{ 0x21, true, -ENOENT, 0, { { 0 } } },
		{ 0x38, true, -ENOENT, 0, { { 0 } } },
		{ 0x101, false, 0, 1, { { OWN, 13 } } },
		{ DEOPT_HANDLER - CODE_BEGIN + 1, false, -ENOENT, 0, { { 0 } } },
		{ MH_HANDLER - CODE_BEGIN, true, -ENODATA, 0, { { 0 } } },
		{ DEOPT_HANDLER - CODE_BEGIN, true, -ENODATA, 0, { { 0 } } },
		{ CODE_BYTES + 1, false, -ENOENT, 0, { { 0 } } },
		{ (uint64_t)-1, false, -ENOENT, 0, { { 0 } } }, /* in front of the code */
	};
	struct hotspot_scope found[HOTSPOT_SCOPES_MAX_DEPTH];
	struct hotspot_scopes *scopes = NULL;
	struct nmethod nm;

	nmethod_three_deep(&nm, excludes_zero);
	assert_int_equal(nmethod_read(&nm, &scopes), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		size_t cnt = 0;

		assert_int_equal(hotspot_scopes__at(scopes, CODE_BEGIN + cases[i].offset,
						    cases[i].is_return_address, found, &cnt),
				 cases[i].err);
		assert_int_equal(cnt, cases[i].cnt);
		for (size_t k = 0; k < cnt; k++) {
			assert_int_equal(found[k].method, cases[i].scopes[k].method);
			assert_int_equal(found[k].bci, cases[i].scopes[k].bci);
		}
	}
	hotspot_scopes__free(scopes);
}

static void scopes_follow_the_interval_rule(void **state)
{
	(void)state;
	three_deep_at(false);
}

static void scopes_follow_the_interval_rule_without_zero_bytes(void **state)
{
	(void)state;
	three_deep_at(true);
}

/* The wrong form must not yield plausible chains: the outermost method would be another one. */
static void scopes_of_the_other_unsigned5_form_are_refused(void **state)
{
	struct hotspot_scope found[HOTSPOT_SCOPES_MAX_DEPTH];
	struct hotspot_scopes *scopes = NULL;
	struct nmethod nm;
	size_t cnt = 0;

	(void)state;
	for (int form = 0; form < 2; form++) {
		nmethod_three_deep(&nm, form == 0);
		nm.excludes_zero = form != 0;
		assert_int_equal(nmethod_read(&nm, &scopes), 0);
		assert_int_equal(hotspot_scopes__at(scopes, CODE_BEGIN + 0x20, true, found, &cnt),
				 -EINVAL);
		assert_int_equal(hotspot_scopes__at(scopes, CODE_BEGIN + 0x30, true, found, &cnt),
				 -EINVAL);
		assert_int_equal(cnt, 0);
		hotspot_scopes__free(scopes);
	}
}

/* A scope that is damaged costs its own frames, not those of its neighbours. */
static void scopes_that_are_damaged_are_refused_one_by_one(void **state)
{
	static const struct {
		const char *what;
		uint32_t sender;
		uint32_t method_index;
		int32_t bci;
	} cases[] = {
		{ "sender of itself", 200, 4, 1 },
		{ "sender behind", 201, 4, 1 },
		{ "sender past the end", 100000, 4, 1 },
		{ "sender in the middle of a number", 2, 4, 1 },
		{ "no method", 0, 0, 1 },
		{ "method past the end", 0, 5, 1 },
		{ "method far past the end", 0, UINT32_MAX, 1 },
		{ "metadata without a method", 0, 2, 1 },
		{ "not the nmethod's own method outermost", 0, 3, 1 },
		{ "bci above every method", 0, 4, 65535 },
	};
	struct hotspot_scope found[HOTSPOT_SCOPES_MAX_DEPTH];
	struct hotspot_scopes *scopes;
	struct nmethod nm;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		size_t cnt = 0;

		nmethod_init(&nm, false);
		put_pc(&nm, 0x10, put_scope(&nm, 0, 4, 65534));
		nm.scopes = 200;
		put_pc(&nm, 0x20,
		       put_scope(&nm, cases[i].sender, cases[i].method_index, cases[i].bci));
		put_pc(&nm, 0x30, put_scope(&nm, 200, 4, 3)); /* its sender is the damaged one */
		put_pc(&nm, 0x40, put_scope(&nm, 0, 4, 5));
		nmethod_finish(&nm);
		assert_int_equal(nmethod_read(&nm, &scopes), 0);
		assert_int_equal(hotspot_scopes__at(scopes, CODE_BEGIN + 0x20, false, found, &cnt),
				 -EINVAL);
		assert_int_equal(hotspot_scopes__at(scopes, CODE_BEGIN + 0x30, true, found, &cnt),
				 -EINVAL);
		assert_int_equal(cnt, 0);
		assert_int_equal(hotspot_scopes__at(scopes, CODE_BEGIN + 0x10, true, found, &cnt),
				 0);
		assert_int_equal(found[0].bci, 65534);
		assert_int_equal(hotspot_scopes__at(scopes, CODE_BEGIN + 0x40, true, found, &cnt),
				 0);
		assert_int_equal(cnt, 1);
		hotspot_scopes__free(scopes);
	}
}

static void scopes_that_end_in_a_number_are_refused(void **state)
{
	struct hotspot_scope found[HOTSPOT_SCOPES_MAX_DEPTH];
	struct hotspot_scopes *scopes;
	struct nmethod nm;
	uint32_t last;
	size_t cnt = 0;

	(void)state;
	nmethod_init(&nm, false);
	last = put_scope(&nm, 0, 4, 300);
	put_pc(&nm, 0x10, last);
	put_pc(&nm, 0x20, (uint32_t)nm.scopes);	    /* begins at the end */
	put_pc(&nm, 0x30, (uint32_t)nm.scopes + 1); /* and behind it */
	put_pc(&nm, 0x40, UINT32_MAX);
	nmethod_finish(&nm);
	nm.blob.scopes_end--;
	assert_int_equal(nmethod_read(&nm, &scopes), 0);
	for (uint64_t pc = 0x10; pc <= 0x40; pc += 0x10)
		assert_int_equal(hotspot_scopes__at(scopes, CODE_BEGIN + pc, true, found, &cnt),
				 -EINVAL);
	hotspot_scopes__free(scopes);
}

static void scopes_are_64_deep_at_most(void **state)
{
	struct hotspot_scope found[HOTSPOT_SCOPES_MAX_DEPTH];
	struct hotspot_scopes *scopes;
	struct nmethod nm;
	uint32_t sender = 0;
	size_t cnt = 0;

	(void)state;
	nmethod_init(&nm, true);
	for (int32_t depth = 1; depth <= 66; depth++) {
		sender = put_scope(&nm, sender, 4, depth);
		if (depth >= 63)
			put_pc(&nm, 0x400 - depth, sender); /* written in order below */
	}
	/* PcDescs must ascend: the deepest scope comes first, so that nothing is known yet. */
	for (size_t i = 0; i < 2; i++) {
		uint8_t desc[16];

		memcpy(desc, nm.bytes + PCS_AT + 16 * (1 + i), 16);
		memcpy(nm.bytes + PCS_AT + 16 * (1 + i), nm.bytes + PCS_AT + 16 * (4 - i), 16);
		memcpy(nm.bytes + PCS_AT + 16 * (4 - i), desc, 16);
	}
	nmethod_finish(&nm);
	assert_int_equal(nmethod_read(&nm, &scopes), 0);
	for (uint32_t depth = 63; depth <= 66; depth++) {
		int err = hotspot_scopes__at(scopes, CODE_BEGIN + 0x400 - depth, true, found, &cnt);

		assert_int_equal(err, depth <= 64 ? 0 : -EINVAL);
		if (depth > 64)
			continue;
		assert_int_equal(cnt, depth);
		assert_int_equal(found[0].bci, depth);
		assert_int_equal(found[depth - 1].bci, 1);
	}
	hotspot_scopes__free(scopes);
}

static void pc_descs_that_are_no_array_of_them_are_refused(void **state)
{
	static const struct {
		const char *what;
		size_t idx; /* this PcDesc */
		int32_t pc_offset;
	} cases[] = {
		{ "no begin mark", 0, 0 },	  { "not ascending", 2, 0x20 },
		{ "descending", 2, 0x10 },	  { "behind the code", 5, CODE_BYTES + 1 },
		{ "begin mark twice", 1, -1 },	  { "negative", 1, INT32_MIN },
		{ "no end mark", 6, CODE_BYTES },
	};
	struct hotspot_scopes *scopes = NULL;
	struct nmethod nm;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		nmethod_three_deep(&nm, false);
		memcpy(nm.bytes + PCS_AT + 16 * cases[i].idx, &cases[i].pc_offset, 4);
		assert_int_equal(nmethod_read(&nm, &scopes), -EAGAIN);
		assert_null(scopes);
	}
}

/* The VM rounds the array up; what lies behind the end mark does not matter. */
static void pc_descs_end_at_their_end_mark(void **state)
{
	struct hotspot_scopes *scopes = NULL;
	struct nmethod nm;

	(void)state;
	nmethod_three_deep(&nm, false);
	put_pc(&nm, 0x5a5a5a5a, 0x5a5a5a5a);
	nm.blob.pcs_end += 16 + 7;
	assert_int_equal(nmethod_read(&nm, &scopes), 0);
	hotspot_scopes__free(scopes);
}

static void nmethods_without_descriptions_have_no_scopes(void **state)
{
	struct hotspot_scopes *scopes = NULL;
	struct nmethod nm;

	(void)state;
	nmethod_init(&nm, false);
	put_pc(&nm, 0x10, 0);
	nmethod_finish(&nm); /* only marks, and one that describes nothing */
	assert_int_equal(nmethod_read(&nm, &scopes), -ENOENT);
	nm.blob.pcs_end = nm.blob.pcs_begin;
	assert_int_equal(nmethod_read(&nm, &scopes), -ENOENT);
	nm.blob.pcs_begin = 0;
	assert_int_equal(nmethod_read(&nm, &scopes), -ENOENT);
	nmethod_three_deep(&nm, false);
	nm.blob.method = 0; /* dead */
	assert_int_equal(nmethod_read(&nm, &scopes), -ENOENT);
	assert_null(scopes);
}

static void ranges_that_cannot_be_are_refused_unread(void **state)
{
	static const uint64_t mib = 1024 * 1024;
	struct hotspot_scopes *scopes = NULL;
	struct hotspot_blob blobs[8];
	struct nmethod nm;

	(void)state;
	nmethod_three_deep(&nm, false);
	for (size_t i = 0; i < ARRAY_SIZE(blobs); i++)
		blobs[i] = nm.blob;
	blobs[0].pcs_end = blobs[0].pcs_begin + 4 * mib + 16;
	blobs[1].scopes_end = blobs[1].scopes_begin + 4 * mib + 1;
	blobs[2].metadata_end = blobs[2].metadata_begin + mib + 8;
	blobs[3].pcs_end = blobs[3].pcs_begin - 16;
	blobs[4].scopes_begin = blobs[4].scopes_end + 1;
	blobs[5].metadata_begin = 0;
	blobs[6].code_end = blobs[6].code_begin - 1;
	blobs[7].code_end = blobs[7].code_begin + (2048 * mib);
	for (size_t i = 0; i < ARRAY_SIZE(blobs); i++) {
		nm.blob = blobs[i];
		assert_int_equal(nmethod_read(&nm, &scopes), -EAGAIN);
		assert_int_equal(nm.read_cnt, 0);
	}
	assert_null(scopes);
}

static void reading_fails_as_memory_does(void **state)
{
	static const struct {
		int read_err;
		int err;
	} cases[] = { { -EFAULT, -EAGAIN }, { -ESRCH, -ESRCH }, { -EPERM, -EPERM } };
	struct hotspot_scopes *scopes = NULL;
	struct nmethod nm;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		nmethod_three_deep(&nm, false);
		nm.read_err = cases[i].read_err;
		assert_int_equal(nmethod_read(&nm, &scopes), cases[i].err);
	}
	nmethod_three_deep(&nm, false);
	nm.blob.metadata_begin += 1ull << 32;
	nm.blob.metadata_end += 1ull << 32;
	assert_int_equal(nmethod_read(&nm, &scopes), -EAGAIN);
	nm.blob.metadata_begin = UINT64_MAX - 7;
	nm.blob.metadata_end = UINT64_MAX;
	assert_int_equal(nmethod_read(&nm, &scopes), -EAGAIN);
	assert_null(scopes);
}

static int fake_read_pieces(const struct remote_mem *mem, struct remote_piece *pieces, size_t cnt)
{
	struct nmethod *nm = (struct nmethod *)mem->ctx;

	for (size_t i = 0; i < cnt; i++)
		pieces[i].err = fake_read(mem, pieces[i].address, pieces[i].out, pieces[i].len);
	nm->read_cnt -= cnt - 1;
	return 0;
}

static void everything_is_read_at_once(void **state)
{
	struct hotspot_scopes *scopes;
	struct nmethod nm;

	(void)state;
	nmethod_three_deep(&nm, false);
	nm.mem.read_pieces = fake_read_pieces;
	assert_int_equal(nmethod_read(&nm, &scopes), 0);
	assert_int_equal(nm.read_cnt, 1);
	hotspot_scopes__free(scopes);
}

/* Ranges of one nmethod never overlap; those of garbage may. */
static void ranges_that_overlap_stay_inside_the_buffer(void **state)
{
	struct hotspot_scopes *scopes = NULL;
	struct nmethod nm;
	int err;

	(void)state;
	nmethod_three_deep(&nm, false);
	nm.blob.scopes_begin = nm.blob.pcs_begin;
	nm.blob.scopes_end = nm.blob.pcs_end;
	nm.blob.metadata_begin = nm.blob.pcs_begin + 1;
	nm.blob.metadata_end = nm.blob.pcs_end + 1;
	err = nmethod_read(&nm, &scopes);
	if (err == 0)
		hotspot_scopes__free(scopes);
	else
		assert_int_equal(err, -EAGAIN);
}

/* Whatever the bytes: a chain is no deeper than allowed, ends in the own method, and bytes count. */
static void random_damage_never_yields_a_chain_of_another_method(void **state)
{
	struct hotspot_scope found[HOTSPOT_SCOPES_MAX_DEPTH];
	unsigned int seed = 20260101;
	size_t good = 0;

	(void)state;
	for (int round = 0; round < 5000; round++) {
		struct hotspot_scopes *scopes;
		struct nmethod nm;

		nmethod_three_deep(&nm, round % 2 == 0);
		for (int flips = 1 + rand_r(&seed) % 4; flips; flips--) {
			size_t at = (size_t)rand_r(&seed);
			uint8_t byte = (uint8_t)rand_r(&seed);

			switch (rand_r(&seed) % 3) {
			case 0:
				nm.bytes[PCS_AT + at % nm.pcs] = byte;
				break;
			case 1:
				nm.bytes[SCOPES_AT + at % nm.scopes] = byte;
				break;
			default:
				nm.bytes[METADATA_AT + at % nm.metadata] = byte;
			}
		}
		if (nmethod_read(&nm, &scopes) != 0)
			continue;
		assert_true(hotspot_scopes__bytes(scopes) < 1024);
		for (uint64_t pc = 0; pc < 0x110; pc++) {
			size_t cnt = 0;

			if (hotspot_scopes__at(scopes, CODE_BEGIN + pc, false, found, &cnt) != 0)
				continue;
			assert_in_range(cnt, 1, HOTSPOT_SCOPES_MAX_DEPTH);
			assert_int_equal(found[cnt - 1].method, OWN);
			good++;
		}
		hotspot_scopes__free(scopes);
	}
	assert_true(good > 10000);
}

static void unsigned5_reads_both_forms(void **state)
{
	static const struct {
		uint8_t bytes[6];
		size_t len;
		bool excludes_zero;
		uint32_t value;
		size_t left; /* or SIZE_MAX: refused */
	} cases[] = {
		{ { 0 }, 1, false, 0, 0 },
		{ { 1 }, 1, true, 0, 0 },
		{ { 191, 7 }, 2, false, 191, 1 },
		{ { 191, 7 }, 2, true, 190, 1 },
		{ { 192, 0 }, 2, false, 192, 0 },
		{ { 192, 1 }, 2, true, 191, 0 },
		{ { 193, 1 }, 2, false, 193 + 64, 0 },
		{ { 255, 191 }, 2, false, 255 + 191 * 64, 0 },
		{ { 192, 192, 192, 192, 5, 9 },
		  6,
		  false,
		  192 * (1 + 64 + 4096 + 262144) + (5u << 24),
		  1 },
		/* The fifth byte ends the number, whatever it is; sums wrap. */
		{ { 255, 255, 255, 255, 255, 9 },
		  6,
		  false,
		  (uint32_t)(255ull * (1 + 64 + 4096 + 262144 + (1 << 24))),
		  1 },
		{ { 0 }, 0, false, 0, SIZE_MAX },
		{ { 192 }, 1, false, 0, SIZE_MAX },
		{ { 192, 192, 192, 192 }, 4, true, 0, SIZE_MAX },
		{ { 0 }, 1, true, 0, SIZE_MAX },
		{ { 192, 0, 5 }, 3, true, 0, SIZE_MAX },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct byte_reader reader = byte_reader_init(cases[i].bytes, cases[i].len);

		assert_int_equal(unsigned5_read(&reader, cases[i].excludes_zero), cases[i].value);
		assert_int_equal(reader.failed, cases[i].left == SIZE_MAX);
		if (!reader.failed)
			assert_int_equal(reader.left, cases[i].left);
	}
}

static void unsigned5_keeps_the_sign_in_the_lowest_bit(void **state)
{
	static const struct {
		uint8_t byte;
		int32_t value;
	} cases[] = { { 0, 0 }, { 1, -1 }, { 2, 1 }, { 3, -2 }, { 190, 95 }, { 191, -96 } };
	static const uint8_t largest[] = { 255, 252, 252, 252, 252 }; /* 2^32 - 1, see below */
	struct byte_reader reader;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		reader = byte_reader_init(&cases[i].byte, 1);
		assert_int_equal(unsigned5_read_signed(&reader, false), cases[i].value);
	}
	/* 255 + 252 * (2^6 + 2^12 + 2^18 + 2^24) = 2^32 - 1 modulo 2^32 */
	reader = byte_reader_init(largest, sizeof(largest));
	assert_int_equal(unsigned5_read_signed(&reader, false), INT32_MIN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scopes_follow_the_interval_rule),
		cmocka_unit_test(scopes_follow_the_interval_rule_without_zero_bytes),
		cmocka_unit_test(scopes_of_the_other_unsigned5_form_are_refused),
		cmocka_unit_test(scopes_that_are_damaged_are_refused_one_by_one),
		cmocka_unit_test(scopes_that_end_in_a_number_are_refused),
		cmocka_unit_test(scopes_are_64_deep_at_most),
		cmocka_unit_test(pc_descs_that_are_no_array_of_them_are_refused),
		cmocka_unit_test(pc_descs_end_at_their_end_mark),
		cmocka_unit_test(nmethods_without_descriptions_have_no_scopes),
		cmocka_unit_test(ranges_that_cannot_be_are_refused_unread),
		cmocka_unit_test(reading_fails_as_memory_does),
		cmocka_unit_test(everything_is_read_at_once),
		cmocka_unit_test(ranges_that_overlap_stay_inside_the_buffer),
		cmocka_unit_test(random_damage_never_yields_a_chain_of_another_method),
		cmocka_unit_test(unsigned5_reads_both_forms),
		cmocka_unit_test(unsigned5_keeps_the_sign_in_the_lowest_bit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
