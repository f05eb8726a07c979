/* SPDX-License-Identifier: Apache-2.0 */
/* Windows for the tests of jbpf top: of a host with two CPUs, ten seconds long, 100 samples a second and CPU. */
#ifndef JBPF_TEST_TOP_WINDOWS_H
#define JBPF_TEST_TOP_WINDOWS_H

#include <string.h>

#include "user/top/top_model.h"

#define S	  1000000000ull
#define TOP_START (1700000000 * S)

static const struct selection everything = { 0 };

/* `at_s` seconds after TOP_START. */
static struct window top_window(uint32_t pid, const char *container, uint64_t at_s,
				uint64_t samples)
{
	struct window window = {
		.start_unix_ns = TOP_START + at_s * S,
		.duration_ns = 10 * S,
		.pid = pid,
		.process_start_ns = pid,
		.frequency_hz = 100,
		.cpu_cnt = 2,
		.counts = { .samples = samples, .frames = 4 * samples },
	};

	window.labels[WINDOW_LABEL_COMM] = container ? "java" : "sh";
	window.labels[WINDOW_LABEL_CONTAINER] = container;
	window.labels[WINDOW_LABEL_EXE] = "/bin/x";
	return window;
}

static inline void top_add(struct top_model *model, const struct window *window, const char *text)
{
	assert_int_equal(top_model__add(model, window, text, strlen(text)), 0);
}

/* The host record that ends a window. */
static inline void top_end(struct top_model *model, uint64_t at_s, uint64_t samples)
{
	struct window host = top_window(0, NULL, at_s, samples);

	memset(host.labels, 0, sizeof(host.labels));
	top_add(model, &host, "");
}

/* A JVM's window. */
static inline void top_add_java(struct top_model *model, const char *container, uint64_t at_s,
				uint64_t samples, const char *text)
{
	struct window window = top_window(7, container, at_s, samples);

	window.is_jvm = 1;
	window.preserve_frame_pointer = WINDOW_FLAG_ON;
	window.labels[WINDOW_LABEL_JVM_VERSION] = "17.0.15+6";
	top_add(model, &window, text);
}

/* So many samples of a container's JVM in one second of the window that runs, from `at_s` on, and of the host. */
static inline void top_add_running(struct top_model *model, const char *container, uint64_t at_s,
				   uint64_t samples, uint64_t host_samples)
{
	struct window window = top_window(7, container, at_s, samples);
	struct window host = top_window(0, NULL, at_s, host_samples);

	window.duration_ns = host.duration_ns = S;
	memset(host.labels, 0, sizeof(host.labels));
	assert_int_equal(top_model__add_running(model, &window), 0);
	assert_int_equal(top_model__add_running(model, &host), 0);
}

/* Container shop with one core, and a shell with a quarter of one. */
static inline struct top_model *top_two_rows(void)
{
	struct top_model *model = top_model__new(&everything, TOP_SPAN_LIVE);
	struct window shell = top_window(9, NULL, 0, 250);

	assert_non_null(model);
	top_add_java(model, "shop", 0, 1000,
		     "java;Main.main_[j];Tax.of_[1] 400\n"
		     "java;Main.main_[j];Tax.of_[0] 300\n"
		     "java;Main.main_[j];Cart.add_[i];memcpy 200\n"
		     "java;Main.main_[j];do_idle_[k] 100\n");
	top_add(model, &shell, "sh;main;read_loop 250\n");
	top_end(model, 0, 1250);
	return model;
}

#endif
