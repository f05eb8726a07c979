// SPDX-License-Identifier: Apache-2.0
/* The writers that draw: SVG and the page, and the colours they share. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/output_profiles.h"
#include "user/output/colors.h"
#include "user/output/escape.h"
#include "user/util/utf8.h"

typedef int (*picture_writer)(struct profile *profile, const struct output_info *info,
			      struct strbuf *out);

static void draw(picture_writer writer, struct profile *profile, struct strbuf *out)
{
	assert_int_equal(writer(profile, &output_profiles_info, out), 0);
	profile__free(profile);
}

static size_t count_of(const struct strbuf *text, const char *needle)
{
	size_t cnt = 0;

	for (const char *at = text->data; (at = strstr(at, needle)); at += strlen(needle))
		cnt++;
	return cnt;
}

/* ---- colours ---- */

static double linear(double part)
{
	/* (part + 0.055) / 1.055 to the power of 2.4, by 2.4 = 12 / 5 and Newton's fifth root. */
	double base = (part + 0.055) / 1.055;
	double root = 1.0;

	if (part <= 0.04045)
		return part / 12.92;
	for (int i = 0; i < 60; i++)
		root -= (root * root * root * root * root - base) / (5 * root * root * root * root);
	return base * base * root * root;
}

static double luminance(const char *hex)
{
	static const double weights[] = { 0.2126, 0.7152, 0.0722 };
	double sum = 0;

	for (int i = 0; i < 3; i++) {
		char digits[] = { hex[2 * i], hex[2 * i + 1], '\0' };

		sum += weights[i] * linear((double)strtoul(digits, NULL, 16) / 255);
	}
	return sum;
}

static double contrast(const char *a, const char *b)
{
	double light = luminance(a) + 0.05;
	double dark = luminance(b) + 0.05;

	return light > dark ? light / dark : dark / light;
}

static void text_is_readable_on_every_colour(void **state)
{
	(void)state;
	assert_true(contrast("000000", "ffffff") > 20.99 && contrast("000000", "ffffff") < 21.01);
	for (int kind = 0; kind < TREE_KIND_CNT; kind++) {
		const struct color_kind *color = color_kind((enum tree_kind)kind);

		assert_int_equal(strlen(color->light), COLOR_SHADES * COLOR_HEX_BYTES);
		assert_int_equal(strlen(color->dark), COLOR_SHADES * COLOR_HEX_BYTES);
		for (size_t i = 0; i < COLOR_SHADES * COLOR_HEX_BYTES; i += COLOR_HEX_BYTES) {
			assert_true(contrast(color->light + i, COLOR_TEXT_LIGHT) >= 4.5);
			assert_true(contrast(color->dark + i, COLOR_TEXT_DARK) >= 4.5);
		}
	}
}

static void a_name_keeps_its_shade_and_a_class_its_hue(void **state)
{
	static const char name[] = "com.example.Cart.add";
	unsigned shade = color_shade(name, strlen(name));

	(void)state;
	/* Computed apart from this code: a new version must not recolour the world. */
	assert_int_equal(shade, 0);
	assert_int_equal(color_shade("Thread::call_run()", strlen("Thread::call_run()")), 11);
	for (const char *const *other =
		     (const char *const[]){ "com.example.Cart.remove", "com.example.Cart.add(int)",
					    "com.example.Cart.x", NULL };
	     *other; other++)
		assert_int_equal(color_shade(*other, strlen(*other)) >> 2, shade >> 2);
	assert_true(color_shade("", 0) < COLOR_SHADES);
}

/* ---- SVG ---- */

static void svg_names_what_it_shows(void **state)
{
	struct strbuf out __cleanup_strbuf = STRBUF_INIT;

	(void)state;
	draw(output_svg, profile_of("java;a.b.Cart.add_[j] 30\njava;write_[k] 70\n"), &out);
	assert_non_null(strstr(out.data, ">java in &lt;shop&gt; &amp; &quot;co&quot;</text>"));
	assert_non_null(strstr(out.data, "100 samples, 1.00 CPU seconds at 100 Hz"));
	assert_non_null(strstr(out.data, "<title>a.b.Cart.add\nJava compiled\n30 samples, "
					 "30.00 %</title>"));
	assert_non_null(strstr(out.data, ">kernel</text>"));
	assert_null(strstr(out.data, ">Java interpreted</text>"));
	assert_null(strstr(out.data, "not drawn"));
	assert_null(strstr(out.data, "<script"));
	/* The root, the process and two frames, each with a tooltip. */
	assert_int_equal(count_of(&out, "<g><title>"), 4);
	assert_int_equal(count_of(&out, "</g>"), 4);
}

static void svg_draws_a_method_once_and_tells_its_tiers(void **state)
{
	struct strbuf out __cleanup_strbuf = STRBUF_INIT;

	(void)state;
	draw(output_svg,
	     profile_of("java;a.B.c_[0];x_[k] 10\njava;a.B.c_[1];x_[k] 60\njava;a.B.c_[j];d_[i] 7\n"
			"java;a.B.c_[j];x_[k] 20\njava;a.B.c 3\n"),
	     &out);
	assert_non_null(strstr(out.data, "<title>a.B.c\nJava compiled (C1)  [c1 62 %, jit 28 %, "
					 "interpreted 10 %]\n97 samples, 97.00 %</title>"));
	assert_non_null(strstr(out.data, "<title>x\nkernel\n90 samples, 90.00 %</title>"));
	assert_non_null(strstr(out.data, "<title>a.B.c\nnative\n3 samples, 3.00 %</title>"));
	/* The root, the process, two of that name, the inlined one, and the kernel's. */
	assert_int_equal(count_of(&out, "<g><title>"), 6);
}

static void svg_of_nothing_is_a_picture(void **state)
{
	struct strbuf out __cleanup_strbuf = STRBUF_INIT;

	(void)state;
	draw(output_svg, profile__new(), &out);
	assert_non_null(strstr(out.data, "0 samples"));
	assert_non_null(strstr(out.data, "</svg>\n"));
	assert_null(strstr(out.data, "nan"));
	assert_null(strstr(out.data, "inf"));
}

static void svg_leaves_out_what_nobody_sees(void **state)
{
	struct strbuf out __cleanup_strbuf = STRBUF_INIT;

	(void)state;
	draw(output_svg, profile_of("java;big 100000\njava;tiny 1\njava;tiny;x 1\n"), &out);
	assert_non_null(strstr(out.data, ">2 frames narrower than 0.5 px are not drawn<"));
	assert_null(strstr(out.data, "tiny"));
	strbuf_clear(&out);
	draw(output_svg, profile_wide(100000), &out);
	assert_true(out.len < 4 * 1024 * 1024);
}

static void svg_draws_deep_stacks(void **state)
{
	struct strbuf out __cleanup_strbuf = STRBUF_INIT;

	(void)state;
	draw(output_svg, profile_deep(1024), &out);
	assert_int_equal(count_of(&out, "<g><title>"), 1026);
	assert_non_null(strstr(out.data, "<title>f1023\n"));
}

/* Clean UTF-8 without control bytes, and no markup but ours. */
static void svg_makes_hostile_names_inert(void **state)
{
	struct strbuf out __cleanup_strbuf = STRBUF_INIT;

	(void)state;
	draw(output_svg, profile_hostile(), &out);
	assert_null(strstr(out.data, "<script"));
	assert_null(strstr(out.data, "<img"));
	assert_null(strstr(out.data, "-->"));
	assert_null(strstr(out.data, "]]>"));
	for (size_t at = 0; at < out.len;) {
		uint32_t code;

		at += utf8_next(out.data + at, out.len - at, &code);
		assert_true(code != UTF8_BAD_BYTE && (code >= 0x20 || code == '\n'));
	}
}

static void pictures_are_the_same_every_time(void **state)
{
	static const picture_writer writers[] = { output_svg, output_html };

	(void)state;
	for (size_t i = 0; i < sizeof(writers) / sizeof(writers[0]); i++) {
		struct strbuf a __cleanup_strbuf = STRBUF_INIT;
		struct strbuf b __cleanup_strbuf = STRBUF_INIT;

		draw(writers[i], profile_of("a;b 1\na;c_[j] 2\nd;e 3\n"), &a);
		draw(writers[i], profile_of("d;e 3\na;c_[j] 1\na;b 1\na;c_[j] 1\n"), &b);
		assert_string_equal(a.data, b.data);
	}
}

/* ---- the page ---- */

static void page_holds_the_tree_and_a_policy(void **state)
{
	struct strbuf out __cleanup_strbuf = STRBUF_INIT;

	(void)state;
	/* Preorder: p, p;a, p;a;b, p;c. Frames by use, then by number: a, b, c, p; all is last. */
	draw(output_html, profile_of("p;a;b 2\np;a 33\np;c 1\n"), &out);
	assert_non_null(
		strstr(out.data, "<title>java in &lt;shop&gt; &amp; &quot;co&quot;</title>"));
	assert_non_null(strstr(out.data, "default-src 'none'"));
	assert_non_null(strstr(out.data, "\"names\":[\n\"p\",\n\"a\",\n\"b\",\n\"c\",\n\"all\"]"));
	assert_non_null(strstr(out.data, "\"frameKinds\":\"HAAAH\""));
	/* p: 0,0,0; a: 1,0,33 = 1 + 32 -> "hB"; b: 2,0,2; c: 3,2,1 */
	assert_non_null(strstr(out.data, "\"tree\":\"AAABAhBCACDCB\""));
	assert_non_null(strstr(out.data, "\"unknownPercent\":2.000"));
	/* Every slot is filled. */
	assert_null(strstr(out.data, "{{"));
	/* Without scripts: the table. */
	assert_non_null(strstr(out.data, " SELF%   SELF  TOTAL%  TOTAL  METHOD\n"));
}

static void page_of_nothing_is_a_page(void **state)
{
	struct strbuf out __cleanup_strbuf = STRBUF_INIT;

	(void)state;
	draw(output_html, profile__new(), &out);
	assert_non_null(strstr(out.data, "\"samples\":0,"));
	assert_non_null(strstr(out.data, "\"tree\":\"\""));
}

/* The names end neither the script nor the noscript element, nor are they taken for slots. */
static void page_makes_hostile_names_inert(void **state)
{
	struct strbuf plain __cleanup_strbuf = STRBUF_INIT;
	struct strbuf out __cleanup_strbuf = STRBUF_INIT;

	(void)state;
	draw(output_html, profile_of("a;b 1\n"), &plain);
	draw(output_html, profile_hostile(), &out);
	assert_int_equal(count_of(&out, "<script"), count_of(&plain, "<script"));
	assert_int_equal(count_of(&out, "</script"), count_of(&plain, "</script"));
	assert_int_equal(count_of(&out, "<img"), 0);
	assert_int_equal(count_of(&out, "\"names\":"), 1);
	assert_non_null(strstr(out.data, "\"{{data}}\""));
	assert_null(strstr(out.data, "\x1b"));
}

static void page_prunes_beyond_its_budget(void **state)
{
	struct strbuf out __cleanup_strbuf = STRBUF_INIT;

	(void)state;
	draw(output_html, profile_wide(100000), &out);
	assert_null(strstr(out.data, "\"hidden\",\n"));
	strbuf_clear(&out);
	draw(output_html, profile_wide(250000), &out);
	assert_non_null(strstr(out.data, "\"hidden\",\n"));
	assert_true(out.len < 12 * 1024 * 1024);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_is_readable_on_every_colour),
		cmocka_unit_test(a_name_keeps_its_shade_and_a_class_its_hue),
		cmocka_unit_test(svg_names_what_it_shows),
		cmocka_unit_test(svg_draws_a_method_once_and_tells_its_tiers),
		cmocka_unit_test(svg_of_nothing_is_a_picture),
		cmocka_unit_test(svg_leaves_out_what_nobody_sees),
		cmocka_unit_test(svg_draws_deep_stacks),
		cmocka_unit_test(svg_makes_hostile_names_inert),
		cmocka_unit_test(pictures_are_the_same_every_time),
		cmocka_unit_test(page_holds_the_tree_and_a_policy),
		cmocka_unit_test(page_of_nothing_is_a_page),
		cmocka_unit_test(page_makes_hostile_names_inert),
		cmocka_unit_test(page_prunes_beyond_its_budget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
