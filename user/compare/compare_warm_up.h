/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is a young JVM still warming up? Its samples say so: code that is interpreted or compiled by C1
 * will be replaced, and while it is, the compiler's threads are busy. One window is judged by
 * itself, because traffic that begins late makes a JVM cold again.
 *
 * In: the text of a window. Out: true when its profile is that of the code as it will stay.
 */
#ifndef JBPF_COMPARE_COMPARE_WARM_UP_H
#define JBPF_COMPARE_COMPARE_WARM_UP_H

#include <stdbool.h>
#include <stddef.h>

#define COMPARE_WARM_UP_JAVA_MIN 50 /* samples in Java code; fewer prove nothing */

/* Of a window of CPU time. Lines that are no stacks are skipped. */
bool compare_warm_up_is_over(const char *text, size_t len);

#endif
