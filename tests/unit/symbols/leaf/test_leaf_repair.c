// SPDX-License-Identifier: Apache-2.0
/*
 * Every instruction of real compiled methods (tests/fixtures/leaf: five JDKs, C1 and C2, wrappers of
 * natives, on-stack replacement, methods thrown away) is taken for the leaf. What is true there is
 * found by another way: the disassembler's text is followed through all of the method, and how far
 * rsp and rbp are from the return address is kept for each instruction. A fixture is lines of
 * "address bytes text" below a line that names the method; text "patched" is the jump over the entry
 * of a method that was thrown away.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "symbols/leaf/leaf_repair.h"
#include "symbols/x86/x86_insn.h"
#include "symbols/leaf/leaf_repair_x86_judge.h"
#include "user/util/cleanup.h"

#define CODE_BYTES_MAX 2048
#define FILLER	       0xf4 /* hlt, which the fixtures leave out */
#define TEXT_BYTES     96
#define SAVED_MAX      4

enum truth {
	TRUTH_UNREACHED = 0, /* handlers that nothing in the method leads to */
	TRUTH_CHAIN,	     /* the chain has the caller */
	TRUTH_AT_SP,
	TRUTH_AT_SP_8,
	TRUTH_ELSEWHERE, /* missing, and at neither place; or rbp is on its way to the frame */
};

/* All distances are bytes up to the word with the return address. */
struct state {
	bool is_known;
	bool is_after_call; /* a call that does not return leads nowhere: others overrule */
	int rsp;
	int rbp; /* unless it is the caller's */
	bool rbp_is_callers;
	int saved[SAVED_MAX]; /* where the caller's rbp was stored */
	int saved_cnt;
};

struct line {
	uint64_t address;
	size_t len;
	char text[TEXT_BYTES];
	struct state state;
};

struct method {
	char title[128];
	struct hotspot_blob blob;
	uint8_t code[CODE_BYTES_MAX + LEAF_CODE_BYTES];
	struct line lines[CODE_BYTES_MAX];
	size_t line_cnt;
};

struct tally {
	size_t chain;
	size_t repaired;
	size_t elsewhere;
	size_t given_up; /* missing, at one of the two places, and not said */
	size_t patched;
};

static void record_save(struct state *state, int at)
{
	if (state->rbp_is_callers && state->saved_cnt < SAVED_MAX)
		state->saved[state->saved_cnt++] = at;
}

static bool is_saved_at(const struct state *state, int at)
{
	for (int i = 0; i < state->saved_cnt; i++) {
		if (state->saved[i] == at)
			return true;
	}
	return false;
}

static void load_rbp(struct state *state)
{
	state->rbp_is_callers = is_saved_at(state, state->rsp);
	state->rbp = state->rbp_is_callers ? 0 : -1;
	state->rsp -= 8;
}

/* What the text of an instruction does. Texts in question are few; the rest moves neither. */
static void step(struct state *state, const char *text)
{
	int value = 0;

	if (strcmp(text, "push rbp") == 0) {
		state->rsp += 8;
		record_save(state, state->rsp);
	} else if (strncmp(text, "push ", 5) == 0) {
		state->rsp += 8;
	} else if (strcmp(text, "pop rbp") == 0) {
		load_rbp(state);
	} else if (strncmp(text, "pop ", 4) == 0) {
		state->rsp -= 8;
	} else if (strcmp(text, "leave") == 0) {
		state->rsp = state->rbp;
		load_rbp(state);
	} else if (sscanf(text, "sub rsp,0x%x", (unsigned int *)&value) == 1) {
		state->rsp += value;
	} else if (sscanf(text, "add rsp,0x%x", (unsigned int *)&value) == 1) {
		state->rsp -= value;
	} else if (strcmp(text, "mov rbp,rsp") == 0) {
		state->rbp = state->rsp;
		state->rbp_is_callers = false;
	} else if (sscanf(text, "add rbp,0x%x", (unsigned int *)&value) == 1) {
		state->rbp -= value;
	} else if (strcmp(text, "mov QWORD PTR [rsp],rbp") == 0) {
		record_save(state, state->rsp);
	} else if (sscanf(text, "mov QWORD PTR [rsp+0x%x],rbp", (unsigned int *)&value) == 1 &&
		   strcmp(text + strlen(text) - 4, ",rbp") == 0) {
		record_save(state, state->rsp - value);
	}
}

static struct line *line_at(struct method *method, uint64_t address)
{
	for (size_t i = 0; i < method->line_cnt; i++) {
		if (method->lines[i].address == address)
			return &method->lines[i];
	}
	return NULL;
}

/* Where "j.. 0xADDRESS" leads; 0 = not such a text. */
static uint64_t jump_target(const char *text)
{
	const char *operand = strchr(text, ' ');

	if (text[0] != 'j' || !operand || strncmp(operand, " 0x", 3) != 0)
		return 0;
	return strtoull(operand + 1, NULL, 16);
}

static bool ends_flow(const char *text)
{
	return strncmp(text, "jmp ", 4) == 0 || strncmp(text, "ret", 3) == 0 ||
	       strncmp(text, "hlt", 3) == 0 || strncmp(text, "(bad)", 5) == 0;
}

/* Through the code from here, and from where branches lead to, until all of it is known. */
static void follow(struct method *method, uint64_t address, struct state state)
{
	struct line *line = line_at(method, address);

	while (line) {
		uint64_t target = jump_target(line->text);

		if (line->state.is_known && (state.is_after_call || !line->state.is_after_call)) {
			if (!state.is_after_call)
				assert_int_equal(line->state.rsp, state.rsp);
			return;
		}
		line->state = state;
		line->state.is_known = true;
		if (strcmp(line->text, "patched") != 0) {
			if (target) {
				struct state there = state;

				there.is_after_call = false;
				follow(method, target, there);
			}
			if (ends_flow(line->text))
				return;
			state.is_after_call |= strncmp(line->text, "call", 4) == 0;
			step(&state, line->text);
		}
		line = line_at(method, line->address + line->len);
		/* The jump of a thrown-away method hides a `sub rsp`; the store behind it tells. */
		if (line && line > method->lines && strcmp(line[-1].text, "patched") == 0 &&
		    strstr(line->text, "],rbp")) {
			unsigned int disp = 0;

			(void)sscanf(line->text, "mov QWORD PTR [rsp+0x%x]", &disp);
			state.rsp = (int)disp + 8;
		}
	}
}

/* How far above rsp the second word is taken: see leaf_repair.h. */
static int second_word(const struct line *line)
{
	unsigned int disp = 0;

	if (strcmp(line->text, "mov rbp,rsp") == 0)
		return sscanf(line[1].text, "add rbp,0x%x", &disp) == 1 ? (int)disp + 8 : 8;
	if (sscanf(line->text, "mov QWORD PTR [rsp+0x%x],rbp", &disp) == 1 &&
	    strstr(line->text, ",rbp"))
		return (int)disp + 8;
	return 8;
}

static enum truth truth_of(const struct line *line)
{
	const struct state *state = &line->state;
	unsigned int disp = 0;
	int rbp = state->rbp;

	if (!state->is_known)
		return TRUTH_UNREACHED;
	if (state->rbp_is_callers) {
		if (state->rsp == 0)
			return TRUTH_AT_SP;
		return state->rsp == second_word(line) ? TRUTH_AT_SP_8 : TRUTH_ELSEWHERE;
	}
	/* Where the kernel side begins with what is added. */
	if (sscanf(line->text, "add rbp,0x%x", &disp) == 1 && rbp == state->rsp)
		rbp -= (int)disp;
	return rbp == 8 && is_saved_at(state, 8) ? TRUTH_CHAIN : TRUTH_ELSEWHERE;
}

static enum leaf_verdict judge_bytes(const struct hotspot_blob *blob, const uint8_t *code,
				     uint64_t ip, size_t entry_cut)
{
	struct leaf_code leaf = { .blob = blob, .ip = ip, .at_ip = code + (ip - blob->code_begin) };
	enum leaf_verdict verdict;
	uint8_t *entry;
	size_t len;

	leaf_repair_wants(blob, ip, &leaf.entry_address, &len);
	assert_true(len <= LEAF_ENTRY_BYTES_MAX);
	if (len > 0) {
		assert_true(leaf.entry_address >= blob->code_begin);
		assert_true(leaf.entry_address + len <= blob->code_end);
	}
	leaf.entry_len = len < entry_cut ? len : entry_cut;
	/* A copy of just that length: reading past it is seen by the sanitizer. */
	entry = malloc(leaf.entry_len + 1);
	assert_non_null(entry);
	memcpy(entry, code + (leaf.entry_address - (len ? blob->code_begin : leaf.entry_address)),
	       leaf.entry_len);
	if (leaf.entry_len > 0)
		leaf.entry = entry;
	if (blob->kind == HOTSPOT_BLOB_NMETHOD || blob->kind == HOTSPOT_BLOB_NATIVE)
		verdict = leaf_repair_x86_judge_compiled(&leaf);
	else
		verdict = leaf_repair_x86_judge_stub(&leaf);
	free(entry);
	return verdict;
}

/* At an instruction of a fixture. Why nothing may be said where something is true: see below. */
static void check_line(const struct method *method, const struct line *line, struct tally *tally)
{
	enum leaf_verdict verdict =
		judge_bytes(&method->blob, method->code, line->address, SIZE_MAX);
	enum truth truth = truth_of(line);
	const uint8_t *code = method->code + (line->address - method->blob.code_begin);
	bool is_right = verdict == LEAF_NOT_REPAIRABLE || truth == TRUTH_UNREACHED ||
			(truth == TRUTH_CHAIN && verdict == LEAF_NOT_NEEDED) ||
			(truth == TRUTH_AT_SP && verdict == LEAF_CALLER_AT_SP) ||
			(truth == TRUTH_AT_SP_8 && verdict == LEAF_CALLER_AT_SP_8);
	bool is_repair = verdict == LEAF_CALLER_AT_SP || verdict == LEAF_CALLER_AT_SP_8;

	/* The way out of a native's wrapper when its method threw: a jump from no frame. */
	bool may_give_up = truth == TRUTH_ELSEWHERE || truth == TRUTH_UNREACHED ||
			   strncmp(line->text, "jmp ", 4) == 0;

	if (!is_right || (verdict == LEAF_NOT_REPAIRABLE && !may_give_up))
		fail_msg("%s: at %+lld '%s': truth %d, verdict %d", method->title,
			 (long long)(line->address - method->blob.verified_entry), line->text,
			 truth, verdict);
	if (strcmp(line->text, "patched") != 0 && truth != TRUTH_UNREACHED)
		assert_int_equal(x86_insn_decode(code, line->len + LEAF_CODE_BYTES).len, line->len);
	tally->chain += truth == TRUTH_CHAIN;
	tally->repaired += truth != TRUTH_UNREACHED && is_repair;
	tally->elsewhere += truth == TRUTH_ELSEWHERE;
	tally->given_up += verdict == LEAF_NOT_REPAIRABLE &&
			   (truth == TRUTH_AT_SP || truth == TRUTH_AT_SP_8);
	tally->patched += strcmp(line->text, "patched") == 0;
}

static void trace(struct method *method)
{
	const struct state entry = { .rbp_is_callers = true };

	follow(method, method->blob.verified_entry, entry);
	follow(method, method->blob.code_begin, entry);
	if (method->blob.entry_bci == -1)
		return;
	/* Where the interpreter comes in: the other stack bang (C1), or behind the trap (C2). */
	for (size_t i = 1; i < method->line_cnt; i++) {
		if (strncmp(method->lines[i].text, "mov DWORD PTR [rsp-0x", 21) == 0)
			follow(method, method->lines[i].address, entry);
	}
}

/* False at the end of the file. Leaves the stream at the next method. */
static bool read_method(FILE *file, struct method *method)
{
	char text[256];
	char kind[16];
	char name[64];

	memset(method, 0, sizeof(*method));
	memset(method->code, FILLER, sizeof(method->code));
	while (fgets(text, sizeof(text), file)) {
		struct hotspot_blob *blob = &method->blob;
		unsigned long long begin, end, verified, address;
		struct line *line = &method->lines[method->line_cnt];
		char hex[64];
		int text_at = 0;

		text[strcspn(text, "\n")] = '\0';
		if (text[0] == '#' || (text[0] == '\0' && method->line_cnt == 0))
			continue;
		if (text[0] == '\0')
			return true;
		if (sscanf(text, "%15s %63s level %d bci %d begin %llx end %llx verified %llx",
			   kind, name, &blob->comp_level, &blob->entry_bci, &begin, &end,
			   &verified) == 7) {
			assert_true(end - begin <= CODE_BYTES_MAX);
			blob->kind = strcmp(kind, "native") == 0 ? HOTSPOT_BLOB_NATIVE :
								   HOTSPOT_BLOB_NMETHOD;
			blob->code_begin = begin;
			blob->code_end = end;
			blob->verified_entry = verified;
			snprintf(method->title, sizeof(method->title), "%s level %d", name,
				 blob->comp_level);
			continue;
		}
		assert_int_equal(sscanf(text, "%llx %63s %n", &address, hex, &text_at), 2);
		line->address = address;
		line->len = strlen(hex) / 2;
		snprintf(line->text, sizeof(line->text), "%s", text + text_at);
		for (size_t i = 0; i < line->len; i++) {
			const char digits[3] = { hex[2 * i], hex[2 * i + 1], '\0' };

			method->code[address - blob->code_begin + i] =
				(uint8_t)strtoul(digits, NULL, 16);
		}
		method->line_cnt++;
	}
	return method->line_cnt > 0;
}

typedef void (*method_fn)(struct method *method, struct tally *tally);

static void each_method(const char *path, method_fn fn, struct tally *tally)
{
	struct method *method = malloc(sizeof(*method));
	FILE *file = fopen(path, "r");

	assert_non_null(method);
	assert_non_null(file);
	while (read_method(file, method)) {
		trace(method);
		fn(method, tally);
	}
	fclose(file);
	free(method);
}

static void check_all_lines(struct method *method, struct tally *tally)
{
	for (size_t i = 0; i < method->line_cnt; i++)
		check_line(method, &method->lines[i], tally);
}

static const char *const fixtures[] = {
	"tests/fixtures/leaf/jdk8.txt",	 "tests/fixtures/leaf/jdk11.txt",
	"tests/fixtures/leaf/jdk17.txt", "tests/fixtures/leaf/jdk21.txt",
	"tests/fixtures/leaf/jdk25.txt",
};

static void verdicts_hold_at_every_instruction_of_real_methods(void **test_state)
{
	(void)test_state;
	for (size_t i = 0; i < ARRAY_SIZE(fixtures); i++) {
		struct tally tally = { 0 };

		each_method(fixtures[i], check_all_lines, &tally);
		print_message("%s: chain right %zu, repaired %zu, given up %zu, elsewhere %zu\n",
			      fixtures[i], tally.chain, tally.repaired, tally.given_up,
			      tally.elsewhere);
		assert_true(tally.chain > 300);
		assert_true(tally.repaired > 60);
		assert_true(tally.patched > 0);
		assert_true(tally.given_up * 50 < tally.repaired);
	}
}

/* With less of the entry read there may be less to say, but never something else. */
static void check_cut_entries(struct method *method, struct tally *tally)
{
	for (size_t i = 0; i < method->line_cnt; i++) {
		uint64_t ip = method->lines[i].address;
		enum leaf_verdict whole = judge_bytes(&method->blob, method->code, ip, SIZE_MAX);

		for (size_t cut = 0; cut < 64; cut++) {
			enum leaf_verdict verdict =
				judge_bytes(&method->blob, method->code, ip, cut);

			if (verdict != LEAF_NOT_REPAIRABLE)
				assert_int_equal(verdict, whole);
			if (cut == 0)
				assert_int_equal(verdict, LEAF_NOT_REPAIRABLE);
		}
	}
	tally->chain++;
}

static void a_cut_entry_changes_no_verdict_to_another(void **test_state)
{
	struct tally tally = { 0 };

	(void)test_state;
	each_method(fixtures[0], check_cut_entries, &tally);
	each_method(fixtures[4], check_cut_entries, &tally);
	assert_true(tally.chain > 10);
}

#define BASE 0x7f0000001000ull

struct snippet {
	const char *what;
	const char *blob_name; /* of a stub */
	enum hotspot_blob_kind kind;
	size_t entry; /* verified entry, offset */
	const char *code;
	size_t len;
	struct {
		size_t at;
		enum leaf_verdict verdict;
	} expected[8];
};

#define CODE(bytes) .code = (bytes), .len = sizeof(bytes) - 1

/* clang-format off */
static const struct snippet snippets[] = {
	{ .what = "a method compiled without frame pointers has a broken chain all over",
	  .kind = HOTSPOT_BLOB_NMETHOD,
	  /* bang; push rbp; sub rsp, 0x20; mov eax, esi; add rsp, 0x20; pop rbp; ret */
	  CODE("\x89\x84\x24\x00\xc0\xfe\xff\x55\x48\x83\xec\x20\x8b\xc6\x48\x83\xc4\x20\x5d\xc3"),
	  .expected = { { 0, LEAF_NOT_REPAIRABLE }, { 8, LEAF_NOT_REPAIRABLE },
			{ 12, LEAF_NOT_REPAIRABLE }, { 19, LEAF_NOT_REPAIRABLE } } },
	{ .what = "nor without frame pointers and stack bang",
	  .kind = HOTSPOT_BLOB_NMETHOD,
	  /* sub rsp, 0x18; mov [rsp + 0x10], rbp; mov eax, esi; add rsp, 0x10; pop rbp; ret */
	  CODE("\x48\x81\xec\x18\x00\x00\x00\x48\x89\x6c\x24\x10\x8b\xc6\x48\x83\xc4\x10\x5d\xc3"),
	  .expected = { { 0, LEAF_NOT_REPAIRABLE }, { 7, LEAF_NOT_REPAIRABLE },
			{ 12, LEAF_NOT_REPAIRABLE }, { 19, LEAF_NOT_REPAIRABLE } } },
	{ .what = "the smallest frame without a bang keeps the return address at hand",
	  .kind = HOTSPOT_BLOB_NMETHOD,
	  /* sub rsp, 8; mov [rsp], rbp; mov rbp, rsp; nop; pop rbp; test eax, [rip]; ret */
	  CODE("\x48\x81\xec\x08\x00\x00\x00\x48\x89\x2c\x24\x48\x8b\xec\x90\x5d"
	       "\x85\x05\x00\x00\x00\x00\xc3"),
	  .expected = { { 0, LEAF_CALLER_AT_SP }, { 7, LEAF_CALLER_AT_SP_8 },
			{ 11, LEAF_CALLER_AT_SP_8 }, { 14, LEAF_NOT_NEEDED },
			{ 15, LEAF_NOT_NEEDED }, { 16, LEAF_CALLER_AT_SP },
			{ 22, LEAF_CALLER_AT_SP } } },
	{ .what = "a frame without a bang: the second word is above where rbp is stored",
	  .kind = HOTSPOT_BLOB_NMETHOD,
	  /* sub rsp, 0x28; mov [rsp + 0x20], rbp; mov rbp, rsp; add rbp, 0x20; nop */
	  CODE("\x48\x81\xec\x28\x00\x00\x00\x48\x89\x6c\x24\x20\x48\x8b\xec\x48\x83\xc5\x20\x90"),
	  .expected = { { 0, LEAF_CALLER_AT_SP }, { 7, LEAF_CALLER_AT_SP_8 },
			{ 12, LEAF_CALLER_AT_SP_8 }, { 15, LEAF_NOT_NEEDED },
			{ 19, LEAF_NOT_NEEDED } } },
	{ .what = "but not if it is too large for that",
	  .kind = HOTSPOT_BLOB_NMETHOD,
	  /* sub rsp, 0x108; mov [rsp + 0x100], rbp; mov rbp, rsp; add rbp, 0x100; nop */
	  CODE("\x48\x81\xec\x08\x01\x00\x00\x48\x89\xac\x24\x00\x01\x00\x00\x48\x8b\xec"
	       "\x48\x81\xc5\x00\x01\x00\x00\x90"),
	  .expected = { { 0, LEAF_CALLER_AT_SP }, { 7, LEAF_NOT_REPAIRABLE },
			{ 15, LEAF_NOT_REPAIRABLE }, { 18, LEAF_NOT_REPAIRABLE },
			{ 25, LEAF_NOT_NEEDED } } },
	{ .what = "several bangs, and a class initialization barrier before them",
	  .kind = HOTSPOT_BLOB_NMETHOD,
	  /* mov r10, imm64; cmp [r10 + d], 4; je +5; jmp out; bang; bang; push rbp; mov rbp, rsp */
	  CODE("\x49\xba\x00\x10\x20\x30\x40\x7f\x00\x00\x41\x80\xba\x00\x01\x00\x00\x04\x74\x05"
	       "\xe9\x00\x00\x00\x10\x89\x84\x24\x00\xf0\xff\xff\x89\x84\x24\x00\xe0\xff\xff"
	       "\x55\x48\x8b\xec\x90"),
	  .expected = { { 10, LEAF_CALLER_AT_SP }, { 18, LEAF_CALLER_AT_SP },
			{ 20, LEAF_CALLER_AT_SP }, { 32, LEAF_CALLER_AT_SP },
			{ 39, LEAF_CALLER_AT_SP }, { 40, LEAF_CALLER_AT_SP_8 },
			{ 43, LEAF_NOT_NEEDED } } },
	{ .what = "an address between two instructions is no leaf",
	  .kind = HOTSPOT_BLOB_NMETHOD,
	  CODE("\x89\x84\x24\x00\xc0\xfe\xff\x55\x48\x8b\xec\x90\x90"),
	  .expected = { { 3, LEAF_NOT_REPAIRABLE }, { 9, LEAF_NOT_REPAIRABLE },
			{ 12, LEAF_NOT_NEEDED } } },
	{ .what = "an entry that is not understood proves nothing",
	  .kind = HOTSPOT_BLOB_NMETHOD,
	  /* and rsp, -16; push rbp; mov rbp, rsp; nop */
	  CODE("\x48\x83\xe4\xf0\x55\x48\x8b\xec\x90"),
	  .expected = { { 4, LEAF_NOT_REPAIRABLE }, { 8, LEAF_NOT_REPAIRABLE } } },
	{ .what = "a method handle's linker has no frame",
	  .kind = HOTSPOT_BLOB_NATIVE,
	  /* test rbx, rbx; je +3; jmp [rbx + 0x40]; jmp out */
	  CODE("\x48\x85\xdb\x74\x03\xff\x63\x40\xe9\x00\x00\x00\x10"),
	  .expected = { { 0, LEAF_CALLER_AT_SP }, { 3, LEAF_CALLER_AT_SP },
			{ 5, LEAF_CALLER_AT_SP }, { 8, LEAF_CALLER_AT_SP } } },
	{ .what = "nor if it pushes registers on a side way",
	  .kind = HOTSPOT_BLOB_NATIVE,
	  /* test rbx, rbx; je +7; push rax; call; pop rax; jmp [rbx + 0x40] */
	  CODE("\x48\x85\xdb\x74\x07\x50\xe8\x00\x00\x00\x10\x58\xff\x63\x40"),
	  .expected = { { 0, LEAF_CALLER_AT_SP }, { 3, LEAF_CALLER_AT_SP },
			{ 6, LEAF_NOT_REPAIRABLE }, { 12, LEAF_CALLER_AT_SP } } },
	{ .what = "but compiled Java always has one",
	  .kind = HOTSPOT_BLOB_NMETHOD,
	  CODE("\x48\x85\xdb\x74\x03\xff\x63\x40\xe9\x00\x00\x00\x10"),
	  .expected = { { 0, LEAF_NOT_REPAIRABLE }, { 5, LEAF_NOT_REPAIRABLE } } },
	{ .what = "a check of the reserved stack on the way out",
	  .kind = HOTSPOT_BLOB_NMETHOD,
	  /* push rbp; mov rbp, rsp; sub rsp, 16; add rsp, 16; pop rbp; cmp rsp, [r15 + d]; jb +18;
	   * mov rdi, r15; call; jmp out; cmp rsp, [r15 + 0x28]; ja; ret */
	  CODE("\x55\x48\x8b\xec\x48\x83\xec\x10\x48\x83\xc4\x10\x5d\x49\x3b\xa7\xd8\x04\x00\x00"
	       "\x72\x0d\x49\x8b\xff\xe8\x00\x00\x00\x10\xe9\x00\x00\x00\x10"
	       "\x49\x3b\x67\x28\x0f\x87\x00\x00\x00\x00\xc3"),
	  .expected = { { 8, LEAF_NOT_NEEDED }, { 12, LEAF_NOT_NEEDED },
			{ 13, LEAF_CALLER_AT_SP }, { 20, LEAF_CALLER_AT_SP },
			{ 22, LEAF_NOT_REPAIRABLE }, { 25, LEAF_NOT_REPAIRABLE },
			{ 35, LEAF_CALLER_AT_SP } } },
	{ .what = "a jump to other code: an exception goes on; a handler is entered",
	  .kind = HOTSPOT_BLOB_NMETHOD,
	  /* push rbp; mov rbp, rsp; sub rsp, 16; add rsp, 16; pop rbp; jmp out; nop; jmp out */
	  CODE("\x55\x48\x8b\xec\x48\x83\xec\x10\x48\x83\xc4\x10\x5d\xe9\x00\x00\x00\x10\x90"
	       "\xe9\x00\x00\x00\x10"),
	  .expected = { { 13, LEAF_CALLER_AT_SP }, { 19, LEAF_NOT_REPAIRABLE } } },
	{ .what = "a stub with a frame",
	  .blob_name = "StubRoutines (2)", .kind = HOTSPOT_BLOB_STUB,
	  /* push rbp; mov rbp, rsp; push rbx; dec rcx; jne -5; pop rbx; leave; ret */
	  CODE("\x55\x48\x8b\xec\x53\x48\xff\xc9\x75\xfb\x5b\xc9\xc3"),
	  .expected = { { 0, LEAF_CALLER_AT_SP }, { 1, LEAF_CALLER_AT_SP_8 },
			{ 4, LEAF_NOT_NEEDED }, { 5, LEAF_NOT_NEEDED }, { 11, LEAF_NOT_NEEDED },
			{ 12, LEAF_CALLER_AT_SP } } },
	{ .what = "a stub without a frame, left through a jump",
	  .blob_name = "StubRoutines (2)", .kind = HOTSPOT_BLOB_STUB,
	  /* mov rax, [rdi]; push rbx; pop rbx; jmp +1; hlt; vzeroupper; ret */
	  CODE("\x48\x8b\x07\x53\x5b\xeb\x01\xf4\xc5\xf8\x77\xc3"),
	  .expected = { { 0, LEAF_CALLER_AT_SP }, { 3, LEAF_CALLER_AT_SP },
			{ 4, LEAF_CALLER_AT_SP_8 }, { 5, LEAF_CALLER_AT_SP },
			{ 11, LEAF_CALLER_AT_SP } } },
	{ .what = "a stub that saves rbp as any other register: the chain may be anything",
	  .blob_name = "StubRoutines (2)", .kind = HOTSPOT_BLOB_STUB,
	  /* push rbp; mov rbp, rdi; pop rbp; ret */
	  CODE("\x55\x48\x8b\xef\x5d\xc3"),
	  .expected = { { 0, LEAF_CALLER_AT_SP }, { 1, LEAF_NOT_REPAIRABLE },
			{ 4, LEAF_NOT_REPAIRABLE }, { 5, LEAF_CALLER_AT_SP } } },
	{ .what = "a stub with a frame that saves registers and aligns the stack for a call",
	  .blob_name = "StubRoutines (2)", .kind = HOTSPOT_BLOB_STUB,
	  /* push rbp; mov rbp, rsp; sub rsp, 16; mov [rsp + 8], rbp; mov r12, rsp; and rsp, -16;
	   * call; mov rsp, r12; nop; leave; ret */
	  CODE("\x55\x48\x8b\xec\x48\x83\xec\x10\x48\x89\x6c\x24\x08\x4c\x8b\xe4"
	       "\x48\x83\xe4\xf0\xe8\x00\x00\x00\x10\x49\x8b\xe4\x90\xc9\xc3"),
	  .expected = { { 4, LEAF_NOT_NEEDED }, { 8, LEAF_NOT_NEEDED }, { 16, LEAF_NOT_NEEDED },
			{ 20, LEAF_NOT_NEEDED }, { 30, LEAF_CALLER_AT_SP } } },
	{ .what = "a stub with a frame that saves and restores rbp",
	  .blob_name = "StubRoutines (2)", .kind = HOTSPOT_BLOB_STUB,
	  /* push rbp; mov rbp, rsp; sub rsp, 16; mov [rsp + 8], rbp; call; mov rbp, [rsp + 8];
	   * add rsp, 16; leave; ret */
	  CODE("\x55\x48\x8b\xec\x48\x83\xec\x10\x48\x89\x6c\x24\x08\xe8\x00\x00\x00\x10"
	       "\x48\x8b\x6c\x24\x08\x48\x83\xc4\x10\xc9\xc3"),
	  .expected = { { 0, LEAF_CALLER_AT_SP }, { 1, LEAF_CALLER_AT_SP_8 },
			{ 4, LEAF_NOT_NEEDED }, { 8, LEAF_NOT_NEEDED },
			{ 13, LEAF_NOT_REPAIRABLE }, { 23, LEAF_NOT_NEEDED },
			{ 28, LEAF_CALLER_AT_SP } } },
	{ .what = "a stub whose stack pointer cannot be followed",
	  .blob_name = "StubRoutines (2)", .kind = HOTSPOT_BLOB_STUB,
	  /* mov r11, rsp; and rsp, -64; mov rsp, r11; ret */
	  CODE("\x4c\x8b\xdc\x48\x83\xe4\xc0\x49\x8b\xe3\xc3"),
	  .expected = { { 0, LEAF_NOT_REPAIRABLE }, { 7, LEAF_NOT_REPAIRABLE },
			{ 10, LEAF_CALLER_AT_SP } } },
	{ .what = "a stub that never returns",
	  .blob_name = "StubRoutines (2)", .kind = HOTSPOT_BLOB_STUB,
	  CODE("\x90\xeb\xfd"),
	  .expected = { { 0, LEAF_NOT_REPAIRABLE }, { 1, LEAF_NOT_REPAIRABLE } } },
	{ .what = "blobs that make up a return address",
	  .blob_name = "SafepointBlob", .kind = HOTSPOT_BLOB_STUB,
	  CODE("\x53\x55\x48\x8b\xec\xc9\xc3"),
	  .expected = { { 1, LEAF_NOT_REPAIRABLE }, { 6, LEAF_NOT_REPAIRABLE } } },
	{ .what = "an adapter, behind the moves of its return address",
	  .blob_name = "I2C/C2I adapters(0xba)", .kind = HOTSPOT_BLOB_STUB,
	  /* pop rax; and rsp, -16; push rax; mov r11, [rbx + 0x40]; jmp r11 */
	  CODE("\x58\x48\x83\xe4\xf0\x50\x4c\x8b\x5b\x40\x41\xff\xe3"),
	  .expected = { { 0, LEAF_NOT_REPAIRABLE }, { 1, LEAF_NOT_REPAIRABLE },
			{ 5, LEAF_NOT_REPAIRABLE }, { 6, LEAF_CALLER_AT_SP },
			{ 10, LEAF_CALLER_AT_SP } } },
	{ .what = "another stub that ends in a jump through a register",
	  .blob_name = "StubRoutines (2)", .kind = HOTSPOT_BLOB_STUB,
	  CODE("\x4c\x8b\x5b\x40\x41\xff\xe3"),
	  .expected = { { 0, LEAF_NOT_REPAIRABLE }, { 4, LEAF_NOT_REPAIRABLE } } },
};
/* clang-format on */

static void fill_blob(struct hotspot_blob *blob, const struct snippet *snippet)
{
	*blob = (struct hotspot_blob){
		.code_begin = BASE,
		.code_end = BASE + snippet->len,
		.kind = snippet->kind,
		.verified_entry = BASE + snippet->entry,
		.entry_bci = -1,
	};
	if (snippet->blob_name)
		snprintf(blob->name, sizeof(blob->name), "%s", snippet->blob_name);
}

static void verdicts_hold_for_shapes_written_by_hand(void **test_state)
{
	(void)test_state;
	for (size_t i = 0; i < ARRAY_SIZE(snippets); i++) {
		const struct snippet *snippet = &snippets[i];
		uint8_t code[128 + LEAF_CODE_BYTES];
		struct hotspot_blob blob;

		memset(code, FILLER, sizeof(code));
		assert_true(snippet->len <= 128);
		memcpy(code, snippet->code, snippet->len);
		fill_blob(&blob, snippet);
		for (size_t e = 0; e < ARRAY_SIZE(snippet->expected); e++) {
			size_t at = snippet->expected[e].at;
			enum leaf_verdict verdict;

			if (e > 0 && at == 0)
				break;
			verdict = judge_bytes(&blob, code, BASE + at, SIZE_MAX);
			if (verdict != snippet->expected[e].verdict)
				fail_msg("%s: at %zu verdict %d", snippet->what, at, verdict);
		}
	}
}

static void a_stub_that_changed_meanwhile_proves_nothing(void **test_state)
{
	static const uint8_t now[] =
		"\x48\x8b\x07\xc3\xf4\xf4\xf4\xf4\xf4\xf4\xf4\xf4\xf4\xf4\xf4\xf4";
	uint8_t then[LEAF_CODE_BYTES];
	struct hotspot_blob blob = { .code_begin = BASE,
				     .code_end = BASE + LEAF_CODE_BYTES,
				     .kind = HOTSPOT_BLOB_STUB,
				     .name = "StubRoutines (1)" };
	struct leaf_code leaf = { .blob = &blob,
				  .ip = BASE,
				  .at_ip = then,
				  .entry = now,
				  .entry_address = BASE,
				  .entry_len = LEAF_CODE_BYTES };

	(void)test_state;
	memcpy(then, now, sizeof(then));
	assert_int_equal(leaf_repair_x86_judge_stub(&leaf), LEAF_CALLER_AT_SP);
	then[1] = 0x89;
	assert_int_equal(leaf_repair_x86_judge_stub(&leaf), LEAF_NOT_REPAIRABLE);
	leaf.entry = NULL;
	assert_int_equal(leaf_repair_x86_judge_stub(&leaf), LEAF_NOT_REPAIRABLE);
}

static void code_that_is_another_one_by_now_proves_nothing(void **test_state)
{
	/* push rbp; mov rbp, rsp; sub rsp, 16; add eax, 1; ... */
	static const uint8_t now[] = "\x55\x48\x8b\xec\x48\x83\xec\x10\x83\xc0\x01\x90\x90\x90"
				     "\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90";
	static const uint8_t zeros[LEAF_CODE_BYTES];
	uint8_t then[LEAF_CODE_BYTES];
	struct hotspot_blob blob = { .code_begin = BASE,
				     .code_end = BASE + sizeof(now),
				     .kind = HOTSPOT_BLOB_NMETHOD,
				     .verified_entry = BASE,
				     .entry_bci = -1 };
	struct leaf_code leaf = { .blob = &blob,
				  .ip = BASE + 1,
				  .at_ip = then,
				  .entry = now,
				  .entry_address = BASE,
				  .entry_len = sizeof(now) };

	(void)test_state;
	memcpy(then, now + 1, sizeof(then));
	assert_int_equal(leaf_repair_x86_judge_compiled(&leaf), LEAF_CALLER_AT_SP_8);
	then[2] = 0xc8;
	assert_int_equal(leaf_repair_x86_judge_compiled(&leaf), LEAF_NOT_REPAIRABLE);
	leaf.ip = BASE + 8;
	leaf.at_ip = zeros;
	assert_int_equal(leaf_repair_judge(&leaf), LEAF_NOT_REPAIRABLE);
}

static void the_kind_of_a_blob_decides_first(void **test_state)
{
	static const uint8_t at_ip[LEAF_CODE_BYTES] = { 0x90 };
	struct hotspot_blob blob = { .code_begin = BASE, .code_end = BASE + 64 };
	struct leaf_code leaf = { .blob = &blob, .ip = BASE + 8, .at_ip = at_ip };

	(void)test_state;
	blob.kind = HOTSPOT_BLOB_INTERPRETER;
	assert_int_equal(leaf_repair_judge(&leaf), LEAF_NOT_NEEDED);
	blob.kind = HOTSPOT_BLOB_VTABLE;
#if defined(__x86_64__)
	assert_int_equal(leaf_repair_judge(&leaf), LEAF_CALLER_AT_SP);
#else
	assert_int_equal(leaf_repair_judge(&leaf), LEAF_NOT_REPAIRABLE);
#endif
	leaf.ip = BASE + 64;
	assert_int_equal(leaf_repair_judge(&leaf), LEAF_NOT_REPAIRABLE);
	leaf.ip = BASE - 1;
	assert_int_equal(leaf_repair_judge(&leaf), LEAF_NOT_REPAIRABLE);
	leaf.ip = BASE;
	blob.kind = HOTSPOT_BLOB_NMETHOD;
	assert_int_equal(leaf_repair_judge(&leaf), LEAF_NOT_REPAIRABLE);
	blob.kind = HOTSPOT_BLOB_STUB;
	assert_int_equal(leaf_repair_judge(&leaf), LEAF_NOT_REPAIRABLE);
}

static void wants_stay_inside_the_code(void **test_state)
{
	static const struct {
		enum hotspot_blob_kind kind;
		uint64_t len;
		uint64_t entry; /* offsets */
		uint64_t ip;
		uint64_t from;
		size_t want;
	} rows[] = {
		{ HOTSPOT_BLOB_NMETHOD, 1000, 16, 500, 0, 500 },
		{ HOTSPOT_BLOB_NMETHOD, 1000, 16, 20, 0, 208 },
		{ HOTSPOT_BLOB_NMETHOD, 100, 16, 20, 0, 100 },
		{ HOTSPOT_BLOB_NMETHOD, 100000, 16, 8192, 0, 8192 },
		{ HOTSPOT_BLOB_NMETHOD, 100000, 16, 8193, 0, 208 },
		{ HOTSPOT_BLOB_NATIVE, 1000, 600, 620, 600, 400 },
		{ HOTSPOT_BLOB_NMETHOD, 1000, 1000, 20, 0, 0 },
		{ HOTSPOT_BLOB_NMETHOD, 1000, UINT64_MAX - BASE, 20, 0, 0 },
		{ HOTSPOT_BLOB_STUB, 100000, 0, 50000, 50000 - 2048, 8192 },
		{ HOTSPOT_BLOB_STUB, 100, 0, 99, 0, 100 },
		{ HOTSPOT_BLOB_STUB, 100, 0, 100, 0, 0 },
		{ HOTSPOT_BLOB_VTABLE, 100, 0, 9, 0, 0 },
		{ HOTSPOT_BLOB_INTERPRETER, 100, 0, 9, 0, 0 },
	};

	(void)test_state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct hotspot_blob blob = { .kind = rows[i].kind,
					     .code_begin = BASE,
					     .code_end = BASE + rows[i].len,
					     .verified_entry = BASE + rows[i].entry };
		uint64_t address = 1;
		size_t len = 1;

		leaf_repair_wants(&blob, BASE + rows[i].ip, &address, &len);
		assert_int_equal(len, rows[i].want);
		if (len > 0)
			assert_int_equal(address, BASE + rows[i].from);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(verdicts_hold_at_every_instruction_of_real_methods),
		cmocka_unit_test(a_cut_entry_changes_no_verdict_to_another),
		cmocka_unit_test(verdicts_hold_for_shapes_written_by_hand),
		cmocka_unit_test(a_stub_that_changed_meanwhile_proves_nothing),
		cmocka_unit_test(code_that_is_another_one_by_now_proves_nothing),
		cmocka_unit_test(the_kind_of_a_blob_decides_first),
		cmocka_unit_test(wants_stay_inside_the_code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
