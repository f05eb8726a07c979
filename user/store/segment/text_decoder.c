// SPDX-License-Identifier: Apache-2.0
/*
 * A ring of jobs between the caller and one thread. Positions only ever grow: the caller moves
 * `head` (submitted) and `tail` (dropped), the thread moves `done`. A job belongs to the thread
 * from its submission until `done` has passed it, and to the caller at all other times.
 */
#include "user/store/segment/text_decoder.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <zstd.h>

#include "user/store/format/format.h"
#include "user/store/segment/merged_unit.h"

#define RING_JOBS	 3
#define THREAD_MIN_BYTES (64 * 1024)	    /* handing over costs as much as decoding less */
#define LARGE_TEXT_BYTES (16 * 1024 * 1024) /* not kept, and not more than one at a time */

enum thread_state {
	THREAD_NOT_TRIED = 0,
	THREAD_RUNS = 1,
	THREAD_IMPOSSIBLE = 2,
};

struct text_decoder {
	struct text_job jobs[RING_JOBS];
	ZSTD_DCtx *context; /* the thread's while jobs are queued, else the caller's */
	enum thread_state thread_state;
	pthread_t thread;
	pthread_mutex_t mutex; /* guards what follows */
	pthread_cond_t has_work;
	pthread_cond_t is_done;
	uint64_t head;
	uint64_t done;
	uint64_t tail;
	bool is_stopping;
};

struct text_decoder *text_decoder__new(void)
{
	struct text_decoder *decoder = calloc(1, sizeof(*decoder));

	if (!decoder)
		return NULL;
	decoder->context = ZSTD_createDCtx();
	if (!decoder->context) {
		free(decoder);
		return NULL;
	}
	/*
	 * ZSTD_d_forceIgnoreChecksum under the name that needs no static linking. The CRC-32C of the
	 * compressed frame has been checked by then, and XXH64 over the text costs as much as half
	 * of the decoding. A libzstd that does not know the parameter checks, which is right, too.
	 */
	(void)ZSTD_DCtx_setParameter(decoder->context, ZSTD_d_experimentalParam3, 1);
	pthread_mutex_init(&decoder->mutex, NULL);
	pthread_cond_init(&decoder->has_work, NULL);
	pthread_cond_init(&decoder->is_done, NULL);
	return decoder;
}

void text_decoder__free(struct text_decoder *decoder)
{
	if (!decoder)
		return;
	if (decoder->thread_state == THREAD_RUNS) {
		pthread_mutex_lock(&decoder->mutex);
		decoder->is_stopping = true;
		pthread_cond_signal(&decoder->has_work);
		pthread_mutex_unlock(&decoder->mutex);
		pthread_join(decoder->thread, NULL);
	}
	for (size_t i = 0; i < RING_JOBS; i++) {
		strbuf_release(&decoder->jobs[i].labels);
		strbuf_release(&decoder->jobs[i].lines);
		strbuf_release(&decoder->jobs[i].threads);
		strbuf_release(&decoder->jobs[i].ticks);
		strbuf_release(&decoder->jobs[i].frame);
		strbuf_release(&decoder->jobs[i].rows);
		merged_unit__free(decoder->jobs[i].unit);
		free(decoder->jobs[i].text);
	}
	pthread_cond_destroy(&decoder->is_done);
	pthread_cond_destroy(&decoder->has_work);
	pthread_mutex_destroy(&decoder->mutex);
	ZSTD_freeDCtx(decoder->context);
	free(decoder);
}

static int reserve_text(struct text_job *job, size_t len)
{
	size_t cap = len + len / 4 + 1; /* the next one is about as long */
	char *text;

	if (len <= job->text_cap && job->text)
		return 0;
	text = malloc(cap);
	if (!text)
		return -ENOMEM;
	free(job->text);
	job->text = text;
	job->text_cap = cap;
	return 0;
}

static int job_load_rows(struct text_job *job)
{
	int err = merged_unit__load(job->unit, &job->head, (const uint8_t *)job->rows.data,
				    job->rows.len);

	job->has_broken_rows = err == -EINVAL;
	return err;
}

static int job_decode(ZSTD_DCtx *context, struct text_job *job)
{
	int err = job->rows.len ? job_load_rows(job) : 0;
	size_t len;

	if (err)
		return err;
	if (job->text_len > FORMAT_TEXT_MAX_BYTES)
		return -EINVAL;
	err = reserve_text(job, (size_t)job->text_len);
	if (err)
		return err;
	if (job->frame.len == 0)
		return job->text_len ? -EINVAL : 0;
	if (ZSTD_getFrameContentSize(job->frame.data, job->frame.len) != job->text_len)
		return -EINVAL;
	len = ZSTD_decompressDCtx(context, job->text, (size_t)job->text_len, job->frame.data,
				  job->frame.len);
	return format_decompress_result(len, (size_t)job->text_len);
}

static void *decode_jobs(void *ctx)
{
	struct text_decoder *decoder = ctx;

	pthread_mutex_lock(&decoder->mutex);
	for (;;) {
		struct text_job *job;

		while (decoder->done == decoder->head && !decoder->is_stopping)
			pthread_cond_wait(&decoder->has_work, &decoder->mutex);
		if (decoder->is_stopping)
			break;
		job = &decoder->jobs[decoder->done % RING_JOBS];
		pthread_mutex_unlock(&decoder->mutex);
		job->err = job_decode(decoder->context, job);
		pthread_mutex_lock(&decoder->mutex);
		decoder->done++;
		pthread_cond_signal(&decoder->is_done);
	}
	pthread_mutex_unlock(&decoder->mutex);
	return NULL;
}

/* false: the caller has to do it alone. */
static bool thread_start(struct text_decoder *decoder)
{
	sigset_t all, before;
	cpu_set_t cpus;

	if (decoder->thread_state != THREAD_NOT_TRIED)
		return decoder->thread_state == THREAD_RUNS;
	decoder->thread_state = THREAD_IMPOSSIBLE;
	if (sched_getaffinity(0, sizeof(cpus), &cpus) == 0 && CPU_COUNT(&cpus) < 2)
		return false;
	/* The main thread handles all signals. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (pthread_create(&decoder->thread, NULL, decode_jobs, decoder) == 0)
		decoder->thread_state = THREAD_RUNS;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return decoder->thread_state == THREAD_RUNS;
}

struct text_job *text_decoder__claim(struct text_decoder *decoder)
{
	struct text_job *job = &decoder->jobs[decoder->head % RING_JOBS];

	/* Only this thread writes head and tail. */
	if (decoder->head - decoder->tail == RING_JOBS)
		return NULL;
	strbuf_clear(&job->frame);
	strbuf_clear(&job->rows);
	strbuf_clear(&job->lines);
	strbuf_clear(&job->threads);
	strbuf_clear(&job->ticks);
	job->text_len = 0;
	job->is_unit = false;
	job->has_broken_rows = false;
	return job;
}

/* While it is not, the decoding context is the caller's. */
static bool is_busy(struct text_decoder *decoder)
{
	bool result;

	pthread_mutex_lock(&decoder->mutex);
	result = decoder->done != decoder->head;
	pthread_mutex_unlock(&decoder->mutex);
	return result;
}

static void wait_for(struct text_decoder *decoder, uint64_t position)
{
	pthread_mutex_lock(&decoder->mutex);
	while (decoder->done < position)
		pthread_cond_wait(&decoder->is_done, &decoder->mutex);
	pthread_mutex_unlock(&decoder->mutex);
}

void text_decoder__submit(struct text_decoder *decoder)
{
	struct text_job *job = &decoder->jobs[decoder->head % RING_JOBS];
	bool is_for_thread;

	if (job->text_len >= LARGE_TEXT_BYTES)
		wait_for(decoder, decoder->head);
	/* A small text has to wait for those that the thread still has. */
	is_for_thread = (job->text_len >= THREAD_MIN_BYTES && thread_start(decoder)) ||
			is_busy(decoder);
	if (!is_for_thread)
		job->err = job_decode(decoder->context, job);
	pthread_mutex_lock(&decoder->mutex);
	decoder->head++;
	if (is_for_thread)
		pthread_cond_signal(&decoder->has_work);
	else
		decoder->done++;
	pthread_mutex_unlock(&decoder->mutex);
}

struct text_job *text_decoder__take(struct text_decoder *decoder)
{
	if (decoder->tail == decoder->head)
		return NULL;
	wait_for(decoder, decoder->tail + 1);
	return &decoder->jobs[decoder->tail % RING_JOBS];
}

void text_decoder__drop(struct text_decoder *decoder)
{
	struct text_job *job = &decoder->jobs[decoder->tail % RING_JOBS];

	if (job->text_cap >= LARGE_TEXT_BYTES) {
		free(job->text);
		job->text = NULL;
		job->text_cap = 0;
	}
	decoder->tail++;
}
