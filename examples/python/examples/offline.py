#!/usr/bin/env python3
"""Reads a page from an encrypted file, without any network: the shortest use of the package.

    python offline.py FILE USER CONVERSATION
"""

import pathlib
import sys

import tideline

file, user, conversation = sys.argv[1:]
key = pathlib.Path(f"{file}.key").read_bytes()
with tideline.Client(file, key, user_id=user, existing=True) as client:
    page = client.messages(conversation, limit=10)
    for row in page.messages:
        print(row.stamp, row.sender, row.payload.decode())
    print(f"page: {len(page.messages)} messages, {page.coverage.known_count} stored here")
