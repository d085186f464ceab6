"""Search from Python, through the built library: the corpus, pages, marks, and what stays right."""

import json
import pathlib
import random
import re
import tempfile
import threading
import unittest

import tideline

from support import KEY, ROOT

PLAIN = b'{"text":"opened"}'
DATA = ROOT / "Tests" / "TextTests" / "Data" / "corpus.tsv"


def written(text):
    r"""The bytes that the corpus writes with escapes: `\xNN`, and `\{a*100}` for a hundred `a`."""
    def repeat(match):
        return match[1] * int(match[2])
    data = re.sub(rb"\\\{((?:(?!\*\d+\}).)*)\*(\d+)\}", repeat, text.encode(), flags=re.S)
    return re.sub(rb"\\x([0-9A-Fa-f]{2})", lambda match: bytes([int(match[1], 16)]), data)


def corpus():
    texts, queries = {}, []
    for line in DATA.read_text(encoding="utf-8").split("\n"):
        parts = line.split("\t")
        if line.startswith("#") or len(parts) != 3:
            continue
        if parts[0] == "text":
            texts[parts[1]] = written(parts[2])
        else:
            queries.append((written(parts[1]), set(parts[2].split())))
    return texts, queries


def push(client, name, text, **more):
    message = {"message_id": name, "conversation_id": "c", "sender_id": "you",
               "created_at": "2024-05-01T10:00:00", "payload": {"text": text}, **more}
    client.receive(json.dumps({
        "type": "message_new", "conversation_id": message["conversation_id"], "message": message}))


def names(found):
    return [hit.message.id for hit in found.hits]


def build(client):
    work = client.search_build()
    while not work.step(10).is_done:
        pass


class Find(unittest.TestCase):
    def check_corpus(self, client):
        texts, queries = corpus()
        self.assertGreater(len(queries), 150)
        for query, expected in queries:
            found = client.search(query, limit=1000)
            self.assertEqual(set(names(found)), expected, query)
            for hit in found.hits:
                text = json.loads(hit.message.payload)["text"]
                for mark in hit.marks:
                    units = text.encode("utf-16-le", "surrogatepass")
                    part = units[2 * mark.utf16.start:2 * mark.utf16.stop]
                    data = text.encode()[mark.utf8.start:mark.utf8.stop]
                    self.assertEqual(part.decode("utf-16-le"), data.decode())

    def test_the_corpus(self):
        """What is stored before search is switched on, and what comes after."""
        texts = {name: data.decode("utf-8", "replace") for name, data in corpus()[0].items()}
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "file"
            with tideline.Client(path, KEY, user_id="me") as client:
                half = len(texts) // 2
                for name, text in list(texts.items())[:half]:
                    push(client, name, text)
                self.assertTrue(client.search_switch(True))
                for name, text in list(texts.items())[half:]:
                    push(client, name, text)
                self.assertGreater(client.search("a").unbuilt, 0)
                build(client)
                self.check_corpus(client)
            with tideline.Client(path, KEY, user_id="me") as client:
                self.check_corpus(client)

    def test_pages_and_filters(self):
        with tideline.Client(user_id="me") as client:
            client.search_switch(True)
            for number in range(10):
                push(client, f"m{number}", f"word {number}", sender_id=f"s{number % 2}",
                     created_at=f"2024-05-01T10:00:0{number}")
            push(client, "other", "word", conversation_id="d", created_at="2024-05-02T10:00:00")
            pages, after = [], None
            while True:
                found = client.search("wor", after=after, limit=3)
                pages += names(found)
                if not found.has_more:
                    break
                after = found.hits[-1]
            self.assertEqual(pages, ["other"] + [f"m{number}" for number in reversed(range(10))])
            self.assertEqual(names(client.search("word", "d")), ["other"])
            self.assertEqual(names(client.search("word", sender="s1", limit=2)), ["m9", "m7"])
            self.assertEqual(names(client.search("word", "nowhere")), [])
            self.assertEqual(names(client.search("word -5", "c", limit=5)),
                             ["m9", "m8", "m7", "m6", "m4"])
            self.assertEqual(client.search("").asked, tideline.Asked.NO_WORD)
            self.assertEqual(client.search("-a").asked, tideline.Asked.ONLY_EXCLUSIONS)
            self.assertTrue(client.search(" ".join(map(str, range(40)))).is_cut)
            for query in (b"\0", b"\xff\xfe", b'"', b"NEAR(a b)", b"* AND OR NOT",
                          b"a" * (1 << 20)):
                client.search(query)

    def test_what_is_not_searched_is_named(self):
        with tideline.Client(user_id="me") as client:
            with self.assertRaises(tideline.NotFoundError):
                client.unsearched()
            client.search_switch(True)
            self.assertEqual(client.unsearched(), ())
            push(client, "m1", "word")
            found = client.unsearched()
            self.assertEqual([(one.conversation, one.whole_from_us, one.partial, one.sealed)
                              for one in found], [("c", None, True, 0)])
            self.assertEqual(client.search("word").partial, 1)
            self.assertEqual(client.unsearched("c"), found)
            self.assertEqual(client.unsearched(after=found[0].number, limit=1), ())
            with self.assertRaises(tideline.NotFoundError):
                client.unsearched("nowhere")

    def test_marks_are_left_away(self):
        with tideline.Client(user_id="me") as client:
            client.search_switch(True)
            push(client, "m1", "word")
            self.assertEqual(len(client.search("word").hits[0].marks), 1)
            self.assertEqual(client.search("word", marks=False).hits[0].marks, ())

    def test_by_relevance(self):
        """Pages go through the order of the first one, whatever comes between."""
        with tideline.Client(user_id="me") as client:
            client.search_switch(True)
            for number in range(9):
                push(client, f"m{number}", "word " * (number % 3 + 1) + "other " * (number // 3),
                     created_at=f"2024-05-01T10:00:0{number}")
            first = client.search("word", order=tideline.Order.RELEVANCE, limit=4)
            self.assertEqual(names(first)[0], "m2")
            self.assertEqual((first.count, first.counted), (9, tideline.Counted.ALL))
            pages, page = names(first), first
            while page.has_more:
                push(client, f"n{len(pages)}", "word word word word")
                page = client.search("word", order=tideline.Order.RELEVANCE, behind=page, limit=2)
                pages += names(page)
            self.assertEqual(sorted(pages), [f"m{number}" for number in range(9)])
            with self.assertRaises(tideline.InvalidError):
                client.search("other", order=tideline.Order.RELEVANCE, behind=page)
            self.assertEqual(client.search("word", limit=2).counted, tideline.Counted.NOT)
            self.assertEqual(client.search("word", limit=99).count, 12)

    def test_what_is_searched(self):
        """Members that the profile names, and texts that the hook gives in place of a payload."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "file"
            profile = tideline.Profile(search_members="title")
            with tideline.Client(path, KEY, user_id="me", profile=profile) as client:
                client.search_switch(True)
                push(client, "m", "word", payload={"text": "word", "title": "Titul"})
                self.assertEqual(names(client.search("word")), [])
                hit = client.search("titul").hits[0]
                self.assertEqual([(m.member, m.utf8) for m in hit.marks], [("title", range(0, 5))])
            def opened(sealed):
                return tideline.Plain(b'{"text":"shown"}', searchable="tajné slovo".encode())
            with tideline.Client(path, KEY, user_id="me", open=opened) as client:
                self.assertGreater(client.search("word").unbuilt, 0)
                build(client)
                self.assertEqual(names(client.search("word")), ["m"])
                push(client, "h", "sealed")
                self.assertEqual(names(client.search("shown")), [])
                hit = client.search("tajne slo").hits[0]
                self.assertEqual(hit.searchable, "tajné slovo")
                self.assertEqual([(m.member, m.utf8, m.utf16) for m in hit.marks],
                                 [("", range(0, 6), range(0, 5)), ("", range(7, 12), range(6, 11))])

    def test_any_bytes_are_a_query(self):
        """None is a mistake: NUL, halves of characters, quotes, operators of FTS5, a megabyte."""
        dice = random.Random(28)
        parts = [b"\0", b"\xff", b"\xc3", b"\xe6\x98", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"'",
                 b'"', b"NEAR(", b"NEAR(a b, 1)", b" AND ", b" OR ", b" NOT ", b"*", b"^", b":",
                 b"-", b"--", b"+", b"{text}", b"text:", b"(", b")", b"\x01ab", b"\x02", b"\x03c1",
                 b" ", b"\xe3\x80\x80", b"\\", b"%", b"_", b"word", "明天".encode(), b";",
                 "👍🏽".encode()]
        with tideline.Client(user_id="me") as client:
            client.search_switch(True)
            push(client, "m", "word NEAR(a b) 明天 \u0000 text:word 👍🏽")
            for _ in range(3000):
                query = b"".join(dice.choices(parts, k=dice.randrange(1, 12)))
                if dice.random() < 0.3:
                    query += bytes(dice.randrange(256) for _ in range(8))
                found = client.search(query, "c" if dice.random() < 0.3 else "")
                self.assertLessEqual(len(found.hits), 1)
            for long in (b"a", b'"', b"a ", b"-a ", "明".encode(), b"\xff", b"ab-", b"NEAR(",
                         b"a\xcc\x81"):
                client.search(long * ((1 << 20) // len(long)))
            self.assertEqual(names(client.search("near word 明天 👍🏽")), ["m"])
            for unpaired in (b'"near a', b'word "', b'"" word', b'"word', b'word" "a b'):
                self.assertEqual(names(client.search(unpaired)), ["m"], unpaired)

    def test_four_threads_while_messages_come_and_the_index_is_built(self):
        """Each answer is of one state: in order, each message once, all that was there."""
        with tempfile.TemporaryDirectory() as folder:
            with tideline.Client(pathlib.Path(folder) / "file", KEY, user_id="me") as client:
                for number in range(400):
                    push(client, f"m{number}", f"word w{number}",
                         created_at=f"2024-05-01T10:{number // 60:02}:{number % 60:02}")
                client.search_switch(True)
                for number in range(10):
                    push(client, f"k{number}", "known word", created_at="2024-05-01T09:00:00")
                trouble, ended = [], threading.Event()

                def look(seed):
                    dice = random.Random(seed)
                    try:
                        while not ended.is_set():
                            found = client.search("word", limit=dice.randrange(1, 1000))
                            order = [(h.message.time_us, h.message.number) for h in found.hits]
                            self.assertEqual(order, sorted(set(order), reverse=True))
                            self.assertTrue(all(hit.marks for hit in found.hits))
                            self.assertEqual(len(client.search("known", limit=50).hits), 10)
                            one = f"w{dice.randrange(400)}"
                            if client.search("nothing").unbuilt == 0:
                                self.assertEqual(len(client.search(f'"{one}"').hits), 1, one)
                    except BaseException as error:  # pylint: disable=broad-except
                        trouble.append(error)

                threads = [threading.Thread(target=look, args=(seed,)) for seed in range(4)]
                for thread in threads:
                    thread.start()
                work = client.search_build()
                for number in range(300):
                    work.step(0)
                    push(client, f"n{number}", f"new word n{number}",
                         created_at=f"2024-05-01T11:{number // 60:02}:{number % 60:02}")
                    client.advance()
                ended.set()
                for thread in threads:
                    thread.join()
                self.assertEqual(trouble, [])
                build(client)
                self.assertEqual(len(client.search("word", limit=1000).hits), 710)

    def test_what_goes_is_found_no_more(self):
        with tideline.Client(user_id="me") as client:
            client.search_switch(True)
            for number in range(4):
                push(client, f"m{number}", "secret word", created_at=f"2024-05-01T10:00:0{number}")
            client.forget("c", "m0")
            client.drop("c", "m1")
            client.receive(json.dumps({
                "type": "message_deleted", "conversation_id": "c", "message_ids": ["m2"]}))
            self.assertEqual(names(client.search("secret")), ["m3"])
            client.clear()
            self.assertEqual(names(client.search("secret")), [])
            self.assertTrue(client.search_switch(False))
            self.assertRaises(tideline.NotFoundError, client.search, "secret")

    def test_sealed_messages_wait(self):
        """A text is found once the host has opened it."""
        keys = []
        with tideline.Client(user_id="me", open=lambda m: PLAIN if keys else None) as client:
            client.search_switch(True)
            push(client, "m", "sealed")
            self.assertEqual(client.search("opened").sealed, 1)
            keys.append(1)
            client.reopen_payloads()
            found = client.search("opened")
            self.assertEqual((names(found), found.sealed), (["m"], 0))

    def test_what_was_found_opens_a_window(self):
        with tideline.Client(user_id="me") as client:
            client.search_switch(True)
            for number in range(40):
                push(client, f"m{number}", f"word{number}",
                     created_at=f"2024-05-01T10:00:{number:02}")
            hit = client.search("word7").hits[0]
            window = client.window("c", tideline.At.MESSAGE, 10, id=hit.message.id, cache_only=True)
            window.poll()
            rows = window.rows(0, window.state().row_count)
            self.assertIn("m7", [row.id for row in rows])


if __name__ == "__main__":
    unittest.main()
