/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files out of containers are parsed in a process of their own that has no rights: no descriptors
 * but its socket and those that it is handed, no capabilities, no way to open, connect, execute or
 * signal anything (parser_sandbox.h). The profiler opens the files by its own rules, passes them
 * over, and checks every byte of the answer. A file that crashes the parser, or keeps it busy,
 * costs its own names and nothing else: the parser is started again.
 *
 * Parsed there: ELF files with their debug files and MiniDebugInfo, unwind tables, HotSpot's libjvm,
 * perf maps, mangled names, JSON of rootless container runtimes. Not there: /proc text, which is the
 * kernel's, and a JVM's memory, which is no file; hotspot_*.c reads that with bounds of its own.
 *
 * A restart may come at any time. It makes these calls in a profiler that has itself given up
 * rights: clone/fork, socketpair, memfd_create, ftruncate/fcntl, sendmsg/recvmsg, poll, kill and
 * wait4; in the child also close_range, prctl (name, death signal, dumpable, no_new_privs, bounding
 * set, ambient), capset, setrlimit, landlock_*, seccomp, munmap, and reading /proc/self. The child
 * has the profiler's uid, so that it can be killed without CAP_KILL.
 *
 * There is no parsing without it: nothing takes a NULL parser but parser__free(). One thread. Errors of
 * all requests, besides those that each names itself: -EAGAIN the parser, or the account's input, has
 * failed too often lately or used up its time, or the host was too busy to parse it within
 * PARSER_REQUEST_MAX_BUSY_NS, or the file did not come in time, and rests: ask again in a while;
 * -ENOTRECOVERABLE it could not parse this input (crash, too slow, too much memory, senseless answer):
 * counted, logged, not to be tried again; -ENOMEM the profiler's own memory is short.
 *
 * In: a descriptor and a name for messages. Out: what the parser found, checked, and the caller's. The
 * symbolizer owns one parser and lends it.
 */
#ifndef JBPF_PARSER_PARSER_H
#define JBPF_PARSER_PARSER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "user/util/attributes.h"
#include "user/sandbox/helper.h"
#include "symbols/elf/debug_file.h"
#include "symbols/elf/elf_object.h"
#include "symbols/elf/libjvm.h"
#include "symbols/perfmap/perfmap.h"
#include "symbols/unwind/unwind_table.h"
#include "user/host/container_json.h"
#include "user/util/strbuf.h"

struct account;
struct opener;
struct parser;

/*
 * Starts the process, by a starter of parser_child_main(), which is copied, and waits until it has
 * given up its rights. `opener` is borrowed: every user of the parser has it, too. 0 or -errno.
 */
__must_check int parser__open(const struct child_starter *starter, struct opener *opener,
			      struct parser **out) __no_null;
/* Ends the process. NULL is fine. */
void parser__free(struct parser *parser);

/* Of files that are parsed. */
struct opener *parser__opener(const struct parser *parser) __no_null;

/*
 * In a copy of the process that opened it: the parser's process is the other's. It is left alone,
 * and another one started when there is something to parse.
 */
void parser__forget_process(struct parser *parser) __no_null;

/*
 * Charges the input that follows to this account, until the next call; before the first one, and with
 * NULL, nothing is read. An account without credit gets -EAGAIN. A failure uses up the failures of its own
 * account. The process ends between two accounts: it keeps nothing between requests, but one that
 * was taken over by an input could, and lie about the next one's. That costs less than 1 ms of CPU
 * time for each change, of which there are few: requests come process by process, and answers are
 * kept. The opener opens files for the same account.
 */
void parser__charge(struct parser *parser, struct account *account) __no_null_at(1);

/*
 * Symbols of the regular file `fd`, which the container knows as `path`; debug files are looked for
 * in `roots`. As elf_object_read().
 */
__must_check int parser__elf(struct parser *parser, int fd, const char *path,
			     const struct debug_file_roots *roots,
			     struct elf_object *out) __no_null;

/*
 * As libjvm_symbols_file(), for the regular file `fd`; -ENOTSUP when it is no ELF file at all. The
 * last answers are kept: a JVM that is starting is asked for again and again, by more than one.
 */
__must_check int parser__libjvm(struct parser *parser, int fd, const struct libjvm_mapping *mapping,
				struct vm_symbols *out) __no_null;

/*
 * As unwind_table_find(), for the regular file `fd`, which the container knows as `path`; also -ENOEXEC
 * when it is no ELF file. What comes back is valid. The caller releases it.
 */
__must_check int parser__unwind(struct parser *parser, int fd, const char *path,
				const struct debug_file_roots *roots,
				struct unwind_table *out) __no_null;

/* As perfmap__parse(), for the regular file `fd`; -EFBIG when it is too large, or grew to be. */
__must_check int parser__perfmap(struct parser *parser, int fd, struct perfmap **out,
				 struct perfmap_stats *stats) __no_null;

/* As container_json_read(), for the regular file `fd` of at most 1 MiB; else -EFBIG. */
__must_check int parser__container(struct parser *parser, int fd, enum container_json_kind kind,
				   const char *id, struct container_json *out) __no_null;

/* As demangle_native(); after an error the name is only trimmed. 0, -ENOMEM, -EAGAIN. */
__must_check int parser__demangle(struct parser *parser, const char *raw, size_t len,
				  struct strbuf *out) __no_null;

struct parser_stats {
	pid_t pid;	      /* 0 = not running */
	uint64_t request_cnt; /* since parser__open(); so are the others */
	uint64_t failure_cnt; /* inputs that could not be parsed */
	uint64_t restart_cnt; /* of the process, after failures */
	uint64_t renewal_cnt; /* of the process, between accounts */
	uint64_t cpu_ns;      /* of the process, for requests */
	uint32_t sandbox;     /* enum parser_sandbox_feature bits in force */
};

void parser__stats(const struct parser *parser, struct parser_stats *out) __no_null;

#endif
