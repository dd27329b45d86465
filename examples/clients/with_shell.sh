# Shell: curl, wget, node and go, each a command.

# Read a page with curl.
read_curl() { curl -sSL -w '\n%{http_code}\n' "$1"; }

# Read a page with wget.
read_wget() { wget -nv -O - "$1"; }

# Read a page with fetch of node.
read_node() { node -e 'fetch(process.argv[1]).then(async r => console.log(r.status, await r.text()))' "$1"; }

# Read a page with net/http of go (page.go).
read_go() { go run "$(dirname "$0")/page.go" "$1"; }

"$@"
