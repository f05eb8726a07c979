// SPDX-License-Identifier: Apache-2.0
/* See deadline_call.h. */
#include "user/util/deadline_call.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "user/util/clock.h"

#define STACK_BYTES (256u << 10)

struct task {
	struct deadline_work work;
	void *ctx;
	pthread_mutex_t lock;
	pthread_cond_t is_done_cond;
	bool is_done;
	bool is_left; /* nobody waits any more: the thread has `ctx` */
	atomic_uint users;
};

static atomic_uint left_cnt;

static void task_put(struct task *task)
{
	if (atomic_fetch_sub(&task->users, 1) > 1)
		return;
	pthread_cond_destroy(&task->is_done_cond);
	pthread_mutex_destroy(&task->lock);
	free(task);
}

static void *task_main(void *arg)
{
	struct task *task = arg;
	bool is_left;

	task->work.run(task->ctx);
	pthread_mutex_lock(&task->lock);
	task->is_done = true;
	is_left = task->is_left;
	pthread_cond_signal(&task->is_done_cond);
	pthread_mutex_unlock(&task->lock);
	if (is_left) {
		task->work.release(task->ctx);
		atomic_fetch_sub(&left_cnt, 1);
	}
	task_put(task);
	return NULL;
}

static struct task *task_new(const struct deadline_work *work, void *ctx)
{
	struct task *task = calloc(1, sizeof(*task));
	pthread_condattr_t attr;

	if (!task)
		return NULL;
	task->work = *work;
	task->ctx = ctx;
	atomic_init(&task->users, 2);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&task->is_done_cond, &attr);
	pthread_condattr_destroy(&attr);
	pthread_mutex_init(&task->lock, NULL);
	return task;
}

/* Signals are for the other threads. 0 or -errno. */
static int task_start(struct task *task)
{
	pthread_attr_t attr;
	sigset_t all, before;
	pthread_t thread;
	int err;

	sigfillset(&all);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	err = pthread_create(&thread, &attr, task_main, task);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return -err;
}

/* 0, or -ETIMEDOUT: it is left behind. */
static int task_wait(struct task *task, uint64_t timeout_ns)
{
	uint64_t end_ns = clock_ns(CLOCK_MONOTONIC) + timeout_ns;
	const struct timespec end = {
		.tv_sec = (time_t)(end_ns / CLOCK_NS_PER_S),
		.tv_nsec = (long)(end_ns % CLOCK_NS_PER_S),
	};
	int err = 0;

	pthread_mutex_lock(&task->lock);
	while (!task->is_done && err != ETIMEDOUT)
		err = pthread_cond_timedwait(&task->is_done_cond, &task->lock, &end);
	if (!task->is_done) {
		task->is_left = true;
		atomic_fetch_add(&left_cnt, 1);
	}
	err = task->is_done ? 0 : -ETIMEDOUT;
	pthread_mutex_unlock(&task->lock);
	return err;
}

int deadline_call(const struct deadline_work *work, void *ctx, uint64_t timeout_ns)
{
	struct task *task;
	int err;

	if (deadline_call_left() >= DEADLINE_CALL_MAX_LEFT) {
		work->release(ctx);
		return -EBUSY;
	}
	task = task_new(work, ctx);
	if (!task) {
		work->release(ctx);
		return -ENOMEM;
	}
	err = task_start(task);
	if (err) {
		work->release(ctx);
		task_put(task); /* the thread's, which there is none of */
	} else {
		err = task_wait(task, timeout_ns);
	}
	task_put(task);
	return err;
}

uint32_t deadline_call_left(void)
{
	return atomic_load(&left_cnt);
}
