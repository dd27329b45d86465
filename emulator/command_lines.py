"""Tells the options of command lines from exclusions: in `tar -x archive` the dash is part of a word.

Agents paste commands and options into search boxes, and a page that explains an option is the last that an exclusion
should remove. The reader of queries (`webemu.emulator.query`) asks here about each word that has a dash before it.
When in doubt a dash is part of the word: a page too many does less harm than the right page removed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_EXCLUDABLE = re.compile(r"(?!.*=)(?!.*[a-z]-[A-Za-z])[^\W\d_](?:\S{2,}|[^\x00-\x7f]\S*)?", re.DOTALL)
"""A word that people exclude: it begins with a letter and has three characters, or is in another script; letters
joined by a dash, as in `-hide-all-packages`, are an option.
"""
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
    adb adduser ansible ansible-playbook apk apt apt-cache apt-file apt-get apt-mark aptitude asv auditctl awk
    bash blkid bzip2 c++ cabal cargo cc cfdisk chage chgrp chmod chown chsh clang clang++ cmake composer conda
    cp createdb crontab cryptsetup ctest curl dd debconf-set-selections debootstrap debuild deluser df dh_make
    dig dnf docker docker-compose dotnet dpkg dpkg-buildpackage dpkg-deb dpkg-query dpkg-reconfigure du egrep
    eslint ethtool exiftool fdisk ffmpeg ffprobe firewall-cmd flake8 flatpak fsck g++ gcc gcov gdb gfortran
    ghc ghc-pkg ghci git gnuplot gpg gpgv gradle grep groupadd groupmod gsettings gunicorn gunzip gzip helm hg
    hostnamectl hsc2hs htop iconv ifconfig imagemagick iostat ip6tables iptables ipython isort iwconfig javadoc
    javap journalctl jq kotlinc kubectl latexmk ld ldapadd ldapsearch ldd lerna localectl loginctl ls lsblk
    lsmod lsof lvcreate lxc-create lxc-start makepkg mamba mdadm mkdir mkdocs mkfs mkoctfile modprobe mongod
    mount mpirun msbuild mv mvn mypy mysql mysqladmin mysqldump ncdu netstat nft nginx nmap node nox npm npx
    nslookup ntpdate nvcc nvidia-smi objdump ocamlc octave octave-cli openssl pacman pandoc parted pdflatex perl
    pg_dump pg_restore php pip pip3 pipx pkg pkg-config pkill pnpm podman poetry powershell pre-commit ps psql
    pwsh pycodestyle pyenv pylint pytest python2 python3 qemu qsub rclone readelf redis-cli rm rmdir rpm rspec
    rsync ruff runghc runhaskell rustc rustup sbatch sbt scalac scp sed sftp slapadd smbclient smbpasswd sqlite3
    srun ssh ssh-keygen strace sudo svn swiftc sysctl systemctl systemd-analyze systemd-run tar tcpdump
    terraform tftp tmux tox traceroute tsc tshark tsx twistd ufw umount unzip update-alternatives update-rc.d
    useradd usermod uv uvicorn vagrant valgrind vim virsh virt-install virtualenv visudo vmstat webpack wget wsl
    xargs xelatex xmllint xsltproc xxd xz yarn yum zcat zgrep zip zsh zstd
    """.split()
)
"""Names that are hardly anything but commands."""
AMBIGUOUS_COMMANDS = frozenset(
    """
    act bundle cat convert cut date diff expect find go head host install ip java javac join julia kill last
    less load mail make man more nice nm patch perf php ping pip python ruby save screen shred sleep snap sort
    split stack strings tail tee test time top touch tree trial watch which who write
    """.split()
)
"""Commands that are words too: only behind them the well-known `LONG_OPTIONS` are options."""
LONG_OPTIONS = frozenset(
    """
    agentlib agentpath amin anewer append ascii atime binary classpath cmin cnewer ctime daystart delete depth
    empty ensure esa exec execdir false files follow force fprint gid group help iname input inum ipath iregex
    iwholename jar javaagent links lname maxdepth mindepth mmin mount mtime name newer nogroup nouser okdir
    output path perm print printf prune quiet quit readable recursive regex regextype samefile server silent
    size source target true type uid user verbose version wholename writable xdev zip
    """.split()
)
"""Long options with one dash, of `find`, `java` and others."""


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
