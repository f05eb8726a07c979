# SPDX-License-Identifier: Apache-2.0
"""Dashboards and alerts that are shipped: they ask for nothing that there is not, and a real server
answers their queries with what is in the store."""
import json
import re

import pytest
import yaml

from harness.clickhouse import CURRENT, ClickHouse
from harness.programs import TOP, jbpf
from harness.store import make_store

FOLDER = TOP / "scripts" / "monitoring"
BEGIN = 1700000040  # 2023-11-14T22:14:00Z, a minute
MINUTES = 4
STACKS = {"java;A.run_[j];A.hot_[j]": 5, "java;A.run_[1];A.cold_[0]": 2, "java;A.run_[j];B.own_[j];A.run_[j]": 1}


def dashboards():
    return {path.stem: json.loads(path.read_text()) for path in sorted(FOLDER.glob("grafana-*.json"))}


def targets(dashboard):
    return [(panel["title"], target) for panel in dashboard["panels"] for target in panel["targets"]]


def alerts():
    groups = yaml.safe_load((FOLDER / "jbpf-alerts.yaml").read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


# ---- Prometheus ---------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def metrics(tmp_path_factory):
    """Names that are promised: those of the daemon, and what jbpf push writes."""
    table = (TOP / "user" / "serve" / "METRICS.md").read_text()
    folder = tmp_path_factory.mktemp("metrics")
    out = folder / "push.prom"
    # Nobody listens there: it writes how it failed.
    jbpf("push", "clickhouse://127.0.0.1:1/d?tls=off", "--store", make_store(folder / "store", script()),
         "--state", folder / "state", "--metrics", out, "--once")
    return set(re.findall(r"^\| `(\w+)` \|", table, re.M)) | set(re.findall(r"^# TYPE (\w+)", out.read_text(), re.M))


def expressions():
    found = [(rule["alert"], rule["expr"]) for rule in alerts()]
    for dashboard in dashboards().values():
        found += [(title, target["expr"]) for title, target in targets(dashboard) if "expr" in target]
        found += [(one["label"], one["query"]) for one in dashboard["templating"]["list"]
                  if str(one["query"]).startswith("label_values")]
    return found


def test_every_metric_that_is_asked_for_is_there(metrics):
    asked = [(where, name) for where, expression in expressions()
             for name in re.findall(r"\b(?:jbpf|process)_\w+", expression)]
    assert len(asked) > 40
    assert not [one for one in asked if one[1] not in metrics]


def test_what_grows_is_asked_as_a_rate_and_what_does_not_is_not():
    for where, expression in expressions():
        for name, taken in re.findall(r"\b((?:jbpf|process)_\w+)(?:\{[^}]*\})?(\[)?", expression):
            assert bool(taken) == name.endswith("_total"), f"{where}: {name}"


def test_alerts_say_what_is_wrong_and_what_to_do():
    names = [rule["alert"] for rule in alerts()]
    assert len(set(names)) == len(names) > 10
    for rule in alerts():
        assert set(rule) <= {"alert", "expr", "for", "labels", "annotations"}
        assert rule["labels"]["severity"] in ("page", "ticket")
        assert set(rule["annotations"]) == {"summary", "action"}, rule["alert"]


def test_reasons_of_losses_in_alerts_are_those_of_the_daemon():
    table = (TOP / "user" / "serve" / "METRICS.md").read_text()
    known = re.search(r"`jbpf_lost_total` \| counter \| (.*) \|", table)[1]
    for rule in alerts():
        for words in re.findall(r'reason=~"([^"]*)"', rule["expr"]):
            assert all(f"`{word}`" in known for word in words.split("|")), words


# ---- ClickHouse ---------------------------------------------------------------------------------

def script():
    """One service on two hosts, its stacks in every minute, and another with a name that is SQL."""
    text = []
    for start in range(BEGIN, BEGIN + 60 * MINUTES, 10):
        for pid, labels in ((40, "service=shop host=h1"), (41, "service=shop host=h2"), (42, "service=it's\\ host=h1")):
            text.append(f"window start={start} pid={pid} duration=10 samples={sum(STACKS.values())} frames=9 "
                        f"frequency_hz=99 comm=java {labels}")
            text += [f"\t{stack} {count}" for stack, count in sorted(STACKS.items())]
        text.append(f"window start={start} pid=0 duration=10 samples=99 counts_full=3 host=h1")
        text.append("commit")
    return "\n".join(text) + "\n"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("monitoring")
    with ClickHouse(folder / "clickhouse") as one:
        one.make_tables("jbpf")
        for state in ("one", "two"):  # rows that were sent twice count once in a dashboard, too
            sent = jbpf("push", one.url("jbpf"), "--store", make_store(folder / f"store-{state}", script()),
                        "--state", folder / state, "--once")
            assert sent.returncode == 0, sent.stderr
        yield one


def filled_in(text, event="0", host="'h1','h2'"):
    """As Grafana and its ClickHouse data source do; toStartOfInterval is younger than Debian's server."""
    values = {"$service": "shop", "$event": event, "$host": host, "$__interval_s": "60"}
    text = re.sub(r"\$__timeFilter\((\w+)\)", rf"\1 >= {BEGIN} AND \1 <= {BEGIN + 60 * MINUTES}", text)
    interval = r"toStartOfInterval(toDateTime(\1), INTERVAL 60 second)" if CURRENT else r"toStartOfMinute(\1)"
    text = re.sub(r"\$__timeInterval\((\w+)\)", interval, text)
    for name, value in values.items():
        text = text.replace(name, value)
    assert "$" not in text.replace("$'", "").replace("]$", ""), text
    return text


def answer(server, title, **how):
    wanted = [target["rawSql"] for name, target in targets(dashboards()["grafana-profiles"]) if name == title]
    return server.rows(filled_in(wanted[0], **how), "jbpf")


def test_every_query_of_the_dashboard_is_answered(server):
    dashboard = dashboards()["grafana-profiles"]
    for title, target in targets(dashboard):
        assert server.rows(filled_in(target["rawSql"]), "jbpf"), title
    lists = [one["query"] for one in dashboard["templating"]["list"] if one["type"] == "query"]
    assert [server.rows(filled_in(query), "jbpf") for query in lists] == [[["shop"]], [["h1"], ["h2"]]]


def test_cores_are_samples_by_frequency_and_time(server):
    rows = answer(server, "CPU by service")
    assert len(rows) == 2 * MINUTES
    shop = [float(cores) for _, service, cores in rows if service == "shop"]
    assert shop == pytest.approx([2 * 6 * 8 / 99 / 60] * MINUTES)
    by_host = answer(server, "CPU of $service by host", host="'h2'")
    assert [row[1] for row in by_host] == ["h2"] * MINUTES


def test_flame_graph_is_the_tree_of_the_stacks(server):
    """Nested sets, as the panel wants them: depth first, each node's value that of its children and its own."""
    rows = [(int(level), int(value), int(own), label) for level, value, own, label in
            answer(server, "Flame graph of $service")]
    times = 2 * 6 * MINUTES
    assert rows[0] == (0, 8 * times, 0, "all") and rows[1] == (1, 8 * times, 0, "java")
    below = {}
    path = []
    for level, value, own, label in rows:
        path[level:] = [label]
        assert len(path) == level + 1, "no level is left out"
        below[";".join(path[1:])] = own
    assert {stack: own for stack, own in below.items() if own} == {stack: n * times for stack, n in STACKS.items()}


def test_a_method_counts_once_in_a_stack_whatever_its_tier(server):
    rows = {method: (int(own), int(total)) for method, own, total in answer(server, "Top methods of $service")}
    times = 2 * 6 * MINUTES
    assert rows == {"java": (0, 8 * times), "A.run": (times, 8 * times), "A.hot": (5 * times, 5 * times),
                    "A.cold": (2 * times, 2 * times), "B.own": (0, times)}


def test_losses_are_those_of_the_host(server):
    rows = answer(server, "Losses by host")
    assert [(host, losses) for host, _, losses, _ in rows] == [("h1", str(3 * 6 * MINUTES)), ("h2", "0")]
