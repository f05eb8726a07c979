/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A receiver of OpenTelemetry's profiles, over HTTP: POST of prepared messages, packed. systemd's credentials
 * are otlp-token and otlp-password. Not for two threads at once.
 */
#ifndef JBPF_REMOTE_OTLP_CLIENT_H
#define JBPF_REMOTE_OTLP_CLIENT_H

#include <stddef.h>
#include <stdint.h>

#include "user/remote/otlp_answer.h"
#include "user/remote/remote_sender.h"
#include "user/util/attributes.h"

struct otlp_client;

/* Parses, reads the token, connects to nothing yet. 0, or -errno with one line in `why`. */
__must_check int otlp_client__open(const char *url, struct otlp_client **out, char *why,
				   size_t why_len);
void otlp_client__free(struct otlp_client *client); /* NULL is fine */

/* "http://host:port/path"; valid as long as the client. */
const char *otlp_client__name(const struct otlp_client *client);
/*
 * An ExportProfilesServiceRequest. 0: the server has it, but for what `partial` says; -EIO or -ENOMEM: it may
 * have it or not, and otlp_client__failure() says more.
 */
__must_check int otlp_client__export(struct otlp_client *client, const void *bytes, size_t len,
				     struct otlp_partial *partial);
/* Of the last call that failed. */
const struct remote_failure *otlp_client__failure(const struct otlp_client *client);
/* Bytes sent in bodies so far, as they travelled. */
uint64_t otlp_client__sent_bytes(const struct otlp_client *client);

#endif
