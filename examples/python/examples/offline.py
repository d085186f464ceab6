#!/usr/bin/env python3
"""Reads a page from an encrypted file, without any network: the shortest use of the package.

    python offline.py FILE USER CONVERSATION [COUNT]
"""

import pathlib
import sys

import tideline

file, user, conversation = sys.argv[1:4]
count = int(sys.argv[4]) if len(sys.argv) > 4 else 10
key = pathlib.Path(f"{file}.key").read_bytes()
with tideline.Client(file, key, user_id=user, existing=True) as client:
    page = client.messages(conversation, limit=count)
    for row in page.messages:
        print(row.stamp, row.sender, row.payload.decode())
    coverage = page.coverage
    whole = "whole" if coverage.whole else "with holes"
    print(f"page: {len(page.messages)} messages, {whole}, ends at {coverage.stop.name.lower()}; "
          f"{coverage.known_count} stored here, {coverage.total_count} on the server")
