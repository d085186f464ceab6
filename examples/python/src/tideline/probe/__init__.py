"""Finds out what kind of server an adapter speaks for: ``python -m tideline.probe``.

It speaks the wire protocol to the adapter, without the library, and says which profile fits and
what breaks the protocol.
"""

from .findings import Facts, Finding, Level, Report
from .fitting import c_literal, differences, fit, python_literal
from .link import Closed, Link, dialer
from .run import Setup, probe

__all__ = ["Closed", "Facts", "Finding", "Level", "Link", "Report", "Setup", "c_literal", "dialer",
           "differences", "fit", "probe", "python_literal"]
