// SPDX-License-Identifier: Apache-2.0
/*
 * A plain C program whose threads wait in known ways. Prints READY, then waits itself.
 * Usage: waiter threads N      N threads wait in pause(), for ever
 *        waiter file PATH      one does, on a stack that is a mapping of that file
 *        waiter page           one does, on a stack whose pages nobody delivers
 *        waiter flips N        N threads sleep for a moment, again and again
 *        waiter disk           one waits for a page that nobody delivers, as for one of a disk that hangs
 */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PAGE_BYTES	 4096
#define STACK_BYTES	 (64 << 10)
#define FILE_STACK_BYTES (16 << 10)

static __attribute__((noinline)) void wait_for_ever(void)
{
	for (;;)
		pause();
}

static void *thread_waits(void *arg)
{
	(void)arg;
	wait_for_ever();
	return NULL;
}

static void *thread_flips(void *arg)
{
	/*
	 * Shorter than the time between two visits. A hundred of them that sleep for a tenth of this starve a
	 * virtual machine's kernel: where nobody is preempted even RCU has no CPU for a minute.
	 */
	const struct timespec moment = { .tv_nsec = 20000000 };

	for (;;)
		(void)nanosleep(&moment, NULL);
	return arg;
}

/* The stack pointer is all that is there: nothing of that memory is ever touched. */
static void *thread_on_memory(void *arg)
{
#if defined(__x86_64__)
	__asm__ volatile("mov %0, %%rsp\n\t"
			 "1: mov %1, %%eax\n\t"
			 "syscall\n\t"
			 "jmp 1b"
			 :
			 : "r"((char *)arg + FILE_STACK_BYTES / 2), "i"(SYS_pause)
			 : "memory", "rax", "rcx", "r11");
#endif
	wait_for_ever();
	return arg;
}

/* Pages that come when somebody answers, which nobody does. */
static void *undelivered_pages(void)
{
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct uffdio_api api = { .api = UFFD_API };
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	void *pages = mmap(NULL, FILE_STACK_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	range.range.start = (unsigned long)pages;
	range.range.len = FILE_STACK_BYTES;
	if (fd < 0 || pages == MAP_FAILED || ioctl(fd, UFFDIO_API, &api) ||
	    ioctl(fd, UFFDIO_REGISTER, &range))
		return NULL;
	return pages;
}

/* mlock() waits for its pages uninterruptibly, but for SIGKILL. */
static __attribute__((noinline)) void *thread_waits_for_page(void *page)
{
	if (mlock(page, PAGE_BYTES))
		wait_for_ever();
	return page;
}

static int start(void *(*body)(void *arg), void *arg, int cnt)
{
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	for (int i = 0; i < cnt; i++) {
		pthread_t thread;

		if (pthread_create(&thread, &attr, body, arg))
			return 1;
	}
	return 0;
}

static int start_on_file(const char *path)
{
	int fd = open(path, O_RDWR);
	void *memory = mmap(NULL, FILE_STACK_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return memory == MAP_FAILED ? 1 : start(thread_on_memory, memory, 1);
}

static int start_with_pages(void *(*body)(void *arg))
{
	void *pages = undelivered_pages();

	return pages ? start(body, pages, 1) : 1;
}

int main(int argc, char **argv)
{
	int err = 1;

	if (argc == 3 && strcmp(argv[1], "threads") == 0)
		err = start(thread_waits, NULL, atoi(argv[2]));
	else if (argc == 3 && strcmp(argv[1], "flips") == 0)
		err = start(thread_flips, NULL, atoi(argv[2]));
	else if (argc == 2 && strcmp(argv[1], "disk") == 0)
		err = start_with_pages(thread_waits_for_page);
	else if (argc == 2 && strcmp(argv[1], "page") == 0)
		err = start_with_pages(thread_on_memory);
	else if (argc == 3 && strcmp(argv[1], "file") == 0)
		err = start_on_file(argv[2]);
	if (err) {
		fprintf(stderr, "waiter: cannot start\n");
		return 1;
	}
	puts("READY");
	fflush(stdout);
	wait_for_ever();
}
