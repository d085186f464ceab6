# The NATS server below $out/root, for Scripts/adapted.sh, which reads this.
# shellcheck shell=sh disable=SC2154
packages nats-server
export TIDELINE_NATS="$PWD/$out/root/usr/sbin/nats-server"
