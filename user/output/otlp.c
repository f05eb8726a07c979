// SPDX-License-Identifier: Apache-2.0
/*
 * The profile as OpenTelemetry's ProfilesData. OTLP.md says what is put where and why.
 */
#include "user/output/output.h"

#include <string.h>

#include "user/model/stack_text.h"
#include "user/output/info.h"
#include "user/output/otlp_message.h"
#include "user/util/cleanup.h"

#define ATTRIBUTES_MAX 16 /* of a sample; there are fewer labels */

struct otlp {
	const struct output_info *info;
	struct otlp_message *message;
	struct otlp_profile profile;
	struct strbuf resource; /* of the samples of the message that is not ended */
	struct strbuf next_resource;
};

/*
 * Takes the label frames off the front of a stack: to the resource, or as attributes of the sample. Returns
 * how many the sample has.
 */
static size_t take_labels(struct otlp *otlp, const char **text, size_t *len,
			  uint64_t ids[static ATTRIBUTES_MAX])
{
	const struct output_info *info = otlp->info;
	struct stack_frame frame;
	size_t cnt = 0;

	strbuf_clear(&otlp->next_resource);
	for (size_t i = 0; i < info->label_cnt && stack_text_next(text, len, &frame); i++) {
		const struct output_label *label = &info->labels[i];
		bool is_of_resource = false;
		const char *key = otlp_label_key(label->name, &is_of_resource);

		if (frame.text_len == strlen(OUTPUT_LABEL_NONE) &&
		    memcmp(frame.text, OUTPUT_LABEL_NONE, frame.text_len) == 0)
			continue;
		if (is_of_resource)
			otlp_resource_attribute(&otlp->next_resource, key, frame.text,
						frame.text_len);
		else if (cnt < ATTRIBUTES_MAX)
			ids[cnt++] = otlp_message__attribute(otlp->message, key ? key : label->name,
							     frame.text, frame.text_len,
							     label->is_number);
	}
	return cnt;
}

/* Ends the resource that the samples so far are of. */
static void flush(struct otlp *otlp)
{
	otlp_message__end_profile(otlp->message, &otlp->profile, &otlp->resource);
	otlp_message__end_resource(otlp->message, &otlp->resource);
}

static void take_resource(struct otlp *otlp)
{
	struct strbuf *old = &otlp->resource, *next = &otlp->next_resource;

	if (old->len == next->len && memcmp(strbuf_str(old), strbuf_str(next), old->len) == 0)
		return;
	flush(otlp);
	strbuf_clear(old);
	strbuf_add(old, next);
}

static void add_sample(struct otlp *otlp, const struct profile_stack *stack)
{
	struct profile_stack plain = *stack;
	const char *thread = info_take_thread(otlp->info, &plain);
	const char *text = plain.text;
	uint64_t ids[ATTRIBUTES_MAX + 1];
	size_t len = plain.len, cnt = take_labels(otlp, &text, &len, ids);

	take_resource(otlp);
	if (thread)
		ids[cnt++] = otlp_message__attribute(otlp->message, "thread.name", thread,
						     strlen(thread), false);
	otlp_message__sample(otlp->message, text, len, ids, cnt,
			     event_amount(stack->count, otlp->profile.period));
}

static int add_profile(struct otlp *otlp, struct profile *profile, struct strbuf *out)
{
	size_t cnt = profile__stack_count(profile);

	profile__sort(profile);
	for (size_t i = 0; i < cnt && !strbuf_error(out); i++) {
		struct profile_stack stack = profile__stack(profile, i);

		add_sample(otlp, &stack);
	}
	flush(otlp);
	return otlp_message__finish(otlp->message);
}

int output_otlp(struct profile *profile, const struct output_info *info, struct strbuf *out)
{
	struct strbuf_mark before = strbuf_mark(out);
	struct otlp otlp = {
		.info = info,
		.profile = { .event = info->event,
			     .period = info_period(info),
			     .since_unix_ns = info->since_unix_ns,
			     .until_unix_ns = info->until_unix_ns },
	};
	int err = otlp_message__open(info->lines, out, &otlp.message);

	if (!err)
		err = add_profile(&otlp, profile, out);
	otlp_message__free(otlp.message);
	strbuf_release(&otlp.resource);
	strbuf_release(&otlp.next_resource);
	return strbuf_settle(out, before, err);
}
