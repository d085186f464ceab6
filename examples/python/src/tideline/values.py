"""Plain values that a client takes and gives."""

from __future__ import annotations

import dataclasses
import datetime
import json
from typing import Any

from ._words import Word, Words, moment
from .errors import Status


class Truncates(Word):
    """Which end of a full answer to ``after_ts`` the server keeps."""

    UNKNOWN = 0
    OLDEST = 1
    NEWEST = 2


class IdempotencyScope(Word):
    """Whose repeated sends the server knows, see ``Capabilities.IDEMPOTENT_SEND``."""

    ACCOUNT = 0
    DEVICE = 1
    CONNECTION = 2


class Ties(Word):
    """How the server orders messages with the same printed time."""

    UNKNOWN = 0
    ID = 1
    ARRIVAL = 2


class Capabilities(Words):
    """What the server can do beyond paging by offset."""

    BEFORE = 1 << 0
    AROUND = 1 << 1
    CHANGED_SINCE = 1 << 2
    IDEMPOTENT_SEND = 1 << 3
    SEQUENCE = 1 << 4
    ENVELOPE = 1 << 5
    LOG = 1 << 6
    LOG_REFUSES = 1 << 7
    LOG_EPOCH = 1 << 8


_NOTHING_MORE = Capabilities(0)


@dataclasses.dataclass(frozen=True)
class Profile:
    """What the host knows of its server. The defaults are the protocol's first server."""

    page_limit: int = 0
    truncates: Truncates = Truncates.UNKNOWN
    ties: Ties = Ties.UNKNOWN
    page_size_varies: bool = False
    absence_is_deletion: bool = False
    time_resolution_us: int = 0
    overlap_ms: int = 0
    deletion_horizon_s: int = 0
    zone_offset_min: int = 0
    capabilities: Capabilities = _NOTHING_MORE
    push_lossless: bool = False
    counts_hidden: bool = False
    unknown_frames: bool = False
    deletions_later: bool = False
    order_not_time: bool = False
    others_edit: bool = False
    ref_days: int = 0
    refs_max: int = 0
    pages_max: int = 0
    search_members: str = ""
    idempotency_scope: IdempotencyScope = IdempotencyScope.ACCOUNT
    idempotency_s: int = 0


@dataclasses.dataclass(frozen=True)
class SealedMessage:
    """A message as it came, offered to the ``open`` hook."""

    conversation: str
    id: str
    sender: str
    payload: bytes
    message: bytes


@dataclasses.dataclass(frozen=True)
class Unsealed:
    """A payload of this user, offered to the ``seal`` hook: of a message to send under
    ``client_id``, or of an edit of ``message``."""

    conversation: str
    client_id: str
    message: str
    payload: bytes

    @property
    def json(self) -> Any:
        """The payload as a JSON value."""
        return json.loads(self.payload)


@dataclasses.dataclass(frozen=True)
class Plain:
    """The answer of an ``open`` hook that has more to say than the plaintext. ``searchable`` is
    searched in place of the payload."""

    payload: bytes
    control: bool = False
    event: bool = False
    searchable: bytes = b""


@dataclasses.dataclass(frozen=True)
class Frame:
    """One frame to send, whole, as one message of the transport."""

    id: int
    bytes: bytes


class Phase(Word):
    """What the client is doing as a whole."""

    OFFLINE = 0
    CATCHING_UP = 1
    UP_TO_DATE = 2


@dataclasses.dataclass(frozen=True)
class State:
    """The client's overall state."""

    phase: Phase
    syncs_left: int
    requests_in_flight: int
    frames_waiting: int
    reconnect_wanted: bool
    reads_pending: int
    change_seq: int
    as_of_us: int
    replies_owed: int = 0
    operations_open: int = 0
    operations_stuck: int = 0
    commit_seq: int = 0
    log_lost: bool = False
    older: bool = False

    @property
    def as_of(self) -> datetime.datetime | None:
        """The greatest server time that was seen, in UTC; None before any."""
        return moment(self.as_of_us)


class SyncKind(Word):
    """What a sync is to bring."""

    LATEST = 0
    OLDER = 1
    LIVE = 2
    CONVERSATIONS = 3
    ALL = 4


class Policy(Word):
    """Where an answer may come from."""

    CACHE_THEN_NETWORK = 0
    CACHE_ONLY = 1
    NETWORK_FIRST = 2
    NETWORK_ONLY = 3
    MAX_AGE = 4
    HOST = 5


class Basis(Word):
    """What an answer stands on."""

    CACHE = 0
    NETWORK = 1


@dataclasses.dataclass(frozen=True)
class PolicyQuestion:
    """For what a policy is to be chosen; no conversation for the list, and for all of them."""

    conversation: str
    kind: SyncKind
    window: bool


@dataclasses.dataclass(frozen=True)
class PolicyChoice:
    """A policy with what it needs."""

    policy: Policy = Policy.CACHE_THEN_NETWORK
    limit_ms: int = 0
    age_us: int = 0


class SyncPhase(Word):
    """How far a sync is."""

    WAITING = 0
    RUNNING = 1
    ENDED = 2


@dataclasses.dataclass(frozen=True)
class SyncStatus:
    """How a sync went."""

    phase: SyncPhase
    result: Status
    requests: int
    received: int
    inserted: int
    removed: int
    done: int = 0
    total: int = 0
    basis: Basis = Basis.CACHE
    #: Why the network did not answer, also where the cache then did.
    reason: Status = Status.OK
    #: When the server was last asked for all that is new there, by the device's clock, or 0.
    as_of_us: int = 0
    #: Of a log: by how much times were seen to step back in its order, at most.
    step_back_us: int = 0

    @property
    def as_of(self) -> datetime.datetime | None:
        """``as_of_us`` in UTC; None where it is 0."""
        return moment(self.as_of_us)


class MessageState(Word):
    """How far a message is."""

    CONFIRMED = 0
    QUEUED = 1
    IN_FLIGHT = 2
    UNKNOWN = 3
    REFUSED = 4


class MessageFlags(Words):
    """Flags of a message."""

    MINE = 1 << 0
    UNREAD = 1 << 1
    EDITED = 1 << 2
    DELETED = 1 << 3
    PINNED = 1 << 4
    EVENT = 1 << 5
    SEALED = 1 << 6
    UNVERIFIED = 1 << 7
    GAP_BEFORE = 1 << 8
    STALE = 1 << 9
    LISTENED = 1 << 10
    GONE = 1 << 11
    GAP_HEALING = 1 << 12
    MODERATED = 1 << 13
    SILENT = 1 << 14


@dataclasses.dataclass(frozen=True)
class Reaction:
    """One kind of reaction to a message, and the ids of the users who gave it."""

    reaction: str
    users: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Reader:
    """A user who read a message, whom it was delivered to, or who listened to it."""

    user: str


def _users(listed: Any) -> tuple[str, ...]:
    """The ids in a list of ids, or of objects with a ``user_id``; what is neither is left out."""
    if not isinstance(listed, list):
        return ()
    ids = [one.get("user_id") if isinstance(one, dict) else one for one in listed]
    return tuple([one for one in ids if isinstance(one, str)])


def _readers(text: bytes) -> tuple[Reader, ...]:
    return tuple(map(Reader, _users(json.loads(text)))) if text else ()


@dataclasses.dataclass(frozen=True)
class Message:
    """One message. ``number`` is its identity on screen; bytes are as they came. Members in ``_us``
    are microseconds since 1970; ``time`` and ``edited`` are the same as ``datetime``.

    Those that a client gives are decoded when a field is first read, and keep the memory of their
    page until the last of them goes."""

    number: int
    time_us: int
    flags: MessageFlags
    id: str
    conversation: str
    sender: str
    stamp: str
    payload: bytes
    reply_to: str | None
    reactions_json: bytes
    read_by_json: bytes
    rest: bytes
    delivered_by_json: bytes
    listened_by_json: bytes
    sequence: int
    state: MessageState = MessageState.CONFIRMED
    operation: int | None = None
    upload_permille: int = 1000
    edited_us: int | None = None
    client_id: str | None = None

    @property
    def json(self) -> Any:
        """The payload as a JSON value; for payloads that no ``open`` hook has changed."""
        return json.loads(self.payload)

    @property
    def time(self) -> datetime.datetime | None:
        """The server's time of it in UTC; None until the server has given one."""
        return moment(self.time_us)

    @property
    def edited(self) -> datetime.datetime | None:
        """When it was edited last, in UTC; None where it was not, or nobody said when."""
        return moment(self.edited_us)

    @property
    def reactions(self) -> tuple[Reaction, ...]:
        """The reactions, in the order in which they came."""
        found = json.loads(self.reactions_json) if self.reactions_json else {}
        return tuple([Reaction(kind, _users(users)) for kind, users in found.items()])

    @property
    def read_by(self) -> tuple[Reader, ...]:
        """Who has read it."""
        return _readers(self.read_by_json)

    @property
    def delivered_by(self) -> tuple[Reader, ...]:
        """Whom it was delivered to."""
        return _readers(self.delivered_by_json)

    @property
    def listened_by(self) -> tuple[Reader, ...]:
        """Who has listened to it."""
        return _readers(self.listened_by_json)


@dataclasses.dataclass(frozen=True)
class Gap:
    """A place where messages may be missing; before row ``before_row``."""

    before_row: int
    poisoned: bool
    low_us: int
    high_us: int

    @property
    def low(self) -> datetime.datetime | None:
        """Its older end in UTC; None at the start of the conversation."""
        return moment(self.low_us)

    @property
    def high(self) -> datetime.datetime | None:
        """Its newer end in UTC; None where it goes on to the present."""
        return moment(self.high_us)


class Stop(Word):
    """Why a read gave fewer messages than were asked, or stopped."""

    LIMIT = 0
    START = 1
    GAP = 2
    PRESENT = 3
    COUNT = 4


@dataclasses.dataclass(frozen=True)
class Coverage:
    """How complete a page is. ``whole``: nothing is missing between its first and last row.
    ``as_of_entry``: of a log, the entry as of which that is so."""

    whole: bool
    stop: Stop
    gaps: tuple[Gap, ...]
    deletions_as_of_us: int
    content_as_of_us: int
    total_count: int | None
    known_count: int
    marks_as_of_us: int
    stale_count: int
    as_of_entry: str = ""


@dataclasses.dataclass(frozen=True)
class Page:
    """Messages with the statement of how complete they are."""

    messages: tuple[Message, ...]
    coverage: Coverage


class From(Word):
    """Where a read begins."""

    LATEST = 0
    OLDEST = 1
    BEFORE = 2
    AFTER = 3
    TIME = 4
    BEFORE_TIME = 5


class Origin(Word):
    """Where a change came from."""

    NONE = 0
    FETCHED = 1
    PUSHED = 2
    OWN = 3


class ChangeKind(Word):
    """What a change was."""

    INSERTED = 1
    UPDATED = 2
    REMOVED = 3
    COVERAGE = 4
    EVENTS = 5
    ENTITIES = 6
    OPERATIONS = 7
    CONVERSATIONS = 8
    PURGED = 9


@dataclasses.dataclass(frozen=True)
class Change:
    """One entry of the change feed: messages of one conversation, one commit.

    ``notify``: its messages are offered for a notification, each of them once."""

    seq: int
    kind: ChangeKind
    first: int
    last: int
    conversation: str
    silent: bool = False
    notify: bool = False
    origin: Origin = Origin.NONE


@dataclasses.dataclass(frozen=True)
class Changes:
    """A pull of the change feed. ``resync``: older entries are gone, read anew and go on from
    ``State.change_seq``."""

    entries: tuple[Change, ...]
    resync: bool = False


class EventKind(Word):
    """What an event is."""

    UNKNOWN = 1
    TYPING = 2
    CONVERSATION = 3
    POISON = 4
    MEMBER = 5
    PROFILE = 6
    FRAME = 7


class Action(Word):
    """What an update did, as its sender says."""

    NONE = 0
    NEW = 1
    UPDATE = 2
    DELETE = 3


@dataclasses.dataclass(frozen=True)
class Event:
    """Something the server told that is not a message; ``body`` is JSON as it came."""

    seq: int
    kind: EventKind
    action: Action
    conversation: str
    entity: str
    body: bytes
    silent: bool = False
    id: str = ""


@dataclasses.dataclass(frozen=True)
class Events:
    """A pull of events. ``resync``: older ones are gone, go on from 0."""

    entries: tuple[Event, ...]
    resync: bool = False


@dataclasses.dataclass(frozen=True)
class Quarantined:
    """An item that could not be applied, as it came; ``low_us`` and ``high_us`` are the ends of the
    place that it hides."""

    seq: int
    conversation: str
    reason: str
    item: bytes
    size: int
    low_us: int
    high_us: int
    cut: bool = False


class EntityKind(Word):
    """Which small thing beside messages it is."""

    CONVERSATION = 1
    MEMBER = 2
    PROFILE = 3


@dataclasses.dataclass(frozen=True)
class Entity:
    """One entity; ``body`` is the newest JSON object as it came."""

    kind: EntityKind
    conversation: str
    id: str
    body: bytes


@dataclasses.dataclass(frozen=True)
class Stats:
    """Counters. Those of frames and requests count since the opening."""

    wal_frames_rejected: int
    conversations: int
    messages: int
    tombstones: int
    quarantined: int
    frames_in: int
    frames_bad: int
    frames_ignored: int
    answers_unmatched: int
    frames_out: int
    bytes_in: int
    bytes_out: int
    requests: int
    timeouts: int
    retries: int
    duplicates: int
    open_failures: int
    walks_incomplete: int
    restores: int
    audit_mismatches: int
    commits: int
    file_bytes: int
    overlap_us: int
    updates: int
    updates_repeated: int
    replies: int
    waiting: int
    waiting_dropped: int
    page_limit: int
    request_timeout_ms: int
