# SPDX-License-Identifier: Apache-2.0
"""What a daemon and its children use, read from /proc."""
import os
import re
from pathlib import Path

COMPACTOR = "jbpfd-compact"  # merges files for a moment and ends; left out, but it shares the daemon's pages
FIELDS = ("seconds", "pss_kib", "anon_kib", "heap_kib", "rss_kib", "fds", "threads", "processes", "zombies",
          "map_bytes", "cpu_seconds", "store_bytes", "host_processes", "merging",
          "table_bytes")
CHUNK_BYTES = 4032  # of unwind tables, JBPF_UNWIND_CHUNK_WORDS in bpf/jbpf_unwind.h


def stat_of(pid):
    """(comm, state, ppid, CPU ticks, threads) or None when it is gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return None
    head, _, tail = text.rpartition(")")
    fields = tail.split()
    return head.partition("(")[2], fields[0], int(fields[1]), int(fields[11]) + int(fields[12]), int(fields[17])


def family(pid):
    """{pid: stat} of the process and all below it; and how many processes the host has."""
    stats = {int(name): stat_of(name) for name in os.listdir("/proc") if name.isdigit()}
    stats = {one: stat for one, stat in stats.items() if stat}
    found = {pid} & stats.keys()
    while True:
        more = {one for one, stat in stats.items() if stat[2] in found} - found
        if not more:
            return {one: stats[one] for one in found}, len(stats)
        found |= more


def memory_of(pid):
    """KiB: all pages in their share, of these anonymous ones, the heap, all pages."""
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text(errors="replace")
    pss, anon, rss = (int(re.search(rf"^{name}:\s+(\d+) kB", rollup, re.M)[1])
                      for name in ("Pss", "Pss_Anon", "Rss"))
    heap = re.search(r"\[heap\]\n(?:.*\n)*?Rss:\s+(\d+) kB", Path(f"/proc/{pid}/smaps").read_text(errors="replace"))
    return pss, anon, int(heap[1]) if heap else 0, rss


def fds_of(pid):
    """How many are open, and the memory of the BPF maps among them: of unwind tables, and of all others."""
    folder, bpf_bytes, table_bytes = Path(f"/proc/{pid}/fd"), 0, 0
    names = os.listdir(folder)
    for name in names:
        try:
            if os.readlink(folder / name) == "anon_inode:bpf-map":
                info = Path(f"/proc/{pid}/fdinfo/{name}").read_text(errors="replace")
                memory = int(re.search(r"^memlock:\s+(\d+)", info, re.M)[1])
                if re.search(rf"^value_size:\s+{CHUNK_BYTES}$", info, re.M):
                    table_bytes += memory
                else:
                    bpf_bytes += memory
        except OSError:
            continue  # closed meanwhile
    return len(names), bpf_bytes, table_bytes


def memory_line(log_path):
    """What the daemon itself said of its memory last; None until it did."""
    with open(log_path, "rb") as log:
        log.seek(max(0, os.stat(log_path).st_size - (64 << 10)))
        found = re.findall(rb"memory: (\d+) processes, (\d+) KiB of symbols, (\d+) KiB given out, "
                           rb"(\d+) KiB free in the heap\n", log.read())
    return dict(zip(("known_processes", "symbols_kib", "given_kib", "free_kib"), map(int, found[-1]))) if found else None


def folder_bytes(folder):
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.stat(os.path.join(parent, name)).st_size
            except OSError:
                continue
    return total


def reading(pid, seconds, store):
    """(one row of FIELDS, pids of zombies), or None when a process ended meanwhile."""
    processes, host_processes = family(pid)
    if pid not in processes:
        return None
    zombies = [one for one, stat in processes.items() if stat[1] == "Z"]
    row = dict.fromkeys(FIELDS, 0)
    row.update(seconds=seconds, host_processes=host_processes, store_bytes=folder_bytes(store), zombies=len(zombies))
    try:
        for one, (comm, state, _, ticks, threads) in processes.items():
            row["cpu_seconds"] += ticks / os.sysconf("SC_CLK_TCK")
            row["merging"] += comm == COMPACTOR
            if state == "Z" or comm == COMPACTOR:
                continue
            pss, anon, heap, rss = memory_of(one)
            fds, map_bytes, table_bytes = fds_of(one)
            for name, value in (("pss_kib", pss), ("anon_kib", anon), ("heap_kib", heap), ("rss_kib", rss),
                                ("fds", fds), ("threads", threads), ("processes", 1)):
                row[name] += value
            row["map_bytes"] = max(row["map_bytes"], map_bytes)
            row["table_bytes"] = max(row["table_bytes"], table_bytes)
    except (OSError, TypeError):
        return None  # a child ended meanwhile: the next reading is better
    return row, zombies
