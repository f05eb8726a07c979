// SPDX-License-Identifier: Apache-2.0
#include "user/collect/naming/thread_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/util/cleanup.h"
#include "user/model/thread_counts.h"
#include "user/util/vec.h"

#define COMM_LEN (THREAD_COMM_BYTES - 1)
#define MIDDLE_HEAD \
	7u /* bytes before the ".." of a name that was cut in its middle, and behind it */
#define MIDDLE_TAIL	6u
#define FULL_MAX_BYTES	192u
#define RECHECK_WINDOWS 6u /* a comm without a full name is read again after so many */

void thread_names_release(struct thread_names *names)
{
	for (size_t i = 0; i < names->cnt; i++) {
		free(names->comms[i].full);
		free(names->comms[i].next);
	}
	free(names->comms);
	*names = (struct thread_names){ .comms = NULL };
}

static struct thread_comm *find(const struct thread_names *names, const char *comm)
{
	for (size_t i = 0; i < names->cnt; i++)
		if (strcmp(names->comms[i].comm, comm) == 0)
			return &names->comms[i];
	return NULL;
}

/* ---- what is wanted ---- */

/* May it be what is left of a longer name? Where digits were folded its length is not known. */
static bool may_be_cut(const char *comm)
{
	return strlen(comm) == COMM_LEN || strchr(comm, '#');
}

static bool is_due(const struct thread_comm *comm)
{
	if (!comm->is_known)
		return true;
	if (comm->is_shared)
		return false;
	/* One that has a name is read each time: a thread with another one may have come. */
	return comm->full || comm->age >= RECHECK_WINDOWS;
}

int thread_names_want(struct thread_names *names, const char *comm, uint64_t window)
{
	struct thread_comm *known;
	int err;

	if (!may_be_cut(comm))
		return 0;
	names->keeps_digits |= strpbrk(comm, "0123456789") != NULL;
	known = find(names, comm);
	if (!known) {
		if (names->cnt == THREAD_COMMS_MAX)
			return 0;
		err = vec_room(names->comms, names->cnt, names->cap, 8);
		if (err)
			return err;
		known = &names->comms[names->cnt++];
		*known = (struct thread_comm){ .is_due = false };
		memcpy(known->comm, comm, strnlen(comm, COMM_LEN));
	}
	if (known->window == window)
		return 0;
	known->window = window;
	known->age++;
	known->is_due = is_due(known);
	return 0;
}

bool thread_names_are_due(const struct thread_names *names)
{
	for (size_t i = 0; i < names->cnt; i++)
		if (names->comms[i].is_due)
			return true;
	return false;
}

/* ---- reading ---- */

void thread_names_begin(struct thread_names *names)
{
	for (size_t i = 0; i < names->cnt; i++) {
		struct thread_comm *comm = &names->comms[i];

		free(comm->next);
		comm->next = NULL;
		comm->java_cnt = 0;
		comm->task_cnt = 0;
	}
}

/* Two names for one comm: behind what both have of it they may be one, digits aside. */
static void merge(struct thread_comm *comm, const char *full)
{
	char folded[FULL_MAX_BYTES + 1];
	size_t len = strlen(full), next_len = strlen(comm->next);

	if (strcmp(comm->next, full) == 0)
		return;
	comm->is_shared = true;
	if (len < COMM_LEN || next_len < COMM_LEN)
		return;
	memcpy(folded, full, COMM_LEN);
	(void)thread_name_fold(full + COMM_LEN, len - COMM_LEN, folded + COMM_LEN);
	(void)thread_name_fold(comm->next + COMM_LEN, next_len - COMM_LEN, comm->next + COMM_LEN);
	comm->is_shared = strcmp(comm->next, folded) != 0;
}

static int add_full(struct thread_names *names, const char *cut, size_t cut_len, const char *full)
{
	char key[THREAD_COMM_BYTES];
	struct thread_comm *comm;

	memcpy(key, cut, cut_len);
	key[cut_len] = '\0';
	if (!names->keeps_digits)
		(void)thread_name_fold(key, cut_len, key);
	comm = find(names, key);
	if (!comm || !comm->is_due)
		return 0;
	comm->java_cnt++;
	if (comm->next) {
		if (!comm->is_shared)
			merge(comm, full);
		return 0;
	}
	comm->next = strdup(full);
	return comm->next ? 0 : -ENOMEM;
}

int thread_names_add_java(struct thread_names *names, const char *name, size_t len)
{
	char full[FULL_MAX_BYTES + 1], middle[COMM_LEN];
	int err;

	if (len > FULL_MAX_BYTES || memchr(name, '\0', len))
		return 0; /* its comm has one thread more than Java's, and so keeps the comm */
	memcpy(full, name, len);
	full[len] = '\0';
	if (!names->keeps_digits)
		(void)thread_name_fold(full, len, full);
	if (len <= COMM_LEN)
		return add_full(names, name, len, full);
	memcpy(middle, name, MIDDLE_HEAD);
	memcpy(middle + MIDDLE_HEAD, "..", 2);
	memcpy(middle + MIDDLE_HEAD + 2, name + len - MIDDLE_TAIL, MIDDLE_TAIL);
	err = add_full(names, name, COMM_LEN, full);
	return err ? err : add_full(names, middle, COMM_LEN, full);
}

static bool is_candidate(const struct thread_comm *comm)
{
	return comm->is_due && !comm->is_shared && comm->next &&
	       strcmp(comm->next, comm->comm) != 0;
}

bool thread_names_have_candidates(const struct thread_names *names)
{
	for (size_t i = 0; i < names->cnt; i++)
		if (is_candidate(&names->comms[i]))
			return true;
	return false;
}

void thread_names_add_task(struct thread_names *names, const char *comm, size_t len)
{
	char key[THREAD_COMM_BYTES];
	struct thread_comm *known;

	if (len > COMM_LEN)
		return;
	memcpy(key, comm, len);
	key[len] = '\0';
	if (!names->keeps_digits)
		(void)thread_name_fold(key, len, key);
	known = find(names, key);
	if (known)
		known->task_cnt++;
}

bool thread_names_settle(struct thread_names *names)
{
	bool is_whole = true;

	for (size_t i = 0; i < names->cnt; i++) {
		struct thread_comm *comm = &names->comms[i];
		bool is_proved = comm->java_cnt == comm->task_cnt;

		if (!comm->is_due)
			continue;
		free(comm->full);
		comm->full = NULL;
		if (is_candidate(comm) && is_proved)
			comm->full = take_ptr(comm->next);
		else if (is_candidate(comm))
			is_whole = false;
		comm->is_known = true;
		/* Who stood in the way may be gone the next time. */
		comm->age = is_candidate(comm) && !is_proved ? RECHECK_WINDOWS : 0;
	}
	return is_whole;
}

void thread_names_end(struct thread_names *names)
{
	thread_names_begin(names);
	for (size_t i = 0; i < names->cnt; i++)
		names->comms[i].is_due = false;
}

const char *thread_names_find(const struct thread_names *names, const char *comm)
{
	const struct thread_comm *known = names->cnt ? find(names, comm) : NULL;

	return known ? known->full : NULL;
}
