"""Processes below another: tests check that they end, and soak tests kill them."""

from __future__ import annotations

import psutil


def descendants(pid: int) -> list[psutil.Process]:
    """All processes below this one. A later process with the same pid is recognised as another."""
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
    """Whether it has been stopped by a signal, and may go on."""
    try:
        return process.status() == psutil.STATUS_STOPPED
    except psutil.NoSuchProcess:
        return False


def command(process: psutil.Process) -> str:
    """Its command line; empty if it has ended."""
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""
