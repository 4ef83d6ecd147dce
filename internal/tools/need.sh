#!/usr/bin/env bash
# What the Makefile needs on this machine.
#
#   need.sh report          what is missing, as the end of `make help`
#   need.sh check NAME...   fail if one of these is missing
#   need.sh install         install the missing Debian packages (root or sudo)
#   need.sh ensure          install where that is possible, else fail if one is missing
set -euo pipefail

GO_MINOR=26
ALL=(go gcc g++ make git java javac mvn python3 venv)

have() {
  case $1 in
    go) command -v go >/dev/null && v=$(go env GOVERSION) && v=${v#go1.} && [ "${v%%[.r-]*}" -ge "$GO_MINOR" ] 2>/dev/null ;;
    mysql) command -v mysqld >/dev/null || command -v apt-get >/dev/null ;;
    venv) python3 -c 'import venv, ensurepip' 2>/dev/null ;;
    *) command -v "$1" >/dev/null ;;
  esac
}

package() {
  case $1 in
    java | javac) echo openjdk-17-jdk-headless ;;
    mvn) echo maven ;;
    venv) echo python3-venv ;;
    gcc) echo gcc libc6-dev ;;
    go | mysql) ;;
    *) echo "$1" ;;
  esac
}

missing=()
look() { missing=(); for n in "$@"; do have "$n" || missing+=("$n"); done; }

tell() {
  for n in "${missing[@]}"; do
    case $n in
      go) echo "  missing: Go 1.$GO_MINOR or newer (go.dev/dl)" ;;
      mysql) echo "  missing: apt-get (a Debian system), which fetches MySQL; or put a mysqld 8 or 9 on PATH" ;;
      *) echo "  missing: $n (apt-get install $(package "$n"))" ;;
    esac
  done
}

install() {
  local pk=()
  for n in "${missing[@]}"; do
    p=$(package "$n")
    # shellcheck disable=SC2206 # a name may stand for several packages
    [ -z "$p" ] || pk+=($p)
  done
  [ ${#pk[@]} -gt 0 ] || return 0
  mapfile -t pk < <(printf '%s\n' "${pk[@]}" | sort -u)
  local sudo=()
  [ "$(id -u)" = 0 ] || sudo=(sudo)
  echo "installing Debian packages: ${pk[*]}"
  "${sudo[@]}" apt-get -q update >/dev/null
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y install --no-install-recommends "${pk[@]}" >/dev/null
}

can_install() {
  command -v apt-get >/dev/null && { [ "$(id -u)" = 0 ] || sudo -n true 2>/dev/null; }
}

case ${1:-} in
  report)
    look "${ALL[@]}"
    [ ${#missing[@]} -eq 0 ] || { echo; tell; echo "  do: make setup (installs Debian packages as root or with sudo)"; }
    ;;
  check)
    shift
    look "$@"
    [ ${#missing[@]} -eq 0 ] || { tell >&2; echo "  do: make setup" >&2; exit 1; }
    ;;
  install | ensure)
    look "${ALL[@]}"
    if [ ${#missing[@]} -gt 0 ] && { [ "$1" = install ] || can_install; }; then install; look "${ALL[@]}"; fi
    [ ${#missing[@]} -eq 0 ] || { tell >&2; exit 1; }
    ;;
  *)
    echo "usage: need.sh report|check NAME...|install|ensure" >&2
    exit 2
    ;;
esac
