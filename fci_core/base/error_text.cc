#include "fci_core/base/error_text.h"

#include <cstring>

namespace fci {

std::string errno_text(int number) {
    const char* const words = strerrordesc_np(number);
    const char* const name = strerrorname_np(number);
    if (words == nullptr || name == nullptr) return "error " + std::to_string(number);
    return std::string(words) + " (" + name + ")";
}

std::string error_text(const Trouble& trouble) {
    std::string text = "fci: " + std::string(trouble.what);
    if (!trouble.where.empty()) text += " (" + std::string(trouble.where) + ")";
    if (!trouble.cause.empty()) text += ": " + std::string(trouble.cause);
    text += ".";
    if (!trouble.remedy.empty()) text += " " + std::string(trouble.remedy);
    return text;
}

}  // namespace fci
