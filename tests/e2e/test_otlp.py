# SPDX-License-Identifier: Apache-2.0
"""--format otlp on a store whose content is known: Google's decoder reads it, knows every field of it, and
finds the stacks that --format folded has. No BPF, no containers."""
import collections
import subprocess

import pytest
from harness.otlp import PROFILES, message_class
from harness.programs import BIN
from harness.store import make_store

START = 1700000000
PERIOD_NS = 10101010  # at 99 Hz
SUFFIXES = {"c2": "_[j]", "c1": "_[1]", "interpreted": "_[0]", "inlined": "_[i]"}

SCRIPT = f"""
window start={START} pid=42 samples=20 frames=40 comm=java container=shop-1 service=shop host=node-7
	java;a.B.run_[0];a.B.work_[j] 6
	java;a.B.run_[j];a.B.work_[1];a.B.<init>_[i];memcpy_[k] 3
	java;[unknown];%F0%9F%98%80.%E2%82%AC_[j] 2
window start={START} pid=43 samples=4 frames=8 comm=java container=cart-1 service=cart host=node-7
	java;a.B.run_[j];a.B.work_[j] 4
window start={START} pid=7 samples=4 frames=2 comm=cron host=node-7
	cron;do_sys_poll_[k] 2
	cron 1
window start={START} samples=28
commit
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return make_store(tmp_path_factory.mktemp("otlp") / "store", SCRIPT)


@pytest.fixture(scope="module")
def profiles_data(tmp_path_factory):
    """The class of ProfilesData, as protoc understands the fields."""
    return message_class(f"{PROFILES}.ProfilesData", tmp_path_factory.mktemp("proto"))


def dump(store, *arguments):
    result = subprocess.run([BIN / "jbpf-dump", "--store", store, "--since", f"@{START}", "--until", f"@{START + 100}",
                             *arguments], stdout=subprocess.PIPE, check=True)
    return result.stdout


def folded(store, *arguments):
    lines = dump(store, "--format", "folded", *arguments).decode().splitlines()
    return {stack: int(count) for stack, count in (line.rsplit(" ", 1) for line in lines)}


def value_of(any_value):
    return getattr(any_value, any_value.WhichOneof("value"))


class Read:
    """Indices followed; the stacks of each resource."""

    def __init__(self, message):
        self.tables = message.dictionary
        self.by_resource = []
        for resource in message.resource_profiles:
            labels = {it.key: value_of(it.value) for it in resource.resource.attributes}
            (scope,) = resource.scope_profiles
            assert scope.scope.name == "jbpf" and scope.scope.version
            (profile,) = scope.profiles
            self.by_resource.append((labels, profile))

    def text(self, index):
        return self.tables.string_table[index]

    def attributes(self, indices):
        rows = [self.tables.attribute_table[index] for index in indices]
        return {self.text(row.key_strindex): value_of(row.value) for row in rows}

    def frame(self, index):
        location = self.tables.location_table[index]
        (line,) = location.lines
        attributes = self.attributes(location.attribute_indices)
        suffix = SUFFIXES.get(attributes.get("jbpf.frame.tier"), "")
        if attributes.get("profile.frame.type") == "kernel":
            suffix = "_[k]"
        return self.text(self.tables.function_table[line.function_index].name_strindex) + suffix

    def stacks(self, profile):
        found = collections.Counter()
        for sample in profile.samples:
            (value,) = sample.values
            assert value % PERIOD_NS == 0
            frames = [self.frame(index) for index in self.tables.stack_table[sample.stack_index].location_indices]
            found[";".join(reversed(frames))] += value // PERIOD_NS
        return found


def read(profiles_data, content):
    message = profiles_data.FromString(content)
    again = profiles_data()
    again.CopyFrom(message)
    again.DiscardUnknownFields()
    assert again.SerializeToString(deterministic=True) == message.SerializeToString(deterministic=True)
    return Read(message)


def test_a_decoder_that_is_not_ours_finds_the_stacks_of_folded(store, profiles_data):
    found = read(profiles_data, dump(store, "--format", "otlp"))
    ((labels, profile),) = found.by_resource
    assert labels == {} and found.stacks(profile) == folded(store)
    assert (found.text(profile.sample_type.type_strindex), found.text(profile.sample_type.unit_strindex)) == (
        "cpu", "nanoseconds")
    assert (profile.time_unix_nano, profile.duration_nano) == (START * 10**9, 100 * 10**9)
    assert profile.period == PERIOD_NS and len(profile.profile_id) == 16


def test_labels_are_resources_and_attributes(store, profiles_data):
    found = read(profiles_data, dump(store, "--format", "otlp", "--by", "host", "--by", "service", "--by", "pid"))
    resources = [labels for labels, _ in found.by_resource]
    assert sorted(resources, key=len) == [{"host.name": "node-7"}, {"host.name": "node-7", "service.name": "cart"},
                                          {"host.name": "node-7", "service.name": "shop"}]
    for labels, profile in found.by_resource:
        service = labels.get("service.name", "")
        assert found.stacks(profile) == folded(store, "--service", service)
        pids = {found.attributes(sample.attribute_indices)["process.pid"] for sample in profile.samples}
        assert pids == {{"shop": 42, "cart": 43, "": 7}[service]}


def test_equal_profiles_are_equal_bytes(store):
    assert dump(store, "--format", "otlp") == dump(store, "--format", "otlp")
