"""An adapter: frames of Tideline on one side, mailboxes of a JMAP server (Cyrus) on the other.

A room is a mailbox that its account shares, and a mailbox is a log: mails are never changed, and
what is said and each change is a mail of its own, whose body is a JSON object. An id is that of the
server, which is a hash of the mail, and the time of its arrival: the same mail may come again after
a restore. A token is an id: `<id` stands before that mail, `>id` behind it, `>` at the start. A
connection is one object, used by one thread.
"""
import base64
import http.client
import json
import time
import uuid

from carrier import Carrier, Unsupported

USING = ["urn:ietf:params:jmap:core", "urn:ietf:params:jmap:mail"]
MARKS = {"mark_read": "read", "mark_delivered": "delivered", "mark_listened": "listened"}
CHANGES = MARKS | {"edit_message": "edit", "delete_message": "delete", "pin_message": "pin",
                   "unpin_message": "unpin", "react_message": "react", "unreact_message": "unreact"}
CODES = {"anchorNotFound": "not_found", "notFound": "not_found", "accountNotFound": "not_found",
         "forbidden": "forbidden", "accountReadOnly": "forbidden", "tooLarge": "too_large",
         "requestTooLarge": "too_large", "overQuota": "too_large", "invalidProperties": "forbidden"}
# Cyrus 3.6.1 has this name for the order of arrival: `receivedAt` has whole seconds, and within one
# it orders by a hash.
ARRIVAL = "emailstate"
SEEN = ["receivedAt", "from", "preview", "bodyValues", "header:X-Tideline:asText"]
NEWS, POLL_S = 500, 0.5
NOT_SAID = {"type", "request_id", "conversation_id", "message_id", "message_ids"}


class Refused(Exception):
    """What the server answered a method with."""


def name_of(entry):
    return entry.get("message_id") or entry["entry_id"]


def key_of(mail):
    return f"{mail['id']}.{mail['receivedAt']}"


def mail_id(key):
    return key.partition(".")[0]


def entry(mail):
    """A mail as an entry of its log. One that another program has put there is a text."""
    told = {"sender_id": ((mail["from"] or [{}])[0] or {}).get("email") or "nobody",
            "created_at": mail["receivedAt"]}
    said = "".join(part["value"] for part in mail["bodyValues"].values())
    if mail["header:X-Tideline:asText"] is None:
        return {"payload": said or mail["preview"], **told, "message_id": key_of(mail)}
    try:
        said = dict(json.loads(said))
    except (TypeError, ValueError):
        said = {"change": "none"}
    if "change" in said:
        return {**said, **told, "entry_id": key_of(mail)}
    return {**said, **told, "message_id": key_of(mail)}


class Adapter(Carrier):
    def __init__(self, host, port, account, user, password):
        super().__init__()
        self.account, self.user = account, user
        self.link = http.client.HTTPConnection(host, port, timeout=60)
        login = base64.b64encode(f"{user.partition('@')[0]}:{password}".encode()).decode()
        self.headers = {"Authorization": f"Basic {login}", "Content-Type": "application/json"}
        self.last, self.state, self.by_token, self.looked = {}, None, False, 0.0
        self.link.connect()

    def close(self):
        self.link.close()

    def call(self, *calls):
        """Calls methods, and gives what each answers. Of those that follow the first, `#ids` are
        those that it found."""
        self.link.request("POST", "/jmap/", json.dumps({"using": USING, "methodCalls": [
            [verb, {"accountId": self.account, **want}, str(at)]
            for at, (verb, want) in enumerate(calls)]}), self.headers)
        try:
            answer = self.link.getresponse()
            body = answer.read()
        except (http.client.HTTPException, TimeoutError) as error:
            raise ConnectionError("no answer has come") from error
        if answer.status != 200:
            raise Refused("forbidden" if answer.status in (401, 403) else
                          "tooLarge" if answer.status == 413 or b":limit" in body else "")
        made = json.loads(body)["methodResponses"]
        for verb, result, _ in made:
            if verb == "error":
                raise Refused(result["type"])
        return [result for _, result, _ in made]

    def read(self, name, key=None, **where):
        """The entries of a page, which is by a key, the place of the first, and how many there are.
        """
        if key is not None:
            where["anchor"] = mail_id(key)
        found, mails, anchor = self.call(
            ("Email/query", {"filter": {"inMailbox": name}, "calculateTotal": True, **where,
                             "sort": [{"property": ARRIVAL, "isAscending": True}]}),
            ("Email/get", {"#ids": {"resultOf": "0", "name": "Email/query", "path": "/ids"},
                           "properties": SEEN, "fetchTextBodyValues": True}),
            ("Email/get", {"ids": [mail_id(key or "")], "properties": ["receivedAt"]}))
        if key is not None and [key_of(mail) for mail in anchor["list"]] != [key]:
            raise Refused("anchorNotFound")
        mails = {mail["id"]: mail for mail in mails["list"]}
        # What is destroyed between the two is passed over.
        return ([entry(mails[key]) for key in found["ids"] if key in mails], found["position"],
                found["total"])

    # What comes unasked

    def listen(self, timeout_s):
        """Looks whether the account's state is another, which costs less than to look at rooms."""
        wait_s = max(0, self.looked + POLL_S - time.monotonic()) if self.last else timeout_s
        time.sleep(min(timeout_s, wait_s))
        if not self.last or wait_s > timeout_s:
            return
        self.looked = time.monotonic()
        (now,) = self.call(("Email/get", {"ids": []}))
        if now["state"] != self.state:
            for name in self.last:
                self.news(name)
            self.state = now["state"]

    def enter(self, name):
        """From now on what comes to a room is told."""
        if name not in self.last:
            (found,) = self.call(("Mailbox/get", {"ids": [name], "properties": ["name"]}))
            if not found["list"]:
                raise Refused("notFound")
            found, *_ = self.read(name, position=-1, limit=1)
            self.last[name] = name_of(found[-1]) if found else None

    def news(self, name):
        """Pushes what came since. Where the entry before is gone none is named."""
        total, end = 1, 0
        while end < total:
            last, more = self.last[name], {}
            try:
                found, at, total = self.read(name, limit=NEWS, **(
                    {"key": last, "anchorOffset": 1} if last else {"position": 0}))
                more = {"prev": last} if last else {"before": ">"}
            except Refused as error:
                if error.args[0] != "anchorNotFound":
                    raise
                found, at, total = self.read(name, position=-NEWS, limit=NEWS)
            if not found:
                return
            end, self.last[name] = at + len(found), name_of(found[-1])
            self.put({"type": "entries_new", "conversation_id": name, "entries": found, **more})

    # What is asked

    def entries(self, name, want):
        most, token = want["limit"], want.get("before", want.get("after"))
        key, is_behind = (token or "")[1:], (token or "").startswith(">")
        if token not in (None, ">") and (token[:1] not in ("<", ">") or not key):
            raise Refused("anchorNotFound")
        if "around_id" in want:
            found, at, total = self.read(name, want["around_id"], limit=most,
                                         anchorOffset=-(most // 2))
        elif token == ">" and "before" in want:
            found, at, total = [], 0, 1
        elif token is None or not key:
            found, at, total = self.read(name, limit=most, position=0 if token else -most)
        elif "after" in want:
            found, at, total = self.read(name, key, anchorOffset=int(is_behind), limit=most)
        else:
            found, at, total = self.read(name, key, anchorOffset=is_behind - most, limit=most)
            # Near the start the server gives a full page, which goes on beyond the mail.
            keys = [name_of(each) for each in found]
            if key in keys:
                found = found[:keys.index(key) + is_behind]
        made = {"entries": found, "present": at + len(found) >= total,
                "after": f">{name_of(found[-1])}" if found else token or ">"}
        return made if at == 0 else {
            **made, "before": f"<{name_of(found[0])}" if found else token}

    def known(self, name, keys):
        """Those mails of a room that are there."""
        (found,) = self.call(("Email/get", {"ids": [mail_id(key) for key in keys],
                                            "properties": ["mailboxIds", "from", "receivedAt"]}))
        return {key_of(mail): mail["from"][0]["email"] for mail in found["list"]
                if name in mail["mailboxIds"] and mail["from"] and key_of(mail) in keys}

    def say(self, name, said, change, once):
        """Puts a mail, and gives its entry. The server's id is a hash of the bytes: a mail that is
        put again is found to be there, so what makes them may not change."""
        once = uuid.uuid5(uuid.NAMESPACE_URL, f"{name} {self.user} {once}")
        (made,) = self.call(("Email/set", {"create": {"it": {
            "mailboxIds": {name: True}, "from": [{"email": self.user}], "subject": change,
            "messageId": [f"{once}@tideline"], "sentAt": "1970-01-01T00:00:00Z",
            "header:X-Tideline:asText": f"{change} by {self.user};",
            "bodyValues": {"1": {"value": json.dumps(said, sort_keys=True)}},
            "textBody": [{"partId": "1", "type": "text/plain"}]}}}))
        error = (made["notCreated"] or {}).get("it", {})
        if error and error["type"] != "alreadyExists":
            raise Refused(error["type"])
        key = error["existingId"] if error else made["created"]["it"]["id"]
        return self.read(name, anchor=key, limit=1)[0][0]

    def marked(self, name, change):
        """The message up to which this user's mark of a kind stands."""
        found, mails = self.call(
            ("Email/query", {"filter": {"inMailbox": name,
                                        "header": ["X-Tideline", f"{change} by {self.user};"]},
                             "sort": [{"property": ARRIVAL, "isAscending": False}], "limit": 1}),
            ("Email/get", {"#ids": {"resultOf": "0", "name": "Email/query", "path": "/ids"},
                           "properties": SEEN, "fetchTextBodyValues": True}))
        return entry(mails["list"][0]).get("target_id") if mails["list"] else None

    def error(self, error):
        code = CODES.get(error.args[0] if error.args else "", "unavailable")
        return {"code": "unknown_cursor" if code == "not_found" and self.by_token else code}

    def do(self, verb, want, name):
        self.by_token = False
        if verb == "get_conversations":
            (found,) = self.call(("Mailbox/get", {"ids": None, "properties": ["name", "role"]}))
            return self.listed(want, {
                each["id"]: {"title": each["name"],
                             "last_read_message_id": self.marked(each["id"], "read")}
                for each in found["list"] if not each["role"]})
        if verb not in {"get_entries", "subscribe", "send_message", *CHANGES}:
            raise Unsupported(verb)
        self.enter(name)
        if verb == "subscribe":
            return {}
        if verb == "get_entries":
            self.by_token = not {"before", "after"}.isdisjoint(want)
            return self.entries(name, want)
        said = {each: want[each] for each in want if each not in NOT_SAID}
        if verb == "send_message":
            return {"message": self.say(name, said, "message", want["client_id"])}
        change, keys = CHANGES[verb], want.get("message_ids") or [want["message_id"]]
        authors = self.known(name, keys)
        if not authors:
            raise Refused("notFound")
        if change in ("edit", "delete") and set(authors.values()) != {self.user}:
            raise Refused("forbidden")
        before = self.marked(name, change) if verb in MARKS else None
        target = next(iter(authors))
        if before or len(authors) > 1:
            target = self.latest(name, [*authors, *([before] if before else [])])
        if target == before:
            return {}
        made = self.say(name, {**said, "change": change, "target_id": target}, change, uuid.uuid4())
        return {"entry_id": made["entry_id"]}

    def latest(self, name, keys):
        """The last of some mails in the order of the room."""
        (found,) = self.call(("Email/query", {
            "filter": {"inMailbox": name}, "sort": [{"property": ARRIVAL, "isAscending": False}]}))
        by_mail = {mail_id(key): key for key in keys}
        return next(by_mail[each] for each in found["ids"] if each in by_mail)
