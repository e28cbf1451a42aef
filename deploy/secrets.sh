#!/bin/sh
# Makes what compose.yaml needs and nobody should know, in deploy/secrets. What is there is kept.
# sudo sh deploy/secrets.sh CLIENT_SECRET, with the client secret that the identity provider has given you.
set -eu
umask 077
cd "$(dirname "$0")"
[ $# = 1 ] || { echo "usage: sh deploy/secrets.sh CLIENT_SECRET" >&2; exit 1; }
mkdir -p secrets
cd secrets

keep() { [ -e "$1" ] || cat > "$1"; }
keep oidc_client_secret <<END
$1
END
openssl rand -base64 32 | keep secret_key
openssl rand -hex 24 | keep postgres_password
openssl rand -hex 12 | keep s3_access_key
openssl rand -hex 24 | keep s3_secret_key
keep database_url <<END
postgres://bookmarks:$(cat postgres_password)@postgres/bookmarks
END

# The store's own certificate: it takes the keys of exports over https only.
if [ ! -e store/public.crt ]; then
  mkdir -p store
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3650 -subj /CN=minio \
    -addext subjectAltName=DNS:minio -keyout store/private.key -out store/public.crt 2> /dev/null
  chmod 644 store/public.crt
fi

# The containers have no other user.
[ "$(id -u)" != 0 ] || chown -R 10001:10001 .
