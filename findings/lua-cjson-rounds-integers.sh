#!/bin/sh
# lua-cjson 2.1.0 (Debian bookworm, 2.1.0+dfsg-2.2) under Lua 5.4.4.
#
# Guess: Lua 5.4 has whole numbers of 64 bits, so each is printed with all its digits.
# Seen: beyond 14 digits it is rounded and printed with an exponent, so two message numbers that
# follow each other become one. A server's number of a message has to be text, or stay below 10^14;
# a gateway that decodes and encodes JSON changes numbers that pass through it.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -o APT::Sandbox::User=root download lua-cjson=2.1.0+dfsg-2.2 lua5.4=5.4.4-3+deb12u1 >apt.log 2>&1
for package in ./*.deb; do dpkg-deb -x "$package" root; done
export LUA_CPATH="$(find root -path '*lua/5.4/cjson.so')"
cat >numbers.lua <<'LUA'
local json = require "cjson"
for _, number in ipairs {99999999999999, 100000000000001, 1771193745123456, 1771193745123457} do
  print(number, json.encode {seq = number})
end
print("decoded and encoded", json.encode(json.decode('{"seq":1771193745123456}')))
LUA
root/usr/bin/lua5.4 numbers.lua | tee seen
grep -qF '{"seq":99999999999999}' seen
test "$(grep -cF '{"seq":1.7711937451235e+15}' seen)" = 3
