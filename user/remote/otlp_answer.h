/* SPDX-License-Identifier: Apache-2.0 */
/* What a receiver of OTLP answers: foreign bytes in. No I/O. */
#ifndef JBPF_REMOTE_OTLP_ANSWER_H
#define JBPF_REMOTE_OTLP_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OTLP_ANSWER_WORDS 256

/* What it took only in part; all 0: it took everything. */
struct otlp_partial {
	uint64_t rejected_profiles;
	char words[OTLP_ANSWER_WORDS]; /* "" = it says nothing */
};

/* An ExportProfilesServiceResponse. False: the bytes are none, and *out is all 0. */
bool otlp_answer_partial(const void *bytes, size_t len, struct otlp_partial *out);
/* What the body of an error says: the message of a google.rpc.Status, or the first line of a text. */
void otlp_answer_words(const char *body, char out[static OTLP_ANSWER_WORDS]);

#endif
