"""The host's function for policies."""

from __future__ import annotations

import ctypes
import logging
from collections.abc import Callable
from typing import Any

from . import _library as c
from .values import Policy, PolicyChoice, PolicyQuestion, SyncKind

ChooseFunction = Callable[[PolicyQuestion], PolicyChoice]

_log = logging.getLogger("tideline")


def policy_hook(choose: ChooseFunction) -> Any:
    """As the library calls it; where it fails the usual policy holds."""

    def hook(_: object, question: ctypes._Pointer[c.PolicyQuestion],
             out: ctypes._Pointer[c.PolicyChoice]) -> None:
        try:
            asked = question.contents
            name = ctypes.string_at(asked.conversation.data, asked.conversation.size).decode()
            choice = choose(PolicyQuestion(name, SyncKind(asked.kind), bool(asked.flags & 1)))
            out.contents.policy = Policy(choice.policy)
            out.contents.limit_ms = choice.limit_ms
            out.contents.age_us = choice.age_us
        except Exception:  # noqa: BLE001
            _log.exception("the function for policies failed")
            out.contents.policy = Policy.CACHE_THEN_NETWORK

    return c.PolicyHook(hook)
