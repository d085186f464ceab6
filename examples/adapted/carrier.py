"""What adapters share: how requests are answered."""
import json
from datetime import datetime, timedelta, timezone

EPOCH, TICK = datetime(1970, 1, 1, tzinfo=timezone.utc), timedelta(microseconds=1)


def stamp(us):
    return (EPOCH + us * TICK).isoformat(timespec="microseconds").replace("+00:00", "Z")


def text(payload):
    """What a payload says, for servers that carry texts alone."""
    return payload if isinstance(payload, str) else str(payload["text"])


class Unsupported(Exception):
    """A verb that the other server has nothing for."""


class Carrier:
    """Answers each request once, with its own id, unless the connection ends. An adapter says what
    to ``do``, how an ``error`` is told, and ``listen``s for what comes unasked, which it ``put``s.
    """

    def __init__(self):
        self.queue = []

    def listed(self, want, known):
        """The page of a list of conversations, of what is known of each by its id."""
        start, end = want.get("offset", 0), want.get("offset", 0) + want.get("limit", 1_000)
        return {"total_count": len(known), "conversations": [
            {"conversation_id": name, **known[name]} for name in sorted(known)[start:end]]}

    def receive(self, timeout_s):
        if not self.queue:
            self.listen(timeout_s)
        return self.queue.pop(0) if self.queue else None

    def put(self, frame):
        self.queue.append(json.dumps(frame).encode())

    def send(self, frame):
        want = json.loads(frame)
        answer = {"type": want["type"], "request_id": want["request_id"], "status": "ok"}
        try:
            answer["data"] = self.do(want["type"], want, want.get("conversation_id", ""))
        except ConnectionError:
            raise  # Nobody knows whether it was done: the host connects anew, and asks.
        except Exception as error:
            answer |= {"status": "error", "error": {"code": "unsupported"} if isinstance(
                error, Unsupported) else self.error(error)}
        self.put(answer)
