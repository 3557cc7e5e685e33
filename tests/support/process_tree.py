"""Processes below another: tests check that they end, and soak tests kill them."""

from __future__ import annotations

import psutil


def descendants(pid: int) -> list[psutil.Process]:
    """Return all descendants of a process. A later process with the same PID is recognized as another."""
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def alive(process: psutil.Process) -> bool:
    """False for a zombie too: it has ended, and its parent has not waited for it yet."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def frozen(process: psutil.Process) -> bool:
    """Return whether a signal has stopped the process, which may go on."""
    try:
        return process.status() == psutil.STATUS_STOPPED
    except psutil.NoSuchProcess:
        return False


def command(process: psutil.Process) -> str:
    """Return a process's command line; empty if it has ended."""
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""
