# SPDX-License-Identifier: Apache-2.0
"""A strict receiver of OpenTelemetry's profiles: OtlpReceiver. It reads requests with Google's decoder and the
project's own .proto files, and keeps what breaks a rule of theirs in `complaints`."""
import gzip
import subprocess

from google.protobuf import descriptor_pb2, descriptor_pool
try:
    from google.protobuf.message_factory import GetMessageClass
except ImportError:  # before 4.22
    from google.protobuf.message_factory import MessageFactory
    GetMessageClass = MessageFactory().GetPrototype

from harness.programs import TOP
from harness.receiver import Receiver

PROTO = TOP / "tests" / "fixtures" / "opentelemetry-proto"
SERVICE = "opentelemetry/proto/collector/profiles/v1development/profiles_service.proto"
PACKAGE = "opentelemetry.proto.collector.profiles.v1development"
PROFILES = "opentelemetry.proto.profiles.v1development"
TABLES = ("mapping_table", "location_table", "function_table", "link_table", "string_table", "attribute_table",
          "stack_table")


def message_class(name, folder):
    """A message by its full name, as protoc understands the files."""
    out = folder / "descriptors"
    subprocess.run(["protoc", f"--proto_path={PROTO}", "--include_imports", f"--descriptor_set_out={out}", SERVICE],
                   check=True)
    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(out.read_bytes()).file:
        pool.Add(file)
    return GetMessageClass(pool.FindMessageTypeByName(name))


def decoded_by_protoc(body):
    """protoc's text: fields that it does not know stand there as numbers."""
    return subprocess.run(["protoc", f"--proto_path={PROTO}", f"--decode={PACKAGE}.ExportProfilesServiceRequest",
                           SERVICE], input=body, stdout=subprocess.PIPE, check=True).stdout.decode()


def complaints_about(headers, body, request_class):
    """What the specification does not allow."""
    found = []
    for name, value in (("Content-Type", "application/x-protobuf"), ("Content-Encoding", "gzip")):
        if headers.get(name) != value:
            found.append(f"{name}: {headers.get(name)}")
    request = request_class.FromString(body)
    known = request_class()
    known.CopyFrom(request)
    known.DiscardUnknownFields()
    if known.SerializeToString(deterministic=True) != request.SerializeToString(deterministic=True):
        found.append("unknown fields")
    for name in TABLES:
        rows = [row if isinstance(row, str) else row.SerializeToString(deterministic=True)
                for row in getattr(request.dictionary, name)]
        if not rows or rows[0]:
            found.append(f"{name}: no empty row 0")
        if len(set(rows)) != len(rows):
            found.append(f"{name}: a row twice")
    resources = [it.resource.SerializeToString(deterministic=True) for it in request.resource_profiles]
    if len(set(resources)) != len(resources):
        found.append("a resource twice")
    return found


def value_of(any_value):
    return getattr(any_value, any_value.WhichOneof("value"))


class Profile:
    """One of a request, its indices followed."""

    def __init__(self, tables, resource, profile):
        def text(index):
            return tables.string_table[index]

        def attributes(indices):
            rows = [tables.attribute_table[index] for index in indices]
            return {text(row.key_strindex): value_of(row.value) for row in rows}

        def frame(index):
            (line,) = tables.location_table[index].lines
            return text(tables.function_table[line.function_index].name_strindex)

        self.labels = {it.key: value_of(it.value) for it in resource.attributes}
        self.id = profile.profile_id
        self.raw = profile.SerializeToString(deterministic=True)
        self.time = (profile.time_unix_nano, profile.duration_nano)
        self.type = (text(profile.sample_type.type_strindex), text(profile.sample_type.unit_strindex))
        self.period = profile.period
        self.samples = []  # (frames root first, attributes, value)
        for sample in profile.samples:
            (value,) = sample.values
            frames = [frame(index) for index in tables.stack_table[sample.stack_index].location_indices]
            self.samples.append((";".join(reversed(frames)), attributes(sample.attribute_indices), value))

    def content(self):
        return (sorted(self.labels.items()), self.time, self.type, self.period,
                sorted((stack, sorted(attributes.items()), value) for stack, attributes, value in self.samples))


class OtlpReceiver(Receiver):
    """`answer`: from headers and body to (status, bytes), or with a dict of headers behind."""
    scheme = "otlp+http"

    def __init__(self, folder):
        super().__init__()
        self.request_class = message_class(f"{PACKAGE}.ExportProfilesServiceRequest", folder)
        self.response_class = message_class(f"{PACKAGE}.ExportProfilesServiceResponse", folder)
        self.answer = lambda headers, body: (200, b"")
        self.bodies = []  # of requests that were taken
        self.paths = set()
        self.complaints = []

    def profiles(self):
        found = []
        for body in self.bodies:
            request = self.request_class.FromString(body)
            for resource in request.resource_profiles:
                for scope in resource.scope_profiles:
                    found += [Profile(request.dictionary, resource.resource, it) for it in scope.profiles]
        return found

    def receive(self, path, headers, body):
        body = gzip.decompress(body)
        self.paths.add(path)
        self.complaints += complaints_about(headers, body, self.request_class)
        status, said, *more = self.answer(headers, body)
        if status == 200:
            self.bodies.append(body)
        return status, said, {"Content-Type": "application/x-protobuf", **(more[0] if more else {})}
