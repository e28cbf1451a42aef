#!/bin/sh
# verify.sh OWNER/NAME, or verify.sh --key PUBLIC_KEY: whether the files of a release in this folder are those that were
# published. SHA256SUMS is signed: by the release workflow of that repository on GitHub (needs cosign), or by whoever has the
# private key (Ed25519; needs openssl). Nothing else says who made the files: without a signature, this ends with 1.
set -eu
fail() { echo "verify.sh: $1" >&2; exit 1; }

if [ "${1:-}" = --key ] && [ $# -eq 2 ]; then
  [ -e SHA256SUMS.sig ] || fail 'SHA256SUMS.sig is missing'
  openssl pkeyutl -verify -pubin -inkey "$2" -rawin -in SHA256SUMS -sigfile SHA256SUMS.sig > /dev/null 2>&1 ||
    fail 'SHA256SUMS.sig is not a signature of SHA256SUMS by that key'
else
  [ $# -eq 1 ] || fail 'say whose release it is: OWNER/NAME, or --key PUBLIC_KEY'
  command -v cosign > /dev/null || fail 'cosign is not installed: https://docs.sigstore.dev/cosign/system_config/installation'
  [ -e SHA256SUMS.sigstore.json ] || fail 'SHA256SUMS.sigstore.json is missing'
  cosign verify-blob SHA256SUMS --new-bundle-format --bundle SHA256SUMS.sigstore.json \
    --certificate-oidc-issuer https://token.actions.githubusercontent.com \
    --certificate-identity-regexp "^https://github\\.com/$1/\\.github/workflows/release\\.yml@refs/tags/v" > /dev/null ||
    fail 'SHA256SUMS was not signed by the release workflow of that repository'
fi

# Those that are here: nobody downloads all of them.
found=$(while read -r sum name; do if [ -e "$name" ]; then echo "$sum  $name"; fi; done < SHA256SUMS)
printf '%s\n' "$found" | sha256sum --check --strict --quiet || fail 'a file was altered, or is not whole'
printf '%s\n' "$found" | sed 's/^[^ ]*  /as published: /'
