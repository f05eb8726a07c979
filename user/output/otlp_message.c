// SPDX-License-Identifier: Apache-2.0
/*
 * See otlp_message.h. A frame's location is its number in the frame table plus one, so is a function.
 */
#include "user/output/otlp_message.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "user/output/escape.h"
#include "user/output/frame_table.h"
#include "user/output/protobuf.h"
#include "user/util/cleanup.h"
#include "user/util/parse.h"
#include "user/util/strtab.h"
#include "user/util/vec.h"
#include "user/util/version.h"

/* Field numbers of opentelemetry/proto/profiles/v1development/profiles.proto, and of common and resource. */
enum data_field { DATA_RESOURCE_PROFILES = 1, DATA_DICTIONARY = 2 };
enum dictionary_field {
	DICTIONARY_MAPPING = 1,
	DICTIONARY_LOCATION = 2,
	DICTIONARY_FUNCTION = 3,
	DICTIONARY_LINK = 4,
	DICTIONARY_STRING = 5,
	DICTIONARY_ATTRIBUTE = 6,
	DICTIONARY_STACK = 7,
};
enum resource_profiles_field { RESOURCE_PROFILES_RESOURCE = 1, RESOURCE_PROFILES_SCOPE = 2 };
enum resource_field { RESOURCE_ATTRIBUTES = 1 };
enum scope_profiles_field { SCOPE_PROFILES_SCOPE = 1, SCOPE_PROFILES_PROFILES = 2 };
enum scope_field { SCOPE_NAME = 1, SCOPE_VERSION = 2 };
enum profile_field {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLES = 2,
	PROFILE_TIME_UNIX_NANO = 3,
	PROFILE_DURATION_NANO = 4,
	PROFILE_PERIOD_TYPE = 5,
	PROFILE_PERIOD = 6,
	PROFILE_ID = 7,
};
enum value_type_field { VALUE_TYPE_TYPE = 1, VALUE_TYPE_UNIT = 2 };
enum sample_field { SAMPLE_STACK = 1, SAMPLE_ATTRIBUTES = 2, SAMPLE_VALUES = 4 };
enum stack_field { STACK_LOCATIONS = 1 };
enum location_field { LOCATION_LINES = 3, LOCATION_ATTRIBUTES = 4 };
enum line_field { LINE_FUNCTION = 1 };
enum function_field { FUNCTION_NAME = 1, FUNCTION_SYSTEM_NAME = 2, FUNCTION_FILENAME = 3 };
enum attribute_field { ATTRIBUTE_KEY = 1, ATTRIBUTE_VALUE = 2 }; /* KeyValue's, too */
enum any_value_field { ANY_VALUE_STRING = 1, ANY_VALUE_INT = 3 };

struct otlp_message {
	struct protobuf data;
	struct frame_table *frames;
	struct strtab *strings; /* id = index in the string table */
	/* Encoded, id = index in the attribute table and the stack table; 0 is the empty one. */
	struct strtab *attributes;
	struct strtab *stacks;
	struct strbuf samples;	/* of the next profile, encoded, with their tags */
	struct strbuf profiles; /* of the next resource, the same */
	uint64_t *locations;	/* scratch: of one stack, leaf first */
	size_t location_cap;
	struct strbuf outer, middle, inner, value; /* scratch: messages within messages */
};

static void fail(struct otlp_message *message, int err)
{
	strbuf_fail(message->data.out, err);
}

static uint64_t intern(struct otlp_message *message, struct strtab *table, const void *bytes,
		       size_t len)
{
	uint32_t id = 0;

	fail(message, strtab__intern(table, bytes, len, &id));
	return id;
}

static uint64_t literal_id(struct otlp_message *message, const char *text)
{
	return intern(message, message->strings, text, strlen(text));
}

static struct protobuf begin(struct strbuf *scratch)
{
	strbuf_clear(scratch);
	return (struct protobuf){ .out = scratch };
}

/* ---- attributes ---- */

static const struct label_row {
	const char *label;
	const char *key;
	bool is_of_resource;
} label_rows[] = {
	{ "container", "container.name", true },
	{ "container_id", "container.id", true },
	{ "pod", "k8s.pod.name", true },
	{ "pod_uid", "k8s.pod.uid", true },
	{ "namespace", "k8s.namespace.name", true },
	{ "service", "service.name", true },
	{ "image", "container.image.name", true },
	{ "host", "host.name", true },
	{ "comm", "process.executable.name", false },
	{ "pid", "process.pid", false },
	{ "thread", "thread.name", false },
};

const char *otlp_label_key(const char *label, bool *of_resource)
{
	for (size_t i = 0; i < ARRAY_SIZE(label_rows); i++) {
		if (strcmp(label_rows[i].label, label) == 0) {
			*of_resource = label_rows[i].is_of_resource;
			return label_rows[i].key;
		}
	}
	return NULL;
}

/* An AnyValue. */
static void put_value(struct strbuf *out, const char *text, size_t len, bool is_number)
{
	__cleanup_strbuf struct strbuf plain = STRBUF_INIT;
	struct protobuf value = begin(out);
	uint64_t number;

	if (is_number && parse_u64_n(text, len, 10, &number) == 0) {
		protobuf_u64(&value, ANY_VALUE_INT, protobuf_clamp_i64(number));
		return;
	}
	escape_terminal(&plain, text, len);
	protobuf_buf(&value, ANY_VALUE_STRING, &plain);
}

uint64_t otlp_message__attribute(struct otlp_message *message, const char *key, const char *text,
				 size_t len, bool is_number)
{
	struct protobuf attribute = begin(&message->inner);

	put_value(&message->value, text, len, is_number);
	protobuf_u64(&attribute, ATTRIBUTE_KEY, literal_id(message, key));
	protobuf_buf(&attribute, ATTRIBUTE_VALUE, &message->value);
	fail(message, strbuf_error(&message->inner));
	return intern(message, message->attributes, strbuf_str(&message->inner),
		      message->inner.len);
}

void otlp_resource_attribute(struct strbuf *resource, const char *key, const char *text, size_t len)
{
	__cleanup_strbuf struct strbuf row = STRBUF_INIT, value = STRBUF_INIT;
	struct protobuf out = { .out = resource }, attribute = { .out = &row };

	put_value(&value, text, len, false);
	protobuf_bytes(&attribute, ATTRIBUTE_KEY, key, strlen(key));
	protobuf_buf(&attribute, ATTRIBUTE_VALUE, &value);
	protobuf_buf(&out, RESOURCE_ATTRIBUTES, &row);
}

/* ---- samples ---- */

/* Index in the stack table: leaf first. */
static uint64_t stack_id(struct otlp_message *message, const char *text, size_t len)
{
	struct protobuf stack = begin(&message->inner);
	const uint32_t *frames;
	size_t cnt;
	int err = frame_table__add_stack(message->frames, text, len, 1, &frames, &cnt);

	if (!err)
		err = vec_reserve(message->locations, cnt, message->location_cap, 64);
	if (err) {
		fail(message, err);
		return 0;
	}
	for (size_t i = 0; i < cnt; i++)
		message->locations[i] = (uint64_t)frames[cnt - 1 - i] + 1;
	protobuf_packed(&stack, STACK_LOCATIONS, message->locations, cnt);
	fail(message, strbuf_error(&message->inner));
	return intern(message, message->stacks, strbuf_str(&message->inner), message->inner.len);
}

void otlp_message__sample(struct otlp_message *message, const char *text, size_t len,
			  const uint64_t *ids, size_t id_cnt, uint64_t value)
{
	struct protobuf samples = { .out = &message->samples };
	struct protobuf sample = begin(&message->middle);

	value = protobuf_clamp_i64(value);
	protobuf_u64(&sample, SAMPLE_STACK, stack_id(message, text, len));
	protobuf_packed(&sample, SAMPLE_ATTRIBUTES, ids, id_cnt);
	protobuf_packed(&sample, SAMPLE_VALUES, &value, 1);
	protobuf_buf(&samples, PROFILE_SAMPLES, &message->middle);
	fail(message, strbuf_error(&message->samples));
}

static void put_value_type(struct otlp_message *message, struct protobuf *out,
			   enum profile_field field, const struct otlp_profile *profile)
{
	struct protobuf type = begin(&message->inner);

	protobuf_u64(&type, VALUE_TYPE_TYPE,
		     literal_id(message, profile->period ? event_name(profile->event) : "samples"));
	protobuf_u64(&type, VALUE_TYPE_UNIT,
		     literal_id(message,
				profile->period ? event_value_unit(profile->event) : "count"));
	protobuf_buf(out, field, &message->inner);
}

/* By it a receiver knows a profile that it got before: of equal ones it is the same. */
static void put_hash_id(struct protobuf *out, const struct strbuf *resource)
{
	uint64_t seed = XXH3_64bits(strbuf_str(resource), resource->len);
	XXH128_canonical_t id;

	XXH128_canonicalFromHash(&id,
				 XXH3_128bits_withSeed(strbuf_str(out->out), out->out->len, seed));
	protobuf_bytes(out, PROFILE_ID, id.digest, OTLP_PROFILE_ID_BYTES);
}

void otlp_message__end_profile(struct otlp_message *message, const struct otlp_profile *profile,
			       const struct strbuf *resource)
{
	struct protobuf profiles = { .out = &message->profiles };
	struct protobuf out = begin(&message->middle);

	if (!message->samples.len)
		return;
	put_value_type(message, &out, PROFILE_SAMPLE_TYPE, profile);
	strbuf_append(out.out, strbuf_str(&message->samples), message->samples.len);
	if (profile->until_unix_ns > profile->since_unix_ns) {
		protobuf_fixed64(&out, PROFILE_TIME_UNIX_NANO, profile->since_unix_ns);
		protobuf_u64(&out, PROFILE_DURATION_NANO,
			     profile->until_unix_ns - profile->since_unix_ns);
	}
	if (profile->period) {
		put_value_type(message, &out, PROFILE_PERIOD_TYPE, profile);
		protobuf_u64(&out, PROFILE_PERIOD, protobuf_clamp_i64(profile->period));
	}
	if (profile->id)
		protobuf_bytes(&out, PROFILE_ID, profile->id, OTLP_PROFILE_ID_BYTES);
	else
		put_hash_id(&out, resource);
	protobuf_buf(&profiles, SCOPE_PROFILES_PROFILES, &message->middle);
	fail(message, strbuf_error(&message->profiles));
	strbuf_clear(&message->samples);
}

void otlp_message__end_resource(struct otlp_message *message, const struct strbuf *resource)
{
	struct protobuf out = begin(&message->outer), scope;

	if (!message->profiles.len)
		return;
	fail(message, strbuf_error(resource));
	protobuf_buf(&out, RESOURCE_PROFILES_RESOURCE, resource);
	scope = begin(&message->inner);
	protobuf_bytes(&scope, SCOPE_NAME, "jbpf", strlen("jbpf"));
	protobuf_bytes(&scope, SCOPE_VERSION, jbpf_version, strlen(jbpf_version));
	scope = begin(&message->middle);
	protobuf_buf(&scope, SCOPE_PROFILES_SCOPE, &message->inner);
	strbuf_append(scope.out, strbuf_str(&message->profiles), message->profiles.len);
	protobuf_buf(&out, RESOURCE_PROFILES_SCOPE, &message->middle);
	protobuf_buf(&message->data, DATA_RESOURCE_PROFILES, &message->outer);
	strbuf_clear(&message->profiles);
}

uint32_t otlp_message__stack_count(const struct otlp_message *message)
{
	return strtab__count(message->stacks) - 1;
}

/* ---- the dictionary ---- */

static const char *const frame_types[FRAME_KIND_CNT] = {
	[FRAME_KIND_NATIVE] = "native",	  [FRAME_KIND_KERNEL] = "kernel",
	[FRAME_KIND_JIT] = "jvm",	  [FRAME_KIND_C1] = "jvm",
	[FRAME_KIND_INTERPRETED] = "jvm", [FRAME_KIND_INLINED] = "jvm",
};
static const char *const frame_tiers[FRAME_KIND_CNT] = {
	[FRAME_KIND_JIT] = "c2",
	[FRAME_KIND_C1] = "c1",
	[FRAME_KIND_INTERPRETED] = "interpreted",
	[FRAME_KIND_INLINED] = "inlined",
};

static void put_locations(struct otlp_message *message, struct protobuf *dictionary)
{
	uint32_t cnt = frame_table__count(message->frames);

	protobuf_bytes(dictionary, DICTIONARY_LOCATION, "", 0);
	for (uint32_t i = 0; i < cnt && !strbuf_error(message->data.out); i++) {
		struct frame_table_frame frame = frame_table__frame(message->frames, i);
		const char *type = frame_types[frame.kind], *tier = frame_tiers[frame.kind];
		uint64_t ids[2];
		size_t id_cnt = 0;
		struct protobuf location, line;

		if (!frame.is_front)
			ids[id_cnt++] = otlp_message__attribute(message, "profile.frame.type", type,
								strlen(type), false);
		if (!frame.is_front && tier)
			ids[id_cnt++] = otlp_message__attribute(message, "jbpf.frame.tier", tier,
								strlen(tier), false);
		location = begin(&message->middle);
		line = begin(&message->inner);
		protobuf_u64(&line, LINE_FUNCTION, (uint64_t)frame.function + 1);
		protobuf_buf(&location, LOCATION_LINES, &message->inner);
		protobuf_packed(&location, LOCATION_ATTRIBUTES, ids, id_cnt);
		protobuf_buf(dictionary, DICTIONARY_LOCATION, &message->middle);
	}
}

static void put_functions(struct otlp_message *message, struct protobuf *dictionary)
{
	uint32_t cnt = frame_table__function_count(message->frames);

	protobuf_bytes(dictionary, DICTIONARY_FUNCTION, "", 0);
	for (uint32_t i = 0; i < cnt && !strbuf_error(message->data.out); i++) {
		struct frame_table_function it = frame_table__function(message->frames, i);
		struct protobuf function = begin(&message->middle);
		uint64_t name = literal_id(message, it.name);

		protobuf_u64(&function, FUNCTION_NAME, name);
		protobuf_u64(&function, FUNCTION_SYSTEM_NAME, name);
		protobuf_u64(&function, FUNCTION_FILENAME, literal_id(message, it.file));
		protobuf_buf(dictionary, DICTIONARY_FUNCTION, &message->middle);
	}
}

static void put_table(struct protobuf *dictionary, enum dictionary_field field,
		      const struct strtab *table)
{
	uint32_t cnt = strtab__count(table);

	for (uint32_t i = 0; i < cnt && !strbuf_error(dictionary->out); i++) {
		size_t len;
		const char *bytes = strtab__get(table, i, &len);

		protobuf_bytes(dictionary, field, bytes, len);
	}
}

/* Locations and functions bring attributes and strings, so these come last. */
static void put_dictionary(struct otlp_message *message)
{
	struct protobuf dictionary = begin(&message->outer);

	protobuf_bytes(&dictionary, DICTIONARY_MAPPING, "", 0);
	put_locations(message, &dictionary);
	put_functions(message, &dictionary);
	protobuf_bytes(&dictionary, DICTIONARY_LINK, "", 0);
	put_table(&dictionary, DICTIONARY_STRING, message->strings);
	put_table(&dictionary, DICTIONARY_ATTRIBUTE, message->attributes);
	put_table(&dictionary, DICTIONARY_STACK, message->stacks);
	protobuf_buf(&message->data, DATA_DICTIONARY, &message->outer);
}

int otlp_message__finish(struct otlp_message *message)
{
	put_dictionary(message);
	return strbuf_error(message->data.out);
}

/* ---- life ---- */

int otlp_message__open(struct source_lines *lines, struct strbuf *out,
		       struct otlp_message **message_out)
{
	struct otlp_message *message = calloc(1, sizeof(*message));
	int err;

	if (!message)
		return -ENOMEM;
	message->data.out = out;
	message->strings = strtab__new();
	message->attributes = strtab__new();
	message->stacks = strtab__new();
	err = message->strings && message->attributes && message->stacks ?
		      frame_table__open(lines, &message->frames) :
		      -ENOMEM;
	if (!err) {
		(void)literal_id(message, "");
		(void)intern(message, message->attributes, "", 0);
		(void)intern(message, message->stacks, "", 0);
		err = strbuf_error(out);
	}
	if (err) {
		otlp_message__free(message);
		return err;
	}
	*message_out = message;
	return 0;
}

void otlp_message__free(struct otlp_message *message)
{
	if (!message)
		return;
	frame_table__free(message->frames);
	strtab__free(message->strings);
	strtab__free(message->attributes);
	strtab__free(message->stacks);
	free(message->locations);
	strbuf_release(&message->samples);
	strbuf_release(&message->profiles);
	strbuf_release(&message->outer);
	strbuf_release(&message->middle);
	strbuf_release(&message->inner);
	strbuf_release(&message->value);
	free(message);
}
