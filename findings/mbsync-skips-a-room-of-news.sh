#!/bin/sh
# isync 1.4.4 (Debian bookworm, 1.4.4-5), two Maildirs.
#
# Guess: `MaxMessages 3` keeps the newest three on the near side, whatever was read.
# Seen: with more unread mails than the bound, and no `ExpireUnread`, the mailbox is skipped as a
# whole, in each run, until somebody decides: no new mail, no flag and no deletion is carried over,
# in either direction. The manual page gives "no" as the default; with "no" in the file all come,
# above the bound, and go when they were read. With "yes" the newest three come, beside what is
# flagged. A mirror that runs unattended sets it.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -o APT::Sandbox::User=root download isync=1.4.4-5 libsasl2-2 libdb5.3 libssl3 zlib1g \
  >apt.log 2>&1
for package in ./*.deb; do dpkg-deb -x "$package" root; done
export LD_LIBRARY_PATH="$(pwd)/root/usr/lib/$(uname -m)-linux-gnu" HOME="$folder"
mail() {
  mkdir -p far/INBOX/cur far/INBOX/new far/INBOX/tmp
  printf 'From: eva@example.org\nMessage-ID: <m%s@example.org>\nSubject: m%s\n\nhello\n' "$1" "$1" \
    >"far/INBOX/new/$1.m$1.here"
}
configure() {
  for side in near far; do
    printf 'MaildirStore %s\nPath %s/\nInbox %s/INBOX\n\n' $side "$folder/$side" "$folder/$side"
  done
  printf 'Channel all\nFar :far:\nNear :near:\nCreate Both\nExpunge Both\nSync All\n'
  printf 'SyncState *\n%s\n' "$1"
}
sync() {
  if root/usr/bin/mbsync -c "$1" all >sync.log 2>&1; then code=0; else code=$?; fi
  echo "$2: ends with $code, near has" \
    $(cat near/INBOX/new/* near/INBOX/cur/* 2>sync.err | sed -n 's/^Subject: //p' | sort)
}
configure 'MaxMessages 3' >bound
configure 'MaxMessages 3
ExpireUnread no' >bound-no
configure 'MaxMessages 3
ExpireUnread yes' >bound-yes
mkdir -p near
{
  for number in 1 2 3; do mail $number; done
  sync bound 'three mails'
  for number in 4 5 6 7; do mail $number; done
  # Meanwhile one is flagged, and one deleted, and on the near side another is flagged.
  for each in far/INBOX/new/1.*; do mv "$each" "far/INBOX/cur/${each##*/}:2,F"; done
  rm far/INBOX/new/2.*
  for each in near/INBOX/*/*; do
    if grep -qx 'Subject: m3' "$each"; then mv "$each" "near/INBOX/cur/$(basename "${each%:2,*}"):2,R"; fi
  done
  sync bound 'four more'
  sync bound 'again'
  echo "answered: near $(find near/INBOX -name '*:2,*R*' | wc -l)," \
    "far $(find far/INBOX -name '*:2,*R*' | wc -l)"
  echo "flagged: near $(find near/INBOX -name '*:2,*F*' | wc -l)," \
    "far $(find far/INBOX -name '*:2,*F*' | wc -l)"
  cp -r near kept
  sync bound-no 'with ExpireUnread no'
  rm -rf near
  cp -r kept near
  sync bound-yes 'with ExpireUnread yes'
} | tee seen
grep -qx 'three mails: ends with 0, near has m1 m2 m3' seen
grep -qx 'four more: ends with 1, near has m1 m2 m3' seen
grep -qx 'again: ends with 1, near has m1 m2 m3' seen
grep -qx 'answered: near 1, far 0' seen
grep -qx 'flagged: near 0, far 1' seen
grep -qx 'with ExpireUnread no: ends with 0, near has m1 m3 m4 m5 m6 m7' seen
grep -qx 'with ExpireUnread yes: ends with 0, near has m1 m5 m6 m7' seen
