// SPDX-License-Identifier: Apache-2.0
/* See hotspot_class.h. */
#include "symbols/hotspot/hotspot_class.h"

#include <errno.h>
#include <stdlib.h>

#include "symbols/hotspot/hotspot_method_text.h"
#include "user/util/cleanup.h"

#define SYMBOL_MAX_BYTES 65535u /* a length of 16 bits: symbol.hpp, max_symbol_length */
#define POINTER_BYTES	 8u

/* Memory that is no class may hold any address. */
static int local_error(int err)
{
	return err && remote_mem_error_is_local(err) ? -EAGAIN : err;
}

static int read_length(const struct remote_mem *mem, const struct hotspot_layout *layout,
		       uint64_t symbol, size_t *out)
{
	const struct hotspot_field *field = &layout->symbol_length;
	uint64_t length = 0;
	int err = remote_mem_read_uint(mem, symbol + field->offset, field->size, &length);

	*out = layout->symbol_length_is_packed ? length >> 16 : length;
	return err;
}

static int read_symbol(const struct remote_mem *mem, const struct hotspot_layout *layout,
		       uint64_t symbol, struct strbuf *out)
{
	__cleanup_free uint8_t *bytes = NULL;
	size_t len;
	int err = read_length(mem, layout, symbol, &len);

	if (err)
		return err;
	if (!len || len > SYMBOL_MAX_BYTES)
		return -EAGAIN;
	bytes = malloc(len);
	if (!bytes)
		return -ENOMEM;
	err = remote_mem_read(mem, symbol + layout->symbol_body.offset, bytes, len);
	if (!err)
		err = hotspot_symbol_text(bytes, len, out);
	return err == -EINVAL ? -EAGAIN : err;
}

int hotspot_class_name(const struct remote_mem *mem, const struct hotspot_layout *layout,
		       uint64_t klass, struct strbuf *out)
{
	uint64_t symbol = 0;
	int err = -EAGAIN;

	if (hotspot_address_is_sane(klass))
		err = remote_mem_read_uint(mem, klass + layout->klass_name.offset, POINTER_BYTES,
					   &symbol);
	if (!err)
		err = hotspot_address_is_sane(symbol) ? read_symbol(mem, layout, symbol, out) :
							-EAGAIN;
	return local_error(err);
}
