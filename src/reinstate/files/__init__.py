"""Files: written atomically, read with care. Nothing else in the package opens one for writing.

writing     a file is written under a temporary name and renamed: nobody sees half of one
reading     regular files only, of bounded size, inside the folder that was named
documents   JSON, bounded in depth, with a checksum where it holds results
arrays      safetensors, with checksums; no pickle: reading a stranger's file executes nothing
folders     one process per folder; what a killed process leaves behind is swept up
claims      of many processes, on many machines, one does a piece of work
"""

from reinstate.files.arrays import checksum_of, read_arrays, write_arrays
from reinstate.files.claims import Claim, beating, claim, claimed, claimed_by, is_claimed
from reinstate.files.documents import (
    check,
    convert,
    read_document,
    read_json,
    read_lines,
    write_document,
    write_json,
)
from reinstate.files.folders import InUse, locked, new_folder, require_empty, require_new
from reinstate.files.reading import read_bytes
from reinstate.files.writing import append_line, disk_errors, flush, open_log, write_atomically

__all__ = [
    "Claim",
    "InUse",
    "append_line",
    "beating",
    "check",
    "checksum_of",
    "claim",
    "claimed",
    "claimed_by",
    "convert",
    "disk_errors",
    "flush",
    "is_claimed",
    "locked",
    "new_folder",
    "open_log",
    "read_arrays",
    "read_bytes",
    "read_document",
    "read_json",
    "read_lines",
    "require_empty",
    "require_new",
    "write_arrays",
    "write_atomically",
    "write_document",
    "write_json",
]
