#!/bin/sh
# Dovecot 2.3.19.1 (Debian bookworm, 1:2.3.19.1+dfsg1-2.1+deb12u7), `doveadm sync` of two Maildirs.
#
# Guess: `doveadm sync` brings what either side has that the other lacks: two mails, of which one
# was stored here and one there, are on both sides afterwards, and flags are merged.
# Guess: the mail of one side keeps its UID, and the other one gets a new one.
# Seen: without `-f` a mailbox is skipped where both sides have the same next UID and the same
# highest modification sequence. Changes on both sides lead to the same numbers: then nothing is
# exchanged, the command ends with 0, and so do the next ones, until one side has had a change more.
# Then both mails get new UIDs. A mirror compares what the numbers stand for, or a hash of the ids.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
chmod 755 "$folder"
cd "$folder"
apt-get -o APT::Sandbox::User=root download dovecot-core=1:2.3.19.1+dfsg1-2.1+deb12u7 libunwind8 \
  >apt.log 2>&1
for package in ./*.deb; do dpkg-deb -x "$package" root; done
user=$(id -un)
[ "$user" != root ] || user=mail # Dovecot refuses root a mailbox.
mkdir here there state run
[ "$(id -u)" != 0 ] || chown -R "$user" here there state run
for side in here there; do
  cat >$side.conf <<CONF
mail_location = maildir:$folder/$side/mail
base_dir = $folder/run
state_dir = $folder/state
mail_plugin_dir = $folder/root/usr/lib/dovecot/modules
log_path = /dev/stderr
ssl = no
mail_uid = $user
mail_gid = $(id -gn "$user")
first_valid_uid = 1
first_valid_gid = 1
namespace inbox {
  inbox = yes
}
CONF
done
LD_LIBRARY_PATH=$(find "$folder/root" -type d \
  \( -path '*/lib/*-linux-gnu' -o -path '*/lib/dovecot' \) | tr '\n' ':')
export LD_LIBRARY_PATH USER="$user" HOME="$folder"
run() {
  side=$1
  shift
  root/usr/bin/doveconf -c "$side.conf" -m doveadm -e root/usr/bin/doveadm "$@" 2>>server.log
}
store() {
  printf '%s\n' 'From: eva@example.org' 'Date: Sun, 01 Nov 2026 10:00:00 +0000' \
    "Message-ID: <$2@example.org>" "Subject: $2" '' hello | run "$1" save -m INBOX
}
numbers() {
  for side in here there; do
    echo "  $side:" $(run $side mailbox status 'uidnext highestmodseq' INBOX)
  done
}
sync() {
  name=$1
  shift
  [ "$name" = 'the first time' ] || numbers
  if run here sync "$@" "maildir:$folder/there/mail"; then code=0; else code=$?; fi
  echo "$name: ends with $code"
  for side in here there; do
    echo "  $side:" $(run $side fetch 'uid hdr.subject flags' all | awk '
      /^uid:/ { uid = $2 }
      /^hdr.subject:/ { subject = $2 }
      /^flags:/ {
        gsub(/flags: *|\\Recent|\\/, "")
        sub(/ *$/, "")
        print uid "=" subject "(" $0 ")"
      }')
  done
}
{
  store here one
  store here two
  sync 'the first time' -f
  store here three
  store there four
  run here flags add '\Flagged' mailbox INBOX uid 1
  run here flags add '\Draft' mailbox INBOX uid 1
  run there flags add '\Seen' mailbox INBOX uid 2
  sync 'the same numbers'
  sync 'the same numbers, again'
  run there flags add '\Answered' mailbox INBOX uid 1
  sync 'one change more'
} | tee seen
apart='  here: 1=one(Flagged Draft) 2=two() 3=three()
  there: 1=one() 2=two(Seen) 3=four()'
grep -q 'here: INBOX uidnext=4 highestmodseq=6' seen
grep -q 'there: INBOX uidnext=4 highestmodseq=6' seen
test "$(grep -A 2 '^the same numbers: ends with 0' seen | tail -n 2)" = "$apart"
test "$(grep -A 2 '^the same numbers, again: ends with 0' seen | tail -n 2)" = "$apart"
test "$(tail -n 2 seen | cut -d : -f 2 | sort -u)" = \
  ' 1=one(Answered Flagged Draft) 2=two(Seen) 4=three() 5=four()'
