#!/usr/bin/env python3
"""What diagrams.py draws: well-formed pictures that follow their text."""

import re
import unittest
import xml.etree.ElementTree

import diagrams

MAP = "title A <map>\nrow Top: all of it\nrow Left*2: wide | Right: narrow\narrow Top Left\n"
PAGE = """# Page

## Two walks

### One & only

| | file | function | does |
|---|---|---|---|
| 1 | `ABI/Turn.swift` | `first` | begins |
| 2 | `Engine/Client/Client.swift` | `second` | ends `it` |

## Next
"""


class Diagrams(unittest.TestCase):
    def test_a_map_has_its_boxes_and_arrows(self):
        root = xml.etree.ElementTree.fromstring(diagrams.map_picture(MAP))
        names = {"".join(part.itertext()) for part in root.iter() if part.tag.endswith("}text")}
        self.assertLessEqual({"A <map>", "Top", "Left", "Right"}, names)
        widths = [float(width) for width in re.findall(r'width="([\d.]+)" height="62"',
                                                       diagrams.map_picture(MAP))]
        self.assertGreater(widths[1], 1.9 * widths[2])
        self.assertEqual(diagrams.map_picture(MAP).count("<polyline"), 1)

    def test_a_word_that_is_no_line_of_a_map_is_refused(self):
        with self.assertRaisesRegex(SystemExit, "boxes"):
            diagrams.map_picture("boxes A B\n")

    def test_a_walk_becomes_a_sequence(self):
        (title, rows), = diagrams.walks(PAGE)
        self.assertEqual(rows, [("ABI", "first", "begins"), ("Engine", "second", "ends `it`")])
        svg = diagrams.sequence(title, rows)
        xml.etree.ElementTree.fromstring(svg)
        self.assertIn("One &amp; only", svg)
        self.assertEqual(svg.count("<polyline"), 2)
        self.assertNotIn("Vault", svg)


if __name__ == "__main__":
    unittest.main()
