// SPDX-License-Identifier: Apache-2.0
/* SHA-256 against the examples of FIPS 180-2, appendix B, in one piece and in many. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "user/util/cleanup.h"
#include "symbols/unwind/sha256.h"

static void hash_text(const char *text, size_t piece, char out[2 * SHA256_BYTES + 1])
{
	uint8_t digest[SHA256_BYTES];
	size_t len = strlen(text);
	struct sha256 sha;

	sha256_init(&sha);
	for (size_t at = 0; at < len; at += piece)
		sha256_add(&sha, text + at, len - at < piece ? len - at : piece);
	sha256_end(&sha, digest);
	for (size_t i = 0; i < SHA256_BYTES; i++)
		snprintf(out + 2 * i, 3, "%02x", digest[i]);
}

static void digests_are_those_of_the_standard(void **state)
{
	static const struct {
		const char *text, *digest;
	} rows[] = {
		{ "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
		{ "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
		{ "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
		  "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
	};
	char digest[2 * SHA256_BYTES + 1];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		hash_text(rows[i].text, 1000, digest);
		assert_string_equal(digest, rows[i].digest);
		hash_text(rows[i].text, 1, digest);
		assert_string_equal(digest, rows[i].digest);
	}
}

static void pieces_of_any_size_give_the_same(void **state)
{
	static char text[1001];
	char whole[2 * SHA256_BYTES + 1], parts[2 * SHA256_BYTES + 1];

	(void)state;
	memset(text, 'a', sizeof(text) - 1);
	hash_text(text, sizeof(text), whole);
	for (size_t piece = 1; piece < 200; piece++) {
		hash_text(text, piece, parts);
		assert_string_equal(parts, whole);
	}
	/* 1,000 times "a", as sha256sum(1) says. */
	assert_string_equal(whole,
			    "41edece42d63e8d9bf515a9ba6932e1c20cbc9f5a5d134645adb5db1b9737ea3");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(digests_are_those_of_the_standard),
		cmocka_unit_test(pieces_of_any_size_give_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
