"""Tells the options of command lines from exclusions: in `tar -x archive` the dash is part of a word.

Agents paste commands and options into search boxes, and a page that explains an option is the last that an exclusion
should remove. The reader of queries (`webemu.emulator.query`) asks here about each word that has a dash before it.
When in doubt a dash is part of the word: a page too many does less harm than the right page removed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_EXCLUDABLE = re.compile(r"(?!.*=)[^\W\d_](?:\S{2,}|[^\x00-\x7f]\S*)?", re.DOTALL)
"""A word that people exclude: it begins with a letter and has three characters, or is in another script."""
_OPTION = re.compile(r"^\$\s|(?:^|\s)(?:--[A-Za-z]|-[A-Za-z](?:\s|$)|\S+\s+\|\s*(?:grep|xargs|head|tail|awk|sed|wc)\b)")
"""Something that stands in command lines only: an option of one letter, a long option, a prompt, a usual pipe."""
_CMDLET = re.compile(r"(?:^|\s)[A-Z][a-z]+-[A-Z]\w+(?:\s|$)")
"""A command of PowerShell, such as `Get-ChildItem`."""
_TOKEN = re.compile(r"\S+")
_DASH = re.compile(r'(?:^|(?<=["(]))-(?=[^\s-])')
"""A single dash at the beginning of a token, or behind a quote or a parenthesis within it."""
_RANGE = re.compile(r"[$€£¥]?\d{1,9}\.\.[$€£¥]?\d")
"""A number range, which is no option."""

COMMANDS = frozenset(
    """
    adb ansible ansible-playbook apk apt apt-get awk bash bzip2 cargo chgrp chmod chown clang clang++ cmake composer
    cp crontab ctest curl dd df dig dnf docker docker-compose dotnet dpkg du egrep eslint fdisk ffmpeg ffprobe
    firewall-cmd g++ gcc gdb gfortran git gpg gradle grep gunzip gzip helm hg imagemagick ip6tables iptables
    journalctl jq kubectl ldd lerna ls lsof makepkg mkdir mount mpirun msbuild mv mvn mypy mysql mysqldump ncdu
    netstat nginx nmap node npm npx nslookup nvcc nvidia-smi openssl pacman perl pg_dump php pip pip3 pipx pkill
    pnpm podman poetry powershell ps psql pwsh pytest python2 python3 qemu qsub rclone rm rmdir rpm rsync ruff rustc
    sbatch scp sed sftp sqlite3 srun ssh ssh-keygen sudo svn systemctl tar tcpdump terraform tmux traceroute tsc
    tshark tsx umount unzip useradd usermod uv uvicorn valgrind vagrant vim virtualenv webpack wget wsl xargs xxd xz
    yarn yum zcat zip zsh zstd
    """.split()
)
"""Names that are hardly anything but commands."""
AMBIGUOUS_COMMANDS = frozenset(
    """
    cat cut date diff expect find go head java javac join kill less make man more nice patch php pip ping python
    ruby screen shred sleep sort split strings tail tee test time top touch tree watch which who write
    """.split()
)
"""Commands that are words too: only behind them the well-known `LONG_OPTIONS` are options."""
LONG_OPTIONS = frozenset(
    """
    agentlib agentpath amin anewer atime cmin cnewer classpath ctime daystart delete depth empty ensure esa exec
    execdir false files follow fprint gid group help iname inum ipath iregex iwholename jar javaagent links lname
    maxdepth mindepth mmin mount mtime name newer nogroup nouser okdir path perm print printf prune quit readable
    regex regextype samefile server size source target true type uid user verbose version wholename writable xdev
    """.split()
)
"""Long options with one dash, of `find` and `java`."""


def find_exclusions(text: str) -> frozenset[int]:
    """Return the offsets of the dashes in a query that exclude the word behind them; other dashes belong to a word.

    find_exclusions("jaguar -car")             # {7}
    find_exclusions("git log --oneline")       # none
    find_exclusions("find . -name core")       # none
    find_exclusions('-"big cat" -(dog wolf)')  # {0, 11}: quotes and parentheses are never options
    """
    offsets: list[int] = []
    words: list[str] = []
    is_command_line = bool(_OPTION.search(text) or _CMDLET.search(text))
    for token in _TOKEN.finditer(text):
        for dash in _DASH.finditer(token[0]):
            word = token[0][dash.end() :].rstrip(")")
            if (
                word.startswith(('"', "("))
                or _RANGE.match(word)
                or (not is_command_line and _is_excludable(word, words))
            ):
                offsets.append(token.start() + dash.start())
        words.append(token[0].casefold())
    return frozenset(offsets)


def _is_excludable(word: str, words_before: Sequence[str]) -> bool:
    """True if people exclude such a word, and none of the words before it is a command that takes it as an option."""
    if not _EXCLUDABLE.fullmatch(word):
        return False
    if any(one in COMMANDS for one in (*words_before[:1], *words_before[-2:])):
        return False
    return word.casefold() not in LONG_OPTIONS or AMBIGUOUS_COMMANDS.isdisjoint(words_before)
