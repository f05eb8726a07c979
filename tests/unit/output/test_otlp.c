// SPDX-License-Identifier: Apache-2.0
/*
 * What receivers of OpenTelemetry's profiles will see: every profile that is written is read back by a
 * reader of the test's own, which follows each index into its table, and compared with the stacks
 * that went in.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/output_profiles.h"
#include "tests/unit/pprof_reader.h"
#include "user/util/cleanup.h"

/* A repeated message or string: its bytes. */
struct table {
	struct pb_cursor rows[512];
	size_t cnt;
};

struct otlp_read {
	struct strbuf raw;
	struct table locations, functions, strings, attributes, stacks;
	size_t mapping_cnt, link_cnt, resource_cnt;
	struct strbuf text;	/* a line for each sample: resource | attributes | stack value */
	struct strbuf profiles; /* a line for each profile: type unit period time duration */
	uint8_t ids[4][16];
	size_t id_cnt;
};

static void add_row(struct table *table, struct pb_cursor bytes)
{
	assert_true(table->cnt < ARRAY_SIZE(table->rows));
	table->rows[table->cnt++] = bytes;
}

static struct pb_cursor row(const struct table *table, uint64_t index)
{
	assert_true(index < table->cnt);
	return table->rows[index];
}

/* The one field of this number, or an empty one. */
static struct pb_field field_of(struct pb_cursor cursor, uint64_t number)
{
	struct pb_field field, found = { 0 };

	while (pb_next(&cursor, &field)) {
		if (field.number == number)
			found = field;
	}
	return found;
}

static void put(struct strbuf *out, struct pb_cursor bytes)
{
	strbuf_append(out, bytes.at, (size_t)(bytes.end - bytes.at));
}

static void put_any_value(struct strbuf *out, struct pb_cursor value)
{
	struct pb_field text = field_of(value, 1);

	if (text.is_bytes)
		put(out, text.bytes);
	else
		strbuf_printf(out, "#%llu", (unsigned long long)field_of(value, 3).value);
}

static void read_dictionary(struct otlp_read *read, struct pb_cursor cursor)
{
	struct pb_field field;

	while (pb_next(&cursor, &field)) {
		struct table *const tables[] = { [2] = &read->locations,
						 [3] = &read->functions,
						 [5] = &read->strings,
						 [6] = &read->attributes,
						 [7] = &read->stacks };

		assert_in_range(field.number, 1, 7);
		if (field.number == 1)
			read->mapping_cnt++;
		else if (field.number == 4)
			read->link_cnt++;
		else
			add_row(tables[field.number], field.bytes);
	}
	/* The first of each is what an index of 0 means: nothing. */
	assert_true(read->mapping_cnt == 1 && read->link_cnt == 1);
	for (size_t i = 0; i < 5; i++) {
		const struct table *const all[] = { &read->locations, &read->functions,
						    &read->strings, &read->attributes,
						    &read->stacks };

		assert_true(row(all[i], 0).at == row(all[i], 0).end);
		for (size_t j = 1; j < all[i]->cnt; j++)
			assert_true(row(all[i], j).at < row(all[i], j).end);
	}
}

/* "key=value,", of a resource or of a row of the attribute table. */
static void put_attributes(struct otlp_read *read, struct pb_cursor indices)
{
	while (indices.at < indices.end) {
		struct pb_cursor attribute = row(&read->attributes, pb_varint(&indices));

		put(&read->text, row(&read->strings, field_of(attribute, 1).value));
		strbuf_putc(&read->text, '=');
		put_any_value(&read->text, field_of(attribute, 2).bytes);
		strbuf_putc(&read->text, ',');
	}
}

static void put_frame(struct otlp_read *read, uint64_t index)
{
	struct pb_cursor location = row(&read->locations, index);
	struct pb_field line = field_of(location, 3), types = field_of(location, 4);
	struct pb_cursor function = row(&read->functions, field_of(line.bytes, 1).value);

	assert_true(index > 0 && field_of(line.bytes, 1).value > 0);
	put(&read->text, row(&read->strings, field_of(function, 1).value));
	if (types.is_bytes) {
		strbuf_putc(&read->text, '{');
		put_attributes(read, types.bytes);
		strbuf_putc(&read->text, '}');
	}
}

static void read_sample(struct otlp_read *read, struct pb_cursor sample, struct pb_cursor resource)
{
	struct pb_cursor stack = row(&read->stacks, field_of(sample, 1).value);
	struct pb_cursor locations = field_of(stack, 1).bytes;
	struct pb_cursor values = field_of(sample, 4).bytes;
	uint64_t indices[64];
	size_t cnt = 0;
	struct pb_field field;

	while (pb_next(&resource, &field)) {
		put(&read->text, field_of(field.bytes, 1).bytes);
		strbuf_putc(&read->text, '=');
		put_any_value(&read->text, field_of(field.bytes, 2).bytes);
		strbuf_putc(&read->text, ',');
	}
	strbuf_putc(&read->text, '|');
	put_attributes(read, field_of(sample, 2).bytes);
	strbuf_putc(&read->text, '|');
	while (locations.at < locations.end) {
		assert_true(cnt < ARRAY_SIZE(indices));
		indices[cnt++] = pb_varint(&locations);
	}
	for (size_t i = cnt; i-- > 0;) {
		put_frame(read, indices[i]);
		strbuf_putc(&read->text, i ? ';' : ' ');
	}
	strbuf_printf(&read->text, "%llu\n", (unsigned long long)pb_varint(&values));
	assert_true(values.at == values.end);
}

static void read_profile(struct otlp_read *read, struct pb_cursor profile,
			 struct pb_cursor resource)
{
	struct pb_cursor type = field_of(profile, 1).bytes, id = field_of(profile, 7).bytes;
	struct pb_field field;

	put(&read->profiles, row(&read->strings, field_of(type, 1).value));
	strbuf_putc(&read->profiles, ' ');
	put(&read->profiles, row(&read->strings, field_of(type, 2).value));
	for (uint64_t number = 3; number <= 6; number++) {
		if (number != 5)
			strbuf_printf(&read->profiles, " %llu",
				      (unsigned long long)field_of(profile, number).value);
	}
	strbuf_putc(&read->profiles, '\n');
	assert_true(read->id_cnt < ARRAY_SIZE(read->ids) && id.end - id.at == 16);
	memcpy(read->ids[read->id_cnt++], id.at, 16);
	while (pb_next(&profile, &field)) {
		if (field.number == 2)
			read_sample(read, field.bytes, resource);
	}
}

static struct otlp_read *read_back(struct profile *profile, const struct output_info *info)
{
	struct otlp_read *read = calloc(1, sizeof(*read));
	struct pb_cursor data;
	struct pb_field field;

	assert_non_null(read);
	assert_int_equal(output_otlp(profile, info, &read->raw), 0);
	profile__free(profile);
	data = (struct pb_cursor){ (uint8_t *)read->raw.data,
				   (uint8_t *)read->raw.data + read->raw.len };
	read_dictionary(read, field_of(data, 2).bytes);
	while (pb_next(&data, &field)) {
		struct pb_cursor scope, resource;

		if (field.number != 1)
			continue;
		read->resource_cnt++;
		resource = field_of(field.bytes, 1).bytes;
		scope = field_of(field.bytes, 2).bytes;
		assert_int_equal(field_of(field_of(scope, 1).bytes, 1).value, strlen("jbpf"));
		read_profile(read, field_of(scope, 2).bytes, resource);
	}
	return read;
}

static void read_free(struct otlp_read *read)
{
	strbuf_release(&read->raw);
	strbuf_release(&read->text);
	strbuf_release(&read->profiles);
	free(read);
}

static void expect(struct profile *profile, const struct output_info *info, const char *text,
		   const char *profiles)
{
	struct otlp_read *read = read_back(profile, info);

	assert_string_equal(strbuf_str(&read->text), text);
	if (profiles)
		assert_string_equal(strbuf_str(&read->profiles), profiles);
	read_free(read);
}

#define JVM(tier)     "{profile.frame.type=jvm,jbpf.frame.tier=" tier ",}"
#define TIMES	      "1795267200000000000 600000000000"
#define CPU_AT_100_HZ "cpu nanoseconds " TIMES " 10000000\n"

static void otlp_holds_the_stacks_with_the_kind_of_each_frame(void **state)
{
	(void)state;
	expect(profile_of("java;A.run_[0];B.work_[j];C.leaf_[i];read_[k] 40\n"
			  "java;A.run_[1];libc.so.6 2\n"
			  "java 3\n"),
	       &output_profiles_info,
	       "||java 30000000\n"
	       "||java;A.run" JVM("interpreted") ";B.work" JVM("c2") ";C.leaf" JVM(
		       "inlined") ";read{profile.frame.type=kernel,} 400000000\n"
				  "||java;A.run" JVM(
					  "c1") ";libc.so.6{profile.frame.type=native,} 20000000\n",
	       CPU_AT_100_HZ);
}

static void otlp_of_nothing_has_no_profile(void **state)
{
	struct otlp_read *read;

	(void)state;
	read = read_back(profile_of(""), &output_profiles_info);
	assert_int_equal(read->resource_cnt, 0);
	assert_int_equal(read->stacks.cnt, 1);
	read_free(read);
}

static void otlp_labels_are_the_resource_or_attributes(void **state)
{
	static const struct output_label labels[] = { { .name = "service" },
						      { .name = "container" },
						      { .name = "pid", .is_number = true } };
	struct output_info info = output_profiles_info;

	(void)state;
	info.labels = labels;
	info.label_cnt = ARRAY_SIZE(labels);
	expect(profile_of("(none);(none);9;cron;x 1\n"
			  "shop;shop-1;7;java;a_[j] 2\n"
			  "shop;shop-1;8;java;a_[j] 3\n"
			  "shop;shop-2;8;java;a_[j] 4\n"),
	       &info,
	       "|process.pid=#9,|cron;x{profile.frame.type=native,} 10000000\n"
	       "service.name=shop,container.name=shop-1,|process.pid=#7,|java;a" JVM(
		       "c2") " 20000000\n"
			     "service.name=shop,container.name=shop-1,|process.pid=#8,|java;a" JVM(
				     "c2") " 30000000\n"
					   "service.name=shop,container.name=shop-2,|process.pid=#8,|java;a" JVM(
						   "c2") " 40000000\n",
	       CPU_AT_100_HZ CPU_AT_100_HZ CPU_AT_100_HZ);
}

static void otlp_threads_are_attributes_of_samples(void **state)
{
	struct output_info info = output_profiles_info;

	(void)state;
	info.has_threads = true;
	expect(profile_of("java;a_[j]\1main 2\njava;a_[j]\1pool-# 3\n"
			  "java;b\1[unknown thread] 1\n"),
	       &info,
	       "|thread.name=main,|java;a" JVM(
		       "c2") " 20000000\n"
			     "|thread.name=pool-#,|java;a" JVM(
				     "c2") " 30000000\n"
					   "||java;b{profile.frame.type=native,} 10000000\n",
	       CPU_AT_100_HZ);
}

static void otlp_of_mixed_frequencies_has_samples_alone(void **state)
{
	struct output_info info = output_profiles_info;

	(void)state;
	info.frequency_hz = 0;
	expect(profile_of("java 3\n"), &info, "||java 3\n", "samples count " TIMES " 0\n");
}

static void otlp_of_other_events_counts_them(void **state)
{
	struct output_info info = output_profiles_info;

	(void)state;
	info.frequency_hz = 0;
	info.event = EVENT_PAGE_FAULTS;
	info.period = 64;
	expect(profile_of("java 3\n"), &info, "||java 192\n", "page-faults count " TIMES " 64\n");
}

static void otlp_values_saturate(void **state)
{
	(void)state;
	expect(profile_of("java 9223372036854775807\n"), &output_profiles_info,
	       "||java 9223372036854775807\n", NULL);
}

static void otlp_profiles_have_ids_that_tell_them_apart(void **state)
{
	static const struct output_label label = { .name = "container" };
	struct output_info info = output_profiles_info;
	struct otlp_read *read, *again;

	(void)state;
	info.labels = &label;
	info.label_cnt = 1;
	read = read_back(profile_of("a;java 3\nb;java 3\nc;java 4\n"), &info);
	again = read_back(profile_of("a;java 3\nb;java 3\nc;java 4\n"), &info);
	assert_int_equal(read->id_cnt, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_memory_equal(read->ids[i], again->ids[i], 16);
		assert_memory_not_equal(read->ids[i], read->ids[(i + 1) % 3], 16);
	}
	read_free(read);
	read_free(again);
}

static void otlp_texts_are_harmless(void **state)
{
	struct otlp_read *read = read_back(profile_hostile(), &output_profiles_info);

	(void)state;
	for (size_t i = 0; i < read->strings.cnt; i++) {
		for (struct pb_cursor at = row(&read->strings, i); at.at < at.end; at.at++)
			assert_true(*at.at >= 0x20 && *at.at != 0x7f);
	}
	read_free(read);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(otlp_holds_the_stacks_with_the_kind_of_each_frame),
		cmocka_unit_test(otlp_of_nothing_has_no_profile),
		cmocka_unit_test(otlp_labels_are_the_resource_or_attributes),
		cmocka_unit_test(otlp_threads_are_attributes_of_samples),
		cmocka_unit_test(otlp_of_mixed_frequencies_has_samples_alone),
		cmocka_unit_test(otlp_of_other_events_counts_them),
		cmocka_unit_test(otlp_values_saturate),
		cmocka_unit_test(otlp_profiles_have_ids_that_tell_them_apart),
		cmocka_unit_test(otlp_texts_are_harmless),
	};

	return cmocka_run_group_tests_name("output_otlp", tests, NULL, NULL);
}
