# Cyrus below $out/root, for Scripts/adapted.sh, which reads this. Its package would make a user and
# start a service.
# shellcheck shell=sh disable=SC2154
packages cyrus-common cyrus-imapd cyrus-caldav libclamav12 libical3 libicu72 libjansson4 libldap-2.5-0 \
  libmspack0 libpcre3 libpq5 libsasl2-2 libshp2 libwrap0 libxapian30 libxml2 libzephyr4
export TIDELINE_CYRUS="$PWD/$out/root"
