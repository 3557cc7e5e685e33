"""Processes that others have started: tests see to it that they end, and soaks end them."""

from __future__ import annotations

import psutil


def descendants(pid: int) -> list[psutil.Process]:
    """Those below this one, wherever they are in the tree. They are told apart from later ones of the same number."""
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def alive(process: psutil.Process) -> bool:
    """Not if it has ended and only its parent has not looked yet."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def command(process: psutil.Process) -> str:
    """Its command line; empty if it has ended."""
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""
