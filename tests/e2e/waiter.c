// SPDX-License-Identifier: Apache-2.0
/*
 * A plain C program whose threads wait in known ways. Prints READY, then waits itself.
 * Usage: waiter threads N      N threads wait in pause(), for ever
 *        waiter file PATH      one does, on a stack that is a mapping of that file
 *        waiter edge PATH      one does, whose stack pointer is 4 bytes before such a mapping
 *        waiter frame PATH     one does, whose frame pointer is 8 bytes before it, in code that nobody knows
 *        waiter environment PATH  the process does, with such a mapping in the middle of its environment: $FILL,
 *                                 which must have three pages
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
#define PAUSE_NUMBER	 34 /* of x86-64 */

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

struct registers {
	char *sp, *fp;
	const void *code; /* where it waits in pause(); NULL: right here */
};

/* The registers are all that is there: nothing of the memory they lead to is ever touched. */
static void *thread_on_memory(void *arg)
{
#if defined(__x86_64__)
	const struct registers *registers = arg;

	__asm__ volatile("mov %0, %%rsp\n\t"
			 "mov %1, %%rbp\n\t"
			 "test %2, %2\n\t"
			 "jz 1f\n\t"
			 "jmp *%2\n\t"
			 "1: mov %3, %%eax\n\t"
			 "syscall\n\t"
			 "jmp 1b"
			 :
			 : "S"(registers->sp), "D"(registers->fp), "d"(registers->code),
			   "i"(SYS_pause)
			 : "memory", "rax", "rcx", "r11");
#endif
	wait_for_ever();
	return arg;
}

/* mov $SYS_pause, %eax; syscall; jmp: in memory of no file. */
static const void *code_of_nobody(void)
{
	static const unsigned char code[] = { 0xb8, PAUSE_NUMBER, 0, 0, 0, 0x0f, 0x05, 0xeb, 0xf7 };
	void *page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return page == MAP_FAILED ? NULL : memcpy(page, code, sizeof(code));
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

/* Where `at` is NULL, anywhere. */
static char *map_file(const char *path, void *at)
{
	int fd = open(path, O_RDWR);
	void *memory = mmap(at, FILE_STACK_BYTES, PROT_READ | PROT_WRITE,
			    MAP_SHARED | (at ? MAP_FIXED : 0), fd, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

static int start_on_file(const char *path)
{
	static struct registers registers;
	char *memory = map_file(path, NULL);

	registers.sp = registers.fp = memory + FILE_STACK_BYTES / 2;
	return memory ? start(thread_on_memory, &registers, 1) : 1;
}

/* In memory that is followed by a mapping of the file. */
static int start_before_file(const char *path, size_t sp_before, size_t fp_before, const void *code)
{
	static struct registers registers;
	char *memory = mmap(NULL, 2 * FILE_STACK_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *border = memory + FILE_STACK_BYTES;

	if (memory == MAP_FAILED)
		return 1;
	memset(memory, 0, FILE_STACK_BYTES);
	if (!map_file(path, border))
		return 1;
	registers = (struct registers){ border - sp_before, border - fp_before, code };
	return start(thread_on_memory, &registers, 1);
}

/* Over the first page that is all of $FILL. */
static int map_over_environment(const char *path)
{
	char *fill = getenv("FILL");
	int fd = open(path, O_RDWR);

	if (fd < 0 || !fill || strlen(fill) < 3 * PAGE_BYTES)
		return 1;
	fill += PAGE_BYTES - (unsigned long)fill % PAGE_BYTES;
	return mmap(fill, PAGE_BYTES, PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED;
}

static int start_with_pages(void)
{
	static struct registers registers;
	char *pages = undelivered_pages();

	registers.sp = registers.fp = pages + FILE_STACK_BYTES / 2;
	return pages ? start(thread_on_memory, &registers, 1) : 1;
}

static int start_without_page(void)
{
	void *pages = undelivered_pages();

	return pages ? start(thread_waits_for_page, pages, 1) : 1;
}

int main(int argc, char **argv)
{
	int err = 1;

	if (argc == 3 && strcmp(argv[1], "threads") == 0)
		err = start(thread_waits, NULL, atoi(argv[2]));
	else if (argc == 3 && strcmp(argv[1], "flips") == 0)
		err = start(thread_flips, NULL, atoi(argv[2]));
	else if (argc == 2 && strcmp(argv[1], "disk") == 0)
		err = start_without_page();
	else if (argc == 2 && strcmp(argv[1], "page") == 0)
		err = start_with_pages();
	else if (argc == 3 && strcmp(argv[1], "file") == 0)
		err = start_on_file(argv[2]);
	else if (argc == 3 && strcmp(argv[1], "edge") == 0)
		err = start_before_file(argv[2], 4, 4, NULL);
	else if (argc == 3 && strcmp(argv[1], "frame") == 0)
		err = start_before_file(argv[2], 1024, 8, code_of_nobody());
	else if (argc == 3 && strcmp(argv[1], "environment") == 0)
		err = map_over_environment(argv[2]);
	if (err) {
		fprintf(stderr, "waiter: cannot start\n");
		return 1;
	}
	puts("READY");
	fflush(stdout);
	wait_for_ever();
}
