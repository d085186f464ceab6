"""Fills a new file with a little of everything, and closes it: `make_form.py FILE`.

Run with the library and the package of a commit that has another form of the tables or of the file;
test_forms.py opens what it has made with each later one.
"""

import json
import sys

import tideline

KEY = bytes(range(32))


def message(number, **more):
    return {"message_id": f"m{number:02}", "conversation_id": "c", "sender_id": "you",
            "created_at": f"2024-05-01T10:00:{number:02}", "payload": f"text {number} 你好",
            "read_by": [], **more}


MESSAGES = [message(number) for number in range(1, 41)]
MESSAGES[4]["reactions"] = {"+": ["you"]}
MESSAGES[6]["sender_id"] = "me"
ROOMS = [{"conversation_id": name, "title": title, "participants": ["me", "you"],
          "created_at": "2024-04-01T10:00:00", "updated_at": "2024-05-01T10:00:40"}
         for name, title in (("c", "Harbour"), ("e", "Empty"))]


def data(request):
    kind = request["type"]
    if kind == "get_messages":
        chosen = MESSAGES if request["conversation_id"] == "c" else []
        after = request.get("after_ts", "")
        chosen = [one for one in chosen if one["created_at"] >= after]
        end = max(0, len(chosen) - request["offset"])
        return {"messages": chosen[max(0, end - request["limit"]):end],
                "total_count": len(MESSAGES) if request["conversation_id"] == "c" else 0}
    if kind == "get_deleted_since":
        return {"message_ids": []}
    if kind == "get_conversations":
        return {"conversations": ROOMS, "total_count": len(ROOMS)}
    return {}


def serve(client):
    """Answers what is asked; what the user did gets no answer."""
    while (frame := client.next_frame()) is not None:
        client.frame_sent(frame.id)
        request = json.loads(frame.bytes)
        if not request["type"].startswith(("get_", "mark_")):
            continue
        client.receive(json.dumps({
            "type": request["type"], "request_id": request["request_id"], "status": "ok",
            "data": data(request)}))


def open_client(path):
    return tideline.Client(path, KEY, user_id="me", profile=tideline.Profile(page_limit=20))


def main():
    with open_client(sys.argv[1]) as client:
        client.connected()
        client.sync(kind=tideline.SyncKind.CONVERSATIONS)
        serve(client)
        client.sync("c", tideline.SyncKind.OLDER, want=100)
        serve(client)
        client.sync("c")
        serve(client)
        client.receive(json.dumps({
            "type": "message_new", "conversation_id": "c", "message": message(41)}))
        client.mark_read("c", ["m01", "m02"])
        serve(client)
        client.disconnected()
        client.forget("c", "m09")
        client.send("c", "waits", reply_to="m03")
        client.perform({"type": "edit_message", "conversation_id": "c", "message_id": "m07",
                        "payload": "edited"})
        client.perform({"type": "react_message", "conversation_id": "c", "message_id": "m03",
                        "reaction": "!"})
        client.mark_read("c", ["m04"])
        client.draft("e", "a draft")


if __name__ == "__main__":
    main()
