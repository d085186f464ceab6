"""The server that `make xmpp` or `make ejabberd` has unpacked, and the people on it."""
import os

from people import Person

if "TIDELINE_EJABBERD" in os.environ:
    from ejabberd import LACKS, NAME, PROFILE, Server
else:
    from prosody import LACKS, NAME, PROFILE, Server

__all__ = ["LACKS", "NAME", "PROFILE", "Person", "Server"]
