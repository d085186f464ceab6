#!/bin/sh
# NNCP 8.8.2 (Debian bookworm, 8.8.2-3+deb12u1), two nodes that exchange packets by a folder.
#
# Guess: packets of one sender, of one priority (`-nice`), are handed out in the order in which they
# were made.
# Guess: a packet that comes twice, since two sticks or two links carried it, is handed out once:
# its name is the hash of what it holds.
# Guess: where the program that takes a packet fails, those behind it wait, or it is given up.
# Seen: `nncp-toss` hands them out by their names, which are hashes: ten messages come shuffled, in
# another order each time. One whose program fails comes after all later ones. A copy is handed out
# again; only `nncp-toss -seen` leaves a mark of each packet that refuses its copies. Messages that
# travel so need a number and an id of their own.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -o APT::Sandbox::User=root download nncp=8.8.2-3+deb12u1 >apt.log 2>&1
dpkg-deb -x ./*.deb root
PATH=$folder/root/usr/bin:$PATH
mkdir -p eva/spool jan/spool carrier
nncp-cfgnew -nocomments >eva/keys
nncp-cfgnew -nocomments >jan/keys
cat >make.py <<'PY'
import os
import re

PUBLIC, here = ("id", "exchpub", "signpub", "noisepub"), os.getcwd()
KEYS = {name: dict(re.findall(r"(\w+): (\w{50,})", open(f"{name}/keys").read()))
        for name in ("eva", "jan")}


def node(name, only=None):
    return "\n".join(f"{key}: {value}" for key, value in KEYS[name].items()
                     if not only or key in only)


for name, other in ("eva", "jan"), ("jan", "eva"):
    with open(f"{name}/conf", "w") as file:
        file.write(f"""{{
spool: {here}/{name}/spool
log: {here}/{name}/log
self: {{
{node(name)}
}}
neigh: {{
self: {{
{node(name, PUBLIC)}
}}
{other}: {{
{node(other, PUBLIC)}
exec: {{take: ["{here}/take"]}}
}}
}}
}}
""")
PY
python3 make.py
cat >take <<SH
#!/bin/sh
text=\$(cat)
[ ! -e "$folder/fails-\$text" ] || exit 1
echo "\$text" >>"$folder/got"
SH
chmod 755 take
toss() {
  : >got
  nncp-toss -cfg jan/conf -quiet "$@" 2>>toss.log || true
}
sent='m1 m2 m3 m4 m5 m6 m7 m8 m9 m10'
for text in $sent; do echo "$text" | nncp-exec -cfg eva/conf -quiet jan take; done
nncp-xfer -cfg eva/conf -quiet -mkdir carrier
cp -r carrier second
cp -r carrier third
names=$(find carrier -type f | wc -l)
touch fails-m1
nncp-xfer -cfg jan/conf -quiet carrier
toss
{
  echo "$names packets, and the program fails for m1: $(wc -l <got) handed out"
  if [ "$(tr '\n' ' ' <got)" = "${sent#m1 } " ]; then echo 'in order'; else echo 'shuffled'; fi
} >seen
rm fails-m1
toss
echo "then: $(cat got)" >>seen
nncp-xfer -cfg jan/conf -quiet second
toss -seen
echo "a copy of each: $(wc -l <got) handed out" >>seen
nncp-xfer -cfg jan/conf -quiet third
toss -seen
echo "a further copy, after -seen: $(wc -l <got) handed out" >>seen
cat seen
cat >expected <<'END'
10 packets, and the program fails for m1: 9 handed out
shuffled
then: m1
a copy of each: 10 handed out
a further copy, after -seen: 0 handed out
END
cmp seen expected
