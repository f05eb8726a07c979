// SPDX-License-Identifier: Apache-2.0
/*
 * The rules, each with the source of its generator. See java_generated.h.
 *
 * What only the compiler of a program numbers is not here: javac's "lambda$run$3" and "Outer$1",
 * Kotlin's "Foo$bar$1", Scala's "$anonfun$main$1" are the same in each run of a build, and which
 * number of the next build is the same code cannot be told from names.
 */
#include "user/names/java_generated.h"

#include <stdint.h>

#include "user/util/cleanup.h"
#include "user/util/parse.h"

/*
 * A pattern is the text itself, and:
 *   <...>  is left out of the name
 *   ^      the name begins here
 *   ~      a package or class begins here
 *   .      "." or "/"; a "." comes out
 *   [d]    digits     [x] digits and a to f     [X] also A to F     [A] A to Z
 *   [w]    letters, digits, "_", bytes beyond ASCII
 *   [n]    "_" and digits, if they are there
 * A number behind the letter is how many there must be, "6+" how many at least; else one or more.
 * What a run ends with, a longer word must not go on with.
 */
struct rule {
	const char *pattern;
	const char *behind; /* must stand in front of it; NULL: nothing */
	bool is_mark;	    /* the text that it begins with is no other's */
};

static const struct rule class_rules[] = {
	/* HotSpot: address or hash of a hidden class (share/oops/instanceKlass.cpp, klass.cpp). */
	{ "<.0x[X]>", NULL, false },
	{ "<+0x[X]>", NULL, false },
	{ "</[d]>", NULL, false },
	/* JDK: java/lang/invoke/InnerClassLambdaMetafactory.java; before 21 with a counter. */
	{ "$$Lambda<$[d]>", NULL, true },
	/* A hash behind the lambda's own method: "Context$$Lambda$lambda$wrap$2$2630016632". */
	{ "<$[d6+]>", "$$Lambda$", false },
	/* JDK: java/lang/invoke/InvokerBytecodeGenerator.java. */
	{ "LambdaForm$[A]<[d]>", NULL, true },
	/* JDK: java/lang/reflect/Proxy.java, java/lang/invoke/MethodHandleProxies.java (22). */
	{ "~jdk.proxy<[d]>", NULL, false },
	{ "~jdk.MHProxy<[d]>", NULL, false },
	{ "$Proxy<[d]>", NULL, true },
	/* JDK: jdk/internal/reflect/MethodAccessorGenerator.java generateName(). */
	{ "GeneratedMethodAccessor<[d]>", NULL, true },
	{ "GeneratedConstructorAccessor<[d]>", NULL, true },
	{ "GeneratedSerializationConstructorAccessor<[d]>", NULL, true },
	/* Spring: spring-core org/springframework/cglib/core/SpringNamingPolicy.java. */
	{ "$$SpringCGLIB$$FastClass<$$[d]>", NULL, true },
	{ "$$SpringCGLIB<$$[d]>", NULL, true },
	/* CGLIB: net/sf/cglib/core/DefaultNamingPolicy.java; Spring's and Guice's copies. */
	{ "$$EnhancerBy[w]<$$[x][n]>", NULL, true },
	{ "$$FastClassBy[w]<$$[x][n]>", NULL, true },
	{ "$$KeyFactoryBy[w]<$$[x][n]>", NULL, true },
	{ "$$BeanCopierBy[w]<$$[x][n]>", NULL, true },
	{ "$$BeanMapBy[w]<$$[x][n]>", NULL, true },
	{ "$$BulkBeanBy[w]<$$[x][n]>", NULL, true },
	{ "$$MethodWrapperBy[w]<$$[x][n]>", NULL, true },
	/* Spring: spring-expression .../spel/standard/SpelCompiler.java createExpressionClass(). */
	{ "^spel.Ex<[d]>", NULL, false },
	/* Spring Data: ClassGeneratingPropertyAccessorFactory, ClassGeneratingEntityInstantiator. */
	{ "__Accessor_<[w]>", NULL, false },
	{ "__Accessor_<-[w]>", NULL, false },
	{ "__Instantiator_<[w]>", NULL, false },
	{ "__Instantiator_<-[w]>", NULL, false },
	/* ByteBuddy: net/bytebuddy/NamingStrategy.java SuffixingRandom, AuxiliaryType.java. */
	{ "$ByteBuddy<$[w6+]>", NULL, true },
	{ "$auxiliary<$[w6+]>", NULL, true },
	/* Mockito: org/mockito/internal/creation/bytebuddy/SubclassBytecodeGenerator.java. */
	{ "$MockitoMock<$[d]>", NULL, true },
	{ "$MockitoMock<$[w6+]>", NULL, true },
	/* Hibernate 5: org/hibernate/bytecode/internal/bytebuddy/BytecodeProviderImpl.java. */
	{ "$HibernateProxy<$[w6+]>", NULL, true },
	{ "$HibernateAccessOptimizer<$[w6+]>", NULL, true },
	{ "$HibernateInstantiator<$[w6+]>", NULL, true },
	/* Javassist: javassist/util/proxy/ProxyFactory.java makeProxyName(). */
	{ "_$$_jvst<[x]_[x]>", NULL, true },
	{ "_$$_javassist_<[d]>", NULL, true },
	/* JBoss: ViewConfiguration's PROXY_ID, MessageDrivenComponentDescription (as/ejb3). */
	{ "$$$view<[d]>", NULL, true },
	{ "$$$endpoint<[d]>", NULL, true },
	/* Jackson: afterburner .../afterburner/util/ClassName.java, a checksum of the code. */
	{ "$Access4JacksonDeserializer<[x8]>", NULL, true },
	{ "$Access4JacksonSerializer<[x8]>", NULL, true },
	/* fastjson: ASMSerializerFactory.java, ASMDeserializerFactory.java. */
	{ "~ASMSerializer<_[d]>_", NULL, false },
	{ "~FastjsonASMDeserializer<_[d]>_", NULL, false },
	/* Trino, Presto: io/trino/util/CompilerUtils.java makeClassName(): base, time or query, counter. */
	{ "<_[d8]_[d6]_[w]>", "$gen.", false },
	{ "<_[d]>", "$gen.", false },
	/*
	 * Spark: execution/WholeStageCodegenExec.scala generatedClassName(). With AdaptiveSparkPlanExec the
	 * stages of a query get their numbers as those before them finish.
	 */
	{ "$GeneratedIteratorForCodegenStage<[d]>", NULL, true },
	/* Derby: iapi/sql/compile/CompilerContext.java getUniqueClassName(). */
	{ "~org.apache.derby.exe.ac<[w8+]>", NULL, false },
	/* Groovy: groovy/lang/GroovyShell.java generateScriptName(); GroovyClassLoader.java parseClass(). */
	{ "^Script<[d]>", NULL, false },
	{ "^script<[d13+]>", NULL, false },
	/* Clojure: clojure/lang/Compiler.java, RT.nextID(); several counters where macros write names. */
	{ "$iter__<[d]__[d]>", NULL, false },
	{ "$G__<[d]__[d]>", NULL, false },
	{ "$eval<[d]>", NULL, false },
	{ "__<[d]>__", "$", false },
	{ "__<[d]>", "$", false },
	/* Jython: org/python/core/imp.java, Py.java getName(). */
	{ "~org.python.pycode._pyx<[d]>", NULL, false },
	/* JRuby: org/jruby/compiler/JITCompiler.java, a SHA-1 of the method and a counter. */
	{ "<_[X40+]>", "rubyjit.", false },
	/* jnr-ffi (JRuby): provider/jffi/NativeClosureProxy.java, ClosureInvoker, VariableAccessor. */
	{ "NativeClosureProxy$$impl$$<[d]>", NULL, true },
	{ "ClosureInvoker$$impl$$<[d]>", NULL, true },
	{ "$VariableAccessor$$<[d]>", NULL, false },
};

static const struct rule method_rules[] = {
	/* ByteBuddy: Instrumented methods, MethodNameTransformer.Suffixing.withRandomSuffix(). */
	{ "$accessor<$[w8]>", NULL, false },
	{ "$original<$[w8]>", NULL, false },
};

static bool is_word(char c)
{
	return parse_is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
	       (unsigned char)c >= 0x80;
}

static bool is_of_run(char kind, char c)
{
	switch (kind) {
	case 'd':
		return parse_is_digit(c);
	case 'x':
		return parse_is_digit(c) || (c >= 'a' && c <= 'f');
	case 'X':
		return parse_is_hex(c);
	case 'A':
		return c >= 'A' && c <= 'Z';
	default:
		return is_word(c);
	}
}

/* Of "[n]": the counter that may stand at `at`. */
static size_t counter_len(struct text name, size_t at)
{
	size_t end = at + 1;

	if (at == name.len || name.at[at] != '_')
		return 0;
	while (end < name.len && parse_is_digit(name.at[end]))
		end++;
	return end > at + 1 ? end - at : 0;
}

/* `run` is what stands behind a "[". How many bytes of the name it takes; SIZE_MAX: it does not fit. */
static size_t run_len(const char *run, struct text name, size_t at)
{
	size_t wanted = 0, len = 0;
	const char *count = run + 1;

	if (*run == 'n')
		return counter_len(name, at);
	while (at + len < name.len && is_of_run(*run, name.at[at + len]))
		len++;
	for (; parse_is_digit(*count); count++)
		wanted = wanted * 10 + (size_t)(*count - '0');
	if (!wanted)
		return len ? len : SIZE_MAX;
	return len == wanted || (*count == '+' && len > wanted) ? len : SIZE_MAX;
}

static bool begins_here(char mark, struct text name, size_t at)
{
	return at == 0 || (mark == '~' && (name.at[at - 1] == '.' || name.at[at - 1] == '/'));
}

static bool takes(char wanted, char c)
{
	return c == wanted || (wanted == '.' && c == '/');
}

/* What the pattern takes from `offset` on, 0 when it does not fit; what stays is appended. */
static size_t match(const char *pattern, struct text name, size_t offset, struct strbuf *out)
{
	size_t at = offset;
	bool is_kept = true, ends_in_run = false;

	for (; *pattern; pattern++) {
		size_t len = 1;

		if (*pattern == '<' || *pattern == '>') {
			is_kept = *pattern == '>';
			continue;
		}
		if (*pattern == '^' || *pattern == '~') {
			if (!begins_here(*pattern, name, at))
				return 0;
			continue;
		}
		ends_in_run = *pattern == '[';
		if (ends_in_run) {
			len = run_len(pattern + 1, name, at);
			if (len == SIZE_MAX)
				return 0;
			pattern = strchr(pattern, ']');
		} else if (at == name.len || !takes(*pattern, name.at[at])) {
			return 0;
		}
		if (is_kept && *pattern == '.')
			strbuf_putc(out, '.');
		else if (is_kept)
			strbuf_append(out, name.at + at, len);
		at += len;
	}
	return ends_in_run && at < name.len && is_word(name.at[at]) ? 0 : at - offset;
}

/* The rule that fits at `offset`: how many bytes it takes; 0: there is none. What stays is appended. */
static size_t append_rule(const struct rule *rules, size_t cnt, struct text name, size_t offset,
			  struct strbuf *out)
{
	size_t before = out->len;

	for (size_t i = 0; i < cnt; i++) {
		size_t len = match(rules[i].pattern, name, offset, out);

		/* What must stand in front is looked for in all of it: only where the rest fits. */
		if (len &&
		    (!rules[i].behind || text_has(text_until(name, offset), rules[i].behind)))
			return len;
		strbuf_truncate(out, before);
	}
	return 0;
}

/* Bytes with which what a rule takes can begin: most of a name's begin none, and names are many. */
static void note_first_bytes(const struct rule *rules, size_t cnt, bool *is_first)
{
	memset(is_first, 0, (UINT8_MAX + 1) * sizeof(*is_first));
	for (size_t i = 0; i < cnt; i++) {
		const char *first = rules[i].pattern;

		while (*first == '<' || *first == '^' || *first == '~')
			first++;
		if (*first == '[')
			memset(is_first, true, (UINT8_MAX + 1) * sizeof(*is_first));
		is_first[(unsigned char)*first] = true;
		if (*first == '.')
			is_first['/'] = true;
	}
}

/* Is it another text than it was? */
static bool append(const struct rule *rules, size_t cnt, struct text name, char slash,
		   struct strbuf *out)
{
	bool is_first[UINT8_MAX + 1], has_changed = false;
	size_t at = 0, plain = 0; /* from there on what only needs copying */

	note_first_bytes(rules, cnt, is_first);
	is_first['/'] = true;
	while (at < name.len) {
		size_t len;

		if (!is_first[(unsigned char)name.at[at]]) {
			at++;
			continue;
		}
		strbuf_append(out, name.at + plain, at - plain);
		len = append_rule(rules, cnt, name, at, out);
		has_changed |= len || name.at[at] == '/';
		if (!len)
			strbuf_putc(out, name.at[at] == '/' ? slash : name.at[at]);
		at += len ? len : 1;
		plain = at;
	}
	strbuf_append(out, name.at + plain, at - plain);
	return has_changed;
}

bool java_generated_append(struct text class, struct strbuf *out)
{
	return append(class_rules, ARRAY_SIZE(class_rules), class, '.', out);
}

void java_generated_append_method(struct text method, struct strbuf *out)
{
	(void)append(method_rules, ARRAY_SIZE(method_rules), method, '/', out);
}

bool java_generated_is_in(struct text name)
{
	for (size_t i = 0; i < ARRAY_SIZE(class_rules); i++) {
		const char *mark = class_rules[i].pattern;

		if (class_rules[i].is_mark && memmem(name.at, name.len, mark, strcspn(mark, "<[")))
			return true;
	}
	return false;
}
