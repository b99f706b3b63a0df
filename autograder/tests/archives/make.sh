#!/usr/bin/env bash
# Makes the archives next to it, as common tools write them: each holds a.cpp ("int a;\n") and b.cu ("int b;\n").
# They are committed, so the test needs none of these tools: zip, 7z, bsdtar, GNU tar, git, Python.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")"
here=$PWD
rm -f -- *.zip *.ZIP *.tar *.tgz *.tar.gz
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
deep=one/two/three/four/five/six
long=$(printf 'l%.0s' {1..120})/$(printf 'm%.0s' {1..120})/$(printf 'n%.0s' {1..60})
for folder in plain $deep "$long" "Übung 3 – Täsk"; do
  mkdir -p "$folder"
  printf 'int a;\n' >"$folder/a.cpp"
  printf 'int b;\n' >"$folder/b.cu"
done

zip -qr "$here/infozip-deep.zip" one
zip -q0r "$here/infozip-stored.zip" plain
zip -qr "$here/infozip-utf8-folder.zip" Übung*
zip -qr "$here/infozip-comment.zip" plain && printf 'My hand-in PK\5\6 of lab 3\n' | zip -qz "$here/infozip-comment.zip" >/dev/null
zip -qr - plain | cat >"$here/infozip-stream.zip"
zip -qr -fz "$here/infozip-zip64.zip" plain
7z a -bso0 "$here/7z.zip" ./plain
7z a -bso0 -mm=BZip2 "$here/7z-bzip2.zip" ./plain
7z a -bso0 -mcu=off "$here/7z-utf8-folder.zip" ./Übung*
bsdtar -c --format zip -f "$here/bsdtar.zip" plain
git init -q repository && cp plain/* repository
git -C repository add . && git -C repository -c user.name=a -c user.email=a@b commit -qm a
git -C repository archive --format=zip --prefix=lab-main/ -o "$here/git.zip" HEAD
git -C repository archive --format=tar.gz --prefix=lab-main/ -o "$here/git.tar.gz" HEAD

tar -czf "$here/gnu.tar.gz" --format=gnu "${long%%/*}"
tar -czf "$here/oldgnu.tgz" --format=oldgnu "${long%%/*}"
tar -czf "$here/pax.tar.gz" --format=pax "${long%%/*}"
tar -czf "$here/pax-utf8-folder.tar.gz" --format=pax Übung*
tar -czf "$here/ustar.tar.gz" --format=ustar $deep
tar -b1 -cf "$here/v7.tar" --format=v7 plain
tar -C plain -czf "$here/dot.tgz" .
bsdtar -czf "$here/bsdtar.tgz" "${long%%/*}"
bsdtar -czf "$here/bsdtar-utf8-folder.tgz" Übung*
tar -cf joined.tar plain
{ head -c 700 joined.tar | gzip; tail -c +701 joined.tar | gzip; } >"$here/gzip-members.tar.gz"
cp "$here/dot.tgz" "$here/gzip-called.tar"
cp "$here/7z.zip" "$here/UPPER.ZIP"
mkdir again && printf 'int old;\n' >again/a.cpp && cp plain/b.cu again
tar -b1 -cf "$here/appended.tar" again && cp plain/a.cpp again && tar -b1 -rf "$here/appended.tar" again/a.cpp

python3 - "$here" <<'PYTHON'
import io, sys, tarfile, zipfile

here = sys.argv[1]
files = {"a.cpp": b"int a;\n", "b.cu": b"int b;\n"}


class Stream(io.RawIOBase):  # not seekable, so sizes follow the data
    def __init__(self, path):
        self.file = open(path, "wb")

    def writable(self):
        return True

    def write(self, data):
        return self.file.write(data)


class RawName(zipfile.ZipInfo):  # raw bytes, without the UTF-8 flag
    def _encodeFilenameFlags(self):
        return self.filename.encode("cp437"), self.flag_bits


def entry(name, system=3, kind=zipfile.ZipInfo):
    info = kind(name, (2026, 11, 22, 12, 0, 0))
    info.create_system = system
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = (0o100644 << 16) if system == 3 else 0x20
    return info


def folder(name, system=3):
    info = entry(name, system)
    info.external_attr = (0o40755 << 16) if system == 3 else 0x10
    return info


# Compress-Archive in PowerShell 5 with .NET before 4.6.1.
with zipfile.ZipFile(here + "/windows-backslashes.zip", "w") as z:
    for name, text in files.items():
        info = entry("x", 0)
        info.filename = "lab\\mine\\" + name
        z.writestr(info, text)
# Windows Explorer: names in the machine's code page.
with zipfile.ZipFile(here + "/windows-codepage.zip", "w") as z:
    z.writestr(folder("\u00dcbung/", 0), b"")
    for name, text in files.items():
        z.writestr(entry("\u00dcbung/" + name, 0, RawName), text)
# macOS Finder: resource forks next to the files, sizes after the data.
with zipfile.ZipFile(Stream(here + "/macos.zip"), "w") as z:
    z.writestr(folder("Lab 3/"), b"")
    z.writestr(entry("Lab 3/.DS_Store"), b"\0\0\0\1Bud1\0")
    z.writestr(entry("__MACOSX/Lab 3/._.DS_Store"), b"\0\5\x16\7\0\2\0\0Mac OS X")
    for name, text in files.items():
        z.writestr(entry("Lab 3/" + name), text)
        z.writestr(entry("__MACOSX/Lab 3/._" + name), b"\0\5\x16\7\0\2\0\0Mac OS X")
# Copies made by Time Machine and editors.
with zipfile.ZipFile(here + "/history.zip", "w") as z:
    for name, text in files.items():
        z.writestr(entry(".history/" + name), b"old")
        z.writestr(entry("src/" + name), text)
with tarfile.open(here + "/macos.tar.gz", "w:gz", format=tarfile.PAX_FORMAT) as t:
    for name, text in files.items():
        for path, content in (("./._" + name, b"\0\5\x16\7"), ("./" + name, text)):
            info = tarfile.TarInfo(path)
            info.size = len(content)
            info.pax_headers = {"LIBARCHIVE.xattr.com.apple.quarantine": "MDA4Mw", "mtime": "1795348800.25"}
            t.addfile(info, io.BytesIO(content))
with tarfile.open(here + "/python-names-not-utf8.tar.gz", "w:gz", format=tarfile.GNU_FORMAT, encoding="latin-1") as t:
    for name, text in files.items():
        info = tarfile.TarInfo("\u00dcbung/" + name)
        info.size = len(text)
        t.addfile(info, io.BytesIO(text))
PYTHON
