"""What is left of a damaged file."""

from __future__ import annotations

import ctypes
import os

from . import _library as c
from .client import _profile
from .errors import check
from .find import Work
from .slots import KeyKind, Secret, secret_bytes
from .values import Profile


def salvage(
    path: str | os.PathLike[str], key: Secret, target: str | os.PathLike[str], *, user_id: str,
    key_kind: KeyKind = KeyKind.RAW, account: str = "", profile: Profile | None = None,
) -> Work:
    """Gives the work that reads what it can of a file, which need not open, into a new file.

    Operations, drafts, read markers and messages are saved; what was lost is a gap, which the
    server fills. The damaged file is not changed, and no client may have it open.

    Args:
        path: The damaged file.
        key: Any of its keys; all of them open the new file.
        target: The new file; nothing may be there.
        user_id: As the file was opened with; so are the rest.

    Raises:
        TidelineError: one of its kinds; see ``tl_salvage`` in the header.
    """
    texts = [os.fsencode(path), secret_bytes(key), account.encode(), user_id.encode(),
             os.fsencode(target)]
    config = c.ClientConfig(
        struct_size=ctypes.sizeof(c.ClientConfig), path=c.view(texts[0]), key=c.view(texts[1]),
        account=c.view(texts[2]), user_id=c.view(texts[3]), key_kind=key_kind)
    if profile is not None:
        texts.append(profile.search_members.encode())
        config.profile = ctypes.pointer(_profile(profile, texts[-1]))
    handle = ctypes.c_void_p()
    check(c.library.tl_salvage(
        ctypes.byref(config), c.view(texts[4]), ctypes.byref(handle)))
    return Work(None, handle)
