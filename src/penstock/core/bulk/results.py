"""Results of a bulk action for one connector, from its preview to its end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

Result = Literal["change", "none", "refused", "waiting", "under way", "done", "failed", "late"]
RESULTS: Mapping[Result, str] = {
    "change": "The action would change it (of a preview)",
    "none": "The action changes nothing, since its effect is there already",
    "refused": "The user may not take the action, or there is no such connector",
    "waiting": "Its request has not been sent yet",
    "under way": "The request was sent; the state has not been reached yet",
    "done": "The state has been reached",
    "failed": "The request was refused, or the state cannot be reached",
    "late": "The state was not reached within the time limit; it may be later",
}
ENDED: Final = ("none", "refused", "done", "failed", "late")
