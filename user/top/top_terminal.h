/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The terminal: a grid of cells goes out, keys come in. The one module that knows ncurses. While it
 * is open, what anybody writes to stderr is kept and printed when it is closed: it would spoil the
 * picture.
 */
#ifndef JBPF_TOP_TERMINAL_H
#define JBPF_TOP_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

#include "user/top/top_keys.h"
#include "user/top/top_screen.h"
#include "user/util/attributes.h"

/*
 * Keeps what is written to stderr until top_stderr_release(), the first 64 KiB of it; children that
 * are started meanwhile write there, too. The descriptor to release it with, or -1: it could not be
 * done, which does no harm.
 */
int top_stderr_hold(void);
/* Prints what was kept. -1 is fine. */
void top_stderr_release(int held_fd);

struct top_terminal;

/*
 * Takes standard input and output over. 0, or -errno and a line in `why`. One at a time: ncurses has
 * globals.
 */
__must_check int top_terminal__open(struct top_terminal **out, char *why, size_t why_len);
/* Gives the terminal back as it was. NULL is fine. */
void top_terminal__free(struct top_terminal *terminal);

/* Does it show characters beyond ASCII? */
bool top_terminal__is_ascii(const struct top_terminal *terminal);
void top_terminal__size(const struct top_terminal *terminal, int *width_out, int *height_out);
void top_terminal__draw(struct top_terminal *terminal, const struct top_screen *screen);
/* The next key that was pressed, without waiting; TOP_KEY_NONE: there is none. */
struct top_press top_terminal__read(struct top_terminal *terminal);

#endif
