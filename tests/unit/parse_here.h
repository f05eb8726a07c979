/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In place of parser.c and opener.c: whoever is given this parser has files opened and parsed in
 * the test's own process. A program that includes it has no other parser.
 */
#ifndef JBPF_TESTS_PARSE_HERE_H
#define JBPF_TESTS_PARSE_HERE_H

#include "symbols/elf/demangle.h"
#include "tests/unit/here.h"
#include "tests/unit/open_here.h"

struct parser {
	char nothing;
};

/* What reading any ELF file gives, as when its account has no credit; 0: what is in it. */
static int parser_here_err;
/* What reading any perf map gives; 0: what is in it. */
static int parser_here_perfmap_err;
/* CPU time that reading an ELF file counts as, and what it came to so far. */
static uint64_t parser_here_elf_ns, parser_here_cpu_ns;

static inline struct parser *parser_here(void)
{
	static struct parser here;

	return &here;
}

int parser__open(const struct child_starter *starter, struct opener *opener, struct parser **out)
{
	(void)starter;
	(void)opener;
	*out = parser_here();
	return 0;
}

void parser__free(struct parser *parser)
{
	(void)parser;
}

struct opener *parser__opener(const struct parser *parser)
{
	(void)parser;
	return opener_here();
}

void parser__forget_process(struct parser *parser)
{
	(void)parser;
}

void parser__charge(struct parser *parser, struct account *account)
{
	(void)parser;
	(void)account;
}

int parser__elf(struct parser *parser, int fd, const char *path,
		const struct debug_file_roots *roots, struct elf_object *out)
{
	(void)parser;
	parser_here_cpu_ns += parser_here_elf_ns;
	return parser_here_err ? parser_here_err : elf_here(fd, path, roots, out);
}

int parser__libjvm(struct parser *parser, int fd, const struct libjvm_mapping *mapping,
		   struct vm_symbols *out)
{
	(void)parser;
	return libjvm_here(fd, mapping, out);
}

int parser__unwind(struct parser *parser, int fd, const char *path,
		   const struct debug_file_roots *roots, struct unwind_table *out)
{
	(void)parser;
	return unwind_here(fd, path, roots, out);
}

int parser__perfmap(struct parser *parser, int fd, struct perfmap **out,
		    struct perfmap_stats *stats)
{
	(void)parser;
	return parser_here_perfmap_err ? parser_here_perfmap_err : perfmap_here(fd, out, stats);
}

int parser__container(struct parser *parser, int fd, enum container_json_kind kind, const char *id,
		      struct container_json *out)
{
	(void)parser;
	return container_here(fd, kind, id, out);
}

int parser__demangle(struct parser *parser, const char *raw, size_t len, struct strbuf *out)
{
	(void)parser;
	return demangle_native(raw, len, out);
}

void parser__stats(const struct parser *parser, struct parser_stats *out)
{
	(void)parser;
	*out = (struct parser_stats){ .cpu_ns = parser_here_cpu_ns };
}

#endif
