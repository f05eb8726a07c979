/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The colours of frames, shared by the SVG picture and the HTML page (which gets the palette with
 * its data): kind decides the family, a hash of the name the shade. Pure.
 */
#ifndef JBPF_OUTPUT_COLORS_H
#define JBPF_OUTPUT_COLORS_H

#include <stddef.h>
#include <stdint.h>

#include "user/output/tree.h"

#define COLOR_SHADES	16
#define COLOR_HEX_BYTES 6
/* Text on every frame colour. */
#define COLOR_TEXT_LIGHT "1c1c1f"
#define COLOR_TEXT_DARK	 "f4f4f5"

struct color_kind {
	const char *key;   /* for machines: "jit" */
	const char *label; /* for people: "Java compiled" */
	const char *light; /* COLOR_SHADES colours as "rrggbb", one after the other */
	const char *dark;
};

/* Never NULL. */
const struct color_kind *color_kind(enum tree_kind kind);
/* 0 to COLOR_SHADES - 1; the same for a name forever. */
unsigned color_shade(const char *name, size_t len);
/* "rrggbb" of light mode; not NUL-terminated behind the six digits. */
const char *color_hex(enum tree_kind kind, unsigned shade);

#endif
