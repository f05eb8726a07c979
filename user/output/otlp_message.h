/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A message of OpenTelemetry's profiles while it is written: resources with their profiles and samples, and
 * the tables that they share. The bytes are those of a ProfilesData and of an ExportProfilesServiceRequest
 * (opentelemetry/proto/profiles/v1development of version 1.11). Index 0 of each table is the empty value, and
 * no table has a row twice. Errors stay with the message: otlp_message__finish() has the first one.
 *
 *     samples, otlp_message__end_profile(), ..., otlp_message__end_resource(), ..., otlp_message__finish()
 */
#ifndef JBPF_OUTPUT_OTLP_MESSAGE_H
#define JBPF_OUTPUT_OTLP_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/model/event.h"
#include "user/model/source_lines.h"
#include "user/util/attributes.h"
#include "user/util/strbuf.h"

#define OTLP_PROFILE_ID_BYTES 16

struct otlp_message;

struct otlp_profile {
	enum event event;
	uint64_t period;	/* what a sample stands for; 0 = it is not known */
	uint64_t since_unix_ns; /* as until_unix_ns: no time is told */
	uint64_t until_unix_ns;
	const uint8_t *
		id; /* OTLP_PROFILE_ID_BYTES; NULL = a hash of the profile and its resource; borrowed */
};

/*
 * `lines` tells the source files of methods, and is sorted; NULL = none are known. The message is appended to
 * `out`, which is borrowed until the end. 0 or an error of frame_table__open().
 */
__must_check int otlp_message__open(struct source_lines *lines, struct strbuf *out,
				    struct otlp_message **message_out);
void otlp_message__free(struct otlp_message *message); /* NULL is fine */

/* Index of an attribute. A number that is none is a text. */
uint64_t otlp_message__attribute(struct otlp_message *message, const char *key, const char *text,
				 size_t len, bool is_number);
/* One of the profile that is ended next. `text`: the stack, root first; `ids`: its attributes. */
void otlp_message__sample(struct otlp_message *message, const char *text, size_t len,
			  const uint64_t *ids, size_t id_cnt, uint64_t value);
/* The samples since the last one; without any it is none. `resource` as for the next function. */
void otlp_message__end_profile(struct otlp_message *message, const struct otlp_profile *profile,
			       const struct strbuf *resource);
/* The profiles since the last one; without any it is none. `resource` is what otlp_resource_attribute() wrote. */
void otlp_message__end_resource(struct otlp_message *message, const struct strbuf *resource);
/* How many stacks its table has. */
uint32_t otlp_message__stack_count(const struct otlp_message *message);
/* Writes the tables. 0 or an error; what is in `out` is no message then. */
__must_check int otlp_message__finish(struct otlp_message *message);

/* Appends an attribute of a resource. */
void otlp_resource_attribute(struct strbuf *resource, const char *key, const char *text,
			     size_t len);

/* The key of a label by OpenTelemetry's semantic conventions, or NULL; `of_resource`: it says whose the samples are. */
const char *otlp_label_key(const char *label, bool *of_resource);

#endif
