// SPDX-License-Identifier: Apache-2.0
/*
 * See work_note.h. A sequence number before and after the note, so that a reader never sees half of
 * it. The writer may be a process that was taken over: after some tries the reader gives up and
 * sees nobody, and it uses the note only to decide who is to blame.
 */
#include "user/collect/naming/work_note.h"

#include <stdlib.h>
#include <sys/mman.h>

#define READ_TRIES 10000

struct work_note {
	uint64_t sequence; /* odd while it is written */
	struct work work;
	uint32_t is_busy;
	uint64_t given_up_id; /* written by the other side */
};

struct work_note *work_note__new(void)
{
	void *page = mmap(NULL, sizeof(struct work_note), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return page == MAP_FAILED ? NULL : page;
}

void work_note__free(struct work_note *note)
{
	if (note)
		(void)munmap(note, sizeof(*note));
}

static void note_write(struct work_note *note, const struct work *work, bool is_busy)
{
	uint64_t sequence = __atomic_load_n(&note->sequence, __ATOMIC_RELAXED) | 1;

	__atomic_store_n(&note->sequence, sequence, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	note->work = *work;
	note->is_busy = is_busy;
	__atomic_store_n(&note->sequence, sequence + 1, __ATOMIC_RELEASE);
}

void work_note__on(struct work_note *note, const struct work *work)
{
	static const struct work nobody;

	if (note)
		note_write(note, work ? work : &nobody, true);
}

void work_note__idle(struct work_note *note)
{
	static const struct work nobody;

	if (note)
		note_write(note, &nobody, false);
}

uint64_t work_note__read(const struct work_note *note, struct work *out, bool *is_busy_out)
{
	static const struct work nobody;
	uint64_t before = 0;

	for (int i = 0; i < READ_TRIES; i++) {
		before = __atomic_load_n(&note->sequence, __ATOMIC_ACQUIRE);
		*out = note->work;
		*is_busy_out = note->is_busy;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if ((before & 1) || __atomic_load_n(&note->sequence, __ATOMIC_RELAXED) != before)
			continue;
		out->comm[WORK_COMM_BYTES - 1] = '\0';
		out->owner[WORK_OWNER_BYTES - 1] = '\0';
		return before;
	}
	*out = nobody;
	return before;
}

bool work_note__is_given_up(const struct work_note *note, uint64_t window_id)
{
	return note && window_id <= __atomic_load_n(&note->given_up_id, __ATOMIC_RELAXED);
}

void work_note__give_up(struct work_note *note, uint64_t window_id)
{
	__atomic_store_n(&note->given_up_id, window_id, __ATOMIC_RELAXED);
}
