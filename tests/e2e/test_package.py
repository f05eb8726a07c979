# SPDX-License-Identifier: Apache-2.0
"""What is shipped: the Debian package is whole, and the Kubernetes manifest gives jbpfd just what
the systemd unit gives it - and that is enough, in a container that is not privileged."""
import os
import re
import shutil
import tarfile
from pathlib import Path

import pytest
import yaml

from harness.containers import java
from harness.folded import Folded
from harness.programs import BIN, TOP, jbpf, run, wait_until

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

@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """The package, unpacked, and what dpkg says about it."""
    out = tmp_path_factory.mktemp("deb")
    made = run(TOP / "scripts/package/make-deb", out, timeout=300)
    assert made.returncode == 0, made.stderr
    path = next(Path(line) for line in made.stdout.splitlines() if "/jbpf_" in line)
    root = out / "root"
    run("dpkg-deb", "-x", path, root, check=True)
    return root, run("dpkg-deb", "-I", path, check=True).stdout


def test_package_has_every_program_with_its_man_page(package):
    root, _ = package
    programs = {path.name for path in (root / "usr/bin").iterdir()}
    assert {"jbpf", "jbpfd"} | {link.name for link in BIN.iterdir() if link.is_symlink()} == programs
    pages = {path.name.split(".")[0] for path in (root / "usr/share/man").rglob("*.gz")}
    assert programs == pages


def test_programs_of_the_package_run(package):
    root, _ = package
    for path in sorted((root / "usr/bin").iterdir()):
        result = run(path, "--version")
        assert result.returncode == 0 and result.stdout.startswith("jbpf"), f"{path}: {result.stderr}"


def test_package_names_the_libraries_it_needs(package):
    _, info = package
    depends = re.search(r"^ Depends: (.*)$", info, re.M)[1]
    for library in ("libbpf1", "libseccomp2", "libmicrohttpd12", "libzstd1", "libc6"):
        assert re.search(rf"\b{library}\b", depends), depends


def test_units_of_the_package_start_what_is_in_it(package):
    root, _ = package
    units = sorted((root / "lib/systemd/system").glob("*.service"))
    assert len(units) == 2
    for unit in units:
        program = re.search(r"^ExecStart=(\S+)", unit.read_text(), re.M)[1]
        assert (root / program.lstrip("/")).exists(), f"{unit.name}: {program}"


# ---- the manifest -------------------------------------------------------------------------------

def test_manifest_gives_the_capabilities_of_the_unit_and_no_more(manifest):
    context = manifest["containers"][0]["securityContext"]
    assert context["capabilities"]["drop"] == ["ALL"]
    assert sorted(f"CAP_{one}" for one in context["capabilities"]["add"]) == unit_capabilities()
    assert context["privileged"] is False and context["allowPrivilegeEscalation"] is False
    assert context["readOnlyRootFilesystem"] is True
    assert "hostNetwork" not in manifest and manifest["automountServiceAccountToken"] is False


def image_of_programs(engine, folder):
    """An image with nothing but our programs and the libraries they need."""
    root = folder / "root"
    libraries = set()
    for name in ("jbpf", "jbpfd"):
        libraries |= set(re.findall(r"(/\S+) \(0x", run("ldd", BIN / name, check=True).stdout))
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


def test_pod_as_in_the_manifest_profiles_other_containers_by_name(manifest, engine, tmp_path):
    store = tmp_path / "store"
    store.mkdir(mode=0o700)
    image = image_of_programs(engine, tmp_path)
    options, arguments = run_options(manifest, store)
    try:
        jvm = engine.start("shown", java("Shares", 600))
        name = f"jbpf-e2e-{os.getpid()}-daemon"
        if not os.path.exists("/proc/1/root/proc"):
            # This host hides its first process even from us: jbpfd then looks in its own root.
            folder = engine.docker("info", "--format", "{{.DockerRootDir}}").stdout.strip()
            options.append(f"--volume={folder}:/var/lib/docker:ro")
        for _ in range(len(options)):
            started = engine.docker("run", "-d", "--name", name, *options, image, "jbpfd", *arguments,
                                    "--window", "3s")
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
    finally:
        engine.docker("rm", "-f", name)
        engine.docker("rmi", "-f", image)
