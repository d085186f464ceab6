#!/bin/sh
# vodozemac 0.10.0 (PyPI; Olm, Matrix's ratchet for two devices).
#
# Guess: messages that come out of order can all be opened, as long as fewer than some thousands are
# missing: the keys of those that were jumped over are kept.
# Seen: the keys of the newest 40 are kept. When the 60th message is opened first, the first 19 can
# never be opened. A message behind more than 2,000 that are missing cannot be opened yet, and opens
# once enough of them came. A device that reads its inbox from the newest end loses keys of rooms,
# so what Olm carries is to be opened in the order of arrival, before the rest is shown.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install vodozemac==0.10.0 2>pip.log
cat >try.py <<'PY'
import vodozemac


def pair():
    eva, jan = vodozemac.Account(), vodozemac.Account()
    jan.generate_one_time_keys(1)
    sends = eva.create_outbound_session(jan.curve25519_key, next(iter(jan.one_time_keys.values())))
    first = sends.encrypt(b"hello").to_pre_key()
    opens, _ = jan.create_inbound_session(eva.curve25519_key, first)
    sends.decrypt(opens.encrypt(b"hello"))
    return sends, opens


def opened(session, messages):
    found = []
    for number, message in messages:
        try:
            session.decrypt(message)
            found.append(number)
        except vodozemac.OlmDecryptionException:
            pass
    return found


sends, opens = pair()
sent = [(number, sends.encrypt(b"x")) for number in range(1, 61)]
found = opened(opens, [sent[-1], *sent[:-1]])
print("60 messages, the last first: opened", len(found), "lost",
      sorted({number for number, _ in sent} - set(found)))
sends, opens = pair()
sent = [(number, sends.encrypt(b"x")) for number in range(1, 2201)]
print("2001 missing:", opened(opens, [sent[2001]]))
print("2000 missing, then the next:", opened(opens, [sent[2000], sent[2001]]))
PY
venv/bin/python try.py | tee seen
grep -q '^60 messages, the last first: opened 41 lost \[1, 2, .*, 19\]$' seen
grep -qx '2001 missing: \[\]' seen
grep -qx '2000 missing, then the next: \[2001, 2002\]' seen
