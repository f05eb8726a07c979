// SPDX-License-Identifier: Apache-2.0
/*
 * The two ways in which start_thread calls the thread's function end in one store:
 *
 *         call *...              ff d0..d7, or ff 90..97 disp32
 *         cltq                   48 98                          C11: int -> void *
 *     S:  mov  %rax,%fs:RESULT   64 48 89 04 25 imm32
 *         ...
 *         call *...
 *         jmp  S                 e9 rel32, or eb rel8           POSIX
 */
#include "symbols/elf/libc_thread.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "user/util/byte_reader.h"
#include "user/util/cleanup.h"

#define LIBC_CODE_MAX_BYTES    (16u << 20)
#define LIBC_DYNAMIC_MAX_BYTES (64u << 10)
/* struct pthread is about 2.3 KiB; `result` lies behind its list of robust mutexes. */
#define RESULT_MIN_OFFSET 0x200
#define RESULT_MAX_OFFSET 0x1000

static int32_t read_i32(const uint8_t *bytes)
{
	struct byte_reader reader = byte_reader_init(bytes, 4);

	return (int32_t)byte_reader_u32(&reader);
}

/* Length of an indirect call that ends right before `end`, 0 when there is none. */
static size_t call_before(const uint8_t *code, size_t end)
{
	if (end >= 2 && code[end - 2] == 0xff && (code[end - 1] & 0xf8) == 0xd0)
		return 2;
	if (end >= 6 && code[end - 6] == 0xff && (code[end - 5] & 0xf8) == 0x90)
		return 6;
	return 0;
}

/* Offset of S behind `from`, or `len`; *call is the call in front of it. */
static size_t find_store(const uint8_t *code, size_t len, size_t from,
			 struct libc_thread_call *call)
{
	static const uint8_t pattern[] = { 0x48, 0x98, 0x64, 0x48, 0x89, 0x04, 0x25 };

	while (from < len) {
		const uint8_t *hit = memmem(code + from, len - from, pattern, sizeof(pattern));
		size_t at, call_len;
		int32_t result;

		if (!hit)
			return len;
		at = (size_t)(hit - code);
		if (len - at < sizeof(pattern) + 4)
			return len;
		result = read_i32(hit + sizeof(pattern));
		call_len = call_before(code, at);
		if (call_len && result >= RESULT_MIN_OFFSET && result < RESULT_MAX_OFFSET) {
			*call = (struct libc_thread_call){ .offset = at - call_len,
							   .len = call_len };
			return at + 2;
		}
		from = at + 1;
	}
	return len;
}

/* Does a jump at `at` go to `target`? */
static bool jumps_to(const uint8_t *code, size_t len, size_t at, size_t target)
{
	int64_t end;

	if (code[at] == 0xe9 && len - at >= 5)
		end = (int64_t)at + 5 + read_i32(code + at + 1);
	else if (code[at] == 0xeb && len - at >= 2)
		end = (int64_t)at + 2 + (int8_t)code[at + 1];
	else
		return false;
	return end == (int64_t)target;
}

size_t libc_thread_find(const uint8_t *code, size_t len,
			struct libc_thread_call out[LIBC_THREAD_MAX_CALLS])
{
	struct libc_thread_call calls[LIBC_THREAD_MAX_CALLS], other;
	size_t store = find_store(code, len, 0, &calls[0]);
	size_t cnt = 1;

	if (store == len || find_store(code, len, store, &other) != len)
		return 0;
	for (size_t at = 2; at < len; at++) {
		size_t call_len;

		if (!jumps_to(code, len, at, store))
			continue;
		call_len = call_before(code, at);
		if (!call_len)
			continue;
		if (cnt == LIBC_THREAD_MAX_CALLS)
			return 0;
		calls[cnt++] =
			(struct libc_thread_call){ .offset = at - call_len, .len = call_len };
	}
	if (cnt != LIBC_THREAD_MAX_CALLS)
		return 0;
	memcpy(out, calls, sizeof(calls));
	return cnt;
}

/* Not the path: that is each container's, and what is found is shared by all that map the file. */
static bool has_soname(const struct elf_file *file, uint64_t strings_offset, const char *wanted)
{
	size_t len = strlen(wanted) + 1;
	char name[32];

	return len <= sizeof(name) && elf_file_read(file, strings_offset, name, len) == 0 &&
	       memcmp(name, wanted, len) == 0;
}

/* 0 or -ENOMEM. */
static int read_is_libc(const struct elf_file *file, bool *out)
{
	const struct elf_section *dynamic = elf_file_section_of_type(file, SHT_DYNAMIC);
	__cleanup_free char *bytes = NULL;
	struct byte_reader reader;
	size_t len;
	int err;

	*out = false;
	if (!dynamic || dynamic->link >= file->section_cnt)
		return 0;
	err = elf_file_section_bytes(file, dynamic, LIBC_DYNAMIC_MAX_BYTES, &bytes, &len);
	if (err)
		return err == -ENOMEM ? err : 0;
	reader = byte_reader_init(bytes, len);
	for (size_t at = 0; at + sizeof(Elf64_Dyn) <= len; at += sizeof(Elf64_Dyn)) {
		uint64_t tag = byte_reader_u64(&reader);
		uint64_t value = byte_reader_u64(&reader);
		uint64_t offset;

		if (tag != DT_SONAME)
			continue;
		*out = !__builtin_add_overflow(file->sections[dynamic->link].offset, value,
					       &offset) &&
		       has_soname(file, offset, "libc.so.6");
		return 0;
	}
	return 0;
}

int libc_thread_add(const struct elf_file *file, struct elf_symtab_builder *builder)
{
	const struct elf_section *text = elf_file_section(file, ".text");
	const struct elf_section *symtab = elf_file_section_of_type(file, SHT_SYMTAB);
	struct libc_thread_call calls[LIBC_THREAD_MAX_CALLS];
	__cleanup_free char *code = NULL;
	size_t len, cnt;
	bool is_libc;
	int err;

	if (!file->is_64 || file->machine != EM_X86_64 || !text || (symtab && symtab->size > 0))
		return 0;
	err = read_is_libc(file, &is_libc);
	if (err || !is_libc)
		return err;
	err = elf_file_section_bytes(file, text, LIBC_CODE_MAX_BYTES, &code, &len);
	if (err)
		return err == -ENOMEM ? err : 0;
	cnt = libc_thread_find((const uint8_t *)code, len, calls);
	for (size_t i = 0; i < cnt && !err; i++)
		err = elf_symtab_builder__add_symbol(builder, text->address + calls[i].offset,
						     calls[i].len, LIBC_THREAD_NAME);
	return err;
}
