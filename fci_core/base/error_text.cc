#include "fci_core/base/error_text.h"

#include <cstring>

namespace fci {

std::string errno_text(int number) {
    const char* const words = strerrordesc_np(number);
    const char* const name = strerrorname_np(number);
    if (words == nullptr || name == nullptr) return "error " + std::to_string(number);
    return std::string(words) + " (" + name + ")";
}

std::string error_text(const Diagnosis& diagnosis) {
    std::string text = "fci: " + std::string(diagnosis.what);
    if (!diagnosis.where.empty()) text += " (" + std::string(diagnosis.where) + ")";
    if (!diagnosis.cause.empty()) text += ": " + std::string(diagnosis.cause);
    text += ".";
    if (!diagnosis.remedy.empty()) text += " " + std::string(diagnosis.remedy);
    return text;
}

}  // namespace fci
