/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which streams may be read as one: those of a service whose windows are all the same to a visitor
 * (store_visitor.same). A class is numbered by its first window. No I/O.
 */
#ifndef JBPF_SOURCE_WINDOW_CLASSES_H
#define JBPF_SOURCE_WINDOW_CLASSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/remote/window_row.h"
#include "user/store/store.h"
#include "user/util/attributes.h"
#include "user/util/strbuf.h"

#define WINDOW_CLASSES_MAX 1024u

struct window_class {
	const struct window *window; /* its first, borrowed */
	uint64_t samples;	     /* of all its windows */
};

struct window_classes;

/* NULL only when memory is short. */
struct window_classes *window_classes__new(const struct store_visitor *visitor);
void window_classes__free(struct window_classes *classes); /* NULL is fine */

/* Was a window of this stream added? */
bool window_classes__has(const struct window_classes *classes, uint64_t stream);
/*
 * A window that is wanted; the first of its stream is borrowed until the end. 0; -ENOTSUP: its stream has windows of two classes, or
 * there are too many classes; -ENOMEM.
 */
__must_check int window_classes__add(struct window_classes *classes, const struct window_row *row);

size_t window_classes__cnt(const struct window_classes *classes);
const struct window_class *window_classes__get(const struct window_classes *classes, size_t number);
/* The only class of that service; SIZE_MAX: it has none, or several. */
size_t window_classes__of_service(const struct window_classes *classes, const char *service);
/* Has each service one class? */
bool window_classes__are_services(const struct window_classes *classes);
/* "[1,2,...]" of the streams, and of the numbers of their classes in the same order. */
void window_classes__put_streams(const struct window_classes *classes, struct strbuf *streams,
				 struct strbuf *numbers);

#endif
