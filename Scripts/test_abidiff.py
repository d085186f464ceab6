#!/usr/bin/env python3
"""The rules of abidiff.py: changes of the header that break a compiled program, and others."""

import shutil
import unittest

import abidiff
import header

OLD = header.HEADER.read_text()


def changed(*pairs):
    """The header with texts replaced, each of which is there once."""
    text = OLD
    for before, after in pairs:
        assert text.count(before) == 1, before
        text = text.replace(before, after)
    return text


FIRST = "TL_API void tl_diff_free(tl_diff *diff);"
STATE = OLD[OLD.index("typedef struct tl_state {"):OLD.index("} tl_state;")]
ENTITY = OLD[OLD.index("typedef struct tl_entity {"):OLD.index("} tl_entity;")]


@unittest.skipIf(shutil.which("abidiff") is None, "abidiff is not installed")
class Differences(unittest.TestCase):
    def test_what_a_compiled_program_does_not_notice(self):
        for name, new in (
                ("nothing", OLD),
                ("a function", changed((FIRST, f"{FIRST}\nTL_API int tl_more(tl_diff *diff);"))),
                ("a constant", changed(("  TL_ENTITY_PROFILE = 3 ",
                                        "  TL_ENTITY_MORE = 4,\n  TL_ENTITY_PROFILE = 3 "))),
                ("a member at the end of a struct with its size",
                 changed((STATE, f"{STATE}  uint64_t more;\n"))),
                ("the version", changed((f"#define TL_VERSION_MINOR {abidiff.version(OLD)[1]}\n",
                                         "#define TL_VERSION_MINOR 99\n")))):
            self.assertEqual(abidiff.differences(OLD, new), "", name)

    def test_what_breaks_it(self):
        for name, new, word in (
                ("a function is gone", changed((FIRST, "")), "tl_diff_free"),
                ("a parameter is another", changed((FIRST, FIRST.replace("*diff", "*diff, int x"))),
                 "tl_diff_free"),
                ("a result is another", changed((FIRST, FIRST.replace("void", "int"))),
                 "tl_diff_free"),
                ("a constant has another number",
                 changed(("  TL_ENTITY_PROFILE = 3 ", "  TL_ENTITY_PROFILE = 4 ")),
                 "TL_ENTITY_PROFILE was 3 and is 4"),
                ("a constant is gone", changed(("  TL_ENTITY_PROFILE = 3 ", "  TL_NEW = 3 ")),
                 "TL_ENTITY_PROFILE was 3 and is gone"),
                ("a member is put between others",
                 changed((STATE, STATE.replace("  uint32_t struct_size;\n",
                                               "  uint32_t struct_size;\n  uint64_t more;\n"))),
                 "tl_state"),
                ("a record of a batch grows", changed((ENTITY, f"{ENTITY}  uint64_t more;\n")),
                 "tl_entity"),
                ("a member is of another size",
                 changed((ENTITY, ENTITY.replace("  uint32_t reserved;", "  uint64_t reserved;"))),
                 "tl_entity")):
            self.assertIn(word, abidiff.differences(OLD, new), name)


class Promises(unittest.TestCase):
    def test_a_version_promises_what_its_page_says(self):
        for old, new, promised in (
                ((0, 2, 0), (0, 2, 1), True), ((0, 2, 5), (0, 3, 0), False),
                ((0, 9, 0), (1, 0, 0), False), ((1, 0, 0), (1, 4, 0), True),
                ((1, 4, 2), (2, 0, 0), False)):
            self.assertEqual(abidiff.is_promised(old, new), promised, (old, new))
        self.assertEqual(len(abidiff.version(OLD)), 3)

    def test_only_structs_with_a_size_or_of_one_may_grow(self):
        names = abidiff.growing(OLD)
        self.assertTrue({"tl_state", "tl_client_config", "tl_diff"} <= set(names))
        self.assertFalse({"tl_message", "tl_op", "tl_view", "tl_entity"} & set(names))


if __name__ == "__main__":
    unittest.main()
