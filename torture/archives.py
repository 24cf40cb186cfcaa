"""Damage to zip archives of drawings, by what they mean: entries, names, images."""

import io
import struct
import warnings
import zipfile
import zlib
from random import Random

HOSTILE = ("../../evil.png", "/etc/evil.png", "C:\\evil.png", "a/../b.png", "x" * 500, "\x00.png")
PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)


def damage_zip(content: bytes, draw: Random) -> bytes:
    """Pack an archive again, with one thing wrong in it."""
    with zipfile.ZipFile(io.BytesIO(content)) as zipped:
        files = [(entry.filename, zipped.read(entry)) for entry in zipped.infolist()]
    packing = zipfile.ZIP_STORED
    place, act = draw.randrange(len(files)), draw.randrange(8)
    name, inner = files[place]
    if act == 0:
        files[place] = (name, damage_png(inner, draw))
    elif act == 1:
        files.append((name, damage_png(inner, draw)))  # a second entry of the same name
    elif act == 2:
        files.append((draw.choice(HOSTILE), inner))
    elif act == 3:
        files[place] = (draw.choice(HOSTILE), inner)
    elif act == 4:
        del files[place]
    elif act == 5:
        packing = draw.choice(PACKINGS)
    elif act == 6:
        files[place] = (name, bytes(draw.choice((0, 1, 1 << 14, 1 << 23))))
    else:
        other = draw.randrange(len(files))
        files[place], files[other] = (name, files[other][1]), (files[other][0], inner)
    return _packed(files, packing)


def _packed(files: list[tuple[str, bytes]], packing: int) -> bytes:
    buffer = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(buffer, "w", packing) as zipped:
        warnings.simplefilter("ignore")  # of names that come twice
        for name, content in files:
            zipped.writestr(zipfile.ZipInfo(name), content, packing)
    return buffer.getvalue()


def damage_png(content: bytes, draw: Random) -> bytes:
    """Change one chunk of an image, with its checksum right; of other files, a few bytes."""
    if content[:4] != b"\x89PNG":
        lines = content.splitlines(keepends=True)
        draw.shuffle(lines)
        return b"".join(lines[draw.randrange(2) :]) + draw.choice((b"", b"\xff\n", b"a b\n"))
    chunks = _chunks(content)
    place, act = draw.randrange(len(chunks)), draw.randrange(5)
    kind, body = chunks[place]
    if act == 0:
        sides = struct.pack(">II", *(draw.choice((0, 1, 105, 2**16, 2**31 - 1)) for _ in "wh"))
        chunks[0] = (chunks[0][0], sides + chunks[0][1][8:])
    elif act == 1:
        at = draw.randrange(len(body) + 1)
        chunks[place] = (kind, body[:at] + draw.randbytes(3) + body[at + 3 :])
    elif act == 2:
        text = zlib.compress(bytes(1 << 22))
        chunks.insert(1, (draw.choice((b"zTXt", b"iCCP", b"iTXt", b"eXIf")), b"a\0\0" + text))
    elif act == 3:
        del chunks[place]
    else:
        chunks.insert(place, draw.choice(chunks))
    return content[:8] + b"".join(_chunk(*each) for each in chunks)


def _chunks(content: bytes) -> list[tuple[bytes, bytes]]:
    found, at = [], 8
    while at + 12 <= len(content):
        (size,) = struct.unpack(">I", content[at : at + 4])
        found.append((content[at + 4 : at + 8], content[at + 8 : at + 8 + size]))
        at += 12 + size
    return found


def _chunk(kind: bytes, body: bytes) -> bytes:
    checksum = struct.pack(">I", zlib.crc32(kind + body))
    return struct.pack(">I", len(body)) + kind + body + checksum
