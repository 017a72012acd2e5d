// SPDX-License-Identifier: BSD-3-Clause
#include "tools/launch/binary.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cctype>
#include <cstring>

#include "tools/launch/surroundings.h"

namespace fci::tools {

namespace {

/// The loader that a program names; of a library, which names none, that of this process.
std::string loader_of(std::string_view bytes) {
    ElfW(Ehdr) head;
    if (bytes.size() < sizeof head || !bytes.starts_with(ELFMAG)) return "";
    std::memcpy(&head, bytes.data(), sizeof head);
    const std::size_t most = bytes.size();
    for (unsigned i = 0; i < head.e_phnum; ++i) {
        const std::size_t at = head.e_phoff + std::size_t{i} * head.e_phentsize;
        ElfW(Phdr) part;
        if (at > most || most - at < sizeof part) break;
        std::memcpy(&part, bytes.data() + at, sizeof part);
        if (part.p_type != PT_INTERP || part.p_offset > most) continue;
        const std::string_view rest = bytes.substr(part.p_offset, part.p_filesz);
        return std::string(rest.substr(0, rest.find('\0')));
    }
    const bool is_library = head.e_type == ET_DYN;
    return is_library ? loader_of(Binary("/proc/self/exe").bytes()) : "";
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
}

Binary::~Binary() {
    if (!bytes_.empty()) munmap(const_cast<char*>(bytes_.data()), bytes_.size());
}

bool Binary::holds_word(std::string_view word) const {
    return holds(std::string(1, '\0') + std::string(word) + std::string(1, '\0'));
}

std::string Binary::version() const {
    for (std::size_t at = 0; at < bytes_.size();) {
        const std::size_t end = bytes_.find('\0', at);
        if (end == std::string_view::npos) break;
        const std::string_view word = bytes_.substr(at, end - at);
        if (word.size() > 4 && is_version(word)) return std::string(word);
        at = end + 1;
    }
    return "";
}

std::vector<Needed> libraries_of(const std::string& file) {
    const std::string loader = loader_of(Binary(file).bytes());
    std::vector<Needed> found;
    // That of glibc, as ldd calls it: another one might start the program.
    if (loader.find("/ld-linux") == std::string::npos) return found;
    for (const std::string& line :
         split(said_by({"env", "LD_TRACE_LOADED_OBJECTS=1", loader, file}), "\n")) {
        const std::vector<std::string> words = split(line, " \t");
        if (words.size() < 3 || words[1] != "=>") continue;
        found.push_back({words[0], words[2] == "not" ? "" : words[2]});
    }
    return found;
}

}  // namespace fci::tools
