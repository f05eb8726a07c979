// SPDX-License-Identifier: Apache-2.0
/*
 * A process that burns CPU time in burn_before_jvm() for DELAY seconds, and then makes itself a JVM and runs main() of a
 * class in it. jni.h is not needed: numbers of functions are those of JNI's table, which never change.
 * Usage: late_jvm DELAY LIBJVM CLASS ARGUMENT JVM-OPTION...
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define JNI_VERSION 0x00010008
#define OPTIONS_MAX 16

enum jni_function {
	JNI_FIND_CLASS = 6,
	JNI_EXCEPTION_DESCRIBE = 16,
	JNI_GET_STATIC_METHOD = 113,
	JNI_CALL_STATIC_VOID = 141,
	JNI_NEW_STRING = 167,
	JNI_NEW_ARRAY = 172,
};

struct jvm_option {
	char *text;
	void *extra;
};

struct jvm_arguments {
	int32_t version;
	int32_t option_cnt;
	struct jvm_option *options;
	uint8_t ignores_unknown;
};

typedef void *(**jni_env)(void *env, ...);
typedef int32_t (*create_fn)(void **vm, void **env, void *arguments);

static volatile double sink = 1.5;

static __attribute__((noinline)) void burn_before_jvm(time_t seconds)
{
	time_t end = time(NULL) + seconds;

	while (time(NULL) < end) {
		for (int i = 0; i < 1000000; i++)
			sink = sink * 1.0000001 + 0.5;
	}
}

static int run_main(void *env, const char *name, const char *argument)
{
	jni_env functions = *(void **)env;
	void *class = functions[JNI_FIND_CLASS](env, name);
	void *method = class ? functions[JNI_GET_STATIC_METHOD](env, class, "main",
								"([Ljava/lang/String;)V") :
			       NULL;
	void *strings = functions[JNI_FIND_CLASS](env, "java/lang/String");
	void *text = functions[JNI_NEW_STRING](env, argument);
	void *array = functions[JNI_NEW_ARRAY](env, 1, strings, text);

	if (!method) {
		functions[JNI_EXCEPTION_DESCRIBE](env);
		return 1;
	}
	functions[JNI_CALL_STATIC_VOID](env, class, method, array);
	return 0;
}

int main(int argc, char **argv)
{
	struct jvm_option options[OPTIONS_MAX] = { { 0 } };
	struct jvm_arguments arguments = { .version = JNI_VERSION, .options = options };
	void *library, *vm, *env;
	create_fn create;

	if (argc < 5 || argc - 5 > OPTIONS_MAX)
		return 2;
	for (int i = 5; i < argc; i++)
		options[arguments.option_cnt++].text = argv[i];
	burn_before_jvm(atoi(argv[1]));
	library = dlopen(argv[2], RTLD_NOW | RTLD_GLOBAL);
	create = library ? (create_fn)dlsym(library, "JNI_CreateJavaVM") : NULL;
	if (!create || create(&vm, &env, &arguments)) {
		fprintf(stderr, "late_jvm: no JVM of %s\n", argv[2]);
		return 1;
	}
	return run_main(env, argv[3], argv[4]);
}
