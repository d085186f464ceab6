#!/bin/sh
# ruby-ffi 1.15.5 (Debian bookworm, 1.15.5+dfsg-1+b1) under Ruby 3.1 (3.1.7+really3.1.2-0+deb12u1).
#
# Guess: a number that its C type cannot have raises RangeError, as FFI does for `:int32`, for each
# type and for parameters, fields and memory alike.
# Seen: only types of four bytes and more are checked, and only in part. 300 as `:uint8` is 44, 200
# as `:int8` is -56 and 70,000 as `:uint16` is 4,464, each without an error: a bound, a version or a
# set of flags arrives as another one. `:uint32` refuses 2^32 and takes -1 as 4,294,967,295, and
# `:uint64` takes -1 as 2^64 - 1: a -1 that stands for "no bound" or for an error in Ruby is the
# largest number in C. Fractions are cut.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
ruby=3.1.7+really3.1.2-0+deb12u1
apt-get -o APT::Sandbox::User=root download ruby-ffi=1.15.5+dfsg-1+b1 "ruby3.1=$ruby" \
  "libruby3.1=$ruby" libffi8 libgmp10 libyaml-0-2 zlib1g >apt.log 2>&1
for package in ./*.deb; do dpkg-deb -x "$package" root; done
libraries="$folder/root/usr/lib"
machine=$(basename "$(find "$libraries" -maxdepth 1 -name '*-linux-gnu')")
gems="$libraries/$machine/rubygems-integration/3.1.0"
LD_LIBRARY_PATH=$(find "$folder/root" -type d -path '*/lib/*-linux-gnu' | tr '\n' ':')
RUBYLIB=$libraries/ruby/3.1.0:$libraries/$machine/ruby/3.1.0:$gems/gems/ffi-1.15.5/lib
RUBYLIB=$RUBYLIB:$(dirname "$(find "$gems/extensions" -name ffi_c.so)")
export LD_LIBRARY_PATH RUBYLIB
cat >echo.c <<'C'
#include <stdint.h>

int8_t int8(int8_t number) { return number; }
uint8_t uint8(uint8_t number) { return number; }
uint16_t uint16(uint16_t number) { return number; }
int32_t int32(int32_t number) { return number; }
uint32_t uint32(uint32_t number) { return number; }
int64_t int64(int64_t number) { return number; }
uint64_t uint64(uint64_t number) { return number; }
C
cc -shared -fPIC -o libecho.so echo.c
cat >try.rb <<'RUBY'
require "ffi"

module Echo
  extend FFI::Library
  ffi_lib "./libecho.so"
  TYPES = %i[int8 uint8 uint16 int32 uint32 int64 uint64].freeze
  TYPES.each { |type| attach_function type, [type], type }
end

def show(type, number)
  through_call = begin
    Echo.send(type, number)
  rescue RangeError
    "RangeError"
  end
  through_memory = begin
    memory = FFI::MemoryPointer.new(type)
    memory.send("put_#{type}", 0, number)
    memory.send("get_#{type}", 0)
  rescue RangeError
    "RangeError"
  end
  puts "#{type} #{number}: #{through_call}, in memory #{through_memory}"
end

show :int8, 200
show :uint8, 300
show :uint8, -1
show :uint16, 70_000
show :int32, 2**31
show :uint32, 2**32
show :uint32, -1
show :int64, 2**63
show :uint64, 2**64
show :uint64, -1
show :int64, 1.9
RUBY
"$folder/root/usr/bin/ruby3.1" --disable-gems try.rb | tee seen
grep -qx 'int8 200: -56, in memory -56' seen
grep -qx 'uint8 300: 44, in memory 44' seen
grep -qx 'uint8 -1: 255, in memory 255' seen
grep -qx 'uint16 70000: 4464, in memory 4464' seen
for checked in 'int32 2147483648' 'uint32 4294967296' 'int64 9223372036854775808' \
  'uint64 18446744073709551616'; do
  grep -qx "$checked: RangeError, in memory RangeError" seen
done
grep -qx 'uint32 -1: 4294967295, in memory 4294967295' seen
grep -qx 'uint64 -1: 18446744073709551615, in memory 18446744073709551615' seen
grep -qx 'int64 1.9: 1, in memory 1' seen
