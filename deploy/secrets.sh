#!/bin/sh
# Makes what compose.yaml needs and nobody should know, in deploy/secrets. What is there is kept.
# sudo sh deploy/secrets.sh asks for the client secret that the identity provider has given you, or reads it from its standard
# input. It is no argument: everybody on the machine can see those, and a shell remembers them.
set -eu
umask 077
cd "$(dirname "$0")"
[ $# = 0 ] || { echo "usage: sh deploy/secrets.sh; it asks for the client secret, or reads it from standard input" >&2; exit 1; }

client_secret=
if [ ! -s secrets/oidc_client_secret ]; then
  if [ -t 0 ]; then
    printf 'The client secret, which is not shown: ' >&2
    trap 'stty echo' EXIT
    stty -echo
    IFS= read -r client_secret || true
    echo >&2
  else
    IFS= read -r client_secret || true
  fi
  [ -n "$client_secret" ] || { echo "no client secret on standard input" >&2; exit 1; }
fi
mkdir -p secrets
cd secrets

keep() { # NAME COMMAND...
  name=$1
  shift
  # An empty one is of a run that failed.
  if [ ! -s "$name" ]; then "$@" > "$name"; fi
}
# printf is the shell's own: no process has the secret as an argument.
keep oidc_client_secret printf '%s\n' "$client_secret"
keep secret_key openssl rand -base64 32
keep postgres_password openssl rand -hex 24
keep s3_access_key openssl rand -hex 12
keep s3_secret_key openssl rand -hex 24
keep database_url printf 'postgres://bookmarks:%s@postgres/bookmarks\n' "$(cat postgres_password)"

# The store's own certificate: it takes the keys of exports over https only.
if [ ! -s store/public.crt ]; then
  mkdir -p store
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3650 -subj /CN=minio \
    -addext subjectAltName=DNS:minio -keyout store/private.key -out store/public.crt 2> /dev/null
  chmod 644 store/public.crt
fi

# The containers have no other user.
[ "$(id -u)" != 0 ] || chown -R 10001:10001 .
