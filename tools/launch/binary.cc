// SPDX-License-Identifier: BSD-3-Clause
#include "tools/launch/binary.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstring>

#include "tools/launch/surroundings.h"

namespace fci::tools {

namespace {

/// Rows of one of the tables in an ELF file; none of one that is no such file, or damaged.
template <class Row>
std::vector<Row> table_in(std::string_view bytes, ElfW(Off) ElfW(Ehdr)::*begin,
                          ElfW(Half) ElfW(Ehdr)::*count) {
    std::vector<Row> rows;
    ElfW(Ehdr) head;
    if (bytes.size() < sizeof head || !bytes.starts_with(ELFMAG)) return rows;
    std::memcpy(&head, bytes.data(), sizeof head);
    for (unsigned i = 0; i < head.*count; ++i) {
        const std::size_t at = head.*begin + std::size_t{i} * sizeof(Row);
        Row row;
        if (at > bytes.size() || bytes.size() - at < sizeof row) break;
        std::memcpy(&row, bytes.data() + at, sizeof row);
        rows.push_back(row);
    }
    return rows;
}

std::vector<ElfW(Phdr)> segments_in(std::string_view bytes) {
    return table_in<ElfW(Phdr)>(bytes, &ElfW(Ehdr)::e_phoff, &ElfW(Ehdr)::e_phnum);
}

std::vector<ElfW(Shdr)> sections_in(std::string_view bytes) {
    return table_in<ElfW(Shdr)>(bytes, &ElfW(Ehdr)::e_shoff, &ElfW(Ehdr)::e_shnum);
}

std::string_view part_of(std::string_view bytes, std::size_t at, std::size_t size) {
    return at <= bytes.size() ? bytes.substr(at, size) : std::string_view{};
}

/// The loader that a program names; of a library, which names none, that of this process.
std::string loader_of(std::string_view bytes) {
    bool is_shared = false;
    for (const ElfW(Phdr) & segment : segments_in(bytes)) {
        is_shared = is_shared || segment.p_type == PT_DYNAMIC;
        if (segment.p_type != PT_INTERP) continue;
        const std::string_view name = part_of(bytes, segment.p_offset, segment.p_filesz);
        return std::string(name.substr(0, name.find('\0')));
    }
    return is_shared ? loader_of(Binary("/proc/self/exe").bytes()) : "";
}

/// "4.1.4", "5.0.0rc7": three numbers, and maybe a, b or rc with one more.
bool is_version(std::string_view word) {
    std::size_t at = 0;
    const auto number = [&] {
        const std::size_t begin = at;
        while (at < word.size() && std::isdigit(static_cast<unsigned char>(word[at]))) ++at;
        return at > begin;
    };
    for (int i = 0; i < 3; ++i) {
        if (i != 0 && (at == word.size() || word[at++] != '.')) return false;
        if (!number()) return false;
    }
    if (at == word.size()) return true;
    for (const std::string_view mark : {"rc", "a", "b"}) {
        if (!word.substr(at).starts_with(mark)) continue;
        at += mark.size();
        return number() && at == word.size();
    }
    return false;
}

}  // namespace

Binary::Binary(const std::string& file) {
    const int from = open(file.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat known {};
    if (from >= 0 && fstat(from, &known) == 0 && S_ISREG(known.st_mode) && known.st_size > 0) {
        const auto size = static_cast<std::size_t>(known.st_size);
        void* const start = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, from, 0);
        if (start != MAP_FAILED) bytes_ = {static_cast<const char*>(start), size};
    }
    if (from >= 0) close(from);
    for (const ElfW(Shdr) & section : sections_in(bytes_)) {
        const bool is_loaded = (section.sh_flags & SHF_ALLOC) != 0;
        const bool is_code = (section.sh_flags & SHF_EXECINSTR) != 0;
        if (!is_loaded || is_code || section.sh_type == SHT_NOBITS) continue;
        parts_.push_back(part_of(bytes_, section.sh_offset, section.sh_size));
    }
    if (parts_.empty()) parts_.push_back(bytes_);
}

Binary::~Binary() {
    if (!bytes_.empty()) munmap(const_cast<char*>(bytes_.data()), bytes_.size());
}

bool Binary::holds(std::string_view text) const {
    return std::any_of(parts_.begin(), parts_.end(), [&](std::string_view part) {
        return memmem(part.data(), part.size(), text.data(), text.size()) != nullptr;
    });
}

bool Binary::holds_word(std::string_view word) const {
    return holds(std::string(1, '\0') + std::string(word) + std::string(1, '\0'));
}

std::string Binary::version() const {
    for (const std::string_view part : parts_) {
        for (std::size_t at = 0, end = 0; at < part.size(); at = end + 1) {
            end = std::min(part.find('\0', at), part.size());
            const std::string_view word = part.substr(at, end - at);
            if (word.size() > 4 && is_version(word)) return std::string(word);
        }
    }
    return "";
}

std::vector<Needed> libraries_of(const std::string& file) {
    const std::string loader = loader_of(Binary(file).bytes());
    std::vector<Needed> found;
    // That of glibc, as ldd calls it: another one might start the program.
    if (loader.find("/ld-linux") == std::string::npos) return found;
    for (const std::string& line :
         split(said_by({"LD_TRACE_LOADED_OBJECTS=1", loader, file}), "\n")) {
        const std::vector<std::string> words = split(line, " \t");
        if (words.size() < 3 || words[1] != "=>") continue;
        found.push_back({words[0], words[2] == "not" ? "" : words[2]});
    }
    return found;
}

}  // namespace fci::tools
