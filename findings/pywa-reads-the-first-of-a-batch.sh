#!/bin/sh
# pywa 4.5.0 (PyPI, bots of WhatsApp's Cloud API) with Flask 3.1.3. The script posts webhooks in the
# place of Meta's servers.
#
# Guess: the lists of a webhook (`entry`, `changes`, `messages`, `statuses`) are lists: a handler is
# called for each message and each status in them.
# Guess: where a handler raises, the webhook is answered with an error, so that it is posted again;
# or it is answered with 200, and who posts it again later has it handled.
# Seen: of each list the first is handed out, and the answer is 200: of a batch one message is left,
# and of a message with a status the message (issue 229 reports it of 4.4.0, for statuses).
# Seen: a handler's error is answered with 200, too, and the webhook counts as handled from before
# the handler: the same one again is passed over. A handler of the raw update gets the whole batch.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install pywa==4.5.0 flask==3.1.3 2>pip.log
cat >try.py <<'PY'
from flask import Flask
from pywa import WhatsApp

SEEN, FAILS, web = [], set(), Flask("bot")
bot = WhatsApp(phone_id="15550001", token="x", server=web, verify_token="x", validate_updates=False)


@bot.on_message
def take(client, message):
    SEEN.append(message.text)
    if message.text in FAILS:
        raise OSError("no room on the disk")


@bot.on_message_status
def take_status(client, status):
    SEEN.append(f"{status.status.value}:{status.id}")


@bot.on_raw_update
def take_raw(client, update):
    SEEN.append("raw:" + str(sum(len(change["value"].get("messages", []))
                                 for entry in update["entry"] for change in entry["changes"])))


def message(text):
    return {"from": "15550002", "from_user_id": "US.2", "id": f"id-{text}", "type": "text",
            "timestamp": "1790000000", "text": {"body": text}}


def status(kind, text):
    return {"id": f"id-{text}", "status": kind, "timestamp": "1790000000",
            "recipient_id": "15550002"}


def value(*messages, **more):
    found = {"messaging_product": "whatsapp", **more, "metadata": {
        "display_phone_number": "15550001", "phone_number_id": "15550001"}, "contacts": [{
            "profile": {"name": "jan"}, "wa_id": "15550002", "user_id": "US.2"}]}
    return {**found, "messages": list(messages)} if messages else found


def post(name, *entries):
    SEEN.clear()
    answer = web.test_client().post("/", json={"object": "whatsapp_business_account", "entry": [
        {"id": "1", "changes": [{"field": "messages", "value": each} for each in entry]}
        for entry in entries]})
    print(f"{name}:", *SEEN, answer.status_code)


post("two messages", [value(message("m1"), message("m2"))])
post("two changes", [value(message("m3")), value(message("m4"))])
post("two entries", [value(message("m5"))], [value(message("m6"))])
post("two statuses", [value(statuses=[status("delivered", "s1"), status("read", "s2")])])
post("a message and a status", [value(message("m7"), statuses=[status("read", "s1")])])
FAILS.add("m8")
post("a handler raises", [value(message("m8"))])
FAILS.clear()
post("the same again", [value(message("m8"))])
PY
timeout 60 venv/bin/python try.py 2>try.log | tee seen
cat >expected <<'END'
two messages: m1 raw:2 200
two changes: m3 raw:2 200
two entries: m5 raw:2 200
two statuses: delivered:id-s1 raw:0 200
a message and a status: m7 raw:1 200
a handler raises: m8 raw:1 200
the same again: 200
END
cmp seen expected
