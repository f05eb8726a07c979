// SPDX-License-Identifier: Apache-2.0
/*
 * Many threads are read at once: what is behind one pointer of each of them is one step, which takes
 * one system call where the process's memory allows it. What leads to no object of the class that must
 * be there is dropped, without an error: the JVM runs on meanwhile.
 *
 * Layouts: src/hotspot/share/runtime/threadSMR.hpp and thread.hpp for lists, oops/oop.hpp and markWord.hpp
 * for headers of objects, oops/arrayOop.hpp for those of arrays, gc/z/zAddress.hpp for ZGC's colours.
 */
#include "symbols/hotspot/hotspot_threads.h"

#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/hotspot/hotspot_fields.h"
#include "symbols/hotspot/hotspot_layout.h"
#include "symbols/hotspot/hotspot_vm.h"
#include "symbols/hotspot/vm_structs.h"
#include "user/host/remote_mem.h"
#include "user/util/cleanup.h"

#define BATCH_CNT	 64u
#define VIEW_BYTES	 (2u * HOTSPOT_THREAD_MAX_CHARS)
#define OFFSET_MAX	 4096u
#define OBJECT_FIELD_MAX (VIEW_BYTES - 8u) /* fields of Thread and String that are needed */
#define COMPACT_SHIFT	 42u /* of the class in a compact header (markWord::klass_shift) */
#define SUPER_MAX	 8u  /* classes between a thread's and java.lang.Thread */
#define KNOWN_CLASSES	 16u
#define ZGC_COLOUR_SHIFT 12u /* ZPointerRemappedShift */
#define ZGC_COLOUR_BITS	 4u
#define NAME_BYTES	 (3u * HOTSPOT_THREAD_MAX_CHARS + 1)

/* How an object says its class. */
enum header {
	HEADER_NARROW_CLASS = 0,
	HEADER_WIDE_CLASS = 1,
	HEADER_COMPACT = 2,
};

/* A pointer of fewer bits: base + (value << shift). */
struct narrow {
	uint64_t base;
	uint64_t shift;
};

struct thread_layout {
	uint64_t list; /* ThreadsSMRSupport::_java_thread_list; 0 = this JVM chains its threads */
	uint64_t list_length, list_threads;
	uint64_t first; /* Threads::_thread_list */
	uint64_t next;	/* JavaThread::_next */
	uint64_t thread_object;
	bool is_handle; /* _threadObj is an OopHandle (16+) */
	enum header header;
	bool has_narrow_oops;
	bool has_colours; /* ZGC of generations */
	struct narrow oop, klass;
	uint64_t super; /* Klass::_super */
	uint64_t thread_klass, string_klass;
	uint32_t name; /* of java.lang.Thread */
	bool name_is_chars;
	uint32_t value; /* of java.lang.String */
	uint32_t coder; /* 0 = it has chars (JDK 8) */
};

struct hotspot_threads {
	const struct remote_mem *mem; /* of the VM */
	struct thread_layout layout;
	uint64_t classes[KNOWN_CLASSES]; /* of threads; 0 = free */
};

/* What of one thread is looked at. */
struct view {
	uint64_t at; /* 0 = it is dropped */
	uint32_t len;
	bool is_latin;
	uint8_t bytes[VIEW_BYTES];
};

struct batch {
	size_t cnt;
	struct view views[BATCH_CNT];
	struct remote_piece pieces[BATCH_CNT];
};

/* ---- opening ---- */

static bool flag_of(struct hotspot_vm *vm, const char *name, bool otherwise)
{
	bool value;

	return hotspot_vm__bool_flag(vm, name, &value, NULL) ? otherwise : value;
}

struct place {
	const char *type, *name;
};

/* The value of the first of these static variables that there is, of `size` bytes. */
static int static_read(struct hotspot_vm *vm, const struct place *places, size_t cnt, size_t size,
		       uint64_t *out)
{
	uint64_t address;

	for (size_t i = 0; i < cnt; i++)
		if (!vm_structs__static_address(hotspot_vm__structs(vm), places[i].type,
						places[i].name, &address))
			return remote_mem_read_uint(hotspot_vm__mem(vm), address, size, out);
	return -ENOTSUP;
}

static int narrow_read(struct hotspot_vm *vm, bool is_klass, struct narrow *out)
{
	static const struct place places[2][2][3] = {
		{ { { "CompressedOops", "_base" },
		    { "CompressedOops", "_narrow_oop._base" },
		    { "Universe", "_narrow_oop._base" } },
		  { { "CompressedOops", "_shift" },
		    { "CompressedOops", "_narrow_oop._shift" },
		    { "Universe", "_narrow_oop._shift" } } },
		{ { { "CompressedKlassPointers", "_base" },
		    { "CompressedKlassPointers", "_narrow_klass._base" },
		    { "Universe", "_narrow_klass._base" } },
		  { { "CompressedKlassPointers", "_shift" },
		    { "CompressedKlassPointers", "_narrow_klass._shift" },
		    { "Universe", "_narrow_klass._shift" } } },
	};
	int err = static_read(vm, places[is_klass][0], 3, 8, &out->base);

	if (!err)
		err = static_read(vm, places[is_klass][1], 3, 4, &out->shift);
	return !err && out->shift > 31 ? -ENOTSUP : err;
}

static int pointers_read(struct hotspot_vm *vm, struct thread_layout *layout)
{
	uint64_t ignored;
	int err = 0;

	layout->has_narrow_oops = flag_of(vm, "UseCompressedOops", true);
	/* Up to 22 it may also be the one without generations, whose colours are part of addresses. */
	layout->has_colours = flag_of(vm, "UseZGC", false) && flag_of(vm, "ZGenerational", true) &&
			      !vm_structs__offset(hotspot_vm__structs(vm), "ZGlobalsForVMStructs",
						  "_ZPointerLoadShift", &ignored);
	layout->header = flag_of(vm, "UseCompactObjectHeaders", false)	 ? HEADER_COMPACT :
			 flag_of(vm, "UseCompressedClassPointers", true) ? HEADER_NARROW_CLASS :
									   HEADER_WIDE_CLASS;
	if (layout->has_narrow_oops)
		err = narrow_read(vm, false, &layout->oop);
	if (!err && layout->header != HEADER_WIDE_CLASS)
		err = narrow_read(vm, true, &layout->klass);
	return err;
}

static int list_read(const struct vm_structs *structs, struct thread_layout *layout)
{
	const struct vm_field *object = vm_structs__field(structs, "JavaThread", "_threadObj");
	int err;

	if (!object || object->is_static || object->offset > OFFSET_MAX)
		return -ENOTSUP;
	layout->thread_object = object->offset;
	layout->is_handle = strcmp(object->type_string, "OopHandle") == 0;
	if (!vm_structs__static_address(structs, "ThreadsSMRSupport", "_java_thread_list",
					&layout->list)) {
		err = vm_structs__offset(structs, "ThreadsList", "_length", &layout->list_length);
		if (!err)
			err = vm_structs__offset(structs, "ThreadsList", "_threads",
						 &layout->list_threads);
		return err || layout->list_length > OFFSET_MAX ||
				       layout->list_threads > OFFSET_MAX ?
			       -ENOTSUP :
			       0;
	}
	err = vm_structs__static_address(structs, "Threads", "_thread_list", &layout->first);
	if (!err)
		err = vm_structs__offset(structs, "JavaThread", "_next", &layout->next);
	return err || layout->next > OFFSET_MAX ? -ENOTSUP : 0;
}

static int classes_read(struct hotspot_vm *vm, struct thread_layout *layout)
{
	static const struct place threads[] = {
		{ "vmClasses", "_klasses[static_cast<int>(vmClassID::Thread_klass_knum)]" },
		{ "SystemDictionary", "_well_known_klasses[SystemDictionary::Thread_klass_knum]" },
	};
	static const struct place strings[] = {
		{ "vmClasses", "_klasses[static_cast<int>(vmClassID::String_klass_knum)]" },
		{ "SystemDictionary", "_well_known_klasses[SystemDictionary::String_klass_knum]" },
	};
	int err = static_read(vm, threads, ARRAY_SIZE(threads), 8, &layout->thread_klass);

	if (!err)
		err = static_read(vm, strings, ARRAY_SIZE(strings), 8, &layout->string_klass);
	if (!err && (!layout->thread_klass || !layout->string_klass))
		return -EAGAIN;
	if (!err &&
	    (!hotspot_address_is_sane(layout->thread_klass) ||
	     !hotspot_address_is_sane(layout->string_klass) ||
	     vm_structs__offset(hotspot_vm__structs(vm), "Klass", "_super", &layout->super) ||
	     layout->super > OFFSET_MAX))
		return -ENOTSUP;
	return err;
}

static int java_fields_read(struct hotspot_vm *vm, struct thread_layout *layout)
{
	struct hotspot_java_field thread[] = {
		{ "name", "Ljava/lang/String;", 0 },
		{ "name", "[C", 0 },
	};
	struct hotspot_java_field string[] = {
		{ "value", "[B", 0 },
		{ "value", "[C", 0 },
		{ "coder", "B", 0 },
	};
	int err = hotspot_fields_find(hotspot_vm__mem(vm), hotspot_vm__structs(vm),
				      layout->thread_klass, thread, ARRAY_SIZE(thread));

	if (!err)
		err = hotspot_fields_find(hotspot_vm__mem(vm), hotspot_vm__structs(vm),
					  layout->string_klass, string, ARRAY_SIZE(string));
	if (err)
		return err;
	layout->name_is_chars = !thread[0].offset;
	layout->name = thread[layout->name_is_chars].offset;
	layout->coder = string[0].offset ? string[2].offset : 0;
	layout->value = string[0].offset ? string[0].offset : string[1].offset;
	if (!layout->name || !layout->value || (string[0].offset && !layout->coder) ||
	    layout->name > OBJECT_FIELD_MAX || layout->value > OBJECT_FIELD_MAX ||
	    layout->coder > OBJECT_FIELD_MAX)
		return -ENOTSUP;
	return 0;
}

int hotspot_threads__open(struct hotspot_vm *vm, struct hotspot_threads **out)
{
	struct hotspot_threads *threads = calloc(1, sizeof(*threads));
	int err = threads ? 0 : -ENOMEM;

	if (err)
		return err;
	threads->mem = hotspot_vm__mem(vm);
	err = list_read(hotspot_vm__structs(vm), &threads->layout);
	if (!err)
		err = classes_read(vm, &threads->layout);
	if (!err)
		err = pointers_read(vm, &threads->layout);
	if (!err)
		err = java_fields_read(vm, &threads->layout);
	if (err) {
		free(threads);
		return remote_mem_error_is_local(err) ? -ENOTSUP : err;
	}
	*out = threads;
	return 0;
}

void hotspot_threads__free(struct hotspot_threads *threads)
{
	free(threads);
}

/* ---- pointers ---- */

static uint64_t word_at(const uint8_t *bytes, size_t size)
{
	uint64_t value = 0;

	memcpy(&value, bytes, size);
	return le64toh(value);
}

/*
 * On x86 the address begins right behind the one bit of colour that is set, ZPointerLoadShiftTable; on
 * aarch64 behind all of them. One of a colour that is not good any more leads to where the object was.
 */
static uint64_t uncoloured(uint64_t value)
{
#ifdef __x86_64__
	unsigned colour = value >> ZGC_COLOUR_SHIFT & ((1u << ZGC_COLOUR_BITS) - 1);

	return colour ? value >> (ZGC_COLOUR_SHIFT + (unsigned)__builtin_ctz(colour) + 1) : 0;
#else
	return value >> (ZGC_COLOUR_SHIFT + ZGC_COLOUR_BITS);
#endif
}

/* The object that a pointer of the VM leads to; 0 = none. */
static uint64_t object_of(const struct thread_layout *layout, uint64_t value)
{
	if (layout->has_colours)
		value = uncoloured(value);
	return hotspot_address_is_sane(value) ? value : 0;
}

/* The same of a field on the heap. */
static uint64_t object_at(const struct thread_layout *layout, const uint8_t *bytes)
{
	uint64_t value;

	if (!layout->has_narrow_oops)
		return object_of(layout, word_at(bytes, 8));
	value = word_at(bytes, 4);
	value = value ? layout->oop.base + (value << layout->oop.shift) : 0;
	return hotspot_address_is_sane(value) ? value : 0;
}

static uint64_t klass_of(const struct thread_layout *layout, const uint8_t *object)
{
	uint64_t narrow;

	if (layout->header == HEADER_WIDE_CLASS)
		return word_at(object + 8, 8);
	narrow = layout->header == HEADER_COMPACT ? word_at(object, 8) >> COMPACT_SHIFT :
						    word_at(object + 8, 4);
	return layout->klass.base + (narrow << layout->klass.shift);
}

/* Is it java.lang.Thread, or a class below it? */
static bool is_thread_klass(struct hotspot_threads *threads, uint64_t klass)
{
	const struct thread_layout *layout = &threads->layout;
	uint64_t *slot = &threads->classes[klass / 8 % KNOWN_CLASSES], at = klass;

	if (*slot == klass)
		return klass != 0;
	for (unsigned i = 0; i < SUPER_MAX && at != layout->thread_klass; i++)
		if (!hotspot_address_is_sane(at) ||
		    remote_mem_read_uint(threads->mem, at + layout->super, 8, &at))
			return false;
	if (at != layout->thread_klass)
		return false;
	*slot = klass;
	return true;
}

/* ---- steps ---- */

/* Reads what the views say. 0 or what keeps all from being read. */
static int batch_read(const struct hotspot_threads *threads, struct batch *batch)
{
	struct view *of[BATCH_CNT];
	size_t cnt = 0;
	int err;

	for (size_t i = 0; i < batch->cnt; i++) {
		struct view *view = &batch->views[i];

		if (!view->at)
			continue;
		of[cnt] = view;
		batch->pieces[cnt++] = (struct remote_piece){ .address = view->at,
							      .out = view->bytes,
							      .len = view->len };
	}
	err = cnt ? remote_mem_read_pieces(threads->mem, batch->pieces, cnt) : 0;
	for (size_t i = 0; i < cnt && !err; i++)
		if (batch->pieces[i].err)
			of[i]->at = 0;
	return err;
}

/* A step: what was read says where to read next. */
typedef void (*step_fn)(struct hotspot_threads *threads, struct view *view);

static void step_handle(struct hotspot_threads *threads, struct view *view)
{
	uint64_t handle = word_at(view->bytes, 8);

	(void)threads;
	view->at = hotspot_address_is_sane(handle) ? handle : 0;
}

static void step_object(struct hotspot_threads *threads, struct view *view)
{
	view->at = object_of(&threads->layout, word_at(view->bytes, 8));
	view->len = threads->layout.name + (threads->layout.has_narrow_oops ? 4 : 8);
}

/* How an array begins: where its length is, and how far behind its begin are its elements. */
static uint32_t array_length_at(const struct thread_layout *layout)
{
	static const uint32_t offsets[] = {
		[HEADER_NARROW_CLASS] = 12,
		[HEADER_WIDE_CLASS] = 16,
		[HEADER_COMPACT] = 8,
	};

	return offsets[layout->header];
}

static uint32_t array_base(const struct thread_layout *layout)
{
	static const uint32_t offsets[] = {
		[HEADER_NARROW_CLASS] = 16,
		[HEADER_WIDE_CLASS] = 24, /* JDK 23 has it at 20, and this mode by a flag only */
		[HEADER_COMPACT] = 12,
	};

	return offsets[layout->header];
}

static void view_array(const struct thread_layout *layout, struct view *view, uint32_t field)
{
	view->at = object_at(layout, view->bytes + field);
	view->len = array_length_at(layout) + 4;
}

static void step_thread(struct hotspot_threads *threads, struct view *view)
{
	const struct thread_layout *layout = &threads->layout;
	uint32_t size = layout->has_narrow_oops ? 4 : 8;

	if (!is_thread_klass(threads, klass_of(layout, view->bytes))) {
		view->at = 0;
		return;
	}
	if (layout->name_is_chars) {
		view_array(layout, view, layout->name);
		return;
	}
	view->at = object_at(layout, view->bytes + layout->name);
	view->len = layout->value + size;
	if (layout->coder >= view->len)
		view->len = layout->coder + 1;
}

static void step_string(struct hotspot_threads *threads, struct view *view)
{
	const struct thread_layout *layout = &threads->layout;

	if (klass_of(layout, view->bytes) != layout->string_klass) {
		view->at = 0;
		return;
	}
	view->is_latin = layout->coder && view->bytes[layout->coder] == 0;
	view_array(layout, view, layout->value);
}

static void step_array(struct hotspot_threads *threads, struct view *view)
{
	const struct thread_layout *layout = &threads->layout;
	uint64_t len = word_at(view->bytes + array_length_at(layout), 4);

	/* Without coders an array has chars, with them it has bytes. */
	if (!layout->coder)
		len *= 2;
	view->at += array_base(layout);
	view->len = (uint32_t)len;
	if (!len || len > (view->is_latin ? HOTSPOT_THREAD_MAX_CHARS : VIEW_BYTES) ||
	    (!view->is_latin && len % 2))
		view->at = 0;
}

static int batch_resolve(struct hotspot_threads *threads, struct batch *batch)
{
	const struct thread_layout *layout = &threads->layout;
	const step_fn steps[] = { layout->is_handle ? step_handle : NULL, step_object, step_thread,
				  layout->name_is_chars ? NULL : step_string, step_array };
	int err = batch_read(threads, batch);

	for (size_t i = 0; i < ARRAY_SIZE(steps) && !err; i++) {
		if (!steps[i])
			continue;
		for (size_t k = 0; k < batch->cnt; k++)
			if (batch->views[k].at)
				steps[i](threads, &batch->views[k]);
		err = batch_read(threads, batch);
	}
	return err;
}

/* ---- text ---- */

static size_t put_utf8(uint32_t unit, char *out)
{
	if (unit < 0x80) {
		out[0] = (char)unit;
		return 1;
	}
	if (unit < 0x800) {
		out[0] = (char)(0xc0 | unit >> 6);
		out[1] = (char)(0x80 | (unit & 0x3f));
		return 2;
	}
	out[0] = (char)(0xe0 | unit >> 12);
	out[1] = (char)(0x80 | (unit >> 6 & 0x3f));
	out[2] = (char)(0x80 | (unit & 0x3f));
	return 3;
}

/* Bytes of the name, 0 when it is none that may be shown: control bytes, or characters of two units. */
static size_t name_of(const struct view *view, char out[NAME_BYTES])
{
	uint32_t width = view->is_latin ? 1 : 2;
	size_t len = 0;

	for (uint32_t i = 0; i < view->len; i += width) {
		uint32_t unit = (uint32_t)word_at(view->bytes + i, width);

		if (unit < 0x20 || (unit >= 0x7f && unit < 0xa0) ||
		    (unit >= 0xd800 && unit < 0xe000))
			return 0;
		len += put_utf8(unit, out + len);
	}
	out[len] = '\0';
	return len;
}

/* ---- lists ---- */

/* Of a list: addresses of JavaThreads, in one piece. */
static int list_array(const struct hotspot_threads *threads, uint64_t *out, size_t *cnt_out)
{
	const struct thread_layout *layout = &threads->layout;
	uint64_t list, cnt, array;
	int err = remote_mem_read_uint(threads->mem, layout->list, 8, &list);

	if (!err && !hotspot_address_is_sane(list))
		return 0;
	if (!err)
		err = remote_mem_read_uint(threads->mem, list + layout->list_length, 4, &cnt);
	if (!err)
		err = remote_mem_read_uint(threads->mem, list + layout->list_threads, 8, &array);
	if (err)
		return err;
	if (cnt > HOTSPOT_THREADS_MAX)
		cnt = HOTSPOT_THREADS_MAX;
	err = remote_mem_read(threads->mem, array, out, (size_t)cnt * sizeof(*out));
	if (!err)
		*cnt_out = (size_t)cnt;
	return err;
}

/* Likewise of a chain, link by link. */
static int list_chain(const struct hotspot_threads *threads, uint64_t *out, size_t *cnt_out)
{
	const struct thread_layout *layout = &threads->layout;
	uint64_t at;
	int err = remote_mem_read_uint(threads->mem, layout->first, 8, &at);

	while (!err && hotspot_address_is_sane(at) && *cnt_out < HOTSPOT_THREADS_MAX) {
		out[(*cnt_out)++] = htole64(at);
		err = remote_mem_read_uint(threads->mem, at + layout->next, 8, &at);
	}
	return err;
}

static int batch_tell(const struct batch *batch, hotspot_thread_fn fn, void *ctx)
{
	char name[NAME_BYTES];
	int err = 0;

	for (size_t i = 0; i < batch->cnt && !err; i++) {
		size_t len = batch->views[i].at ? name_of(&batch->views[i], name) : 0;

		if (len)
			err = fn(ctx, name, len);
	}
	return err;
}

int hotspot_threads__each(struct hotspot_threads *threads, hotspot_thread_fn fn, void *ctx)
{
	__cleanup_free uint64_t *list = malloc(HOTSPOT_THREADS_MAX * sizeof(*list));
	__cleanup_free struct batch *batch = malloc(sizeof(*batch));
	size_t cnt = 0;
	int err = list && batch ? 0 : -ENOMEM;

	if (!err)
		err = threads->layout.list ? list_array(threads, list, &cnt) :
					     list_chain(threads, list, &cnt);
	/* A thread ended meanwhile, or its list was replaced: the rest is good. */
	if (remote_mem_error_is_local(err))
		err = 0;
	for (size_t first = 0; first < cnt && !err; first += batch->cnt) {
		batch->cnt = cnt - first < BATCH_CNT ? cnt - first : BATCH_CNT;
		for (size_t i = 0; i < batch->cnt; i++) {
			uint64_t thread = le64toh(list[first + i]);

			batch->views[i] = (struct view){
				.at = hotspot_address_is_sane(thread) ?
					      thread + threads->layout.thread_object :
					      0,
				.len = 8,
			};
		}
		err = batch_resolve(threads, batch);
		if (!err)
			err = batch_tell(batch, fn, ctx);
	}
	return err;
}
