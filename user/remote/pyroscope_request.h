/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request to Pyroscope's POST /ingest: its query and its form. No I/O.
 *
 * Sources: "Server HTTP API" of Grafana Pyroscope's documentation, and of its repository api/model/labelset
 * (which names it takes), pkg/ingester/pyroscope/ingest_handler.go, pkg/og/convert/pprof/profile.go and
 * pkg/validation/validate.go:
 *
 *     name    SERVICE{LABEL=VALUE,...}, nothing quoted: a service has letters, digits and "_.-/", a value no ','
 *             and no '}'. What may not be there becomes '_'
 *     format  is not sent: with format=pprof the server takes the whole body for a profile, and a form goes by
 *             its Content-Type
 *     profile, sample_type_config
 *             files of the form; the second says under which name a sample type is shown. A profile whose
 *             sample type has a '-' is refused, and one with "cpu" in its name is shown as CPU time
 */
#ifndef JBPF_REMOTE_PYROSCOPE_REQUEST_H
#define JBPF_REMOTE_PYROSCOPE_REQUEST_H

#include <stddef.h>
#include <stdint.h>

#include "user/model/event.h"
#include "user/model/window.h"
#include "user/util/strbuf.h"

#define PYROSCOPE_VALUE_MAX_BYTES 256 /* of a label; longer ones are cut */

/* The labels of a name, behind the service. */
#define PYROSCOPE_LABEL_CNT 5
extern const enum window_label pyroscope_labels[PYROSCOPE_LABEL_CNT];

/* Sample type of the values in a profile of the event. */
const char *pyroscope_sample_type(enum event event);
/* Appends "/ingest?name=...&from=SECONDS&until=SECONDS&spyName=jbpf" for the minute of a window. */
void pyroscope_query(struct strbuf *out, const struct window *window, uint32_t minute_unix_s);
/*
 * Appends the form of a gzipped pprof, and "Content-Type: ..." with its boundary, a hash of the bytes: equal
 * profiles are equal forms.
 */
void pyroscope_form(const void *pprof, size_t len, enum event event, struct strbuf *body,
		    struct strbuf *content_type);

#endif
