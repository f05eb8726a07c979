/* SPDX-License-Identifier: Apache-2.0 */
/* What symbolizer.c and symbols_process.c share; nobody else includes this. */
#ifndef JBPF_SYMBOLS_INTERNAL_H
#define JBPF_SYMBOLS_INTERNAL_H

#include "symbols/names/addr_cache.h"
#include "symbols/elf/elf_symtab.h"
#include "symbols/jit/jit_names.h"
#include "symbols/jit/jit_vm.h"
#include "symbols/names/kallsyms.h"
#include "symbols/names/names.h"
#include "symbols/names/object_cache.h"
#include "user/host/procmaps.h"
#include "symbols/symbols.h"
#include "user/util/account.h"

#define SYMBOLIZER_BUCKETS 4096u

struct symbolizer {
	struct symbolizer_options options;
	/* One per account; that of nobody's, and the kernel, for ever. */
	struct symbols_share *shares;
	struct parser *parser; /* NULL: files are parsed here */
	struct opener *opener; /* NULL: and opened here */
	struct object_cache *objects;
	struct kallsyms *kallsyms;
	struct elf_symtab *vdso; /* NULL: not looked for yet, or there is none */
	struct names *names;	 /* the kernel's: of the share of nobody's */
	bool vdso_tried;
	struct addr_cache kernel_answers;
	struct symbols_process *looked; /* at in this round of looks, by next_looked */
	struct symbols_process *buckets[SYMBOLIZER_BUCKETS]; /* all runs of a process in one */
};

/* What the processes of one account share. */
struct symbols_share {
	struct symbols_share *next;
	struct account *account; /* NULL = nobody's */
	struct names *names;
	size_t user_cnt; /* processes */
};

/* What is behind a mapping; beside maps.items[i]. */
struct process_file {
	struct object *object; /* NULL = no file, or it could not be opened */
};

struct symbols_process {
	struct symbols_process *next; /* in its bucket */
	struct symbols_process *next_looked;
	int pid_fd;		  /* holds the pid of a JVM; -1 = not held */
	uint64_t looked_ns;	  /* begin of the first look of this round; 0 = none */
	uint64_t looked_read_cnt; /* reads from the JVM before it */
	struct symbolizer *symbolizer;
	struct symbols_share *share;
	struct names *names; /* of the share */
	struct symbols_process_id id;
	struct procmaps maps;
	struct process_file *files; /* maps.cnt of them */
	struct addr_cache answers;
	struct jit_names jit;
	struct hotspot_vm *hotspot; /* the JVM's own tables, opened once; NULL = not (yet) */
	int hotspot_err;	    /* why not; 0 = not tried, or open */
	uint64_t hotspot_tried_ns;  /* CLOCK_BOOTTIME */
	uint32_t hotspot_try_cnt;
	struct jit_vm *vm; /* its JIT code from these; NULL = not used (yet) */
	int vm_err;	   /* why not; 0 = not tried, or open */
	/* Size of the address space when the mappings were read; 0 = not known. */
	uint64_t vm_pages;
	uint64_t load_ns; /* CPU time spent on reading its files so far */
	uint32_t refresh_cnt;
	uint32_t maps_age;	  /* refreshes since the mappings were read */
	uint64_t unknown_jit_cnt; /* of the present generation of JIT names */
	uint64_t ambiguous_jit_cnt;
	bool maps_are_fresh; /* read since the last refresh */
	bool is_hotspot;
	bool has_jit_code;
};

/* ---- symbols_process.c ---- */
/* 0 or -ENOMEM; a process that is gone gives an object without mappings. */
int symbols_process__new(struct symbolizer *symbolizer, const struct symbols_process_id *id,
			 struct account *account, struct symbols_process **out);
void symbols_process__free(struct symbols_process *process); /* NULL is fine */
/* 0 when the process of this id still is what has the pid; -ESRCH, or -errno of reading. */
int symbols_process_check(const struct symbols_process *process);
/* Makes that cheap from now on. For JVMs, which are asked often; when it fails nothing changes. */
void symbols_process_hold(struct symbols_process *process);
/* The frame at an address that is not in the code of `vm`. 0 or -ENOMEM. */
int symbols_process_answer(struct symbols_process *process, uint64_t address,
			   uint64_t since_boot_ns, struct answer *out);
size_t symbols_process_bytes(const struct symbols_process *process);

/* ---- symbols_process_jit.c ---- */
/* Reads what is there of HotSpot's tables and of perf maps. 0, -ENOMEM, -ESRCH. */
int symbols_process_refresh_jit(struct symbols_process *process, enum jit_source source,
				enum jit_names_force force);
/* Opens the tables of a JVM; of one that was starting when it was looked at first again, now and then. */
void symbols_process_open_vm(struct symbols_process *process);
/* An address of JIT code in the perf maps. 0 or -ENOMEM. */
int symbols_process_answer_jit(struct symbols_process *process, uint64_t address,
			       uint64_t since_boot_ns, struct answer *out);
/* The same where no mapping is known. */
int symbols_process_answer_missing(struct symbols_process *process, uint64_t address,
				   uint64_t since_boot_ns, struct answer *out);
uint32_t symbols_process_jit_epoch(const struct symbols_process *process, uint64_t since_boot_ns);
int symbols_process_placeholder(const struct symbols_process *process, const char *text,
				struct answer *out);

/* The share of an account, with one more user; and one less. 0 or -ENOMEM. */
int symbolizer_get_share(struct symbolizer *symbolizer, struct account *account,
			 struct symbols_share **out);
void symbolizer_put_share(struct symbolizer *symbolizer, struct symbols_share *share);
/* Did another program take over this process since? */
bool symbolizer_is_superseded(const struct symbolizer *symbolizer,
			      const struct symbols_process_id *id);
/* The vdso's symbols or NULL. */
const struct elf_symtab *symbolizer_vdso(struct symbolizer *symbolizer);

/* Appends one frame. 0 or -ENOMEM. */
int frame_list_add(struct frame_list *list, const struct names *names, const struct answer *answer);

#endif
