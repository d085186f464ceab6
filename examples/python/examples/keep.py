"""Keeps messages over a kill -9: run it twice."""
import os

import tideline

client = tideline.Client("keep.tideline", b"an example; take 32 random bytes", user_id="eva")
print([row.json["text"] for row in client.messages("general").messages], flush=True)
client.connected()
client.receive('{"type":"message_new","message":{"message_id":"m1","conversation_id":"general",'
               '"sender_id":"jan","payload":{"text":"hi"},"created_at":"2026-02-15T22:15:45"}}')
client.send("general", {"text": "ahoj"})
os.kill(os.getpid(), 9)
