# SPDX-License-Identifier: Apache-2.0
"""What is shipped for Kubernetes, without one: kubectl is a script that writes down what it is asked."""
import os
import re

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
    result, asked = kubectl("shop-1", "-n", "web", "--event", "off-cpu", "--thread", "a b*")
    assert (result.returncode, result.stdout) == (0, "java;A.b 7\n"), result.stderr
    assert asked[-1] == ["exec", "--namespace=jbpf", "jbpf-abc", "-c", "jbpfd", "--", "jbpf-dump", "--pod", "shop-1",
                         "--namespace", "web", "--since", "1h", "--event", "off-cpu", "--thread", "a b*"]
    assert asked[0][:4] == ["get", "pod", "shop-1", "--namespace=web"]


def test_plugin_passes_times_context_and_namespace_on(kubectl):
    result, asked = kubectl("pod/shop-1", "--context=east", "--since", "13:00", "--format", "html", JBPF_NAMESPACE="prof")
    assert result.returncode == 0, result.stderr
    assert all(command[0] == "--context=east" for command in asked)
    assert asked[0][1:4] == ["get", "pod", "shop-1"] and "--namespace=prof" in asked[1]
    assert asked[-1][-4:] == ["--since", "13:00", "--format", "html"] and "1h" not in asked[-1]


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
