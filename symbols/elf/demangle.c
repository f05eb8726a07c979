// SPDX-License-Identifier: Apache-2.0
/*
 * Canonical native names; see demangle.h. libiberty does the demangling.
 *
 * A short mangled name can stand for gigabytes of text (back references to back references), and
 * libiberty's callback cannot say "enough". So the callback leaves with longjmp(): libiberty keeps
 * its state on the stack while it calls back, hence nothing is lost.
 */
#include "symbols/elf/demangle.h"

#include <errno.h>
#include <setjmp.h>
#include <stddef.h>
#include <string.h>

#include <libiberty/demangle.h>

struct demangle_sink {
	jmp_buf full;
	size_t len;
	char bytes[DEMANGLE_MAX_BYTES];
};

static void demangle_take(const char *bytes, size_t len, void *opaque)
{
	struct demangle_sink *sink = opaque;

	/* A crate without a name is NULL. */
	if (!len)
		return;
	if (len > sizeof(sink->bytes) - sink->len)
		longjmp(sink->full, 1);
	memcpy(sink->bytes + sink->len, bytes, len);
	sink->len += len;
}

/* Every compiler run numbers clones differently, so the number is not part of the name. */
static size_t demangle_suffix_len(const char *raw, size_t len)
{
	static const char *const suffixes[] = { ".isra",     ".constprop",  ".part",	   ".cold",
						".lto_priv", ".llvm",	    ".localalias", ".clone",
						".warm",     ".specialized" };
	size_t digits = 0;

	while (digits < len && raw[len - digits - 1] >= '0' && raw[len - digits - 1] <= '9')
		digits++;
	if (digits && digits < len && raw[len - digits - 1] == '.')
		digits++;
	else
		digits = 0;
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		size_t suffix_len = strlen(suffixes[i]);

		if (suffix_len + digits < len &&
		    memcmp(raw + len - digits - suffix_len, suffixes[i], suffix_len) == 0)
			return suffix_len + digits;
	}
	return 0;
}

size_t demangle_trim(const char *raw, size_t len)
{
	const char *version = len > 1 && raw[0] != '@' ? memchr(raw, '@', len) : NULL;
	size_t suffix_len;

	/* "memcpy@@GLIBC_2.14", but "memcpy@plt" says something. */
	if (version && (size_t)(raw + len - version) > 1 &&
	    (version[1] == '@' || (version[1] >= 'A' && version[1] <= 'Z')))
		len = (size_t)(version - raw);
	while ((suffix_len = demangle_suffix_len(raw, len)) > 0)
		len -= suffix_len;
	return len;
}

bool demangle_is_mangled(const char *raw, size_t len)
{
	return len >= 2 && raw[0] == '_' && (raw[1] == 'Z' || raw[1] == 'R');
}

/* `name` ends in NUL. False: it stays as it is. */
static bool demangle_run(const char *name, struct demangle_sink *sink)
{
	sink->len = 0;
	if (setjmp(sink->full))
		return false;
	/* Legacy Rust names look like C++ with a hash behind: Rust must be asked first. */
	if (rust_demangle_callback(name, DMGL_NO_OPTS, demangle_take, sink) && sink->len)
		return true;
	sink->len = 0;
	if (name[1] != 'Z')
		return false;
	return cplus_demangle_v3_callback(name, DMGL_ANSI, demangle_take, sink) && sink->len;
}

int demangle_native(const char *raw, size_t len, struct strbuf *out)
{
	struct demangle_sink sink;
	char name[DEMANGLE_MAX_RAW_BYTES + 1];

	len = demangle_trim(raw, len);
	if (len > DEMANGLE_MAX_RAW_BYTES || !demangle_is_mangled(raw, len)) {
		strbuf_append(out, raw, len);
		return strbuf_error(out);
	}
	memcpy(name, raw, len);
	name[len] = '\0';
	if (demangle_run(name, &sink))
		strbuf_append(out, sink.bytes, sink.len);
	else
		strbuf_append(out, raw, len);
	return strbuf_error(out);
}
