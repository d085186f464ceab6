#!/bin/sh
# muchsync 7 (Debian bookworm, 7-1) with notmuch 0.37 (0.37-1+b1), two stores of one mail.
#
# Guess: it keeps a version of each mail's tags per replica, so it knows what each side changed
# since they were equal. Where one device removes a tag and the other one adds another, both are
# done.
# Seen: the version is that of all tags of a mail. Two devices that changed different tags of it are
# in conflict, and the result is all tags of both: a tag that was removed on one device is back on
# both, because the other one, which never touched it, still had it. Tags named in
# `muchsync.and_tags` are kept only where both have them, so there the other half is undone: a mail
# marked unread again is read. No setting keeps both halves.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -o APT::Sandbox::User=root download muchsync=7-1 notmuch=0.37-1+b1 libnotmuch5=0.37-1+b1 \
  libxapian30=1.4.22-1 libassuan0 libgmime-3.0-0 libgpgme11 libsexp1 libtalloc2 libsqlite3-0 \
  libssl3 >apt.log 2>&1
for package in ./*.deb; do dpkg-deb -x "$package" root; done
LD_LIBRARY_PATH=$(find "$folder/root" -type d -path '*/lib/*-linux-gnu' | tr '\n' ':')
PATH="$folder/root/usr/bin:$PATH"
export LD_LIBRARY_PATH PATH
on() {
  device=$1
  shift
  NOTMUCH_CONFIG="$case/$device/config" "$@" 2>>"$case/log"
}
# muchsync calls this in the place of ssh, with the name of the host, which it leaves out. The file
# says that the other side is done as well: muchsync itself does not wait for it.
cat >connect <<'SH'
#!/bin/sh
shift
NOTMUCH_CONFIG="$FAR/config" "$@"
echo done >"$FAR/done"
SH
chmod +x connect
sync() {
  rm -f "$case/far/done"
  on near env FAR="$case/far" muchsync --nonew -s "$folder/connect" far >/dev/null
  for _ in $(seq 200); do
    if [ -e "$case/far/done" ]; then break; fi
    sleep 0.1
  done
}
tags() { on "$1" notmuch search --output=tags '*' | tr '\n' ' ' | sed 's/ $//'; }

for setting in '' unread; do
  for start in '+unread +todo' '-unread +todo'; do
    case="$folder/$setting$start"
    for device in near far; do
      mkdir -p "$case/$device/mail/cur" "$case/$device/mail/new" "$case/$device/mail/tmp"
      {
        printf '[database]\npath=%s\n[user]\nname=Ada\n' "$case/$device/mail"
        printf 'primary_email=ada@one.example\n[new]\ntags=new\n'
        printf '[maildir]\nsynchronize_flags=false\n'
        if [ -n "$setting" ]; then printf '[muchsync]\nand_tags=%s\n' "$setting"; fi
      } >"$case/$device/config"
    done
    printf 'From: ada@one.example\nSubject: text\nMessage-ID: <1@one.example>\n%s\n\nhello\n' \
      'Date: Fri, 01 May 2026 12:00:00 +0000' >"$case/near/mail/cur/1.near:2,"
    on near notmuch new >/dev/null
    on far notmuch new >/dev/null
    on near notmuch tag -new $start -- '*'
    sync
    label="and_tags '$setting', both have '$(tags far)'"
    if [ "$start" = '+unread +todo' ]; then mine=-unread; else mine=+unread; fi
    on near notmuch tag "$mine" -- '*'
    on far notmuch tag +later -- '*'
    sync
    printf '%s, near %s, far +later: near %s; far %s\n' \
      "$label" "$mine" "$(tags near)" "$(tags far)"
  done
done | tee seen
kept='near later todo; far later todo'
back='near later todo unread; far later todo unread'
grep -qx "and_tags '', both have 'todo unread', near -unread, far +later: $back" seen
grep -qx "and_tags '', both have 'todo', near +unread, far +later: $back" seen
grep -qx "and_tags 'unread', both have 'todo unread', near -unread, far +later: $kept" seen
grep -qx "and_tags 'unread', both have 'todo', near +unread, far +later: $kept" seen
