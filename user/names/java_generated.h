/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the JVM, compilers of scripts and frameworks put into the names of classes that they make
 * at run time, and what of it is another text in the next run. One table of rules. Pure.
 */
#ifndef JBPF_NAMES_JAVA_GENERATED_H
#define JBPF_NAMES_JAVA_GENERATED_H

#include <stdbool.h>
#include <stddef.h>

#include "user/util/lines.h"
#include "user/util/strbuf.h"

/*
 * Appends the name of a class, as in a class file or with dots, without what is another text in
 * the next run; "/" becomes ".". Nothing is appended where nothing stays. True: it is another text than the
 * name was, and may have to be looked at again.
 */
bool java_generated_append(struct text class, struct strbuf *out);

/* The same for the name of a method, but for "/". */
void java_generated_append_method(struct text method, struct strbuf *out);

/* Has the name a part that nobody but such a generator writes? */
bool java_generated_is_in(struct text name);

#endif
