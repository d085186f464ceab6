#!/bin/sh
# notmuch 0.37 (Debian bookworm, 0.37-1+b1).
#
# Guess: each change of the database raises the revision that `notmuch count --lastmod` prints, so a
# mirror that finds the same revision and the same UUID as before has nothing to do.
# Guess: a command that leaves a mail's tags as they were does not list it as changed.
# Seen: a mail that is deleted leaves the revision as it was, and no `lastmod:` query finds it. Only
# the count, or the list of all ids, shows it; after one deletion and one new mail the count does
# not either. Adding a tag and taking it off in one command changes nothing, and raises the
# revision.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -o APT::Sandbox::User=root download notmuch=0.37-1+b1 libnotmuch5=0.37-1+b1 libgmime-3.0-0 \
  libgpgme11 libassuan0 libsexp1 libtalloc2 libxapian30 >apt.log 2>&1
for package in ./*.deb; do dpkg-deb -x "$package" root; done
LD_LIBRARY_PATH=$(find "$folder/root" -type d -path '*/lib/*-linux-gnu' | tr '\n' ':')
NOTMUCH_CONFIG=$folder/config
HOME=$folder
export LD_LIBRARY_PATH NOTMUCH_CONFIG HOME
mkdir -p mail/cur mail/new mail/tmp
printf '[database]\npath=%s/mail\n[user]\nprimary_email=eva@example.org\n' "$folder" >config
mail() {
  printf 'From: eva@example.org\nSubject: %s\nMessage-ID: <%s@example.org>\n\nhello\n' "$1" "$1" \
    >"mail/cur/$1:2,"
}
ask() { root/usr/bin/notmuch "$@"; }
scan() { ask new >/dev/null 2>&1; }
revision() { ask count --lastmod '*' | cut -f 3; }
mail one
mail two
mail three
scan
start=$(revision)
{
  ask tag +seen id:one@example.org
  echo "a tag: raised by $(($(revision) - start))"
  ask tag +seen id:one@example.org
  echo "the same tag: raised by $(($(revision) - start))"
  ask tag +draft -draft id:one@example.org
  echo "a tag on and off: raised by $(($(revision) - start))"
  before=$(revision)
  rm mail/cur/two:2,
  scan
  echo "deleted: $(ask count '*') mails, raised by $(($(revision) - before))," \
    "found as changed $(ask count "lastmod:$((before + 1)).."), by its id $(ask count id:two@example.org)"
} >seen
cat seen
grep -qx 'a tag: raised by 1' seen
grep -qx 'the same tag: raised by 1' seen
grep -qx 'a tag on and off: raised by 2' seen
grep -qx 'deleted: 2 mails, raised by 0, found as changed 0, by its id 0' seen
