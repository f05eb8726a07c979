# SPDX-License-Identifier: Apache-2.0
"""The scripts that a newcomer runs: what they do, what they leave, and what they say when they
cannot. The style rules must be able to fail."""
import os
import re
import shutil
from pathlib import Path

import pytest

from harness.programs import BIN, TOP, lines_of, run, wait_until

SCRIPTS = TOP / "scripts"
SPDX = "// SPDX-License-Identifier: Apache-2.0\n"
BPF_HEADER = "/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */\n"
# Verdicts that the gate has no use for, where they are allowed.
GOOD_TESTS = """# SPDX-License-Identifier: Apache-2.0
import pytest


def is_quick(seconds):
    time.sleep(1)


@pytest.mark.long("a share")
def test_share_figures(seconds):
    assert is_quick(seconds) and 3 <= 0.5 * 7


@pytest.mark.live
def test_never():
    # by construction: it is never looked at
    # before that
    time.sleep(2)
    assert_rare(0, 1, 0.5)  # by construction: a part of nothing
"""
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


@pytest.fixture
def checkout(tmp_path):
    """A small tree of its own that breaks no rule: the rules look at what git knows there."""
    copy = tmp_path / "checkout"
    for name in ("Makefile", ".clang-format", "scripts/check-style", "scripts/lib.sh", "scripts/rooms.txt",
                 "tests/tools/gate_verdicts.py"):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(TOP / name, copy / name)
    module = SPDX + "int x;\n" * 101
    for name, text in [("user/util/probe_host.c", module), ("user/util/fs.c", module), ("bpf/jbpf.h", BPF_HEADER),
                       ("tests/unit/util/test_fs.c", SPDX), ("tests/e2e/test_good.py", GOOD_TESTS),
                       ("tests/unit/covered.txt", "util/probe_host: test_fs.c\n")]:
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        (copy / name).write_text(text)
    run("git", "init", "-q", copy, check=True)
    run("git", "-C", copy, "add", "-A", check=True)
    return copy


def fake_programs(tmp_path, **programs):
    """A PATH that has these shell scripts in front of the real programs."""
    folder = tmp_path / "fakes"
    folder.mkdir()
    for name, body in programs.items():
        path = folder / name.replace("_", "-")
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)
    return {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}


# ---- demo ---------------------------------------------------------------------------------------

def test_a_month_of_made_up_days_has_its_alarm(tmp_path):
    folder = tmp_path / "days"
    result = run(SCRIPTS / "demo" / "days", folder)
    assert result.returncode == 0, result.stderr
    lines = lines_of(result.stdout)
    assert any(line.startswith("shop: regression: shop.p0.Class0.method2: +") for line in lines)
    assert any(line.startswith("mail: no regression") for line in lines)
    page = (folder / "pages" / "latest" / "index.html").read_text()
    assert "<title>30 days: " in page
    result = run(SCRIPTS / "demo" / "days", folder)
    assert result.returncode == 1 and "already" in result.stderr


# ---- quickstart ---------------------------------------------------------------------------------

def leftovers():
    found = set(Path("/tmp").glob("jbpf-quickstart.*")) | set(Path("/tmp").glob("jbpf-container.*"))
    found |= set(Path("/sys/fs/cgroup").glob("jbpf-demo-*"))
    found |= set(Path("/sys/fs/cgroup/unified").glob("jbpf-demo-*"))
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if b"Shop" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0"):
                found.add(f"process {pid}")
        except OSError:
            continue  # gone meanwhile
    docker = run("docker", "ps", "-a", "--filter", "name=jbpf-demo", "--format", "{{.Names}}")
    found |= set(lines_of(docker.stdout))
    images = run("docker", "images", "--format", "{{.Repository}}")
    return found | {name for name in lines_of(images.stdout) if name.startswith("jbpf-demo-image")}


@pytest.mark.live
@pytest.mark.long("a load lives, or a window lasts, so many seconds by the clock")
@pytest.mark.parametrize("engine", ["docker", "namespaces"])
def test_quickstart_profiles_a_jvm_in_a_container_and_cleans_up(tmp_path, engine):
    environment = dict(os.environ)
    if engine == "namespaces":
        environment["DOCKER_HOST"] = f"unix://{tmp_path}/no-engine.sock"
    before = leftovers()
    page = tmp_path / "flame.html"
    for seconds in (14, 90):  # a busy machine has not compiled the demo in the first ones
        result = run(SCRIPTS / "quickstart", "--no-install", "--seconds", seconds, "-o", page, timeout=240, env=environment)
        assert result.returncode == 0, result.stdout + result.stderr
        # Named methods of the demo program are on top of the table.
        rows = [line.split() for line in result.stdout.splitlines() if re.match(r"\s*\d+\.\d\d\s", line)]
        top = rows[0][4:6] if rows else []  # the method and "[jit"
        if len(top) == 2 and top[0].startswith("Shop") and top[1].startswith("[jit"):
            break
    assert re.search(r"Docker container" if engine == "docker" else r"namespaces of its own", result.stderr)
    assert top[0].startswith("Shop") and top[1].startswith("[jit"), result.stdout
    assert str(page) in result.stdout
    assert page.read_text().lstrip().lower().startswith("<!doctype html>")
    wait_until(lambda: leftovers() <= before, 30, "everything is taken down")


@pytest.mark.root
def test_quickstart_without_root_says_so(readable_folder):
    scripts = shutil.copytree(SCRIPTS, readable_folder / "scripts")
    result = run(*NOBODY, "bash", scripts / "quickstart")
    assert result.returncode == 1
    assert len(lines_of(result.stderr)) == 1 and "root" in result.stderr, result.stderr


@pytest.mark.root
def test_quickstart_without_btf_says_so():
    result = run("unshare", "-m", "sh", "-c", 'mount -t tmpfs none /sys/kernel/btf && exec "$0"',
                 SCRIPTS / "quickstart")
    assert result.returncode == 1
    assert len(lines_of(result.stderr)) == 1 and "BTF" in result.stderr, result.stderr


@pytest.mark.parametrize("arguments", [["--seconds"], ["--seconds", "9"], ["--seconds", "x"], ["--fast"]])
def test_quickstart_refuses_wrong_usage(arguments):
    result = run(SCRIPTS / "quickstart", *arguments)
    assert result.returncode == 2 and len(lines_of(result.stderr)) == 1, result.stderr


# ---- a Docker engine of the tests' own ----------------------------------------------------------

@pytest.mark.root
def test_engine_that_does_not_start_is_not_mistaken_for_the_one_that_answers(tmp_path):
    """Another run's is at the same socket, and ends with that run."""
    name = f"fake-{os.getpid()}"
    environment = fake_programs(tmp_path, docker="exit 0", dockerd='sleep 1; echo "failed: pid file found" >&2; exit 1')
    environment["JBPF_TEST_CACHE"] = str(tmp_path)
    result = run("bash", "-c", '. scripts/lib.sh && . scripts/lib-docker.sh && dockerd_start "$0"', name,
                 cwd=TOP, env=environment)
    shutil.rmtree(Path("/run/jbpf-tests", name))
    assert result.returncode == 1 and "pid file found" in result.stderr, result.stderr


# ---- install-deps -------------------------------------------------------------------------------

def test_install_deps_has_nothing_to_do_here():
    result = run(SCRIPTS / "install-deps", "--list", "build", "test", "demo")
    assert (result.returncode, result.stdout) == (0, "")


@pytest.mark.root
def test_install_deps_without_root_names_what_is_missing(tmp_path):
    tmp_path.chmod(0o755)
    environment = fake_programs(tmp_path, dpkg_query="exit 1")
    for parent in [tmp_path, *tmp_path.parents]:
        if str(parent).startswith("/tmp/"):
            parent.chmod(parent.stat().st_mode | 0o055)
    script = tmp_path / "scripts"
    shutil.copytree(SCRIPTS, script)
    result = run(*NOBODY, "bash", script / "install-deps", "build", env=environment)
    assert result.returncode == 1
    assert len(lines_of(result.stderr)) == 1, result.stderr
    assert "clang" in result.stderr and "sudo" in result.stderr


@pytest.mark.root
def test_install_deps_says_why_apt_failed(tmp_path):
    environment = fake_programs(
        tmp_path, dpkg_query="exit 1", sleep="exit 0",
        apt_get='[ "$1" = update ] && exit 0; echo "E: Unable to locate package clang" >&2; exit 100')
    environment["TMPDIR"] = str(tmp_path)
    result = run(SCRIPTS / "install-deps", "build", env=environment)
    assert result.returncode == 1
    assert "Unable to locate package clang" in lines_of(result.stderr)[-1], result.stderr


@pytest.mark.root
def test_install_deps_tries_again_when_the_network_hiccups(tmp_path):
    environment = fake_programs(
        tmp_path, dpkg_query=f'[ -e {tmp_path}/2 ] && echo installed', sleep="exit 0",
        apt_get=f'[ "$1" = update ] && exit 0; [ -e {tmp_path}/1 ] && touch {tmp_path}/2 && exit 0; '
                f'touch {tmp_path}/1; echo "E: Failed to fetch clang" >&2; exit 100')
    environment["TMPDIR"] = str(tmp_path)
    result = run(SCRIPTS / "install-deps", "build", env=environment)
    assert result.returncode == 0, result.stderr
    assert len(lines_of(result.stderr)) == 1, result.stderr


def test_install_deps_off_debian_names_the_packages(tmp_path):
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("bash", "dirname", "sort", "id"):
        (folder / name).symlink_to(shutil.which(name))
    result = run("bash", SCRIPTS / "install-deps", env={"PATH": str(folder)})
    assert result.returncode == 1
    assert len(lines_of(result.stderr)) == 1 and "libbpf-dev" in result.stderr, result.stderr


# ---- commands of the docs -----------------------------------------------------------------------

CONFIG = "/etc/jbpf/jbpfd.conf"
CONFIG_EDITS = [line.strip().split("    #")[0] for page in ("README.md", *(f"docs/{path.name}" for path in (TOP / "docs").glob("*.md")))
                for line in (TOP / page).read_text().splitlines() if line.startswith("    ") and CONFIG in line]


def test_docs_change_the_config_somewhere():
    assert any("event = cpu," in command for command in CONFIG_EDITS), CONFIG_EDITS


@pytest.mark.parametrize("command", CONFIG_EDITS)
def test_a_change_of_the_config_that_docs_tell_may_be_made_twice(tmp_path, command):
    """Of the whole line all but what needs the host: the service, and the check of what the kernel allows."""
    copy = tmp_path / "jbpfd.conf"
    shutil.copy(SCRIPTS / "systemd" / "jbpfd.conf", copy)
    words = command.replace(CONFIG, str(copy)).replace("sudo ", "")
    steps = [step for step in words.split(" && ") if not re.match(r"systemctl |jbpfd --check ", step)]
    for _ in range(2):
        for step in steps:
            run("bash", "-c", step, check=True)
        result = run(BIN / "jbpfd", "--config", copy, "--version")
        assert result.returncode == 0, result
    assert [line for line in lines_of(copy.read_text()) if line.startswith("event")] in ([], ["event = cpu,page-faults,off-cpu"])


# ---- check-style --------------------------------------------------------------------------------

@pytest.mark.root
def test_style_rules_are_content_with_the_tree_they_are_tried_on(checkout):
    result = run(checkout / "scripts" / "check-style", cwd=checkout)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("rule, path, text", [
    ("format", "user/util/bad.c", SPDX + "int  x ;\n"),
    ("includes", "user/util/bad.c", SPDX + '#include "user/model/profile.h"\n'),
    ("includes", "symbols/bad.c", SPDX + "#include <bpf/libbpf.h>\n"),
    ("includes", "user/model/bad.c", SPDX + '#include "user/store/store.h"\n'),
    ("includes", "user/collect/bad.c", SPDX + '#include "bpf/jbpf.skel.h"\n'),
    ("includes", "user/output/bad.c", SPDX + '#include "user/collect/probe/probe.h"\n'),
    ("includes", "user/cmd/bad.c", SPDX + '#include "user/store/format/format.h"\n'),
    ("includes", "user/cmd/bad.c", SPDX + "#include <zstd.h>\n"),
    ("includes", "user/new_room/bad.c", SPDX + '#include "user/util/log.h"\n'),
    ("includes", "bpf/jbpf.h", "#include <linux/types.h>\n"),
    ("includes", "scripts/rooms.txt", "room user/util user/host\nroom user/host\n"),
    ("headers", "user/util/bad.h", "/* SPDX-License-Identifier: Apache-2.0 */\nsize_t x(FILE *f);\n"),
    ("licence", "user/util/bad.c", "int x;\n"),
    ("licence", "bpf/bad.bpf.c", SPDX),
    ("size: no file", "user/util/bad.c", SPDX + "int x;\n" * 801),
    ("size: no function", "user/util/bad.c", SPDX + "int f(void)\n{\n" + "\tg();\n" * 101 + "}\n"),
    ("tests", "user/util/bad.c", SPDX + "int x;\n" * 101),
    ("paths", "scripts/bad.md", "see /wo" + "rk/shared\n"),
    ("scripts", "scripts/bad", "#!/bin/bash\n# SPDX-License-Identifier: Apache-2.0\nrm $1\n"),
], ids=lambda value: value if "\n" not in value else "text")
def test_style_rule_can_fail(checkout, rule, path, text):
    (checkout / path).parent.mkdir(exist_ok=True)
    (checkout / path).write_text(text)
    result = run(checkout / "scripts" / "check-style", rule, cwd=checkout)
    assert result.returncode == 1
    failed = [line for line in result.stdout.splitlines() if line.startswith("FAILED")]
    assert any(line.startswith(f"FAILED {rule}") for line in failed), result.stdout
    assert Path(path).name in result.stdout
    assert re.fullmatch(r"\d+ passed, [1-9]\d* failed", result.stdout.splitlines()[-1])


@pytest.mark.parametrize("line, said", [
    ("bad: test_fs.c", "no module bad"),
    ("util/fs: test_fs.c", "util/fs has a unit test"),
    ("util/probe_host:", "no test covers util/probe_host"),
    ("util/probe_host: test_bad.c", "there is no test_bad.c"),
], ids=lambda value: value.split(":")[0] if ":" in value else "")
def test_list_of_tests_says_what_is_so(checkout, line, said):
    with open(checkout / "tests/unit/covered.txt", "a") as covered:
        covered.write(line + "\n")
    result = run(checkout / "scripts" / "check-style", "tests", cwd=checkout)
    assert result.returncode == 1 and said in result.stdout, result.stdout


@pytest.mark.parametrize("text, is_covered", [
    ('#include "user/util/called.h"\n\tcalled_once(1);\n', True),
    ('#include "user/util/called.h"\n', False),
    ("\tcalled_once(1);\n", False),
], ids=["called", "included", "unknown"])
def test_module_that_a_unit_test_calls_needs_no_line(checkout, text, is_covered):
    (checkout / "user/util/called.c").write_text(SPDX + "int x;\n" * 101)
    (checkout / "tests/unit/util/test_fs.c").write_text(SPDX + text)
    result = run(checkout / "scripts" / "check-style", "tests", cwd=checkout)
    assert (result.returncode == 0) == is_covered, result.stdout


def test_unit_test_of_another_room_is_none_of_this_one(checkout):
    (checkout / "user/host").mkdir()
    (checkout / "user/host/fs.c").write_text(SPDX + "int x;\n" * 101)
    result = run(checkout / "scripts" / "check-style", "tests", cwd=checkout)
    assert result.returncode == 1 and "user/host/fs.c: wants tests/unit/host/test_fs.c" in result.stdout, result.stdout


@pytest.mark.parametrize("test", [
    "def test_bad():\n    assert_rare(1, 2, 0.3)\n",
    "@pytest.mark.live\ndef test_bad():\n    assert 1 <= 0.9 * len('12')\n",
    "def test_bad(seconds):\n    assert 1 <= seconds\n",
    "@pytest.fixture\ndef scene():\n    time.sleep(3)\n\n\ndef test_bad(scene):\n    pass\n",
    "class Scene:\n    def memory(self):\n        return 'VmHWM'\n\n\ndef look():\n    return Scene()\n\n\ndef test_bad():\n"
    "    look().memory()\n",
], ids=["rare", "share", "seconds", "fixture", "helper"])
def test_test_of_the_gate_must_not_judge_what_a_busy_host_can_spoil(checkout, test):
    (checkout / "tests/e2e/test_bad.py").write_text("# SPDX-License-Identifier: Apache-2.0\n" + test)
    result = run(checkout / "scripts" / "check-style", "verdicts", cwd=checkout)
    assert result.returncode == 1 and re.search(r"^tests/e2e/test_bad\.py:\d+: ", result.stdout, re.M), result.stdout
    assert "test_good" not in result.stdout


@pytest.mark.parametrize("name, figure, other", [
    ("bench.json", r'"value": [\d.]+', '"value": 7'),
    ("curves.json", r'"value": [\d.]+', '"value": 7'),
    ("bench-other.json", r'"value": [\d.]+(?=,\s+"unit": "[^"]*",\s+"target": ")', '"value": 7'),
    ("cost.md", r"\| [\d.]+ ns", "| 7 ns"),
    ("cost.svg", r'width="\d+" height="12"', 'width="7" height="12"'),
])
def test_a_figure_that_was_not_measured_breaks_the_style(checkout, name, figure, other):
    shutil.copytree(TOP / "docs", checkout / "docs")
    shutil.copytree(TOP / "tests/bench", checkout / "tests/bench")
    for changed in (False, True):
        if changed:
            text = (checkout / "docs" / name).read_text()
            (checkout / "docs" / name).write_text(re.sub(figure, other, text, count=1))
        result = run(checkout / "scripts" / "check-style", "figures", cwd=checkout)
        assert result.returncode == changed and ("run tests/bench/draw" in result.stdout) == changed, result.stdout


def test_folder_that_is_too_full_breaks_the_style(checkout):
    for number in range(36):
        (checkout / "user/util" / f"bad_{number}.c").write_text(SPDX)
    result = run(checkout / "scripts" / "check-style", "size: no folder", cwd=checkout)
    assert result.returncode == 1 and "user/util: " in result.stdout, result.stdout


@pytest.mark.parametrize("program", ["jbpf", "jbpfd"])
def test_no_shipped_program_does_itself_what_helpers_are_for(program):
    """What tests do in their own process is called *_here, helpers that they fork themselves forking*: no program that
    is shipped has any of it."""
    names = {line.split()[-1].partition(".")[0] for line in lines_of(run("nm", BIN / program, check=True).stdout)}
    assert {"parser__elf", "opener__file"} <= names, "nm sees its functions"
    assert not [name for name in names if name.endswith("_here") or name.startswith("forking")]
