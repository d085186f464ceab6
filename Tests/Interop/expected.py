"""What is known not to hold.

A line of `make interop` that stands here, with why, and fails is told and fails nothing; one that
holds in a full run has to be taken off. A name stands for both servers, or for one with its name
before it.
"""

EXPECTED = {}
