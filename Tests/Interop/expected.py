"""What is known not to hold.

A line of `make interop` that stands here and fails is told and fails nothing; one that holds in a
full run has to be taken off. A name stands for both servers, or for one with its name before it.
What stands here now are faults of the library that are still to be mended.
"""

# A log that is known down to its start is not read down again, so its new start is not seen.
KEPT = "what was read stays, though the server has purged it since"
EXPECTED = {
    "half is purged: processes of moments see it": KEPT,
    "half is purged: the list is the room": KEPT,
}
