#!/bin/sh
# Data::MessagePack 1.02, CBOR::XS 1.86 and Sereal 5.003 (Debian bookworm: libdata-messagepack-perl
# 1.02-1+b1, libcbor-xs-perl 1.86-1+b2, libsereal-encoder-perl 5.003+ds-1), Perl 5.36.
#
# Guess: what is written is the value: an id that was made as a number is a number each time, and a
# text of digits a text, whatever the program did with them in between, as these forms have types.
# Guess: what Sereal reads is at the least equal, digit by digit, to what it wrote.
# Seen: an id that was logged, or used as the key of a hash, is written as a text by MessagePack and
# CBOR from then on: one id has two types, and a reader that looks it up finds no message. To
# MessagePack it is even bytes, not a text. A list of numbers is written as texts once it was
# sorted.
# Seen: Sereal writes numbers as numbers, and a text that was compared with a number as that number:
# an id of 20 digits comes back as 1.84467440737096e+19. MessagePack and CBOR keep it. `$id + 0`, or
# `"$id"`, in the call that writes it makes it one thing.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -o APT::Sandbox::User=root download libdata-messagepack-perl=1.02-1+b1 \
  libcbor-xs-perl=1.86-1+b2 libsereal-encoder-perl=5.003+ds-1 libsereal-decoder-perl=5.003+ds-1 \
  libtypes-serialiser-perl libcommon-sense-perl >apt.log 2>&1
for package in ./*.deb; do dpkg-deb -x "$package" root; done
PERL5LIB=$(find "$folder/root" -type d -path '*/lib/*/perl5/5.36'):$folder/root/usr/share/perl5
export PERL5LIB
cat >try.pl <<'PL'
use strict;
use warnings;
use CBOR::XS;
use Data::MessagePack;
use Sereal::Decoder;
use Sereal::Encoder;

my %write = (
    MessagePack => sub { Data::MessagePack->new->pack($_[0]) },
    CBOR => sub { CBOR::XS->new->encode($_[0]) },
    Sereal => sub { Sereal::Encoder->new->encode($_[0]) },
);
my %read = (
    MessagePack => sub { Data::MessagePack->new->unpack($_[0]) },
    CBOR => sub { CBOR::XS->new->decode($_[0]) },
    Sereal => sub { Sereal::Decoder->new->decode($_[0]) },
);
for my $form (sort keys %write) {
    my $bytes = $write{$form};
    my $id = 4711;
    my $first = $bytes->($id);
    my $line = "a line of a log: $id";
    print "$form, an id before and after it was logged: ",
        ($bytes->($id) eq $first ? "same" : "different"), " bytes\n";
    $id = 4711;
    my %seen = ($id => 1);
    print "$form, after it was a key: ", ($bytes->($id) eq $first ? "same" : "different"), " bytes\n";
    my $long = "18446744073709551617";
    my $newer = $long > 17;
    print "$form, a long id that was compared: ", $read{$form}->($bytes->($long)), "\n";
}
my $id = 4711;
my $line = "$id";
print "MessagePack, the logged id: ", unpack("H*", $write{MessagePack}->($id)), "\n";
my @ids = (3, 1, 2);
my @sorted = sort @ids;
print "MessagePack, a list that was sorted: ", unpack("H*", $write{MessagePack}->(\@ids)), "\n";
PL
perl try.pl | tee seen
for form in MessagePack CBOR; do
  grep -qx "$form, an id before and after it was logged: different bytes" seen
  grep -qx "$form, after it was a key: different bytes" seen
  grep -qx "$form, a long id that was compared: 18446744073709551617" seen
done
grep -qx 'Sereal, an id before and after it was logged: same bytes' seen
grep -qx 'Sereal, after it was a key: same bytes' seen
grep -qx 'Sereal, a long id that was compared: 1.84467440737096e+19' seen
grep -qx 'MessagePack, the logged id: c40434373131' seen
grep -qx 'MessagePack, a list that was sorted: 93c40133c40131c40132' seen
