// SPDX-License-Identifier: Apache-2.0
/* ncurses; see top_terminal.h. */
#define NCURSES_WIDECHAR 1

#include "user/top/top_terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <wchar.h>

#include <curses.h>

#include "user/util/cleanup.h"

#define HELD_BYTES 65536
#define ESCAPE_MS  25 /* how long the rest of a key's sequence may take */

struct top_terminal {
	SCREEN *screen;
	bool is_ascii;
	attr_t attributes[TOP_STYLE_CNT];
};

/* ---- stderr ---- */

int top_stderr_hold(void)
{
	__cleanup_fd int kept = memfd_create("jbpf-top-stderr", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int before;

	/* The file cannot grow: whoever writes much has an error, and this process keeps its memory. */
	if (kept < 0 || ftruncate(kept, HELD_BYTES) || fcntl(kept, F_ADD_SEALS, F_SEAL_GROW))
		return -1;
	before = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	if (before < 0 || dup2(kept, STDERR_FILENO) < 0) {
		if (before >= 0)
			close(before);
		return -1;
	}
	return before;
}

void top_stderr_release(int held_fd)
{
	char text[HELD_BYTES + 1];
	ssize_t len;

	if (held_fd < 0)
		return;
	len = pread(STDERR_FILENO, text, HELD_BYTES, 0);
	(void)dup2(held_fd, STDERR_FILENO);
	close(held_fd);
	text[len > 0 ? len : 0] = '\0';
	(void)fputs(text, stderr);
}

/* ---- life ---- */

/* https://no-color.org: present, and not empty. */
static bool wants_colors(void)
{
	const char *no_color = getenv("NO_COLOR");

	return !no_color || !*no_color;
}

static void make_attributes(struct top_terminal *terminal)
{
	static const struct {
		enum top_style style;
		short color;
	} colors[] = {
		{ TOP_STYLE_WARNING, COLOR_RED },
		{ TOP_STYLE_JAVA, COLOR_GREEN },
		{ TOP_STYLE_KERNEL, COLOR_YELLOW },
		{ TOP_STYLE_CHART, COLOR_CYAN },
	};

	terminal->attributes[TOP_STYLE_DIM] = A_DIM;
	terminal->attributes[TOP_STYLE_STRONG] = A_BOLD;
	terminal->attributes[TOP_STYLE_HEAD] = A_REVERSE;
	terminal->attributes[TOP_STYLE_SELECTED] = A_REVERSE | A_BOLD;
	terminal->attributes[TOP_STYLE_WARNING] = A_BOLD;
	if (!wants_colors() || !has_colors() || start_color() == ERR)
		return;
	/* The reader's own background stays. */
	(void)use_default_colors();
	for (size_t i = 0; i < ARRAY_SIZE(colors); i++) {
		short pair = (short)(i + 1);

		if (init_pair(pair, colors[i].color, -1) != ERR)
			terminal->attributes[colors[i].style] |= (attr_t)COLOR_PAIR(pair);
	}
}

/* TERM=dumb is known, and scrolls: each change would be a screen more. */
static bool can_move_cursor(void)
{
	const char *move = tigetstr("cup");

	return move && move != (const char *)-1;
}

/* The kernel reports a new size by this signal. A parent may have blocked it for us: perf record does. */
static void unblock_size_changes(void)
{
	sigset_t changes;

	(void)sigemptyset(&changes);
	(void)sigaddset(&changes, SIGWINCH);
	(void)sigprocmask(SIG_UNBLOCK, &changes, NULL);
}

int top_terminal__open(struct top_terminal **out, char *why, size_t why_len)
{
	struct top_terminal *terminal = calloc(1, sizeof(*terminal));
	const char *term = getenv("TERM");

	if (!terminal) {
		snprintf(why, why_len, "out of memory");
		return -ENOMEM;
	}
	/* Not numbers: they have a point here as everywhere. */
	(void)setlocale(LC_CTYPE, "");
	unblock_size_changes();
	terminal->is_ascii = strcmp(nl_langinfo(CODESET), "UTF-8") != 0;
	terminal->screen = newterm(NULL, stdout, stdin);
	if (!terminal->screen || !can_move_cursor()) {
		snprintf(why, why_len,
			 "the terminal '%s' %s; set TERM, or use --once for a plain table",
			 term ? term : "",
			 terminal->screen ? "cannot move its cursor" : "is not known here");
		top_terminal__free(terminal);
		return -ENOTTY;
	}
	(void)set_term(terminal->screen);
	/* Ctrl-C is a key: the processes that sample share the terminal's group, and end with this one. */
	(void)raw();
	(void)noecho();
	(void)nonl();
	(void)keypad(stdscr, TRUE);
	(void)nodelay(stdscr, TRUE);
	(void)set_escdelay(ESCAPE_MS);
	(void)curs_set(0);
	make_attributes(terminal);
	*out = terminal;
	return 0;
}

void top_terminal__free(struct top_terminal *terminal)
{
	if (!terminal)
		return;
	if (terminal->screen) {
		(void)endwin();
		delscreen(terminal->screen);
	}
	free(terminal);
}

bool top_terminal__is_ascii(const struct top_terminal *terminal)
{
	return terminal->is_ascii;
}

void top_terminal__size(const struct top_terminal *terminal, int *width_out, int *height_out)
{
	(void)terminal;
	getmaxyx(stdscr, *height_out, *width_out);
}

/* ---- out ---- */

/* A run of cells of one style. Returns where the next one begins. */
static int draw_run(const struct top_terminal *terminal, const struct top_cell *cells, int y, int x,
		    int width)
{
	enum top_style style = cells[x].style;
	wchar_t text[256];
	int begin = x;
	int len = 0;

	while (x < width && cells[x].style == style && len < (int)ARRAY_SIZE(text)) {
		if (cells[x].code != TOP_CELL_TAIL)
			text[len++] = (wchar_t)cells[x].code;
		x++;
	}
	(void)attrset((int)terminal->attributes[style]);
	/* The last cell of the screen moves the cursor nowhere: that is no error. */
	(void)mvaddnwstr(y, begin, text, len);
	return x;
}

void top_terminal__draw(struct top_terminal *terminal, const struct top_screen *screen)
{
	(void)erase();
	for (int y = 0; y < screen->height; y++) {
		const struct top_cell *cells = screen->cells + (size_t)y * (size_t)screen->width;

		for (int x = 0; x < screen->width;)
			x = draw_run(terminal, cells, y, x, screen->width);
	}
	(void)refresh();
}

/* ---- in ---- */

struct top_press top_terminal__read(struct top_terminal *terminal)
{
	static const struct {
		int code;
		enum top_key key;
	} keys[] = {
		{ KEY_UP, TOP_KEY_UP },
		{ KEY_DOWN, TOP_KEY_DOWN },
		{ KEY_PPAGE, TOP_KEY_PAGE_UP },
		{ KEY_NPAGE, TOP_KEY_PAGE_DOWN },
		{ KEY_HOME, TOP_KEY_HOME },
		{ KEY_END, TOP_KEY_END },
		{ KEY_ENTER, TOP_KEY_ENTER },
		{ '\r', TOP_KEY_ENTER },
		{ '\n', TOP_KEY_ENTER },
		{ KEY_RIGHT, TOP_KEY_ENTER },
		{ 27, TOP_KEY_ESCAPE },
		{ KEY_LEFT, TOP_KEY_ESCAPE },
		{ KEY_BACKSPACE, TOP_KEY_BACKSPACE },
		{ 127, TOP_KEY_BACKSPACE },
		{ '\b', TOP_KEY_BACKSPACE },
		{ '\t', TOP_KEY_TAB },
		{ KEY_RESIZE, TOP_KEY_RESIZE },
		{ 3, TOP_KEY_INTERRUPT },
	};
	int code = getch();

	(void)terminal;
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		if (keys[i].code == code)
			return (struct top_press){ .key = keys[i].key };
	}
	if (code >= ' ' && code < 127)
		return (struct top_press){ .key = TOP_KEY_CHAR, .text = (char)code };
	return (struct top_press){ .key = code == ERR ? TOP_KEY_NONE : TOP_KEY_OTHER };
}
