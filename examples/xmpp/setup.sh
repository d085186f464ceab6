# Prosody or ejabberd below $out/root, for Scripts/adapted.sh, which reads this. Their packages would
# start a service that listens to the world.
# shellcheck shell=sh disable=SC2154
if [ "$name" = ejabberd ]; then
  packages ejabberd erlang-asn1 erlang-base erlang-base64url erlang-crypto erlang-eunit erlang-goldrush \
    erlang-idna erlang-inets erlang-jiffy erlang-jose erlang-lager erlang-mnesia erlang-odbc \
    erlang-os-mon erlang-p1-acme erlang-p1-cache-tab erlang-p1-eimp erlang-p1-mqtree erlang-p1-pkix \
    erlang-p1-sqlite3 erlang-p1-stringprep erlang-p1-stun erlang-p1-tls erlang-p1-utils \
    erlang-p1-xml erlang-p1-xmpp erlang-p1-yaml erlang-p1-yconf erlang-p1-zlib erlang-public-key \
    erlang-runtime-tools erlang-ssl erlang-syntax-tools erlang-tools erlang-unicode-util-compat \
    erlang-xmerl libltdl7 libodbc2
  export TIDELINE_EJABBERD="$PWD/$out/root"
elif command -v prosodyctl >/dev/null 2>&1; then
  TIDELINE_PROSODY=$(dirname "$(command -v prosodyctl)")
  export TIDELINE_PROSODY
else
  packages prosody
  export TIDELINE_PROSODY="$PWD/$out/root/usr/bin"
  for program in prosody prosodyctl; do
    sed -i -e "s#^CFG_SOURCEDIR=.*#CFG_SOURCEDIR='$PWD/$out/root/usr/lib/prosody'#" \
      -e "s#^CFG_PLUGINDIR=.*#CFG_PLUGINDIR='$PWD/$out/root/usr/lib/prosody/modules/'#" \
      "$TIDELINE_PROSODY/$program"
  done
fi
