"""The number of threads: argument, environment, CPUs of the process, quota of the container."""

import os
from pathlib import Path

import numpy as np
import pytest
from bb.runtime.host.settings import SettingError, byte_count
from bb.runtime.host.threads import cpu_quota, thread_count, usable_cpus


@pytest.fixture(autouse=True)
def no_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BB_NUM_THREADS", raising=False)


def test_the_argument_counts_first(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("BB_NUM_THREADS", "5")
    assert thread_count(3) == 3
    assert thread_count(np.int64(3)) == 3
    assert thread_count() == 5
    monkeypatch.setenv("BB_NUM_THREADS", " 7 ")
    assert thread_count() == 7


def test_an_empty_setting_is_none(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("BB_NUM_THREADS", "")
    assert thread_count() == usable_cpus()


def test_the_affinity_mask_counts(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("bb.runtime.host.threads._own_quota", lambda: None)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {1, 4, 6}, raising=False)
    assert thread_count() == 3


@pytest.mark.parametrize(("quota", "count"), [(0.5, 1), (1.0, 1), (1.5, 2), (2.0, 2), (64.0, 3), (None, 3)])
def test_a_quota_counts(quota: float | None, count: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1, 2}, raising=False)
    monkeypatch.setattr("bb.runtime.host.threads._own_quota", lambda: quota)
    assert thread_count() == count


@pytest.mark.parametrize("threads", [0, -1, 4097, 10**30, True, 2.0, "2"])
def test_bad_arguments_are_refused(threads: object):
    with pytest.raises(SettingError, match=r"^the number of threads is .*, expected "):
        thread_count(threads)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("text", ["0", "-1", "two", "1.5", "1e3", "4097", "9" * 5000, "٣", "2;ls"])
def test_bad_settings_are_refused(text: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("BB_NUM_THREADS", text)
    with pytest.raises(SettingError, match=r"^BB_NUM_THREADS is .*, expected "):
        thread_count()


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_the_smallest_quota_of_the_groups_around_counts(tmp_path: Path):
    own = tmp_path / "own"
    own.write_text("0::/jobs/one\n")
    root = tmp_path / "cgroup"
    write(root / "jobs" / "one" / "cpu.max", "max 100000\n")
    assert cpu_quota(root, own) is None
    write(root / "jobs" / "cpu.max", "250000 100000\n")
    assert cpu_quota(root, own) == 2.5
    write(root / "jobs" / "one" / "cpu.max", "50000 100000\n")
    assert cpu_quota(root, own) == 0.5


def test_a_container_sees_its_own_group_as_the_root(tmp_path: Path):
    own = tmp_path / "own"
    own.write_text("0::/../../host/path\n")
    write(tmp_path / "cgroup" / "cpu.max", "300000 100000\n")
    assert cpu_quota(tmp_path / "cgroup", own) == 3.0


def test_quotas_of_version_1(tmp_path: Path):
    own = tmp_path / "own"
    own.write_text("5:memory:/job\n4:cpu,cpuacct:/job\n1:name=systemd:/job\n")
    group = tmp_path / "cgroup" / "cpu,cpuacct" / "job"
    write(group / "cpu.cfs_quota_us", "-1\n")
    write(group / "cpu.cfs_period_us", "100000\n")
    assert cpu_quota(tmp_path / "cgroup", own) is None
    write(group / "cpu.cfs_quota_us", "150000\n")
    assert cpu_quota(tmp_path / "cgroup", own) == 1.5


@pytest.mark.parametrize("text", ["", "nonsense", "1 0", "-5 100000", "x y z"])
def test_a_quota_without_meaning_is_none(text: str, tmp_path: Path):
    (tmp_path / "own").write_text("0::/\n")
    write(tmp_path / "cgroup" / "cpu.max", text)
    assert cpu_quota(tmp_path / "cgroup", tmp_path / "own") is None


@pytest.mark.parametrize(
    ("text", "count"),
    [("500", 500), ("1K", 1024), ("2m", 2 * 2**20), ("3GiB", 3 * 2**30), ("1 TB", 2**40), ("0", 0), ("", 7)],
)
def test_numbers_of_bytes(text: str, count: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("BB_CACHE_SIZE", text)
    assert byte_count("BB_CACHE_SIZE", 7) == count


@pytest.mark.parametrize("text", ["-1", "1.5G", "G", "one", "1X", "1" * 40, "١"])
def test_bad_numbers_of_bytes_are_refused(text: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("BB_CACHE_SIZE", text)
    with pytest.raises(SettingError, match=r"^BB_CACHE_SIZE is .*, expected a number of bytes such as"):
        byte_count("BB_CACHE_SIZE", 7)
