/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the objects of a Java class have their fields: nothing that HotSpot exports says it, but its
 * own tables of each class do (src/hotspot/share/oops/fieldInfo.hpp). Up to JDK 20 these are an array
 * of six u2 for each field, InstanceKlass::_fields; from 21 on a stream of UNSIGNED5 numbers,
 * InstanceKlass::_fieldinfo_stream.
 */
#ifndef JBPF_HOTSPOT_HOTSPOT_FIELDS_H
#define JBPF_HOTSPOT_HOTSPOT_FIELDS_H

#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "symbols/hotspot/vm_structs.h"
#include "user/host/remote_mem.h"

/* A field that is looked for. */
struct hotspot_java_field {
	const char *name;
	const char *signature; /* "[C" */
	uint32_t offset;       /* out: in the object, in bytes; 0 = the class has no such field */
};

/*
 * Finds the fields that the class at `klass`, an InstanceKlass, declares itself. 0; -ENOTSUP: the
 * tables lack something, or are of another layout; -errno of reading.
 */
__must_check int hotspot_fields_find(const struct remote_mem *mem, const struct vm_structs *structs,
				     uint64_t klass, struct hotspot_java_field *fields, size_t cnt);

#endif
