"""The idea without a network: what to ask, an answer, and a page that says how complete it is."""
import tideline

client = tideline.Client("first.tideline", b"an example; take 32 random bytes", user_id="eva")
client.connected()
client.sync("general")
for frame in client.frames():
    print("to send:", frame.bytes.decode())
client.receive("""{"type": "get_messages", "status": "ok", "data": {"total_count": 2, "messages": [
{"message_id": "m1", "sender_id": "jan", "created_at": "2026-02-15T22:15:45", "payload": "ahoj"},
{"message_id": "m2", "sender_id": "eva", "created_at": "2026-02-15T22:16:10", "payload": "hi"}],
"has_more": false}}""")
page = client.messages("general")
print([row.json for row in page.messages], "complete:", page.coverage.whole)
