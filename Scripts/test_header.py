#!/usr/bin/env python3
"""The rule of header.py for structs by value: signatures that break it and some that do not."""

import unittest

import header

SIZES = """struct tl_view size 16
    0   8 const uint8_t * data
    8   8 size_t size
struct tl_large size 24
"""


class ByValue(unittest.TestCase):
    def complaints(self, line):
        return list(header.misplaced(f"{line}\n{SIZES}"))

    def test_what_fits_in_registers(self):
        for line in (
                "function tl_status tl_a(tl_client *, tl_view, tl_view, tl_batch **)",
                "function tl_status tl_a(tl_view, tl_view, tl_view)",
                "function tl_status tl_a(tl_client *, tl_view, uint64_t, uint64_t, int, tl_b **)",
                "function tl_status tl_a(const tl_view *, tl_large *, int, int, int, int, int)",
                "function const tl_view * tl_a(size_t *)", "function uint32_t tl_a()",
                "typedef tl_a_hook = void (*)(void *, const tl_view *)",
                "typedef tl_a = struct tl_a", "   40   8 tl_drop_hook drop",
                "   40  16 tl_view name",
                "   16   8 tl_status (*)(void *, const tl_view *, uint64_t *) acquire"):
            self.assertEqual(self.complaints(line), [], line)

    def test_what_does_not(self):
        taken = "takes tl_view by value, in more than registers"
        five = "int, int, int, int, int"
        for line, complaint in (
                ("function int tl_a(tl_client *, tl_view, tl_view, tl_view)", f"tl_a {taken}"),
                (f"function tl_status tl_a({five}, tl_view)", f"tl_a {taken}"),
                ("function tl_status tl_a(tl_large)",
                 "tl_a takes tl_large by value, in more than registers"),
                ("function void tl_a(const tl_large)",
                 "tl_a takes const tl_large by value, in more than registers"),
                ("function tl_view tl_a(tl_client *)", "tl_a gives a struct by value"),
                ("typedef tl_a_hook = tl_view (*)(void *)", "tl_a_hook gives a struct by value"),
                (f"typedef tl_a_hook = void (*)({five}, tl_view)", f"tl_a_hook {taken}"),
                (f"   16   8 void (*)({five}, tl_view) acquire", f"acquire {taken}")):
            self.assertEqual(self.complaints(line), [complaint], line)


if __name__ == "__main__":
    unittest.main()
