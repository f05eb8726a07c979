/* SPDX-License-Identifier: Apache-2.0 */
/* What the compiler is to know of a function, so that it can find its misuse. */
#ifndef JBPF_UTIL_ATTRIBUTES_H
#define JBPF_UTIL_ATTRIBUTES_H

/*
 * In front of a declaration: the result is an error that must not be overlooked. (void) says that it is
 * ignored on purpose; GCC accepts that for [[nodiscard]] only, clang for its attribute.
 */
#ifdef __clang__
#define __must_check __attribute__((warn_unused_result))
#elif __GNUC__ >= 10
#define __must_check [[nodiscard]]
#else
#define __must_check
#endif

/* Behind it: argument `format_at` is a format as printf(3) takes it, for those from `first` on. */
#define __printf_like(format_at, first) __attribute__((format(printf, format_at, first)))

/* Behind it: no pointer may be NULL. */
#define __no_null __attribute__((nonnull))
/* Nor the pointers at these places, counted from 1. */
#define __no_null_at(...) __attribute__((nonnull(__VA_ARGS__)))

#endif
