#!/usr/bin/env bash
# Fetch an unpacked, private MySQL server (9.x from Debian "sid") into a folder.
#
#   fetch.sh DIR
#
# MYSQL_SUITE and MYSQL_PKGS name another Debian suite and other packages (MariaDB).
# MYSQL_JAR (group:artifact:version) names a Maven artifact that holds the server,
# as projects publish it for their tests: then the packages are only its libraries.
#
# Nothing is installed on the system: packages are only downloaded and
# unpacked below DIR/root. Running it again is a no-op once DIR/.complete
# exists. Needs apt-get and dpkg (Debian) and an apt source that serves sid.
set -euo pipefail

die() { echo "fetch.sh: $*" >&2; exit 1; }

[ $# -eq 1 ] || die "usage: fetch.sh DIR"
mkdir -p "$1"
DIR=$(cd "$1" && pwd)
SUITE=${MYSQL_SUITE:-sid}
PKGS=${MYSQL_PKGS:-"mysql-server-core mysql-client-core"}

if [ -f "$DIR/.complete" ]; then
  echo "mysql already present: $(cat "$DIR/.complete")"
  exit 0
fi
command -v apt-get >/dev/null || die "apt-get not found (Debian only)"
command -v dpkg    >/dev/null || die "dpkg not found"

# Mirror URI: $MYSQL_APT_URI, or the first URI/keyring of the system's Debian sources.
URI=${MYSQL_APT_URI:-}
KEY=${MYSQL_APT_KEYRING:-}
for f in /etc/apt/sources.list.d/debian.sources; do
  [ -f "$f" ] || continue
  [ -n "$URI" ] || URI=$(awk '/^URIs:/{print $2; exit}' "$f")
  [ -n "$KEY" ] || KEY=$(awk '/^Signed-By:/{print $2; exit}' "$f")
done
[ -n "$URI" ] || die "no Debian mirror found; set MYSQL_APT_URI"
[ -n "$KEY" ] || KEY=/usr/share/keyrings/debian-archive-keyring.gpg
[ -f "$KEY" ] || die "keyring $KEY not found; set MYSQL_APT_KEYRING"

APT=$DIR/apt
mkdir -p "$APT/lists/partial" "$APT/cache/archives/partial" "$APT/empty" "$DIR/root"
echo "deb [signed-by=$KEY] $URI $SUITE main" > "$APT/sources.list"
# An empty status file makes apt resolve the full dependency closure
# (glibc included), so the tree runs with its own loader and libraries.
: > "$APT/status"

opts=(
  -o Dir::Etc::sourcelist="$APT/sources.list"
  -o Dir::Etc::sourceparts="$APT/empty"
  -o Dir::Etc::preferences=/dev/null
  -o Dir::Etc::preferencesparts="$APT/empty"
  -o Dir::State="$APT"
  -o Dir::State::lists="$APT/lists"
  -o Dir::State::status="$APT/status"
  -o Dir::Cache="$APT/cache"
  -o Acquire::Languages=none
  -o APT::Install-Recommends=false
  -o APT::Sandbox::User=root
  -o Debug::NoLocking=true
)
echo "fetching the package lists of Debian $SUITE"
apt-get -q "${opts[@]}" update >"$APT/update.log" 2>&1 || { tail -20 "$APT/update.log" >&2; die "apt-get update failed"; }
# shellcheck disable=SC2086
size=$(apt-get -q -y "${opts[@]}" --print-uris install $PKGS | awk '/^\x27/{n++; s+=$3} END{printf "%d packages, %d MB", n, s/1000000}')
echo "downloading $size"
# shellcheck disable=SC2086
apt-get -q -y "${opts[@]}" --download-only install $PKGS >"$APT/download.log" 2>&1 \
  || { tail -20 "$APT/download.log" >&2; die "package download failed"; }

echo "unpacking"
n=0
for deb in "$APT"/cache/archives/*.deb; do
  dpkg-deb -x "$deb" "$DIR/root" || die "cannot unpack $deb"
  n=$((n + 1))
done
[ "$n" -gt 0 ] || die "no packages downloaded"

f=$DIR/root
LD=
for c in "$f"/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2 "$f"/usr/lib64/ld-linux-x86-64.so.2 "$f"/lib64/ld-linux-x86-64.so.2; do
  [ -e "$c" ] && { LD=$c; break; }
done
[ -n "$LD" ] || die "no loader in $f"
mkdir -p "$f/usr/sbin" "$f/usr/lib/mysql/plugin" "$f/usr/share"
if [ -n "${MYSQL_JAR:-}" ]; then
  command -v mvn >/dev/null || die "mvn not found"
  command -v unzip >/dev/null || command -v jar >/dev/null || die "neither unzip nor jar found"
  echo "downloading $MYSQL_JAR"
  mvn -q -B -ntp dependency:copy -Dartifact="$MYSQL_JAR" -DoutputDirectory="$DIR/jar" >"$DIR/mvn.log" 2>&1 || { tail -20 "$DIR/mvn.log" >&2; die "mvn failed"; }
  (cd "$DIR/jar" && { jar xf ./*.jar 2>/dev/null || unzip -q -o ./*.jar; })
  tree=$DIR/jar
  if [ -f "$tree/mysql-Linux-amd64.tar.gz" ]; then
    tar xzf "$tree/mysql-Linux-amd64.tar.gz" -C "$tree"
  else
    tree=$(dirname "$(dirname "$(find "$tree" -path '*/bin/mariadbd' -print -quit)")")
  fi
  [ -d "$tree/bin" ] || die "no server in $MYSQL_JAR"
  cp -a "$tree/share" "$f/usr/share/mysql"
  [ ! -d "$tree/lib" ] || cp -a "$tree/lib/." "$f/usr/lib/"
  [ ! -d "$f/usr/lib/plugin" ] || cp -a "$f/usr/lib/plugin/." "$f/usr/lib/mysql/plugin/"
  for b in "$tree"/bin/mysqld "$tree"/bin/mariadbd; do
    [ ! -f "$b" ] || install -m 755 "$b" "$f/usr/sbin/"
  done
  rm -rf "$DIR/jar"
fi
# Newer MariaDBs have their own names for the program and its files.
[ -e "$f/usr/sbin/mysqld" ] || [ ! -e "$f/usr/sbin/mariadbd" ] || ln -s mariadbd "$f/usr/sbin/mysqld"
[ -e "$f/usr/share/mysql" ] || [ ! -e "$f/usr/share/mariadb" ] || ln -s mariadb "$f/usr/share/mysql"
[ -x "$f/usr/sbin/mysqld" ] || die "no mysqld in $f"

# Small launchers, relocatable: they find the tree beside themselves.
mkdir -p "$DIR/bin"
for t in sbin/mysqld bin/mysql bin/mysqladmin bin/mysqldump bin/mysqlbinlog; do
  [ -e "$f/usr/$t" ] || continue
  b=$DIR/bin/$(basename "$t")
  cat > "$b" <<LAUNCH
#!/usr/bin/env bash
R=\$(cd "\$(dirname "\${BASH_SOURCE[0]}")/../root" && pwd)
exec "\$R/${LD#"$f"/}" --library-path "\$R/usr/lib/x86_64-linux-gnu:\$R/lib/x86_64-linux-gnu:\$R/usr/lib/mysql/private:\$R/usr/lib/private:\$R/usr/lib" "\$R/usr/$t" "\$@"
LAUNCH
  chmod +x "$b"
done
ver=$("$DIR/bin/mysqld" --no-defaults --version 2>&1) || die "mysqld does not start: $ver"
ver=$(echo "$ver" | sed -n 's/.*Ver \([0-9][^ ]*\).*/\1/p')
echo "$ver" > "$DIR/.complete"
rm -rf "$APT/cache/archives" "$APT/lists"
echo "mysql $ver ready in $DIR ($n packages)"
