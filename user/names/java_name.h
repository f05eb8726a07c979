/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One spelling for every JIT name, stable from run to run. Pure.
 *
 * The room of Java's names. In: a name as the JVM, a perf map or a profiler wrote it. Out: one
 * spelling that is the same in the next run, and whether a name is Java's at all (java_spelling.h).
 */
#ifndef JBPF_NAMES_JAVA_NAME_H
#define JBPF_NAMES_JAVA_NAME_H

#include <stdbool.h>
#include <stddef.h>

#include "user/util/attributes.h"
#include "user/util/lines.h"
#include "user/model/frame_kind.h"
#include "user/util/strbuf.h"

/*
 * Appends the canonical form of a perf map name to `out` and tells its kind: a compiled method
 * (FRAME_KIND_JIT: "pkg.Class.method") or VM code such as "Interpreter", "vtable chunks",
 * "StubRoutines (initialstubs)" (FRAME_KIND_NATIVE). `is_hotspot` says that the map is HotSpot's;
 * other runtimes' names ("LazyCompile:*foo /p.js:1:2", "py::f:/x.py") are kept as they are, with
 * FRAME_KIND_JIT. 0 or -ENOMEM.
 */
__must_check int java_name_canonical(const char *raw, size_t raw_len, bool is_hotspot,
				     bool keep_parameters, struct strbuf *out,
				     enum frame_kind *kind_out);

/*
 * Appends the canonical form of a class's name in the JVM: "java/lang/String" -> "java.lang.String", "[[I" ->
 * "int[][]". 0; -EINVAL: it is none, `out` as it was; -ENOMEM.
 */
__must_check int java_name_class(const char *raw, size_t raw_len, struct strbuf *out);

/* "int", "void": a type that is no class. */
bool java_name_is_primitive(struct text type);

/* Is it HotSpot's own code, as its maps and profilers name it? "Interpreter", "StubRoutines (1)", ... */
bool java_name_is_vm_code(const char *name, size_t len);

/*
 * Is it the name of one of the stubs that compiled code calls, "jint_disjoint_arraycopy"? Only where a method in
 * Java calls it: other code may have functions called "mulAdd".
 */
bool java_name_is_stub(const char *name, size_t len);

/* Native file name with run-specific digits removed: "libzstd-jni-1.5.5-41239938.so". */
int java_name_canonical_library(const char *base_name, struct strbuf *out);

#endif
