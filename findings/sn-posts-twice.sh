#!/bin/sh
# sn 0.3.8 (Debian bookworm, 0.3.8-12), an NNTP server for a few groups.
#
# Guess: an article whose Message-ID the server has is refused (441), so a POST whose answer was
# lost may be sent again; that is what the ids of NNTP are for.
# Guess: a cancelled article lowers the count of GROUP, and numbers are never given twice.
# Seen: IHAVE refuses a known id, and POST stores it again under another number: two articles, one
# id, both answered with 240. Cancelling the id removes the first; the second is still listed, and
# "no such article" by its id. GROUP counts what was cancelled, and names a first number that is
# gone. After an expiry of everything the numbers begin again.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -o APT::Sandbox::User=root download sn=0.3.8-12 >apt.log 2>&1
for package in ./*.deb; do dpkg-deb -x "$package" root; done
export SNROOT="$folder/spool" PATH="$folder/root/usr/sbin:$PATH" POSTING_OK=1
# The program that takes a post in: the package's own names fixed paths.
mkdir spool bin
printf '#!/bin/sh\nexec snsend\n' >bin/SNPOST
chmod +x bin/SNPOST
PATH="$folder/bin:$PATH"
snnewgroup local.room 2>group.log
ask() {
  printf '%s\r\n' 'MODE READER' "$@" QUIT | snntpd.bin 2>>server.log | tr -d '\r' | grep -v '^20[015]'
}
post() {
  printf '%s\r\n' 'MODE READER' POST 'From: eva@example.org' 'Newsgroups: local.room' \
    "Message-ID: <$1@example.org>" "Subject: $1" '' hello . QUIT |
    snntpd.bin 2>>server.log | tr -d '\r' | sed -n 's/^\(2[34].\|44.\).*/\1/p'
}
numbers() {
  ask 'GROUP local.room' 'XOVER 1-99' | awk -F '\t' 'NF > 4 { print $1, $2 }'
}
{
  for name in one two two; do echo "post of $name: $(post $name)"; done
  echo "ihave: $(ask 'IHAVE <two@example.org>' | cut -c 1-3)"
  echo "listed:" $(numbers)
  ask 'GROUP local.room'
  sncancel -i '<one@example.org>' '<two@example.org>' 2>>server.log
  echo "after the cancellation:" $(numbers)
  ask 'GROUP local.room'
  echo "by its id: $(ask 'STAT <two@example.org>')"
  snexpire -0d local.room 2>>server.log
  echo "post of three: $(post three)"
  echo "after an expiry:" $(numbers)
} | tee seen
test "$(grep -c '^post of .*: 240$' seen)" = 4
grep -qx 'ihave: 435' seen
grep -qx 'listed: 10 one 11 two 12 two' seen
grep -qx 'after the cancellation: 12 two' seen
test "$(grep -cx '211 3 10 12 local.room' seen)" = 2
grep -qx 'by its id: 430 No such article' seen
grep -qx 'after an expiry: 10 three' seen
