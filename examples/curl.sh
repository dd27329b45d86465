#!/bin/sh
# Search, read a page, open a session and ask in Serper's format, with curl alone.
# Usage: sh examples/curl.sh [SERVER] [QUERY]
set -eu
server=${1:-http://127.0.0.1:8800}
query=${2:-lighthouse museum}

echo '# Search: the first result'
results=$(curl -sfG "$server/v1/search" --data-urlencode "q=$query" -d size=1)
echo "$results"

echo '# Read that page as text: the first 300 characters'
url=$(echo "$results" | grep -o '"url":"[^"]*"' | head -n 1 | cut -d '"' -f 4)
curl -sfG "$server/v1/fetch" --data-urlencode "url=$url" -d length=300
echo

echo '# Open a session: one rollout, on one day, with a budget'
session=$(curl -sf "$server/v1/sessions" -d '{"seed": 1, "as_of": "2024-12-01", "budget": {"searches": 10}}')
echo "$session"

echo '# Search in that session, in the format of Serper: the key names the session'
key=$(echo "$session" | grep -o '"session":"[^"]*"' | cut -d '"' -f 4)
curl -sf "$server/serper/search" -H "X-API-KEY: $key" -H 'Content-Type: application/json' -d "{\"q\": \"$query\", \"num\": 1}"
echo
