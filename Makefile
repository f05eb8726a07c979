# SPDX-License-Identifier: Apache-2.0
# jbpf: BPF objects, two programs, their tests. `make help` lists the targets.

# ---- knobs ----------------------------------------------------------------------------------
# V=1 shows commands. DEV=1 adds -Werror, ASan and UBSan and builds into build-dev/.
V       ?= 0
DEV     ?= 0
ARCH    ?= $(shell uname -m)
prefix  ?= /usr/local
bindir  ?= $(prefix)/bin
mandir  ?= $(prefix)/share/man
completiondir ?= $(prefix)/share/bash-completion/completions
zshdir ?= $(prefix)/share/zsh/vendor-completions
unitdir ?= /usr/lib/systemd/system
sysusersdir ?= /usr/lib/sysusers.d
sysconfdir  ?= /etc
DESTDIR ?=

# ---- toolchain ------------------------------------------------------------------------------
CC      ?= cc
CLANG   ?= clang
BPFTOOL ?= $(shell command -v bpftool 2>/dev/null || echo /usr/sbin/bpftool)
# Also of sources that belong to another user, as in a build with sudo or in a container.
VERSION := $(shell git -c safe.directory="$(CURDIR)" describe --tags --always --dirty 2>/dev/null || echo unknown)

ifeq ($(DEV),1)
BUILD := build-dev
else
BUILD := build
endif

# ---- flags ----------------------------------------------------------------------------------
WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wformat=2 -Wvla \
	    -Wundef -Wimplicit-fallthrough -Wpointer-arith -Wwrite-strings
# Sanitized code takes half as long again to compile at -O2, and runs as fast at -O1; a sanitizer tells lines,
# no variables. CFLAGS='-O0 -g' for a debugger.
CFLAGS   ?= $(if $(filter 1,$(DEV)),-O1 -g1,-O2 -g)
LDFLAGS  ?=
override CFLAGS += -std=gnu11 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -fno-omit-frame-pointer \
	    -fstack-protector-strong $(WARNINGS) -I. -I$(BUILD) $(if $(filter 1,$(DEV)),-Ibuild)
LDLIBS   := -lbpf -lelf -ljansson -lz -lzstd -lxxhash -llzma -l:libiberty.a -lseccomp -lZydis -lm
# The terminal of jbpf top: not for jbpfd, which is linked with the same library.
LDLIBS   += -Wl,--as-needed -lncursesw -ltinfo -Wl,--no-as-needed
ifeq ($(DEV),1)
override CFLAGS  += -Werror -fsanitize=address,undefined -fno-sanitize-recover=undefined
override LDFLAGS += -fsanitize=address,undefined
# Three hundred programs are linked: in half the time where there is that linker.
GOLD := $(shell command -v ld.gold)
override LDFLAGS += $(if $(GOLD),-fuse-ld=gold)
endif

BPF_ARCH_x86_64  := x86
BPF_ARCH_aarch64 := arm64
BPF_CFLAGS := -g -O2 -target bpf -mcpu=v2 -D__TARGET_ARCH_$(BPF_ARCH_$(ARCH)) -I. -Ivmlinux/$(ARCH) \
	      -Wall -Wextra -Wno-unused-parameter -Werror -fno-stack-protector

# ---- quiet output ---------------------------------------------------------------------------
ifeq ($(V),1)
Q   :=
msg  =
else
Q   := @
msg  = @printf '  %-8s %s\n' "$(1)" "$(2)";
endif

# ---- files ----------------------------------------------------------------------------------
LIB_SRC  := $(sort $(wildcard symbols/*.c symbols/*/*.c user/*/*.c user/*/*/*.c))
LIB_ASM  := $(sort $(wildcard user/*/*.S))
LIB_OBJ  := $(LIB_SRC:%.c=$(BUILD)/%.o) $(LIB_ASM:%.S=$(BUILD)/%.o)
LIB      := $(BUILD)/libjbpf.a

PROGRAMS := $(BUILD)/bin/jbpfd $(BUILD)/bin/jbpf
LINKS    := diff dump maps push record status store top web
LINK_BINS := $(LINKS:%=$(BUILD)/bin/jbpf-%)

# What runs in the kernel has no sanitizers: it is the same for DEV=1.
BPF_BUILD  := $(if $(filter 1,$(DEV)),build,$(BUILD))
SKEL       := $(patsubst %,$(BPF_BUILD)/bpf/%.skel.h,jbpf offcpu sched alloc)
# In folders as what they test; the programs are in one, and no two share a name.
test_bin    = $(addprefix $(BUILD)/tests/,$(basename $(notdir $(1))))
TEST_SRC   := $(sort $(shell find tests/unit -name 'test_*.c'))
TEST_OBJ   := $(TEST_SRC:%.c=$(BUILD)/%.o)
TEST_BIN   := $(call test_bin,$(TEST_SRC))
BENCH_BPF  := $(sort $(wildcard tests/bench/*.bpf.c))
BENCH_SKEL := $(BENCH_BPF:tests/bench/%.bpf.c=$(BUILD)/tests/bench/%.skel.h)
BENCH_SRC  := $(sort $(wildcard tests/bench/bench_*.c))
BENCH_BIN  := $(BENCH_SRC:tests/bench/%.c=$(BUILD)/tests/bench/%)
# Small programs that e2e and BPF tests profile or use.
LIVE_SRC   := $(sort $(wildcard tests/bpf/live_*.c))
# Compares stacks with another unwinder's, register by register of one architecture.
ifneq ($(ARCH),x86_64)
LIVE_SRC   := $(filter-out %/live_unwind.c,$(LIVE_SRC))
endif
LIVE_BIN   := $(LIVE_SRC:tests/%.c=$(BUILD)/tests/%)
AID_SRC    := $(filter-out $(LIVE_SRC) %.bpf.c,$(sort $(wildcard tests/bpf/*.c tests/e2e/*.c)))
AID_BIN    := $(AID_SRC:tests/%.c=$(BUILD)/tests/%)
TOOL_SRC   := $(sort $(wildcard tests/tools/*.c))
TOOL_BIN   := $(TOOL_SRC:tests/%.c=$(BUILD)/tests/%)
# What makes documents of the programs' tables: `make docs`, and the test that holds them to it.
DOCS_OBJ   := $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard tests/tools/docs/*.c)))
# What survives kill -9: see tests/crash/store_crash.c.
CRASH_SRC  := $(sort $(wildcard tests/crash/*.c))
CRASH_BIN  := $(BUILD)/tests/crash/store_crash
SOAK_LIB   := $(BUILD)/tests/soak/hour_steps.so
# What is left when one call fails: see tests/failures/sweep.py, and daemon.py beside it.
FAIL_LIB   := $(BUILD)/tests/failures/fail_nth.so
FAIL_BIN   := $(BUILD)/tests/failures/write_windows
# Fuzz targets that run once over the inputs of their corpora: tests/fuzz/replay.c.
FUZZ_SRC   := $(sort $(wildcard tests/fuzz/fuzz_*.c))
REPLAY_BIN := $(FUZZ_SRC:%.c=$(BUILD)/%)
# Simulations that take minutes.
SLOW_BIN   := $(addprefix $(BUILD)/tests/diff/,check_diff check_days check_fleet run-real-check)

.DELETE_ON_ERROR:
.SUFFIXES:
.SECONDARY:
MAKEFLAGS += -r

.PHONY: all
all: $(PROGRAMS) $(LINK_BINS)

# ---- BPF ------------------------------------------------------------------------------------
$(BPF_BUILD)/bpf/%.bpf.o: bpf/%.bpf.c
	@mkdir -p $(@D)
	$(call msg,BPF,$<)
	$(Q)$(CLANG) $(BPF_CFLAGS) -MMD -MP -MF $(@:.o=.d) -MT $@ -c $< -o $@.full
	$(Q)$(BPFTOOL) gen object $@ $@.full

# bpftool writes to stdout even when it fails, hence the temporary name.
$(SKEL): $(BPF_BUILD)/bpf/%.skel.h: $(BPF_BUILD)/bpf/%.bpf.o
	$(call msg,SKEL,$@)
	$(Q)$(BPFTOOL) gen skeleton $< name $*_bpf > $@.tmp && mv $@.tmp $@

$(BUILD)/tests/%.bpf.o: tests/%.bpf.c
	@mkdir -p $(@D)
	$(call msg,BPF,$<)
	$(Q)$(CLANG) $(BPF_CFLAGS) -MMD -MP -MF $(@:.o=.d) -MT $@ -c $< -o $@

$(BUILD)/tests/%.skel.h: $(BUILD)/tests/%.bpf.o
	$(call msg,SKEL,$@)
	$(Q)$(BPFTOOL) gen skeleton $< name $(notdir $*)_bpf > $@.tmp && mv $@.tmp $@

$(BUILD)/user/collect/probe/probe.o $(BUILD)/user/collect/offcpu/offcpu.o $(BUILD)/user/collect/offcpu/sched.o $(BUILD)/user/collect/offcpu/alloc.o: $(SKEL)

# The names of system calls, as the kernel's headers for this architecture have them.
$(BUILD)/user/collect/naming/syscall_table.h:
	@mkdir -p $(@D)
	$(Q)echo '#include <asm/unistd.h>' | $(CC) -E -dM - | \
		sed -n 's/^#define __NR_\([a-z0-9_]*\) \([0-9]*\)$$/[\2] = "\1",/p' | LC_ALL=C sort > $@.tmp && mv $@.tmp $@
$(BUILD)/user/collect/naming/syscall_names.o: $(BUILD)/user/collect/naming/syscall_table.h

# ---- user space -----------------------------------------------------------------------------
# Rewritten only when the version differs, so that a commit does not rebuild everything.
$(BUILD)/version.txt: FORCE
	@mkdir -p $(@D)
	@echo '$(VERSION)' | cmp -s - $@ || echo '$(VERSION)' > $@

$(BUILD)/user/util/version.o: $(BUILD)/version.txt
$(BUILD)/user/util/version.o: override CFLAGS += -DJBPF_VERSION='"$(VERSION)"'

.PHONY: FORCE
FORCE:

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(call msg,CC,$<)
	$(Q)$(CC) $(CFLAGS) -MMD -MP -c $< -o $@

$(BUILD)/%.o: %.S
	@mkdir -p $(@D)
	$(call msg,AS,$<)
	$(Q)$(CC) $(CFLAGS) -MMD -MP -c $< -o $@

$(BUILD)/user/output/flamegraph_page.o: $(wildcard user/output/page/*)
$(BUILD)/user/web/web_page.o: $(wildcard user/web/page/* user/web/vendor/*)

$(LIB): $(LIB_OBJ)
	$(call msg,AR,$@)
	$(Q)rm -f $@ && ar rcs $@ $^

# The way every program is linked: its objects, the library, and what the rule adds.
define link
	@mkdir -p $(@D)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $(filter %.o %.a,$^) $(LDLIBS) $(1) -o $@
endef

$(BUILD)/bin/%: $(BUILD)/user/%.o $(LIB)
	$(link)

$(BUILD)/bin/jbpf-%: $(BUILD)/bin/jbpf
	$(Q)ln -sf jbpf $@

# ---- tests ----------------------------------------------------------------------------------
.SECONDEXPANSION:
$(TEST_BIN): $$(filter %/$$(@F).o,$(TEST_OBJ)) $(LIB)
	$(call link,-lcmocka)

# BPF's code, compiled for the test: its loads need not be aligned.
$(BUILD)/tests/unit/bpf/%.o: override CFLAGS += -Itests/unit/bpf -fno-sanitize=alignment

# What runs once for a moment is not worth optimizing; what simulates days of a program is.
SIMULATIONS := $(shell grep -lE 'diff_(days_sim|fleet|scene|sim)\.h"' $(TEST_SRC))
$(filter-out $(SIMULATIONS:%.c=$(BUILD)/%.o),$(TEST_OBJ)) $(FUZZ_SRC:%.c=$(BUILD)/%.o): override CFLAGS += -O0
$(SIMULATIONS:%.c=$(BUILD)/%.o): override CFLAGS += -O1

$(BENCH_BIN) $(LIVE_BIN) $(TOOL_BIN) $(FAIL_BIN) $(SLOW_BIN): $(BUILD)/%: $(BUILD)/%.o $(LIB)
	$(link)

$(BUILD)/tests/tools/option_docs $(BUILD)/tests/test_option_docs: $(DOCS_OBJ)

$(CRASH_BIN): $(CRASH_SRC:%.c=$(BUILD)/%.o) $(LIB)
	$(link)

$(BENCH_BIN:%=%.o): $(BENCH_SKEL)
# Its frames are found by unwind tables.
$(BUILD)/tests/bench/bench_frames.o: CFLAGS += -fomit-frame-pointer

$(BUILD)/tests/bpf/live_unwind.o: $(BUILD)/tests/bpf/unwind_dump.skel.h
$(BUILD)/tests/bpf/live_unwind: override LDLIBS += -ldw

# What is profiled keeps its frame pointers and its recursion; none of it knows the library.
AID_CFLAGS := -std=gnu11 -D_GNU_SOURCE -g -fno-omit-frame-pointer $(WARNINGS) -I.

$(BUILD)/tests/e2e/hostile_jvm: EXPORTS := -rdynamic # as libjvm.so does
$(BUILD)/tests/e2e/witness_spinner: EXPORTS := -static -no-pie -fno-pie # the same addresses in every process
$(BUILD)/tests/bpf/unwind_load: EXPORTS := -fomit-frame-pointer -O2
$(AID_BIN): $(BUILD)/%: %.c
	@mkdir -p $(@D)
	$(call msg,CC,$<)
	$(Q)$(CC) $(AID_CFLAGS) -O1 -fno-optimize-sibling-calls -MMD -MP -MF $@.d -MT $@ $< -o $@ -lpthread $(EXPORTS)

# Preloaded into programs of the soak and of the failure sweep.
$(SOAK_LIB) $(FAIL_LIB): $(BUILD)/%.so: %.c
	@mkdir -p $(@D)
	$(call msg,CC,$<)
	$(Q)$(CC) $(AID_CFLAGS) -O2 -fPIC -shared -fno-builtin $< -o $@

.PHONY: test-programs
test-programs: e2e-programs bench-programs $(TEST_BIN)

.PHONY: bench-programs
bench-programs: $(BENCH_BIN)

# What sanitizers make so dear that they take a part of it (tests/unit/sweep.h), or nothing: long simulations of what
# other tests run under them.
SWEEPS     := $(call test_bin,$(shell grep -l 'sweep\.h"' $(TEST_SRC)))
LONG_TESTS := $(patsubst %,$(BUILD)/tests/test_%,diff_quiet diff_short compare_hosts)
LEFT_OUT   := $(if $(filter 1,$(DEV)),$(if $(filter all,$(JBPF_TEST_SWEEPS)),,$(LONG_TESTS)))

# TESTS='test_account test_parser*': these only.
CHECK_BIN := $(if $(TESTS),$(filter $(subst *,%,$(TESTS:%=$(BUILD)/tests/%)),$(TEST_BIN)),$(filter-out $(LEFT_OUT),$(TEST_BIN)))

.PHONY: check-programs
check-programs: $(CHECK_BIN)

# What end-to-end tests run.
.PHONY: e2e-programs
e2e-programs: all $(AID_BIN) $(TOOL_BIN) $(LIVE_BIN) $(SOAK_LIB) $(FAIL_LIB) $(FAIL_BIN) $(CRASH_BIN)

.PHONY: check
check: $(CHECK_BIN)
	$(Q)[ -n "$(CHECK_BIN)" ] || { echo "no test is called '$(TESTS)': see tests/unit" >&2; exit 2; }
	$(Q)scripts/run-unit-tests $(CHECK_BIN)

.PHONY: check-as-released
check-as-released: $(SWEEPS) $(LONG_TESTS)
	$(Q)scripts/run-unit-tests $^

# Planted bugs, each of which the gate must catch: MUTANTS='...' for some of them.
.PHONY: check-mutants
check-mutants: all test-programs
	$(Q)scripts/run-mutants $(MUTANTS)

.PHONY: check-diff
check-diff: $(BUILD)/tests/diff/check_diff $(BUILD)/tests/diff/check_days $(BUILD)/tests/diff/check_fleet
	$(Q)for program in $^; do $$program || exit 1; done

CRASH_RUNS ?= 2000
CRASH_SEED ?= $(shell date +%s)

.PHONY: check-crash
check-crash: $(CRASH_BIN)
	$(Q)$(CRASH_BIN) sweep
	$(Q)$(CRASH_BIN) readers
	$(Q)$(CRASH_BIN) kill $(CRASH_RUNS) $(CRASH_SEED)

# Every call that can fail does, once: FAILURES=--fast tries a part of them. The daemon's need root.
.PHONY: check-failures
check-failures: all test-programs
	$(Q)tests/failures/sweep.py --build $(BUILD) $(FAILURES)
	$(Q)tests/failures/daemon.py --build $(BUILD) $(FAILURES)

SOAK_MINUTES ?= 60

# jbpf push and --from on two shards of two replicas of Debian's ClickHouse, one of which is killed: no root.
.PHONY: check-cluster
check-cluster: e2e-programs
	$(Q)/usr/bin/python3 -m pytest -q -rs -p no:cacheprovider tests/e2e/test_clickhouse_cluster.py

# jbpf push, --from and the dashboards on a ClickHouse of today, which npm's registry has as a library (180 MB): no root.
.PHONY: check-clickhouse
check-clickhouse: e2e-programs
	$(Q)library=$$(tests/tools/fetch-libchdb) && JBPF_LIBCHDB=$$library /usr/bin/python3 -m pytest -q -rs -p no:cacheprovider \
		-m 'not long' tests/e2e/test_push.py tests/e2e/test_from_clickhouse.py tests/e2e/test_monitoring.py

# Debian's kernels under QEMU: KERNELS='5.10 7' for some of them only, GUEST=aarch64 for one of that.
.PHONY: check-kernels
check-kernels: all test-programs
	$(Q)scripts/check-kernels $(if $(KERNELS),--kernels '$(KERNELS)') $(if $(GUEST),--arch '$(GUEST)')

.PHONY: soak
soak: all test-programs
	$(Q)tests/soak/run --minutes $(SOAK_MINUTES)

# ---- fuzzing --------------------------------------------------------------------------------
# What needs no kernel, built once more with clang's fuzzer and sanitizers; tests/fuzz/README.md.
FUZZ_SECONDS ?= 60
FUZZ_JOBS    ?= $(shell nproc)
FUZZ_TARGETS ?=
# Three files know BPF skeletons, which clang's fuzzer need not build.
FUZZ_LIB     := $(filter-out user/collect/probe/probe.c user/collect/offcpu/offcpu.c user/collect/offcpu/sched.c user/collect/offcpu/alloc.c,$(LIB_SRC))
# COVERAGE=1: without sanitizers, counting lines, in a folder of its own.
ifeq ($(COVERAGE),1)
FUZZ_BUILD   := build-coverage
FUZZ_CHECKS  := -fprofile-instr-generate -fcoverage-mapping
else
FUZZ_BUILD   := build-fuzz
FUZZ_CHECKS  := -fsanitize=address,undefined -fno-sanitize-recover=undefined
endif
FUZZ_BIN     := $(FUZZ_SRC:tests/fuzz/%.c=$(FUZZ_BUILD)/%)
FUZZ_OBJ     := $(FUZZ_LIB:%.c=$(FUZZ_BUILD)/%.o) \
		$(LIB_ASM:%.S=$(FUZZ_BUILD)/%.o)
FUZZ_CFLAGS  := -O1 -g -std=gnu11 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -fno-omit-frame-pointer \
		$(WARNINGS) -Werror -Wno-format-nonliteral -I. -I$(BUILD) -DJBPF_VERSION='"fuzz"' $(FUZZ_CHECKS)

# The target itself is not what is to be covered.
$(FUZZ_BUILD)/tests/fuzz/%.o: tests/fuzz/%.c
	@mkdir -p $(@D)
	$(call msg,CC,$<)
	$(Q)$(CLANG) $(FUZZ_CFLAGS) -MMD -MP -c $< -o $@

$(FUZZ_BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(call msg,CC,$<)
	$(Q)$(CLANG) $(FUZZ_CFLAGS) -fsanitize=fuzzer-no-link -MMD -MP -c $< -o $@

$(FUZZ_BUILD)/%.o: %.S
	@mkdir -p $(@D)
	$(call msg,AS,$<)
	$(Q)$(CLANG) -I. -MMD -MP -c $< -o $@

$(FUZZ_BUILD)/user/collect/naming/syscall_names.o: $(BUILD)/user/collect/naming/syscall_table.h

# Made anew when the list changes: objects are secondary, one that is missing is not missed.
$(FUZZ_BUILD)/libjbpf.a: $(FUZZ_OBJ) Makefile
	$(call msg,AR,$@)
	$(Q)rm -f $@ && ar rcs $@ $(filter %.o,$^)

$(FUZZ_BUILD)/fuzz_%: $(FUZZ_BUILD)/tests/fuzz/fuzz_%.o $(FUZZ_BUILD)/libjbpf.a
	$(call msg,LINK,$@)
	$(Q)$(CLANG) $(FUZZ_CFLAGS) -fsanitize=fuzzer $^ $(LDLIBS) -o $@

.PHONY: fuzz-programs
fuzz-programs: $(FUZZ_BIN)

.PHONY: fuzz
fuzz:
	$(Q)scripts/run-fuzz --seconds $(FUZZ_SECONDS) --jobs $(FUZZ_JOBS) $(FUZZ_TARGETS)

# The inputs that were kept, without clang's fuzzer: DEV=1 has sanitizers watch.
$(REPLAY_BIN): $(BUILD)/%: $(BUILD)/%.o $(BUILD)/tests/fuzz/replay.o $(LIB)
	$(link)

.PHONY: check-corpora
check-corpora: $(REPLAY_BIN)
	$(Q)scripts/run-fuzz --replay $(BUILD)/tests/fuzz

.PHONY: fuzz-coverage
fuzz-coverage:
	$(Q)scripts/fuzz-coverage

.PHONY: check-e2e
check-e2e: all test-programs
	$(Q)scripts/run-e2e-tests

# The gate (scripts/check), and what it leaves out: shares, latencies and costs, long runs, fuzzing.
.PHONY: check-long
check-long:
	$(Q)scripts/check --all

.PHONY: bench
bench: all test-programs
	$(Q)tests/bench/run $(BENCH_ARGS)

# Compiles everything, kernel and user side, for aarch64 with the host's clang. Only libc's headers
# are foreign ones (libc6-dev-arm64-cross): the libraries' own are the same, and nothing is linked or run:
# not optimized, which takes a third of the time and warns of the same. AARCH64_OBJECTS=machine-objects: the programs of
# the kernel, who loads them, and what names a processor or reads what is of one: in the rest nothing is another one's.
AARCH64_CC := $(CLANG) --target=aarch64-linux-gnu -isystem /usr/aarch64-linux-gnu/include \
	      -idirafter /usr/include/$(shell uname -m)-linux-gnu
AARCH64_OBJECTS ?= objects

.PHONY: check-aarch64
check-aarch64:
	$(Q)$(MAKE) --no-print-directory ARCH=aarch64 BUILD=build-aarch64 CC='$(AARCH64_CC)' \
		CFLAGS='-O0 -Werror -Wno-error=format-nonliteral -Wno-gnu-variable-sized-type-not-at-end' $(AARCH64_OBJECTS)

# What gcc finds by following paths: memory that is used after it was freed, freed twice, or not asked whether it is there.
# Left out is what gcc 12 was wrong about, 27 times of 27: it loses whose memory is that a struct points to, believes that
# errno may be 0 after a failure and that there may be elements of no array, and does not see what a callee writes. Nor
# does -O1, of which the build with -O2 judges.
ANALYZER := -fanalyzer -Wno-maybe-uninitialized $(addprefix -Wno-analyzer-,malloc-leak null-dereference null-argument use-of-uninitialized-value)

.PHONY: check-analyzer
check-analyzer:
	$(Q)$(MAKE) --no-print-directory BUILD=build-analyzer CFLAGS='-O1 -Werror $(ANALYZER)' product-objects

MACHINE_SRC := $(sort $(wildcard symbols/elf/*.c symbols/hotspot/*.c symbols/leaf/*.c symbols/unwind/*.c) \
	       $(shell grep -lE 'aarch64|arm64|x86_64|\.skel\.h' $(LIB_SRC)))

.PHONY: machine-objects
machine-objects: $(MACHINE_SRC:%.c=$(BUILD)/%.o)

.PHONY: product-objects
product-objects: $(LIB_OBJ) $(PROGRAMS:$(BUILD)/bin/%=$(BUILD)/user/%.o)

.PHONY: objects
objects: product-objects $(TEST_OBJ) $(TOOL_SRC:%.c=$(BUILD)/%.o) $(CRASH_SRC:%.c=$(BUILD)/%.o) \
	 $(LIVE_SRC:%.c=$(BUILD)/%.o)

.PHONY: check-style
check-style:
	$(Q)scripts/check-style

# What man pages and completion say of options, and FORMAT.md of numbers, from the programs' tables; a unit test compares.
.PHONY: docs
docs: $(BUILD)/tests/tools/option_docs
	$(Q)$<

# Records the demo program for twenty minutes (root, Chromium).
.PHONY: docs-pictures
docs-pictures: all
	$(Q)scripts/demo/pictures

# ---- install, clean, help -------------------------------------------------------------------
.PHONY: install
install: all
	install -d $(DESTDIR)$(bindir) $(DESTDIR)$(mandir)/man1 $(DESTDIR)$(mandir)/man8 $(DESTDIR)$(unitdir) \
		$(DESTDIR)$(completiondir)
	install -m 0755 $(BUILD)/bin/jbpf $(BUILD)/bin/jbpfd $(DESTDIR)$(bindir)
	for link in $(LINKS); do ln -sf jbpf $(DESTDIR)$(bindir)/jbpf-$$link; done
	install -m 0644 user/man/*.1 $(DESTDIR)$(mandir)/man1
	install -m 0644 user/man/*.8 $(DESTDIR)$(mandir)/man8
	install -m 0644 user/completion/jbpf.bash $(DESTDIR)$(completiondir)/jbpf
	for name in jbpfd $(LINKS:%=jbpf-%); do ln -sf jbpf $(DESTDIR)$(completiondir)/$$name; done
	install -D -m 0644 user/completion/_jbpf $(DESTDIR)$(zshdir)/_jbpf
	for unit in jbpfd.service jbpf-diff.service jbpf-push.service; do \
		sed "s|/usr/local/bin/|$(bindir)/|" scripts/systemd/$$unit > $(DESTDIR)$(unitdir)/$$unit || exit 1; \
	done
	install -m 0644 scripts/systemd/jbpf-diff.timer $(DESTDIR)$(unitdir)
	install -D -m 0644 scripts/systemd/jbpf.sysusers $(DESTDIR)$(sysusersdir)/jbpf.conf
	[ -e $(DESTDIR)$(sysconfdir)/jbpf/jbpfd.conf ] || \
		install -D -m 0644 scripts/systemd/jbpfd.conf $(DESTDIR)$(sysconfdir)/jbpf/jbpfd.conf
	[ -n "$(DESTDIR)" ] || ! command -v systemd-sysusers >/dev/null || \
		systemd-sysusers $(sysusersdir)/jbpf.conf

# build/jbpf_VERSION_ARCH.deb
.PHONY: deb
deb: all
	$(Q)scripts/package/make-deb $(BUILD)

# build/jbpf-VERSION.tgz
.PHONY: chart
chart: $(BUILD)/version.txt
	$(Q)scripts/package/make-chart $(BUILD)

.PHONY: clean
clean:
	$(Q)rm -rf build build-dev build-aarch64 build-analyzer build-fuzz build-coverage

.PHONY: help
help:
	@echo 'make              build/bin/jbpfd, build/bin/jbpf and its links'
	@echo 'make check        unit tests: no root, no network; TESTS="test_account test_parser*" for some'
	@echo 'make test-programs  builds the tests, tools and benches without running them'
	@echo 'make check-e2e    end-to-end tests: root, real BPF, JVMs in Docker containers'
	@echo 'make check-long   the gate (scripts/check), and all that measures or takes long: two hours (root)'
	@echo 'make check-crash  nothing is lost: CRASH_RUNS=2000 kills of writers and compactors'
	@echo 'make check-failures  every allocation, read and write fails once: clear errors, no loss'
	@echo 'make check-cluster  push and --from on a cluster of ClickHouse and a ZooKeeper (scripts/install-deps test)'
	@echo 'make check-clickhouse  push, --from and the dashboards on a current ClickHouse (180 MB from npm)'
	@echo 'make check-mutants  plants the bugs of tests/mutants: each must be caught (root)'
	@echo 'make check-diff   what the statistics of the diff are worth: minutes of simulation'
	@echo 'make check-aarch64  compiles everything for aarch64'
	@echo 'make check-analyzer  what gcc finds in the programs by following paths'
	@echo 'make soak         SOAK_MINUTES=60 of JVM churn: flat memory, nothing lost unexplained (root)'
	@echo 'make check-kernels  jbpfd on kernels 5.10, 6.1, 6.12 and 7 under QEMU (root); GUEST=aarch64: on 6.1 there'
	@echo 'make fuzz         fuzz targets, FUZZ_SECONDS=60 each, FUZZ_JOBS at once, FUZZ_TARGETS="fuzz_elf"'
	@echo 'make check-corpora  runs the fuzz targets over the inputs that were kept; DEV=1: under sanitizers'
	@echo 'make fuzz-programs  builds the fuzz targets without running them'
	@echo 'make fuzz-coverage  which lines the corpora of the fuzz targets reach'
	@echo 'make check-style  format, includes, headers, licences, sizes, paths, shell scripts'
	@echo 'make bench        figures, side by side with peers (root); BENCH_ARGS="--quick --json FILE"'
	@echo 'make docs         writes the options of man pages and completion, and a table of FORMAT.md, from the tables of the programs'
	@echo 'make docs-pictures  makes the pictures of docs/ again, from a demo that it records for 20 minutes (root, Chromium)'
	@echo 'make install      knobs: DESTDIR, prefix, bindir, mandir, completiondir, unitdir and the like'
	@echo 'make deb          a Debian package in build/ (needs debhelper)'
	@echo 'make chart        a Helm chart in build/, of scripts/kubernetes'
	@echo 'make clean'
	@echo 'Knobs: V=1 shows commands; DEV=1 adds -Werror, ASan, UBSan in build-dev/'

-include $(CRASH_SRC:%.c=$(BUILD)/%.d) $(LIVE_SRC:%.c=$(BUILD)/%.d) $(TOOL_SRC:%.c=$(BUILD)/%.d) $(SLOW_BIN:%=%.d) $(FAIL_BIN:%=%.d) $(AID_BIN:%=%.d) $(REPLAY_BIN:%=%.d)
-include $(LIB_OBJ:.o=.d) $(DOCS_OBJ:.o=.d) $(TEST_OBJ:.o=.d) $(BENCH_SRC:%.c=$(BUILD)/%.d)
-include $(SKEL:.skel.h=.bpf.d) $(BUILD)/tests/bpf/unwind_dump.bpf.d $(BENCH_BPF:%.bpf.c=$(BUILD)/%.bpf.d)
-include $(FUZZ_OBJ:.o=.d) $(FUZZ_SRC:%.c=$(FUZZ_BUILD)/%.d)
-include $(BUILD)/user/jbpf.d $(BUILD)/user/jbpfd.d
