// SPDX-License-Identifier: Apache-2.0
/*
 * The palette. Kinds are told apart by hue and by lightness; within a kind the class picks one of
 * four hues and the method one of four lightnesses, so that a frame never changes its colour and
 * methods of one class look related. The values are OKLCH steps converted to sRGB: lightness moves
 * by 0.018 a step (dark: 0.016), hue by at most 16 degrees around the kind's. Text is at least
 * 4.5 : 1 on each of them, which test_output_colors.c computes again.
 */
#include "user/output/colors.h"

static const struct color_kind color_kinds[TREE_KIND_CNT] = {
	[TREE_KIND_NATIVE] = {
		.key = "native",
		.label = "native",
		.light = "e98ca1ef92a6f597acfc9db1eb8d92f19297f8989dfe9ea3"
			 "ec8f84f29489f89a8ffe9f94ea9176f0977bf69d81fda286",
		.dark = "712b3e7630427b344780394b732c337830377d353b823940"
			 "732d2778322b7d3630823b34722f1a77341f7c3823813d28",
	},
	[TREE_KIND_KERNEL] = {
		.key = "kernel",
		.label = "kernel",
		.light = "f69c6cfca172fea97dffb28af1a061f7a567fdab6cffb37a"
			 "eba457f1aa5df7b063fdb669e3a950e9af56efb55cf5bb62",
		.dark = "6e391c723e207742257c46296b3c1370401875451d794922"
			 "673f096c430f714715764c1b6342016846076c4a0f714f15",
	},
	[TREE_KIND_JIT] = {
		.key = "jit",
		.label = "Java compiled",
		.light = "93c76b98cd709ed376a4d97c80cb7a86d17f8cd78591dd8a"
			 "6cce8972d38f78d9947edf9a57cf995ed59e64dba46ae1aa",
		.dark = "2f4a16334f1b3753203b5824234c202851242c5529305a2d"
			 "154e291a522d1f5732245b36014e320553360d583a145c3f",
	},
	[TREE_KIND_C1] = {
		.key = "c1",
		.label = "Java compiled (C1)",
		.light = "d9d05fdfd665e4dc6beae271ced465d4da6bdae071e0e677"
			 "c3d86cc9de72cfe378d4e97eb7db75bde17bc3e781c9ed87",
		.dark = "56510b5a55125f5a18635e1d505311555717595c1c5e6021"
			 "4a55174f591c535e2157622644561d485b224d602751642b",
	},
	[TREE_KIND_INTERPRETED] = {
		.key = "interpreted",
		.label = "Java interpreted",
		.light = "aee3cab4e9d0baefd5c0f5dbabe4ceb1ead4b7f0dabdf6e0"
			 "a9e4d2aeead8b4f0debaf6e4a6e4d7aceaddb2f0e2b8f6e8",
		.dark = "3c604f406454456958496e5d3960523e655742695b476e60"
			 "3760553c655a40695e456e623560583a655c3f6961436e65",
	},
	[TREE_KIND_INLINED] = {
		.key = "inlined",
		.label = "Java inlined",
		.light = "78d0d27ed6d884dcde89e2e478cedb7ed4e184dae78ae0ed"
			 "7bcde281d3e887d8ee8ddef481cae986d0ef8cd6f592dcfb",
		.dark = "004e5101535503585a0d5c5f014e5603525b0557600e5b65"
			 "024d5b0551610d5665145a6a094b6010506516546a1c596e",
	},
	[TREE_KIND_UNKNOWN] = {
		.key = "unknown",
		.label = "unknown",
		.light = "c3b6c9c8bccfcec2d5d4c7dbc4b6c8cabccecfc1d4d5c7da"
			 "c5b5c7cbbbcdd1c1d3d6c7d9c6b5c6ccbbccd2c1d2d8c6d7",
		.dark = "403944443d4848414c4d4651413943453d4749414c4d4650"
			 "413942453d474a414b4e454f423942463d464a414a4f454f",
	},
	[TREE_KIND_PROCESS] = {
		.key = "process",
		.label = "process",
		.light = "b5cbe6bad0ecc0d6f2c6dcf8b7cae6bdcfecc3d5f2c8dbf8"
			 "bac9e6c0ceecc5d4f2cbdaf8bdc8e7c2cdecc8d3f2ced9f9",
		.dark = "26384e2a3c522e415733455b29374e2d3c5331405735445c"
			 "2b374e2f3b53333f5737435c2e364e323a53363e573a425c",
	},
	[TREE_KIND_HIDDEN] = {
		.key = "hidden",
		.label = "too small, folded",
		.light = "bfc2c7c5c8cdcaced3d0d3d9bfc2c7c5c8cdcaced3d0d3d9"
			 "bfc2c7c5c8cdcaced3d0d3d9bfc2c7c5c8cdcaced3d0d3d9",
		.dark = "2f323633363a383a3e3c3e422f323633363a383a3e3c3e42"
			 "2f323633363a383a3e3c3e422f323633363a383a3e3c3e42",
	},
	[TREE_KIND_WAIT] = {
		.key = "wait",
		.label = "waiting for a CPU or disk",
		.light = "beb6ebc6bdf3cec6fcd6ceffc3b4e8cbbcf1d3c4f9dbccff"
			 "c8b2e6d0baeed8c2f6e0caffcdb1e2d5b9ebddc1f3e5c9fb",
		.dark = "39305b403763473e6b4e45733d2e594435614b3d69524471"
			"402d5748345f4f3b6756426f442c554b335c523a645a416c",
	},
};

const struct color_kind *color_kind(enum tree_kind kind)
{
	return &color_kinds[kind < TREE_KIND_CNT ? kind : TREE_KIND_UNKNOWN];
}

/* FNV-1a: the shade must be the same in every version and on every machine. */
static uint32_t color_hash(const char *text, size_t len)
{
	uint32_t hash = 2166136261u;

	for (size_t i = 0; i < len; i++) {
		hash ^= (unsigned char)text[i];
		hash *= 16777619u;
	}
	/* The low bits of FNV are weak for short names. */
	return hash ^ (hash >> 15);
}

/* Bytes of `name` that say the class or scope: up to the last '.' or ':' before any '(' or '<'. */
static size_t color_scope_len(const char *name, size_t len)
{
	size_t scope_len = 0;

	for (size_t i = 0; i < len && name[i] != '(' && name[i] != '<'; i++) {
		if (name[i] == '.' || name[i] == ':')
			scope_len = i;
	}
	return scope_len ? scope_len : len;
}

unsigned color_shade(const char *name, size_t len)
{
	uint32_t scope = color_hash(name, color_scope_len(name, len));

	return (scope & 3) << 2 | (color_hash(name, len) & 3);
}

const char *color_hex(enum tree_kind kind, unsigned shade)
{
	return color_kind(kind)->light + (size_t)(shade % COLOR_SHADES) * COLOR_HEX_BYTES;
}
