// SPDX-License-Identifier: Apache-2.0
/* Requests to Pyroscope, byte by byte: names that it takes whatever a process calls itself, and the form. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "user/remote/pyroscope_request.h"
#include "user/util/cleanup.h"

#define TIMES "&from=1700000040&until=1700000100&spyName=jbpf"

static void expect_query(const struct window *window, const char *wanted)
{
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;

	pyroscope_query(&out, window, 1700000040);
	assert_int_equal(strbuf_error(&out), 0);
	assert_string_equal(strbuf_str(&out), wanted);
}

static void a_query_has_service_labels_and_times(void **state)
{
	struct window window = { 0 };

	(void)state;
	window.labels[WINDOW_LABEL_COMM] = "java";
	expect_query(&window, "/ingest?name=java%7Bcomm%3Djava%7D" TIMES);
	window.labels[WINDOW_LABEL_SERVICE] = "shop/web-1.a_b";
	window.labels[WINDOW_LABEL_HOST] = "h1";
	window.labels[WINDOW_LABEL_NAMESPACE] = "ns";
	window.labels[WINDOW_LABEL_POD] = "p";
	window.labels[WINDOW_LABEL_CONTAINER] = "c";
	window.labels[WINDOW_LABEL_IMAGE] = "not told";
	expect_query(&window,
		     "/ingest?name=shop%2Fweb-1.a_b%7Bhost%3Dh1%2Cnamespace%3Dns%2Cpod%3Dp%2C"
		     "container%3Dc%2Ccomm%3Djava%7D" TIMES);
}

static void what_a_name_may_not_have_is_replaced(void **state)
{
	static const struct {
		const char *service, *host, *name;
	} rows[] = {
		{ "a{b}=c,d e", "x", "a_b__c_d_e%7Bhost%3Dx%7D" },
		{ "cr\xc3\xb6n\xff&from=1", "x", "cr_n__from_1%7Bhost%3Dx%7D" },
		{ "s", "a,b}c{d=e", "s%7Bhost%3Da_b_c%7Bd%3De%7D" },
		{ "s", "&#%+ \n\x7f", "s%7Bhost%3D%26%23%25%2B%20__%7D" },
		{ "s", "\xc3\xb6\xc3\xff", "s%7Bhost%3D%C3%B6__%7D" },
		{ "", "", "unknown" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		__cleanup_strbuf struct strbuf wanted = STRBUF_INIT;
		struct window window = { 0 };

		window.labels[WINDOW_LABEL_SERVICE] = rows[i].service;
		window.labels[WINDOW_LABEL_HOST] = rows[i].host;
		strbuf_printf(&wanted, "/ingest?name=%s" TIMES, rows[i].name);
		expect_query(&window, strbuf_str(&wanted));
	}
}

static void a_long_value_is_cut_between_characters(void **state)
{
	char service[PYROSCOPE_VALUE_MAX_BYTES + 10], host[PYROSCOPE_VALUE_MAX_BYTES + 2] = "a";
	__cleanup_strbuf struct strbuf wanted = STRBUF_INIT;
	struct window window = { 0 };

	(void)state;
	memset(service, 's', sizeof(service));
	service[sizeof(service) - 1] = '\0';
	for (size_t i = 1; i + 2 < sizeof(host); i += 2)
		memcpy(host + i, "\xc3\xb6", 3);
	window.labels[WINDOW_LABEL_SERVICE] = service;
	window.labels[WINDOW_LABEL_HOST] = host;
	strbuf_printf(&wanted, "/ingest?name=%.*s%%7Bhost%%3Da", PYROSCOPE_VALUE_MAX_BYTES,
		      service);
	for (int i = 0; i < (PYROSCOPE_VALUE_MAX_BYTES - 1) / 2; i++)
		strbuf_puts(&wanted, "%C3%B6");
	strbuf_puts(&wanted, "%7D" TIMES);
	expect_query(&window, strbuf_str(&wanted));
}

static void a_form_has_the_profile_and_how_it_is_shown(void **state)
{
#define BOUNDARY "jbpf39797789ed4c7ea0d5a06cd078125351"
	static const char wanted[] =
		"--" BOUNDARY "\r\n"
		"Content-Disposition: form-data; name=\"profile\"; filename=\"profile.pprof\"\r\n"
		"Content-Type: application/octet-stream\r\n"
		"\r\n"
		"a\0b\r\n"
		"--" BOUNDARY "\r\n"
		"Content-Disposition: form-data; name=\"sample_type_config\"; filename=\"sample_type_config.json\"\r\n"
		"Content-Type: application/json\r\n"
		"\r\n"
		"{\"samples\":{\"units\":\"samples\",\"display-name\":\"waiting_samples\",\"aggregation\":\"sum\","
		"\"sampled\":false},\"off_cpu\":{\"units\":\"samples\",\"display-name\":\"waiting\","
		"\"aggregation\":\"sum\",\"sampled\":false}}\r\n"
		"--" BOUNDARY "--\r\n";
	__cleanup_strbuf struct strbuf body = STRBUF_INIT, type = STRBUF_INIT;

	(void)state;
	pyroscope_form("a\0b", 3, EVENT_OFF_CPU, &body, &type);
	assert_string_equal(strbuf_str(&type),
			    "Content-Type: multipart/form-data; boundary=" BOUNDARY);
	assert_int_equal(body.len, sizeof(wanted) - 1);
	assert_memory_equal(body.data, wanted, sizeof(wanted) - 1);
}

static void each_event_has_a_sample_type_that_pyroscope_takes(void **state)
{
	(void)state;
	for (int event = 0; event < EVENT_CNT; event++) {
		const char *type = pyroscope_sample_type((enum event)event);

		assert_non_null(type);
		assert_null(strchr(type, '-'));
		assert_int_equal(strlen(type), strlen(event_name((enum event)event)));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_query_has_service_labels_and_times),
		cmocka_unit_test(what_a_name_may_not_have_is_replaced),
		cmocka_unit_test(a_long_value_is_cut_between_characters),
		cmocka_unit_test(a_form_has_the_profile_and_how_it_is_shown),
		cmocka_unit_test(each_event_has_a_sample_type_that_pyroscope_takes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
