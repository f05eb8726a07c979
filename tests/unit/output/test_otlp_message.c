// SPDX-License-Identifier: Apache-2.0
/* The bytes of a message, field by field, and resources of several profiles. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "user/output/otlp_message.h"
#include "user/output/protobuf.h"
#include "user/util/cleanup.h"
#include "user/util/version.h"

static const uint8_t id[OTLP_PROFILE_ID_BYTES] = "0123456789abcde";

#define LITERAL(text) (text), sizeof(text) - 1

static void put(struct strbuf *out, const char *bytes, size_t len)
{
	strbuf_append(out, bytes, len);
}

/* A resource with one profile of one sample: "sh;f" on CPU at 100 Hz, three times. */
static void expect_resource(struct strbuf *out)
{
	__cleanup_strbuf struct strbuf scope = STRBUF_INIT, profiles = STRBUF_INIT,
				       resource = STRBUF_INIT;
	struct protobuf message = { .out = &scope };

	protobuf_bytes(&message, 1, "jbpf", 4);
	protobuf_bytes(&message, 2, jbpf_version, strlen(jbpf_version));
	message.out = &profiles;
	protobuf_buf(&message, 1, &scope);
	put(&profiles,
	    LITERAL("\x12\x3f"
		    "\x0a\x04\x08\x02\x10\x03" /* sample_type: cpu, nanoseconds */
		    "\x12\x0b\x08\x01\x12\x01\x01\x22\x04\x80\x87\xa7\x0e" /* sample: stack, attribute, value */
		    "\x19\x00\xca\x9a\x3b\x00\x00\x00\x00"		   /* time_unix_nano: 1 s */
		    "\x20\x80\x94\xeb\xdc\x03"				   /* duration_nano: 1 s */
		    "\x2a\x04\x08\x02\x10\x03"				   /* period_type */
		    "\x30\x80\xad\xe2\x04"				   /* period */
		    "\x3a\x10"
		    "0123456789abcde\0"));
	message.out = &resource;
	put(&resource, LITERAL("\x0a\x15\x0a\x13\x0a\x09host.name\x12\x06\x0a\x04node"));
	protobuf_buf(&message, 2, &profiles);
	message.out = out;
	protobuf_buf(&message, 1, &resource);
}

static void write_one(struct otlp_message *message)
{
	const struct otlp_profile profile = { .event = EVENT_CPU,
					      .period = 10000000,
					      .since_unix_ns = 1000000000,
					      .until_unix_ns = 2000000000,
					      .id = id };
	__cleanup_strbuf struct strbuf resource = STRBUF_INIT;
	uint64_t attribute = otlp_message__attribute(message, "pid", LITERAL("7"), true);

	otlp_resource_attribute(&resource, "host.name", LITERAL("node"));
	otlp_message__sample(message, LITERAL("sh;f"), &attribute, 1, 30000000);
	otlp_message__end_profile(message, &profile, &resource);
	otlp_message__end_resource(message, &resource);
}

static void every_byte_is_where_the_protocol_has_it(void **state)
{
	__cleanup_strbuf struct strbuf expected = STRBUF_INIT, out = STRBUF_INIT;
	struct otlp_message *message;

	(void)state;
	assert_int_equal(otlp_message__open(NULL, &out, &message), 0);
	write_one(message);
	assert_int_equal(otlp_message__stack_count(message), 1);
	assert_int_equal(otlp_message__finish(message), 0);
	otlp_message__free(message);
	expect_resource(&expected);
	assert_true(out.len > expected.len);
	assert_memory_equal(out.data, expected.data, expected.len);
	/* The rest is the dictionary, which begins with the empty mapping and the empty location. */
	assert_int_equal(out.data[expected.len], 0x12);
	assert_non_null(memmem(out.data + expected.len, out.len - expected.len,
			       LITERAL("\x0a\x00\x12\x00\x12")));
	assert_non_null(memmem(out.data + expected.len, out.len - expected.len,
			       LITERAL("\x2a\x00\x2a\x03pid\x2a\x03"
				       "cpu\x2a\x0bnanoseconds")));
	/* Attribute 1: its key is string 1, its value the number 7. Stack 1: location 2 (f), then 1 (sh). */
	assert_non_null(memmem(out.data + expected.len, out.len - expected.len,
			       LITERAL("\x32\x00\x32\x06\x08\x01\x12\x02\x18\x07")));
	assert_memory_equal(out.data + out.len - 8, "\x3a\x00\x3a\x04\x0a\x02\x02\x01", 8);
}

static void what_has_no_samples_is_not_there(void **state)
{
	const struct otlp_profile profile = { .event = EVENT_CPU };
	__cleanup_strbuf struct strbuf out = STRBUF_INIT, resource = STRBUF_INIT;
	struct otlp_message *message;

	(void)state;
	assert_int_equal(otlp_message__open(NULL, &out, &message), 0);
	otlp_message__end_profile(message, &profile, &resource);
	otlp_message__end_resource(message, &resource);
	assert_int_equal(otlp_message__stack_count(message), 0);
	assert_int_equal(otlp_message__finish(message), 0);
	otlp_message__free(message);
	assert_int_equal(out.data[0], 0x12);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_byte_is_where_the_protocol_has_it),
		cmocka_unit_test(what_has_no_samples_is_not_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
