// SPDX-License-Identifier: Apache-2.0
import javax.tools.*;
import java.net.URI;
import java.util.*;
/** Compiles generated sources for ever, in process: deep stacks that hardly ever come again. Argument: a directory for the classes. */
public class Compile {
    static class Source extends SimpleJavaFileObject {
        final String text;
        Source(String name, String text) { super(URI.create("string:///" + name + ".java"), Kind.SOURCE); this.text = text; }
        @Override public CharSequence getCharContent(boolean ignore) { return text; }
    }
    static String source(int n, Random r) {
        StringBuilder b = new StringBuilder("import java.util.*; import java.util.stream.*; public class C" + n + " {\n");
        for (int i = 0; i < 20 + r.nextInt(40); i++) {
            switch (r.nextInt(4)) {
                case 0: b.append("  static int f" + i + "(List<Integer> l) { return l.stream().filter(x -> x > " + i + ").map(x -> x * 2).collect(Collectors.summingInt(x -> x)); }\n"); break;
                case 1: b.append("  static <T extends Comparable<T>> T g" + i + "(Collection<? extends T> c) { T m = null; for (T t : c) if (m == null || t.compareTo(m) > 0) m = t; return m; }\n"); break;
                case 2: b.append("  enum E" + i + " { A, B, C; int v() { switch (this) { case A: return 1; case B: return 2; default: return " + i + "; } } }\n"); break;
                default: b.append("  interface I" + i + " { default String s(Map<String, List<Integer>> m) { StringBuilder b = new StringBuilder(); m.forEach((k, v) -> b.append(k).append(v)); return b.toString(); } }\n");
            }
        }
        return b.append("}\n").toString();
    }
    public static void main(String[] a) throws Exception {
        JavaCompiler c = ToolProvider.getSystemJavaCompiler();
        Random r = new Random(1);
        String out = a[0];
        for (int n = 0;; n++) {
            List<Source> sources = new ArrayList<>();
            for (int i = 0; i < 5; i++) sources.add(new Source("C" + i, source(i, r)));
            c.getTask(null, null, null, List.of("-d", out, "-nowarn", "-proc:none"), null, sources).call();
            Thread.sleep(50 + r.nextInt(100));
        }
    }
}
