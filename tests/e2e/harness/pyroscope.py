# SPDX-License-Identifier: Apache-2.0
"""A strict server of Pyroscope's POST /ingest: Pyroscope. It reads names, forms and profiles as Pyroscope's own
source does (api/model/labelset, pkg/ingester/pyroscope, pkg/og/convert/pprof, pkg/validation), and keeps what
that would refuse in `complaints`. pprof is read by Google's decoder."""
import email
import gzip
import json
import re
import subprocess
import urllib.parse

from google.protobuf import descriptor_pb2, descriptor_pool

from harness.otlp import GetMessageClass
from harness.programs import TOP
from harness.receiver import Receiver

PROTO = TOP / "tests" / "fixtures" / "pprof"
LIMIT_BYTES, LIMIT_SAMPLES = 4 << 20, 16000  # max_profile_size_bytes, max_profile_stacktrace_samples


def profile_class(folder):
    out = folder / "descriptors"
    subprocess.run(["protoc", f"--proto_path={PROTO}", f"--descriptor_set_out={out}", "profile.proto"], check=True)
    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(out.read_bytes()).file:
        pool.Add(file)
    return GetMessageClass(pool.FindMessageTypeByName("perftools.profiles.Profile"))


def parse_name(name):
    """SERVICE{LABEL=VALUE,...} to a dict, __name__ the service; ValueError: Pyroscope refuses it."""
    service, brace, rest = name.partition("{")
    service = service.strip()
    if not re.fullmatch(r"[A-Za-z0-9_.\-/]+", service):
        raise ValueError(f"service {service!r}")
    labels = {"__name__": service}
    if brace:
        inner, end, behind = rest.partition("}")
        if not end or behind:
            raise ValueError(f"labels {rest!r}")
        for pair in inner.split(","):
            key, _, value = pair.partition("=")
            if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", key) or key in labels:
                raise ValueError(f"label {key!r}")
            labels[key] = value.strip()
    return labels


def parse_form(content_type, body):
    """{field: bytes}, by Python's own reader of MIME."""
    message = email.message_from_bytes(b"Content-Type: " + content_type.encode() + b"\r\n\r\n" + body)
    if message.get_content_type() != "multipart/form-data" or message.defects:
        raise ValueError(f"form {message.defects}")
    parts = {}
    for part in message.get_payload():
        name = part.get_param("name", header="content-disposition")
        if name in parts or part.defects or not part.get_filename():
            raise ValueError(f"part {name!r}")
        parts[name] = part.get_payload(decode=True)
    return parts


class Ingest:
    """A request that was taken."""

    def __init__(self, path, content_type, body, message_class):
        url = urllib.parse.urlsplit(path)
        query = dict(urllib.parse.parse_qsl(url.query, strict_parsing=True))
        self.path = url.path
        self.raw = (path, body)
        if query.pop("spyName") != "jbpf" or "format" in query:  # with format=pprof the form would be the profile
            raise ValueError(f"query {url.query}")
        self.labels = parse_name(query["name"])
        self.time = (int(query["from"]), int(query["until"]))
        form = parse_form(content_type, body)
        config = json.loads(form.pop("sample_type_config"))
        packed = form.pop("profile")
        if form or packed[4:8] != b"\0\0\0\0":
            raise ValueError(f"parts {list(form)}, time of gzip {packed[4:8]}")
        raw = gzip.decompress(packed)
        self.size = len(raw)
        self.read(message_class.FromString(raw))
        known = message_class.FromString(raw)
        known.DiscardUnknownFields()
        if known.ByteSize() != message_class.FromString(raw).ByteSize():
            raise ValueError("unknown fields")
        shown = [config.get(kind, {}).get("display-name", kind) for kind, _ in self.types]
        self.metric = "process_cpu" if any("cpu" in it for it in shown) else shown[-1]
        if not re.fullmatch(r"[A-Za-z_:][A-Za-z0-9_:]*", self.metric) or any("-" in kind for kind, _ in self.types):
            raise ValueError(f"sample types {self.types}, metric {self.metric}")
        if len(self.samples) > LIMIT_SAMPLES or self.size > LIMIT_BYTES:
            raise ValueError(f"{len(self.samples)} samples, {self.size} bytes")

    def read(self, profile):
        texts = profile.string_table
        functions = {it.id: texts[it.name] for it in profile.function}
        locations = {it.id: functions[it.line[0].function_id] for it in profile.location}
        if 0 in functions or 0 in locations:
            raise ValueError("an id is 0")
        self.types = [(texts[it.type], texts[it.unit]) for it in profile.sample_type]
        self.period = profile.period
        self.profile_time = (profile.time_nanos, profile.duration_nanos)
        self.samples = [(";".join(reversed([locations[it] for it in sample.location_id])), list(sample.value))
                        for sample in profile.sample]


class Pyroscope(Receiver):
    """`answer`: from headers and a request to (status, bytes) or (status, bytes, headers)."""
    scheme = "pyroscope+http"

    def __init__(self, folder):
        super().__init__()
        self.message_class = profile_class(folder)
        self.answer = lambda headers, ingest: (200, b"")
        self.taken = []
        self.complaints = []

    def receive(self, path, headers, body):
        try:
            ingest = Ingest(path, headers["Content-Type"], body, self.message_class)
            status, said, *more = self.answer(headers, ingest)
        except (ValueError, KeyError, IndexError) as error:
            self.complaints.append(repr(error))
            status, said, more = 422, repr(error).encode(), []
        if status == 200:
            self.taken.append(ingest)
        return status, said, more[0] if more else {}
