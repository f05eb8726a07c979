# SPDX-License-Identifier: Apache-2.0
"""What is shipped for Kubernetes, without one: kubectl is a script that writes down what it is asked."""
import os
import re
import tarfile

import pytest
import yaml

from harness.programs import BIN, TOP, lines_of, run

FOLDER = TOP / "scripts" / "kubernetes"
PLUGIN = FOLDER / "kubectl-jbpf"
ANSWERS = {
    "*'get pod shop-1'*": "printf 'web node-7'",
    "*'get pod waiting'*": "printf 'web '",
    "*'get pod lonely'*": "printf 'web node-8'",
    "*'get pod '*": 'echo "Error from server (NotFound): pods not found" >&2; exit 1',
    "*'spec.nodeName=node-7,'*": "printf 'jbpf-abc jbpf-old'",
    "*'get pods'*": "",
    "*exec*": "echo 'java;A.b 7'",
}


@pytest.fixture
def kubectl(tmp_path):
    """Runs the plugin; returns its result and the commands that kubectl was given."""
    asked = tmp_path / "asked"
    cases = "\n".join(f"{pattern}) {body} ;;" for pattern, body in ANSWERS.items())
    fake = tmp_path / "kubectl"
    fake.write_text(f'#!/bin/sh\nprintf "%s|" "$@" >> {asked}\necho >> {asked}\ncase " $* " in\n{cases}\nesac\n')
    fake.chmod(0o755)

    def call(*arguments, **environment):
        result = run(PLUGIN, *arguments, env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", **environment})
        return result, [line.rstrip("|").split("|") for line in lines_of(asked.read_text())] if asked.exists() else []
    return call


def test_plugin_runs_jbpf_dump_on_the_node_of_the_pod(kubectl):
    result, asked = kubectl("shop-1", "-n", "web", "--event", "off-cpu", "--thread", "a b*", TZ="UTC")
    assert (result.returncode, result.stdout) == (0, "java;A.b 7\n"), result.stderr
    assert asked[-1] == ["exec", "--namespace=jbpf", "jbpf-abc", "-c", "jbpfd", "--", "env", "TZ=<+0000>-00:00", "jbpf-dump",
                         "--pod", "shop-1", "--namespace", "web", "--since", "1h", "--event", "off-cpu", "--thread", "a b*"]
    assert asked[0][:4] == ["get", "pod", "shop-1", "--namespace=web"]


def test_plugin_passes_times_context_and_namespace_on(kubectl):
    result, asked = kubectl("pod/shop-1", "--context=east", "--since", "13:00", "--format", "html", JBPF_NAMESPACE="prof")
    assert result.returncode == 0, result.stderr
    assert all(command[0] == "--context=east" for command in asked)
    assert asked[0][1:4] == ["get", "pod", "shop-1"] and "--namespace=prof" in asked[1]
    assert asked[-1][-4:] == ["--since", "13:00", "--format", "html"] and "1h" not in asked[-1]


@pytest.mark.parametrize("until", [("--until", "13:15"), ("--until=13:15",)])
def test_plugin_adds_no_hour_where_the_end_is_given(kubectl, until):
    """The hour before now would begin behind that end, or be shorter than was said."""
    result, asked = kubectl("shop-1", "-n", "web", *until)
    assert result.returncode == 0 and asked[-1][-len(until):] == list(until), result.stderr
    assert "--since" not in asked[-1] and "1h" not in asked[-1]


@pytest.mark.parametrize("zone", ["XST-05:30", "XST+03:30", "UTC", "XST-14"])
def test_plugin_asks_for_the_times_of_whoever_asks(kubectl, zone):
    """Though the pod is at UTC, and has no time zones."""
    _, asked = kubectl("shop-1", "--since", "13:00", TZ=zone)
    handed, = (word.removeprefix("TZ=") for word in asked[-1] if word.startswith("TZ="))
    hour = {tz: run("date", "-d", "@1700000000", "+%F %H:%M", env={**os.environ, "TZ": tz}).stdout for tz in (zone, handed)}
    assert hour[zone] == hour[handed]


def test_plugin_takes_no_option_from_jbpf_dump_without_another_name():
    """-n and --namespace are kubectl's words here, as --context; of jbpf-dump -n is --rows."""
    options = set(re.findall(r"^ +(?:-\w, )?(--[a-z-]+)", run(BIN / "jbpf-dump", "--help").stdout, re.M))
    assert {"--pod", "--namespace", "--since", "--rows"} <= options and "--context" not in options
    assert "--rows" in run(PLUGIN, "--help").stdout


@pytest.mark.parametrize("arguments, code, said", [
    ([], 2, "which pod"), (["--since", "1h"], 2, "pod comes first"), (["shop-1", "-n"], 2, "wants a value"),
    (["waiting"], 1, "no node"), (["lonely"], 1, "no jbpf pod runs on node node-8"), (["absent"], 1, "NotFound"),
])
def test_plugin_says_in_a_line_what_is_missing(kubectl, arguments, code, said):
    result, asked = kubectl(*arguments)
    assert result.returncode == code and said in result.stderr and len(lines_of(result.stderr)) == 1, result.stderr
    assert not any("exec" in command for command in asked)


# ---- manifests ----------------------------------------------------------------------------------

def manifests():
    return {path.name: list(yaml.safe_load_all(path.read_text())) for path in sorted(FOLDER.glob("*.yaml"))}


WORK = ("DaemonSet", "Deployment", "CronJob")


def template_of(one):
    """The pod's, of what makes pods."""
    return one["spec"].get("jobTemplate", one)["spec"]["template"]


def work_of(name):
    one, = (one for one in manifests()[name] if one["kind"] in WORK)
    return one


def test_kustomization_names_every_manifest():
    (kustomization,) = manifests()["kustomization.yaml"]
    others = set(manifests()) - {"kustomization.yaml"}
    assert set(kustomization["resources"]) == others
    images = {container["image"].partition(":")[0] for name in others for one in manifests()[name] if one["kind"] in WORK
              for container in template_of(one)["spec"]["containers"]}
    assert images == {one["name"] for one in kustomization["images"]}
    assert {one["metadata"].get("namespace", "jbpf") for name in others for one in manifests()[name]} == {"jbpf"}


OF_A_FLEET = ("web-fleet.yaml", "daily.yaml")


@pytest.mark.parametrize("name", ["push.yaml", "web.yaml", "web-fleet.yaml", "daily.yaml"])
def test_what_only_reads_has_no_rights_and_bounds(name):
    one = work_of(name)
    spec = template_of(one)["spec"]
    (container,) = spec["containers"]
    assert "hostPID" not in spec and "hostNetwork" not in spec and spec["automountServiceAccountToken"] is False
    context = container["securityContext"]
    assert context["capabilities"] == {"drop": ["ALL"]} and context["allowPrivilegeEscalation"] is False
    assert context["readOnlyRootFilesystem"] is True
    assert set(container["resources"]["limits"]) == set(container["resources"]["requests"])
    store = [mount for mount in container["volumeMounts"] if mount["mountPath"] == "/var/lib/jbpf"]
    assert [mount.get("readOnly") for mount in store] == ([] if name in OF_A_FLEET else [True])
    # kubectl-jbpf and the DaemonSet of jbpfd find their own pods by this.
    labels = template_of(one)["metadata"]["labels"]
    assert labels["app.kubernetes.io/name"] != "jbpf"
    assert one["kind"] == "CronJob" or labels == one["spec"]["selector"]["matchLabels"]


@pytest.mark.parametrize("name, program", [("push.yaml", "jbpf-push"), ("web.yaml", "jbpf-web"), ("web-fleet.yaml", "jbpf-web"), ("daily.yaml", "jbpf-diff")])
def test_command_lines_of_manifests_are_taken(name, program):
    (container,) = template_of(work_of(name))["spec"]["containers"]
    assert container["command"] == [program]
    arguments = [re.sub(r"^\$\(JBPF_\w+_URL\)$", "clickhouse://h/d", argument) for argument in container["args"]]
    result = run(BIN / program, *arguments, "--version")
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("name", OF_A_FLEET)
def test_what_is_of_a_fleet_is_not_root_and_has_nothing_of_the_node(name):
    spec = template_of(work_of(name))["spec"]
    assert spec["securityContext"]["runAsNonRoot"] is True and spec["securityContext"]["runAsUser"] > 0
    assert not any("hostPath" in volume for volume in spec["volumes"])
    # The group may read the password's file, and the file has the name that is looked for.
    (secret,) = (volume["secret"] for volume in spec["volumes"] if "secret" in volume)
    assert secret["defaultMode"] == 0o440 and spec["securityContext"]["fsGroup"] == spec["securityContext"]["runAsGroup"]
    assert [item["path"] for item in secret["items"]] == ["clickhouse-password"]


def test_the_daily_job_is_that_of_a_host_from_a_server_and_fails_when_something_got_slower():
    job = work_of("daily.yaml")["spec"]
    (container,) = template_of(work_of("daily.yaml"))["spec"]["containers"]
    unit = (TOP / "scripts/systemd/jbpf-diff.service").read_text()
    command = re.search(r"^ExecStart=\S+/(jbpf-diff .*)", unit, re.M)[1].replace("--store /var/lib/jbpf", "--from $(JBPF_DIFF_URL)")
    assert container["command"] + container["args"] == command.split()
    assert job["concurrencyPolicy"] == "Forbid" and job["jobTemplate"]["spec"]["backoffLimit"] == 0
    assert template_of(work_of("daily.yaml"))["spec"]["restartPolicy"] == "Never"
    # The series outlive the pod.
    claim, = (one for one in manifests()["daily.yaml"] if one["kind"] == "PersistentVolumeClaim")
    (pages,) = (one["name"] for one in template_of(work_of("daily.yaml"))["spec"]["volumes"]
                if one.get("persistentVolumeClaim") == {"claimName": claim["metadata"]["name"]})
    assert {"name": pages, "mountPath": container["args"][-1]} in container["volumeMounts"]


# ---- the chart ----------------------------------------------------------------------------------

def value_of(path, root):
    for name in path.removeprefix(".").split("."):
        root = root[name]
    return root


def render(text, root):
    """What Go's text/template makes of it, for the few words that the chart has; others are refused."""
    out, kept = "", [True]
    parts = re.split(r"(\{\{.*?\}\})", re.sub(r"\s*\{\{-", "{{", text))
    for part in parts:
        word = re.fullmatch(r"\{\{ *(.*?) *\}\}", part)
        if not word:
            assert "{{" not in part and "}}" not in part, part
            out += part if all(kept) else ""
        elif found := re.fullmatch(r"if (\.[\w.]+)", word[1]):
            kept.append(bool(value_of(found[1], root)))
        elif word[1] == "end":
            assert len(kept) > 1, "an end without an if"
            kept.pop()
        elif not all(kept):
            pass
        elif found := re.fullmatch(r"toYaml (\.[\w.]+) \| nindent (\d+)", word[1]):
            lines = yaml.safe_dump(value_of(found[1], root)).rstrip("\n").split("\n")
            out += "".join(f"\n{' ' * int(found[2])}{line}" for line in lines)
        else:
            found = re.fullmatch(r"(\.[\w.]+)(?: \| default (\.[\w.]+))?", word[1])
            assert found, f"no word of the chart: {part}"
            value = value_of(found[1], root) or (value_of(found[2], root) if found[2] else "")
            out += str(value)
    assert kept == [True], "an if without an end"
    return out


@pytest.fixture(scope="module")
def chart(tmp_path_factory):
    """The files of the chart by their names."""
    made = run(TOP / "scripts/package/make-chart", tmp_path_factory.mktemp("chart"), check=True).stdout.strip()
    with tarfile.open(made) as tar:
        files = {member.name: tar.extractfile(member).read().decode() for member in tar}
    about = yaml.safe_load(files["jbpf/Chart.yaml"])
    assert made.endswith(f"/jbpf-{about['version']}.tgz")
    return files


def objects_of(chart, namespace="jbpf", **changed):
    """The objects of each template, and the notes, with these values for those of the chart."""
    values = yaml.safe_load(chart["jbpf/values.yaml"])
    for path, value in changed.items():
        *folders, name = path.split("__")
        value_of(".".join(folders), values)[name] = value
    about = yaml.safe_load(chart["jbpf/Chart.yaml"])
    root = {"Values": values, "Release": {"Namespace": namespace}, "Chart": {"AppVersion": about["appVersion"]}}
    texts = {name.removeprefix("jbpf/templates/"): render(text, root) for name, text in chart.items() if "/templates/" in name}
    notes = texts.pop("NOTES.txt")
    return {name: [one for one in yaml.safe_load_all(text) if one] for name, text in texts.items()}, notes


def expected(namespace="jbpf", image="jbpf:latest"):
    """The manifests, but for what a release changes."""
    wanted = {name: [one for one in documents if one["kind"] != "Namespace"] for name, documents in manifests().items()}
    del wanted["kustomization.yaml"]
    for one in (one for documents in wanted.values() for one in documents):
        if "namespace" in one["metadata"]:
            one["metadata"]["namespace"] = namespace
        for container in template_of(one)["spec"]["containers"] if one["kind"] in WORK else []:
            container["image"] = image
    return wanted


ALL = {f"{part}__enabled": True for part in ("push", "web", "webFleet", "daily")}


def test_chart_is_the_manifests(chart):
    about = yaml.safe_load(chart["jbpf/Chart.yaml"])
    assert about["apiVersion"] == "v2" and re.fullmatch(r"\d+\.\d+\.\d+(\+[0-9A-Za-z.-]+)?", about["version"])
    image = f"jbpf:{about['appVersion']}"
    alone, notes = objects_of(chart)
    wanted = expected(image=image)
    assert alone == {name: documents if name == "jbpf.yaml" else [] for name, documents in wanted.items()}
    assert objects_of(chart, **ALL)[0] == wanted
    assert "kubectl label namespace jbpf pod-security.kubernetes.io/enforce=privileged" in notes


def test_values_of_the_chart_change_what_they_name(chart):
    few = {"limits": {"memory": "3Gi"}}
    changed, notes = objects_of(chart, "prof", **ALL, image__repository="r.example/jbpf", image__tag="7", push__resources=few,
                                jbpfd__extraArgs=["--keep-bytes", "20G"], daily__schedule="5 4 * * *", daily__storage="1Ti")
    wanted = expected("prof", "r.example/jbpf:7")
    template_of(wanted["jbpf.yaml"][-1])["spec"]["containers"][0]["args"] += ["--keep-bytes", "20G"]
    template_of(wanted["push.yaml"][0])["spec"]["containers"][0]["resources"] = few
    claim, job = wanted["daily.yaml"]
    claim["spec"]["resources"]["requests"]["storage"], job["spec"]["schedule"] = "1Ti", "5 4 * * *"
    assert changed == wanted
    assert "namespace prof " in notes and "{{" not in notes
