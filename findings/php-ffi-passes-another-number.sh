#!/bin/sh
# PHP 8.2 with its FFI (Debian bookworm: php8.2-cli and php8.2-common, 8.2.36-1~deb12u1).
#
# Guess: an unsigned number of 64 bits (`uint64_t`) from 2^63 on becomes a float or a text, as
# other numbers that PHP's int cannot hold.
# Guess: a value that does not fit its C type raises. `strict_types` counts for FFI too, so null, a
# text and a fraction are refused.
# Seen: it becomes a negative int: such an id sorts below 1, and JSON has a minus. `sprintf('%u')`
# prints the right digits. Assigned as that text, it becomes 2^63-1, the largest int, without an
# error, whichever number it was; a float becomes another number.
# Seen: null and "abc" become 0, 1.9 becomes 1, and 300 in a `uint8_t` becomes 44. Only the
# negative int itself comes back whole. Keep ids as the ints that FFI gave, and check what goes in.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -o APT::Sandbox::User=root download php8.2-cli=8.2.36-1~deb12u1 \
  php8.2-common=8.2.36-1~deb12u1 libsodium23 libargon2-1 libedit2 libbsd0 libmd0 \
  libffi8 libpcre2-8-0 libxml2 libicu72 >apt.log 2>&1
for package in ./*.deb; do dpkg-deb -x "$package" root; done
LD_LIBRARY_PATH=$(find "$folder/root" -type d -path '*/lib/*-linux-gnu' | tr '\n' ':')
export LD_LIBRARY_PATH
cat >try.php <<'PHP'
<?php
declare(strict_types=1);

$types = FFI::cdef('typedef struct { uint64_t id; uint8_t kind; } row;');
$row = $types->new('row');

function kept(string $field, mixed $value): string
{
    global $row;
    try {
        $row->$field = $value;
        return var_export($row->$field, true);
    } catch (Throwable $error) {
        return get_class($error);
    }
}

FFI::memset($row, 0xfe, 8);
$id = $row->id;
$digits = sprintf('%u', $id);
echo "the int: $id, as %u: $digits, in JSON: ", json_encode(['id' => $id]), "\n";
echo 'greater than 1: ', var_export($id > 1, true), "\n";
echo 'the int given back is the same: ', var_export(kept('id', $id) === (string) $id, true), "\n";
echo 'its digits given back: ', kept('id', $digits), "\n";
echo 'other digits given back: ', kept('id', '9999999999999999999'), "\n";
$float = kept('id', (float) $digits);
echo 'its float given back is the same: ', var_export($float === (string) $id, true), "\n";
$others = ['null' => null, 'abc' => 'abc', '1.9' => 1.9, '12 apples' => '12 apples'];
foreach ($others as $name => $value) {
    echo "id from $name: ", kept('id', $value), "\n";
}
echo 'kind from 300: ', kept('kind', 300), "\n";
PHP
extension=$(find "$folder/root" -name ffi.so)
timeout 60 root/usr/bin/php8.2 -n -d extension="$extension" -d ffi.enable=1 try.php | tee seen
cat >expected <<'EOF'
the int: -72340172838076674, as %u: 18374403900871474942, in JSON: {"id":-72340172838076674}
greater than 1: false
the int given back is the same: true
its digits given back: 9223372036854775807
other digits given back: 9223372036854775807
its float given back is the same: false
id from null: 0
id from abc: 0
id from 1.9: 1
id from 12 apples: 12
kind from 300: 44
EOF
cmp expected seen
