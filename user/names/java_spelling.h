/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which names of a foreign profile are Java's, as profilers and their converters write them:
 * "java/lang/String.format", "java.util.ArrayList.clone", "void a.B.f", "Lorg/a/B:::run". A name
 * that other languages write as well is not taken for Java. Names are borrowed and not
 * NUL-terminated. Pure.
 */
#ifndef JBPF_NAMES_JAVA_SPELLING_H
#define JBPF_NAMES_JAVA_SPELLING_H

#include <stdbool.h>
#include <stddef.h>

#include "user/util/strbuf.h"

/* A name without a suffix: is it Java's beyond doubt? java_name_canonical() reads it then. */
bool java_spelling_is_certain(const char *name, size_t len);

/* "java/lang/String.format", nothing less: a class with a capital, one dot, a method. */
bool java_spelling_is_internal(const char *name, size_t len);

/*
 * "a/b/c.clone", and "Main.work" of no package: Java's where classes in their internal spelling
 * stand beside it; else the first may be Go's, the second anybody's.
 */
bool java_spelling_is_likely(const char *name, size_t len);

/* A name that is marked as Java's may yet be another runtime's: "LazyCompile:*f /p.js:1:2", "py::f:/x.py". */
bool java_spelling_may_be(const char *name, size_t len);

/* One that is marked as inlined: C and C++, since no class stands in front of a method? */
bool java_spelling_is_foreign(const char *name, size_t len);

/*
 * async-profiler's options for lines and bytecodes: "java/lang/Thread.run:829", "java/lang/Thread.run@11".
 * The length without it; what is marked as Java's need only be likely to be a name of it.
 */
size_t java_spelling_without_line(const char *name, size_t len, bool is_marked);

/*
 * async-profiler's option sig: "java/util/List.add(Ljava/lang/Object|)Z", since ";" ends a frame.
 * Appends the descriptor with its ";"; false: there is none.
 */
bool java_spelling_append_signed(const char *name, size_t len, struct strbuf *out);

/*
 * stackcollapse-perf.pl writes perf-map-agent's "Lorg/a/B;::run" as "Lorg/a/B:::run", or tidied as
 * "org/a/B:::run"; ";.<init>" as ":.<init>". Appends "org/a/B.run"; false: it is no such name.
 */
bool java_spelling_append_collapsed(const char *name, size_t len, struct strbuf *out);

#endif
