# SPDX-License-Identifier: Apache-2.0
"""ELF files that run as they should and cost whoever reads their tables of symbols as much as can be,
and the numbers with which another stack has the same hash (FNV-1a by word) whatever its seed is."""
import collections
import random
import struct

SECTION = struct.Struct("<IIQQQQIIQQ")
SYMBOL = struct.Struct("<IBBHQQ")
SYMTAB, STRTAB, DYNSYM, PROGBITS, EXECUTABLE = 2, 3, 11, 1, 4
FUNCTION = 0x12  # STB_GLOBAL, STT_FUNC


def sections_of(data):
    offset, = struct.unpack_from("<Q", data, 0x28)
    count, = struct.unpack_from("<H", data, 0x3c)
    return [list(SECTION.unpack_from(data, offset + i * SECTION.size)) for i in range(count)]


def with_sections(data, sections):
    """The file with this table of sections behind it."""
    data = bytearray(data) + bytes(-len(data) % 8)
    struct.pack_into("<Q", data, 0x28, len(data))
    return bytes(data) + b"".join(SECTION.pack(*section) for section in sections)


def replace(data, section, content):
    section[4], section[5] = len(data), len(content)
    return data + content


def equal_symbols(data, symbols=100000, name_bytes=8 << 20):
    """So many names for one address, each the end of one long text: sorting them by name compares that."""
    sections = sections_of(data)
    text = next(i for i, section in enumerate(sections) if section[1] == PROGBITS and section[2] & EXECUTABLE)
    table = next(section for section in sections if section[1] == SYMTAB)
    names = sections[table[6]]
    address = sections[text][3]
    data = replace(data, names, b"a" * name_bytes + b"\0")
    data = replace(data, table, b"".join(SYMBOL.pack(i, FUNCTION, 0, text, address, 16) for i in range(symbols)))
    return with_sections(data, sections)


def large_dynamic_tables(data, mib):
    """A library whose table of dynamic symbols is so large, and their names, too. The symbols it had are at the end."""
    sections = sections_of(data)
    table = next(section for section in sections if section[1] == DYNSYM)
    names = sections[table[6]]
    own, own_names = (data[one[4]:one[4] + one[5]] for one in (table, names))
    filler = SYMBOL.pack(1, FUNCTION, 0, 1, 4096, 16)
    count = ((mib << 20) - len(own)) // SYMBOL.size
    data = replace(data, table, filler * count + own)
    data = replace(data, names, own_names + bytes((mib << 20) - len(own_names)))
    return with_sections(data, sections)


def equal_hash_changes(bit=4, most=860, tries=60000):
    """With `bit` of one word flipped, XOR the next word with one of these: the likeliest first."""
    prime, mask = 0x100000001b3, (1 << 64) - 1
    luck, found = random.Random(1), collections.Counter()
    for _ in range(tries):
        hashed = luck.getrandbits(64)
        for difference in (prime << bit, -prime << bit):
            change = hashed ^ (hashed + difference & mask)
            if change < 1 << 47:  # user addresses
                found[change] += 1
    return [change for change, _ in found.most_common(most)]
