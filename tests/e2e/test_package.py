# SPDX-License-Identifier: Apache-2.0
"""What is shipped: the Debian package is whole, and the Kubernetes manifest gives jbpfd just what
the systemd unit gives it - and that is enough, in a container that is not privileged."""
import importlib.machinery
import importlib.util
import os
import re
import shutil
import socket
import tarfile
from pathlib import Path

import pytest
import yaml

from harness.containers import java
from harness.folded import Folded
from harness.programs import BIN, TOP, jbpf, lines_of, run, wait_until

UNIT = TOP / "scripts" / "systemd" / "jbpfd.service"
MANIFEST = TOP / "scripts" / "kubernetes" / "jbpf.yaml"


def unit_capabilities():
    lines = re.findall(r"^CapabilityBoundingSet=(.*)$", UNIT.read_text(), re.M)
    return sorted(" ".join(lines).split())


@pytest.fixture(scope="module")
def manifest():
    documents = {one["kind"]: one for one in yaml.safe_load_all(MANIFEST.read_text())}
    return documents["DaemonSet"]["spec"]["template"]["spec"]


# ---- the Debian package -------------------------------------------------------------------------

# What git says of a commit, and what it is as a version of a package and of a chart.
VERSIONS = [
    ("1.2", "1.2", "1.2.0"),
    ("v1.2.3", "1.2.3", "1.2.3"),
    ("1.2-dirty", "1.2+dirty", "1.2.0+dirty"),
    ("1.2-5-gabc123", "1.2+5.gabc123", "1.2.0+5.gabc123"),
    ("1.2-rc1", "1.2~rc1", "1.2.0-rc1"),
    ("v1.2.3-beta2-5-gabc123-dirty", "1.2.3~beta2+5.gabc123.dirty", "1.2.3-beta2+5.gabc123.dirty"),
]


def version_of_package(said):
    script = f'eval "$(sed -n "/^version_of()/,/^}}/p" "{TOP}/scripts/package/make-deb")"; version_of "$1"'
    return run("bash", "-c", script, "version_of", said, check=True).stdout.strip()


@pytest.mark.parametrize("said, package_version, chart_version", VERSIONS)
def test_a_version_is_one_of_packages_and_charts(said, package_version, chart_version):
    path = str(TOP / "scripts/package/make-chart")
    make_chart = importlib.machinery.SourceFileLoader("make_chart", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("make_chart", make_chart))
    make_chart.exec_module(module)
    assert version_of_package(said) == package_version
    assert module.chart_version(said) == chart_version


def test_versions_of_packages_sort_as_they_came():
    order = [version_of_package(said) for said in ("0ba093c7", "1.2-rc1", "1.2-rc1-3-gabc123", "1.2-rc2", "1.2", "1.2-5-gabc123", "1.3-rc1")]
    for older, newer in zip(order, order[1:]):
        run("dpkg", "--compare-versions", older, "lt", newer, check=True)


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """The package, unpacked, and what dpkg says about it."""
    out = tmp_path_factory.mktemp("deb")
    # Sources may lie anywhere.
    top = out / "path with blanks"
    top.symlink_to(TOP)
    # Symbols are a package of their own, of which nothing is judged.
    made = run(top / "scripts/package/make-deb", out, timeout=300, env=os.environ | {"DEB_BUILD_OPTIONS": "noautodbgsym"})
    assert made.returncode == 0, made.stderr
    path = next(Path(line) for line in made.stdout.splitlines() if "/jbpf_" in line)
    root = out / "root"
    run("dpkg-deb", "-x", path, root, check=True)
    return root, run("dpkg-deb", "-I", path, check=True).stdout


@pytest.mark.root
def test_package_has_every_program_with_its_man_page(package):
    root, _ = package
    programs = {path.name for path in (root / "usr/bin").iterdir()}
    assert {"jbpf", "jbpfd"} | {link.name for link in BIN.iterdir() if link.is_symlink()} == programs
    pages = {path.name.split(".")[0] for path in (root / "usr/share/man").rglob("*.gz")}
    assert programs == pages


@pytest.mark.root
def test_package_has_completion_for_every_program(package):
    root, _ = package
    programs = {path.name for path in (root / "usr/bin").iterdir()}
    folder = root / "usr/share/bash-completion/completions"
    assert {path.name for path in folder.iterdir()} == programs
    assert all(path.resolve() == folder / "jbpf" for path in folder.iterdir())
    assert (root / "usr/share/zsh/vendor-completions/_jbpf").is_file()


@pytest.mark.root
def test_programs_of_the_package_run(package):
    root, _ = package
    for path in sorted((root / "usr/bin").iterdir()):
        result = run(path, "--version")
        assert result.returncode == 0 and result.stdout.startswith("jbpf"), f"{path}: {result.stderr}"


@pytest.mark.root
def test_package_names_the_libraries_it_needs(package):
    _, info = package
    depends = re.search(r"^ Depends: (.*)$", info, re.M)[1]
    for library in ("libbpf1", "libseccomp2", "libmicrohttpd12", "libzstd1", "libc6"):
        assert re.search(rf"\b{library}\b", depends), depends


@pytest.mark.root
def test_image_has_every_library_that_a_program_loads(package):
    """Those that are linked, and those that are loaded when they are needed and otherwise missed without a word."""
    root, info = package
    there = set(re.findall(r"[\w.+-]+", re.search(r"^ Depends: (.*)$", info, re.M)[1]))
    dockerfile = (TOP / "scripts/package/Dockerfile").read_text().rpartition("FROM ")[2]
    there |= set(re.search(r"apt-get install (?:-\S+ |\\\n|\s)+([^\\&]*)", dockerfile)[1].split())
    loaded = {name for path in sorted((TOP / "user").rglob("*.c"))
              for name in re.findall(r'"(lib[\w-]+\.so\.\d+)"', path.read_text())}
    assert {"libcurl.so.4", "libmicrohttpd.so.12"} <= loaded
    linked = {name for program in ("jbpf", "jbpfd")
              for name in re.findall(r"NEEDED.*\[(lib\S+)\]", run("readelf", "-d", root / "usr/bin" / program).stdout)}
    assert "libbpf.so.1" in linked
    for name in sorted(loaded | linked):
        owner = run("dpkg", "-S", f"*/{name}", check=True).stdout
        owners = set(re.findall(r"^([\w.+-]+)(?::\w+)?: ", owner, re.M))
        assert owners & there, f"{name} is of {owners}, the image has {there}"
    assert "ca-certificates" in there, "jbpf push verifies the server"


@pytest.mark.root
def test_units_of_the_package_start_what_is_in_it(package):
    root, _ = package
    units = sorted((root / "lib/systemd/system").glob("*.service"))
    assert [path.stem for path in units] == ["jbpf-diff", "jbpf-push", "jbpfd"]
    for unit in units:
        program = re.search(r"^ExecStart=(\S+)", unit.read_text(), re.M)[1]
        assert (root / program.lstrip("/")).exists(), f"{unit.name}: {program}"


@pytest.mark.root
def test_units_of_the_package_are_content_with_themselves(package):
    """systemd's own checker, on the units as they are installed, with the programs at their places."""
    root, _ = package
    units = [root / "units" / path.name for path in sorted((root / "lib/systemd/system").iterdir())]
    for unit in units:
        unit.parent.mkdir(exist_ok=True)
        text = (root / "lib/systemd/system" / unit.name).read_text()
        unit.write_text(text.replace("/usr/bin/", f"{root}/usr/bin/"))
    said = run("systemd-analyze", "verify", "--man=no", *units)
    mine = [line for line in lines_of(said.stdout + said.stderr) if "jbpf" in line]
    assert said.returncode == 0 and not mine, mine
    for unit, worst in (("jbpfd.service", 3.5), ("jbpf-diff.service", 1.2), ("jbpf-push.service", 2.0)):
        said = run("systemd-analyze", "security", "--offline=true", "--no-pager", root / "units" / unit).stdout
        assert float(re.search(r"exposure level for .*: ([\d.]+)", said)[1]) <= worst, said


def test_units_say_what_another_store_needs_of_them():
    """What is the file system to them is read-only but for their own directories, and two of them name the store."""
    page = (TOP / "user/man/jbpfd.8").read_text()
    place = re.search(r"^store +=  *(\S+)", page, re.M)[1]
    assert place != "/var/lib/jbpf"
    assert f"\n#   ReadWritePaths={place}\n" in UNIT.read_text() and f"ReadWritePaths={place}" in page
    for name in ("jbpf-diff", "jbpf-push"):
        text = UNIT.with_name(f"{name}.service").read_text()
        named = {line.partition("=")[0] for line in lines_of(text) if re.search(r"/var/lib/jbpf(?!-)", line)
                 and not line.startswith(("#", "ReadOnlyPaths="))}
        assert "ExecStart" in named
        for key in named:
            assert re.search(rf"^#   {key}=\n#   {key}=.*{place}", text, re.M), f"{name}: {key}"


@pytest.mark.root
def test_jbpfd_takes_the_config_file_of_the_package(package, tmp_path):
    """Each option of it, also those that are commented out, with the value that holds without it."""
    root, _ = package
    text = (root / "etc/jbpf/jbpfd.conf").read_text()
    assert "metrics = unix:/run/jbpf/metrics.sock" in text
    config = tmp_path / "all.conf"
    config.write_text(re.sub(r"^#(?=[a-z-]+ +=)", "", text, flags=re.M))
    usage = run(BIN / "jbpfd", "--help").stdout
    assert run(BIN / "jbpfd", "--config", config, "--version").returncode == 0
    named = set(re.findall(r"^#?([a-z-]+) +=", text, re.M))
    assert named == set(re.findall(r"^  --([a-z-]+) \S", usage, re.M)) - {"config", "pid", "probe"}
    # jbpfd opens it when it starts: a path of the file system, and not one of the hierarchy.
    assert re.search(r"^#cgroup += (\S+)", text, re.M)[1].startswith("/sys/fs/cgroup/")
    config.write_text(text + "nonsense = 1\n")
    assert run(BIN / "jbpfd", "--config", config, "--version").returncode == 2


@pytest.fixture
def other_root(tmp_path):
    """This host's files, of which changes are thrown away."""
    scratch, root = tmp_path / "scratch", tmp_path / "root"
    changes, aside = scratch / "changes", scratch / "aside"
    scratch.mkdir()
    root.mkdir()
    run("mount", "-t", "tmpfs", "none", scratch, check=True)
    try:
        changes.mkdir()
        aside.mkdir()
        run("mount", "-t", "overlay", "none", "-o", f"lowerdir=/,upperdir={changes},workdir={aside}", root, check=True)
        yield root
    finally:
        run("umount", "--recursive", root)
        run("umount", scratch)


def named_jbpf(folder):
    """All that is named so below it, but for what engines have there, which comes and goes meanwhile."""
    for place, folders, files in os.walk(folder):
        folders[:] = set(folders) - {"docker", "containerd"}
        yield from (Path(place, name) for name in (*folders, *files) if name.startswith("jbpf"))


@pytest.mark.root
def test_package_installs_upgrades_and_goes_without_a_trace(package, other_root):
    root, _ = package
    first, = root.parent.glob("jbpf_*.deb")
    tree = root.parent / "later"
    run("dpkg-deb", "-R", first, tree, check=True)
    control, config = tree / "DEBIAN/control", tree / "etc/jbpf/jbpfd.conf"
    control.write_text(re.sub(r"^Version:.*", "Version: 9.0", control.read_text(), flags=re.M))
    config.write_text(config.read_text().replace("#keep-age   = 30d", "#keep-age   = 31d"))
    run("dpkg-deb", "-Zgzip", "-z1", "-b", tree, other_root / "tmp/later.deb", check=True)
    shutil.copy(first, other_root / "tmp/first.deb")

    def inside(*command):
        result = run("chroot", other_root, "env", "DEBIAN_FRONTEND=noninteractive", "PATH=/usr/sbin:/usr/bin:/sbin:/bin",
                     *command, timeout=120)
        assert result.returncode == 0, f"{command}: {result.stdout} {result.stderr}"
        return result.stdout

    inside("dpkg", "-i", "/tmp/first.deb")
    assert inside("getent", "passwd", "jbpf").rstrip().endswith(":/usr/sbin/nologin")
    assert (other_root / "etc/systemd/system/multi-user.target.wants/jbpfd.service").is_symlink()
    installed = other_root / "etc/jbpf/jbpfd.conf"
    mine = installed.read_text() + "window = 20s\n"
    installed.write_text(mine)
    store = other_root / "var/lib/jbpf/v1"
    store.mkdir(parents=True, exist_ok=True)  # this host may have one, as whoever works on jbpf

    inside("dpkg", "--force-confold", "-i", "/tmp/later.deb")
    assert installed.read_text() == mine, "what the administrator wrote stays"
    inside("dpkg", "-r", "jbpf")
    assert installed.exists() and store.exists()
    assert not (other_root / "usr/bin/jbpfd").exists()
    # A disk of its own for profiles is emptied; where it is mounted can only stay.
    run("mount", "-t", "tmpfs", "none", store.parent, check=True)
    (store / "cpu").mkdir(parents=True)
    (other_root / "var/lib/jbpf-diff/latest").mkdir(parents=True)
    (other_root / "var/lib/jbpf-push").symlink_to("../elsewhere")
    inside("dpkg", "-P", "jbpf")
    assert not list(store.parent.iterdir())
    run("umount", store.parent, check=True)
    shutil.rmtree(store.parent)
    left = [path for place in ("etc", "var/lib", "lib/systemd", "usr/lib/sysusers.d", "usr/bin")
            for path in named_jbpf(other_root / place)]
    assert not [path for path in left if "dpkg" not in path.parts], left


# ---- the claims ---------------------------------------------------------------------------------

def test_every_test_that_a_claim_of_safety_names_is_there():
    named = re.findall(r"`(tests/\S+?)::(\w+)`", (TOP / "docs" / "safety.md").read_text())
    assert len(named) > 30
    missing = [f"{path}::{name}" for path, name in named
               if not re.search(rf"\b{name}\(", (TOP / path).read_text())]
    assert not missing, missing


# ---- what a service manager is told --------------------------------------------------------------

@pytest.mark.live
def test_the_service_manager_knows_when_it_samples_and_that_it_lives(daemon, tmp_path):
    manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    manager.bind(str(tmp_path / "notify"))
    manager.settimeout(120)
    one = daemon(window="1s", wrapper=["env", f"NOTIFY_SOCKET={tmp_path}/notify", "WATCHDOG_USEC=120000000"]).start()
    assert manager.recv(4096) == b"READY=1\nWATCHDOG_USEC=120000000"
    assert " samples at " in one.log(), "not before the BPF programs run"
    assert manager.recv(4096) == b"WATCHDOG=1"
    assert manager.recv(4096) == b"WATCHDOG=1"
    assert one.stop() == 0
    rest = []
    manager.settimeout(0.1)
    while True:
        try:
            rest.append(manager.recv(4096))
        except TimeoutError:
            break
    assert b"STOPPING=1" in rest
    manager.close()


# ---- the manifest -------------------------------------------------------------------------------

def test_manifest_gives_the_capabilities_of_the_unit_and_no_more(manifest):
    context = manifest["containers"][0]["securityContext"]
    assert context["capabilities"]["drop"] == ["ALL"]
    assert sorted(f"CAP_{one}" for one in context["capabilities"]["add"]) == unit_capabilities()
    assert context["privileged"] is False and context["allowPrivilegeEscalation"] is False
    assert context["readOnlyRootFilesystem"] is True
    assert "hostNetwork" not in manifest and manifest["automountServiceAccountToken"] is False


def test_manifest_bounds_what_a_pod_takes_and_asks_how_it_is(manifest):
    container = manifest["containers"][0]
    limits, requests = container["resources"]["limits"], container["resources"]["requests"]
    assert {"cpu", "memory", "ephemeral-storage"} == set(limits) == set(requests)
    unit = UNIT.read_text()
    assert limits["memory"] == "512Mi" and "MemoryMax=512M" in unit
    assert limits["cpu"] == "1" and "CPUQuota=100%" in unit
    asked = ["--metrics", container["args"][container["args"].index("--metrics") + 1]]
    assert container["readinessProbe"]["exec"]["command"] == ["jbpfd", "--probe", "ready", *asked]
    assert container["livenessProbe"]["exec"]["command"] == ["jbpfd", "--probe", "live", *asked]
    assert manifest["nodeSelector"] == {"kubernetes.io/os": "linux"}
    classes = [one for one in yaml.safe_load_all(MANIFEST.read_text()) if one["kind"] == "PriorityClass"]
    assert [one["metadata"]["name"] for one in classes] == [manifest["priorityClassName"]]
    assert classes[0]["preemptionPolicy"] == "Never"
    assert {one["name"] for one in container["env"]} == {"NODE_NAME"}


def image_of_programs(engine, folder):
    """An image with nothing but our programs and the libraries they need."""
    root = folder / "root"
    # jbpfd loads this one itself, when it serves metrics.
    served_by = re.search(r"libmicrohttpd\.so\.12 .*=> (\S+)", run("ldconfig", "-p", check=True).stdout)[1]
    libraries = {served_by}
    for name in (BIN / "jbpf", BIN / "jbpfd", served_by):
        libraries |= set(re.findall(r"(/\S+) \(0x", run("ldd", name, check=True).stdout))
    for library in libraries:
        target = root / library.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(library, target)
    (root / "usr/bin").mkdir(parents=True, exist_ok=True)
    for path in BIN.iterdir():
        shutil.copy(path, root / "usr/bin", follow_symlinks=False)
    with tarfile.open(folder / "image.tar", "w") as tar:
        tar.add(root, ".")
    name = f"jbpf-e2e-{os.getpid()}-image"
    result = engine.docker("import", folder / "image.tar", name)
    assert result.returncode == 0, result.stderr
    return name


def run_options(manifest, store):
    """What Kubernetes would ask of the runtime, in Docker's words."""
    container = manifest["containers"][0]
    context = container["securityContext"]
    assert manifest["hostPID"] is True
    options = ["--pid=host", "--network=none", "--cap-drop=ALL", "--security-opt=no-new-privileges",
               "--read-only", f"--user={context['runAsUser']}:{context['runAsGroup']}",
               *(f"--cap-add={one}" for one in context["capabilities"]["add"])]
    # RuntimeDefault is what Docker does by itself; AppArmor's profile where there is AppArmor.
    assert context["seccompProfile"]["type"] == "RuntimeDefault"
    if context["appArmorProfile"]["type"] == "Unconfined":
        options.append("--security-opt=apparmor=unconfined")
    volumes = {volume["name"]: volume for volume in manifest["volumes"]}
    for mount in container["volumeMounts"]:
        volume = volumes[mount["name"]]
        if "emptyDir" in volume:
            options.append(f"--tmpfs={mount['mountPath']}")
        else:
            path = store if volume["hostPath"]["path"] == "/var/lib/jbpf" else volume["hostPath"]["path"]
            options.append(f"--volume={path}:{mount['mountPath']}{':ro' if mount.get('readOnly') else ''}")
    return options, container["args"]


@pytest.mark.live
def test_pod_as_in_the_manifest_profiles_other_containers_by_name(manifest, engine, tmp_path):
    store = tmp_path / "store"
    store.mkdir(mode=0o700)
    image = image_of_programs(engine, tmp_path)
    options, arguments = run_options(manifest, store)
    try:
        jvm = engine.start("shown", java("Shares", 600, 40))
        name = f"jbpf-e2e-{os.getpid()}-daemon"
        if not os.path.exists("/proc/1/root/proc"):
            # This host hides its first process even from us: jbpfd then looks in its own root.
            folder = engine.docker("info", "--format", "{{.DockerRootDir}}").stdout.strip()
            options.append(f"--volume={folder}:/var/lib/docker:ro")
        for _ in range(len(options)):
            started = engine.docker("run", "-d", "--name", name, *options, image, "jbpfd", *arguments,
                                    "--window", "1s")
            # Debian's engine knows no capability younger than Linux 5.8; CAP_SYS_ADMIN covers these.
            unknown = re.search(r'unknown capability: "CAP_(BPF|PERFMON|CHECKPOINT_RESTORE)"', started.stderr)
            if not unknown:
                break
            options.remove(f"--cap-add={unknown[1]}")
        assert started.returncode == 0, started.stderr

        def named():
            state = engine.docker("inspect", "--format", "{{.State.Running}}", name)
            assert state.stdout.strip() == "true", engine.docker("logs", name).stderr
            result = jbpf("dump", "--store", store, "--since", "10m", "--container", jvm.name)
            return result.returncode == 0 and Folded(result.stdout).with_frame("Shares.seventy") >= 30
        wait_until(named, 120, "methods of the other container are named")
        for probe in ("livenessProbe", "readinessProbe"):
            command = manifest["containers"][0][probe]["exec"]["command"]
            # Of a busy host a window may be late, which is told by another one.
            wait_until(lambda: engine.docker("exec", name, *command).returncode == 0, 60, f"{probe} says yes")
    finally:
        engine.docker("rm", "-f", name)
        engine.docker("rmi", "-f", image)
