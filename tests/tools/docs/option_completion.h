/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the completions of bash and zsh that come from the tables of options. The functions
 * that use them are written by hand around them.
 */
#ifndef JBPF_TESTS_OPTION_COMPLETION_H
#define JBPF_TESTS_OPTION_COMPLETION_H

#include "user/util/attributes.h"
#include "user/cli/options.h"
#include "user/util/strbuf.h"

/*
 * Appends the script with the lines between these marks made from the tables, which end with NULL:
 *	# begin words			branches of a case over "PROGRAM:OPTION"
 *	# end
 *	# begin programs		complete -F _jbpf PROGRAM..., of bash
 *	# end
 * 0; -EINVAL: a mark is wrong; -ENOMEM.
 */
__must_check int option_completion_fill(const struct option_table *const *tables,
					const char *script, struct strbuf *out);

#endif
